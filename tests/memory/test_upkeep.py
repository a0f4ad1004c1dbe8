# SPDX-License-Identifier: MIT
"""Tagging after the fact, sweeping, merging, copies and checking."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram.errors import InvalidArgument, NotFound, StorageUnavailable
from mnemogram.memory import SceneMemory, Triple
from mnemogram.memory.stopwords import names_nothing


def copies(memory: SceneMemory) -> list[Path]:
    return sorted(memory.path.parent.glob("memory.db.backup-*"))


def test_tagging_pins_relations_and_reports_those_that_do_not_exist(memory: SceneMemory) -> None:
    ids = memory.commit([("a", "is", "x"), ("b", "is", "x")]).relation_ids
    report = memory.tag_scene("Tool:Send Mail", [*ids, 99])
    assert (report.key, report.changed, report.missing) == ("tool:send_mail", 2, (99,))
    assert [each.subject for each in report.relations] == ["a", "b"]
    assert len(memory.recall_by_scene("tool:send_mail")) == 2
    assert memory.tag_scene("tool:send_mail", ids).changed == 0
    assert memory.scene_stats().relation_pins == 2


def test_tagging_nothing_that_exists_leaves_no_scene_behind(memory: SceneMemory) -> None:
    memory.tag_scene("chan:x", [99], backup=False)
    assert memory.scene_stats().scenes == 0
    with pytest.raises(NotFound, match="nobody"):
        memory.tag_scene("chan:x", entities=["nobody"], backup=False)
    assert memory.scene_stats().scenes == 0
    with pytest.raises(InvalidArgument, match="nothing is left"):
        memory.tag_scene(" / ", [1])


def test_untagging_takes_pins_off_exactly_that_scene(memory: SceneMemory) -> None:
    ids = memory.commit([("a", "is", "x"), ("b", "is", "x")], scene=["k", "k/l"]).relation_ids
    assert memory.untag_scene("k", ids[:1], backup=False).changed == 1
    assert [each.id for each in memory.recall_by_scene("k", match="inherit")] == [ids[1]]
    assert len(memory.recall_by_scene("k/l")) == 2
    assert memory.untag_scene("k", [ids[0], 99], backup=False).missing == (ids[0], 99)
    assert memory.untag_scene("k", backup=False).changed == 1
    assert [each.key for each in memory.scenes()] == ["k/l"]
    assert memory.untag_scene("unknown", [1], backup=False).changed == 0


def test_a_glob_counts_case_and_its_dry_run_shows_which_relations_match(
    memory: SceneMemory,
) -> None:
    memory.commit(
        [
            ("QQ回复", "格式", "纯文本"),
            ("qqxget", "is", "a tool"),
            ("weather", "seen in", "QQ群"),
            ("AQQ", "is", "x"),
        ]
    )
    dry = memory.tag_scene_by_entity_glob("chan:qq", "QQ*")
    assert dry.dry_run
    assert [each.subject for each in dry.relations] == ["QQ回复", "weather"]
    assert dry.changed == 2
    assert memory.scene_stats().scenes == 0
    assert not copies(memory)
    report = memory.tag_scene_by_entity_glob("chan:qq", "QQ*", dry_run=False)
    assert report.relations == dry.relations
    assert report.backup == str(copies(memory)[0])
    assert sorted(each.subject for each in memory.recall_by_scene("chan:qq")) == [
        "QQ回复",
        "weather",
    ]
    assert memory.tag_scene_by_entity_glob("chan:qq", "QQ*").changed == 0


def test_noise_is_what_says_nothing_and_never_what_is_pinned_confirmed_or_a_rule(
    memory: SceneMemory,
) -> None:
    noise = [
        Triple("weak", "is", "guess", confidence=0.1),
        Triple("self", "is", "SELF"),
        Triple("soup", "is", "---"),
        Triple("it", "is", "that"),
    ]
    kept = [
        Triple("rule", "is", "weak", confidence=0.1, kind="rule"),
        Triple("pinned", "is", "weak", confidence=0.1, scene="k"),
        Triple("sure", "is", "weak", confidence=0.1, trust="confirmed"),
        Triple("我", "喜欢", "茶"),
        Triple("😀", "means", "joy"),
        Triple("light", "is", "on"),
    ]
    memory.commit(noise + kept)
    dry = memory.purge_noise()
    assert dry.dry_run
    assert dry.counts == {"relations": 4}
    assert [dry.reasons[each.id] for each in dry.relations] == [
        "confidence below 0.3",
        "related to itself",
        "a name without a letter or digit",
        "neither name says anything",
    ]
    assert len(memory.relations()) == 10
    report = memory.purge_noise(dry_run=False)
    assert report.counts["relations"] == 4
    assert len(memory.relations()) == 6
    assert not memory.recall("guess")
    assert memory.status().entities == len(
        {each for r in memory.relations() for each in (r.subject, r.object)}
    )
    assert memory.purge_orphans().total == 0


@pytest.mark.parametrize(
    "fact",
    [
        ("IT", "owns", "the US"),
        ("IT", "is", "US"),
        ("May", "married", "Will"),
        ("May", "is", "Will"),
        ("may", "married", "will"),
        ("C", "precedes", "D"),
        ("C", "is", "D"),
        ("c++", "is", "c"),
        ("i = 1", "is", "that"),
        ("いずみ", "すき", "みさき"),
        ("これ", "は", "それ"),
        ("明明", "是", "安安"),
        ("he", "loves", "her"),
        ("我", "爱", "你"),
        ("Ｉ", "is", "ＩＴ"),
    ],
)
def test_a_fact_told_with_full_confidence_is_no_noise_because_of_its_names(
    memory: SceneMemory, fact: tuple[str, str, str]
) -> None:
    memory.commit([fact])
    assert memory.purge_noise().total == 0
    assert memory.purge_noise(dry_run=False, backup=False).total == 0
    assert len(memory.relations()) == 1


@pytest.mark.parametrize(
    "fact",
    [
        ("it", "is", "that"),
        ("they!", "were", "you, too"),
        ("我", "是", "你"),
        ("这个", "是", "那个"),
        ("の", "は", "が"),
        ("ｉｔ", "is", "ｔｈａｔ"),
    ],
)
def test_function_words_related_by_one_are_noise(
    memory: SceneMemory, fact: tuple[str, str, str]
) -> None:
    memory.commit([fact])
    (reason,) = memory.purge_noise().reasons.values()
    assert reason == "neither name says anything"


def test_function_words_told_without_full_confidence_are_noise_whatever_relates_them(
    memory: SceneMemory,
) -> None:
    memory.commit(
        [
            Triple("he", "loves", "her", confidence=0.9),
            Triple("IT", "owns", "the US", confidence=0.9),
        ]
    )
    (found,) = memory.purge_noise().relations
    assert found.subject == "he"


@given(name=st.text(max_size=8))
def test_a_capital_a_symbol_and_two_hiragana_may_be_a_name(name: str) -> None:
    assert (
        not names_nothing(name)
        or not any(
            each != each.lower() or each in "+#=@/%" or "\u3041" <= each <= "\u3096"
            for each in name
        )
        or len(name) == 1
    )


def leave_dangling(memory: SceneMemory) -> None:
    """Leave what a foreign program, or a release with a fault, may leave."""
    with memory._database.write() as connection:
        for scene, kind, ref in ((1, "relation", 991), (1, "entity", 992), (77, "relation", 1)):
            connection.execute(
                "INSERT INTO scene_refs VALUES (?, ?, ?, 1, 'observed', 0, 1)", (scene, kind, ref)
            )
        connection.execute("INSERT INTO scenes (key, created_at) VALUES ('hollow', 1)")
        connection.execute(
            "INSERT INTO scene_refs SELECT id, 'relation', 993, 1, 'observed', 0, 1"
            " FROM scenes WHERE key = 'hollow'"
        )


@pytest.mark.parametrize("sweep", ["purge_noise", "purge_orphans"])
def test_dangling_pins_are_swept_whatever_is_purged(memory: SceneMemory, sweep: str) -> None:
    memory.commit([Triple("a", "is", "b")], scene="k")
    memory.commit([Triple("weak", "is", "guess", confidence=0.1)])
    leave_dangling(memory)
    dry = getattr(memory, sweep)()
    assert dry.counts["pins"] == 4
    assert memory.scene_stats().stale_pins == 4
    done = getattr(memory, sweep)(dry_run=False, backup=False)
    assert done.counts["pins"] == 4
    if sweep == "purge_orphans":
        assert dry.counts == done.counts
        assert done.counts["scenes"] == 1
    assert memory.scene_stats().stale_pins == 0
    assert [each.key for each in memory.scenes()] == ["k"]
    assert "pins" not in getattr(memory, sweep)().counts
    assert memory.check().problems == ()


def test_an_entity_that_only_a_pin_to_a_missing_scene_holds_is_an_orphan(
    memory: SceneMemory,
) -> None:
    memory.commit([Triple("a", "is", "b")], scene="k")
    with memory._database.write() as connection:
        connection.execute(
            "INSERT INTO entities (folded, name, names, created_at) VALUES ('z', 'Z', 'Z', 1)"
        )
        connection.execute("INSERT INTO scene_refs VALUES (77, 'entity', 3, 1, 'observed', 0, 1)")
    dry = memory.purge_orphans()
    assert (dry.counts["entities"], dry.counts["pins"]) == (1, 1)
    assert memory.purge_orphans(dry_run=False, backup=False).counts == dry.counts


def test_orphans_are_swept_only_when_asked(memory: SceneMemory) -> None:
    memory.commit([Triple("a", "is", "b", sentence="words")], scene="k")
    with memory._database.write() as connection:  # what a foreign program may leave
        connection.execute(
            "INSERT INTO entities (folded, name, names, created_at) VALUES ('z', 'Z', 'Z', 1)"
        )
        connection.execute("INSERT INTO sentences (digest, text) VALUES (x'00', 'lost')")
        connection.execute("INSERT INTO scenes (key, created_at) VALUES ('empty', 1)")
        connection.execute("INSERT INTO vectors VALUES (77, 1, x'00')")
    expected = {"entities": 1, "sentences": 1, "scenes": 1, "vectors": 1}
    assert memory.purge_orphans().counts == expected
    assert memory.purge_orphans().counts == expected
    assert {each.severity for each in memory.check().problems} == {"warning"}
    assert memory.purge_orphans(dry_run=False, backup=False).counts == expected
    assert memory.purge_orphans().total == 0
    assert memory.check().problems == ()


def test_a_dry_run_cannot_write(memory: SceneMemory) -> None:
    with memory._file.read_only() as connection, pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM relations")


def test_changes_are_preceded_by_a_private_copy_of_which_five_are_kept(
    memory: SceneMemory,
) -> None:
    ids = memory.commit([("a", "is", "x")]).relation_ids
    for number in range(7):
        memory.tag_scene(f"k{number}", ids)
    found = copies(memory)
    assert len(found) == 5
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in found)
    with SceneMemory.open(found[-1]) as copy:
        assert [each.key for each in copy.scenes()] == [f"k{n}" for n in range(6)]
        assert copy.check().ok
    memory.tag_scene("k8", ids, backup=False)
    assert copies(memory) == found


def test_a_copy_goes_to_a_new_path_only(memory: SceneMemory, tmp_path: Path) -> None:
    memory.commit([("a", "is", "x")])
    made = memory.backup(tmp_path / "copy.db")
    with SceneMemory.open(made, read_only=True) as copy:
        assert len(copy.relations()) == 1
    with pytest.raises(InvalidArgument, match="exists"):
        memory.backup(made)
    with pytest.raises(StorageUnavailable, match="cannot write"):
        memory.backup(tmp_path / "no" / "such" / "copy.db")


def test_merging_moves_relations_pins_sentences_and_names(memory: SceneMemory) -> None:
    memory.commit(
        [
            Triple("Bob", "likes", "tea", sentence="Bob likes tea.", confidence=0.9),
            Triple("Bob", "knows", "Ana"),
            Triple("Ana", "thanked", "Bob", confidence=0.5),
        ],
        scene="k",
        session_id="s1",
    )
    memory.commit([Triple("Robert", "likes", "tea", confidence=0.4)], scene="k", session_id="s2")
    memory.commit([Triple("Robert", "is", "tall")], scene="l")
    memory.tag_scene("k", entities=["Bob"], weight=0.7, backup=False)
    report = memory.merge_entities("bob", "robert", backup=False)
    assert (report.source, report.target) == ("Bob", "Robert")
    assert (report.moved, report.joined) == (2, 1)
    tea = memory.relations(subject="Bob", relation="likes")[0]
    assert (tea.subject, tea.sentence, tea.confidence) == ("Robert", "Bob likes tea.", 0.9)
    assert {each.weight for each in memory.recall_by_scene("k")} == {0.9, 1.0, 0.5}
    assert memory.scene_stats().relation_pins == 4
    assert memory.scene_stats().entity_pins == 5  # Robert, tea and Ana in k; Robert, tall in l
    assert memory.build_context("", scenes="k").index == ()  # Robert is in the block
    assert {each.subject for each in memory.recall("Bob")} == {"Robert", "Ana"}
    memory.commit([("BOB", "owns", "a boat")])
    assert memory.relations(subject="Robert", relation="owns")
    memory.forget(session_id="s1")
    assert memory.relations(subject="Robert", relation="likes")[0].sentence is None


def test_merging_joins_retired_with_active_as_active(memory: SceneMemory) -> None:
    ids = memory.commit([("Bob", "likes", "tea"), ("Robert", "likes", "tea")]).relation_ids
    memory.retire([ids[1]])
    memory.merge_entities("Bob", "Robert", backup=False)
    assert [each.status for each in memory.relations(retired=True)] == ["active"]


def test_merging_two_sides_of_one_relation_and_chains_of_merges(memory: SceneMemory) -> None:
    memory.commit([("A", "knows", "B"), ("B", "knows", "A"), ("A", "is", "C"), ("B", "is", "C")])
    memory.merge_entities("A", "B", backup=False)
    memory.merge_entities("B", "C", backup=False)
    memory.commit([("a", "knows", "b")])
    assert {(r.subject, r.relation, r.object) for r in memory.relations()} == {
        ("C", "knows", "C"),
        ("C", "is", "C"),
    }


def test_merging_nothing_or_the_same_is_refused(memory: SceneMemory) -> None:
    memory.commit([("A", "knows", "B")])
    with pytest.raises(InvalidArgument, match="same entity"):
        memory.merge_entities("A", "a", backup=False)
    with pytest.raises(NotFound, match="'Z'"):
        memory.merge_entities("Z", "A", backup=False)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("UPDATE scene_refs SET told_at = 5", "pin_out_of_line"),
        ("UPDATE scene_refs SET precedence = 2", "pin_out_of_line"),
        ("DELETE FROM mentions", "relation_without_mention"),
        ("UPDATE entities SET folded = 'wrong' WHERE id = 1", "name_not_folded"),
        ("UPDATE scenes SET key = 'Not Normal'", "key_not_normal"),
        ("UPDATE relations SET kind = 'fact'", "pin_out_of_line"),
        ("UPDATE mentions SET sentence_id = NULL", "untold_sentence"),
        ("INSERT INTO aliases VALUES ('a', 'A', 2)", "alias_is_entity"),
        ("UPDATE entities SET names = 'AA' WHERE id = 1", "index_differs"),
        ("UPDATE entities SET name = 'AA', folded = 'aa' WHERE id = 1", "names_out_of_line"),
        ("UPDATE sentences SET text = 'other words'", "index_differs"),
        ("INSERT INTO scene_refs VALUES (1, 'entity', 77, 1, 'observed', 0, 1)", "stale_pins"),
        ("INSERT INTO scenes (key, created_at) VALUES ('e', 1)", "empty_scenes"),
    ],
)
def test_check_sees_what_breaks_a_promise(tmp_path: Path, statement: str, code: str) -> None:
    with SceneMemory.open(tmp_path / "memory.db", synchronous="normal") as memory:
        memory.commit([Triple("a", "is", "b", sentence="words of it", kind="rule")], scene="k")
        assert memory.check().problems == ()
        with memory._database.write() as connection:
            connection.execute(statement)
        report = memory.check()
        assert code in [each.code for each in report.problems]
        assert report.ok == all(each.severity == "warning" for each in report.problems)


def test_repair_makes_a_different_index_right_again(memory: SceneMemory) -> None:
    memory.commit([Triple("a", "is", "b", sentence="words")])
    with memory._database.write() as connection:
        connection.execute(
            "INSERT INTO relations_fts (relations_fts, rowid, subject, type, object, sentence)"
            " VALUES ('delete', 1, 'a', 'is', 'b', 'words')"
        )
    assert [each.code for each in memory.check().problems] == ["index_differs"]
    assert memory.repair()
    assert memory.check().problems == ()
    assert memory.recall("words")


def test_statistics_count_what_is_there(memory: SceneMemory) -> None:
    ids = memory.commit([("a", "is", "x"), ("b", "is", "x")], scene=["k", "k/l"]).relation_ids
    memory.commit([("c", "is", "x")])
    memory.retire(ids[1:])
    stats = memory.scene_stats()
    assert (stats.scenes, stats.relation_pins, stats.retired_pins) == (2, 2, 2)
    assert (stats.pinned_relations, stats.unpinned_relations) == (1, 1)
    assert [(each.key, each.relations) for each in stats.top] == [("k", 1), ("k/l", 1)]
    assert [each.key for each in memory.scenes("k/l")] == ["k/l"]
    status = memory.status()
    assert (status.relations, status.retired, status.scenes) == (2, 1, 2)
    assert status.to_dict()["index"] == "ready"


def test_check_reports_a_damaged_file_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path) as memory:
        memory.commit([(f"name {n}", "is", f"thing {n}") for n in range(400)], scene="k")
        with memory._database.read() as connection:
            where = "name = 'aliases_by_entity'"
            root = connection.one(f"SELECT rootpage FROM sqlite_master WHERE {where}")
        with memory._database.exclusive() as connection:
            list(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    data = bytearray(path.read_bytes())
    data[(root - 1) * 4096 : (root - 1) * 4096 + 16] = b"\xff" * 16
    path.write_bytes(data)
    with SceneMemory.open(path) as memory:
        report = memory.check()
        assert not report.ok
        assert "damaged" in [each.code for each in report.problems]
    assert path.read_bytes() == bytes(data)


def test_check_sees_rows_that_refer_to_nothing(tmp_path: Path) -> None:
    with SceneMemory.open(tmp_path / "memory.db", synchronous="normal") as memory:
        memory.commit([Triple("a", "is", "b", sentence="words")], scene="k")
        with memory._database.exclusive() as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("DELETE FROM sentences")
            connection.execute("PRAGMA foreign_keys = ON")
        codes = {each.code for each in memory.check().problems}
        assert {"foreign_keys", "missing_sentence"} <= codes


def test_damage_of_the_index_alone_costs_speed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path) as memory:
        memory.commit([(f"name {n}", "is", f"thing {n}") for n in range(400)], scene="k")
    foreign = apsw.Connection(str(path))
    foreign.execute("UPDATE relations_fts_data SET block = x'ffffffffff' WHERE id > 10")
    foreign.close()
    with SceneMemory.open(path) as memory:
        found = memory.recall("name 7")
        assert found[0].subject == "name 7"
        assert found.search_path == "scan"
        assert "repair() mends it" in found.notes[0]
        assert "index_damaged" in [each.code for each in memory.check().problems]
        memory.commit([("name 400", "is", "new")])
        memory.retire([1])
        assert memory.recall("name 400")[0].object == "new"
        assert memory.recall("name 7").search_path == "scan"
        assert memory.repair()
        assert memory.check().problems == ()
        assert memory.recall("name 7").search_path == "cjk"


def test_forgetting_with_a_damaged_index_makes_it_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path) as memory:
        memory.commit([(f"name {n}", "is", f"canary{n}") for n in range(400)], scene="k")
    foreign = apsw.Connection(str(path))
    foreign.execute("UPDATE relations_fts_data SET block = x'ffffffffff' WHERE id > 10")
    foreign.close()
    with SceneMemory.open(path) as memory:
        assert memory.forget(entity="name 3").counts["relations"] == 1
        assert memory.check().problems == ()
        assert memory.recall("name 7").search_path == "cjk"
