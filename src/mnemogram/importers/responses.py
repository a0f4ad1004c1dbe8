# SPDX-License-Identifier: MIT
"""Items of the Responses interface of OpenAI, as sessions of the OpenAI Agents SDK hold them.

A list of items (or JSON lines of them, or an object that holds one as ``items``,
``input`` or ``output``): messages, calls of tools such as ``function_call``, and their
outputs.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
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
from mnemogram.importers.blocks import Content, json_text, result_text, say, split

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "Items", "read", "recognises"]

NAME: Final = "responses"
LOOKS_FOR: Final = "items with `type`: `message`, `function_call`, `function_call_output`"
FIELDS: Final = frozenset(("call_id", "arguments", "output", "items", "input", "status"))

_LISTS: Final = ("items", "output", "input", "input_items", "history")
_WORDS: Final = ("input_text", "output_text", "input_image", "input_file", "refusal")
#: What stands beside the arguments of a call that has no ``arguments``.
_ASIDE: Final = frozenset(("type", "id", "call_id", "status", "name", "output", "error", "result"))


def is_item(value: object) -> bool:
    """Whether it is an item that no other interface has."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return False
    kind = value["type"]
    if kind == "message":
        content = value.get("content")
        return isinstance(value.get("role"), str) and (
            isinstance(content, str)
            or (
                isinstance(content, list)
                and any(isinstance(e, Mapping) and e.get("type") in _WORDS for e in content)
            )
        )
    return kind.endswith(("_call", "_call_output")) and ("call_id" in value or "id" in value)


def recognises(value: object) -> bool:
    """Whether it is an item, a list of them, or what holds such a list."""
    if is_item(value):
        return True
    if isinstance(value, list):
        return any(map(is_item, value[:20])) or any(
            _held(each) is not None for each in value[:20] if isinstance(each, Mapping)
        )
    return isinstance(value, Mapping) and _held(value) is not None


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the conversations of a file; items that stand alone on lines are one."""
    names = Occurrences()
    about: Mapping[str, Any] = {}
    loose: list[tuple[str, object]] = []
    for record in records:
        value = record.value
        where = record.where or "line 1"
        held = _held(value) if isinstance(value, Mapping) else None
        alone = isinstance(value, Mapping) and held is None
        if alone and ("role" in value or isinstance(value.get("type"), str)):
            loose.append((where, value))
        elif alone and not loose and "id" in value:
            about = value  # the head of the lines after it
        else:
            for inside, holder, items in _several(value, held):
                place = f"{where}, {inside}" if inside else where
                numbered = ((f"{place}, item {i}", each) for i, each in enumerate(items, 1))
                yield from _conversation(numbered, holder, names, report)
            if held is None and not isinstance(value, list):
                report.problem(where, "no items in it")
    yield from _conversation(loose, about, names, report)


def _several(
    value: Any, held: list[Any] | None
) -> Iterator[tuple[str, Mapping[str, Any], list[Any]]]:
    if held is not None:
        yield "", value, held
    elif isinstance(value, list):
        holders = [_held(each) if isinstance(each, Mapping) else None for each in value]
        if not any(each is not None for each in holders) or any(map(is_item, value)):
            yield "", {}, value
            return
        for number, (holder, items) in enumerate(zip(value, holders, strict=True), 1):
            if items is not None:
                yield f"conversation {number}", holder, items


def _held(value: Mapping[str, Any]) -> list[Any] | None:
    for name in _LISTS:
        inner = value.get(name)
        if isinstance(inner, list) and any(map(is_item, inner[:20])):
            return inner
    return None


def _conversation(
    numbered: Iterable[tuple[str, object]],
    about: Mapping[str, Any],
    names: Occurrences,
    report: Report,
) -> Iterator[Batch]:
    started, _ = read_time(about, beginning=True)
    builder = Builder(started)
    items = Items(builder, report)
    for where, value in numbered:
        try:
            if not isinstance(value, Mapping):
                raise ValueError(f"an item must be an object, not {type(value).__name__}")
            items.add(value, spoken_time(value, report))
        except ValueError as error:
            report.problem(where, str(error))
    messages = builder.take()
    own = as_text(first_of(about, "session_id", "conversation_id", "thread_id", "id"))
    session = Session(
        own or names.name("responses", (each.uid or "" for each in messages)),
        title=as_text(first_of(about, "title", "name")),
        model=as_text(about.get("model")),
        started_at=started,
    )
    yield from pieces(session, messages, made=own is None)


class Items:
    """Adds items to a conversation.

    Items that bring no id are called by what they say and how often it was said, so that
    a log that lost or gained lines elsewhere still gives them the same uids.
    """

    def __init__(self, builder: Builder, report: Report) -> None:
        self._builder = builder
        self._report = report
        self._said: Counter[str] = Counter()

    def add(self, item: Mapping[str, Any], time: datetime | None) -> list[str]:
        """Add one item; return the uids of what it became.

        Raises:
            ValueError: it is no item.
        """
        kind = item.get("type", "message" if "role" in item else None)
        if not isinstance(kind, str):
            raise ValueError("an item without `type`")
        if kind == "message":
            return self._message(item, time)
        if kind == "reasoning":
            self._report.skip("reasoning blocks")
        elif kind.endswith("_call_output"):
            return [self._output(item, time)]
        elif kind.endswith("_call"):
            return self._call(kind, item, time)
        else:
            self._report.skip(f"{kind} items")
        return []

    def _message(self, item: Mapping[str, Any], time: datetime | None) -> list[str]:
        role = role_of(item.get("role"))
        if role is None:
            raise ValueError(f"role {item.get('role')!r} is none of user, assistant, system")
        if role == "system":
            self._report.skip("system messages")
            return []
        content = split(item.get("content"))
        if not (content.text or content.calls or content.results):
            self._report.skip("reasoning blocks", content.reasoning)
            return []
        uid = as_text(item.get("id")) or self._named(role, content.text)
        return say(self._builder, self._report, role, content, uid=uid, time=time)

    def _call(self, kind: str, item: Mapping[str, Any], time: datetime | None) -> list[str]:
        call_id = as_text(first_of(item, "call_id", "id"))
        named = kind in ("function_call", "custom_tool_call", "mcp_call")
        name = as_text(item.get("name")) if named else kind.removesuffix("_call")
        arguments = first_of(item, "arguments", "input")
        if arguments is None:
            arguments = {key: each for key, each in item.items() if key not in _ASIDE} or None
        call = {"id": call_id, "name": name, "arguments": arguments}
        content = Content(calls=[{key: each for key, each in call.items() if each is not None}])
        uid = call_id or self._named("call", json_text(content.calls))
        made = say(self._builder, self._report, "assistant", content, uid=uid, time=time)
        answer = first_of(item, "output", "error", "results", "outputs")
        if answer is not None and answer != []:
            output = {"call_id": call_id, "output": answer, "failed": item.get("error") is not None}
            made.append(self._output(output, time))
        return made

    def _output(self, item: Mapping[str, Any], time: datetime | None) -> str:
        call_id = as_text(first_of(item, "call_id", "id"))
        text = result_text(first_of(item, "output", "content", "tools"))
        failed = item.get("status") == "incomplete" or item.get("failed") is True
        return self._builder.add(
            "tool",
            text,
            uid=f"{call_id}/output" if call_id else self._named("tool", text),
            timestamp=time,
            tool_call_id=call_id,
            tool_status="error" if failed else None,
        )

    def _named(self, role: str, text: str) -> str:
        name = f"{role}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
        self._said[name] += 1
        return name if self._said[name] == 1 else f"{name}-{self._said[name]}"
