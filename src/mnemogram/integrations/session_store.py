# SPDX-License-Identifier: MIT
"""Import from the session store of hermes-agent and programs like it.

What such a store is, and what becomes of its columns, is said where files are imported:
``mnemogram.importers.session_store``.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from mnemogram.errors import StorageUnavailable
from mnemogram.history.legacy import LegacyRecord
from mnemogram.importers.session_store import NEEDED, query, said

__all__ = ["SessionStoreSource"]

PAGE_SIZE: Final = 200


class SessionStoreSource:
    """A legacy source over a session store, one record for each message.

    Args:
        path: the SQLite file; it is only read.
        by_user: take over only sessions whose ``user_id`` is the user's id; False for a
            file that belongs to one user, as these programs keep one for each profile.
        page_size: messages read at a time.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, by_user: bool = False, page_size: int = PAGE_SIZE
    ) -> None:
        self.page_size = page_size
        self._path = Path(os.path.abspath(os.fspath(path)))
        self._by_user = by_user

    def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
        """Return the next messages as records; see ``LegacySource``."""
        try:
            with closing(self._connect()) as connection:
                rows = connection.execute(
                    self._query(connection),
                    {"after": int(after or 0), "limit": limit, "user": user_id},
                ).fetchall()
        except sqlite3.Error as error:
            raise StorageUnavailable(
                f"cannot read the session store {self._path}: {error}",
                hint="Check that the file exists and is a session store.",
            ) from error
        return [_record(dict(row)) for row in rows]

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True, timeout=10)
        connection.row_factory = sqlite3.Row
        return connection

    def _query(self, connection: sqlite3.Connection) -> str:
        messages = _columns(connection, "messages")
        sessions = _columns(connection, "sessions")
        missing = NEEDED - messages
        if missing:
            raise sqlite3.OperationalError(f"messages has no column {', '.join(sorted(missing))}")
        where = "m.id > :after"
        if self._by_user:
            where += " AND s.user_id = :user"
        return query(messages, sessions, where, "m.id LIMIT :limit")


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _record(row: Mapping[str, Any]) -> LegacyRecord:
    cursor = str(row["id"])
    try:
        found = said(row)
    except ValueError as error:
        return LegacyRecord(cursor, problem=str(error))
    if found is None:
        return LegacyRecord(cursor)
    session, message, state, end_reason = found
    states = {} if state == "active" else {cursor: state}
    return LegacyRecord(cursor, session, (message,), end_reason=end_reason, states=states)
