# SPDX-License-Identifier: MIT
"""Stored rows as evidence: display caps, marked cuts, and the budget of an answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from json.encoder import encode_basestring
from typing import Any, Final, NamedTuple, TypeVar

from mnemogram.history import labels
from mnemogram.history.models import (
    BrowseResult,
    EvidenceMessage,
    ReadResult,
    Role,
    ScrollResult,
    SearchHit,
    SearchResult,
    State,
)
from mnemogram.moments import format_time
from mnemogram.text import cut, cut_around
from mnemogram.values import parsed

__all__ = [
    "BOOKEND_CHARS",
    "DEFAULT_BUDGET",
    "LONG_BYTES",
    "MATCHED_COLUMNS",
    "MESSAGE_COLUMNS",
    "READ_CHARS",
    "WINDOW_CHARS",
    "MessageRow",
    "bounded",
    "evidence",
    "fit_hits",
    "fit_messages",
    "json_bytes",
    "shown_metadata",
    "whole_calls",
]

#: Display caps, in code points.
BOOKEND_CHARS: Final = 1_200
WINDOW_CHARS: Final = 4_000
READ_CHARS: Final = 2_000
PREVIEW_CHARS: Final = 80
TOOL_CALLS_CHARS: Final = 1_200
METADATA_CHARS: Final = 1_200
#: A whole answer's default size as JSON, in bytes of UTF-8.
DEFAULT_BUDGET: Final = 64 * 1024
_SMALLEST_CAP: Final = 120
#: Bytes of JSON that a message or hit takes at most without its texts.
_SHELL_BYTES: Final = 600

#: The columns of a :class:`MessageRow`, of ``messages AS m``.
MESSAGE_COLUMNS: Final = (
    "m.id, m.uid, m.role, m.timestamp, m.state, m.provenance, m.content,"
    " m.tool_name, m.tool_call_id, m.tool_calls, m.tool_status,"
    f" m.id IN (SELECT id FROM untimed), {labels.MESSAGE_METADATA}"
)
#: Bytes of a content that is not decoded where only a part of it is wanted.
LONG_BYTES: Final = 100_000
#: The texts of ``messages AS m`` for a matcher: a long one as bytes, because to decode it, and to
#: encode it again, would hold the interpreter for longer than to look through it.
MATCHED_COLUMNS: Final = (
    f"CASE WHEN octet_length(m.content) > {LONG_BYTES} THEN CAST(m.content AS BLOB)"
    " ELSE m.content END, m.tool_name, m.tool_calls"
)


class MessageRow(NamedTuple):
    """A stored message as evidence needs it; ``timestamp`` is in microseconds."""

    id: int
    uid: str
    role: Role
    timestamp: int
    state: State
    provenance: str
    content: str
    tool_name: str | None
    tool_call_id: str | None
    tool_calls: str | None
    tool_status: str | None
    is_untimed: int
    metadata: str | None


def _shown_calls(text: str | None, cap: int) -> Any:
    """Tool calls as the JSON value they are, or the beginning of their text where long."""
    if text is None:
        return None
    if len(text) > cap:
        shown, _, length = cut(text, cap)
        return {"truncated": True, "original_chars": length, "text": shown}
    try:
        return parsed(text)
    except ValueError:
        return text


def whole_calls(text: str | None) -> Any:
    """Return stored tool calls as the JSON value they are, else as their text."""
    return None if text is None else _shown_calls(text, len(text))


def shown_metadata(text: str | None, cap: int = METADATA_CHARS) -> dict[str, Any]:
    """Return stored metadata as it is, or the beginning of its text where it is long."""
    if text is None or len(text) <= cap:
        return labels.metadata_of(text)
    shown, _, length = cut(text, cap)
    return {"truncated": True, "original_chars": length, "text": shown}


def evidence(
    row: MessageRow, cap: int, *, anchor: bool = False, span: tuple[int, int] | None = None
) -> EvidenceMessage:
    """Return a stored message as it is shown.

    Args:
        cap: most code points of the content to show.
        span: code points of a match that the cut must keep in sight.
    """
    if span is not None and len(row.content) > cap:
        shown, truncated, length, _ = cut_around(row.content, cap, *span)
    else:
        shown, truncated, length = cut(row.content, cap)
    return EvidenceMessage(
        id=row.id,
        uid=row.uid,
        role=row.role,
        timestamp=None if row.is_untimed else format_time(row.timestamp),
        state=row.state,
        provenance=row.provenance,
        content=shown,
        tool_name=row.tool_name,
        tool_call_id=row.tool_call_id,
        tool_calls=_shown_calls(row.tool_calls, min(cap, TOOL_CALLS_CHARS)),
        tool_status=row.tool_status,
        anchor=anchor,
        content_truncated=truncated,
        original_content_chars=length,
        metadata=shown_metadata(row.metadata, min(cap, METADATA_CHARS)),
    )


def json_bytes(value: Any) -> int:
    """Return the size of a result as a tool would send it: JSON in UTF-8."""
    plain = value.to_dict() if hasattr(value, "to_dict") else value
    return len(json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def json_bytes_at_most(hit: SearchHit) -> int:
    """Return what :func:`json_bytes` of a hit cannot exceed, without making the JSON of it."""
    messages = (*hit.messages, *hit.bookend_start, *hit.bookend_end)
    if (
        hit.explanation is not None
        or hit.metadata
        or any(each.tool_calls is not None or each.metadata for each in messages)
    ):
        return json_bytes(hit)
    texts: tuple[str | None, ...] = (
        hit.session_id, hit.title, hit.source, hit.model, hit.snippet, hit.parent_session_id
    )  # fmt: skip
    total = _SHELL_BYTES * (1 + len(messages)) + sum(map(_text_bytes, texts))
    total += sum(_text_bytes(each) + 2 for each in hit.tags)
    for message in messages:
        total += _text_bytes(message.content) + _text_bytes(message.uid)
        total += _text_bytes(message.tool_name) + _text_bytes(message.tool_call_id)
        total += _text_bytes(message.tool_status) + _text_bytes(message.provenance)
    return total


def _text_bytes(text: str | None) -> int:
    """Return how many bytes the JSON of a text takes."""
    return len(encode_basestring(text).encode("utf-8", "surrogatepass")) if text else 4


def _recut(message: EvidenceMessage, cap: int) -> EvidenceMessage:
    shown, truncated, _ = cut(message.content, cap)
    calls = message.tool_calls
    if calls is not None:
        text = calls if isinstance(calls, str) else json.dumps(calls, ensure_ascii=False)
        if len(text) > cap:
            calls = {"truncated": True, "original_chars": len(text), "text": cut(text, cap)[0]}
    metadata = _shorter(message.metadata, cap)
    if not truncated and calls is message.tool_calls and metadata is message.metadata:
        return message
    return replace(
        message,
        content=shown,
        content_truncated=message.content_truncated or truncated,
        tool_calls=calls,
        metadata=metadata,
    )


def _shorter(metadata: Mapping[str, Any], cap: int) -> Mapping[str, Any]:
    text = json.dumps(metadata, ensure_ascii=False) if metadata else ""
    return metadata if len(text) <= cap else shown_metadata(text, cap)


def fit_messages(
    messages: tuple[EvidenceMessage, ...], budget: int, overhead: int
) -> tuple[tuple[EvidenceMessage, ...], bool]:
    """Shorten messages evenly until they fit, keeping every one of them.

    Args:
        budget: bytes of JSON for the whole answer.
        overhead: bytes that the rest of the answer takes.

    Returns:
        The messages, and whether any was shortened for the budget.
    """
    cap = WINDOW_CHARS
    fitted = messages
    while overhead + sum(json_bytes(each) + 2 for each in fitted) > budget:
        if cap <= _SMALLEST_CAP:
            break
        cap //= 2
        fitted = tuple(_recut(each, cap) for each in messages)
    return fitted, fitted is not messages


def _shorten(hit: SearchHit, cap: int, *, anchors: bool) -> SearchHit:
    def each(messages: Iterable[EvidenceMessage]) -> tuple[EvidenceMessage, ...]:
        return tuple(m if m.anchor and not anchors else _recut(m, cap) for m in messages)

    return replace(
        hit,
        messages=each(hit.messages),
        bookend_start=each(hit.bookend_start),
        bookend_end=each(hit.bookend_end),
    )


def _without_surroundings(hit: SearchHit) -> SearchHit:
    anchors = tuple(m for m in hit.messages if m.anchor)
    before = next((i for i, m in enumerate(hit.messages) if m.anchor), 0)
    after = len(hit.messages) - before - len(anchors)
    return replace(
        hit,
        messages=anchors,
        bookend_start=(),
        bookend_end=(),
        messages_before=hit.messages_before + before,
        messages_after=hit.messages_after + max(0, after),
        detail="anchor",
    )


def fit_hits(
    hits: tuple[SearchHit, ...], budget: int, overhead: int
) -> tuple[tuple[SearchHit, ...], bool]:
    """Make search hits fit the budget: surroundings shrink before matches do.

    Returns:
        The hits, never fewer, and whether anything was shortened for the budget.
    """
    fitted = list(hits)

    def fits() -> bool:
        return overhead + sum(json_bytes(each) + 2 for each in fitted) <= budget

    if overhead + sum(map(json_bytes_at_most, hits)) <= budget or fits():
        return hits, False
    for cap in (1_000, 500, 250):
        fitted = [_shorten(each, cap, anchors=False) for each in fitted]
        if fits():
            return tuple(fitted), True
    for place in range(len(fitted) - 1, -1, -1):
        fitted[place] = _without_surroundings(fitted[place])
        if fits():
            return tuple(fitted), True
    for cap in (2_000, 1_000, 500, 250, _SMALLEST_CAP):
        fitted = [_shorten(each, cap, anchors=True) for each in fitted]
        if fits():
            break
    return tuple(fitted), True


#: Characters of names, titles and ids, shorter and shorter, where an answer is too large.
_NAME_CAPS: Final = (1_000, 300, 100, 40)
_NEVER_CUT: Final = frozenset({"content", "cursor", "tool_calls"})
_CUT_HINT: Final = "Long names and ids were cut, and what did not fit was left out."
_A = TypeVar("_A", SearchResult, ScrollResult, ReadResult, BrowseResult)


def bounded(result: _A, budget: int) -> _A:
    """Make an answer fit its budget where texts alone did not: by names, ids and numbers.

    What others call a title or an id may be as long as a book, and is text like any other.
    """
    if _answer_at_most(result) <= budget or json_bytes(result) <= budget:
        return result
    room = budget - len(_CUT_HINT) - 20
    for cap in _NAME_CAPS:
        result = _named_shortly(result, cap)
        if json_bytes(result) <= room:
            break
    while json_bytes(result) > room:
        smaller = _with_less(result)
        if smaller is None:
            break
        result = smaller
    return replace(result, hint=_CUT_HINT if result.hint is None else f"{result.hint} {_CUT_HINT}")


def _answer_at_most(result: _A) -> int:
    """Return what :func:`json_bytes` of an answer cannot exceed; of hits, without their JSON."""
    if not isinstance(result, SearchResult):
        return json_bytes(result)
    parts = sum(map(json_bytes_at_most, result.results)) + 2 * len(result.results)
    return json_bytes(replace(result, results=())) + parts


def _named_shortly(value: Any, cap: int) -> Any:
    changes: dict[str, Any] = {}
    for each in fields(value):
        held = getattr(value, each.name)
        if isinstance(held, str) and each.name not in _NEVER_CUT and len(held) > cap:
            changes[each.name] = cut(held, cap)[0]
        elif each.name == "tags":
            changes[each.name] = tuple(_up_to(held, cap))
        elif each.name == "metadata":
            changes[each.name] = _shorter(held, max(cap, _SMALLEST_CAP))
        elif isinstance(held, tuple) and held and is_dataclass(held[0]):
            changes[each.name] = tuple(_named_shortly(one, cap) for one in held)
    if isinstance(value, EvidenceMessage):
        value = _recut(value, max(cap, _SMALLEST_CAP))
        changes.pop("tool_calls", None)
    return replace(value, **changes)


def _up_to(texts: Iterable[str], most: int) -> Iterator[str]:
    """Give texts as long as they are together not longer than so many characters."""
    for text in texts:
        most -= len(text)
        if most < 0:
            return
        yield text


def _with_less(result: _A) -> _A | None:
    """Leave out the part of an answer that is missed least; None where nothing is left to."""
    changes: dict[str, Any] = {}
    if isinstance(result, (SearchResult, BrowseResult)):
        if len(result.results) > 1:
            changes = {"results": result.results[:-1], "count": result.count - 1}
        elif isinstance(result, SearchResult) and result.results:
            hit = _without_surroundings(result.results[0])
            if hit == result.results[0]:
                hit = replace(hit, explanation=None)
            changes = {} if hit == result.results[0] else {"results": (hit,)}
    elif len(result.messages) > 1:
        changes = _less_messages(result)
    return replace(result, **changes) if changes else None


def _less_messages(result: ScrollResult | ReadResult) -> dict[str, Any]:
    """Leave out the message that is farthest from the anchor, or from both ends."""
    messages = result.messages
    if isinstance(result, ReadResult):
        middle = len(messages) // 2
        left = (*messages[:middle], *messages[middle + 1 :])
        return {"messages": left, "omitted": result.omitted + 1}
    place = next((i for i, each in enumerate(messages) if each.anchor), 0)
    if place > len(messages) - 1 - place:
        return {"messages": messages[1:], "messages_before": result.messages_before + 1}
    return {"messages": messages[:-1], "messages_after": result.messages_after + 1}
