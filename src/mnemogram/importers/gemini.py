# SPDX-License-Identifier: MIT
"""Conversations with Gemini: sessions of Gemini CLI, ``contents``, and AI Studio's files.

Gemini CLI writes a session as one document (``sessionId``, ``projectHash``, ``messages``) or
as JSON lines: a head, messages of which a later one replaces an earlier one with its id,
changes of the head (``$set``) and steps back (``$rewindTo``). ``contents`` are the messages
of the generate-content interface (``role``, ``parts``), as saved checkpoints hold them, and
``chunkedPrompt`` is what AI Studio keeps of them.
"""

from __future__ import annotations

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
    spoken_time,
)
from mnemogram.importers.blocks import Content, ToolResult, call_of, result_text, say, split
from mnemogram.importers.openai import add_message

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "gemini"
LOOKS_FOR: Final = "a session with `projectHash`, or `contents` with `parts`"
FIELDS: Final = frozenset(
    ("projectHash", "lastUpdated", "toolCalls", "contents", "parts", "chunkedPrompt", "chunks")
)

_SHOWN: Final = ("info", "error", "warning")
#: What a part of a message may be; those of other programs name their ``type``.
_PARTS: Final = frozenset(
    {
        *("text", "inlineData", "fileData", "functionCall", "functionResponse", "thought"),
        *("executableCode", "codeExecutionResult", "thoughtSignature", "inline_data"),
        *("file_data", "function_call", "function_response", "videoMetadata", "partMetadata"),
    }
)


def recognises(value: object) -> bool:
    """Whether it is a session, a line of one, or what holds ``contents``."""
    if isinstance(value, list):
        return _is_contents(value) or any(
            isinstance(each, Mapping) and recognises(each) for each in value[:20]
        )
    if not isinstance(value, Mapping):
        return False
    return (
        ("sessionId" in value and "projectHash" in value)
        or (_is_content(value) and value.get("role") in ("user", "model"))
        or _is_record(value)
        or _contents(value) is not None
        or _chunks(value) is not None
    )


def _is_record(value: Mapping[str, Any]) -> bool:
    """Whether it is a message of Gemini CLI that only it writes."""
    return value.get("type") == "gemini" and "id" in value and "content" in value


def _is_contents(value: object) -> bool:
    """Whether it is a list of contents: roles and parts, and parts that have no type."""
    if not isinstance(value, list) or not value:
        return False
    head = value[:20]
    return all(map(_is_content, head)) and any(
        isinstance(each, Mapping) and each.get("role") in ("user", "model") for each in head
    )


def _is_content(value: object) -> bool:
    if not isinstance(value, Mapping) or "content" in value:
        return False
    parts = value.get("parts")
    if not isinstance(parts, list):
        return False
    return all(isinstance(each, Mapping) and each.keys() <= _PARTS for each in parts)


def _contents(value: Mapping[str, Any]) -> list[Any] | None:
    for name in ("contents", "history"):
        inner = value.get(name)
        if isinstance(inner, list) and _is_contents(inner):
            return inner
    return None


def _chunks(value: Mapping[str, Any]) -> list[Any] | None:
    prompt = value.get("chunkedPrompt")
    inner = prompt.get("chunks") if isinstance(prompt, Mapping) else None
    return inner if isinstance(inner, list) else None


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the conversations of a file; lines of a session are one."""
    names = Occurrences()
    lines = _Lines(report)
    loose: list[tuple[str, Any]] = []
    for record in records:
        value, where = record.value, record.where or "line 1"
        several = value if isinstance(value, list) and not _is_contents(value) else [value]
        for number, one in enumerate(several, 1):
            place = f"{where}, conversation {number}" if several is value else where
            if _is_content(one):
                loose.append((place, one))
            elif isinstance(one, list):
                yield from _said(one, {}, place, names, report)
            elif not isinstance(one, Mapping):
                report.problem(place, "no conversation of Gemini's")
            elif isinstance(one.get("messages"), list) and "sessionId" in one:
                yield from lines.rest()
                lines.take(one, place)
                for message in one["messages"]:
                    lines.take(message, place)
                yield from lines.rest()
            elif (contents := _contents(one)) is not None:
                yield from _said(contents, one, place, names, report)
            elif (chunks := _chunks(one)) is not None:
                yield from _said(list(map(_unchunked, chunks)), one, place, names, report)
            else:
                lines.take(one, place)
    yield from lines.rest()
    if loose:
        yield from _said([each for _, each in loose], {}, loose[0][0], names, report)


def _unchunked(chunk: Any) -> Any:
    """Return a chunk of AI Studio's as a content."""
    if not isinstance(chunk, Mapping):
        return chunk
    parts = chunk.get("parts")
    if not isinstance(parts, list) or not parts:
        parts = [{"text": chunk["text"]}] if isinstance(chunk.get("text"), str) else []
        for name, each in chunk.items():
            if name.startswith(("drive", "inline")):
                medium = name.removeprefix("drive").removeprefix("inline").lower()
                parts = [*parts, {"type": medium or "file", "file": each}]
    if chunk.get("isThought") is True:
        parts = [{"thought": True}]
    return {"role": chunk.get("role"), "parts": parts, "timestamp": chunk.get("createTime")}


