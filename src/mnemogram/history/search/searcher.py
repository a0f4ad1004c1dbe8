# SPDX-License-Identifier: MIT
"""One search over one snapshot: what every route asks of the indexes and of the texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Final, Literal, NoReturn

import apsw

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history.index import state as indexes
from mnemogram.history.index.damage import DAMAGE, is_index_damage
from mnemogram.history.search.dates import names_times, times_named
from mnemogram.history.search.fetch import CANDIDATE_LIMIT, Found, IndexQuery, from_index
from mnemogram.history.search.rank import MOST_SCORED, Statistics, count_rows, rerank, statistics
from mnemogram.history.search.relax import (
    Unit,
    evidence_of,
    loses_diacritics,
)
from mnemogram.history.search.request import Request
from mnemogram.history.search.scan import NO_END, from_scan
from mnemogram.history.search.visibility import Visibility
from mnemogram.moments import datetime_of
from mnemogram.sqlite.database import Connection, share_of_deadline

__all__ = ["EVERYTHING", "WORD_ROUTES", "Answer", "IndexDamaged", "Searcher", "route_of"]

#: Candidates of a single word or bigram that are scored exactly: there its frequency,
#: which the index ranked by, says nearly all.
MOST_OF_ONE_UNIT: Final = 100
#: Share of the remaining time for rows that an index has not reached.
GAP_SHARE: Final = 0.5
#: Share of the remaining time for reading everything, so that an answer can follow.
SCAN_SHARE: Final = 0.8
#: Share of the remaining time for scoring what was found.
_SCORING_SHARE: Final = 0.6
#: Longer queries are sentences: parts of words are not what they ask for.
MOST_WORDS_INSIDE: Final = 4
#: Characters of a query in which times are looked for.
_MOST_DATED: Final = 500
#: A store whose newest message is so old is an archive, and its times are those of then.
_OLD: Final = timedelta(days=30)
#: Tokens of a text, where no index tells.
_USUAL_LENGTH: Final = 50.0
EVERYTHING: Final[tuple[tuple[int, int], ...]] = ((0, NO_END),)
WORD_ROUTES: Final[tuple[tuple[str, Literal["cjk", "fts5"]], ...]] = (
    (indexes.CJK.name, "cjk"),
    (indexes.WORDS.name, "fts5"),
)
_ROUTES: Final[dict[str, str]] = {**dict(WORD_ROUTES), indexes.TRIGRAM.name: "trigram"}


def route_of(state: indexes.IndexState) -> str:
    """Return the route that an index is asked by."""
    return _ROUTES[state.name]


@dataclass(slots=True)
class Answer:
    """Candidates, the route they came by, and what marks them in a text."""

    path: str
    found: Found
    marker: q.Matcher | None
    notes: list[str] = field(default_factory=list)
    relaxed: bool = False


class IndexDamaged(Exception):
    """An index that was asked is damaged, and is not asked again in this search."""


class Searcher:
    """One search over one snapshot of the store."""

    def __init__(self, connection: Connection, request: Request) -> None:
        self.connection = connection
        self.request = request
        self.states = indexes.load_states(connection)
        self.visibility = Visibility(
            connection,
            roles=request.roles,
            sources=request.sources,
            exclude=request.exclude_sessions,
            current=request.current_session,
            seen=request.seen,
            after=request.period.after,
            before=request.period.before,
            labels=request.labels,
        )
        self.units: list[Unit] = []
        self.expensive: dict[q.Phrase, int] = {}
        self.counted: dict[tuple[str, q.Phrase], int] = {}
        self.wanted = request.limit + 1  # one more tells whether there is a next page
        #: What was asked for all of the query: index, expression and check; None for the text.
        self.marker: q.Matcher | None = None
        self.strictly: tuple[indexes.IndexState, str, q.Matcher | None] | None = None
        #: Whether everything was looked at for all of the query, and something holds it.
        self.strict_complete = self.strict_found = True
        self._times: tuple[tuple[int, int], ...] | None = None
        #: Indexes found damaged, with the error.
        self.damaged: dict[str, str] = {}

    def usable(self, name: str) -> indexes.IndexState | None:
        """The index, where this connection can ask it for all but its gaps."""
        state = self.states.get(name)
        if state is None or state.state == "detached" or name in self.damaged:
            return None
        return state if indexes.served_by(self.connection, state) is not None else None

    def times(self) -> tuple[tuple[int, int], ...]:
        """The times that the query names, from now; in an old store from its newest message."""
        if self._times is None:
            text = self.request.query[:_MOST_DATED]
            zone = self.request.zone or timezone.utc
            self._times = times_named(text, self._now(), zone) if names_times(text) else ()
        return self._times

    def _now(self) -> datetime:
        now = datetime.now(timezone.utc)
        newest = self.connection.one("SELECT max(timestamp) FROM messages")
        old = newest is not None and datetime_of(newest) < now - _OLD
        return datetime_of(newest) if old else now

    def newest_by_scan(self, marker: q.Matcher) -> Answer:
        """What is too frequent to be merged in time is soon found among the newest."""
        found = self.scanned(marker, SCAN_SHARE)
        found.ranked = False
        return Answer("like", found, marker)

    def scanned(
        self,
        matcher: q.Matcher,
        share: float,
        only: str = "1",
        ranges: Sequence[tuple[int, int]] = EVERYTHING,
    ) -> Found:
        return from_scan(
            self.connection,
            self.visibility,
            matcher,
            ranges,
            wanted=self.wanted,
            sort=self.request.sort,
            only=only,
            share=share,
        )

    # -- steps

    def blame(self, table: str, expression: str, error: apsw.Error) -> NoReturn:
        """Tell damage of an index, which the search goes on without, from the file's."""
        if not is_index_damage(self.connection, error, table, expression):
            raise error
        self.damaged[table] = str(error)
        raise IndexDamaged from error

    def count(self, table: str, phrase: q.Phrase) -> int:
        if phrase in self.expensive:
            return self.expensive[phrase]
        if (table, phrase) not in self.counted:
            counted = 0
            expression = q.to_fts5(phrase)
            if expression is not None:
                try:
                    counted = count_rows(self.connection, table, expression)
                except DAMAGE as error:
                    self.blame(table, expression, error)
            self.counted[table, phrase] = counted
        return self.counted[table, phrase]

    def indexed(
        self,
        state: indexes.IndexState,
        expression: str | None,
        matcher: q.Matcher,
        check: q.Matcher | None,
        *,
        first: int = CANDIDATE_LIMIT,
    ) -> Found:
        """Ask an index, and read what lies in its gaps.

        Args:
            expression: None where it is known that the index holds nothing.
        """
        found = Found()
        if expression is not None:
            found = self.asked(state, expression, check=check, first=first)
        if state.gaps:
            only = "m.substring" if state.name == indexes.TRIGRAM.name else "1"
            found.add(self.scanned(matcher, GAP_SHARE, only, state.gaps))
        return found

    def asked(
        self,
        state: indexes.IndexState,
        expression: str,
        *,
        check: q.Matcher | None = None,
        weights: Sequence[float] = (1.0,),
        first: int,
        suffix: str = "",
    ) -> Found:
        """Ask an index alone."""
        try:
            found = from_index(
                self.connection,
                self.visibility,
                IndexQuery(state.name, expression, check, weights),
                wanted=self.wanted,
                sort=self.request.sort,
                first=first,
                recent=self.request.recency is not None,
            )
        except DAMAGE as error:
            self.blame(state.name, expression, error)
        for each in found.candidates:
            each.found_by = _ROUTES[state.name] + suffix
        return found

    def add_tails(self, found: Found, matcher: q.Matcher) -> None:
        """Look into the part of long tool results that no index holds."""
        if "tool" not in self.request.roles:
            return
        found.add(self.scanned(matcher, GAP_SHARE, "m.index_bytes IS NOT NULL"))

    def rank(
        self,
        found: Found,
        query: q.Query,
        state: indexes.IndexState | None,
        *,
        substring: bool = False,
    ) -> None:
        if self.request.sort != "relevance" or not found.candidates or not found.ranked:
            return
        self.in_time(found, partial(self.score, found, query, state, substring))

    def in_time(self, found: Found, scoring: Callable[[], object]) -> None:
        """Score what was found; where that takes too long, the order of the index stays."""
        try:
            with share_of_deadline(self.connection, _SCORING_SHARE):
                scoring()
        except QueryTimeout:
            self.connection.check_deadline()
            found.scored = False

    def score(
        self, found: Found, query: q.Query, state: indexes.IndexState | None, substring: bool
    ) -> None:
        units = self.units
        counts: dict[q.Phrase, int] = {}
        sizes = Statistics(1, _USUAL_LENGTH)
        if state is not None:
            sizes = statistics(self.connection, state.name)
            if len(units) > 1:
                for unit in units[:CANDIDATE_LIMIT]:
                    if state.name == indexes.CJK.name or unit.phrase.servable("fts5"):
                        counts[unit.phrase] = self.count(state.name, unit.phrase)
        exact = [replace(unit, stems=()) for unit in units]
        if exact:
            grams = loses_diacritics(query, exact)
            evidence = evidence_of(query, exact, counts, sizes, substring=substring, grams=grams)
            most = MOST_SCORED if len(exact) > 1 else MOST_OF_ONE_UNIT
            rerank(
                self.connection,
                found.candidates,
                evidence,
                most=most,
                half_life=self.request.recency,
                times=self.times(),
                explain=self.request.explain,
            )
