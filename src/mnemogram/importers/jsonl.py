# SPDX-License-Identifier: MIT
"""mnemogram's own JSON lines: what ``export`` writes, and a plain form to write by hand.

The exported form has a ``header`` line, ``tombstone`` lines for deleted sessions, then for
each session a ``session`` line before its ``message`` lines. In the plain form each line is
a message that names its session: ``{"session": "s1", "role": "user", "content": "..."}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeVar, get_args

from mnemogram.errors import InvalidArgument
from mnemogram.history.labels import checked_metadata, checked_tags, metadata_of
from mnemogram.history.models import Message, Session, State
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    ImportFailed,
    Record,
    Report,
    as_text,
    as_time,
    bounded,
    content_uid,
    first_of,
    role_of,
    spoken_time,
)
from mnemogram.importers.blocks import split
from mnemogram.moments import Time

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "jsonl"
LOOKS_FOR: Final = "our own export, or lines with `session`, `role` and `content`"
FIELDS: Final = frozenset(("session", "session_id", "role", "content", "uid", "state"))

EXPORT_FORMAT: Final = "mnemogram"
EXPORT_VERSION: Final = 1

_SESSION_KEYS: Final = ("session", "session_id", "sessionId", "conversation_id", "thread_id")
_STATES: Final = get_args(State)
_T = TypeVar("_T")


def recognises(value: object) -> bool:
    """Whether it is a line of the export or of the plain form."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type")
    if kind == "header":
        return value.get("format") == EXPORT_FORMAT
    named = first_of(value, *_SESSION_KEYS) is not None
    return named and (kind == "message" or "role" in value)


@dataclass(slots=True)
class _Session:
    """A session of the file, and its messages that wait to be handed on."""

    session: Session
    record: dict[str, Any]
    messages: list[Message] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    position: int = 0
    time: datetime | None = None
    handed_on: bool = False

    def batch(self) -> Batch:
        batch = Batch(self.session, self.messages, (self.record, *self.records))
        self.messages, self.records, self.handed_on = [], [], True
        return batch


class _Reader:
    """Sessions seen so far, and how many messages wait."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.sessions: dict[str, _Session] = {}
        self.waiting = 0

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

    def tombstone(self, value: Mapping[str, Any]) -> None:
        key, time = as_text(value.get("session")), as_time(value.get("deleted_at"))
        if key is None or time is None:
            raise ValueError("a tombstone without session or deleted_at")
        record = {"type": "tombstone", "session": key, "deleted_at": time.isoformat()}
        self.report.tombstones.append(record)

    def session(self, value: Mapping[str, Any]) -> _Session:
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
            tags=self.label(checked_tags, value.get("tags")),
            metadata=self.metadata(value),
        )
        record = {
            "type": "session",
            "id": key,
            "source": session.source,
            "title": session.title,
            "model": session.model,
            "parent": session.parent,
            "end_reason": as_text(value.get("end_reason")),
            "started_at": _iso(session.started_at),
            "last_active_at": _iso(as_time(value.get("last_active_at"))),
            "tags": session.tags,
            "metadata": session.metadata,
        }
        known = self.sessions.get(key)
        if known is not None:
            known.session, known.record = session, _filled(record)
            return known
        return self.sessions.setdefault(key, _Session(session, _filled(record)))

    def metadata(self, value: Mapping[str, Any]) -> dict[str, Any] | None:
        text = self.label(checked_metadata, value.get("metadata"))
        return None if text is None else metadata_of(text)

    def label(self, checked: Callable[[Any], _T | None], value: Any) -> _T | None:
        """Return tags or metadata, checked; what cannot be kept takes no message with it."""
        try:
            return checked(value)
        except InvalidArgument:
            self.report.skip("tags or metadata that cannot be kept")
            return None

    def message(self, value: Mapping[str, Any]) -> None:
        named = first_of(value, *_SESSION_KEYS)
        about = named if isinstance(named, Mapping) else {**value, "id": named}
        key = as_text(about.get("id"))
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
        content = split(value.get("content"), result=role == "tool")
        exported = value.get("type") == "message"
        if key in self.sessions:
            session = self.sessions[key]
        else:
            session = self.session(
                {"id": key, "source": about.get("source")} if exported else about
            )
        time = spoken_time(value, self.report)
        if not exported:
            # The plain form: what has no time is not older than what stands before it.
            time = session.time = time or session.time
        message = Message(
            role,
            content.text,
            timestamp=time,
            tool_calls=bounded(value.get("tool_calls")) or content.calls or None,
            tool_call_id=as_text(value.get("tool_call_id")),
            tool_name=as_text(first_of(value, "tool_name", "name")),
            tool_status=as_text(value.get("tool_status")),
            metadata=self.metadata(value),
            provenance=as_text(value.get("provenance"))
            or ("observed" if time else "legacy_snapshot"),
        )
        uid = as_text(first_of(value, "uid", "id")) or content_uid(session.position, message)
        session.position += 1
        session.messages.append(replace(message, uid=uid))
        record = {
            "type": "message",
            "session": key,
            "uid": uid,
            "role": role,
            "state": state,
            "timestamp": _iso(time),
            "provenance": message.provenance,
            "tool_call_id": message.tool_call_id,
            "tool_name": message.tool_name,
            "tool_status": message.tool_status,
            "tool_calls": message.tool_calls,
            "content": message.content,
            "metadata": message.metadata,
        }
        session.records.append(_filled(record))
        self.waiting += 1

    def flush(self) -> Iterator[Batch]:
        self.waiting = 0
        for session in self.sessions.values():
            if session.messages or not session.handed_on:
                yield session.batch()


def _iso(time: Time | None) -> str | None:
    return time.isoformat() if isinstance(time, datetime) else None


def _filled(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


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
            elif kind == "tombstone":
                reader.tombstone(value)
            elif kind in ("message", None):
                reader.message(value)
            else:
                report.skip(f"{kind} records")
        except ImportFailed:
            raise
        except ValueError as error:
            report.problem(where, str(error))
        if reader.waiting >= BATCH_MESSAGES:
            yield from reader.flush()
    yield from reader.flush()