def _said(
    contents: list[Any],
    about: Mapping[str, Any],
    where: str,
    names: Occurrences,
    report: Report,
) -> Iterator[Batch]:
    started, _ = read_time(about, beginning=True)
    builder = Builder(started)
    for number, each in enumerate(contents, 1):
        try:
            if isinstance(each, Mapping) and each.get("parts") == [{"thought": True}]:
                report.skip("reasoning blocks")
            elif isinstance(each, Mapping) and not each.get("parts"):
                report.skip("messages without any content")
            else:
                add_message(each, builder, report)
        except ValueError as error:
            report.problem(f"{where}, message {number}", str(error))
    messages = builder.take()
    settings = about.get("runSettings")
    model = about.get("model") or (settings.get("model") if isinstance(settings, Mapping) else None)
    own = as_text(first_of(about, "sessionId", "id"))
    session = Session(
        own or names.name(NAME, (each.uid or "" for each in messages)),
        title=as_text(first_of(about, "title", "name")),
        model=as_text(model),
        started_at=started,
    )
    yield from pieces(session, messages, made=own is None)


class _Lines:
    """A session of Gemini CLI, as its file tells it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._begin()

    def _begin(self) -> None:
        self._head: dict[str, Any] = {}
        self._messages: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._left: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def take(self, value: Any, where: str) -> None:
        """Take a line of the session, or one of its messages."""
        if not isinstance(value, Mapping):
            self._report.problem(where, "no record of a session")
        elif isinstance(value.get("$rewindTo"), str):
            self._rewind(value["$rewindTo"])
        elif isinstance(value.get("$set"), Mapping):
            self._set(value["$set"], where)
        elif "projectHash" in value:
            self._head |= {key: each for key, each in value.items() if key != "messages"}
        elif as_text(value.get("id")) is not None:
            key = str(as_text(value["id"]))
            self._messages[key] = (where, value)
            self._left.pop(key, None)
        else:
            self._report.problem(where, "a record that is neither a head nor a message")

    def _set(self, changes: Mapping[str, Any], where: str) -> None:
        messages = changes.get("messages")
        self._head |= {key: each for key, each in changes.items() if key != "messages"}
        if isinstance(messages, list):
            # The context was made anew: what is not in it any more stays evidence.
            for each in messages:
                key = as_text(each.get("id")) if isinstance(each, Mapping) else None
                if key is not None and key not in self._messages:
                    self._report.skip("summaries of compacted context")

    def _rewind(self, key: str) -> None:
        keys = list(self._messages)
        start = keys.index(key) if key in self._messages else 0
        for each in keys[start:]:
            self._left[each] = self._messages.pop(each)

    def rest(self) -> Iterator[Batch]:
        """Yield the session, and begin another one."""
        head, messages, undone = self._head, self._messages, self._left
        self._begin()
        if not messages and not undone:
            return
        started, _ = read_time(head, beginning=True)
        builder = Builder(started)
        left: set[str] = set()
        model: str | None = None
        for where, message in (*messages.values(), *undone.values()):
            try:
                uids = self._message(message, builder)
            except ValueError as error:
                self._report.problem(where, str(error))
                continue
            model = as_text(message.get("model")) or model
            if as_text(message.get("id")) in undone:
                left.update(uids)
        said = builder.take()
        session = Session(
            as_text(head.get("sessionId"))
            or Occurrences().name(NAME, (each.uid or "" for each in said[:1])),
            source="subagent" if head.get("kind") == "subagent" else "cli",
            title=as_text(head.get("summary")),
            model=model,
            started_at=started,
        )
        yield from pieces(
            session,
            [each for each in said if each.uid not in left],
            left=[each for each in said if each.uid in left],
        )

    def _message(self, message: Mapping[str, Any], builder: Builder) -> list[str]:
        kind = message.get("type")
        if kind in _SHOWN:
            self._report.skip("messages that the program wrote itself")
            return []
        if kind not in ("user", "gemini"):
            raise ValueError(f"a message of unknown type {kind!r}")
        content = split(first_of(message, "displayContent", "content"))
        thoughts = message.get("thoughts")
        content.reasoning += len(thoughts) if isinstance(thoughts, list) else 0
        calls = message.get("toolCalls")
        for each in calls if isinstance(calls, list) else ():
            if isinstance(each, Mapping):
                _called(each, content)
        if not (content.text or content.calls or content.results):
            self._report.skip("reasoning blocks", content.reasoning)
            self._report.skip("messages without any content", not content.reasoning)
            return []
        return say(
            builder,
            self._report,
            "user" if kind == "user" else "assistant",
            content,
            uid=as_text(message.get("id")),
            time=spoken_time(message, self._report),
        )


def _called(call: Mapping[str, Any], content: Content) -> None:
    """Take over a call that a message holds together with its result."""
    made = call_of({name: call.get(name) for name in ("id", "name", "args")})
    if any(each.get("id") == made.get("id") for each in content.calls if "id" in made):
        return
    content.calls.append(made)
    result = call.get("result")
    if result is None:
        result = call.get("resultDisplay")
    if result is not None and result != []:
        answers = split(result).results if isinstance(result, list) else []
        text = "\n".join(each.text for each in answers) if answers else result_text(result)
        failed = call.get("status") in ("error", "cancelled")
        content.results.append(ToolResult(made.get("id"), text, failed, made.get("name")))
