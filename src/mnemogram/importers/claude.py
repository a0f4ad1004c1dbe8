# SPDX-License-Identifier: MIT
"""The ``conversations.json`` of a Claude data export.

A list of conversations with ``uuid``, ``name`` and ``chat_messages``; a message has a
``sender``, content blocks or a ``text``, and what was attached to it. Where messages name
the one before them, branches that were left by editing are kept as such.
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
    role_of,
    spoken_time,
)
from mnemogram.importers.blocks import attachment, say, split

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "claude"
LOOKS_FOR: Final = "conversations with `chat_messages`"
FIELDS: Final = frozenset(("chat_messages", "sender", "uuid", "account", "parent_message_uuid"))


def recognises(value: object) -> bool:
    """Whether it is a conversation of the export, or a list of them."""
    if isinstance(value, list):
        return any(recognises(each) for each in value[:20] if isinstance(each, Mapping))
    return isinstance(value, Mapping) and isinstance(value.get("chat_messages"), list)


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield each conversation: its current branch, and what was left."""
    names = Occurrences()
    return conversations(
        records, report, lambda value, where: _conversation(value, where, names, report)
    )


def _conversation(value: Any, where: str, names: Occurrences, report: Report) -> Iterator[Batch]:
    if not recognises(value) or not isinstance(value, Mapping):
        raise ValueError("no conversation: it has no `chat_messages`")
    listed = value["chat_messages"]
    started, _ = read_time(value)
    builder = Builder(started)
    current = _current(listed, as_text(value.get("current_leaf_message_uuid")))
    left: set[str] = set()
    for number, message in enumerate(listed, 1):
        try:
            uids = _message(message, builder, report)
        except ValueError as error:
            report.problem(f"{where}, message {number}", str(error))
            continue
        if current and as_text(message.get("uuid")) not in current:
            left.update(uids)
    messages = builder.take()
    session = Session(
        as_text(first_of(value, "uuid", "id"))
        or names.name("claude", (each.uid or "" for each in messages)),
        title=as_text(first_of(value, "name", "title")),
        model=as_text(value.get("model")),
        started_at=started,
    )
    yield from pieces(
        session,
        [each for each in messages if each.uid not in left],
        left=[each for each in messages if each.uid in left],
        whole=True,
    )


def _current(listed: list[Any], leaf: str | None) -> set[str]:
    """Return the uuids on the current branch; nothing where no message is off it."""
    parents: dict[str, str | None] = {}
    for each in listed:
        key = as_text(each.get("uuid")) if isinstance(each, Mapping) else None
        if key is not None:
            parents[key] = as_text(each.get("parent_message_uuid"))
    if not any(parent in parents for parent in parents.values()):
        return set()
    if leaf not in parents:
        leaf = tree.leaves(parents)[-1] if tree.leaves(parents) else None
    return set(tree.path(parents, leaf))


def _message(message: Any, builder: Builder, report: Report) -> list[str]:
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must be an object, not {type(message).__name__}")
    sender = first_of(message, "sender", "role")
    role = role_of(sender)
    if role is None:
        raise ValueError(f"sender {sender!r} is neither human nor assistant")
    if role == "system":
        report.skip("system messages")
        return []
    content = split(message.get("content") or None)
    plain = message.get("text")
    said = [content.text or (plain if isinstance(plain, str) and not content.results else "")]
    said += _attached(message)
    content.text = "\n".join(filter(None, said))
    if not (content.text or content.calls or content.results):
        report.skip("reasoning blocks", content.reasoning)
        report.skip("messages without any content", not content.reasoning)
        return []
    return say(
        builder,
        report,
        role,
        content,
        uid=as_text(first_of(message, "uuid", "id")),
        time=spoken_time(message, report),
    )


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield a mark for each attachment, and the text of those that are text."""
    seen: set[str] = set()
    for field in ("attachments", "files", "files_v2"):
        listed = message.get(field)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, Mapping):
                mark = attachment(each)
                if mark not in seen or field == "attachments":
                    yield mark
                seen.add(mark)
                text = each.get("extracted_content")
                if isinstance(text, str) and text:
                    yield text
