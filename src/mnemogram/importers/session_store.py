# SPDX-License-Identifier: MIT
"""The SQLite session store of hermes-agent and of programs like it.

A table ``sessions`` (id, source, title, model, parent_session_id, started_at, end_reason,
...) and a table ``messages`` (id, session_id, role, content, timestamp, tool_calls,
tool_call_id, tool_name, active, compacted, ...). Columns that a file does not have are done
without. Content is text, or a list of parts behind a NUL and ``json:``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, Final

from mnemogram.history.models import Message, Session, State
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    Record,
    Report,
    as_time,
    bounded,
    role_of,
    settled,
)
from mnemogram.importers.blocks import split
from mnemogram.importers.sqlite import SQLiteFile

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "NEEDED", "query", "read", "recognises", "said"]

NAME: Final = "session-store"
LOOKS_FOR: Final = "a SQLite file with tables `sessions` and `messages`"
FIELDS: Final = frozenset(("session_id", "parent_session_id", "end_reason"))

#: Columns that every such store has in ``messages``.
NEEDED: Final = frozenset(("id", "session_id", "role", "content"))
_MESSAGE: Final = (
    *("id", "session_id", "role", "content", "timestamp"),
    *("tool_calls", "tool_call_id", "tool_name", "tool_status", "active", "compacted"),
)
_SESSION: Final = (
    *("source", "title", "model", "parent_session_id", "started_at", "end_reason", "user_id"),
)
_PARTS: Final = "\0json:"


def recognises(value: object) -> bool:
    """Whether it is such a store, rather than one of our own."""
    return (
        isinstance(value, SQLiteFile)
        and value.has(messages=" ".join(NEEDED), sessions="id")
        and "key" not in value.tables["sessions"]
    )


def query(messages: Set[str], sessions: Set[str], condition: str, order: str) -> str:
    """Return the statement for the messages of a store, by the columns that it has."""
    shown = [f"m.{name} AS {name}" for name in _MESSAGE if name in messages]
    shown += [f"s.{name} AS session_{name}" for name in _SESSION if name in sessions]
    return (
        f"SELECT {', '.join(shown)} FROM messages AS m"
        f" LEFT JOIN sessions AS s ON s.id = m.session_id WHERE {condition} ORDER BY {order}"
    )


def said(row: Mapping[str, Any]) -> tuple[Session, Message, State, str | None] | None:
    """Return what a row holds: session, message, state, and why the session ended.

    None for a system prompt.

    Raises:
        ValueError: it holds no message.
    """
    uid = str(row["id"])
    role = role_of(row["role"])
    if role == "system":
        return None
    if role is None:
        raise ValueError(f"message {uid}: unknown role {row['role']!r}")
    if row["session_id"] is None:
        raise ValueError(f"message {uid} belongs to no session")
    text, calls = _content(row["content"], result=role == "tool")
    session = Session(
        str(row["session_id"]),
        source=str(row.get("session_source") or "chat"),
        title=row.get("session_title"),
        model=row.get("session_model"),
        parent=row.get("session_parent_session_id"),
        started_at=as_time(row.get("session_started_at")),
    )
    time = as_time(row.get("timestamp"))
    message = Message(
        role,
        text,
        uid=uid,
        timestamp=time,
        tool_calls=_calls(row.get("tool_calls")) or calls or None,
        tool_call_id=row.get("tool_call_id"),
        tool_name=row.get("tool_name"),
        tool_status=row.get("tool_status"),
        provenance="observed" if time else "legacy_snapshot",
    )
    return session, message, _state(row), row.get("session_end_reason")


def _calls(text: Any) -> Any:
    """Return calls as JSON values where they are JSON, and as their text where they are not."""
    try:
        return bounded(json.loads(text)) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def _state(row: Mapping[str, Any]) -> State:
    """Return the state of a message: out of the context, undone, or neither."""
    if row.get("compacted"):
        return "compacted"
    active = row.get("active")
    return "active" if active is None or active else "rewound"


def _content(content: Any, *, result: bool) -> tuple[str | None, list[Any]]:
    if content is None:
        return None, []
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    content = str(content)
    if not content.startswith(_PARTS):
        return content, []
    try:
        parts = json.loads(content[len(_PARTS) :])
        found = split(parts, result=result)
    except (ValueError, RecursionError):
        return content[len(_PARTS) :], []
    texts = [found.text, *(each.text for each in found.results)]
    return "\n".join(filter(None, texts)), found.calls


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the sessions of a store, in pieces."""
    for record in records:
        store = record.value
        if not isinstance(store, SQLiteFile) or not recognises(store):
            report.problem(record.where or "line 1", "no session store")
            continue
        yield from _sessions(store, report)


def _sessions(store: SQLiteFile, report: Report) -> Iterator[Batch]:
    statement = query(store.tables["messages"], store.tables["sessions"], "1", "m.session_id, m.id")
    current: Session | None = None
    ended: str | None = None
    messages: list[Message] = []
    states: dict[str, State] = {}

    def rest() -> Iterator[Batch]:
        if current is not None:
            for batch in settled(current, messages, states):
                yield batch._replace(end_reason=ended)

    for row in store.rows(statement):
        try:
            found = said(row)
        except ValueError as error:
            report.problem(f"message {row['id']}", str(error))
            continue
        if found is None:
            report.skip("system messages")
            continue
        session, message, state, reason = found
        if current is None or session.id != current.id:
            yield from rest()
            current, ended, messages, states = session, reason, [], {}
        elif len(messages) >= BATCH_MESSAGES:
            yield from rest()
            messages, states = [], {}
        if state != "active":
            states[str(message.uid)] = state
        messages.append(replace(message, content=message.content or ""))
    yield from rest()
