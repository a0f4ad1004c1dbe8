# SPDX-License-Identifier: MIT
"""Import from the session store of hermes-agent and programs like it.

Such a store is a SQLite file with a table ``sessions`` (id, source, title, model,
parent_session_id, started_at, end_reason, ...) and a table ``messages`` (id, session_id,
role, content, timestamp, tool_calls, tool_call_id, tool_name, ...). Columns that a file
does not have are done without.
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
from mnemogram.history.models import Message, Session
from mnemogram.importers.base import as_time, role_of

__all__ = ["SessionStoreSource"]

PAGE_SIZE: Final = 200
_MESSAGE_COLUMNS: Final = (
    *("id", "session_id", "role", "content", "timestamp"),
    *("tool_calls", "tool_call_id", "tool_name", "tool_status"),
)
_SESSION_COLUMNS: Final = (
    *("source", "title", "model", "parent_session_id", "started_at", "end_reason", "user_id"),
)
_NEEDED: Final = frozenset(("id", "session_id", "role", "content"))


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
        missing = _NEEDED - messages
        if missing:
            raise sqlite3.OperationalError(f"messages has no column {', '.join(sorted(missing))}")
        shown = [f"m.{name} AS {name}" for name in _MESSAGE_COLUMNS if name in messages]
        shown += [f"s.{name} AS session_{name}" for name in _SESSION_COLUMNS if name in sessions]
        where = "m.id > :after"
        if self._by_user:
            where += " AND s.user_id = :user"
        return (
            f"SELECT {', '.join(shown)} FROM messages AS m"
            f" LEFT JOIN sessions AS s ON s.id = m.session_id"
            f" WHERE {where} ORDER BY m.id LIMIT :limit"
        )


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _record(row: Mapping[str, Any]) -> LegacyRecord:
    cursor = str(row["id"])
    role = role_of(row["role"])
    if role == "system":
        return LegacyRecord(cursor)
    if role is None:
        return LegacyRecord(cursor, problem=f"message {cursor}: unknown role {row['role']!r}")
    if row["session_id"] is None:
        return LegacyRecord(cursor, problem=f"message {cursor} belongs to no session")
    content = row["content"]
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    session = Session(
        str(row["session_id"]),
        source=str(row.get("session_source") or "chat"),
        title=row.get("session_title"),
        model=row.get("session_model"),
        parent=row.get("session_parent_session_id"),
        started_at=as_time(row.get("session_started_at")),
    )
    message = Message(
        role,
        None if content is None else str(content),
        uid=cursor,
        timestamp=as_time(row.get("timestamp")),
        tool_calls=row.get("tool_calls"),
        tool_call_id=row.get("tool_call_id"),
        tool_name=row.get("tool_name"),
        tool_status=row.get("tool_status"),
    )
    return LegacyRecord(cursor, session, (message,), end_reason=row.get("session_end_reason"))
