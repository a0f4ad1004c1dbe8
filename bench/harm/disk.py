# SPDX-License-Identifier: MIT
"""A disk with so much room, and one whose power goes: an SQLite VFS over the real one."""

from __future__ import annotations

import os
import signal
from typing import Any

import apsw

__all__ = ["Disk", "File", "Shim"]


class Disk:
    """Counts what changes files, and fails or kills when told.

    Attributes:
        steps: calls so far that changed a file.
        kill_at: the step before which the process is killed.
        room: bytes by which files may still grow; None for as many as they like.
        refused: how often there was no room.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.kill_at: int | None = None
        self.room: int | None = None
        self.refused = 0

    def step(self) -> None:
        """Count a step, or be killed in front of it."""
        self.steps += 1
        if self.kill_at is not None and self.steps >= self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def grow(self, by: int) -> None:
        """Take room for a file that grows, or give back what it loses."""
        if self.room is None:
            return
        if by > self.room:
            self.refused += 1
            raise apsw.FullError("database or disk is full")
        self.room -= by


class File(apsw.VFSFile):
    """A file on such a disk."""

    disk: Disk

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.step()
        self.disk.grow(max(0, offset + len(data) - self.xFileSize()))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self.disk.step()
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self.disk.step()
        before = self.xFileSize()
        super().xTruncate(size)
        self.disk.grow(-max(0, before - size))


class Shim(apsw.VFS):
    """The default VFS while it is in use, so that every connection is on such a disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.base = apsw.vfs_names()[0]
        super().__init__("mnemogram_harm", self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        file = File(self.base, name, flags)
        file.disk = self.disk
        return file

    def xDelete(self, name: str, sync: bool) -> None:
        self.disk.step()
        try:
            size = os.stat(name).st_size
        except OSError:
            size = 0
        super().xDelete(name, sync)
        self.disk.grow(-size)
