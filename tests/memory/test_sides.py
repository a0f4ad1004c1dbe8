# SPDX-License-Identifier: MIT
"""What is pinned is pinned with both its entities, and recalled by either, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemogram.memory import SceneMemory, Triple, scenes


def pins(memory: SceneMemory, kind: str = "entity") -> dict[str, list[str]]:
    """The names, or ids of relations, that are pinned to each scene."""
    table, column = ("entities", "t.name") if kind == "entity" else ("relations", "t.id")
    found: dict[str, list[str]] = {}
    with memory._database.read() as connection:
        for key, name in connection.execute(
            f"SELECT s.key, {column} FROM scenes AS s JOIN scene_refs AS p ON p.scene_id = s.id"
            f" JOIN {table} AS t ON t.id = p.ref_id WHERE p.kind = ? ORDER BY s.key, t.id",
            (kind,),
        ):
            found.setdefault(key, []).append(name)
    return found


def objects(found: Any) -> list[str]:
    return [each.object for each in found]


def test_a_commit_pins_the_relation_and_both_its_entities(memory: SceneMemory) -> None:
    result = memory.commit([Triple("Ana", "likes", "tea", confidence=0.4)], scene="chan:x")
    assert result.pins_created == 1
    assert pins(memory) == {"chan:x": ["Ana", "tea"]}
    with memory._database.read() as connection:
        rows = list(connection.execute("SELECT kind, weight, trust FROM scene_refs ORDER BY kind"))
    assert rows == [("entity", 0.4, "observed")] * 2 + [("relation", 0.4, "observed")]
    memory.commit([Triple("Ana", "likes", "tea", confidence=0.9)], scene="chan:x")
    with memory._database.read() as connection:
        weights = [row[0] for row in connection.execute("SELECT weight FROM scene_refs")]
    assert weights == [0.9] * 3
    stats = memory.scene_stats()
    assert (stats.relation_pins, stats.entity_pins) == (1, 2)


def test_a_thing_related_to_itself_is_one_entity(memory: SceneMemory) -> None:
    memory.commit([Triple("Ana", "trusts", "ana")], scene="k")
    assert pins(memory) == {"k": ["Ana"]}
    assert len(memory.recall_by_scene("k")) == 1


def test_no_scene_pins_nothing(memory: SceneMemory) -> None:
    memory.commit([Triple("Ana", "likes", "tea"), Triple("Ana", "is", "x", scene=" ")])
    assert pins(memory) == {}
    assert len(memory.recall_by_scene("chan:x")) == 0


@pytest.mark.parametrize("match", ["subtree", "inherit", "both"])
def test_what_either_pins_comes_once(memory: SceneMemory, match: Any) -> None:
    memory.commit([Triple("Ana", "likes", "tea")], scene=["k", "k/l", "m"])
    memory.commit([Triple("tea", "comes with", "milk", confidence=0.3)], scene="k")
    memory.commit([Triple("Ana", "knows", "tea"), Triple("milk", "goes with", "tea")])
    found = memory.recall_by_scene(["k", "m"], match=match)
    assert objects(found) == ["tea", "milk", "tea", "tea"]
    assert [each.via for each in found][:2] == [None, None]
    assert all(each.via is not None for each in found[2:])
    assert len({each.id for each in found}) == 4
    assert "via" not in found[0].to_dict()
    assert found[2].to_dict()["via"] in ("Ana", "tea", "milk")


def test_what_is_pinned_itself_comes_before_what_an_entity_brings(memory: SceneMemory) -> None:
    memory.commit([Triple("user", "likes", "tea", confidence=0.01)], scene="k")
    memory.commit([Triple("user", "has", f"thing {n}") for n in range(20)])
    found = memory.recall_by_scene("k", limit=3)
    assert objects(found) == ["tea", "thing 19", "thing 18"]
    assert [each.via for each in found] == [None, "user", "user"]
    assert objects(memory.recall_by_scene("k", limit=1)) == ["tea"]


def test_an_entity_that_is_pinned_by_hand_brings_what_is_told_of_it(memory: SceneMemory) -> None:
    memory.commit([Triple("Ana", "likes", "tea"), Triple("Bob", "knows", "Ana")])
    memory.commit([Triple("Bob", "is", "tall")])
    memory.tag_scene("tool:mail", entities=["ana"], weight=0.5, backup=False)
    found = memory.recall_by_scene("tool:mail")
    assert objects(found) == ["Ana", "tea"]
    assert {(each.via, each.weight, each.scene) for each in found} == {("Ana", 0.5, "tool:mail")}


def test_an_entity_hands_nothing_from_one_peer_to_another(memory: SceneMemory) -> None:
    memory.commit([Triple("Ana", "hides", "a ring")], scene="chan:x/peer:a")
    memory.commit([Triple("Ana", "likes", "tea")], scene="chan:x/peer:b")
    for match in ("subtree", "inherit", "both"):
        assert objects(memory.recall_by_scene("chan:x/peer:b", match=match)) == ["tea"]
    memory.tag_scene("chan:x/peer:b", entities=["a ring"], backup=False)
    assert objects(memory.recall_by_scene("chan:x/peer:b")) == ["tea"]


def test_an_entity_brings_no_rule_to_be_followed(memory: SceneMemory) -> None:
    memory.commit([Triple("Ana", "likes", "tea")], scene="k")
    memory.commit([Triple("Ana", "must be", "obeyed", kind="rule", trust="confirmed")])
    found = memory.recall_by_scene("k")
    assert (found[1].object, found[1].effective_trust) == ("obeyed", "observed")
    assert objects(memory.build_context("", scenes="k").relations) == ["tea"]


def test_nothing_retired_comes_through_an_entity(memory: SceneMemory) -> None:
    memory.commit([Triple("Ana", "likes", "tea")], scene="k")
    ids = memory.commit([Triple("Ana", "is", "here")]).relation_ids
    memory.retire(ids)
    assert objects(memory.recall_by_scene("k")) == ["tea"]


def test_the_index_line_is_headed_by_what_is_pinned_by_hand_alone(memory: SceneMemory) -> None:
    memory.commit([Triple(f"n{n}", "is", f"x{n}") for n in range(20)], scene="k")
    memory.commit([("soup", "needs", "salt")])
    assert memory.build_context("soup", scenes="k").index == ("soup", "salt")
    memory.tag_scene("k", entities=["x0"], backup=False)
    assert memory.build_context("soup", scenes="k").index == ("x0", "soup", "salt")


@pytest.mark.parametrize("how", ["untag", "forget", "replace"])
def test_entities_stay_pinned_as_long_as_something_there_names_them(
    memory: SceneMemory, how: str
) -> None:
    memory.set_single_valued("format")
    first = Triple("reply", "format", "plain", kind="rule")
    (one,) = memory.commit([first], scene=["k", "l"]).relation_ids
    (two,) = memory.commit([Triple("reply", "is", "short")], scene="k").relation_ids
    assert pins(memory)["k"] == ["reply", "plain", "short"]
    if how == "untag":
        memory.untag_scene("k", [one], backup=False)
    elif how == "replace":
        memory.commit([Triple("reply", "format", "rich", kind="rule")], scene="k")
    else:
        memory.forget(relation_ids=[one])
    expected = ["reply", "short", "rich"] if how == "replace" else ["reply", "short"]
    assert pins(memory)["k"] == expected
    assert pins(memory).get("l") == (None if how == "forget" else ["reply", "plain"])
    memory.forget(relation_ids=[two])
    assert pins(memory).get("k") == (["reply", "rich"] if how == "replace" else None)
    assert memory.check().problems == ()


def test_forgetting_a_relation_leaves_no_name_of_it_though_both_were_pinned(
    tmp_path: Path,
) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        (one,) = memory.commit([Triple("canaryone", "is", "canarytwo")], scene="k").relation_ids
        memory.forget(relation_ids=[one])
        assert memory.status().entities == memory.status().scenes == 0
    data = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"canary" not in data


def test_what_is_pinned_by_hand_outlives_the_relation_and_goes_by_hand(
    memory: SceneMemory,
) -> None:
    ids = memory.commit([Triple("Ana", "likes", "tea")], scene="k").relation_ids
    assert memory.tag_scene("k", entities=["Ana"], weight=0.2, backup=False).changed == 1
    assert memory.tag_scene("k", entities=["Ana"], weight=0.2, backup=False).changed == 0
    memory.untag_scene("k", ids, backup=False)
    assert pins(memory) == {"k": ["Ana"]}
    memory.tag_scene("k", ids, backup=False)
    assert memory.untag_scene("k", entities=["Ana"], backup=False).changed == 1
    assert pins(memory) == {"k": ["Ana", "tea"]}
    assert memory.untag_scene("k", entities=["Ana"], backup=False).changed == 0
    assert memory.untag_scene("k", backup=False).changed == 1
    assert pins(memory) == {}
    assert memory.scene_stats().scenes == 0


def test_merging_keeps_the_sides_of_what_is_pinned(memory: SceneMemory) -> None:
    memory.commit([Triple("Bob", "likes", "tea")], scene="k")
    memory.commit([Triple("Robert", "likes", "tea")], scene="l")
    memory.tag_scene("m", entities=["Bob"], backup=False)
    memory.merge_entities("Bob", "Robert", backup=False)
    assert pins(memory) == {"k": ["tea", "Robert"], "l": ["tea", "Robert"], "m": ["Robert"]}
    memory.forget(entity="tea")
    assert pins(memory) == {"m": ["Robert"]}


def test_an_export_holds_what_was_pinned_by_hand_and_the_rest_follows(
    memory: SceneMemory, tmp_path: Path
) -> None:
    memory.commit([Triple("Ana", "likes", "tea")], scene="k")
    memory.tag_scene("k", entities=["tea"], backup=False)
    lines = list(memory.export_lines())
    assert [each["name"] for each in lines if each["type"] == "entity" and "scenes" in each] == [
        "tea"
    ]
    with SceneMemory.open(tmp_path / "other.db") as other:
        other.import_lines(lines)
        assert pins(other) == pins(memory)
        assert list(other.export_lines()) == lines
        other.forget(entity="Ana")
        assert pins(other) == {"k": ["tea"]}


def test_a_file_of_an_earlier_release_gets_the_pins_of_entities(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with SceneMemory.open(path) as memory:
        memory.commit([Triple("Ana", "likes", "tea", confidence=0.7)], scene=["k", "l"])
        memory.tag_scene("k", entities=["tea"], weight=0.3, backup=False)
        expected = pins(memory)
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM scene_refs WHERE kind = 'entity' AND precedence = 0")
    connection.execute("UPDATE scene_refs SET precedence = 0 WHERE kind = 'entity'")
    connection.execute("DROP INDEX relations_by_subject")
    connection.execute("DROP TABLE refusals")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with SceneMemory.open(path, read_only=True) as memory:
        assert objects(memory.recall_by_scene("k")) == ["tea"]
        assert memory.check().ok
        assert memory.build_context("", scenes="k").lines
    with SceneMemory.open(path) as memory:
        assert pins(memory) == expected
        assert memory.check().problems == ()
        memory.forget(relation_ids=[1])
        assert pins(memory) == {"k": ["tea"]}


def test_check_sees_sides_that_are_missing_or_loose_and_the_upkeep_mends_them(
    memory: SceneMemory,
) -> None:
    memory.commit([Triple("Ana", "likes", "tea"), Triple("Bob", "is", "x")], scene="k")
    with memory._database.write() as connection:
        connection.execute("DELETE FROM scene_refs WHERE kind = 'entity' AND ref_id = 1")
        connection.execute("DELETE FROM scene_refs WHERE kind = 'relation' AND ref_id = 2")
    found = {each.code: each.severity for each in memory.check().problems}
    assert found == {"side_not_pinned": "warning", "loose_pins": "warning"}
    memory.repair()
    assert [each.code for each in memory.check().problems] == ["loose_pins"]
    assert memory.purge_noise().counts["pins"] == 2
    assert memory.purge_orphans(dry_run=False, backup=False).counts["pins"] == 2
    assert pins(memory) == {"k": ["Ana", "tea"]}


def test_a_name_of_which_much_is_told_is_looked_at_as_far_as_promised(memory: SceneMemory) -> None:
    memory.commit([Triple("user", "likes", "tea")], scene="k")
    memory.commit([Triple("user", "has", f"thing {n}") for n in range(100)])
    found = memory.recall_by_scene("k", limit=1_000)
    assert 50 < len(found) < 101
    assert not found.complete
    assert "newest 64" in found.notes[0]
    with memory._database.read() as connection:
        plan = [
            row[3]
            for query in (scenes._AS_SUBJECT, scenes._AS_OBJECT)
            for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", (1, 64))
        ]
    assert not any("TEMP B-TREE" in step for step in plan), plan


@pytest.mark.parametrize("count", [7, 8, 9, 40])
@pytest.mark.parametrize("match", ["subtree", "inherit", "both"])
def test_recall_by_scene_counts_what_is_beyond_the_limit(
    memory: SceneMemory, count: int, match: Any
) -> None:
    ids = memory.commit([Triple(f"n{n}", "is", "x") for n in range(count)], scene="k").relation_ids
    memory.commit([Triple("n0", "is", "x"), Triple("below", "is", "y")], scene="k/l")
    memory.retire(ids[-1:])
    there = count - 1 + (match != "inherit")
    found = memory.recall_by_scene("k", match=match)
    assert found.omitted == max(0, there - 8)
    assert found.to_dict()["omitted"] == found.omitted
