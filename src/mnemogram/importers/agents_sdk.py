# SPDX-License-Identifier: MIT
"""Sessions that the OpenAI Agents SDK keeps in SQLite.

A table ``agent_messages`` (``session_id``, ``message_data``, ``created_at``) beside
``agent_sessions``, whatever a host calls them; each row holds one item of the Responses
interface as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from mnemogram.history.models import Session
from mnemogram.importers.base import BATCH_MESSAGES, Batch, Builder, Record, Report, as_time
from mnemogram.importers.responses import Items
from mnemogram.importers.sqlite import SQLiteFile, quoted

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "agents-sdk"
LOOKS_FOR: Final = "a SQLite file with `session_id` and `message_data` in a table"
FIELDS: Final = frozenset(("agent_sessions", "agent_messages", "message_data"))

_NEEDED: Final = frozenset(("id", "session_id", "message_data"))


def _table(store: SQLiteFile) -> str | None:
    return next((name for name, columns in store.tables.items() if columns >= _NEEDED), None)


def recognises(value: object) -> bool:
    """Whether it is such a store."""
    return isinstance(value, SQLiteFile) and _table(value) is not None


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the sessions of a store, in pieces."""
    for record in records:
        store = record.value
        table = _table(store) if isinstance(store, SQLiteFile) else None
        if table is None:
            report.problem(record.where or "line 1", "no store of the Agents SDK")
            continue
        yield from _sessions(store, table, report)


def _sessions(store: SQLiteFile, table: str, report: Report) -> Iterator[Batch]:
    session: str | None = None
    started: datetime | None = None
    builder = Builder()
    items = Items(builder, report)

    def taken() -> Iterator[Batch]:
        messages = builder.take()
        if messages and session is not None:
            yield Batch(Session(session, started_at=started), messages)

    for row in store.rows(f"SELECT * FROM {quoted(table)} ORDER BY session_id, id"):
        key = str(row["session_id"])
        time = as_time(row.get("created_at"))
        if key != session:
            yield from taken()
            session, started, builder = key, time, Builder()
            items = Items(builder, report)
        elif len(builder) >= BATCH_MESSAGES:
            yield from taken()
        try:
            items.add(_item(row["message_data"]), time)
        except ValueError as error:
            report.problem(f"message {row['id']}", str(error))
    yield from taken()


def _item(data: Any) -> Mapping[str, Any]:
    try:
        item = json.loads(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its data is no JSON: {error}") from error
    if not isinstance(item, Mapping):
        raise ValueError(f"an item must be an object, not {type(item).__name__}")
    if "__enc__" in item:
        raise ValueError("the item is encrypted")
    return item
