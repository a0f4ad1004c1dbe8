# SPDX-License-Identifier: MIT
"""An open history file: how it is written, and what keeps its indexes in step."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

import apsw

from mnemogram.errors import MnemogramError, QueryTimeout, StorageUnavailable
from mnemogram.history.index import build as building
from mnemogram.history.index import damage
from mnemogram.history.index import state as indexes
from mnemogram.sqlite.database import Connection, Database

__all__ = ["HistoryFile", "is_full"]

#: Seconds that a reader waits for the write lock to report damage.
_PATIENCE: Final = 0.25
#: Seconds between two times that an append helps an index along, and how much it does.
HELP_INTERVAL: Final = 1.0
_HELP_SHARE: Final = 20.0
_HELP_ROWS: Final = 50
_HELP_BYTES: Final = 200_000
#: How often an index may turn out damaged in the middle of its upkeep.
_MOST_BLAMED: Final = 3
_T = TypeVar("_T")


def _help(connection: Connection) -> None:
    for name in building.due(connection)[:1]:
        building.step(connection, name, max_rows=_HELP_ROWS, max_bytes=_HELP_BYTES)


def is_full(error: BaseException | None) -> bool:
    """Whether an error says that the disk is full."""
    while error is not None:
        if isinstance(error, apsw.FullError):
            return True
        error = error.__cause__
    return False


class HistoryFile:
    """One history file, and how it is written.

    Args:
        database: the open file.
        policy: which indexes the host wants; None for the file's own choice.
        trigram: whether it wants the substring index; None for the file's own choice.

    Attributes:
        database: the open file.
        merged: for each index, what its segments were when nothing was left to merge.
        index_work_due: whether the last write left an index something to do.
        next_sweep: when upkeep next looks for unfinished copies, on the monotonic clock.
        next_help: when an append next helps an index along, on the monotonic clock.
    """

    def __init__(
        self, database: Database, *, policy: indexes.Policy | None, trigram: bool | None
    ) -> None:
        self.database = database
        self.merged: dict[str, bytes] = {}
        self._blamed: Counter[str] = Counter()
        self.next_sweep = 0.0
        self.index_work_due = False
        self.next_help = time.monotonic() + HELP_INTERVAL
        # What the host chose is stored with the first write, and then is the file's: the
        # last host to choose decides for all processes.
        self._unsaved_choice: dict[str, str] = {}
        if policy is not None:
            indexes.check_policy(policy)
            self._unsaved_choice["policy"] = policy
        if trigram is not None:
            self._unsaved_choice["trigram"] = str(int(trigram))

    @property
    def has_unsaved_choice(self) -> bool:
        """Whether the host chose a policy that no write has stored yet."""
        return bool(self._unsaved_choice)

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Run ``work`` in a write transaction that keeps the indexes in step.

        On a full disk once more, over what the WAL held.

        Where an FTS table turns out to be damaged, the write is made again with that
        table detached. Which one it is shows by trying, not by what the error says:
        see ``may_be_index_damage``. Where no table is to blame, the first error stands.
        ``work`` must be repeatable.

        Work on an index itself says which one failed, and no other is tried: done on that,
        the work would succeed and destroy it. One that fails again after it was built anew
        is not to blame alone, and is left as it is.
        """
        try:
            return self._write(work)
        except StorageUnavailable as error:
            if not is_full(error) or not self.database.make_room():
                raise
        return self._write(work)

    def _write(self, work: Callable[[Connection], _T]) -> _T:
        try:
            return self._attempt(work, ())
        except damage.StepFailed as error:
            if error.index is None or self._blamed[error.index] >= _MOST_BLAMED:
                raise
            self._blamed[error.index] += 1
            if not error.unwalkable:
                return self._attempt(work, (error.index,))
            name = error.index
            self._attempt(lambda connection: building.forget_index(connection, name), ())
            return self._attempt(work, ())
        except StorageUnavailable as error:
            if not damage.may_be_index_damage(error):
                raise
            first = error
        try:
            suspects = self._used()
        except StorageUnavailable:
            raise first from first.__cause__
        for detached in (*((name,) for name in suspects), suspects):
            try:
                return self._attempt(work, detached)
            except StorageUnavailable as error:
                if not damage.may_be_index_damage(error):
                    raise
        raise first

    def _attempt(
        self,
        work: Callable[[Connection], _T],
        detached: tuple[str, ...],
        *,
        timeout: float | None = None,
    ) -> _T:
        with self.database.write(timeout=timeout) as connection:
            chosen = self._unsaved_choice
            if chosen:
                connection.executemany(
                    "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", list(chosen.items())
                )
            for name in detached:
                indexes.mark_for_rebuild(connection, name, indexes.UNSOUND)
            indexes.prepare_for_writing(connection)
            result = work(connection)
            self.index_work_due = bool(building.due(connection))
        self._unsaved_choice = {}
        return result

    def help_along(self) -> None:
        """Do a little of what an index needs, after an append, where something is due.

        A host that only ever appends and searches gets its indexes built all the same,
        though slowly: this takes a twentieth of the time at most.
        """
        began = time.monotonic()
        if not self.index_work_due or began < self.next_help:
            return
        with contextlib.suppress(MnemogramError):  # maintain() will tell
            self._attempt(_help, (), timeout=_PATIENCE)
        now = time.monotonic()
        self.next_help = now + max(HELP_INTERVAL, _HELP_SHARE * (now - began))

    def _used(self) -> tuple[str, ...]:
        """Return the indexes that a write may touch: even a detached one has debts to pay."""
        with self.database.read() as connection:
            states = indexes.load_states(connection).values()
            return tuple(each.name for each in states if not each.is_rebuild)

    def detach_damaged(self, name: str) -> bool:
        """Take an index that a reader found damaged out of use; search calls it.

        Returns:
            Whether the index was in use until now. False where the file cannot be
            written now: the reader goes on by another route all the same, and is not
            kept waiting for a lock.
        """
        if self.database.read_only:
            return False

        def work(connection: Connection) -> bool:
            state = indexes.load_states(connection).get(name)
            if state is None or state.state == "detached":
                return False
            indexes.mark_for_rebuild(connection, name, indexes.UNSOUND)
            return True

        with contextlib.suppress(StorageUnavailable, QueryTimeout):
            return self._attempt(work, (), timeout=_PATIENCE)
        return False
