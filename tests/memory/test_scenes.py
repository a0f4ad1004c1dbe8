# SPDX-License-Identifier: MIT
"""Scene keys, pins, and recall by scene."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mnemogram.errors import InvalidArgument
from mnemogram.memory import (
    SceneMemory,
    Triple,
    channel_scene,
    normalize_scene_key,
    scene_keys_for,
    scenes,
    tool_scene,
)

Rule = Triple


def pinned(memory: SceneMemory, *keys: str) -> None:
    for key in keys:
        memory.commit([Triple(f"rule of {key}", "is", "kept", kind="rule")], scene=key)


def subjects(found: Any) -> list[str]:
    return [each.subject.removeprefix("rule of ") for each in found]


@pytest.mark.parametrize(
    "key",
    ["team-a", "3f2a8c1e-9b7d-4e21-8a55-0c6de1f2a9b3", "团队", "chan:чат", "tool:qq_get", "ครัว"],
)
def test_a_key_of_any_script_round_trips(memory: SceneMemory, key: str) -> None:
    pinned(memory, key)
    (found,) = memory.recall_by_scene(key)
    assert found.scene == normalize_scene_key(key) == key
    assert [each.key for each in memory.scenes()] == [key]


@pytest.mark.parametrize(
    ("key", "others"),
    [
        ("tool:qq_get", ["tool:qqxget/x", "tool:qqxget", "tool:qq_get2"]),
        ("chan:qq", ["chan:qq2", "chan:qq-x", "chan:qq.x", "chan:q", "chan:qqq/a", "chan:qq0"]),
        ("a", ["b", "aa", "a-b/c", "a.b", "A1".lower()]),
    ],
)
def test_a_subtree_is_the_key_and_what_is_below_and_nothing_else(
    memory: SceneMemory, key: str, others: list[str]
) -> None:
    inside = [key, f"{key}/x", f"{key}/x/y", f"{key}/zz", f"{key}/-", f"{key}/\uffee"]
    inside = [normalize_scene_key(each) for each in inside]
    pinned(memory, *inside, *others)
    found = memory.recall_by_scene(key, limit=100)
    assert sorted(subjects(found)) == sorted(set(inside))


def test_percent_and_underscore_are_no_wildcards(memory: SceneMemory) -> None:
    pinned(memory, "tool:qq_get/x", "tool:qqxget/x", "tool:qq-get/x")
    assert subjects(memory.recall_by_scene("tool:qq_get")) == ["tool:qq_get/x"]
    assert not memory.recall_by_scene("tool:qq%")
    assert not memory.recall_by_scene("tool:%")


def test_inherit_is_the_key_and_what_is_above(memory: SceneMemory) -> None:
    pinned(memory, "chan:qq", "chan:qq/peer:g1", "chan:qq/peer:g1/topic:food", "chan:qq/peer:g2")
    found = memory.recall_by_scene("chan:qq/peer:g1", match="inherit")
    assert sorted(subjects(found)) == ["chan:qq", "chan:qq/peer:g1"]
    assert {each.match for each in found} == {"exact", "inherited"}


def test_both_is_above_and_below_and_never_beside(memory: SceneMemory) -> None:
    pinned(memory, "chan:qq", "chan:qq/peer:g1", "chan:qq/peer:g1/topic:food", "chan:qq/peer:g2")
    found = memory.recall_by_scene("chan:qq/peer:g1", match="both")
    assert "chan:qq/peer:g2" not in subjects(found)
    assert len(found) == 3


def test_the_order_is_weight_then_recency_then_id(memory: SceneMemory) -> None:
    for name, weight in (("old", 0.9), ("heavy", 1.0), ("light", 0.2), ("new", 0.9)):
        memory.commit([Triple(name, "is", "x", confidence=weight)], scene="k")
    memory.commit([Triple("b1", "is", "x", confidence=0.5), ("b2", "is", "x")], scene="k")
    names = [each.subject for each in memory.recall_by_scene("k")]
    assert names == ["b2", "heavy", "new", "old", "b1", "light"]
    memory.commit([Triple("old", "is", "x", confidence=0.1)])
    names = [each.subject for each in memory.recall_by_scene("k")]
    assert names == ["b2", "heavy", "old", "new", "b1", "light"]


def test_the_order_of_many_scenes_is_that_of_few(memory: SceneMemory) -> None:
    for number in range(120):
        memory.commit(
            [Triple(f"n{number}", "is", "x", confidence=(number * 37 % 100) / 100)],
            scene=f"k/level{number:03}",
        )
    whole = memory.recall_by_scene("k", limit=120)
    expected = sorted(whole, key=lambda r: (-(r.weight or 0), -r.told_at, -r.id))
    assert len(whole) == 120
    assert list(whole) == expected
    assert [each.id for each in memory.recall_by_scene("k")] == [each.id for each in expected[:8]]


def test_a_relation_pinned_in_many_scenes_comes_once_with_its_largest_weight(
    memory: SceneMemory,
) -> None:
    for number in range(50):
        triple = Triple("a", "is", "x", confidence=number / 50)
        memory.commit([triple], scene=[f"k/{number}", f"k/{number}/z"])
    memory.commit([Triple("b", "is", "x", confidence=0.01)], scene="k/0")
    found = memory.recall_by_scene("k")
    assert [(each.subject, each.weight) for each in found] == [("a", 0.98), ("b", 0.01)]


def test_several_keys_apply_together(memory: SceneMemory) -> None:
    pinned(memory, "chan:qq", "tool:send_mail", "other")
    found = memory.recall_by_scene(["chan:qq", "tool:send_mail", "chan:qq", ""])
    assert sorted(subjects(found)) == ["chan:qq", "tool:send_mail"]


def test_a_key_that_is_nothing_recalls_nothing(memory: SceneMemory) -> None:
    pinned(memory, "chan:qq")
    assert len(memory.recall_by_scene(" !! ")) == 0
    assert len(memory.recall_by_scene([])) == 0


def test_relations_come_whole_with_their_sentence(memory: SceneMemory) -> None:
    sentence = "在QQ里回复时，请不要使用任何 Markdown 标记，直接写普通的文字就好。" * 5
    triple = Triple("QQ回复", "格式", "纯文本", sentence=sentence)
    memory.commit([triple], scene="chan:qq")
    assert memory.recall_by_scene("chan:qq")[0].sentence == sentence


@pytest.mark.parametrize("match", ["subtree", "inherit", "both"])
def test_recall_shows_no_retired_and_no_dangling_pin(memory: SceneMemory, match: Any) -> None:
    ids = memory.commit([(f"n{n}", "is", "x") for n in range(20)], scene="k").relation_ids
    memory.retire(ids[10:])
    with memory._database.write() as connection:  # what a foreign program may leave
        connection.execute(
            "INSERT INTO scene_refs VALUES (1, 'relation', 999, 1, 'confirmed', 2, 9)"
        )
    found = memory.recall_by_scene("k", match=match, limit=100)
    assert sorted(each.id for each in found) == sorted(ids[:10])
    assert memory.scene_stats().stale_pins == 1
    assert memory.scene_stats().retired_pins == 10
    assert memory.purge_stale_scene_refs(backup=False).counts["pins"] == 1
    assert memory.scene_stats().stale_pins == 0


@pytest.mark.parametrize(
    ("sql", "values", "table"),
    [
        (scenes.SUBTREE, {"key": "chan:qq"}, "scenes"),
        (scenes.EXACT, {"key": "chan:qq"}, "scenes"),
        (scenes.RANGE, {"low": "a", "high": "b"}, "scenes"),
        (scenes.BY_WEIGHT, (1, 8), "p"),
        (scenes.RULES_FIRST, (1, 8), "p"),
        (scenes.SWEEP, {"key": "chan:qq", "most": 8}, "s"),
    ],
)
def test_recall_by_scene_reads_index_ranges_only(
    memory: SceneMemory, sql: str, values: Any, table: str
) -> None:
    with memory._database.read() as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    reads = [step for step in plan if step.startswith(("SEARCH", "SCAN"))]
    assert reads
    allowed = ("USING COVERING INDEX", "USING INDEX", "USING INTEGER PRIMARY KEY")
    for step in reads:
        if step.startswith(("SCAN (subquery", "SCAN VIEW")):
            continue
        assert step.startswith("SEARCH"), plan
        assert any(each in step for each in allowed), plan
    assert any(step.startswith(f"SEARCH {table} ") for step in reads)
    if sql in (scenes.SUBTREE, scenes.SWEEP):
        assert any("(key>? AND key<?)" in step for step in reads), plan
    if sql in (scenes.BY_WEIGHT, scenes.RULES_FIRST):
        assert not any("TEMP B-TREE" in step for step in plan), plan


def test_the_present_situation_is_payload_then_channel_then_tool() -> None:
    payload = {"scene": ["Role:Host", "chan:qq", "", "Role:Host"]}
    assert scene_keys_for(payload, channel="QQ", tool="send mail") == [
        "role:host",
        "chan:qq",
        "tool:send_mail",
    ]
    assert scene_keys_for(channel="qq", peer="Group_1") == ["chan:qq/peer:group_1"]
    assert scene_keys_for({"scene": "desk"}) == ["desk"]
    assert scene_keys_for(SimpleNamespace(scene="desk"), tool="t") == ["desk", "tool:t"]
    assert scene_keys_for("desk") == ["desk"]
    assert scene_keys_for({}) == scene_keys_for() == scene_keys_for(channel=" ") == []
    with pytest.raises(InvalidArgument, match="a string or a list"):
        scene_keys_for({"scene": 5})


def test_a_slash_in_a_name_makes_no_level_and_no_other_name() -> None:
    for scene in (channel_scene, tool_scene):
        keys = [scene(name) for name in ("a/b", "a b", "a//b", "a\\b", "ab")]
        assert len(set(keys)) == 5
        assert not any("/" in key for key in keys)
        assert scene("a／b") == keys[0]
    (one,) = scene_keys_for(channel="qq", peer="g1/x")
    (two,) = scene_keys_for(channel="qq", peer="g1 x")
    assert one.count("/") == 1
    assert one.startswith("chan:qq/peer:g1_x-")
    assert two == "chan:qq/peer:g1_x"


NAMES = [
    "🌙",
    "🌸",
    "👩‍💻",
    "c++",
    "c#",
    "c",
    "c/",
    "a+b@x",
    "a_b@x",
    "_",
    "__",
    "!!",
    "ß",
    "ss",
    "·",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_peer_is_never_dropped_and_named_like_in_a_key_written_out(name: str) -> None:
    (key,) = scene_keys_for(channel="tg", peer=name)
    assert key.startswith("chan:tg/peer:")
    assert key != "chan:tg/peer:"
    (alone,) = scene_keys_for(peer=name)
    assert key == f"chan:tg/{alone}"
    if "/" not in name:
        assert normalize_scene_key(f"chan:tg/peer:{name}") == key


def test_no_two_peers_have_one_key() -> None:
    keys = {scene_keys_for(channel="tg", peer=name)[0] for name in NAMES}
    assert len(keys) == len(NAMES)


@pytest.mark.parametrize("teller", NAMES)
def test_what_is_told_to_one_peer_reaches_no_other_and_outlives_their_forgetting(
    memory: SceneMemory, teller: str
) -> None:
    (own,) = scene_keys_for(channel="tg", peer=teller)
    memory.commit(
        [Triple("reply", "must not mention", "the move", kind="rule", trust="confirmed")], scene=own
    )
    for name in NAMES:
        if name == teller:
            continue
        (other,) = scene_keys_for(channel="tg", peer=name)
        memory.commit([Triple(name, "likes", "tea")], scene=other)
        assert "move" not in memory.build_context("hi", scenes=other).format()
        assert "move" not in memory.build_context("reply", scenes=other).format()
        assert "reply" not in subjects(memory.recall("reply move", scenes=[other]))
        assert "reply" not in subjects(memory.recall_by_scene(other, match="both"))
        memory.forget(scene=other)
    assert "move" not in memory.build_context("hi", scenes="chan:tg").format()
    assert "the move" in memory.build_context("hi", scenes=own).format()
    assert memory.forget(scene=own).counts["relations"] == 1


def test_all_that_is_above_a_long_key_is_inherited(memory: SceneMemory) -> None:
    levels = [f"level{n:02}{'x' * 20}" for n in range(8)]
    keys = ["/".join(levels[: n + 1]) for n in range(8)]
    pinned(memory, *keys)
    found = memory.recall_by_scene(keys[-1], match="inherit", limit=100)
    assert sorted(subjects(found)) == sorted(keys)
    assert found[0].asked == normalize_scene_key(keys[-1])


@pytest.mark.parametrize("narrow", ["thread:", "topic:"])
def test_a_key_that_was_cut_stays_its_peers_own(memory: SceneMemory, narrow: str) -> None:
    peer = "chan:slack/peer:" + "x" * 60
    key = f"{peer}/{narrow}{'y' * 40}"
    memory.commit(
        [Triple("reply", "must not mention", "the move", kind="rule", trust="confirmed")], scene=key
    )
    assert "the move" in memory.build_context("hi", scenes=key).format()
    assert "the move" not in memory.build_context("hi", scenes="chan:slack").format()
    if narrow == "thread:":
        assert "the move" not in memory.build_context("hi", scenes=peer).format()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("a/" * 2_000, "2000 levels"),
        (["x", "／".join(["a"] * 33)], "33 levels"),
        ("a/" * 4_000 + "b", "8001 characters"),
        ("\u0e38\u0e48" * 20_000, "40000 characters"),
        ([f"k{n}" for n in range(65)], "more than 64"),
        (["k"] * 65, "more than 64"),
    ],
)
def test_keys_past_all_reason_are_refused_before_they_are_worked_on(
    memory: SceneMemory, keys: Any, words: str
) -> None:
    for call in (
        lambda: memory.recall_by_scene(keys),
        lambda: memory.recall("x", scenes=keys),
        lambda: memory.build_context("x", scenes=keys),
        lambda: memory.commit([Triple("a", "is", "b")], scene=keys),
        lambda: memory.commit([Triple("a", "is", "b", scene=keys)]),
        lambda: scene_keys_for(keys),
    ):
        with pytest.raises(InvalidArgument, match=words):
            call()
    if isinstance(keys, str):
        for each in (
            lambda: memory.tag_scene(keys, [1]),
            lambda: memory.untag_scene(keys),
            lambda: memory.forget(scene=keys),
            lambda: memory.scenes(keys),
            lambda: memory.tag_scene_by_entity_glob(keys, "*"),
        ):
            with pytest.raises(InvalidArgument, match=words):
                each()
    assert memory.status().relations == 0


def test_a_name_past_all_reason_makes_no_scene() -> None:
    for call in (channel_scene, tool_scene, lambda name: scene_keys_for(peer=name)):
        with pytest.raises(InvalidArgument, match="10000 characters"):
            call("\u0e38\u0e48" * 5_000)


def test_a_key_of_as_many_levels_as_allowed_is_inherited_from(memory: SceneMemory) -> None:
    key = "/".join(["a"] * 32)
    pinned(memory, "a", key)
    assert len(memory.recall_by_scene(f"//{key}// /", match="inherit")) == 2


def test_bad_arguments_of_recall_say_what_to_use(memory: SceneMemory) -> None:
    with pytest.raises(InvalidArgument, match="1 to 1000"):
        memory.recall_by_scene("k", limit=0)
    with pytest.raises(InvalidArgument, match="subtree, inherit, both"):
        memory.recall_by_scene("k", match="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="must be strings"):
        memory.recall_by_scene([5])  # type: ignore[list-item]


def test_retired_relations_do_not_crowd_a_wide_subtree(memory: SceneMemory) -> None:
    for number in range(40):
        batch = [Triple(f"old {number} {n}", "is", "x") for n in range(5)]
        ids = memory.commit(batch, scene=f"k/{number}").relation_ids
        memory.retire(ids)
    memory.commit([Triple("light", "is", "x", confidence=0.1)], scene="k/7")
    memory.commit([Triple("top", "is", "x", confidence=0.1)], scene="k")
    assert subjects(memory.recall_by_scene("k")) == ["top", "light"]


def test_a_subtree_of_many_scenes_holds_the_pins_of_its_own_key(memory: SceneMemory) -> None:
    pinned(memory, "k", *(f"k/{n}" for n in range(30)))
    found = memory.recall_by_scene("k", limit=100)
    assert len(found) == 31
    assert {each.match for each in found if each.scene == "k"} == {"exact"}
