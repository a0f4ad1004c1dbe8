# SPDX-License-Identifier: MIT
"""Automatic copies: whole under their name, and only whole ones count."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemogram.errors import MnemogramError, StorageUnavailable
from mnemogram.memory import SceneMemory, Triple
from mnemogram.memory.schema import SCHEMA
from mnemogram.sqlite import backup as copying


def copies(directory: Path) -> list[Path]:
    return sorted(directory.glob("memory.db.backup-*Z"))


def relations(path: Path) -> int:
    with SceneMemory.open(path, read_only=True) as memory:
        return memory.status().relations


def _tag(path: str, where: str) -> None:
    """Change a memory, and be killed inside the copy before it."""

    def dies(*arguments: Any, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    module, name = where.split(".")
    setattr({"os": os, "copying": copying}[module], name, dies)
    with SceneMemory.open(path) as memory:
        memory.tag_scene("k", [1])


@pytest.mark.parametrize("where", ["copying._sync", "os.replace", "os.fchmod"])
def test_a_kill_inside_a_copy_leaves_nothing_that_counts_as_one(tmp_path: Path, where: str) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path) as memory:
        memory.commit([(f"n{n}", "is", "x") for n in range(50)])
        for number in range(5):
            memory.tag_scene(f"k{number}", [1])
    good = copies(tmp_path)
    for _ in range(3):
        process = multiprocessing.get_context("spawn").Process(target=_tag, args=(str(path), where))
        process.start()
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
    assert copies(tmp_path) == good
    assert list(tmp_path.glob(".memory.db.backup-*.partial"))
    with SceneMemory.open(path) as memory:
        memory.tag_scene("again", [1])
    assert not list(tmp_path.glob(".*"))
    assert copies(tmp_path)[:4] == good[1:]
    assert [relations(each) for each in copies(tmp_path)] == [50] * 5


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut_by(size: int) -> Callable[[Path], None]:
    def cut(path: Path) -> None:
        os.truncate(path, max(0, path.stat().st_size - size))

    return cut


def _hot(path: Path) -> None:
    Path(f"{path}-journal").write_bytes(b"unfinished")


def _foreign(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\0" * 4_080)


CUTS = [_empty, _cut_by(1), _cut_by(4_096), _cut_by(20_000), _hot, _foreign]


@pytest.mark.parametrize("spoil", CUTS)
def test_copies_that_are_cut_push_no_good_one_out(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        (one,) = memory.commit([Triple("a", "is", "b")]).relation_ids
        for number in range(5):
            memory.tag_scene(f"k{number}", [one])
        good = copies(tmp_path)
        for number in range(6):  # newer than all of them
            copy = tmp_path / f"memory.db.backup-20980101T00000{number}.000000Z"
            shutil.copyfile(good[-1], copy)
            spoil(copy)
        (problem,) = memory.check().problems
        assert (problem.code, problem.count, memory.check().ok) == ("copies_cut", 6, True)
        for number in range(3):
            memory.tag_scene(f"l{number}", [one])
        kept = [each for each in copies(tmp_path) if copying.is_whole(each, SCHEMA)]
        assert kept[:2] == good[3:]
        assert [relations(each) for each in kept] == [1] * 5
        for number in range(3):
            memory.tag_scene(f"m{number}", [one])
        kept = copies(tmp_path)
        assert len(kept) == 5
        assert [relations(each) for each in kept] == [1] * 5
        counts = memory.forget(everything=True).counts
        assert counts["backups"] == 5
        assert sorted(each.name for each in tmp_path.iterdir() if "backup" in each.name) == []


def test_the_copy_just_made_is_kept_whatever_the_clock_said_before(tmp_path: Path) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        (one,) = memory.commit([Triple("a", "is", "b")]).relation_ids
        first = memory.tag_scene("k", [one]).backup
        assert first is not None
        for number in range(7):
            name = f"memory.db.backup-2099123{min(number, 1)}T00000{number}.000000Z"
            shutil.copyfile(first, tmp_path / name)
        made = memory.tag_scene("l", [one]).backup
        assert made is not None
        assert Path(made).exists()
        assert copies(tmp_path)[-1] == Path(made)
        for odd in ("odd nameZ", "99999999T999999.999999Z"):
            shutil.copyfile(made, tmp_path / f"memory.db.backup-{odd}")
        for number in range(7):
            assert Path(memory.tag_scene(f"m{number}", [one]).backup or "").exists()
        assert (tmp_path / "memory.db.backup-odd nameZ").exists()


def test_a_copy_that_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        (one,) = memory.commit([Triple("a", "is", "b")]).relation_ids
        alive = tmp_path / ".memory.db.backup-20260101T000000Z.aaaaaaaaaaaa.mnemogram.partial"
        dead = alive.with_name(alive.name.replace("aaaa", "bbbb"))
        dead.write_bytes(b"canary")
        Path(f"{dead}-journal").write_bytes(b"canary")
        with alive.open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            memory.tag_scene("k", [one])
            assert alive.exists()
            assert not dead.exists()
            assert not Path(f"{dead}-journal").exists()
        memory.forget(relation_ids=[one])
        assert not alive.exists()


def test_forgetting_reaches_what_a_killed_copy_left(tmp_path: Path) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        (one,) = memory.commit([Triple("canary", "is", "b")]).relation_ids
        left = tmp_path / ".memory.db.backup-20260101T000000Z.aaaaaaaaaaaa.mnemogram.partial"
        left.write_bytes(b"canary")
        assert memory.forget(relation_ids=[one]).counts["backups"] == 1
    assert not any(b"canary" in each.read_bytes() for each in tmp_path.iterdir())


def test_a_change_whose_copy_is_not_whole_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        (one,) = memory.commit([Triple("a", "is", "b")]).relation_ids
        memory.tag_scene("k", [one])
        good = copies(tmp_path)
        real = os.replace

        def cuts(source: Any, target: Any) -> None:
            os.truncate(source, 4_096)
            real(source, target)

        monkeypatch.setattr(os, "replace", cuts)
        for _ in range(6):
            with pytest.raises(StorageUnavailable, match="not whole"):
                memory.tag_scene("l", [one])
        assert copies(tmp_path)[0] == good[0]
        assert [each.key for each in memory.scenes()] == ["k"]


def test_a_name_with_glob_characters_has_copies_of_its_own(tmp_path: Path) -> None:
    for name in ("m[1].db", "m1.db", "m*.db"):
        with SceneMemory.open(tmp_path / name) as memory:
            (one,) = memory.commit([Triple("a", "is", "b")]).relation_ids
            memory.tag_scene("k", [one])
    with SceneMemory.open(tmp_path / "m[1].db") as memory:
        assert memory.forget(relation_ids=[1]).counts["backups"] == 1
    assert len(list(tmp_path.glob("*.backup-*Z"))) == 2


def test_a_full_disk_costs_the_change_and_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        (one,) = memory.commit([Triple("a", "is", "b")]).relation_ids
        memory.tag_scene("k", [one])
        before = sorted(tmp_path.iterdir())

        def full(path: Path) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(copying, "_sync", full)
        with pytest.raises(MnemogramError, match="No space left"):
            memory.tag_scene("l", [one])
        assert sorted(tmp_path.iterdir()) == before
        assert [each.key for each in memory.scenes()] == ["k"]
