# SPDX-License-Identifier: MIT
"""A disk that fails at any write or sync: what was acknowledged stays, the rest is undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemogram import History, StorageUnavailable
from mnemogram.sqlite import database as databases
from mnemogram.sqlite.connection import Connection, _Clock
from tests.history.support import assert_sound, fill, finish

VFS = "mnemogram_faults"


class Disk:
    """Counts the calls that change a file, and lets the n-th one fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails_at: int | None = None
        self.error: type[apsw.Error] = apsw.IOError

    def call(self) -> None:
        self.calls += 1
        if self.fails_at is not None and self.calls >= self.fails_at:
            raise self.error("the disk fails")


disk = Disk()


class File(apsw.VFSFile):
    def xWrite(self, data: bytes, offset: int) -> None:
        disk.call()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        disk.call()
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        disk.call()
        super().xTruncate(size)


class Faults(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(VFS, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return File("", name, flags)


class OnDisk(Connection):
    """A connection to the disk that fails."""

    def __init__(self, filename: str, *, flags: int, busy_timeout: float) -> None:
        apsw.Connection.__init__(self, filename, flags=flags, vfs=VFS)
        self.clock = _Clock()
        self.clock.busy_timeout = busy_timeout
        self.set_busy_handler(self.clock.wait)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    vfs = Faults()
    monkeypatch.setattr(databases, "Connection", OnDisk)
    disk.calls, disk.fails_at = 0, None
    yield disk
    disk.fails_at = None
    vfs.unregister()


def append(history: History) -> None:
    fill(history, 3, start=100)


def amend(history: History) -> None:
    history.amend("s", "u1", content="amended")


def delete(history: History) -> None:
    history.delete_session("s")


def maintain(history: History) -> None:
    result = history.maintain(batch_size=20)
    for part in result.parts:
        if part.error is not None:
            raise StorageUnavailable(part.error)


def purge(history: History) -> None:
    history.purge()


@pytest.mark.parametrize("work", [append, amend, delete, maintain, purge])
def test_a_disk_that_fails_at_any_moment_loses_nothing(
    tmp_path: Path, faults: Disk, work: Callable[[History], None]
) -> None:
    place, failed = 1, 0
    while True:
        path = tmp_path / f"{work.__name__}-{place}.db"
        with History.open(path, load_extension=False) as plain:
            fill(plain, 30)  # leaves the tokenizer's indexes to be built
        with History.open(path) as history:
            fill(history, 1, start=30)
            faults.calls, faults.fails_at = 0, place
            faults.error = (apsw.IOError, apsw.FullError)[failed % 2]
            done = True
            try:
                work(history)
            except StorageUnavailable:
                done = False
            hit = faults.calls >= place
            faults.fails_at = None
        with History.open(path) as again:
            assert again.check().ok
            status = again.status()
            expected = {"append": {31, 34}, "delete": {31, 0}}.get(work.__name__, {31})
            assert status.messages in expected
            if done and work is append:
                assert status.messages == 34
            finish(again)
            assert_sound(again)
        failed += not done
        if not hit:
            break
        # Early places one by one, later ones with growing steps.
        place += 1 + place // 4
    assert failed > 2
