# SPDX-License-Identifier: MIT
"""Exports of LobeChat: sessions, topics and messages side by side.

Older ones have them under ``state`` (``exportType``, ``version``), newer ones under ``data``
(``mode``, ``schemaHash``). Each topic is a conversation, as is what a session holds beside
topics; a thread continues the topic that it hangs on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Final

from mnemogram.history.models import Session
from mnemogram.importers.base import (
    Batch,
    Builder,
    Record,
    Report,
    as_text,
    first_of,
    pieces,
    read_time,
    role_of,
    spoken_time,
)
from mnemogram.importers.blocks import Content, attachment, call_of, say, split

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "lobechat"
LOOKS_FOR: Final = "`messages` with `sessionId` and `topicId` beside `sessions` and `topics`"
FIELDS: Final = frozenset(("exportType", "state", "topics", "sessions", "topicId", "schemaHash"))

_EPOCH: Final = datetime.fromtimestamp(0, timezone.utc)


def recognises(value: object) -> bool:
    """Whether it is such an export."""
    return isinstance(value, Mapping) and _tables(value) is not None


def _tables(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for name in ("state", "data"):
        inner = value.get(name)
        if not isinstance(inner, Mapping) or not isinstance(inner.get("messages"), list):
            continue
        if name == "state" and ("exportType" in value or "topics" in inner or "sessions" in inner):
            return inner
        if name == "data" and ("schemaHash" in value or "topics" in inner):
            return inner
    return None


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield each topic, and each session as far as it has none."""
    for record in records:
        tables = _tables(record.value) if isinstance(record.value, Mapping) else None
        if tables is None:
            report.problem(record.where or "line 1", "no export: it has no table of messages")
            continue
        yield from _conversations(tables, report)


def _conversations(tables: Mapping[str, Any], report: Report) -> Iterator[Batch]:
    sessions = _by_id(tables.get("sessions"))
    alone = tables.get("session")  # an export of a single one
    if isinstance(alone, Mapping):
        sessions |= _by_id([alone])
    topics, threads = _by_id(tables.get("topics")), _by_id(tables.get("threads"))
    plugins = _by_id(tables.get("messagePlugins"))
    groups: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for number, message in enumerate(tables["messages"], 1):
        where = f"message {number}"
        if not isinstance(message, Mapping):
            report.problem(where, f"a message must be an object, not {type(message).__name__}")
            continue
        for field in ("threadId", "topicId", "sessionId"):
            key = as_text(message.get(field))
            if key is not None:
                break
        else:
            field, key = "sessionId", "inbox"  # where the program keeps what has no session
        groups.setdefault((field, key), []).append((where, message))
    for (field, key), messages in groups.items():
        about = {"threadId": threads, "topicId": topics, "sessionId": sessions}[field].get(key, {})
        session = _session(field, key, about, messages, sessions)
        yield from _conversation(session, messages, plugins, report)


def _by_id(listed: Any) -> dict[str, Mapping[str, Any]]:
    rows = listed if isinstance(listed, list) else []
    return {
        key: each
        for each in rows
        if isinstance(each, Mapping) and (key := as_text(each.get("id"))) is not None
    }


def _session(
    field: str,
    key: str,
    about: Mapping[str, Any],
    messages: list[tuple[str, Any]],
    sessions: Mapping[str, Mapping[str, Any]],
) -> Session:
    meta = about.get("meta")
    title = first_of(about, "title") or (meta.get("title") if isinstance(meta, Mapping) else None)
    owner = sessions.get(as_text(messages[0][1].get("sessionId")) or "", {})
    config = owner.get("config")
    models = [as_text(first_of(each, "fromModel", "model")) for _, each in messages]
    own = as_text(config.get("model")) if isinstance(config, Mapping) else None
    return Session(
        key,
        title=as_text(title),
        model=next((each for each in models[::-1] if each), None) or own,
        parent=as_text(about.get("topicId")) if field == "threadId" else None,
        started_at=read_time(about)[0],
    )


def _conversation(
    session: Session,
    messages: list[tuple[str, Any]],
    plugins: Mapping[str, Mapping[str, Any]],
    report: Report,
) -> Iterator[Batch]:
    builder = Builder()
    for where, message in sorted(messages, key=lambda each: read_time(each[1])[0] or _EPOCH):
        try:
            _message(message, plugins, builder, report)
        except ValueError as error:
            report.problem(where, str(error))
    yield from pieces(session, builder.take(), whole=True)


def _message(
    message: Mapping[str, Any],
    plugins: Mapping[str, Mapping[str, Any]],
    builder: Builder,
    report: Report,
) -> None:
    role = role_of(message.get("role"))
    if role is None:
        raise ValueError(f"role {message.get('role')!r} is none of user, assistant, tool, system")
    if role == "system":
        report.skip("system messages")
        return
    uid = as_text(message.get("id"))
    time = spoken_time(message, report)
    content = split(message.get("content"), result=role == "tool")
    content.text = "\n".join(filter(None, (content.text, *_attached(message))))
    if message.get("reasoning"):
        content.reasoning += 1
    plugin = plugins.get(uid or "") or message.get("plugin")
    plugin = plugin if isinstance(plugin, Mapping) else {}
    answered = as_text(first_of(message, "tool_call_id") or plugin.get("toolCallId"))
    tools = message.get("tools")
    calls = [_call(each) for each in tools if isinstance(each, Mapping)] if tools else []
    if role == "tool" and plugin and answered is None:
        # The older form: one message holds the call and the answer.
        answered = f"{uid}/call"
        call = Content(calls=[{"id": answered, **_call(plugin)}])
        say(builder, report, "assistant", call, uid=answered, time=time)
    if not (content.text or calls or role == "tool"):
        failed = isinstance(message.get("error"), Mapping)
        report.skip("errors that the program showed", failed)
        report.skip("reasoning blocks", content.reasoning)
        report.skip("messages without any content", not (failed or content.reasoning))
        return
    say(
        builder,
        report,
        role,
        content,
        uid=uid,
        time=time,
        calls=calls,
        tool_call_id=answered if role == "tool" else None,
        tool_name=_name(plugin) if role == "tool" else None,
        tool_status="error" if role == "tool" and first_of(plugin, "error") else None,
    )


def _call(tool: Mapping[str, Any]) -> dict[str, Any]:
    call = call_of(tool)
    name = _name(tool)
    return {**call, "name": name} if name else call


def _name(tool: Mapping[str, Any]) -> str | None:
    return as_text(first_of(tool, "apiName", "identifier", "name"))


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    for field in ("imageList", "fileList", "videoList", "audioList"):
        listed = message.get(field)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, Mapping):
                medium = field.removesuffix("List")
                yield attachment(each) if medium == "file" else f"[{medium}]"
    files = message.get("files")
    if isinstance(files, str):
        try:
            files = json.loads(files)
        except ValueError:
            files = None
    for each in files if isinstance(files, list) else ():
        yield attachment(each if isinstance(each, Mapping) else {"name": each})
