# SPDX-License-Identifier: MIT
"""Why a result stands where it does: which parts of the query, where, and what they gave."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history.display import MessageRow
from mnemogram.history.models import ExplainedTerm, Explanation
from mnemogram.history.search.rank import Trace
from mnemogram.history.search.titles import TitleHit
from mnemogram.history.search.visibility import Candidate
from mnemogram.text import cut

__all__ = ["explained", "explained_title"]

_DIGITS: Final = 6
#: Parts of a query that are shown, and characters of each.
_MOST_TERMS: Final = 48
_MOST_CHARS: Final = 120
_COLUMNS: Final = ("content", "tool_name", "tool_calls", "title")


def explained(
    candidate: Candidate,
    row: MessageRow,
    marker: q.Matcher | None,
    sort: str,
    deadline: float | None,
) -> Explanation:
    """Return why a message stands where it does.

    Args:
        row: the message.
        marker: what marks the query in texts, for messages that were not scored.
        sort: what the answer is sorted by.
        deadline: until when terms are looked for; those that are not found then are left out.
    """
    texts = (row.content, row.tool_name, row.tool_calls, candidate.session.heading)
    trace = candidate.trace
    if not isinstance(trace, Trace):
        counts = _counts(marker, texts, deadline) if marker is not None else {}
        terms = [
            _term(phrase, "prefix" if phrase.prefix else "word", counts.get(place, {}))
            for place, phrase in enumerate(marker.phrases if marker is not None else ())
        ]
        points = {} if sort != "relevance" else {"index": candidate.score}
        return Explanation(
            by="index" if points else "time",
            terms=tuple(each for each in terms if each.where)[:_MOST_TERMS],
            points=_rounded(points),
        )
    evidence = trace.evidence
    counts = _counts(evidence.matcher, texts, deadline)
    terms = [
        _term(
            phrase,
            evidence.kind_at(place),
            counts.get(place, {}),
            weight=evidence.weights[place],
            points=candidate.parts.get(place, 0.0),
        )
        for place, phrase in enumerate(evidence.phrases)
    ]
    terms = [each for each in terms if each.where or each.points]
    points = dict(trace.points)
    lifted = candidate.score - sum(points.values())
    if round(lifted, _DIGITS):
        points["above_parts"] = lifted  # what holds all of a query, above what holds parts
    folded, not_typed, _ = candidate.apart
    return Explanation(
        by="score",
        terms=tuple(sorted(terms, key=lambda each: -(each.points or 0.0))[:_MOST_TERMS]),
        points=_rounded(points),
        as_typed=not not_typed,
        otherwise_spelled=folded,
        tokens_between=trace.between,
        recency=None if trace.recency is None else round(trace.recency, _DIGITS),
    )


def explained_title(hit: TitleHit) -> Explanation:
    """Return why a session stands where it does that was found by its title."""
    return Explanation(by="exact_title" if hit.exact else "title", terms=(), points={})


def _counts(
    matcher: q.Matcher, texts: Sequence[str | None], deadline: float | None
) -> dict[int, dict[str, int]]:
    """How often each phrase stands in each text, by place."""
    found: dict[int, dict[str, int]] = {}
    with contextlib.suppress(QueryTimeout):
        for name, text in zip(_COLUMNS, texts, strict=True):
            counted = matcher.count(text, deadline=deadline)[0] if text else ()
            for place, count in enumerate(counted):
                if count:
                    found.setdefault(place, {})[name] = count
    return found


def _term(
    phrase: q.Phrase,
    kind: str,
    where: Mapping[str, int],
    *,
    weight: float | None = None,
    points: float | None = None,
) -> ExplainedTerm:
    return ExplainedTerm(
        text=cut(phrase.text, _MOST_CHARS)[0],
        kind=kind,
        where=dict(where),
        weight=None if weight is None else round(weight, _DIGITS),
        points=None if points is None else round(points, _DIGITS),
    )


def _rounded(points: Mapping[str, float]) -> dict[str, float]:
    rounded = {name: round(value, _DIGITS) for name, value in points.items()}
    return {name: value for name, value in rounded.items() if value}
