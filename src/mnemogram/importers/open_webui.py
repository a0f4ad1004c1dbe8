# SPDX-License-Identifier: MIT
"""Chats of Open WebUI: its JSON export, and the table ``chat`` of its database.

A chat holds its messages as a tree (``history.messages``, ``history.currentId``). What a
model thought and called stands in ``output``, or in older ones as ``<details>`` in the text.
Answers that several models gave side by side stand together; other branches were left.
"""

from __future__ import annotations

import html
import json
import re
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
from mnemogram.importers.blocks import Content, ToolResult, attachment, say, split
from mnemogram.importers.sqlite import SQLiteFile

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "open-webui"
LOOKS_FOR: Final = "chats with a `history` of `messages`"
FIELDS: Final = frozenset(("chat", "history", "currentId", "childrenIds", "parentId", "user_id"))

_ATTRIBUTE: Final = re.compile(r'([a-z_]+)="([^"]*)"')


def recognises(value: object) -> bool:
    """Whether it is a chat, a list of them, or the program's database."""
    if isinstance(value, SQLiteFile):
        return value.has(chat="id title chat")
    if isinstance(value, list):
        return any(recognises(each) for each in value[:20] if isinstance(each, Mapping))
    return isinstance(value, Mapping) and _tree(value) is not None


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield each chat: its current branch, and what was left."""
    names = Occurrences()
    return conversations(
        _unpacked(records), report, lambda value, where: _chat(value, where, names, report)
    )


def _unpacked(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        if isinstance(record.value, SQLiteFile):
            for row in record.value.rows("SELECT * FROM chat ORDER BY rowid"):
                yield Record(f"chat {row['id']}", {**row, "chat": _loaded(row["chat"])})
        else:
            yield record


def _loaded(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, (str, bytes)) else value
    except (ValueError, RecursionError):
        return None


def _tree(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what holds the tree of a chat, where it has one."""
    chat = value.get("chat")
    for holder in (chat, value):
        history = holder.get("history") if isinstance(holder, Mapping) else None
        if isinstance(history, Mapping) and isinstance(history.get("messages"), Mapping):
            return holder
    return None


