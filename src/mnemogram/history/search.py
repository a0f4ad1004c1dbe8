# SPDX-License-Identifier: MIT
"""Discover: from a query to evidence, by the first route that answers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal

import apsw

from mnemogram._native import query as q
from mnemogram.database import Connection
from mnemogram.errors import InvalidArgument, QueryTimeout
from mnemogram.history import display, indexes, reading, status
from mnemogram.history.candidates import (
    CANDIDATE_LIMIT,
    Found,
    from_index,
    from_scan,
    lineages_of,
)
from mnemogram.history.grouping import (
    Candidate,
    Visibility,
    best_of_lineages,
    decode_cursor,
    encode_cursor,
)
from mnemogram.history.models import (
    ROLES,
    EvidenceMessage,
    SearchHit,
    SearchResult,
    Time,
    format_time,
    to_microseconds,
)
from mnemogram.history.ranking import Statistics, count_rows, rerank, statistics
from mnemogram.history.relaxing import evidence_of, relaxed_expression, units_of
from mnemogram.history.titles import TitleHit, title_hits
from mnemogram.text import RULES_VERSION, cut, excerpt

__all__ = ["Request", "checked_request", "discover"]

SORTS: Final = ("relevance", "newest", "oldest")
DETAILS: Final = ("adaptive", "full")
BOOKEND_MESSAGES: Final = 3
SNIPPET_CHARS: Final = 160
MAX_EXCLUDED: Final = 100
MAX_TIMEOUT: Final = 600.0
#: Counting a term's matches stops here: beyond it, it is common, and that is enough.
_COUNT_CAP: Final = 200_000
#: Share of the remaining time for rows that an index has not reached.
_GAP_SHARE: Final = 0.5
#: Share of the remaining time for reading everything, so that an answer can follow.
_SCAN_SHARE: Final = 0.8
_EVERY_ID: Final = (0, 2**63 - 1)
_FOLDING_NOTE: Final = (
    "Without the tokenizer extension other widths and variants of characters may be missed."
)
_WORD_ROUTES: Final[tuple[tuple[str, Literal["cjk", "fts5"]], ...]] = (
    (indexes.CJK.name, "cjk"),
    (indexes.WORDS.name, "fts5"),
)


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


@dataclass(slots=True)
class _Answer:
    """Candidates, the route they came by, and what marks them in a text."""

    path: str
    found: Found
    marker: q.Matcher | None
    notes: list[str] = field(default_factory=list)


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
            after=request.after,
            before=request.before,
        )
        self._wanted = request.limit + 1  # one more tells whether there is a next page

    @property
    def states(self) -> dict[str, indexes.IndexState]:
        """The indexes as this snapshot has them."""
        return self._states

    def _usable(self, name: str) -> indexes.IndexState | None:
        """The index, where this connection can ask it for all but its gaps."""
        state = self._states.get(name)
        if state is None or state.state == "detached" or name in self._request.damaged:
            return None
        if state.token_version not in (0, RULES_VERSION):
            return None
        if state.token_version and not self._connection.has_tokenizer:
            return None
        return state

    # -- the cascade

    def run(self, query: q.Query) -> _Answer:
        """Answer by the first route that finds something."""
        answer = self._strict(query)
        if answer.found.candidates or not self._request.cascade:
            return answer
        inside = self._inside_words(query)
        if inside is not None and inside.found.candidates:
            return inside
        if not query.explicit_operators:
            relaxed = self._relaxed(query)
            if relaxed is not None and relaxed.found.candidates:
                relaxed.notes.append("No message holds all of the query; these hold parts of it.")
                return relaxed
        return answer

    def _strict(self, query: q.Query) -> _Answer:
        marker = q.compile(query)
        for name, path in _WORD_ROUTES:
            state = self._usable(name)
            expression = q.to_fts5(query, path) if query.servable(path) else None
            if state is None or expression is None:
                continue
            found = self._indexed(state, expression, marker, None)
            if found is None:
                continue
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

    def _add_glued(self, found: Found, query: q.Query, marker: q.Matcher) -> None:
        state = self._usable(indexes.TRIGRAM.name)
        expression = q.to_trigram(query, stock=True)
        if state is None or state.token_version or expression is None:
            return
        glued = self._indexed(state, expression, marker, marker)
        if glued is not None:
            found.add(glued)

    def _checked(self, query: q.Query, marker: q.Matcher) -> _Answer:
        """No index serves the whole query: one that narrows it, then the text itself."""
        words, trigram = self._usable(indexes.WORDS.name), self._usable(indexes.TRIGRAM.name)
        options: list[tuple[str, indexes.IndexState, str | None]] = []
        if words is not None:
            options.append(("fts5", words, q.to_fts5(query, "fts5", superset=True)))
        if trigram is not None and not trigram.token_version and "tool" not in self._request.roles:
            options.append(("trigram", trigram, q.to_trigram(query, stock=True)))
        for path, state, expression in options:
            if expression is None:
                continue
            found = self._indexed(state, expression, marker, marker)
            if found is not None and found.candidates:
                self._add_tails(found, marker)
                self._rank(found, query, state)
                return _Answer(path, found, marker, [_FOLDING_NOTE])
            # Plain trigrams know no other width or variant of a character: look by eye.
        found = from_scan(
            self._connection,
            self.visibility,
            marker,
            [_EVERY_ID],
            wanted=self._wanted,
            sort=self._request.sort,
            share=_SCAN_SHARE,
        )
        self._rank(found, query, None)
        return _Answer("like", found, marker)

    def _inside_words(self, query: q.Query) -> _Answer | None:
        state = self._usable(indexes.TRIGRAM.name)
        if state is None or not any(phrase.flags & q.WORD for phrase in query.phrases):
            return None
        expression = q.to_trigram(query, stock=not state.token_version)
        if expression is None:
            return None
        marker = q.compile(query, substring=True)
        found = self._indexed(state, expression, marker, marker)
        if found is None:
            return None
        self._rank(found, query, None, substring=True)
        return _Answer("trigram", found, marker)

    def _relaxed(self, query: q.Query) -> _Answer | None:
        for name, path in _WORD_ROUTES:
            state = self._usable(name)
            if state is None:
                continue
            units = [
                unit for unit in units_of(query) if path == "cjk" or unit.phrase.servable(path)
            ]
            if len(units) < 2:
                return None
            sizes = statistics(self._connection, name)
            expression, counts = relaxed_expression(units, sizes.rows, partial(self._count, name))
            if expression is None:
                return None
            evidence = evidence_of(query, units, counts, sizes)
            marker = q.compile(q.Or([unit.stem or unit.phrase for unit in units]))
            found = self._indexed(state, expression, marker, None)
            if found is None:
                continue
            if self._request.sort == "relevance":
                rerank(self._connection, found.candidates, evidence)
            return _Answer(f"{path}_or", found, marker)
        return None

    # -- steps

    def _count(self, table: str, phrase: q.Phrase) -> int:
        expression = q.to_fts5(phrase)
        if expression is None:
            return 0
        return count_rows(self._connection, table, expression, _COUNT_CAP)

    def _indexed(
        self,
        state: indexes.IndexState,
        expression: str,
        matcher: q.Matcher,
        check: q.Matcher | None,
    ) -> Found | None:
        """Ask an index, and read what lies in its gaps; None where it is damaged."""
        request = self._request
        try:
            found = from_index(
                self._connection,
                self.visibility,
                state.name,
                expression,
                wanted=self._wanted,
                sort=request.sort,
                check=check,
            )
        except apsw.CorruptError as error:
            if not indexes.is_index_corruption(error):
                raise
            request.damaged[state.name] = str(error)
            return None
        if state.gaps:
            only = "m.substring" if state.name == indexes.TRIGRAM.name else "1"
            found.add(
                from_scan(
                    self._connection,
                    self.visibility,
                    matcher,
                    state.gaps,
                    wanted=self._wanted,
                    sort=request.sort,
                    only=only,
                    share=_GAP_SHARE,
                )
            )
        return found

    def _add_tails(self, found: Found, matcher: q.Matcher) -> None:
        """Look into the part of long tool results that no index holds."""
        if "tool" not in self._request.roles:
            return
        found.add(
            from_scan(
                self._connection,
                self.visibility,
                matcher,
                [_EVERY_ID],
                wanted=self._wanted,
                sort=self._request.sort,
                only="m.index_bytes IS NOT NULL",
                share=_GAP_SHARE,
            )
        )

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
        units = units_of(query)
        counts: dict[q.Phrase, int] = {}
        sizes = Statistics(1, 50.0)
        if state is not None:
            sizes = statistics(self._connection, state.name)
            if len(units) > 1:
                for unit in units[:CANDIDATE_LIMIT]:
                    if state.name == indexes.CJK.name or unit.phrase.servable("fts5"):
                        counts[unit.phrase] = self._count(state.name, unit.phrase)
        exact = [replace(unit, stem=None) for unit in units]
        if exact:
            evidence = evidence_of(query, exact, counts, sizes, substring=substring)
            rerank(self._connection, found.candidates, evidence)


# --- results ---------------------------------------------------------------------------


def _bookends(connection: Connection, session: int, *, first: bool) -> tuple[EvidenceMessage, ...]:
    sql, edge = (reading.AFTER, -1) if first else (reading.BEFORE, 2**63 - 1)
    rows = list(
        connection.execute(sql, {"session": session, "id": edge, "limit": BOOKEND_MESSAGES})
    )
    return tuple(
        display.evidence(row, display.BOOKEND_CHARS) for row in (rows if first else rows[::-1])
    )


def _snippet(row: tuple[Any, ...], marker: q.Matcher | None) -> tuple[str, tuple[int, int] | None]:
    """Excerpt around the match, and the match's place in the content."""
    content, tool_name, tool_calls = row[6], row[7], row[9]
    if marker is not None:
        for text in (content, tool_calls, tool_name):
            if not text:
                continue
            hits = marker.occurrences(text, limit=1)
            if hits:
                span = (hits[0][1], hits[0][2]) if text is content else None
                return excerpt(text, marker, width=SNIPPET_CHARS), span
    return cut(content, SNIPPET_CHARS)[0], None


