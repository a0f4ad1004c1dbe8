# SPDX-License-Identifier: MIT
"""Conversations that LibreChat exports as JSON.

``conversationId``, ``title`` and ``messages`` (or ``messagesTree``), each with ``messageId``,
``parentMessageId`` and ``isCreatedByUser``; in a recursive export messages hold those that
follow them as ``children``. The newest branch stands, as in the program; others were left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mnemogram.history.models import Session
from mnemogram.importers import tree
from mnemogram.importers.base import (
    Batch,
    Builder,
    Occurrences,
    Record,
    Report,
    as_text,
    conversations,
    first_of,
    pieces,
    read_time,
    spoken_time,
)
from mnemogram.importers.blocks import attachment, say, split

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "librechat"
LOOKS_FOR: Final = "a `conversationId` and messages with `isCreatedByUser`"
FIELDS: Final = frozenset(
    ("conversationId", "messageId", "parentMessageId", "isCreatedByUser", "messagesTree")
)


def recognises(value: object) -> bool:
    """Whether it is a conversation of the program, or a list of them."""
    if isinstance(value, list):
        return any(recognises(each) for each in value[:20] if isinstance(each, Mapping))
    return isinstance(value, Mapping) and _listed(value) is not None


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield each conversation: its newest branch, and what was left."""
    names = Occurrences()
    return conversations(
        records, report, lambda value, where: _conversation(value, where, names, report)
    )


def _listed(value: Mapping[str, Any]) -> list[Any] | None:
    for name in ("messages", "messagesTree"):
        inner = value.get(name)
        if isinstance(inner, list) and any(
            isinstance(each, Mapping) and "isCreatedByUser" in each for each in inner[:20]
        ):
            return inner
    return None


def _flat(listed: list[Any]) -> Iterator[Any]:
    """Yield messages before those that follow them."""
    waiting = listed[::-1]
    while waiting:
        message = waiting.pop()
        yield message
        children = message.get("children") if isinstance(message, Mapping) else None
        if isinstance(children, list):
            waiting += children[::-1]


def _conversation(value: Any, where: str, names: Occurrences, report: Report) -> Iterator[Batch]:
    listed = _listed(value) if isinstance(value, Mapping) else None
    if listed is None:
        raise ValueError("no conversation: it has no messages with `isCreatedByUser`")
    options = value.get("options")
    model = as_text(options.get("model")) if isinstance(options, Mapping) else None
    started = read_time(value, beginning=True)[0]
    builder = Builder(started)
    everything = list(_flat(listed))
    current = _current(everything)
    left: set[str] = set()
    for number, message in enumerate(everything, 1):
        try:
            uids = _message(message, builder, report)
        except ValueError as error:
            report.problem(f"{where}, message {number}", str(error))
            continue
        if current and as_text(message.get("messageId")) not in current:
            left.update(uids)
        elif message.get("isCreatedByUser") is not True:
            model = as_text(message.get("model")) or model
    messages = builder.take()
    session = Session(
        as_text(first_of(value, "conversationId", "id"))
        or names.name(NAME, (each.uid or "" for each in messages)),
        title=as_text(value.get("title")),
        model=model,
        started_at=started,
    )
    yield from pieces(
        session,
        [each for each in messages if each.uid not in left],
        left=[each for each in messages if each.uid in left],
        whole=True,
    )


def _current(messages: list[Any]) -> set[str]:
    """Return the ids on the newest branch; nothing where no message is off it."""
    parents: dict[str, str | None] = {}
    for each in messages:
        key = as_text(each.get("messageId")) if isinstance(each, Mapping) else None
        if key is not None:
            parents[key] = as_text(each.get("parentMessageId"))
    if not any(parent in parents for parent in parents.values()):
        return set()
    return set(tree.newest(parents))


def _message(message: Any, builder: Builder, report: Report) -> list[str]:
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must be an object, not {type(message).__name__}")
    if message.get("error") is True:
        report.skip("errors that the program showed")
        return []
    if message.get("sender") == "System":
        report.skip("system messages")
        return []
    content = split(first_of(message, "content") or message.get("text"))
    plain = message.get("text")
    if not (content.text or content.calls or content.results) and isinstance(plain, str):
        content.text = plain
    content.text = "\n".join(filter(None, (content.text, *_attached(message))))
    if not (content.text or content.calls or content.results):
        report.skip("reasoning blocks", content.reasoning)
        report.skip("messages without any content", not content.reasoning)
        return []
    return say(
        builder,
        report,
        "user" if message.get("isCreatedByUser") is True else "assistant",
        content,
        uid=as_text(message.get("messageId")),
        time=spoken_time(message, report),
    )


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield a mark for each file, and the text of those that are text."""
    for field in ("files", "attachments"):
        listed = message.get(field)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, Mapping):
                image = str(each.get("type")).startswith("image/")
                yield "[image]" if image else attachment(each)
                text = each.get("text")
                if isinstance(text, str) and text:
                    yield text
