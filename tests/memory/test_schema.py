# SPDX-License-Identifier: MIT
"""Files of earlier releases are brought up to date, and what cannot be is told."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemogram.memory import SceneMemory, Triple


def aged(path: Path) -> None:
    """Make a file what version 1 of the schema left, with two scenes."""
    with SceneMemory.open(path) as memory:
        batch = [Triple("C", "is", "terse"), Triple("C++", "is", "long")]
        memory.commit(batch, scene="topic:c")
        memory.commit([Triple("D", "is", "new")], scene="topic:d")
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM meta WHERE key = 'last_merging_scene'")
    connection.execute("PRAGMA user_version = 1")
    connection.close()


def warned(memory: SceneMemory) -> list[str]:
    return [each.detail for each in memory.check().problems if each.code == "key_may_hold_two"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_check_names_the_scenes_in_which_an_earlier_release_may_have_merged_two(
    tmp_path: Path, read_only: bool
) -> None:
    aged(tmp_path / "m.db")
    with SceneMemory.open(tmp_path / "m.db", read_only=read_only) as memory:
        (detail,) = warned(memory)
        assert "topic:c" in detail
        assert "topic:d" not in detail
        assert memory.check().ok
        assert len(memory.recall_by_scene("topic:c")) == 2


def test_what_was_merged_can_be_told_apart_by_hand(tmp_path: Path) -> None:
    aged(tmp_path / "m.db")
    with SceneMemory.open(tmp_path / "m.db") as memory:
        c, cpp = sorted(memory.recall_by_scene("topic:c"), key=lambda each: len(each.subject))
        memory.untag_scene("topic:c", [cpp.id], backup=False)
        memory.tag_scene("topic:c++", [cpp.id], backup=False)
        assert warned(memory) == []
        assert [each.id for each in memory.recall_by_scene("topic:c")] == [c.id]
        assert [each.id for each in memory.recall_by_scene("topic:c++")] == [cpp.id]
        memory.commit([Triple("E", "is", "x"), Triple("F", "is", "x")], scene="topic:new")
        assert warned(memory) == []


def test_forgetting_a_scene_that_may_hold_two_says_so_before(tmp_path: Path) -> None:
    aged(tmp_path / "m.db")
    with SceneMemory.open(tmp_path / "m.db") as memory:
        for key, warnings in (("topic:c", 1), ("topic:d", 0), ("topic:c++", 0)):
            assert len(memory.forget(scene=key, dry_run=True).notes) == warnings
        assert memory.forget(scene="topic:c++").counts["relations"] == 0
        assert "topic:c" in memory.forget(scene="topic:c").notes[0]


def test_a_new_file_has_nothing_to_warn_of(tmp_path: Path) -> None:
    with SceneMemory.open(tmp_path / "m.db") as memory:
        memory.commit([Triple("E", "is", "x"), Triple("F", "is", "x")], scene="topic:c")
        assert memory.check().problems == ()