def _hit(
    connection: Connection,
    candidate: Candidate,
    request: Request,
    marker: q.Matcher | None,
    *,
    full: bool,
) -> SearchHit:
    session = candidate.session
    row = reading.message_row(connection, candidate.id)
    snippet, span = _snippet(row, marker)
    if full:
        messages, before, after = reading.window_around(
            connection, session.id, row, request.window, span=span
        )
        start = _bookends(connection, session.id, first=True)
        end = _bookends(connection, session.id, first=False)
        shown = {each.id for each in messages}
        start = tuple(each for each in start if each.id not in shown)
        shown |= {each.id for each in start}
        end = tuple(each for each in end if each.id not in shown)
    else:
        messages = (display.evidence(row, display.WINDOW_CHARS, anchor=True, span=span),)
        before, after = reading.counts_around(connection, session.id, candidate.id)
        start = end = ()
    return SearchHit(
        session_id=session.key,
        title=session.title,
        source=session.source,
        model=session.model,
        when=format_time(candidate.timestamp) if row[5] != "legacy_snapshot" else None,
        matched_role=row[2],
        match_message_id=candidate.id,
        snippet=snippet,
        score=round(candidate.score, 6),
        messages=messages,
        bookend_start=start,
        bookend_end=end,
        messages_before=before,
        messages_after=after,
        detail="full" if full else "anchor",
        parent_session_id=session.parent_key,
    )


