# SPDX-License-Identifier: MIT
"""Copies of a file in use: whole under their name or not there at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import apsw

from mnemogram.errors import InvalidArgument
from mnemogram.sqlite.database import Database, Schema
from mnemogram.sqlite.files import checked_path, file_errors

if sys.platform != "win32":
    import fcntl

__all__ = [
    "backup",
    "copy_to",
    "is_whole",
    "left_behind",
    "publish",
    "remove_copy",
    "sweep",
    "unfinished",
]

#: Pages that a backup copies between two looks at the clock.
_PAGES: Final = 1_000
_SIDE_FILES: Final = ("-journal", "-wal", "-shm")
#: Nobody else names a file so, wherever it lies.
_PARTIAL: Final = ".mnemogram.partial"
_UNFINISHED: Final = re.compile(
    r"(\..+\.[0-9a-f]{12}" + re.escape(_PARTIAL) + r")(?:-journal|-wal|-shm)?"
)
_HEADER: Final = 100


def backup(
    database: Database,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> Path:
    """Copy the file as it is now to ``path``, while others read and write.

    SQLite's backup API, from inside one read transaction: the copy is one moment's
    state, and writers neither wait for it nor make it start again. The copy appears
    under its name only when it is whole and on the disk.

    Args:
        path: the new file, made with mode 0600.
        overwrite: replace a file that is there.
        progress: called with pages copied and pages there are.

    Returns:
        The path.

    Raises:
        InvalidArgument: the file exists, or is the store itself.
        StorageUnavailable: it cannot be written.
    """
    target = checked_path(path)
    with file_errors(target, "write"):
        there = target.exists()
        same = target == database.path or (there and target.samefile(database.path))
    if same:
        raise InvalidArgument("the backup would replace the store itself", hint="Name another.")
    if there and not overwrite:
        raise InvalidArgument(
            f"{target} exists already", hint="Name another file, or pass overwrite=True."
        )
    sweep(target.parent)
    with unfinished(target) as partial:
        copy_to(database, partial, progress=progress)
        publish(partial, target)
    return target


def copy_to(
    database: Database, path: Path, *, progress: Callable[[int, int], Any] | None = None
) -> None:
    """Copy the file as it is now over one that is there: of one moment, without a WAL."""
    with database.read() as source:
        source.one("SELECT count(*) FROM sqlite_schema")  # the snapshot begins
        copy = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with copy.backup("main", source, "main") as copying:
                while not copying.done:
                    copying.step(_PAGES)
                    if progress is not None:
                        progress(copying.page_count - copying.remaining, copying.page_count)
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        finally:
            copy.close()


def publish(partial: Path, target: Path) -> None:
    """Give a file that is whole its name, on the disk too.

    Raises:
        StorageUnavailable: it cannot be written.
    """
    with file_errors(target, "write"):
        _sync(partial)
        os.replace(partial, target)
        _sync(target.parent)


@contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """Give a new private file beside ``target``, locked while it is worked on.

    What is left of it when the block ends is removed; after a kill, :func:`sweep` does that.
    """
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}{_PARTIAL}")
    with file_errors(target, "write"):
        held = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        if sys.platform == "win32":
            os.close(held)  # it could not be renamed; in use it cannot be removed anyway
            held = -1
        else:
            with file_errors(target, "write"):
                os.fchmod(held, 0o600)
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield partial
    finally:
        remove_copy(partial)
        if held >= 0:
            os.close(held)


def sweep(directory: Path, name: str = "") -> int:
    """Remove what killed backups left behind: to a name or names that begin so, or to any.

    One that is being written is locked, and left alone.

    Returns:
        How many there were.
    """
    removed = 0
    for path in left_behind(directory, name):
        with suppress(OSError):  # what cannot be looked at is left for another time
            if _is_left(path):
                remove_copy(path)
                removed += 1
    return removed


def left_behind(directory: Path, name: str = "") -> list[Path]:
    """Return the unfinished copies to a name, or names that begin so, also living ones."""
    found = set()
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            shape = _UNFINISHED.fullmatch(entry.name)
            if shape and entry.name.startswith(f".{name}") and entry.is_file(follow_symlinks=False):
                found.add(directory / shape[1])
    return sorted(found)


def _is_left(partial: Path) -> bool:
    """Return whether nobody works on a partial copy."""
    if partial.exists() and sys.platform != "win32":  # there, what is in use cannot be removed
        try:
            held = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(held)
    return True


def is_whole(path: Path, schema: Schema) -> bool:
    """Return whether a file is a store of ours of which nothing is cut off.

    The header tells its kind and how many pages it has; a journal beside it tells that
    writing it never ended.
    """
    try:
        with open(path, "rb") as stream:
            header = stream.read(_HEADER)
            size = os.fstat(stream.fileno()).st_size
    except OSError:
        return False
    if len(header) < _HEADER or header[:16] != b"SQLite format 3\0":
        return False
    page_size = int.from_bytes(header[16:18], "big")
    changes, pages, version, kind, counted_at = (
        int.from_bytes(header[start : start + 4], "big") for start in (24, 28, 60, 68, 92)
    )
    return (
        kind == schema.application_id
        and version > 0
        and pages > 0
        and changes == counted_at  # else the number of pages is of another time
        and size == pages * (65_536 if page_size == 1 else page_size)
        and not any(_has_content(f"{path}{suffix}") for suffix in ("-journal", "-wal"))
    )


def _has_content(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def remove_copy(path: Path) -> None:
    """Remove a copy and what SQLite may have left beside it."""
    for suffix in (*_SIDE_FILES, ""):
        with suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")


def _sync(path: Path) -> None:
    if sys.platform == "win32" and path.is_dir():  # Windows opens no directory
        return
    # Windows writes out only what is open for writing, other systems open a directory to read.
    descriptor = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
