# SPDX-License-Identifier: MIT
"""Import from a table of messages in any database that SQLAlchemy reaches.

Needs the extra ``sqlalchemy``, and the driver of the database::

    source = SQLAlchemySource(
        create_engine("postgresql+psycopg://..."),
        "chat_messages",
        Columns(id="id", user="user_id", session="conversation_id", role="sender",
                content="body", timestamp="created_at"),
    )
    home = mnemogram.open(root, legacy=source)
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timezone, tzinfo
from typing import Any, Final

import sqlalchemy as sa

from mnemogram.errors import InvalidArgument
from mnemogram.history.legacy import LegacyRecord
from mnemogram.history.models import Message, Session
from mnemogram.importers.base import as_time, role_of

__all__ = ["Columns", "SQLAlchemySource"]

PAGE_SIZE: Final = 200


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the table's columns; None for what it does not have.

    Attributes:
        id: unique and never changing: a number, a text or a UUID. Messages are taken
            over in its order, so it must grow with time inside a session.
        user: whose message it is, equal to the user id the host gives to mnemogram;
            None where the table holds one user only.
        session: id of the conversation.
        role: who speaks; see ``roles``.
        content: the text, or JSON.
        timestamp: a time, ISO 8601, or seconds or milliseconds since 1970 UTC.
        title, source, model, parent: of the session, where the table repeats them.
    """

    id: str
    session: str
    role: str
    content: str
    user: str | None = None
    timestamp: str | None = None
    tool_calls: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_status: str | None = None
    title: str | None = None
    source: str | None = None
    model: str | None = None
    parent: str | None = None


class SQLAlchemySource:
    """A legacy source over a table, one record for each row.

    Args:
        engine: connects when asked; it is not disposed of.
        table: name of the table or view.
        columns: names of its columns.
        schema: the table's schema, where it is not the default one.
        roles: the table's own words for ``user``, ``assistant`` and ``tool``; the usual
            ones (``human``, ``ai``, ``bot``, ``function``, ...) are known. Rows of the
            role ``system`` are left out.
        time_zone: zone of times that are stored without one.
        page_size: rows read at a time.

    Raises:
        InvalidArgument: page_size is not positive.
    """

    def __init__(
        self,
        engine: sa.Engine,
        table: str,
        columns: Columns,
        *,
        schema: str | None = None,
        roles: Mapping[str, str] | None = None,
        time_zone: tzinfo = timezone.utc,
        page_size: int = PAGE_SIZE,
    ) -> None:
        if page_size < 1:
            raise InvalidArgument("page_size must be 1 or more", hint="200 is the default.")
        self.page_size = page_size
        self._engine = engine
        self._roles = dict(roles or {})
        self._zone = time_zone
        names = {
            field.name: name
            for field in fields(columns)
            if (name := getattr(columns, field.name)) is not None
        }
        clauses: dict[str, sa.ColumnClause[Any]] = {
            field: sa.column(name) for field, name in names.items()
        }
        source = sa.table(table, *clauses.values(), schema=schema)
        self._query = sa.select(*(clauses[name].label(name) for name in clauses)).select_from(
            source
        )
        self._clauses = clauses

    def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
        """Return the next rows of a user as records; see ``LegacySource``."""
        query = self._query.order_by(self._clauses["id"]).limit(limit)
        if "user" in self._clauses:
            query = query.where(self._clauses["user"] == user_id)
        if after is not None:
            query = query.where(self._clauses["id"] > _from_cursor(after))
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return [self._record({str(key): row[key] for key in row}) for row in rows]

    def _record(self, row: Mapping[str, Any]) -> LegacyRecord:
        cursor = _to_cursor(row["id"])
        try:
            return self._converted(cursor, row)
        except (ValueError, TypeError, OverflowError) as error:
            return LegacyRecord(cursor, problem=f"row {row['id']}: {error}")

    def _converted(self, cursor: str, row: Mapping[str, Any]) -> LegacyRecord:
        said = row["role"]
        role = role_of(self._roles.get(said, said) if isinstance(said, str) else said)
        if role == "system":
            return LegacyRecord(cursor)
        if role is None:
            raise ValueError(f"unknown role {said!r}: name it in roles")
        if row["session"] is None:
            raise ValueError("it belongs to no session")
        session = Session(
            str(row["session"]),
            source=str(row.get("source") or "chat"),
            title=_text(row.get("title")),
            model=_text(row.get("model")),
            parent=_text(row.get("parent")),
        )
        message = Message(
            role,
            _content(row["content"]),
            uid=str(row["id"]),
            timestamp=self._time(row.get("timestamp")),
            tool_calls=row.get("tool_calls"),
            tool_call_id=_text(row.get("tool_call_id")),
            tool_name=_text(row.get("tool_name")),
            tool_status=_text(row.get("tool_status")),
        )
        return LegacyRecord(cursor, session, (message,))

    def _time(self, value: Any) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, datetime):
            return value if value.tzinfo is not None else value.replace(tzinfo=self._zone)
        time = as_time(value)
        if time is None:
            raise ValueError(f"not a time: {value!r}")
        return time


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _content(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _to_cursor(value: Any) -> str:
    """Write a key down with its type, so that it compares as what it is."""
    if isinstance(value, uuid.UUID):
        return json.dumps({"uuid": str(value)})
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        return json.dumps(value)
    raise InvalidArgument(
        f"a {type(value).__name__} cannot be the id column",
        hint="Name a column of whole numbers, texts or UUIDs.",
    )


def _from_cursor(cursor: str) -> Any:
    value = json.loads(cursor)
    return uuid.UUID(value["uuid"]) if isinstance(value, dict) else value