def _title_hit(connection: Connection, hit: TitleHit, request: Request, *, full: bool) -> SearchHit:
    session = hit.session
    start = _bookends(connection, session.id, first=True) if full else ()
    shown = {each.id for each in start}
    end = _bookends(connection, session.id, first=False) if full else ()
    end = tuple(each for each in end if each.id not in shown)
    total = connection.one(
        "SELECT count(*) FROM messages WHERE session_id = ? AND state <> 'rewound'", (session.id,)
    )
    return SearchHit(
        session_id=session.key,
        title=session.title,
        source=session.source,
        model=session.model,
        when=format_time(hit.last_active_at),
        matched_role=None,
        match_message_id=None,
        snippet=session.title or "",
        score=0.0,
        messages=(),
        bookend_start=start,
        bookend_end=end,
        messages_before=0,
        messages_after=total - len(start) - len(end),
        detail="full" if full else "anchor",
        parent_session_id=session.parent_key,
    )


def _chosen(
    request: Request, answer: _Answer, titles: list[TitleHit]
) -> tuple[list[Candidate | TitleHit], bool]:
    """Order of the answer: the title asked for, matches, then titles with its words."""
    candidates, more = best_of_lineages(
        answer.found.candidates, request.limit + 1, key=request.sort
    )
    by_root = {each.session.root: each for each in candidates}
    chosen: list[Candidate | TitleHit] = []
    exact = [hit for hit in titles if hit.exact][:1] if request.sort == "relevance" else []
    for hit in exact:
        match = by_root.pop(hit.session.root, None)
        same = match is not None and match.session.id == hit.session.id
        chosen.append(match if match is not None and same else hit)
    chosen += [each for each in candidates if each.session.root in by_root]
    known = {each.session.root for each in chosen}
    for hit in titles:
        if hit.session.root not in known:
            known.add(hit.session.root)
            chosen.append(hit)
    return chosen[: request.limit], more or len(chosen) > request.limit


