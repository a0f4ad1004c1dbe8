# SPDX-License-Identifier: MIT
"""The ``conversations.json`` of a ChatGPT data export.

Each conversation is a tree of nodes (``mapping``); its current branch is the path from
``current_node`` up through ``parent``. Branches that were left by editing or regenerating
are not imported, nor is what the program hides from the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mnemogram.history.models import Session
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    Builder,
    Occurrences,
    Report,
    as_text,
    as_time,
    first_of,
    role_of,
)
from mnemogram.importers.blocks import split
from mnemogram.importers.source import Record

__all__ = ["is_conversation", "read"]

_REASONING: Final = frozenset({"thoughts", "reasoning_recap"})
_CONTEXT: Final = frozenset({"user_editable_context", "model_editable_context"})


def is_conversation(value: object) -> bool:
    """Whether it is a conversation of the export, or a list of them."""
    if isinstance(value, list):
        return any(is_conversation(each) for each in value[:20] if isinstance(each, Mapping))
    return isinstance(value, Mapping) and isinstance(value.get("mapping"), Mapping)


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the current branch of each conversation."""
    names = Occurrences()
    for record in records:
        several = record.value if isinstance(record.value, list) else [record.value]
        for number, value in enumerate(several, 1):
            inside = f"conversation {number}" if several is record.value else ""
            where = ", ".join(filter(None, (record.where, inside))) or "line 1"
            if not is_conversation(value) or not isinstance(value, Mapping):
                report.problem(where, "no conversation: it has no `mapping`")
                continue
            yield from _conversation(value, where, names, report)


def _conversation(
    value: Mapping[str, Any], where: str, names: Occurrences, report: Report
) -> Iterator[Batch]:
    nodes: Mapping[str, Any] = value["mapping"]
    started = as_time(value.get("create_time"))
    builder = Builder(started)
    model = as_text(value.get("default_model_slug"))
    branch = _branch(nodes, value.get("current_node"))
    report.skip("messages on branches that were left", _spoken(nodes) - _spoken(nodes, branch))
    for key in branch:
        message = nodes[key].get("message") if isinstance(nodes[key], Mapping) else None
        if message is None:
            continue
        try:
            model = _message(key, message, builder, report) or model
        except ValueError as error:
            report.problem(f"{where}, node {key}", str(error))
    messages = builder.take()
    if not messages:
        return
    own = as_text(first_of(value, "conversation_id", "id"))
    session = Session(
        own or names.name("chatgpt", (message.uid or "" for message in messages)),
        title=as_text(value.get("title")),
        model=model,
        started_at=started,
    )
    for start in range(0, len(messages), BATCH_MESSAGES):
        yield Batch(session, messages[start : start + BATCH_MESSAGES])


def _parent(nodes: Mapping[str, Any], key: str) -> str | None:
    node = nodes[key]
    parent = node.get("parent") if isinstance(node, Mapping) else None
    return parent if isinstance(parent, str) and parent in nodes else None


def _branch(nodes: Mapping[str, Any], current: object) -> list[str]:
    """Return the keys of the current branch from its root; the longest one by default."""
    if isinstance(current, str) and current in nodes:
        return _path(nodes, current)
    parents = {_parent(nodes, key) for key in nodes}
    leaves = [key for key in nodes if key not in parents]
    return max((_path(nodes, leaf) for leaf in leaves), key=len, default=[])


def _path(nodes: Mapping[str, Any], leaf: str) -> list[str]:
    path: dict[str, None] = {}
    key: str | None = leaf
    while key is not None and key not in path:
        path[key] = None
        key = _parent(nodes, key)
    return list(path)[::-1]


def _spoken(nodes: Mapping[str, Any], keys: Iterable[str] | None = None) -> int:
    chosen = nodes if keys is None else keys
    return sum(isinstance(nodes[k], Mapping) and bool(nodes[k].get("message")) for k in chosen)


def _message(key: str, message: object, builder: Builder, report: Report) -> str | None:
    """Add one node's message; return the name of the model that wrote it."""
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must be an object, not {type(message).__name__}")
    author = message.get("author")
    author = author if isinstance(author, Mapping) else {}
    about = message.get("metadata")
    about = about if isinstance(about, Mapping) else {}
    content = message.get("content")
    kind = content.get("content_type") if isinstance(content, Mapping) else None
    role = role_of(author.get("role"))
    if role is None:
        raise ValueError(f"role {author.get('role')!r} is none of user, assistant, tool, system")
    if role == "system":
        report.skip("system messages")
    elif about.get("is_visually_hidden_from_conversation") or kind in _CONTEXT:
        report.skip("hidden messages")
    elif kind in _REASONING:
        report.skip("reasoning blocks")
    else:
        text = _text(content)
        recipient = as_text(message.get("recipient")) or "all"
        calls = (
            [{"name": recipient, "arguments": text}]
            if role == "assistant" and recipient != "all"
            else []
        )
        if text or calls:
            builder.add(
                role,
                "" if calls else text,
                uid=as_text(message.get("id")) or key,
                timestamp=as_time(message.get("create_time")),
                tool_calls=calls,
                tool_name=as_text(author.get("name")) if role == "tool" else None,
            )
        return as_text(about.get("model_slug")) if role == "assistant" else None
    return None


def _text(content: object) -> str:
    """Return the text of a message's content, of whatever ``content_type`` it is."""
    if isinstance(content, Mapping) and not isinstance(content.get("parts"), list):
        pieces = (content.get(name) for name in ("title", "url", "summary", "result", "text"))
        return "\n".join(piece for piece in pieces if isinstance(piece, str) and piece)
    return split(content).text
