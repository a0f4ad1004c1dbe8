# SPDX-License-Identifier: MIT
"""Discover: from a query to evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import apsw

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history import display, status
from mnemogram.history.browsing import missed_day
from mnemogram.history.elsewhere import Elsewhere, Match, has_hidden_sessions, matches_of
from mnemogram.history.index.damage import DAMAGE
from mnemogram.history.models import ROLES, SearchHit, SearchResult
from mnemogram.history.search.fetch import CANDIDATE_LIMIT, Found, lineages_of
from mnemogram.history.search.request import Request
from mnemogram.history.search.results import choose, shown
from mnemogram.history.search.routes import ROUTES, Route, first_answer
from mnemogram.history.search.scan import from_scan
from mnemogram.history.search.searcher import EVERYTHING, Answer, IndexDamaged, Searcher
from mnemogram.history.search.suggest import nearest_words
from mnemogram.history.search.titles import TitleHit, title_hits
from mnemogram.history.search.visibility import MAX_SEEN, Candidate, Visibility, encode_cursor
from mnemogram.sqlite.connection import translate
from mnemogram.sqlite.database import Connection, share_of_deadline
from mnemogram.text import STORE_OPTIONS

__all__ = ["Outcome", "discover", "outcome_of"]

#: Share of the remaining time for looking at titles.
_TITLES_SHARE: Final = 0.5
#: Share of the remaining time for looking at what is left out of an answer.
_ELSEWHERE_SHARE: Final = 0.2
#: Share of the remaining time for counting what an answer does not show.
_COUNTING_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search came to.

    Attributes:
        result: the answer; None where there is an error instead.
        error: why there is no answer.
        damaged: indexes that turned out to be damaged, to be detached once the snapshot
            is given back.
    """

    result: SearchResult | None
    error: QueryTimeout | None
    damaged: tuple[str, ...]

    def answered(self) -> SearchResult:
        """Return the answer.

        Raises:
            QueryTimeout: the time passed before anything was found.
        """
        if self.result is None:
            raise self.error or QueryTimeout("there is no answer")
        return self.result


def discover(
    connection: Connection, request: Request, *, routes: Sequence[Route] = ROUTES
) -> SearchResult:
    """Answer a search on one read transaction.

    Raises:
        QueryTimeout: the time passed before anything was found.
    """
    return outcome_of(connection, request, routes=routes).answered()


def outcome_of(
    connection: Connection, request: Request, *, routes: Sequence[Route] = ROUTES
) -> Outcome:
    """Answer a search on one read transaction, and say which indexes are damaged."""
    searcher = Searcher(connection, request)
    try:
        return Outcome(
            _discover(connection, request, searcher, routes), None, tuple(searcher.damaged)
        )
    except (QueryTimeout, apsw.InterruptError) as error:
        timeout = error if isinstance(error, QueryTimeout) else translate(error)
        if not searcher.damaged or not isinstance(timeout, QueryTimeout):
            raise
        return Outcome(None, timeout, tuple(searcher.damaged))


def _discover(
    connection: Connection, request: Request, searcher: Searcher, routes: Sequence[Route]
) -> SearchResult:
    query = q.parse(request.query, config=STORE_OPTIONS)
    hints = list(query.notes)
    elsewhere = Elsewhere()
    if query.root is None:
        answer = Answer("empty", Found(), None)
        titles: list[TitleHit] = []
    else:
        answer = first_answer(searcher, query, routes)
        titles = _titles(searcher, query, answer)
        elsewhere = _elsewhere(searcher)
    found = answer.found
    hints += answer.notes
    chosen, more = choose(request, found.candidates, titles)
    about, about_exact = _count(searcher, answer, titles)
    parts = [isinstance(each, Candidate) and each.partial for each in chosen]
    offered: tuple[str, ...] = ()
    if not found.complete and not found.candidates and not titles:
        raise QueryTimeout("the deadline passed before every message was looked at")
    if query.root is not None and not found.candidates and not titles:
        hints.append(_nothing(request, elsewhere))
        if not request.seen:
            offered = nearest_words(searcher, query)
        if offered:
            hints.append(f"Did you mean {', '.join(offered)}?")
    elif answer.relaxed and all(parts):
        hints.append(_parts(request, elsewhere, complete=searcher.strict_complete))
    hints += elsewhere.hints()
    if not found.complete:
        hints.append("Not every message was looked at in time: there may be more.")
    if not found.ranked:
        hints.append("Ranking ran out of time: these are the newest matches.")
    elif not found.scored:
        hints.append("Scoring ran out of time: the order is a rough one.")
    hints += [
        f"The index {name} was found damaged; maintenance builds it anew."
        for name in searcher.damaged
    ]
    hints += missed_day(connection, request.period)
    if any(parts) and not all(parts):
        hints.append(
            f"The first {parts.index(True)} of all results hold all of the query,"
            " the others parts of it."
        )
    hits = shown(connection, request, chosen, answer.marker)
    cursor = None
    if more:
        seen = request.seen | {each.session.root for each in chosen}
        cursor = encode_cursor(request.fingerprint, seen, request.period)
        if cursor is None:
            hints.append(f"More than {MAX_SEEN} conversations match: narrow the search to go on.")
    limit_reached = not found.exhausted and lineages_of(found.candidates) > 0
    result = SearchResult(
        success=True,
        mode="discover",
        query=request.query,
        detail=request.detail,
        results=(),
        count=len(hits),
        search_path=_path(answer.path, hits),
        complete=found.complete,
        candidate_limit=CANDIDATE_LIMIT,
        candidate_limit_reached=limit_reached,
        index_status=status.index_status(connection, searcher.states, searcher.damaged),
        legacy_import=status.legacy_import(connection),
        hint=None,
        cursor=cursor,
        found_by=tuple(dict.fromkeys(hit.found_by for hit in hits)),
        left_out=elsewhere.counts(),
        about=about,
        about_exact=about_exact,
        did_you_mean=offered,
    )
    overhead = display.json_bytes(result) + 400
    fitted, shortened = display.fit_hits(hits, request.budget, overhead)
    if shortened:
        hints.append("Messages were shortened to fit the size of one answer: scroll for more.")
    return replace(result, results=fitted, hint=" ".join(_sentences(hints)) or None)


