# SPDX-License-Identifier: MIT
"""Sessions found by their title: the title itself, or its words, together with their tags."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mnemogram._native import query as q
from mnemogram.history.schema import title_key
from mnemogram.history.search.relax import required
from mnemogram.history.search.visibility import SESSION_COLUMNS, SessionInfo, Visibility
from mnemogram.sqlite.database import Connection

__all__ = ["TitleHit", "title_hits", "titled_with"]

#: Titled sessions whose words are looked at, the last active first.
_MOST_TITLES: Final = 4_000
#: Sessions of one title, with its continuations, that are looked at.
_MOST_OF_ONE_TITLE: Final = 1_000
_MOST_NEEDLES: Final = 16
_ACTIVE: Final = "CASE WHEN s.id NOT IN (SELECT id FROM undated) THEN s.last_active_at END"


@dataclass(frozen=True, slots=True)
class TitleHit:
    """A session whose title answers the query.

    Attributes:
        last_active_at: None where no time of the session is known.
        exact: the title is the query, or a continuation of it (``title #2``).
        tagged: tags were needed to answer it.
    """

    session: SessionInfo
    last_active_at: int | None
    exact: bool
    tagged: bool = False


def _continuation(key: str, wanted: str, title: str) -> int:
    """Return which continuation of the wanted title a title is: 1 for itself, 0 for none."""
    if key == wanted:
        return 1
    head, _, number = key.rpartition(" ")
    if head == wanted and number.isdecimal() and "#" in title:
        return int(number[:9])
    return 0


def _needles(query: q.Query) -> list[str]:
    """Folded texts of which a title that matches holds one, if there are operators, or all.

    A folded title holds, letter by letter, the first token of each phrase that it
    matches.
    """
    every = query.phrases if query.explicit_operators else tuple(required(query.root))
    needles = [phrase.tokens[0].text for phrase in every[:_MOST_NEEDLES]]
    if len(every) > _MOST_NEEDLES and query.explicit_operators:
        return []
    return needles


def _recent(
    connection: Connection,
    columns: str,
    needles: Sequence[str],
    *,
    any_of: bool,
    where: str = "1",
    bindings: Mapping[str, Any] | None = None,
) -> Iterator[Sequence[Any]]:
    """Read ``columns`` of the recent titled sessions, those whose folded titles hold needles.

    Args:
        needles: folded texts; without any, every title holds them.
        any_of: one of them is enough.
        where: a further condition on ``sessions AS s``, with its bindings.
    """
    tests = [f"instr(recent.title_key, :needle{place})" for place in range(len(needles))]
    holds = (" OR " if any_of else " AND ").join(tests) or "1"
    return connection.execute(
        f"SELECT {columns} FROM ("
        " SELECT id, title_key FROM sessions INDEXED BY sessions_titled"
        " WHERE title_key IS NOT NULL ORDER BY last_active_at DESC, id DESC LIMIT :most"
        f") AS recent CROSS JOIN sessions AS s ON s.id = recent.id WHERE ({holds}) AND {where}",
        {
            **(bindings or {}),
            **{f"needle{place}": text for place, text in enumerate(needles)},
            "most": _MOST_TITLES,
        },
    )


def title_hits(connection: Connection, visibility: Visibility, query: q.Query) -> list[TitleHit]:
    """Return sessions by title: exact ones first, the newest continuation of all at the top."""
    wanted = title_key(query.text)
    if not wanted:
        return []
    where, bindings = visibility.session_predicate()
    exact = _titled(connection, visibility, wanted)
    known = {hit.session.id for hit in exact}
    matcher = q.compile(query)
    needles = _needles(query)
    others: list[TitleHit] = []
    for active, *columns in _recent(
        connection,
        f"{_ACTIVE}, {SESSION_COLUMNS}",
        needles,
        any_of=query.explicit_operators,
        where=where,
        bindings=bindings,
    ):
        session = visibility.session(columns)
        if session.id not in known and matcher.matches(
            session.title or "", deadline=connection.deadline_at
        ):
            others.append(TitleHit(session, active, False))
            known.add(session.id)
    tagged = [
        TitleHit(session, active, False, tagged=True)
        for active, session in _tagged(connection, visibility, needles, where, bindings)
        if session.id not in known
        and matcher.matches(session.heading or "", deadline=connection.deadline_at)
    ]
    return exact + others + tagged


def _tagged(
    connection: Connection,
    visibility: Visibility,
    needles: Sequence[str],
    where: str = "1",
    bindings: Mapping[str, Any] | None = None,
) -> Iterator[tuple[int | None, SessionInfo]]:
    """Give sessions of which a tag holds one of the needles, the last active first.

    What title and tags hold together is in the title, which is looked at by itself, or has a
    needle in a tag.
    """
    # Few tags are on many sessions: they are gone through, not the sessions.
    rows = connection.execute(
        "WITH RECURSIVE known (tag) AS (SELECT min(tag_key) FROM session_tags UNION ALL"
        " SELECT (SELECT min(tag_key) FROM session_tags WHERE tag_key > known.tag) FROM known"
        " WHERE known.tag IS NOT NULL LIMIT :most) SELECT tag FROM known WHERE tag IS NOT NULL",
        {"most": _MOST_TITLES},
    )
    keys = [str(tag) for (tag,) in rows]
    fitting = [key for key in keys if not needles or any(each in key for each in needles)]
    if not fitting:
        return
    for active, *columns in list(
        connection.execute(
            f"SELECT {_ACTIVE}, {SESSION_COLUMNS} FROM sessions AS s WHERE s.id IN ("
            " SELECT session_id FROM session_tags"
            " WHERE tag_key IN (SELECT value FROM json_each(:keys)))"
            f" AND {where} ORDER BY s.last_active_at DESC, s.id DESC LIMIT :most",
            {**(bindings or {}), "keys": json.dumps(fitting), "most": _MOST_TITLES},
        )
    ):
        yield active, visibility.session(columns)


def titled_with(
    connection: Connection,
    visibility: Visibility,
    needles: Sequence[str],
    worth: Callable[[str], float],
    *,
    limit: int,
) -> list[int]:
    """Return the sessions whose titles or tags hold parts of a query, by what those are worth.

    Args:
        visibility: knows what sessions are called.
        needles: folded texts, one of which every title of worth holds.
        worth: what a title counts.
        limit: how many sessions are wanted.
    """
    if not needles:
        return []
    found: list[tuple[float, int]] = []
    for session, title in _recent(connection, "s.id, s.title", needles, any_of=True):
        value = worth(title)
        if value > 0.0:
            found.append((value, session))
    known = {session: place for place, (_, session) in enumerate(found)}
    for _, about in _tagged(connection, visibility, needles):
        value = worth(about.heading or "")
        if about.id in known:
            found[known[about.id]] = (value, about.id)
        elif value > 0.0:
            found.append((value, about.id))
    found.sort(key=lambda each: -each[0])  # stable: of equals the last active
    return [session for _, session in found[:limit]]


def _titled(connection: Connection, visibility: Visibility, wanted: str) -> list[TitleHit]:
    """Return the sessions of a folded title and its continuations, the newest of all first."""
    where, bindings = visibility.session_predicate()
    found: list[tuple[int, int, TitleHit]] = []
    for active, key, *columns in connection.execute(
        f"SELECT {_ACTIVE}, s.title_key, {SESSION_COLUMNS}"
        " FROM sessions AS s INDEXED BY sessions_by_title"
        # A continuation's key goes on with a space; the character after it is "!".
        " WHERE s.title_key IS NOT NULL AND s.title_key >= :wanted AND s.title_key < :wanted || '!'"
        f" AND {where} LIMIT :most",
        {**bindings, "wanted": wanted, "most": _MOST_OF_ONE_TITLE},
    ):
        session = visibility.session(columns)
        number = _continuation(key, wanted, session.title or "")
        if number:
            found.append((number, active or 0, TitleHit(session, active, True)))
    found.sort(key=lambda each: each[:2], reverse=True)
    return [hit for _, _, hit in found]
