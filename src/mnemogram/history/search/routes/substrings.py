# SPDX-License-Identifier: MIT
"""All of a query inside of words, by trigrams."""

from __future__ import annotations

from mnemogram._native import query as q
from mnemogram.history.index import state as indexes
from mnemogram.history.search.searcher import MOST_WORDS_INSIDE, Answer, Searcher

__all__ = ["answer"]


def answer(searcher: Searcher, query: q.Query) -> Answer | None:
    """Ask the trigrams, and the text of what they find, for all of a query."""
    state = searcher.usable(indexes.TRIGRAM.name)
    if state is None or not any(phrase.flags & q.WORD for phrase in query.phrases):
        return None
    if len(query.phrases) > MOST_WORDS_INSIDE and not query.explicit_operators:
        return None
    expression = q.to_trigram(query, stock=not state.token_version)
    if expression is None:
        return None
    marker = q.compile(query, substring=True, adjacent=True)
    found = searcher.indexed(state, expression, marker, marker)
    searcher.rank(found, query, None, substring=True)
    return Answer("trigram", found, marker)
