# SPDX-License-Identifier: MIT
"""Messages that LangChain and LangGraph have written out.

Each is ``{"type": "human", "data": {...}}`` (``messages_to_dict``), a constructor
(``{"lc": 1, "id": [..., "HumanMessage"], "kwargs": {...}}``, ``dumps``) or the message's own
fields (``model_dump``). A list of them, what holds such a list (``messages``, the ``values``
of a graph's state), JSON lines, or the table ``message_store`` of a SQLite file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mnemogram.history.models import Session
from mnemogram.importers.base import (
    Batch,
    Builder,
    Occurrences,
    Record,
    Report,
    as_text,
    first_of,
    pieces,
    read_time,
)
from mnemogram.importers.openai import add_message
from mnemogram.importers.sqlite import SQLiteFile

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "langchain"
LOOKS_FOR: Final = "messages with `type` and `data`, or `lc` and `kwargs`"
FIELDS: Final = frozenset(
    ("lc", "kwargs", "data", "additional_kwargs", "response_metadata", "invalid_tool_calls")
)

_TYPES: Final = {
    "human": "user",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
    "chat": "",
    "remove": "remove",
}
_HOLDERS: Final = ("messages", "history", "chat_history", "values", "channel_values", "state")
#: What summarizing middleware and notices of programs name as their source.
_SUMMARY: Final = "summarization"


def _message(value: object) -> Mapping[str, Any] | None:
    """Return the fields of a message that LangChain wrote, with its ``type``; else None."""
    if not isinstance(value, Mapping):
        return None
    fields = value.get("kwargs")
    if isinstance(fields, Mapping) and "lc" in value:
        path = value.get("id")
        last = str(path[-1]) if isinstance(path, list) and path else ""
        kind = _kind(fields.get("type") or last)
        return None if kind is None else {**fields, "type": kind}
    kind = _kind(value.get("type"))
    inner = value.get("data")
    if kind is None:
        return None
    if isinstance(inner, Mapping) and "content" in inner:
        return {**inner, "type": kind}
    if "content" in value and ("additional_kwargs" in value or "response_metadata" in value):
        return {**value, "type": kind}
    return None


def _kind(name: object) -> str | None:
    if not isinstance(name, str):
        return None
    kind = name.removesuffix("MessageChunk").removesuffix("Message").lower()
    return kind if kind in _TYPES else None


def _found(value: object, depth: int = 0) -> list[Any] | None:
    """Return the list of messages that a value is or holds."""
    if isinstance(value, list):
        return value if any(_message(each) is not None for each in value[:20]) else None
    if isinstance(value, Mapping) and depth < 4:
        for name in _HOLDERS:
            found = _found(value.get(name), depth + 1)
            if found is not None:
                return found
    return None


def recognises(value: object) -> bool:
    """Whether it is a message of LangChain's, what holds some, or a store of them."""
    if isinstance(value, SQLiteFile):
        return value.has(message_store="session_id message")
    if _message(value) is not None or _found(value) is not None:
        return True
    return isinstance(value, list) and any(_found(each) is not None for each in value[:20])


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the conversations of a file; messages that stand alone on lines are one."""
    names = Occurrences()
    loose: list[tuple[str, Any]] = []
    for record in records:
        value, where = record.value, record.where or "line 1"
        if isinstance(value, SQLiteFile):
            yield from _stored(value, names, report)
        elif _message(value) is not None:
            loose.append((where, value))
        elif (found := _found(value)) is not None:
            about = value if isinstance(value, Mapping) else {}
            yield from _conversation(_numbered(found, where), about, names, report)
        else:
            for number, one in enumerate(value if isinstance(value, list) else [value], 1):
                place = f"{where}, conversation {number}"
                inner = _found(one)
                if inner is None:
                    report.problem(place, "no messages of LangChain's in it")
                    continue
                about = one if isinstance(one, Mapping) else {}
                yield from _conversation(_numbered(inner, place), about, names, report)
    if loose:
        yield from _conversation(loose, {}, names, report)


def _numbered(messages: list[Any], where: str) -> list[tuple[str, Any]]:
    return [(f"{where}, message {number}", each) for number, each in enumerate(messages, 1)]


def _stored(store: SQLiteFile, names: Occurrences, report: Report) -> Iterator[Batch]:
    """Yield the sessions of a SQLite file, each a row a message."""
    session: str | None = None
    messages: list[tuple[str, Any]] = []
    for row in store.rows("SELECT * FROM message_store ORDER BY session_id, rowid"):
        key = as_text(row["session_id"])
        if key != session and messages:
            yield from _conversation(messages, {"id": session}, names, report)
            messages = []
        session = key
        try:
            value = json.loads(row["message"])
        except (TypeError, ValueError, RecursionError):
            value = None
        messages.append((f"message {row.get('id')}", value))
    if messages:
        yield from _conversation(messages, {"id": session}, names, report)


def _conversation(
    messages: list[tuple[str, Any]],
    about: Mapping[str, Any],
    names: Occurrences,
    report: Report,
) -> Iterator[Batch]:
    config = about.get("config")
    inner = config.get("configurable") if isinstance(config, Mapping) else None
    inner = inner if isinstance(inner, Mapping) else {}
    started, _ = read_time(about, beginning=True)
    builder = Builder(started)
    model: str | None = None
    for where, value in messages:
        fields = _message(value)
        if fields is None:
            report.problem(where, "no message of LangChain's")
            continue
        try:
            add_message(_as_completion(fields), builder, report)
        except _NobodysWords as words:
            report.skip(str(words))
        except ValueError as error:
            report.problem(where, str(error))
        answered = fields.get("response_metadata")
        if isinstance(answered, Mapping):
            model = as_text(first_of(answered, "model_name", "model")) or model
    said = builder.take()
    own = as_text(first_of(about, "session_id", "thread_id", "id") or inner.get("thread_id"))
    session = Session(
        own or names.name(NAME, (each.uid or "" for each in said)),
        title=as_text(first_of(about, "title", "name")),
        model=model,
        started_at=started,
    )
    yield from pieces(session, said, made=own is None)


class _NobodysWords(Exception):
    """A message that stands in a conversation and nobody said."""


def _as_completion(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as the chat-completion interface has it."""
    more = fields.get("additional_kwargs")
    more = more if isinstance(more, Mapping) else {}
    role = _TYPES[fields["type"]] or fields.get("role")
    source = more.get("lc_source")
    if isinstance(source, str) and (_SUMMARY in source or role in ("user", "system")):
        raise _NobodysWords("summaries of compacted context")
    if role == "remove":
        raise _NobodysWords("removals of messages")
    calls = [
        {"id": each.get("id"), "name": each.get("name"), "arguments": each.get("args")}
        for name in ("tool_calls", "invalid_tool_calls")
        for each in fields.get(name) or ()
        if isinstance(each, Mapping)
    ]
    content = fields.get("content")
    if calls and isinstance(content, list):
        # Some providers repeat the calls in the content.
        content = [each for each in content if not _is_call(each)]
    return {
        "role": role,
        "content": content,
        "id": fields.get("id"),
        "tool_calls": calls or more.get("tool_calls"),
        "function_call": None if calls else more.get("function_call"),
        "tool_call_id": fields.get("tool_call_id"),
        "name": fields.get("name"),
        "status": None if fields.get("status") == "success" else fields.get("status"),
        "timestamp": read_time(fields)[0],
    }


def _is_call(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") in ("tool_use", "function_call")
