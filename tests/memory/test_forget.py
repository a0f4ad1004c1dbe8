# SPDX-License-Identifier: MIT
"""Forgetting: gone from answers, from the index, from the file and from its copies."""

from __future__ import annotations

from pathlib import Path

import pytest

import mnemogram
from mnemogram.errors import InvalidArgument
from mnemogram.memory import SceneMemory, Triple


def bytes_of(directory: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(directory.rglob("*")) if each.is_file())


def test_forgetting_everything_of_one_user_leaves_the_other_whole(tmp_path: Path) -> None:
    with mnemogram.open(tmp_path) as host:
        one, other = host.memory("A"), host.memory("B")
        for memory in (one, other):
            memory.commit([Triple("soup", "needs", "salt", sentence="Salt!")], scene="chan:x")
        one.forget(everything=True)
        assert not one.recall("soup")
        assert not one.recall_by_scene("chan:x")
        assert not one.build_context("soup", scenes="chan:x")
        assert one.status().entities == one.status().scenes == 0
        assert other.recall("soup")
        assert other.recall_by_scene("chan:x")
        assert one.check().problems == other.check().problems == ()
        one.commit([("soup", "needs", "pepper")])
        assert [each.object for each in one.recall("soup")] == ["pepper"]


@pytest.mark.parametrize("how", ["relation", "entity", "session", "scene", "everything"])
def test_what_was_forgotten_is_not_in_the_file_any_more(tmp_path: Path, how: str) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        memory.commit([(f"soup {n}", "needs", f"salt {n}") for n in range(200)], scene="k")
        secret = Triple("canaryname", "canaryword", "canaryobject", sentence="canarysentence")
        (relation_id,) = memory.commit([secret], scene="k/canaryscene", session_id="s").relation_ids
        memory.tag_scene("k/canaryscene", [relation_id])
        memory.commit([(f"bread {n}", "needs", f"flour {n}") for n in range(200)])
        memory.recall("canaryname")
        assert b"canary" in bytes_of(tmp_path)
        memory.forget(
            relation_ids=[relation_id] if how == "relation" else (),
            entity="canaryname" if how == "entity" else None,
            session_id="s" if how == "session" else None,
            scene="k/canaryscene" if how == "scene" else None,
            everything=how == "everything",
        )
        left = bytes_of(tmp_path)
        assert b"canary" not in left
        assert (b"soup" in left) == (how != "everything")
        assert memory.check().problems == ()


def test_forgetting_a_session_keeps_what_others_told_with_their_words(
    memory: SceneMemory,
) -> None:
    tea = ("Mei", "likes", "tea")
    memory.commit([Triple(*tea, sentence="first telling")], session_id="s1")
    memory.commit([Triple(*tea, sentence="second telling", trust="confirmed")], session_id="s2")
    memory.commit([("Mei", "likes", "rain")], session_id="s2")
    memory.commit([("Mei", "likes", "snow")])
    report = memory.forget(session_id="s2")
    assert (report.counts["relations"], report.counts["mentions"]) == (1, 1)
    left = {each.object: each for each in memory.relations()}
    assert set(left) == {"tea", "snow"}
    assert (left["tea"].sentence, left["tea"].trust) == ("first telling", "observed")
    assert not memory.recall("second")
    assert memory.recall("first")


def test_forgetting_a_scene_keeps_what_is_pinned_elsewhere_too(memory: SceneMemory) -> None:
    memory.commit([("a", "is", "x")], scene="k/l")
    memory.commit([("b", "is", "x")], scene=["k", "m"])
    memory.commit([("c", "is", "x")], scene="k2")
    memory.forget(scene="k")
    assert sorted(each.subject for each in memory.relations()) == ["b", "c"]
    assert [each.key for each in memory.scenes()] == ["k2", "m"]


def test_forgetting_an_entity_forgets_its_other_names_and_pins(memory: SceneMemory) -> None:
    memory.commit([("Bob", "is", "tall"), ("Robert", "knows", "Ana"), ("Ana", "is", "kind")])
    memory.merge_entities("Bob", "Robert", backup=False)
    memory.tag_scene("k", entities=["bob"], backup=False)
    memory.forget(entity="bob")
    assert [each.subject for each in memory.relations()] == ["Ana"]
    assert memory.scene_stats().scenes == 0
    (again,) = memory.commit([("Bob", "is", "new")]).relation_ids
    assert memory.relations(ids=[again])[0].subject == "Bob"


def test_a_dry_run_shows_what_would_go_and_forgets_nothing(memory: SceneMemory) -> None:
    memory.commit([("a", "is", "x"), ("b", "is", "x")], session_id="s")
    report = memory.forget(session_id="s", dry_run=True)
    assert report.counts == {"relations": 2}
    assert [each.subject for each in report.relations] == ["a", "b"]
    assert len(memory.relations()) == 2


def test_forgetting_nothing_in_particular_is_refused(memory: SceneMemory) -> None:
    with pytest.raises(InvalidArgument, match="needs to know what"):
        memory.forget()


def test_copies_that_hold_it_go_too_unless_they_are_kept(memory: SceneMemory) -> None:
    (relation_id,) = memory.commit([("a", "is", "x")]).relation_ids
    memory.tag_scene("k", [relation_id])
    report = memory.forget(relation_ids=[relation_id], keep_backups=True)
    assert "still hold it" in report.notes[0]
    assert list(memory.path.parent.glob("*.backup-*"))
    assert memory.forget(everything=True).counts["backups"] == 1
    assert not list(memory.path.parent.glob("*.backup-*"))


def test_a_process_without_the_tokenizer_forgets_and_the_next_one_finds_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path) as memory:
        memory.commit([("canaryname", "is", "x"), ("soup", "needs", "salt")])
    with SceneMemory.open(path, load_extension=False) as memory:
        report = memory.forget(entity="canaryname")
        assert "until a process with the tokenizer" in report.notes[0]
        assert not memory.recall("canaryname")
    with SceneMemory.open(path) as memory:
        assert not memory.recall("canaryname")
        assert memory.recall("soup")
        assert memory.check().problems == ()
        memory.forget(relation_ids=[999])
        assert b"canaryname" not in bytes_of(tmp_path)
