# SPDX-License-Identifier: MIT
"""Parts of a query, weighed."""

from __future__ import annotations

from functools import partial

from mnemogram._native import query as q
from mnemogram.history.index import state as indexes
from mnemogram.history.search.fetch import Found
from mnemogram.history.search.nearest import add_titled, add_up
from mnemogram.history.search.prefix_cost import frequent_prefixes
from mnemogram.history.search.rank import MOST_SCORED, Statistics, rerank, statistics
from mnemogram.history.search.relax import (
    Relaxed,
    distinctive,
    evidence_of,
    lone_characters,
    marked,
    relax,
    weights_of,
)
from mnemogram.history.search.scan import parts_from_scan
from mnemogram.history.search.searcher import (
    EVERYTHING,
    GAP_SHARE,
    SCAN_SHARE,
    WORD_ROUTES,
    Answer,
    Searcher,
)

__all__ = ["answer"]


def answer(searcher: Searcher, query: q.Query) -> Answer | None:
    """Ask for the parts of a query, and weigh them: by an index, or else by scanning."""
    units = searcher.units
    if len(units) < 2 and not (query.plain and any(unit.stems for unit in units)):
        return None  # there are no parts of it
    path, found = "like", Found()
    lone = lone_characters(units)
    sizes, gaps = Statistics(0, 1.0), EVERYTHING
    counts: dict[q.Phrase, int] = {}
    asked_for: tuple[indexes.IndexState, Relaxed] | None = None
    for name, route in WORD_ROUTES:
        state = searcher.usable(name)
        if state is None or not all(unit.phrase.servable(route) for unit in units):
            continue
        path, gaps = f"{route}_or", state.gaps
        sizes = statistics(searcher.connection, name)
        # Where only others may see what holds the rest, lone characters are left to ask for.
        for asked in (units, [unit for unit in units if unit.phrase in lone]):
            relaxed = relax(
                asked,
                sizes.rows,
                partial(searcher.count, name),
                partial(frequent_prefixes, searcher.connection, sizes.rows),
            )
            if relaxed is not None and not found.candidates:
                counts |= relaxed.counts
                asked_for = state, relaxed
                found = searcher.asked(
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
        weights = weights_of(units, counts)
        share = SCAN_SHARE if path == "like" else GAP_SHARE
        seen = parts_from_scan(
            searcher.connection, searcher.visibility, weights, gaps, share=share, lone=lone
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
    if searcher.request.sort == "relevance" and found.ranked:
        evidence = evidence_of(query, units, counts, sizes, grams=True)
        if asked_for is not None:
            add_titled(searcher, found, evidence, *asked_for)
        scoring = partial(
            rerank,
            searcher.connection,
            found.candidates,
            evidence,
            half_life=searcher.request.recency,
            times=searcher.times(),
            explain=searcher.request.explain,
        )
        searcher.in_time(found, scoring)
        found.candidates = evidence.holding(found.candidates, distinctive(units, counts))
        add_up(searcher, found, query)
    return Answer(path, found, marked(units, counts))
