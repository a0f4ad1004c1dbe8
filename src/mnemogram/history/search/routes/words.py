# SPDX-License-Identifier: MIT
"""All of a query, by an index of words; by the text itself where none serves it."""

from __future__ import annotations

from typing import Final

from mnemogram._native import query as q
from mnemogram.history.index import state as indexes
from mnemogram.history.search.fetch import Found
from mnemogram.history.search.nearest import add_nearest, add_spelled
from mnemogram.history.search.prefix_cost import expensive_prefixes
from mnemogram.history.search.rank import MOST_SCORED
from mnemogram.history.search.relax import required
from mnemogram.history.search.searcher import (
    MOST_OF_ONE_UNIT,
    SCAN_SHARE,
    WORD_ROUTES,
    Answer,
    Searcher,
)

__all__ = ["answer"]

#: From here on a query is a sentence: not every word of it can be expected.
_SENTENCE_WORDS: Final = 5
_SENTENCE_TOKENS: Final = 10
_FOLDING_NOTE: Final = (
    "Without the tokenizer extension other widths and variants of characters may be missed."
)


def _is_sentence(query: q.Query) -> bool:
    """Whether a query is rather a sentence than the words to look for."""
    return query.plain and (
        len(query.phrases) >= _SENTENCE_WORDS
        or sum(len(phrase.tokens) for phrase in query.phrases) >= _SENTENCE_TOKENS
    )


def answer(searcher: Searcher, query: q.Query) -> Answer:
    """Ask an index of words for all of a query; where none serves it, the text."""
    marker = searcher.marker = q.compile(query, adjacent=True)
    # Positions run on over punctuation, so that 的好的 is found in 真的好，好的: the
    # text decides where a phrase has overlapping bigrams.
    gapless = any(phrase.gapless for phrase in (*query.phrases, *query.negative))
    first = MOST_SCORED if len(searcher.units) > 1 else MOST_OF_ONE_UNIT
    searcher.expensive = expensive_prefixes(searcher.connection, (*query.phrases, *query.negative))
    for name, path in WORD_ROUTES:
        state = searcher.usable(name)
        if state is None or not query.servable(path):
            continue
        expression = q.to_fts5(query, path, unasked=searcher.expensive)
        if expression is None:
            return searcher.newest_by_scan(marker)
        check = marker if gapless or searcher.expensive else None
        if path == "cjk" and _is_sentence(query) and _lacks_a_word(searcher, query):
            expression = None
            searcher.marker = None  # it stands nowhere else either
        if expression is not None:
            searcher.strictly = (state, expression, check)
        found = searcher.indexed(state, expression, marker, check, first=first)
        notes = []
        if path == "fts5":
            # unicode61 takes 把cacheA节点 for one word: trigrams find what is glued.
            _add_glued(searcher, found, query, marker)
            notes.append(_FOLDING_NOTE)
        if found.candidates or path == "cjk":
            searcher.add_tails(found, marker)
            if path == "cjk":
                add_nearest(searcher, found, query, state, check, first)
            searcher.rank(found, query, state)
            if path == "cjk" and expression is not None:
                add_spelled(searcher, found, query, state, expression, first)
            return Answer(path, found, marker, notes)
    return _checked(searcher, query, marker)


def _lacks_a_word(searcher: Searcher, query: q.Query) -> bool:
    """Whether a word that every answer has to hold stands nowhere in the index.

    FTS5 merges the prefixes of a query before it sees that; and the counts are of use
    to the relaxed search that follows.
    """
    wanted = {
        token.text
        for phrase in required(query.root)
        for token in phrase.tokens[: len(phrase.tokens) - phrase.prefix]
    }
    return any(
        unit.phrase.tokens[0].text in wanted
        and not unit.phrase.prefix
        and searcher.count(indexes.CJK.name, unit.phrase) == 0
        for unit in searcher.units
    )


def _add_glued(searcher: Searcher, found: Found, query: q.Query, marker: q.Matcher) -> None:
    state = searcher.usable(indexes.TRIGRAM.name)
    expression = q.to_trigram(query, stock=True)
    if state is not None and not state.token_version and expression is not None:
        found.add(searcher.indexed(state, expression, marker, marker))
    else:
        found.complete = False  # nothing here can tell


def _checked(searcher: Searcher, query: q.Query, marker: q.Matcher) -> Answer:
    """No index serves the whole query: one that narrows it, then the text itself."""
    words, trigram = searcher.usable(indexes.WORDS.name), searcher.usable(indexes.TRIGRAM.name)
    options: list[tuple[str, indexes.IndexState, str | None]] = []
    if trigram is not None and not trigram.token_version and "tool" not in searcher.request.roles:
        options.append(("trigram", trigram, q.to_trigram(query, stock=True)))
    if words is not None:
        options.append(("fts5", words, q.to_fts5(query, "fts5", superset=True)))
    for path, state, expression in options:
        if expression is None:
            continue
        searcher.strictly = (state, expression, marker)
        found = searcher.indexed(state, expression, marker, marker)
        if found.candidates:
            if path == "fts5":
                _add_glued(searcher, found, query, marker)
            searcher.add_tails(found, marker)
            searcher.rank(found, query, state if path == "fts5" else None)
            return Answer(path, found, marker, [_FOLDING_NOTE])
        # Plain trigrams know no other width or variant of a character: scan the text.
    found = searcher.scanned(marker, SCAN_SHARE)
    searcher.rank(found, query, None)
    return Answer("like", found, marker)
