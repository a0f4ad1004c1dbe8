# SPDX-License-Identifier: MIT
"""The methods of a history that look after it: deletion, backup, maintenance, repair."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from mnemogram.errors import InvalidArgument
from mnemogram.history import legacy as legacy_import
from mnemogram.history import reading
from mnemogram.history.file import Base
from mnemogram.history.legacy import SetAside
from mnemogram.history.models import Time, to_microseconds
from mnemogram.history.upkeep import check as doctor
from mnemogram.history.upkeep import delete as lifecycle
from mnemogram.history.upkeep import export
from mnemogram.history.upkeep import maintain as maintenance
from mnemogram.history.upkeep.check import CheckReport, RepairReport
from mnemogram.history.upkeep.delete import Deleted, Expired, Purged
from mnemogram.history.upkeep.export import Exported, Imported
from mnemogram.history.upkeep.maintain import Maintained, Maintenance
from mnemogram.moments import clamped

__all__ = ["Upkeep"]


class Upkeep(Base):
    """What a history does to last for years."""

    # -- the end of messages

    def delete_session(self, session: str) -> Deleted:
        """Delete a session with its messages and index rows, for good.

        A tombstone stays, so that a message of it that is still on its way is refused
        and counted. Delete here first and the host's own record after it: where that
        fails half-way, the whole may be repeated. The text may stay in free space of
        the file until :meth:`purge`.

        Args:
            session: the session's id; it need not be there.
        """
        if not isinstance(session, str) or not session.strip():
            raise InvalidArgument("session id is blank", hint="Pass the id of the session.")
        return self._write(lambda connection: lifecycle.delete_session(connection, session))

    def expire(self, before: Time, *, dry_run: bool = False) -> Expired:
        """Delete the sessions that were last active before a time, in bounded batches.

        No tombstone is left: an expired session that goes on is stored again.

        Args:
            before: aware datetime or ISO 8601.
            dry_run: only count what would be deleted.
        """
        moment = to_microseconds(before, "before")
        if dry_run:
            with self._database.read() as connection:
                return Expired(*lifecycle.count_expired(connection, moment), dry_run=True)
        sessions = messages = 0
        more = True
        while more:
            step = self._write(lambda connection: lifecycle.expire_step(connection, moment))
            sessions, messages, more = sessions + step[0], messages + step[1], step[2]
        return Expired(sessions, messages, dry_run=False)

    def purge(self) -> Purged:
        """Leave no byte of deleted or replaced text in the file, its indexes and its WAL.

        Takes as long as writing the file anew, holds the write lock meanwhile, and needs
        that much free disk.

        Raises:
            Busy: another process held the write lock too long.
            StorageUnavailable: the disk is full, or the file damaged.
        """
        return lifecycle.purge(self._upkeep_store())

    # -- out and in

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Path:
        """Copy the file as it is now, while others read and write it.

        Args:
            path: the new file, made with mode 0600.
            overwrite: replace a file that is there.
            progress: called with pages copied and pages there are.

        Raises:
            InvalidArgument: the file exists, or is the store itself.
            StorageUnavailable: it cannot be written.
        """
        return export.backup(self._database, path, overwrite=overwrite, progress=progress)

    def export(self, stream: IO[str]) -> Exported:
        """Write sessions, lineage, messages, states and tombstones as JSON lines.

        Args:
            stream: a text stream in UTF-8.
        """
        with self._database.read() as connection:
            return export.write(export.export_lines(connection), stream)

    def import_export(self, lines: Iterable[str]) -> Imported:
        """Store what an export of :meth:`export` holds, as far as it is not there yet.

        Args:
            lines: the export, a line at a time: an open text file, for example.

        Raises:
            InvalidArgument: a line is not of this format; what came before it is stored.
        """
        return export.import_lines(self._write, lines, self._redacted)

    # -- upkeep

    def maintain(self, *, batch_size: int = 500) -> Maintenance:
        """Do one bounded step of everything that is due.

        Indexes are built, changes they missed made good, worthless tables taken down,
        old sessions expired, older conversations imported, index segments merged, and
        free space given back. Each part goes on when another fails. Call it until
        ``more`` is False, with a pause in between; :meth:`upkeep` does.

        Args:
            batch_size: most messages in one step.

        Raises:
            InvalidArgument: batch_size is out of range.
            StoreClosed: the store was closed.
        """
        reading.checked_int(batch_size, "batch_size", 1, 100_000)
        store = self._upkeep_store()
        others: dict[maintenance.Part, Callable[[], Maintained | None]] = {}
        retention, source, user_id = self._retention, self._legacy, self._user_id
        if source is not None and user_id is not None:
            others["legacy"] = lambda: legacy_import.import_page(
                store, source, user_id, limit=batch_size, redacted=self._redacted
            )
        if retention is not None:
            # In whole numbers: a retention may be longer than the calendar.
            before = clamped(time.time_ns() // 1_000 - retention // timedelta(microseconds=1))
            others["expiry"] = lambda: lifecycle.expiry_part(store, before, batch_size)
        return maintenance.maintain(store, batch_size=batch_size, others=others)

    def set_aside(self) -> tuple[SetAside, ...]:
        """Return the records of the older store that could not be imported, and why."""
        with self._database.read() as connection:
            return legacy_import.set_aside(connection)

    def check(self) -> CheckReport:
        """Look at the whole file and every index, without changing anything.

        Reads all of it; a file above 64 MB is copied for the comparison of its indexes,
        which needs that much free disk beside it.

        Raises:
            StorageUnavailable: the file cannot be read at all.
        """
        return doctor.check(self._upkeep_store())

    def repair(
        self,
        *,
        dry_run: bool = True,
        backup: str | os.PathLike[str] | None = None,
        on_step: Callable[[str], Any] | None = None,
    ) -> RepairReport:
        """Do what :meth:`check` finds helpful; messages are only touched where bytes are no text.

        Args:
            dry_run: only say what would be done.
            backup: where the file is copied before the first change; beside it by default.
            on_step: called with each action before it begins.

        Raises:
            StorageUnavailable: the backup or the repair could not be written.
        """
        return doctor.repair(self._upkeep_store(), dry_run=dry_run, backup=backup, on_step=on_step)

    def upkeep(
        self,
        *,
        batch_size: int = 500,
        watch: bool = False,
        on_step: Callable[[Maintenance], Any] | None = None,
        stop: threading.Event | None = None,
        shortest_pause: float = maintenance.SHORTEST_PAUSE,
        idle: float = maintenance.IDLE,
    ) -> int:
        """Call :meth:`maintain` until nothing is due, pausing after each step.

        The pause is max(0.2 s, four times what the step took), so that writers are
        hardly held up. Several processes may do this at once on one file.

        Args:
            batch_size: most messages in one step.
            watch: go on when nothing is due, until ``stop`` is set.
            on_step: called with the result of each step.
            stop: ends the loop between two steps.
            shortest_pause: seconds to pause at least.
            idle: with ``watch``, seconds between two looks while nothing is due.

        Returns:
            How many steps were made.
        """
        return maintenance.run(
            lambda: self.maintain(batch_size=batch_size),
            watch=watch,
            on_step=on_step,
            stop=stop,
            shortest_pause=shortest_pause,
            idle=idle,
        )
