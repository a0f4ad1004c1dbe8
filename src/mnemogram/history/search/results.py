# SPDX-License-Identifier: MIT
"""From the candidates of a search to the conversations it shows."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import Final

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history import display, labels, reading
from mnemogram.history.models import EvidenceMessage, SearchHit
from mnemogram.history.search.explain import explained, explained_title
from mnemogram.history.search.request import Request
from mnemogram.history.search.titles import TitleHit
from mnemogram.history.search.visibility import Candidate, best_of_lineages
from mnemogram.moments import format_time
from mnemogram.sqlite.database import Connection
from mnemogram.text import cut, excerpt

__all__ = ["choose", "shown"]

#: Part of the time left in which a match is looked for in one text, to show it.
_MARKING_SHARE: Final = 0.2
BOOKEND_MESSAGES: Final = 3
SNIPPET_CHARS: Final = 160


def _bookends(connection: Connection, session: int, *, first: bool) -> tuple[EvidenceMessage, ...]:
    rows = (
        reading.rows_after(connection, session, reading.BEGINNING, BOOKEND_MESSAGES)
        if first
        else reading.rows_before(connection, session, reading.END, BOOKEND_MESSAGES)
    )
    return tuple(display.evidence(row, display.BOOKEND_CHARS) for row in rows)


def _snippet(
    row: display.MessageRow, marker: q.Matcher | None, deadline: float | None
) -> tuple[str, tuple[int, int] | None]:
    """Excerpt around the match, and the match's place in the content.

    Where it is not found by the deadline, the beginning of the content.
    """
    if marker is not None:
        with contextlib.suppress(QueryTimeout):
            for text in (row.content, row.tool_calls, row.tool_name):
                if not text:
                    continue
                hits = marker.occurrences(text, limit=1, deadline=deadline)
                if hits:
                    span = (hits[0][1], hits[0][2]) if text is row.content else None
                    return excerpt(text, marker, width=SNIPPET_CHARS, deadline=deadline), span
    return cut(row.content, SNIPPET_CHARS)[0], None


def _soon(connection: Connection) -> float | None:
    """Return until when one text may be looked through, to show it."""
    remaining = connection.remaining()
    return None if remaining is None else time.monotonic() + max(0.0, remaining) * _MARKING_SHARE


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
    connection.check_deadline()  # to read one long text is one step of SQLite's
    snippet, span = _snippet(row, marker, _soon(connection))
    connection.check_deadline()
    explanation = None
    if request.explain:
        explanation = explained(candidate, row, marker, request.sort, _soon(connection))
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
        before, after = reading.counts_around(connection, session.id, row)
        start = end = ()
    tags, metadata = labels.of_session(connection, session.id)
    return SearchHit(
        session_id=session.key,
        title=session.title,
        source=session.source,
        model=session.model,
        when=format_time(candidate.timestamp),
        matched_role=row.role,
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
        partial=candidate.partial,
        found_by=candidate.found_by,
        explanation=explanation,
        tags=tags,
        metadata=display.shown_metadata(metadata),
    )


def _title_hit(connection: Connection, hit: TitleHit, request: Request, *, full: bool) -> SearchHit:
    session = hit.session
    start = _bookends(connection, session.id, first=True) if full else ()
    shown = {each.id for each in start}
    end = _bookends(connection, session.id, first=False) if full else ()
    end = tuple(each for each in end if each.id not in shown)
    total = reading.shown_count(connection, session.id)
    tags, metadata = labels.of_session(connection, session.id)
    return SearchHit(
        session_id=session.key,
        title=session.title,
        source=session.source,
        model=session.model,
        when=format_time(hit.last_active_at),
        matched_role=None,
        match_message_id=None,
        snippet=(session.heading if hit.tagged else session.title) or "",
        score=0.0,
        messages=(),
        bookend_start=start,
        bookend_end=end,
        messages_before=0,
        messages_after=total - len(start) - len(end),
        detail="full" if full else "anchor",
        parent_session_id=session.parent_key,
        found_by="tag" if hit.tagged else "title",
        tags=tags,
        metadata=display.shown_metadata(metadata),
        explanation=explained_title(hit) if request.explain else None,
    )


def choose(
    request: Request, found: list[Candidate], titles: list[TitleHit]
) -> tuple[list[Candidate | TitleHit], bool]:
    """Order of the answer: the title asked for, what holds all of the query, parts of it.

    Matches in messages stand above sessions found by the words of their title.
    """
    candidates, more = best_of_lineages(found, request.limit + 1, key=request.sort)
    by_root = {each.session.root: each for each in candidates}
    chosen: list[Candidate | TitleHit] = []
    exact = [hit for hit in titles if hit.exact][:1] if request.sort == "relevance" else []
    for hit in exact:
        match = by_root.pop(hit.session.root, None)
        same = match is not None and match.session.id == hit.session.id
        chosen.append(match if match is not None and same else hit)
    left = [each for each in candidates if each.session.root in by_root]
    chosen += [each for each in left if not each.partial]
    known = {each.session.root for each in chosen}
    for hit in titles:
        if hit.session.root not in known:
            known.add(hit.session.root)
            match = by_root.get(hit.session.root)
            same = match is not None and match.session.id == hit.session.id
            chosen.append(replace(match, partial=False) if match is not None and same else hit)
    chosen += [each for each in left if each.partial and each.session.root not in known]
    return chosen[: request.limit], more or len(chosen) > request.limit


def shown(
    connection: Connection,
    request: Request,
    chosen: list[Candidate | TitleHit],
    marker: q.Matcher | None,
) -> tuple[SearchHit, ...]:
    """Return the chosen as results: the first with its surroundings, or all of them."""
    hits = []
    for place, each in enumerate(chosen):
        full = request.detail == "full" or place == 0
        if isinstance(each, TitleHit):
            hits.append(_title_hit(connection, each, request, full=full))
        else:
            hits.append(_hit(connection, each, request, marker, full=full))
    return tuple(hits)
