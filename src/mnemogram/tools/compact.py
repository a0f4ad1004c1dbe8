# SPDX-License-Identifier: MIT
"""Answers without what says nothing: every byte of them is read, and paid for, by a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, overload

__all__ = ["Compact", "compact"]

_D = TypeVar("_D")
#: Longer messages are shown with the excerpt around the match as well.
_LONG: Final = 400
_NOTHING: Final[tuple[Any, ...]] = (None, "", (), [], {}, False)


class Compact(dict[str, Any]):
    """An answer of which only what tells something is shown.

    The rest is no item and in no JSON, and is there all the same for a program that asks
    for it by name: ``answer["index_status"]``, ``answer.get("hint")``.
    """

    __slots__ = ("rest",)

    def __init__(self, shown: Mapping[str, Any], rest: Mapping[str, Any]) -> None:
        super().__init__(shown)
        self.rest = dict(rest)

    def __missing__(self, name: str) -> Any:
        return self.rest[name]

    @overload
    def get(self, name: str, default: None = None, /) -> Any: ...
    @overload
    def get(self, name: str, default: _D, /) -> Any | _D: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        """Return a field, shown or not; the default where there is none of this name."""
        return self[name] if name in self else self.rest.get(name, default)


def compact(answer: Mapping[str, Any]) -> Compact:
    """Return an answer of the tools without nulls, defaults, and what is said twice."""
    return _split(answer, _ANSWER)


# --- rules -----------------------------------------------------------------------------

#: Whether a field of a thing is shown.
Rule = Callable[[Mapping[str, Any], Any], bool]


def _always(_: Mapping[str, Any], value: Any) -> bool:
    return True


def _never(_: Mapping[str, Any], value: Any) -> bool:
    return False


def _unless(*usual: Any) -> Rule:
    return lambda _, value: value not in usual


def _is_whole(hit: Mapping[str, Any]) -> bool:
    """Whether the match of a result is shown by its message alone."""
    anchors = [each for each in hit.get("messages", ()) if each["anchor"]]
    return bool(anchors) and not (
        anchors[0]["content_truncated"] or len(anchors[0]["content"]) > _LONG
    )


def _has_anchor(hit: Mapping[str, Any]) -> bool:
    return any(each["anchor"] for each in hit.get("messages", ()))


#: Fields that do not follow the rule of being shown where they say something.
_ANSWER: Final[dict[str, Rule]] = {
    "success": _always,
    "complete": _always,
    "results": _always,
    "messages": _always,
    "relations": _always,
    "count": _always,
    "query": _never,
    "detail": _never,
    "candidate_limit": _never,
    "candidate_limit_reached": _never,
    "about_exact": _never,
    "about": lambda answer, about: about is not None and about != answer["count"],
    "index_status": lambda _, status: "building" in status,
    "legacy_import": lambda _, imported: not imported["complete"],
    "found_by": lambda _, routes: "like" in routes,
    "omitted": _unless(0),
    "metadata": _never,
    "around": _never,
}
_HIT: Final[dict[str, Rule]] = {
    "source": _unless("chat"),
    "model": _never,
    "metadata": _never,
    "score": _never,
    "detail": _never,
    "found_by": _unless("", "cjk", "fts5", "cjk_or", "fts5_or", "trigram"),
    "snippet": lambda hit, _: not _is_whole(hit),
    "when": lambda hit, when: when is not None and not _has_anchor(hit),
    "matched_role": lambda hit, role: role is not None and not _has_anchor(hit),
    "messages_before": _unless(0),
    "messages_after": _unless(0),
    # Of a list of sessions.
    "started_at": _never,
    "last_active_at": lambda hit, when: when is not None and hit.get("when") is None,
    "message_count": _always,
}
_MESSAGE: Final[dict[str, Rule]] = {
    "content": lambda message, text: bool(text) or not message["tool_calls"],
    "uid": _never,
    "tool_call_id": _never,
    "metadata": _never,
    "state": _unless("active"),
    "provenance": _never,
    "original_content_chars": lambda message, _: bool(message["content_truncated"]),
}
_RELATION: Final[dict[str, Rule]] = {
    "confidence": _unless(1.0),
    "score": _never,
    "weight": _never,
}
_INNER: Final[dict[str, dict[str, Rule]]] = {
    "results": _HIT,
    "messages": _MESSAGE,
    "bookend_start": _MESSAGE,
    "bookend_end": _MESSAGE,
    "relations": _RELATION,
}


def _split(thing: Mapping[str, Any], rules: dict[str, Rule]) -> Compact:
    shown: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in thing.items():
        rule = rules.get(name)
        kept = rule(thing, value) if rule is not None else value not in _NOTHING
        if name in _INNER and isinstance(value, (list, tuple)):
            value = [_split(each, _INNER[name]) for each in value]
        elif kept and name in _TIMES:
            value = value.replace(".000Z", "Z")
        (shown if kept else rest)[name] = value
    return Compact(shown, rest)


#: Times of which most are whole seconds.
_TIMES: Final = frozenset(("when", "timestamp", "last_active_at", "told_at"))
