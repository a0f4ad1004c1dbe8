# SPDX-License-Identifier: MIT
"""Messages in the shapes that model APIs take: chat completions and Anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import Message

__all__ = ["messages_of"]

#: Not said by anybody.
_PROMPTS: Final = ("system", "developer")
_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "model": "assistant"}
_RESULTS: Final = ("tool", "function")
_TEXTS: Final = ("text", "input_text", "output_text", "refusal")
#: Blocks without words, and blocks that hold what a model thought.
_MEDIA: Final = (
    *("image", "image_url", "input_image", "document", "file", "input_file"),
    *("input_audio", "audio", "video"),
)
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning")
#: Seconds as large as this lie in the year 5138: they are milliseconds.
_MILLISECONDS: Final = 1e11
_TIMES: Final = ("timestamp", "created_at", "createdAt")
_HINT: Final = "Append mnemogram.Message values, or dicts of a chat completion or of Anthropic's."


def messages_of(values: Iterable[Message | Mapping[str, Any]]) -> Iterator[Message]:
    """Give messages as they are stored; system prompts are no history and are left out.

    A dict becomes one message, or several where Anthropic's shape has results of tools and
    the user's words in one.

    Raises:
        InvalidArgument: a value is neither a message nor such a dict.
    """
    names: dict[str, str] = {}  # of the tools that were called, by the id of the call
    for position, value in enumerate(values):
        if isinstance(value, Mapping):
            yield from _converted(value, f"message {position}", names)
        else:
            yield value  # what is no message is refused where it is prepared


def _converted(value: Mapping[str, Any], where: str, names: dict[str, str]) -> Iterator[Message]:
    role = value.get("role")
    if role in _PROMPTS:
        return
    if not isinstance(role, str) or role not in (*_ROLES, *_RESULTS):
        raise InvalidArgument(f"{where}: role cannot be {role!r}", hint=_HINT)
    when = next((value[name] for name in _TIMES if value.get(name) is not None), None)
    if isinstance(when, (int, float)) and abs(when) >= _MILLISECONDS:
        when /= 1_000
    common: dict[str, Any] = {"timestamp": when}
    if isinstance(value.get("metadata"), Mapping):
        common["metadata"] = value["metadata"]
    uid = value.get("uid") or value.get("id")
    uid = None if uid is None else str(uid)
    content = value.get("content")
    if role in _RESULTS:
        call = value.get("tool_call_id")
        yield Message(
            "tool",
            _text(content, where),
            uid=uid,
            tool_call_id=call,
            tool_name=value.get("name") or names.get(str(call)),
            **common,
        )
        return
    calls = list(value.get("tool_calls") or ())
    words: list[Any] = []
    results = 0
    for block in content if isinstance(content, (list, tuple)) else [content]:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_result":
            assert isinstance(block, Mapping)
            results += 1
            call = block.get("tool_use_id")
            yield Message(
                "tool",
                _text(block.get("content"), where),
                uid=None if uid is None else f"{uid}/{results}",
                tool_call_id=call,
                tool_name=names.get(str(call)),
                tool_status="error" if block.get("is_error") else None,
                **common,
            )
        elif kind == "tool_use":
            assert isinstance(block, Mapping)
            calls.append(
                {"id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}
            )
        else:
            words.append(block)
    for each in calls:
        if isinstance(each, Mapping):
            about = each.get("function", each)
            if isinstance(about, Mapping) and isinstance(about.get("name"), str):
                names[str(each.get("id"))] = about["name"]
    text = _text(words, where)
    if text or calls or not results:
        said = "user" if _ROLES[role] == "user" else "assistant"
        yield Message(said, text, uid=uid, tool_calls=calls or None, **common)  # type: ignore[arg-type]


def _text(content: Any, where: str) -> str:
    """Return the words of a content: a text, or blocks of which some are texts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, (list, tuple)):
        return json.dumps(content, ensure_ascii=False, default=str)
    shown = ""
    apart = False  # something else stood between: adjacent texts belong together
    for block in content:
        words = _block(block, where)
        if words is None:
            apart = True
            continue
        is_text = isinstance(block, str) or block.get("type") in _TEXTS
        if shown and (apart or not is_text):
            shown += "\n"
        shown += words
        apart = not is_text
    return shown


def _block(block: Any, where: str) -> str | None:
    if block is None:
        return None
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        raise InvalidArgument(f"{where}: content holds {type(block).__name__}", hint=_HINT)
    kind = block.get("type")
    if kind in _THOUGHTS:
        return None
    for name in ("text", "refusal"):
        if kind in (*_TEXTS, None) and isinstance(block.get(name), str):
            return str(block[name])
    if kind in _MEDIA:
        return f"[{kind}]"
    return json.dumps(dict(block), ensure_ascii=False, default=str)
