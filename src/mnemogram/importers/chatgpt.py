# SPDX-License-Identifier: MIT
"""The ``conversations.json`` of a ChatGPT data export, or its numbered files.

Each conversation is a tree of nodes (``mapping``); its current branch is the path from
``current_node`` up through ``parent``. Messages on branches that were left by editing or
regenerating are kept as such; what the program hides from the reader is left out.
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
    as_time,
    conversations,
    first_of,
    pieces,
    role_of,
    spoken_time,
)
from mnemogram.importers.blocks import result_text, split

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "chatgpt"
LOOKS_FOR: Final = "conversations with a `mapping` of nodes"
FIELDS: Final = frozenset(("mapping", "current_node", "conversation_id", "default_model_slug"))

_REASONING: Final = ("thoughts", "reasoning_recap")
_CONTEXT: Final = ("user_editable_context", "model_editable_context")


def recognises(value: object) -> bool:
    """Whether it is a conversation of the export, or a list of them."""
    if isinstance(value, list):
        return any(recognises(each) for each in value[:20] if isinstance(each, Mapping))
    return isinstance(value, Mapping) and isinstance(value.get("mapping"), Mapping)


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield each conversation: its current branch, and what was left."""
    names = Occurrences()
    return conversations(
        records, report, lambda value, where: _conversation(value, where, names, report)
    )


def _conversation(value: Any, where: str, names: Occurrences, report: Report) -> Iterator[Batch]:
    if not recognises(value) or not isinstance(value, Mapping):
        raise ValueError("no conversation: it has no `mapping`")
    nodes: Mapping[str, Any] = value["mapping"]
    started = as_time(value.get("create_time"))
    builder = Builder(started)
    model = as_text(value.get("default_model_slug"))
    branch = _branch(nodes, value.get("current_node"))
    on_it = set(branch)
    uids: set[str] = set()
    for key in (*branch, *(key for key in nodes if key not in on_it)):
        message = nodes[key].get("message") if isinstance(nodes[key], Mapping) else None
        if message is None:
            continue
        try:
            uid, wrote = _message(key, message, builder, report)
        except ValueError as error:
            report.problem(f"{where}, node {key}", str(error))
            continue
        if uid and key in on_it:
            uids.add(uid)
            model = wrote or model
    messages = builder.take()
    own = as_text(first_of(value, "conversation_id", "id"))
    session = Session(
        own or names.name("chatgpt", (each.uid or "" for each in messages if each.uid in uids)),
        title=as_text(value.get("title")),
        model=model,
        started_at=started,
    )
    yield from pieces(
        session,
        [each for each in messages if each.uid in uids],
        left=[each for each in messages if each.uid not in uids],
        whole=True,
    )


def _branch(nodes: Mapping[str, Any], current: object) -> list[str]:
    """Return the keys of the current branch from its root; the longest one by default."""
    parents = {key: _parent(nodes, key) for key in nodes}
    if isinstance(current, str) and current in nodes:
        return tree.path(parents, current)
    return tree.longest(parents)


def _parent(nodes: Mapping[str, Any], key: str) -> str | None:
    node = nodes[key]
    parent = node.get("parent") if isinstance(node, Mapping) else None
    return parent if isinstance(parent, str) and parent in nodes else None


def _message(
    key: str, message: object, builder: Builder, report: Report
) -> tuple[str | None, str | None]:
    """Add one node's message; return its uid and the name of the model that wrote it."""
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
            uid = builder.add(
                role,
                "" if calls else text,
                uid=as_text(message.get("id")) or key,
                timestamp=spoken_time({"create_time": message.get("create_time")}, report),
                tool_calls=calls,
                tool_name=as_text(author.get("name")) if role == "tool" else None,
            )
            return uid, as_text(about.get("model_slug")) if role == "assistant" else None
    return None, None


def _text(content: object) -> str:
    """Return the text of a message's content, of whatever ``content_type`` it is."""
    if isinstance(content, Mapping) and not isinstance(content.get("parts"), list):
        names = ("title", "url", "summary", "result", "text")
        known = [piece for name in names if isinstance(piece := content.get(name), str) and piece]
        return "\n".join(known) if known or len(content) < 2 else result_text(content)
    return split(content).text
