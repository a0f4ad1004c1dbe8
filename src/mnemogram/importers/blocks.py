# SPDX-License-Identifier: MIT
"""Content blocks: the text, the tool calls and the tool results inside one message.

The shapes are those of the chat-completion, responses and messages interfaces of the
large providers: a string, nothing, or a list of blocks that name their ``type``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mnemogram.importers.base import as_text, first_of

__all__ = ["Content", "ToolResult", "split"]

_REASONING: Final = frozenset({"thinking", "redacted_thinking", "reasoning", "thoughts"})
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "tool_call"})


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered."""

    call_id: str | None
    text: str
    failed: bool


@dataclass(slots=True)
class Content:
    """One message's content, taken apart.

    Attributes:
        text: what is said, blocks joined by line breaks; ``[image]`` stands for an image.
        calls: tool calls as ``{"id", "name", "arguments"}``.
        results: tool results.
        reasoning: blocks of hidden reasoning that were left out.
    """

    text: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    reasoning: int = 0


def split(content: object) -> Content:
    """Take a message's ``content`` apart.

    Raises:
        ValueError: it is neither text nor a list of blocks.
    """
    found = Content()
    if content is None:
        return found
    if isinstance(content, str):
        found.text = content
        return found
    if isinstance(content, Mapping):
        content = content["parts"] if isinstance(content.get("parts"), list) else [content]
    if not isinstance(content, list):
        raise ValueError(f"content is {type(content).__name__}, not text or a list of blocks")
    texts: list[str] = []
    for block in content:
        text = _block(block, found)
        if text:
            texts.append(text)
    found.text = "\n".join(texts)
    return found


def _block(block: object, found: Content) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        return ""
    kind = block.get("type") or block.get("content_type")
    kind = kind if isinstance(kind, str) else ""
    if kind in _REASONING:
        found.reasoning += 1
        return ""
    if kind in _CALLS:
        call = {
            "id": as_text(block.get("id")),
            "name": as_text(block.get("name")),
            "arguments": first_of(block, "input", "arguments"),
        }
        found.calls.append({key: value for key, value in call.items() if value is not None})
        return ""
    if kind.endswith("tool_result"):
        inner = split(block.get("content"))
        call_id = as_text(first_of(block, "tool_use_id", "tool_call_id", "id"))
        found.results.append(ToolResult(call_id, inner.text, block.get("is_error") is True))
        return ""
    for name in ("text", "refusal", "transcript", "output"):
        text = block.get(name)
        if isinstance(text, Mapping):
            text = text.get("value")
        if isinstance(text, str):
            return text
    return _stand_in(kind, block)


def _stand_in(kind: str, block: Mapping[str, Any]) -> str:
    for name in ("image", "audio", "video"):
        if name in kind:
            transcript = block.get(name)
            transcript = transcript if isinstance(transcript, Mapping) else {}
            return as_text(transcript.get("transcript")) or f"[{name}]"
    inner = block.get("file")
    inner = inner if isinstance(inner, Mapping) else block
    if "file" in kind or "document" in kind:
        title = as_text(first_of(inner, "filename", "title", "name"))
        return f"[file: {title}]" if title else "[file]"
    return f"[{kind or 'unknown block'}]"
