# SPDX-License-Identifier: MIT
"""Sessions found by their title: the title itself, or its words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mnemogram._native import query as q
from mnemogram.database import Connection
from mnemogram.history.grouping import SESSION_COLUMNS, SessionInfo, Visibility
from mnemogram.text import fold

__all__ = ["TitleHit", "title_hits"]

#: Titled sessions whose words are looked at, the last active first.
_MOST_TITLES: Final = 5_000
_CONTINUATION: Final = re.compile(r"^(.*?)\s*#\s*(\d{1,9})\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TitleHit:
    """A session whose title answers the query.

    Attributes:
        exact: the title is the query, or a continuation of it (``title #2``).
    """

    session: SessionInfo
    last_active_at: int
    exact: bool


def _base(title: str) -> tuple[str, int]:
    """Return a title without its continuation number, folded, and the number (1: none)."""
    found = _CONTINUATION.match(title)
    if found is None or not found[1].strip():
        return fold(title), 1
    return fold(found[1]), int(found[2])


def title_hits(connection: Connection, visibility: Visibility, query: q.Query) -> list[TitleHit]:
    """Return sessions by title: exact ones first, the newest continuation of all at the top."""
    wanted = fold(query.text)
    if not wanted:
        return []
    matcher = q.compile(query)
    where, bindings = visibility.session_predicate()
    exact: list[tuple[int, int, TitleHit]] = []
    others: list[TitleHit] = []
    for active, *columns in connection.execute(
        f"SELECT s.last_active_at, {SESSION_COLUMNS}"
        " FROM sessions AS s INDEXED BY sessions_titled"
        f" WHERE s.title_key IS NOT NULL AND {where}"
        " ORDER BY s.last_active_at DESC, s.id DESC LIMIT :most",
        {**bindings, "most": _MOST_TITLES},
    ):
        session = visibility.session(columns)
        title = session.title or ""
        base, number = _base(title)
        if wanted in (base, fold(title)):
            hit = TitleHit(session, active, True)
            exact.append((number, active, hit))
        elif matcher.matches(title):
            others.append(TitleHit(session, active, False))
    exact.sort(key=lambda each: each[:2], reverse=True)
    return [hit for _, _, hit in exact] + others
