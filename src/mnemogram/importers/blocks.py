# SPDX-License-Identifier: MIT
"""Content blocks: the text, the tool calls and the tool results inside one message.

The shapes are those of the chat-completion, responses, messages and generate-content
interfaces of the large providers and of the AI SDK: a string, nothing, a list of blocks
that name their ``type``, or any other JSON value, which is kept as its JSON text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from mnemogram.history.models import Role
from mnemogram.importers.base import Builder, Report, as_text, first_of

__all__ = [
    "Content",
    "ToolResult",
    "attachment",
    "call_of",
    "json_text",
    "result_text",
    "say",
    "split",
]

_REASONING: Final = frozenset(
    ("thinking", "redacted_thinking", "reasoning", "thoughts", "think", "reasoning_content")
)
_CALLS: Final = frozenset(
    ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "function_call")
)
_RESULTS: Final = ("tool_result", "tool-result", "function_call_output")
#: Blocks that steer a program and say nothing.
_NOTHING: Final = frozenset(
    ("step-start", "step-finish", "token_budget", "cache_control", "agent_update")
)
_MEDIA: Final = ("image", "audio", "video")
#: Bytes written as text: no word of them is worth an index.
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*;base64,[\w+/=\s-]*", re.A)
_BASE64: Final = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{400,}={0,2}(?![\w+/=-])", re.A)
_LOWER: Final = re.compile(r"[a-z]")
_UPPER: Final = re.compile(r"[A-Z]")
_DIGIT: Final = re.compile(r"[0-9]")
_LONG: Final = 200
_DEEP: Final = 60
#: What stands beside a block's text and says nothing.
_ASIDE: Final = frozenset(
    {
        *("type", "content_type", "text", "id", "index", "annotations", "citations", "logprobs"),
        *("cache_control", "language", "state", "thoughtSignature", "providerMetadata", "extras"),
        *("start_timestamp", "stop_timestamp", "flags", "response_format_name", "phase", "thought"),
    }
)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered.

    Attributes:
        call_id: the call that it answers.
        text: the answer; JSON text where it is no text.
        failed: whether it says that it failed.
        name: the tool, where the result names it.
    """

    call_id: str | None
    text: str
    failed: bool
    name: str | None = None


@dataclass(slots=True)
class Content:
    """One message's content, taken apart.

    Attributes:
        text: what is said: text blocks that follow each other as they are, with a line
            break where something else stood between; ``[image]`` stands for an image.
        calls: tool calls as ``{"id", "name", "arguments"}``.
        results: tool results.
        reasoning: blocks of hidden reasoning that were left out.
    """

    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    reasoning: int = 0


class _Words:
    """Joins pieces of text: as they are, or on lines of their own."""

    def __init__(self, separate: bool) -> None:
        self._pieces: list[str] = []
        self._separate = separate
        self._apart = False

    def add(self, text: str, *, alone: bool = False) -> None:
        """Add text; what stands ``alone`` has a line of its own."""
        if not text:
            return
        last = self._pieces[-1][-1:] if self._pieces else "\n"
        if (alone or self._apart or self._separate) and last != "\n" and text[0] != "\n":
            self._pieces.append("\n")
        self._pieces.append(text)
        self._apart = alone

    def part(self) -> None:
        """Something that is no text stands here."""
        self._apart = True

    def __str__(self) -> str:
        return "".join(self._pieces)


def split(content: object, *, result: bool = False) -> Content:
    """Take a message's content apart.

    Args:
        content: as its program wrote it.
        result: it is what a tool answered: any JSON is an answer, and texts that follow
            each other are answers of their own.

    Raises:
        ValueError: a person or a model is said to have said a number or the like.
    """
    found = Content()
    if content is None:
        return found
    if isinstance(content, str):
        found.text = _without_bytes(content) if result else _without_data_urls(content)
        return found
    if result:
        content = _blocks_of_result(content)
        if not isinstance(content, list):
            found.text = json_text(content[0] if isinstance(content, tuple) else content)
            return found
    elif isinstance(content, Mapping):
        parts = content.get("parts")
        content = parts if isinstance(parts, list) else [content]
    if not isinstance(content, list):
        raise ValueError(f"content is {type(content).__name__}, not text or a list of blocks")
    words = _Words(separate=result)
    for block in content:
        _block(block, found, words)
    found.text = str(words)
    return found


def _blocks_of_result(value: object) -> object:
    """Return the blocks of a tool's answer; other JSON as it is, as one value."""
    if isinstance(value, Mapping):
        inner = first_of(value, "content", "parts")
        if isinstance(inner, list) and inner and all(map(_is_block, inner)):
            return inner
        return [value] if _is_block(value) else value
    if isinstance(value, list) and value and all(map(_is_block, value)):
        return value
    return (value,) if isinstance(value, list) else value


