# SPDX-License-Identifier: MIT
"""The arguments of a search, checked once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from reprlib import repr as shown
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.history import reading
from mnemogram.history.labels import ANY, Labels, checked_labels
from mnemogram.history.models import ROLES
from mnemogram.history.period import Period, checked_period
from mnemogram.history.schema import HIDDEN_SOURCES
from mnemogram.history.search.visibility import decode_cursor, resumed_period
from mnemogram.moments import Time
from mnemogram.values import storable

__all__ = [
    "Request",
    "checked_request",
    "checked_roles",
    "checked_sources",
    "excluded_sessions",
    "fingerprint_of",
]

SORTS: Final = ("relevance", "newest", "oldest")
DETAILS: Final = ("adaptive", "full")
MAX_EXCLUDED: Final = 100
MAX_TIMEOUT: Final = 600.0


@dataclass(frozen=True, slots=True)
class Request:
    """A search with every argument checked; times in microseconds."""

    query: str
    limit: int
    roles: tuple[str, ...]
    sort: str
    detail: str
    window: int
    period: Period
    sources: tuple[str, ...] | None
    exclude_sessions: tuple[str, ...]
    current_session: str | None
    seen: frozenset[int]
    fingerprint: str
    budget: int
    recency: int | None = None
    estimate: bool = False
    explain: bool = False
    zone: tzinfo | None = None
    labels: Labels = ANY

    @property
    def narrowed(self) -> list[str]:
        """Words for what was left out on purpose."""
        return [
            words
            for words, holds in (
                ("in this period", self.period.bounded),
                ("in these sources", bool(self.sources)),
                ("with these tags", bool(self.labels.tags)),
                ("with this metadata", bool(self.labels.fields)),
                ("outside of the conversations that were excluded", bool(self.exclude_sessions)),
                ("outside of the running conversation", self.current_session is not None),
            )
            if holds
        ]


def _strings(value: Any, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple, set, frozenset)):
        raise InvalidArgument(
            f"{name} must be a list of strings, not {shown(value)}",
            hint=f"Pass {name}=[...].",
        )
    if not all(isinstance(each, str) for each in value):
        raise InvalidArgument(
            f"{name} holds something that is not a string: {shown(value)}", hint=""
        )
    return tuple(map(storable, value))


def _one_of(value: Any, name: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidArgument(
            f"{name} must be one of {', '.join(allowed)}, not {shown(value)}",
            hint=f"{allowed[0]!r} is the default.",
        )
    return str(value)


def excluded_sessions(value: Any) -> tuple[str, ...]:
    """Return the ids of sessions to leave out.

    Raises:
        InvalidArgument: they are no list of strings, or too many.
    """
    excluded = _strings(value, "exclude_sessions")
    if len(excluded) > MAX_EXCLUDED:
        raise InvalidArgument(
            f"exclude_sessions names {len(excluded)} sessions",
            hint=f"Name {MAX_EXCLUDED} at most; use cursor to go on after an answer.",
        )
    return excluded


def checked_sources(value: Any, all_sources: bool) -> tuple[str, ...] | None:
    """Return the sources to look at; empty for all of them, None for all but the hidden.

    Raises:
        InvalidArgument: they are no list of strings, or name none.
    """
    if all_sources:
        return ()
    if value is None:
        return None
    sources = _strings(value, "sources")
    if not sources:
        raise InvalidArgument(
            "sources is empty",
            hint=f"Leave it out, or name some; {', '.join(HIDDEN_SOURCES)} are found by name only.",
        )
    return sources


def checked_roles(value: Any) -> tuple[str, ...]:
    """Return whose messages are wanted.

    Raises:
        InvalidArgument: they are no list of roles, or none.
    """
    roles = _strings(value, "roles")
    for role in roles:
        _one_of(role, "roles", ROLES)
    if not roles:
        raise InvalidArgument("roles is empty", hint=f"Name some of {', '.join(ROLES)}.")
    return roles


def _half_life(value: Any) -> int | None:
    """Return a half-life in microseconds."""
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            value = timedelta(days=value)
        except (OverflowError, ValueError):
            value = timedelta(0)
    if not isinstance(value, timedelta) or value <= timedelta(0):
        raise InvalidArgument(
            "recency must be a half-life of more than nothing: a timedelta, or days",
            hint="Leave it out, or give timedelta(days=30).",
        )
    return value // timedelta(microseconds=1)


def fingerprint_of(*asked: Any) -> str:
    """Return a short name of what was asked, which a cursor belongs to."""
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def checked_request(
    query: str,
    *,
    limit: int,
    roles: Sequence[str],
    sort: str,
    detail: str,
    window: int,
    after: Time | None,
    before: Time | None,
    sources: Sequence[str] | None,
    all_sources: bool = False,
    exclude_sessions: Sequence[str],
    current_session: str | None,
    timeout: float,
    cursor: str | None,
    budget: int,
    recency: timedelta | float | None = None,
    timezone: tzinfo | None = None,
    estimate: bool = False,
    explain: bool = False,
    tag: str | Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Request:
    """Return the arguments of a search, checked.

    Raises:
        InvalidArgument: one of them is out of range or of the wrong type.
    """
    if not isinstance(query, str):
        raise InvalidArgument(
            f"query must be a string, not {type(query).__name__}", hint="Pass the words to find."
        )
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise InvalidArgument(
            f"timeout must be seconds, not {shown(timeout)}", hint="3.0 is usual."
        )
    if not 0 < timeout <= MAX_TIMEOUT:
        raise InvalidArgument(
            f"timeout must be more than 0 and at most {MAX_TIMEOUT:.0f} seconds, not {timeout}",
            hint="3.0 is usual.",
        )
    wanted_roles = checked_roles(roles)
    excluded = excluded_sessions(exclude_sessions)
    if current_session is not None and not isinstance(current_session, str):
        raise InvalidArgument("current_session must be a session's id", hint="")
    period = checked_period(after, before, timezone)
    wanted_sources = checked_sources(sources, all_sources)
    order = _one_of(sort, "sort", SORTS)
    having = checked_labels(tag, metadata)
    fingerprint = fingerprint_of(
        query, sorted(wanted_roles), order, wanted_sources, *([having] if having else ())
    )
    seen: frozenset[int] = frozenset()
    if cursor is not None:
        seen = decode_cursor(cursor, fingerprint)
        period = resumed_period(cursor, period)
    return Request(
        query=storable(query),
        limit=reading.checked_int(limit, "limit", 1, reading.MAX_LIMIT),
        roles=wanted_roles,
        sort=order,
        detail=_one_of(detail, "detail", DETAILS),
        window=reading.checked_int(window, "window", 1, reading.MAX_WINDOW),
        period=period,
        sources=wanted_sources,
        exclude_sessions=excluded,
        current_session=None if current_session is None else storable(current_session),
        seen=seen,
        fingerprint=fingerprint,
        budget=budget,
        recency=_half_life(recency),
        estimate=bool(estimate),
        explain=bool(explain),
        zone=timezone,
        labels=having,
    )
