# SPDX-License-Identifier: MIT
"""mnemogram's own JSON lines: what ``export`` writes, and a plain form to write by hand.

The exported form has a ``header`` line, then for each session a ``session`` line before
its ``message`` lines. In the plain form each line is a message that names its session:
``{"session": "s1", "role": "user", "content": "..."}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, get_args

from mnemogram.history.models import Message, Session, State
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    ImportFailed,
    Report,
    as_text,
    as_time,
    content_uid,
    first_of,
    role_of,
)
from mnemogram.importers.blocks import split
from mnemogram.importers.source import Record

__all__ = ["EXPORT_FORMAT", "EXPORT_VERSION", "is_record", "read"]

EXPORT_FORMAT: Final = "mnemogram"
EXPORT_VERSION: Final = 1

_SESSION_KEYS: Final = ("session", "session_id", "sessionId", "conversation_id", "thread_id")
_STATES: Final = get_args(State)


def is_record(value: object) -> bool:
    """Whether it is a line of the export or of the plain form."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    if kind == "header":
        return value.get("format") == EXPORT_FORMAT
    named = first_of(value, *_SESSION_KEYS) is not None
    return named and (kind == "message" or "role" in value)


class _Reader:
    """Sessions seen so far, and the messages that wait to be handed on."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.sessions: dict[str, tuple[Session, str | None]] = {}
        self.positions: dict[str, int] = {}
        self.times: dict[str, datetime | None] = {}
        self.waiting: dict[str, tuple[list[Message], dict[str, State]]] = {}
        self.count = 0

    def header(self, value: Mapping[str, Any], where: str) -> None:
        version = value.get("version")
        if value.get("format") != EXPORT_FORMAT or not isinstance(version, int):
            self.report.problem(where, "a header that is not mnemogram's")
        elif version > EXPORT_VERSION:
            raise ImportFailed(
                self.report.file,
                None,
                f"written in version {version} of the format; this is version {EXPORT_VERSION}",
                hint="Upgrade mnemogram to import this file.",
            )

    def session(self, value: Mapping[str, Any]) -> None:
        key = as_text(value.get("id"))
        if key is None:
            raise ValueError("a session without id")
        session = Session(
            key,
            source=as_text(value.get("source")) or "chat",
            title=as_text(value.get("title")),
            model=as_text(value.get("model")),
            parent=as_text(value.get("parent")),
            started_at=as_time(value.get("started_at")),
        )
        self.sessions[key] = session, as_text(value.get("end_reason"))
        self.waiting.setdefault(key, ([], {}))

    def message(self, value: Mapping[str, Any]) -> None:
        named = first_of(value, *_SESSION_KEYS)
        if isinstance(named, Mapping):
            self.session(named)
            named = named.get("id")
        key = as_text(named)
        if key is None:
            raise ValueError("a message that names no session")
        role = role_of(value.get("role"))
        if role is None:
            raise ValueError(f"role {value.get('role')!r} is none of user, assistant, tool")
        if role == "system":
            self.report.skip("system messages")
            return
        state: Any = value.get("state") or "active"
        if state not in _STATES:
            raise ValueError(f"state {state!r} is unknown")
        time = as_time(value.get("timestamp"))
        if time is None and value.get("timestamp"):
            self.report.skip("times that could not be read")
        if value.get("type") != "message":
            # The plain form: what has no time is not older than what stands before it.
            time = self.times[key] = time or self.times.get(key)
        content = split(value.get("content"))
        calls = value.get("tool_calls") or content.calls or None
        message = Message(
            role,
            content.text,
            timestamp=time,
            tool_calls=calls,
            tool_call_id=as_text(value.get("tool_call_id")),
            tool_name=as_text(first_of(value, "tool_name", "name")),
            tool_status=as_text(value.get("tool_status")),
            provenance=as_text(value.get("provenance"))
            or ("observed" if time else "legacy_snapshot"),
        )
        position = self.positions[key] = self.positions.get(key, -1) + 1
        uid = as_text(first_of(value, "uid", "id")) or content_uid(position, message)
        if key not in self.sessions:
            self.sessions[key] = (
                Session(key, source=as_text(value.get("source")) or "chat"),
                None,
            )
        messages, states = self.waiting.setdefault(key, ([], {}))
        messages.append(replace(message, uid=uid))
        if state != "active":
            states[uid] = state
        self.count += 1

    def flush(self) -> Iterator[Batch]:
        waiting, self.waiting, self.count = self.waiting, {}, 0
        for key, (messages, states) in waiting.items():
            session, reason = self.sessions[key]
            yield Batch(session, messages, states, reason)


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the sessions of a file, each in pieces as its messages come."""
    reader = _Reader(report)
    for record in records:
        value = record.value
        where = record.where or "line 1"
        try:
            if not isinstance(value, Mapping):
                raise ValueError(f"a record must be an object, not {type(value).__name__}")
            kind = value.get("type")
            if kind == "header":
                reader.header(value, where)
            elif kind == "session":
                reader.session(value)
            elif kind in ("message", None):
                reader.message(value)
            else:
                report.skip(f"{kind} records")
        except ImportFailed:
            raise
        except ValueError as error:
            report.problem(where, str(error))
        if reader.count >= BATCH_MESSAGES:
            yield from reader.flush()
    yield from reader.flush()
