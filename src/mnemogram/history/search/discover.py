# SPDX-License-Identifier: MIT
"""Discover: from a query to evidence, by the first route that answers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal, NoReturn

import apsw

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history import display, status
from mnemogram.history.browsing import missed_day
from mnemogram.history.elsewhere import Elsewhere, Match, has_hidden_sessions, matches_of
from mnemogram.history.index import state as indexes
from mnemogram.history.index.damage import is_index_corruption
from mnemogram.history.models import ROLES, SearchHit, SearchResult
from mnemogram.history.search.fetch import CANDIDATE_LIMIT, Found, from_index, lineages_of
from mnemogram.history.search.prefix_cost import dear_prefixes, frequent_prefixes
from mnemogram.history.search.rank import MOST_SCORED, Statistics, count_rows, rerank, statistics
from mnemogram.history.search.relax import (
    Unit,
    asks_several,
    evidence_of,
    lone_characters,
    loses_diacritics,
    marked,
    relax,
    telling,
    units_of,
    worths_of,
)
from mnemogram.history.search.request import Request
from mnemogram.history.search.results import choose, shown
from mnemogram.history.search.scan import NO_END, from_scan, parts_from_scan
from mnemogram.history.search.titles import TitleHit, title_hits
from mnemogram.history.search.visibility import MAX_SEEN, Candidate, Visibility, encode_cursor
from mnemogram.sqlite.connection import translate
from mnemogram.sqlite.database import Connection, share_of_deadline
from mnemogram.text import STORE_OPTIONS

__all__ = ["Outcome", "discover", "outcome_of"]

#: Candidates of a single word or bigram that are scored exactly: there its frequency,
#: which the index ranked by, says nearly all.
_MOST_OF_ONE_UNIT: Final = 100
#: From here on a query is a sentence: not every word of it can be expected.
_SENTENCE_WORDS: Final = 5
_SENTENCE_TOKENS: Final = 10
#: Shorter words begin too many others.
_SHORTEST_BEGINNING: Final = 3
#: Longer queries are sentences: parts of words are not what they ask for.
_MOST_WORDS_INSIDE: Final = 4
#: Share of the remaining time for rows that an index has not reached.
_GAP_SHARE: Final = 0.5
#: Share of the remaining time for reading everything, so that an answer can follow.
_SCAN_SHARE: Final = 0.8
#: Shares for scoring what was found, for filling it up with parts of a sentence, for titles.
_SCORING_SHARE: Final = 0.6
_FILLING_SHARE: Final = 0.7
_TITLES_SHARE: Final = 0.5
#: Tokens of a text, where no index tells.
_USUAL_LENGTH: Final = 50.0
_EVERYTHING: Final[tuple[tuple[int, int], ...]] = ((0, NO_END),)
_FOLDING_NOTE: Final = (
    "Without the tokenizer extension other widths and variants of characters may be missed."
)
_WORD_ROUTES: Final[tuple[tuple[str, Literal["cjk", "fts5"]], ...]] = (
    (indexes.CJK.name, "cjk"),
    (indexes.WORDS.name, "fts5"),
)


_ROUTES: Final[dict[str, str]] = {**dict(_WORD_ROUTES), indexes.TRIGRAM.name: "trigram"}
#: Share of the remaining time for looking at what is left out of an answer.
_ELSEWHERE_SHARE: Final = 0.2


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


@dataclass(slots=True)
class _Answer:
    """Candidates, the route they came by, and what marks them in a text."""

    path: str
    found: Found
    marker: q.Matcher | None
    notes: list[str] = field(default_factory=list)
    relaxed: bool = False


def _is_sentence(query: q.Query) -> bool:
    """Whether a query is rather a sentence than the words to look for."""
    return query.plain and (
        len(query.phrases) >= _SENTENCE_WORDS
        or sum(len(phrase.tokens) for phrase in query.phrases) >= _SENTENCE_TOKENS
    )


def _may_begin(phrase: q.Phrase) -> bool:
    """Whether a phrase ends with a word that is worth asking for as a beginning."""
    last = phrase.tokens[-1]
    word = bool(last.flags & q.WORD) and not phrase.prefix  # a prefix was asked for already
    return word and len(last.text) >= _SHORTEST_BEGINNING


class _IndexDamaged(Exception):
    """An index that was asked is damaged, and is not asked again in this search."""


class _Search:
    """One search over one snapshot of the store."""

    def __init__(self, connection: Connection, request: Request) -> None:
        self._connection = connection
        self._request = request
        self._states = indexes.load_states(connection)
        self.visibility = Visibility(
            connection,
            roles=request.roles,
            sources=request.sources,
            exclude=request.exclude_sessions,
            current=request.current_session,
            seen=request.seen,
            after=request.period.after,
            before=request.period.before,
        )
        self._units: list[Unit] = []
        self._dear: dict[q.Phrase, int] = {}
        self._counted: dict[tuple[str, q.Phrase], int] = {}
        self._wanted = request.limit + 1  # one more tells whether there is a next page
        #: What was asked for all of the query: index, expression and check; None for the text.
        self._marker: q.Matcher | None = None
        self._strictly: tuple[indexes.IndexState, str, q.Matcher | None] | None = None
        #: Whether everything was looked at for all of the query, and something holds it.
        self.strict_complete = self.strict_found = True
        #: Indexes found damaged, with the error.
        self.damaged: dict[str, str] = {}

    @property
    def states(self) -> dict[str, indexes.IndexState]:
        """The indexes as this snapshot has them."""
        return self._states

    def _usable(self, name: str) -> indexes.IndexState | None:
        """The index, where this connection can ask it for all but its gaps."""
        state = self._states.get(name)
        if state is None or state.state == "detached" or name in self.damaged:
            return None
        return state if indexes.served_by(self._connection, state) is not None else None

    # -- the cascade

    def run(self, query: q.Query) -> _Answer:
        """Answer by the first route that finds something, without any damaged index."""
        self._units = units_of(query)
        while True:
            with contextlib.suppress(_IndexDamaged):
                return self._first_that_finds(query)

    def _first_that_finds(self, query: q.Query) -> _Answer:
        self._strictly = None
        answer = self._strict(query)
        self.strict_complete = answer.found.complete
        self.strict_found = bool(answer.found.candidates)
        if not self._request.cascade:
            return answer
        if answer.found.candidates:
            return self._filled_up(answer, query)
        for route in (self._inside_words, self._beginnings):
            other = route(query)
            if other is not None and other.found.candidates:
                other.found.complete &= answer.found.complete
                return self._filled_up(other, query)
        if not query.explicit_operators:
            relaxed = self._relaxed(query)
            if relaxed is not None and relaxed.found.candidates:
                relaxed.found.complete &= answer.found.complete
                relaxed.relaxed = True
                return relaxed
        return answer

    def _filled_up(self, answer: _Answer, query: q.Query) -> _Answer:
        """Add to what holds all of a query what holds parts of it, below."""
        held = lineages_of(answer.found.candidates)
        if held >= self._request.limit or self._request.sort != "relevance":
            return answer
        if not asks_several(query):
            return answer
        try:
            with share_of_deadline(self._connection, _FILLING_SHARE):
                relaxed = self._relaxed(query)
        except QueryTimeout:
            self._connection.check_deadline()
            answer.notes.append(
                "Messages that hold parts of the query were not looked for in time."
            )
            answer.found.exhausted = False
            return answer
        whole = {each.id for each in answer.found.candidates}
        if relaxed is None or whole >= {each.id for each in relaxed.found.candidates}:
            return answer
        best = max(each.score for each in relaxed.found.candidates)
        for each in answer.found.candidates:
            each.score += best + 1.0
        answer.found.add(relaxed.found)
        return _Answer(relaxed.path, answer.found, relaxed.marker, answer.notes)

    def _strict(self, query: q.Query) -> _Answer:
        marker = self._marker = q.compile(query, adjacent=True)
        # Positions run on over punctuation, so that 的好的 is found in 真的好，好的: the
        # text decides where a phrase has overlapping bigrams.
        gapless = any(phrase.gapless for phrase in (*query.phrases, *query.negative))
        first = MOST_SCORED if len(self._units) > 1 else _MOST_OF_ONE_UNIT
        self._dear = dear_prefixes(self._connection, (*query.phrases, *query.negative))
        for name, path in _WORD_ROUTES:
            state = self._usable(name)
            if state is None or not query.servable(path):
                continue
            expression = q.to_fts5(query, path, unasked=self._dear)
            if expression is None:
                return self._by_eye(marker)
            check = marker if gapless or self._dear else None
            if path == "cjk" and _is_sentence(query) and self._lacks_a_word(query):
                expression = None
                self._marker = None  # it stands nowhere else either
            if expression is not None:
                self._strictly = (state, expression, check)
            found = self._indexed(state, expression, marker, check, first=first)
            notes = []
            if path == "fts5":
                # unicode61 takes 把cacheA节点 for one word: trigrams find what is glued.
                self._add_glued(found, query, marker)
                notes.append(_FOLDING_NOTE)
            if found.candidates or path == "cjk":
                self._add_tails(found, marker)
                self._rank(found, query, state)
                return _Answer(path, found, marker, notes)
        return self._checked(query, marker)

    def _lacks_a_word(self, query: q.Query) -> bool:
        """Whether a word that every answer has to hold stands nowhere in the index.

        FTS5 merges the prefixes of a query before it sees that; and the counts are of use
        to the relaxed search that follows.
        """
        required = {
            token.text
            for phrase in query.phrases
            for token in phrase.tokens[: len(phrase.tokens) - phrase.prefix]
        }
        return any(
            unit.phrase.tokens[0].text in required
            and not unit.phrase.prefix
            and self._count(indexes.CJK.name, unit.phrase) == 0
            for unit in self._units
        )

    def _by_eye(self, marker: q.Matcher) -> _Answer:
        """What is too frequent to be merged in time is soon found among the newest."""
        found = self._scanned(marker, _SCAN_SHARE)
        found.ranked = False
        return _Answer("like", found, marker)

    def _scanned(
        self,
        matcher: q.Matcher,
        share: float,
        only: str = "1",
        ranges: Sequence[tuple[int, int]] = _EVERYTHING,
    ) -> Found:
        return from_scan(
            self._connection,
            self.visibility,
            matcher,
            ranges,
            wanted=self._wanted,
            sort=self._request.sort,
            only=only,
            share=share,
        )

    def _add_glued(self, found: Found, query: q.Query, marker: q.Matcher) -> None:
        state = self._usable(indexes.TRIGRAM.name)
        expression = q.to_trigram(query, stock=True)
        if state is not None and not state.token_version and expression is not None:
            found.add(self._indexed(state, expression, marker, marker))
        else:
            found.complete = False  # nothing here can tell

    def _checked(self, query: q.Query, marker: q.Matcher) -> _Answer:
        """No index serves the whole query: one that narrows it, then the text itself."""
        words, trigram = self._usable(indexes.WORDS.name), self._usable(indexes.TRIGRAM.name)
        options: list[tuple[str, indexes.IndexState, str | None]] = []
        if trigram is not None and not trigram.token_version and "tool" not in self._request.roles:
            options.append(("trigram", trigram, q.to_trigram(query, stock=True)))
        if words is not None:
            options.append(("fts5", words, q.to_fts5(query, "fts5", superset=True)))
        for path, state, expression in options:
            if expression is None:
                continue
            self._strictly = (state, expression, marker)
            found = self._indexed(state, expression, marker, marker)
            if found.candidates:
                if path == "fts5":
                    self._add_glued(found, query, marker)
                self._add_tails(found, marker)
                self._rank(found, query, state if path == "fts5" else None)
                return _Answer(path, found, marker, [_FOLDING_NOTE])
            # Plain trigrams know no other width or variant of a character: look by eye.
        found = self._scanned(marker, _SCAN_SHARE)
        self._rank(found, query, None)
        return _Answer("like", found, marker)

    def _inside_words(self, query: q.Query) -> _Answer | None:
        state = self._usable(indexes.TRIGRAM.name)
        if state is None or not any(phrase.flags & q.WORD for phrase in query.phrases):
            return None
        if len(query.phrases) > _MOST_WORDS_INSIDE and not query.explicit_operators:
            return None
        expression = q.to_trigram(query, stock=not state.token_version)
        if expression is None:
            return None
        marker = q.compile(query, substring=True, adjacent=True)
        found = self._indexed(state, expression, marker, marker)
        self._rank(found, query, None, substring=True)
        return _Answer("trigram", found, marker)

    def _beginnings(self, query: q.Query) -> _Answer | None:
        """Take words as beginnings, for rows without trigrams: tool results, unattended runs."""
        if not query.plain or len(query.phrases) > _MOST_WORDS_INSIDE:
            return None
        if not any(map(_may_begin, query.phrases)):
            return None
        nodes: list[q.Node] = [
            (_may_begin(phrase) and q.phrase(phrase.text, prefix=True, config=STORE_OPTIONS))
            or phrase
            for phrase in query.phrases
        ]
        state = self._usable(indexes.CJK.name)
        root = q.And(nodes) if len(nodes) > 1 else nodes[0]
        expression = q.to_fts5(root)
        if state is None or expression is None or not query.servable("cjk"):
            return None
        marker = q.compile(root, adjacent=True)
        if dear_prefixes(self._connection, marker.phrases):
            answer = self._by_eye(marker)
        else:
            gapless = any(phrase.gapless for phrase in query.phrases)
            found = self._indexed(state, expression, marker, marker if gapless else None)
            self._rank(found, query, None, substring=True)
            answer = _Answer("cjk", found, marker)
        answer.notes.append("These hold words that begin with those of the query.")
        return answer

    def _relaxed(self, query: q.Query) -> _Answer | None:
        """Ask for the parts of a query, and weigh them: by an index, or else by eye."""
        units = self._units
        if len(units) < 2 and not (query.plain and any(unit.stems for unit in units)):
            return None  # there are no parts of it
        path, found = "like", Found()
        lone = lone_characters(units)
        sizes, gaps = Statistics(0, 1.0), _EVERYTHING
        counts: dict[q.Phrase, int] = {}
        for name, route in _WORD_ROUTES:
            state = self._usable(name)
            if state is None or not all(unit.phrase.servable(route) for unit in units):
                continue
            path, gaps = f"{route}_or", state.gaps
            sizes = statistics(self._connection, name)
            # Where only others may see what holds the rest, lone characters are left to ask for.
            for asked in (units, [unit for unit in units if unit.phrase in lone]):
                relaxed = relax(
                    asked,
                    sizes.rows,
                    partial(self._count, name),
                    partial(frequent_prefixes, self._connection, sizes.rows),
                )
                if relaxed is not None and not found.candidates:
                    counts |= relaxed.counts
                    found = self._asked(
                        state,
                        relaxed.expression,
                        weights=relaxed.weights,
                        first=MOST_SCORED,
                        suffix="_or",
                    )
                if found.candidates or not lone:
                    break
            break
        if gaps:
            worths = worths_of(units, counts)
            share = _SCAN_SHARE if path == "like" else _GAP_SHARE
            seen = parts_from_scan(
                self._connection, self.visibility, worths, gaps, share=share, lone=lone
            )
            found.add(seen.found)
            average = sizes.average if sizes.rows > seen.rows else seen.average
            sizes = Statistics(sizes.rows + seen.rows, average)
            counts = {
                each: counts.get(each, 0) + seen.holding.get(each, 0)
                for each in {**counts, **seen.holding}
            }
        if not found.candidates:
            return None
        for each in found.candidates:
            each.partial = True
        if self._request.sort == "relevance" and found.ranked:
            evidence = evidence_of(query, units, counts, sizes, grams=True)
            scoring = partial(
                rerank,
                self._connection,
                found.candidates,
                evidence,
                half_life=self._request.recency,
            )
            self._in_time(found, scoring)
            found.candidates = evidence.holding(found.candidates, telling(units, counts))
        return _Answer(path, found, marked(units, counts))

    def titles(self, query: q.Query, answer: _Answer) -> list[TitleHit]:
        """Return sessions by title; where messages were found, only if time is left."""
        try:
            with share_of_deadline(self._connection, _TITLES_SHARE):
                return title_hits(self._connection, self.visibility, query)
        except QueryTimeout:
            self._connection.check_deadline()
            answer.found.complete = False
            return []

    def elsewhere(self) -> Elsewhere:
        """Return what holds all of the query and is left out: see ``Elsewhere``.

        Other roles are looked at only where those asked for hold nothing.
        """
        request = self._request
        elsewhere = Elsewhere()
        hidden = request.sources is None and has_hidden_sessions(self._connection)
        others = not self.strict_found and set(request.roles) != set(ROLES)
        if not hidden and not others:
            return elsewhere
        visibility = Visibility(
            self._connection,
            roles=ROLES if others else request.roles,
            sources=request.sources or (),
            exclude=request.exclude_sessions,
            current=request.current_session,
            after=request.period.after,
            before=request.period.before,
        )
        try:
            with share_of_deadline(self._connection, _ELSEWHERE_SHARE):
                for match in self._matches(visibility, elsewhere):
                    elsewhere.add(match, request.roles, hidden=hidden)
        except (QueryTimeout, _IndexDamaged):
            self._connection.check_deadline()
            elsewhere.exact = False
        return elsewhere

    def _matches(self, visibility: Visibility, elsewhere: Elsewhere) -> Iterator[Match]:
        if self._strictly is not None:
            state, expression, check = self._strictly
            elsewhere.exact &= not state.gaps
            try:
                yield from matches_of(
                    self._connection, visibility, state.name, expression, check, elsewhere
                )
            except apsw.CorruptError as error:
                self._blame(state.name, expression, error)
        elif self._marker is not None:
            found = from_scan(
                self._connection,
                visibility,
                self._marker,
                _EVERYTHING,
                wanted=CANDIDATE_LIMIT,
                sort="newest",
            )
            elsewhere.exact &= found.complete
            for each in found.candidates:
                yield each.id, each.role, each.session.id, each.session.source

    # -- steps

    def _blame(self, table: str, expression: str, error: apsw.CorruptError) -> NoReturn:
        """Tell damage of an index, which the search goes on without, from the file's."""
        if not is_index_corruption(self._connection, error, table, expression):
            raise error
        self.damaged[table] = str(error)
        raise _IndexDamaged from error

    def _count(self, table: str, phrase: q.Phrase) -> int:
        if phrase in self._dear:
            return self._dear[phrase]
        if (table, phrase) not in self._counted:
            counted = 0
            expression = q.to_fts5(phrase)
            if expression is not None:
                try:
                    counted = count_rows(self._connection, table, expression)
                except apsw.CorruptError as error:
                    self._blame(table, expression, error)
            self._counted[table, phrase] = counted
        return self._counted[table, phrase]

    def _indexed(
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
            found = self._asked(state, expression, check=check, first=first)
        if state.gaps:
            only = "m.substring" if state.name == indexes.TRIGRAM.name else "1"
            found.add(self._scanned(matcher, _GAP_SHARE, only, state.gaps))
        return found

    def _asked(
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
                self._connection,
                self.visibility,
                state.name,
                expression,
                wanted=self._wanted,
                sort=self._request.sort,
                check=check,
                weights=weights,
                first=first,
                recent=self._request.recency is not None,
            )
        except apsw.CorruptError as error:
            self._blame(state.name, expression, error)
        for each in found.candidates:
            each.found_by = _ROUTES[state.name] + suffix
        return found

    def _add_tails(self, found: Found, matcher: q.Matcher) -> None:
        """Look into the part of long tool results that no index holds."""
        if "tool" not in self._request.roles:
            return
        found.add(self._scanned(matcher, _GAP_SHARE, "m.index_bytes IS NOT NULL"))

    def _rank(
        self,
        found: Found,
        query: q.Query,
        state: indexes.IndexState | None,
        *,
        substring: bool = False,
    ) -> None:
        if self._request.sort != "relevance" or not found.candidates or not found.ranked:
            return
        self._in_time(found, partial(self._score, found, query, state, substring))

    def _in_time(self, found: Found, scoring: Callable[[], object]) -> None:
        """Score what was found; where that takes too long, the order of the index stays."""
        try:
            with share_of_deadline(self._connection, _SCORING_SHARE):
                scoring()
        except QueryTimeout:
            self._connection.check_deadline()
            found.scored = False

    def _score(
        self, found: Found, query: q.Query, state: indexes.IndexState | None, substring: bool
    ) -> None:
        units = self._units
        counts: dict[q.Phrase, int] = {}
        sizes = Statistics(1, _USUAL_LENGTH)
        if state is not None:
            sizes = statistics(self._connection, state.name)
            if len(units) > 1:
                for unit in units[:CANDIDATE_LIMIT]:
                    if state.name == indexes.CJK.name or unit.phrase.servable("fts5"):
                        counts[unit.phrase] = self._count(state.name, unit.phrase)
        exact = [replace(unit, stems=()) for unit in units]
        if exact:
            grams = loses_diacritics(query, exact)
            evidence = evidence_of(query, exact, counts, sizes, substring=substring, grams=grams)
            most = MOST_SCORED if len(exact) > 1 else _MOST_OF_ONE_UNIT
            rerank(
                self._connection,
                found.candidates,
                evidence,
                most=most,
                half_life=self._request.recency,
            )


def discover(connection: Connection, request: Request) -> SearchResult:
    """Answer a search on one read transaction.

    Raises:
        QueryTimeout: the time passed before anything was found.
    """
    return outcome_of(connection, request).answered()


def outcome_of(connection: Connection, request: Request) -> Outcome:
    """Answer a search on one read transaction, and say which indexes are damaged."""
    search = _Search(connection, request)
    try:
        return Outcome(_discover(connection, request, search), None, tuple(search.damaged))
    except (QueryTimeout, apsw.InterruptError) as error:
        timeout = error if isinstance(error, QueryTimeout) else translate(error)
        if not search.damaged or not isinstance(timeout, QueryTimeout):
            raise
        return Outcome(None, timeout, tuple(search.damaged))


def _discover(connection: Connection, request: Request, search: _Search) -> SearchResult:
    query = q.parse(request.query, config=STORE_OPTIONS)
    hints = list(query.notes)
    elsewhere = Elsewhere()
    if query.root is None:
        answer = _Answer("empty", Found(), None)
        titles: list[TitleHit] = []
    else:
        answer = search.run(query)
        titles = search.titles(query, answer)
        elsewhere = search.elsewhere()
    found = answer.found
    hints += answer.notes
    if not found.complete and not found.candidates and not titles:
        raise QueryTimeout("the deadline passed before every message was looked at")
    if query.root is not None and not found.candidates and not titles:
        hints.append(_nothing(request, elsewhere))
    elif answer.relaxed:
        hints.append(_parts(request, elsewhere, complete=search.strict_complete))
    hints += elsewhere.hints()
    if not found.complete:
        hints.append("Not every message was looked at in time: there may be more.")
    if not found.ranked:
        hints.append("Ranking ran out of time: these are the newest matches.")
    elif not found.scored:
        hints.append("Scoring ran out of time: the order is a rough one.")
    hints += [
        f"The index {name} was found damaged; maintenance builds it anew."
        for name in search.damaged
    ]
    hints += missed_day(connection, request.period)
    chosen, more = choose(request, found.candidates, titles)
    parts = [isinstance(each, Candidate) and each.partial for each in chosen]
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
        index_status=status.index_status(connection, search.states, search.damaged),
        legacy_import=status.legacy_import(connection),
        hint=None,
        cursor=cursor,
        found_by=tuple(dict.fromkeys(hit.found_by for hit in hits)),
        left_out=elsewhere.counts(),
    )
    overhead = display.json_bytes(result) + 400
    fitted, shortened = display.fit_hits(hits, request.budget, overhead)
    if shortened:
        hints.append("Messages were shortened to fit the size of one answer: scroll for more.")
    return replace(result, results=fitted, hint=" ".join(_sentences(hints)) or None)


def _path(path: str, hits: Sequence[SearchHit]) -> str:
    """Return the route of an answer: the one that was taken, if any result came by it."""
    routes = [hit.found_by for hit in hits if hit.found_by != "title"]
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
