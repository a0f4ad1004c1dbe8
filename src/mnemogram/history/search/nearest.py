# SPDX-License-Identifier: MIT
"""What is nearest to a query and would be cut off: as typed, as spelled, and by title.

An index ranks by how often it holds the units of a query, and tells neither spellings nor
sentences apart. Where it holds more matches than are scored exactly, what may be better than
their best is asked for besides.
"""

from __future__ import annotations

from typing import Final

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history.index import state as indexes
from mnemogram.history.index.damage import DAMAGE
from mnemogram.history.search.fetch import (
    MATCHED_TEXTS,
    Found,
    IndexQuery,
    from_sessions,
    newest_from_index,
)
from mnemogram.history.search.rank import MOST_SCORED, Evidence
from mnemogram.history.search.relax import Relaxed, nearest, title_needles
from mnemogram.history.search.searcher import Searcher, route_of
from mnemogram.history.search.titles import titled_with
from mnemogram.history.search.visibility import best_of_lineages
from mnemogram.sqlite.database import share_of_deadline
from mnemogram.text import PLAIN_OPTIONS

__all__ = ["add_nearest", "add_spelled", "add_titled", "add_up"]

#: Share of the remaining time for each of these.
_SHARE: Final = 0.2
#: Sessions whose titles hold parts of a query that are looked into.
_MOST_TITLED: Final = 50


def _cut(searcher: Searcher, found: Found, first: int) -> bool:
    """Whether more was found than is scored exactly."""
    ranked = searcher.request.sort == "relevance" and found.ranked
    return ranked and (len(found.candidates) > first or not found.exhausted)


def add_nearest(
    searcher: Searcher,
    found: Found,
    query: q.Query,
    state: indexes.IndexState,
    check: q.Matcher | None,
    first: int,
) -> None:
    """Have the query's words near each other, and as typed, among what is scored exactly."""
    if len(searcher.units) < 2 or not _cut(searcher, found, first):
        return
    try:
        with share_of_deadline(searcher.connection, _SHARE):
            for expression in nearest(query):
                others = searcher.asked(state, expression, check=check, first=first)
                found.prefer(others.candidates)
    except QueryTimeout:
        searcher.connection.check_deadline()


def add_spelled(
    searcher: Searcher,
    found: Found,
    query: q.Query,
    state: indexes.IndexState,
    expression: str,
    first: int,
) -> None:
    """Have what is spelled as the query among the best, where the index tells no difference."""
    if not found.scored or not _cut(searcher, found, first):
        return
    best, _ = best_of_lineages(found.candidates, searcher.wanted)
    if not any(each.apart[0] for each in best):
        return
    spelled = q.compile(q.parse(query.text, config=PLAIN_OPTIONS), adjacent=True)
    try:
        with share_of_deadline(searcher.connection, _SHARE):
            others = newest_from_index(
                searcher.connection,
                searcher.visibility,
                IndexQuery(state.name, expression, spelled),
                wanted=searcher.wanted,
            )
    except QueryTimeout:
        searcher.connection.check_deadline()
        return
    except DAMAGE as error:
        searcher.blame(state.name, expression, error)
    for each in others.candidates:
        each.found_by = route_of(state)
    found.prefer(others.candidates)
    searcher.rank(found, query, state)


def add_titled(
    searcher: Searcher,
    found: Found,
    evidence: Evidence,
    state: indexes.IndexState,
    relaxed: Relaxed,
) -> None:
    """Have messages of the sessions whose titles hold parts of the query scored, too."""
    if not _cut(searcher, found, MOST_SCORED):
        return
    asked = IndexQuery(state.name, relaxed.expression, weights=relaxed.weights)
    try:
        with share_of_deadline(searcher.connection, _SHARE):
            sessions = titled_with(
                searcher.connection,
                searcher.visibility,
                title_needles(searcher.units),
                lambda title: sum(evidence.of_title(title).values()),
                limit=_MOST_TITLED,
            )
            if not sessions:
                return
            others = from_sessions(searcher.connection, searcher.visibility, asked, sessions)
    except QueryTimeout:
        searcher.connection.check_deadline()
        return
    except DAMAGE as error:
        searcher.blame(state.name, relaxed.expression, error)
    for each in others:
        each.partial = True
        each.found_by = f"{route_of(state)}_or"
    found.prefer(others)


def add_up(searcher: Searcher, found: Found, query: q.Query) -> None:
    """Take a message and the title of its session for one text, which may hold everything."""
    every = frozenset(range(len(searcher.units)))
    likely = [each for each in found.candidates if each.session.heading and each.units >= every]
    if not likely:
        return
    connection = searcher.connection
    whole = q.compile(query, adjacent=True)
    try:
        with share_of_deadline(connection, _SHARE):
            for each in likely[:_MOST_TITLED]:
                for columns in connection.execute(MATCHED_TEXTS, (each.id,)):
                    each.partial = not whole.matches(
                        *columns, each.session.heading, deadline=connection.deadline_at
                    )
    except QueryTimeout:
        connection.check_deadline()
