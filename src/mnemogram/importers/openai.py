# SPDX-License-Identifier: MIT
"""Chat-completion style conversations.

A list of messages with ``role`` and ``content``; an object that holds such a list
(``messages``, ``traj``, ``conversations`` and so on, at most three levels down); a list of
either; or JSON lines of any of them. The shape of a message is that of the
chat-completion interface of OpenAI; ``from``/``value`` pairs and content blocks of the
Anthropic messages interface are read as well.
"""

from __future__ import annotations

import re
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
    role_of,
    spoken_time,
)
from mnemogram.importers.blocks import say, split

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "add_message", "is_message", "read", "recognises"]

NAME: Final = "openai"
LOOKS_FOR: Final = "a list of messages with `role` and `content`, or what holds one"
FIELDS: Final = frozenset(("messages", "role", "content", "parts", "tool_calls", "model"))

_LIST_KEYS: Final = ("messages", "conversation", "conversations", "traj", "trajectory", "history")
_TRANSCRIPT_KEYS: Final = ("messages_display", "transcript", "conversation", "dialogue", "text")
_ID_KEYS: Final = ("session_id", "sessionId", "conversation_id", "thread_id", "chat_id", "id")
_DEPTH: Final = 3
_SPEAKER: Final = re.compile(r"^(user|human|assistant|ai|tool|system): ?", re.I | re.M)


def is_message(value: object) -> bool:
    """Whether it is one message: a role, and something said or called."""
    return isinstance(value, Mapping) and _role_name(value) is not None and not _found(value)


def recognises(value: object) -> bool:
    """Whether a conversation, or a list of them, can be found in it."""
    if is_message(value) or _found(value) is not None:
        return True
    if not isinstance(value, list):
        return False
    return any(is_message(each) or _found(each) is not None for each in value[:20])


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the conversations of a file; messages that stand alone on lines are one."""
    names = Occurrences()
    loose: list[tuple[str, object]] = []
    for record in records:
        value = record.value
        if is_message(value):
            loose.append((record.where, value))
            continue
        several = (
            value
            if isinstance(value, list) and value and not any(map(is_message, value))
            else [value]
        )
        for number, one in enumerate(several, 1):
            inside = f"conversation {number}" if several is value else ""
            where = ", ".join(filter(None, (record.where, inside))) or "line 1"
            found = _found(one)
            if found is None:
                report.problem(where, "no list of messages in it")
                continue
            yield from _conversation(found, one, where, names, report)
    if loose:
        yield from _finish({}, _messages(loose, Builder(), report), names)


def _role_name(value: Mapping[str, Any]) -> str | None:
    name = value.get("role", value.get("from"))
    return name if isinstance(name, str) else None


def _found(value: object, depth: int = 0) -> list[Any] | str | None:
    """Return the list of messages in a value, or a transcript of them."""
    if isinstance(value, list):
        first = [each for each in value[:20] if isinstance(each, Mapping)]
        with_role = sum(_role_name(each) is not None for each in first)
        return value if with_role and with_role * 2 >= len(value[:20]) else None
    if not isinstance(value, Mapping) or depth == _DEPTH:
        return None
    for key in _LIST_KEYS:
        inner = value.get(key)
        if isinstance(inner, list) and _found(inner) is not None:
            return inner
    if depth == 0 and _role_name(value) is not None and "content" in value:
        return None
    for inner in value.values():
        if isinstance(inner, (list, Mapping)):
            found = _found(inner, depth + 1)
            if found is not None:
                return found
    for key in _TRANSCRIPT_KEYS:
        inner = value.get(key)
        if isinstance(inner, str) and _SPEAKER.match(inner):
            return inner
    return None


def _conversation(
    found: list[Any] | str, holder: object, where: str, names: Occurrences, report: Report
) -> Iterator[Batch]:
    about: Mapping[str, Any] = holder if isinstance(holder, Mapping) else {}
    builder = Builder(read_time(about, beginning=True)[0])
    if isinstance(found, str):
        _transcript(found, builder, report)
    else:
        numbered = ((f"{where}, message {i}", each) for i, each in enumerate(found, 1))
        _messages(numbered, builder, report)
    yield from _finish(about, builder, names)


def _finish(about: Mapping[str, Any], builder: Builder, names: Occurrences) -> Iterator[Batch]:
    messages = builder.take()
    if not messages:
        return
    own = as_text(first_of(about, *_ID_KEYS))
    session = Session(
        own or names.name("openai", (message.uid or "" for message in messages)),
        source=as_text(about.get("source")) or "chat",
        title=as_text(first_of(about, "title", "name", "subject")),
        model=as_text(about.get("model")),
        started_at=read_time(about, beginning=True)[0],
    )
    yield from pieces(session, messages, made=own is None)


def _messages(numbered: Iterable[tuple[str, object]], builder: Builder, report: Report) -> Builder:
    for where, value in numbered:
        try:
            add_message(value, builder, report)
        except ValueError as error:
            report.problem(where, str(error))
    return builder


def add_message(value: object, builder: Builder, report: Report) -> list[str]:
    """Add one message of this shape; return the uids of what it became.

    Raises:
        ValueError: it is no message.
    """
    if not isinstance(value, Mapping):
        raise ValueError(f"a message must be an object, not {type(value).__name__}")
    name = _role_name(value)
    role = role_of(name)
    if role is None:
        raise ValueError(f"role {name!r} is none of user, assistant, tool, system")
    if role == "system":
        report.skip("system messages")
        return []
    said = _content(value)
    return say(
        builder,
        report,
        role,
        split(said, result=role == "tool" and not _has_results(said)),
        uid=as_text(first_of(value, "uid", "uuid", "id", "_id", "message_id", "messageId")),
        time=spoken_time(value, report),
        calls=_calls(value),
        tool_call_id=as_text(first_of(value, "tool_call_id", "toolCallId", "tool_use_id")),
        tool_name=as_text(first_of(value, "name", "tool_name")) if role == "tool" else None,
        tool_status=as_text(value.get("status")) if role == "tool" else None,
    )


def _content(value: Mapping[str, Any]) -> object:
    """Return what a message holds: its parts, where it has them, are the whole of it."""
    parts = value.get("parts")
    if isinstance(parts, list) and parts:
        return parts
    return first_of(value, "content", "value", "text")


def _has_results(said: object) -> bool:
    """Whether a tool's message holds result blocks, each the answer to its own call."""
    return isinstance(said, list) and any(
        isinstance(each, Mapping) and str(each.get("type")).endswith(("-result", "_result"))
        for each in said
    )


def _calls(value: Mapping[str, Any]) -> list[Any]:
    calls = value.get("tool_calls")
    found = list(calls) if isinstance(calls, list) else []
    older = value.get("function_call")
    return [*found, {"function": older}] if isinstance(older, Mapping) else found


def _transcript(text: str, builder: Builder, report: Report) -> None:
    """Cut a conversation that is written as ``speaker: words`` lines."""
    starts = list(_SPEAKER.finditer(text))
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        said = text[start.end() : following.start() if following else None].strip()
        role = role_of(start[1])
        if role == "system" or role is None:
            report.skip("system messages")
        elif role == "assistant" and said == "None":
            report.skip("tool calls that the transcript does not show")
        else:
            builder.add(role, said)