def _titles(searcher: Searcher, query: q.Query, answer: Answer) -> list[TitleHit]:
    """Return sessions by title; where messages were found, only if time is left."""
    try:
        with share_of_deadline(searcher.connection, _TITLES_SHARE):
            return title_hits(searcher.connection, searcher.visibility, query)
    except QueryTimeout:
        searcher.connection.check_deadline()
        answer.found.complete = False
        return []


def _count(
    searcher: Searcher, answer: Answer, titles: Sequence[TitleHit]
) -> tuple[int | None, bool]:
    """Return how many conversations match, and whether that is the exact number.

    Where candidates were left unexamined, None unless it was asked for.
    """
    found = answer.found
    known = {each.session.root for each in found.candidates}
    known |= {each.session.root for each in titles}
    if found.exhausted:
        return len(known), found.complete
    if not searcher.request.estimate:
        return None, False
    if searcher.strictly is None:
        return len(known), False
    state, expression, check = searcher.strictly
    where, bindings = searcher.visibility.predicate()
    statement = (
        f"SELECT s.root_id FROM {state.name}"
        f" CROSS JOIN messages AS m ON m.id = {state.name}.rowid"
        " CROSS JOIN sessions AS s ON s.id = m.session_id"
        f" WHERE {state.name} MATCH :expression AND {where}"
    )
    try:
        with share_of_deadline(searcher.connection, _COUNTING_SHARE):
            for (root,) in searcher.connection.execute(
                statement, {**bindings, "expression": expression}
            ):
                known.add(root)
    except (QueryTimeout, apsw.InterruptError):
        searcher.connection.check_deadline()
        return len(known), False
    except DAMAGE as error:
        with contextlib.suppress(IndexDamaged):
            searcher.blame(state.name, expression, error)
        return len(known), False
    # What the index finds too much of is looked at only as far as it is shown.
    return len(known), check is None and found.complete


def _elsewhere(searcher: Searcher) -> Elsewhere:
    """Return what holds all of the query and is left out: see ``Elsewhere``.

    Other roles are looked at only where those asked for hold nothing.
    """
    request = searcher.request
    elsewhere = Elsewhere()
    hidden = request.sources is None and has_hidden_sessions(searcher.connection)
    others = not searcher.strict_found and set(request.roles) != set(ROLES)
    if not hidden and not others:
        return elsewhere
    visibility = Visibility(
        searcher.connection,
        roles=ROLES if others else request.roles,
        sources=request.sources or (),
        exclude=request.exclude_sessions,
        current=request.current_session,
        after=request.period.after,
        before=request.period.before,
        labels=request.labels,
    )
    try:
        with share_of_deadline(searcher.connection, _ELSEWHERE_SHARE):
            for match in _matches(searcher, visibility, elsewhere):
                elsewhere.add(match, request.roles, hidden=hidden)
    except (QueryTimeout, IndexDamaged):
        searcher.connection.check_deadline()
        elsewhere.exact = False
    return elsewhere


def _matches(searcher: Searcher, visibility: Visibility, elsewhere: Elsewhere) -> Iterator[Match]:
    if searcher.strictly is not None:
        state, expression, check = searcher.strictly
        elsewhere.exact &= not state.gaps
        try:
            yield from matches_of(
                searcher.connection, visibility, state.name, expression, check, elsewhere
            )
        except DAMAGE as error:
            searcher.blame(state.name, expression, error)
    elif searcher.marker is not None:
        found = from_scan(
            searcher.connection,
            visibility,
            searcher.marker,
            EVERYTHING,
            wanted=CANDIDATE_LIMIT,
            sort="newest",
        )
        elsewhere.exact &= found.complete
        for each in found.candidates:
            yield each.id, each.role, each.session.id, each.session.source


def _path(path: str, hits: Sequence[SearchHit]) -> str:
    """Return the route of an answer: the one that was taken, if any result came by it."""
    routes = [hit.found_by for hit in hits if hit.found_by not in ("title", "tag")]
    return path if path in routes or not routes else routes[0]


def _nothing(request: Request, elsewhere: Elsewhere) -> str:
    """Say that nothing matches, as far as that is known."""
    if elsewhere:
        return "Nothing matches in what was searched."
    if request.seen:
        return "Nothing more matches."
    where = request.narrowed
    if not elsewhere.exact:
        where = [f"in messages of {' and '.join(request.roles)}", *where]
    if where:
        return f"Nothing matches {' and '.join(where)}: widen that, or try fewer or other words."
    return "Nothing matches: try fewer or other words."


def _parts(request: Request, elsewhere: Elsewhere, *, complete: bool) -> str:
    """Say that the results hold parts of a query, and whether anything holds all of it."""
    if request.seen or not complete:
        return "These hold parts of the query."
    if elsewhere or not elsewhere.exact or request.narrowed:
        return "No message that was searched holds all of the query; these hold parts of it."
    return "No message holds all of the query; these hold parts of it."


def _sentences(hints: Sequence[str]) -> list[str]:
    return [
        each[:1].upper() + each[1:] + ("" if each.endswith((".", "!", "?")) else ".")
        for each in hints
    ]