def result_text(value: object) -> str:
    """Return what a tool answered as text: JSON text where it is anything else."""
    return split(value, result=True).text


def json_text(value: object) -> str:
    """Return the JSON text of a value, with real characters, and marks for bytes in it."""
    try:
        return json.dumps(_readable(value), ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return "[unreadable value]"


def _readable(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _without_bytes(value)
    if depth > _DEEP:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): _readable(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_readable(each, depth + 1) for each in value]
    return value


def _without_data_urls(text: str) -> str:
    if len(text) < _LONG or ";base64," not in text:
        return text
    return _DATA_URL.sub(lambda each: _bytes_mark(each[1], each[0]), text)


def _without_bytes(text: str) -> str:
    if len(text) < _LONG:
        return text
    return _BASE64.sub(lambda each: _bytes_mark("data", each[0]), _without_data_urls(text))


def _bytes_mark(kind: str | None, data: str) -> str:
    # A run of one kind of letters is a word or a sequence of something, not bytes.
    if not (_LOWER.search(data) and _UPPER.search(data) and _DIGIT.search(data)):
        return data
    return f"[{kind or 'data'}, {len(data) * 3 // 4:,} bytes]"


def _is_block(value: object) -> bool:
    """Whether it is a block rather than any other object that a tool may answer."""
    if not isinstance(value, Mapping):
        return False
    kind = value.get("type") or value.get("content_type")
    if isinstance(kind, str):
        known = (*_MEDIA, "text", "file", "document", "resource", "refusal")
        return kind.endswith(known) or kind.startswith(known) or kind in _REASONING
    return isinstance(value.get("text"), str) and value.keys() <= _ASIDE


def _block(block: object, found: Content, words: _Words) -> None:
    if isinstance(block, str):
        words.add(block)
        return
    if not isinstance(block, Mapping):
        if block is not None:
            words.add(json_text(block), alone=True)
        return
    kind = block.get("type") or block.get("content_type")
    kind = kind if isinstance(kind, str) else ""
    if kind in _REASONING or block.get("thought") is True:
        found.reasoning += 1
        words.part()
    elif _calls_or_results(kind, block, found):
        words.part()
    elif kind not in _NOTHING:
        said = _said(kind, block)
        words.add(_mark(kind, block) if said is None else said, alone=said is None)
    else:
        words.part()


def _calls_or_results(kind: str, block: Mapping[str, Any], found: Content) -> bool:
    """Take a tool's call or its result; return whether the block is one."""
    if kind.endswith(_RESULTS):
        call_id = first_of(block, "tool_use_id", "tool_call_id", "toolCallId", "call_id", "id")
        answer = first_of(block, "content", "output", "result")
        failed = block.get("is_error") is True or block.get("isError") is True
        name = as_text(first_of(block, "toolName", "tool_name", "name"))
        found.results.append(ToolResult(as_text(call_id), result_text(answer), failed, name))
        return True
    if kind in _CALLS or kind.endswith("_tool_call"):
        inner = block.get("tool_call")
        call = inner if isinstance(inner, Mapping) else block
        found.calls.append(call_of(call))
        if "output" in call:  # kept with the call that it answers
            _answered(call, call["output"], found)
        return True
    if kind == "tool-invocation":
        inner = block.get("toolInvocation")
        return isinstance(inner, Mapping) and _sdk_tool("", inner, found)
    if kind == "dynamic-tool" or (kind.startswith("tool-") and len(kind) > 5):
        return _sdk_tool("" if kind == "dynamic-tool" else kind[5:], block, found)
    for name in ("functionCall", "function_call", "toolCall", "executableCode"):
        inner = block.get(name)
        if isinstance(inner, Mapping):
            call = dict(inner) if "name" in inner else {"name": name, "arguments": inner}
            found.calls.append(call_of(call))
            return True
    for name in ("functionResponse", "function_response", "codeExecutionResult"):
        inner = block.get(name)
        if isinstance(inner, Mapping):
            _answered(inner, _unwrapped(first_of(inner, "response", "output")), found)
            return True
    return False


def _sdk_tool(name: str, block: Mapping[str, Any], found: Content) -> bool:
    """A tool of the AI SDK: one block that holds the call and, once it is there, the result."""
    call = {**block, "name": name or as_text(block.get("toolName"))}
    found.calls.append(call_of(call))
    error = block.get("errorText")
    answer = first_of(block, "output", "result") if error is None else error
    if answer is not None:
        _answered(call, answer, found, failed=error is not None)
    return True


def call_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call as ``{"id", "name", "arguments"}``, without what is not there."""
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    arguments = first_of(named, "arguments", "input", "args", "parameters")
    made = {
        "id": as_text(first_of(call, "toolCallId", "tool_call_id", "call_id", "id")),
        "name": as_text(first_of(named, "name", "toolName", "tool_name")),
        "arguments": arguments,
    }
    return {key: value for key, value in made.items() if value is not None}


def _answered(
    call: Mapping[str, Any], answer: object, found: Content, *, failed: bool = False
) -> None:
    made = call_of(call)
    if answer is not None and answer != "":
        name = made.get("name")
        found.results.append(ToolResult(made.get("id"), result_text(answer), failed, name))


def _unwrapped(value: object) -> object:
    """Return the answer that alone stands in an object, as ``{"output": ...}``."""
    if isinstance(value, Mapping) and len(value) == 1:
        (name,) = value
        if name in ("output", "result", "content"):
            return value[name]
    return value


def _said(kind: str, block: Mapping[str, Any]) -> str | None:
    """Return the words of a block; None for one that has none."""
    if any(name in kind for name in _MEDIA) and not kind.endswith("text"):
        inner = next((block[n] for n in _MEDIA if isinstance(block.get(n), Mapping)), block)
        spoken = first_of(inner, "transcript", "text")
        return spoken if isinstance(spoken, str) else None
    for name in ("text", "refusal", "transcript"):
        text = block.get(name)
        if isinstance(text, Mapping):
            text = text.get("value")
        if isinstance(text, str):
            known = kind.endswith("text") or name != "text" or block.keys() <= _ASIDE
            return _without_data_urls(text) if known else None
    return None


def _mark(kind: str, block: Mapping[str, Any]) -> str:
    """Return what stands for a block without words."""
    for name in _MEDIA:
        if name in kind:
            return f"[{name}]"
    inner = block.get("file")
    inner = inner if isinstance(inner, Mapping) else block
    if "file" in kind or "document" in kind:
        return attachment(inner)
    for name in ("inlineData", "inline_data", "fileData", "file_data"):
        inner = block.get(name)
        if isinstance(inner, Mapping):
            media = (as_text(first_of(inner, "mimeType", "mime_type")) or "file").partition("/")[0]
            return f"[{media}]" if media in _MEDIA else attachment(inner)
    return json_text(block)


def say(
    builder: Builder,
    report: Report,
    role: Role,
    content: Content,
    *,
    uid: str | None,
    time: datetime | None,
    calls: Sequence[Any] = (),
    tool_call_id: str | None = None,
    tool_name: str | None = None,
    tool_status: str | None = None,
) -> list[str]:
    """Add what one record of a file holds: what is said and called, and what tools answered.

    A person's record brings results of calls before it, a model's those of its own calls.

    Args:
        uid: the record's; its messages are called by it.
        calls: calls that stand beside the content.
        tool_call_id, tool_name, tool_status: of a record that is itself a tool's.

    Returns:
        The messages' uids.
    """
    report.skip("reasoning blocks", content.reasoning)
    calls = [*calls, *content.calls]
    says = bool(content.text or calls or not (content.results or content.reasoning))
    alone = not says and len(content.results) == 1

    def answers() -> Iterator[str]:
        for number, result in enumerate(content.results, 1):
            yield builder.add(
                "tool",
                result.text,
                uid=uid and (uid if alone else f"{uid}/{number}"),
                timestamp=time,
                tool_call_id=result.call_id,
                tool_name=result.name,
                tool_status="error" if result.failed else None,
            )

    made = list(answers()) if role != "assistant" else []
    if says:
        said = builder.add(
            role,
            content.text,
            uid=uid,
            timestamp=time,
            tool_calls=calls,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            tool_status=tool_status,
        )
        made.append(said)
    return made if role != "assistant" else [*made, *answers()]


def attachment(about: Mapping[str, Any]) -> str:
    """Return the mark of a file, with its name, type and size as far as they are known."""
    source = about.get("source")
    more = source if isinstance(source, Mapping) else {}
    name = as_text(
        first_of(about, "filename", "file_name", "fileName", "title", "name", "displayName")
    )
    kinds = ("media_type", "mediaType", "mime_type", "mimeType", "file_type", "fileType")
    kind = as_text(first_of(about, *kinds, "content_type") or first_of(more, *kinds))
    if kind is None and "/" in str(about.get("type")):
        kind = as_text(about["type"])
    size = first_of(about, "file_size", "fileSize", "size", "bytes")
    known = [each for each in (name, kind) if each]
    if isinstance(size, int) and not isinstance(size, bool):
        known.append(f"{size:,} bytes")
    mark = f"[file: {', '.join(known)}]" if known else "[file]"
    text = source.get("data") if isinstance(source, Mapping) else None
    if more.get("type") == "text" and isinstance(text, str):  # a text attachment is text
        return f"{mark}\n{text}"
    return mark
