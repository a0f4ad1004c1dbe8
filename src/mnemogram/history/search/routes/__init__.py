# SPDX-License-Identifier: MIT
"""The ways from a query to an answer, in the order in which they are tried.

The first that finds something answers. What holds all of a query is filled up with what holds
parts of it, below, while there is room.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history.search.fetch import lineages_of
from mnemogram.history.search.relax import asks_several, units_of
from mnemogram.history.search.routes import prefixes, relaxed, substrings, words
from mnemogram.history.search.searcher import Answer, IndexDamaged, Searcher
from mnemogram.sqlite.database import share_of_deadline

__all__ = ["ROUTES", "Route", "first_answer"]

#: Share of the remaining time for filling an answer up with what holds parts of the query.
_FILLING_SHARE: Final = 0.7


@dataclass(frozen=True, slots=True)
class Route:
    """One way to answer.

    Attributes:
        answer: looks for the query; None where this way does not fit it.
        whole: what it finds holds all of the query.
    """

    answer: Callable[[Searcher, q.Query], Answer | None]
    whole: bool = True


#: The first of them always has an answer, which may be empty.
ROUTES: Final = (
    Route(words.answer),
    Route(substrings.answer),
    Route(prefixes.answer),
    Route(relaxed.answer, whole=False),
)


def first_answer(searcher: Searcher, query: q.Query, routes: Sequence[Route] = ROUTES) -> Answer:
    """Answer by the first route that finds something, without any damaged index.

    Raises:
        QueryTimeout: the time passed before anything was found.
    """
    searcher.units = units_of(query)
    while True:  # each time with one index less
        with contextlib.suppress(IndexDamaged):
            return _tried(searcher, query, routes)


def _tried(searcher: Searcher, query: q.Query, routes: Sequence[Route]) -> Answer:
    searcher.strictly = None
    first: Answer | None = None
    for route in routes:
        if not route.whole and query.explicit_operators:
            continue
        answer = route.answer(searcher, query)
        if answer is None:
            continue
        if first is None:
            first = answer
            searcher.strict_complete = answer.found.complete
            searcher.strict_found = bool(answer.found.candidates)
        if not answer.found.candidates:
            continue
        answer.found.complete &= first.found.complete
        answer.relaxed = not route.whole
        if route.whole and len(routes) > 1:
            return _filled_up(searcher, answer, query)
        return answer
    assert first is not None
    return first


def _filled_up(searcher: Searcher, answer: Answer, query: q.Query) -> Answer:
    """Add to what holds all of a query what holds parts of it, below."""
    held = lineages_of(answer.found.candidates)
    if held >= searcher.request.limit or searcher.request.sort != "relevance":
        return answer
    if not asks_several(query):
        return answer
    try:
        with share_of_deadline(searcher.connection, _FILLING_SHARE):
            parts = relaxed.answer(searcher, query)
    except QueryTimeout:
        searcher.connection.check_deadline()
        answer.notes.append("Messages that hold parts of the query were not looked for in time.")
        answer.found.exhausted = False
        return answer
    whole = {each.id for each in answer.found.candidates}
    if parts is None or whole >= {each.id for each in parts.found.candidates}:
        return answer
    best = max(each.score for each in parts.found.candidates)
    for each in answer.found.candidates:
        each.score += best + 1.0
    answer.found.add(parts.found)
    return Answer(parts.path, answer.found, parts.marker, answer.notes)