def discover(connection: Connection, request: Request) -> SearchResult:
    """Answer a search on one read transaction.

    ``request.damaged`` names, afterwards, the indexes that turned out to be damaged;
    the caller detaches them once the snapshot is given back.

    Raises:
        QueryTimeout: the time passed before anything was found.
    """
    query = q.parse(request.query)
    search = _Search(connection, request)
    hints = list(query.notes)
    if query.root is None:
        answer = _Answer("empty", Found(), None)
        titles: list[TitleHit] = []
    else:
        answer = search.run(query)
        titles = title_hits(connection, search.visibility, query)
    found = answer.found
    hints += answer.notes
    if not found.complete and not found.candidates and not titles:
        raise QueryTimeout("the deadline passed before every message was looked at")
    if not found.complete:
        hints.append("Not every message was looked at in time: there may be more.")
    if not found.ranked:
        hints.append("Ranking ran out of time: these are the newest matches.")
    if query.root is not None and not found.candidates and not titles:
        hints.append("Nothing matches: try fewer or other words.")
    chosen, more = _chosen(request, answer, titles)
    hits = []
    for place, each in enumerate(chosen):
        full = request.detail == "full" or place == 0
        if isinstance(each, TitleHit):
            hits.append(_title_hit(connection, each, request, full=full))
        else:
            hits.append(_hit(connection, each, request, answer.marker, full=full))
    cursor = None
    if more:
        shown = request.seen | {each.session.root for each in chosen}
        cursor = encode_cursor(request.fingerprint, shown)
    limit_reached = not found.exhausted and lineages_of(found.candidates) > 0
    result = SearchResult(
        success=True,
        mode="discover",
        query=request.query,
        detail=request.detail,
        results=(),
        count=len(hits),
        search_path=answer.path,
        complete=found.complete,
        candidate_limit=CANDIDATE_LIMIT,
        candidate_limit_reached=limit_reached,
        index_status=status.index_status(connection, search.states),
        legacy_import=status.legacy_import(connection),
        hint=None,
        cursor=cursor,
    )
    overhead = display.json_bytes(result) + 400
    fitted, shortened = display.fit_hits(tuple(hits), request.budget, overhead)
    if shortened:
        hints.append("Messages were shortened to fit the size of one answer: scroll for more.")
    return replace(result, results=fitted, hint=" ".join(_sentences(hints)) or None)


def _sentences(hints: Sequence[str]) -> list[str]:
    return [
        each[:1].upper() + each[1:] + ("" if each.endswith((".", "!", "?")) else ".")
        for each in hints
    ]
