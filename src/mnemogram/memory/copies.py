# SPDX-License-Identifier: MIT
"""Copies that a memory makes of itself, beside the file, before it is changed at large."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Final

from mnemogram.errors import InvalidArgument, StorageUnavailable
from mnemogram.sqlite.backup import backup, is_whole, remove_copy, sweep
from mnemogram.sqlite.database import Database

__all__ = ["automatic_backup", "backups", "cut_backups", "remove_copies"]

#: Copies made before changes that are kept; older ones are removed.
KEPT_BACKUPS: Final = 5
_COPY: Final = ".backup-"
_MOMENT: Final = "%Y%m%dT%H%M%S.%fZ"
_MOMENT_SHAPE: Final = re.compile(r"\d{8}T\d{6}\.\d{6}Z")


def backups(database: Database) -> list[Path]:
    """Return the automatic copies beside the file, the newest first, cut ones too."""
    begin = f"{database.path.name}{_COPY}"
    found = (
        each
        for each in database.path.parent.iterdir()
        if each.name.startswith(begin) and _MOMENT_SHAPE.fullmatch(each.name[len(begin) :])
    )
    return sorted((each for each in found if each.is_file()), reverse=True)


def _next_name(database: Database) -> Path:
    """Return a name that sorts after those of all copies, whatever the clock says."""
    moment = datetime.now(timezone.utc)
    for newest in backups(database)[:1]:
        with suppress(ValueError, OverflowError):
            text = newest.name.rpartition(_COPY)[2]
            last = datetime.strptime(text, _MOMENT).replace(tzinfo=timezone.utc)
            moment = max(moment, last + timedelta(microseconds=1))
    return Path(f"{database.path}{_COPY}{moment.strftime(_MOMENT)}")


def automatic_backup(database: Database) -> Path:
    """Copy the file beside itself and keep the newest five copies that are whole."""
    sweep(database.path.parent, f"{database.path.name}{_COPY}")
    while True:
        target = _next_name(database)
        try:
            made = backup(database, target)
            break
        except InvalidArgument:
            if not target.exists():  # else another process was faster with this name
                raise
    if not is_whole(made, database.schema):
        raise StorageUnavailable(
            f"{made}, the copy made before the change, is not whole: nothing was changed",
            hint="Run check(): the memory or the disk is damaged.",
        )
    whole = 0
    for each in backups(database):
        if each != made and whole >= KEPT_BACKUPS:
            remove_copy(each)
        elif is_whole(each, database.schema):
            whole += 1
    return made


def remove_copies(database: Database) -> int:
    """Remove every automatic copy, and what killed ones left; return how many there were."""
    copies = backups(database)
    for each in copies:
        remove_copy(each)
    return len(copies) + sweep(database.path.parent, f"{database.path.name}{_COPY}")


def cut_backups(database: Database) -> list[Path]:
    """Return the automatic copies of which a part is missing."""
    return [each for each in backups(database) if not is_whole(each, database.schema)]
