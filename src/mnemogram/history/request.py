# SPDX-License-Identifier: MIT
"""The arguments of a search, checked once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.history import reading
from mnemogram.history.grouping import decode_cursor
from mnemogram.history.models import ROLES, Time, to_microseconds

__all__ = ["Request", "checked_request"]

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
    after: int | None
    before: int | None
    sources: tuple[str, ...] | None
    exclude_sessions: tuple[str, ...]
    current_session: str | None
    seen: frozenset[int]
    fingerprint: str
    budget: int
    cascade: bool = True
    #: Filled while searching: indexes found damaged, with the error.
    damaged: dict[str, str] = field(default_factory=dict)


def _strings(value: Any, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple, set, frozenset)):
        raise InvalidArgument(
            f"{name} must be a list of strings, not {value!r}", hint=f"Pass {name}=[...]."
        )
    if not all(isinstance(each, str) for each in value):
        raise InvalidArgument(f"{name} holds something that is not a string: {value!r}", hint="")
    return tuple(value)


def _one_of(value: Any, name: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidArgument(
            f"{name} must be one of {', '.join(allowed)}, not {value!r}",
            hint=f"{allowed[0]!r} is the default.",
        )
    return str(value)


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
    exclude_sessions: Sequence[str],
    current_session: str | None,
    timeout: float,
    cursor: str | None,
    budget: int,
    cascade: bool = True,
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
        raise InvalidArgument(f"timeout must be seconds, not {timeout!r}", hint="3.0 is usual.")
    if not 0 < timeout <= MAX_TIMEOUT:
        raise InvalidArgument(
            f"timeout must be more than 0 and at most {MAX_TIMEOUT:.0f} seconds, not {timeout}",
            hint="3.0 is usual.",
        )
    wanted_roles = _strings(roles, "roles")
    for role in wanted_roles:
        _one_of(role, "roles", ROLES)
    if not wanted_roles:
        raise InvalidArgument("roles is empty", hint=f"Name some of {', '.join(ROLES)}.")
    excluded = _strings(exclude_sessions, "exclude_sessions")
    if len(excluded) > MAX_EXCLUDED:
        raise InvalidArgument(
            f"exclude_sessions names {len(excluded)} sessions",
            hint=f"Name {MAX_EXCLUDED} at most; use cursor to go on after an answer.",
        )
    if current_session is not None and not isinstance(current_session, str):
        raise InvalidArgument("current_session must be a session's id", hint="")
    earliest = None if after is None else to_microseconds(after, "after")
    latest = None if before is None else to_microseconds(before, "before")
    if earliest is not None and latest is not None and earliest >= latest:
        raise InvalidArgument("after is not earlier than before", hint="Swap the two bounds.")
    wanted_sources = None if sources is None else _strings(sources, "sources")
    order = _one_of(sort, "sort", SORTS)
    asked = repr((query, sorted(wanted_roles), order, earliest, latest, wanted_sources))
    fingerprint = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    seen: frozenset[int] = frozenset()
    if cursor is not None:
        if not isinstance(cursor, str):
            raise InvalidArgument("cursor must be the string of an earlier answer", hint="")
        seen = decode_cursor(cursor, fingerprint)
    return Request(
        query=query,
        limit=reading.checked_int(limit, "limit", 1, reading.MAX_LIMIT),
        roles=wanted_roles,
        sort=order,
        detail=_one_of(detail, "detail", DETAILS),
        window=reading.checked_int(window, "window", 1, reading.MAX_WINDOW),
        after=earliest,
        before=latest,
        sources=wanted_sources,
        exclude_sessions=excluded,
        current_session=current_session,
        seen=seen,
        fingerprint=fingerprint,
        budget=budget,
        cascade=cascade,
    )
