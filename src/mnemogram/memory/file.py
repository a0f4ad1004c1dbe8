# SPDX-License-Identifier: MIT
"""An open memory file: its clock, how it is written, and looks at it that cannot write."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from mnemogram.errors import StorageUnavailable
from mnemogram.memory import index
from mnemogram.memory.schema import SCHEMA
from mnemogram.sqlite.database import Connection, Database

__all__ = ["MemoryFile"]

_T = TypeVar("_T")


class MemoryFile:
    """One memory file, and how it is written.

    Args:
        database: the open file.
        clock: seconds since 1970.

    Attributes:
        database: the open file.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()
        if not database.read_only and database.has_tokenizer:
            with database.read() as connection:
                ready = index.state(connection) == "ready"
            if not ready:
                self.fill_index()

    def now(self) -> int:
        """Microseconds UTC, later at each call: two commits never have one time."""
        with self._lock:
            self._last = max(int(self._clock() * 1_000_000), self._last + 1)
            return self._last

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Run ``work`` in a write transaction, again without the full-text index if damaged.

        The index is marked stale then, and filled again by the next upkeep or opening.
        FTS5 writes late, so the damage may show in any statement after its own. ``work``
        must be repeatable.
        """
        try:
            return self._attempt(work)
        except StorageUnavailable as error:
            if not index.is_damaged(error.__cause__):
                raise
        self._attempt(index.mark_stale)
        return self._attempt(work)

    def _attempt(self, work: Callable[[Connection], _T]) -> _T:
        with self.database.write() as connection:
            return work(connection)

    def fill_index(self) -> bool:
        """Fill the full-text index where it is not ready and can be; return whether it was."""
        return self._attempt(index.ensure)

    @contextlib.contextmanager
    def read_only(self) -> Iterator[Connection]:
        """Read by a connection of its own that cannot write, for dry runs and checks."""
        database = self.database
        with (
            Database(
                database.path,
                SCHEMA,
                read_only=True,
                busy_timeout=database.busy_timeout,
                load_extension=database.load_extension,
            ) as copy,
            copy.read() as connection,
        ):
            yield connection