def _chat(value: Any, where: str, names: Occurrences, report: Report) -> Iterator[Batch]:
    chat = _tree(value) if isinstance(value, Mapping) else None
    if chat is None:
        raise ValueError("no chat: it has no `history` of `messages`")
    nodes: Mapping[str, Any] = chat["history"]["messages"]
    started = read_time(value)[0] or read_time(chat)[0]
    builder = Builder(started)
    branch = _branch(nodes, chat["history"].get("currentId"))
    on_it = set(branch)
    uids: set[str] = set()
    model: str | None = None
    for key in (*branch, *(key for key in nodes if key not in on_it)):
        try:
            made = _message(key, nodes[key], builder, report)
        except ValueError as error:
            report.problem(f"{where}, message {key}", str(error))
            continue
        if key in on_it:
            uids.update(made)
            model = as_text(nodes[key].get("model")) or model
    messages = builder.take()
    session = Session(
        as_text(first_of(value, "id") or chat.get("id"))
        or names.name(NAME, (each.uid or "" for each in messages if each.uid in uids)),
        title=as_text(first_of(value, "title") or chat.get("title")),
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
    """Return the keys on the current branch, in order, with answers given side by side."""
    parents = {key: _parent(nodes, key) for key in nodes}
    known = isinstance(current, str) and current in nodes
    path = tree.path(parents, str(current)) if known else tree.newest(parents)
    siblings: dict[str | None, dict[int, str]] = {}
    for key in nodes:
        place = _field(nodes[key], "modelIdx")
        if isinstance(place, int) and key not in path:
            siblings.setdefault(parents[key], {})[place] = key
    branch: list[str] = []
    for key in path:
        branch.append(key)
        own = _field(nodes[key], "modelIdx")
        beside = siblings.get(parents[key], {}) if isinstance(own, int) else {}
        branch += [other for place, other in beside.items() if place != own]
    return branch


def _parent(nodes: Mapping[str, Any], key: str) -> str | None:
    parent = _field(nodes[key], "parentId")
    return parent if isinstance(parent, str) and parent in nodes else None


def _field(node: object, name: str) -> Any:
    return node.get(name) if isinstance(node, Mapping) else None


def _message(key: str, message: object, builder: Builder, report: Report) -> list[str]:
    if not isinstance(message, Mapping):
        raise ValueError(f"a message must be an object, not {type(message).__name__}")
    role = role_of(message.get("role"))
    if role is None:
        raise ValueError(f"role {message.get('role')!r} is none of user, assistant, system")
    if role == "system":
        report.skip("system messages")
        return []
    content = _content(message)
    content.text = "\n".join(filter(None, (content.text, *_attached(message))))
    if not (content.text or content.calls or content.results):
        report.skip("reasoning blocks", content.reasoning)
        report.skip("messages without any content", not content.reasoning)
        return []
    return say(
        builder,
        report,
        role,
        content,
        uid=as_text(message.get("id")) or key,
        time=spoken_time(message, report),
    )


def _content(message: Mapping[str, Any]) -> Content:
    output = message.get("output")
    if isinstance(output, list) and output:
        content = split(list(_blocks(output)))
        if content.text or content.calls or content.results:
            return content
    said = message.get("content")
    content = split(_without_details(said) if isinstance(said, str) else said)
    if isinstance(said, str):
        _details(said, content)
    return content


def _blocks(output: list[Any]) -> Iterator[Any]:
    """Yield the blocks of what a model put out: its messages are blocks of text."""
    for item in output:
        inner = item.get("content") if isinstance(item, Mapping) else None
        if isinstance(item, Mapping) and item.get("type") == "message" and isinstance(inner, list):
            yield from inner
        else:
            yield item


def _cut(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the pieces of a text: words, and then the attributes and inside of details."""
    start = 0
    while True:
        opened = text.find("<details", start)
        head = text.find(">", opened) if opened >= 0 else -1
        closed = text.find("</details>", head) if head >= 0 else -1
        if closed < 0:
            yield text[start:], "", ""
            return
        attributes = text[opened + 8 : head]
        if _kind(attributes) in ("reasoning", "tool_calls"):
            yield text[start:opened], attributes, text[head + 1 : closed]
        else:
            yield text[start : closed + 10], "", ""
        start = closed + 10


def _kind(attributes: str) -> str | None:
    return dict(_ATTRIBUTE.findall(attributes)).get("type")


def _without_details(text: str) -> str:
    if "<details" not in text:
        return text
    words = [said.strip("\n") for said, _, _ in _cut(text)]
    return "\n".join(filter(None, words))


def _details(text: str, content: Content) -> None:
    """Take over what the program wrote into a text: thoughts, calls and their results."""
    for _, attributes, inside in _cut(text) if "<details" in text else ():
        known = {name: html.unescape(each) for name, each in _ATTRIBUTE.findall(attributes)}
        if known.get("type") == "reasoning":
            content.reasoning += 1
        elif known.get("type") == "tool_calls":
            summary, _, rest = inside.rpartition("</summary>")
            name, call_id = known.get("name"), known.get("id")
            if name:
                call = {"id": call_id, "name": name, "arguments": known.get("arguments")}
                content.calls.append({field: each for field, each in call.items() if each})
            answer = known.get("result") or html.unescape(rest).strip()
            if answer or not name:
                content.results.append(ToolResult(call_id, answer or summary, False, name))


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield a mark for each file, and the text of those that are text."""
    files = message.get("files")
    for each in files if isinstance(files, list) else ():
        if not isinstance(each, Mapping):
            continue
        if each.get("type") == "image":
            yield "[image]"
            continue
        inner = each.get("file")
        about = inner if isinstance(inner, Mapping) else {}
        meta = about.get("meta")
        yield attachment({**each, **about, **(meta if isinstance(meta, Mapping) else {})})
        data = about.get("data")
        text = data.get("content") if isinstance(data, Mapping) else None
        if isinstance(text, str) and text:
            yield text
