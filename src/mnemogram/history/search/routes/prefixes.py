# SPDX-License-Identifier: MIT
"""All of a query as beginnings of words."""

from __future__ import annotations

from typing import Final

from mnemogram._native import query as q
from mnemogram.history.index import state as indexes
from mnemogram.history.search.prefix_cost import expensive_prefixes
from mnemogram.history.search.relax import required
from mnemogram.history.search.searcher import MOST_WORDS_INSIDE, Answer, Searcher
from mnemogram.text import STORE_OPTIONS

__all__ = ["answer"]

#: Shorter words begin too many others.
_SHORTEST_PREFIX: Final = 3


def _may_begin(phrase: q.Phrase) -> bool:
    """Whether a phrase ends with a word that is worth asking for as a beginning."""
    last = phrase.tokens[-1]
    word = bool(last.flags & q.WORD) and not phrase.prefix  # a prefix was asked for already
    return word and len(last.text) >= _SHORTEST_PREFIX


def answer(searcher: Searcher, query: q.Query) -> Answer | None:
    """Take words as beginnings, for rows without trigrams: tool results, unattended runs."""
    if not query.plain or len(query.phrases) > MOST_WORDS_INSIDE:
        return None
    if len(list(required(query.root))) < len(query.phrases):
        return None  # some are other spellings
    if not any(map(_may_begin, query.phrases)):
        return None
    nodes: list[q.Node] = [
        (_may_begin(phrase) and q.phrase(phrase.text, prefix=True, config=STORE_OPTIONS)) or phrase
        for phrase in query.phrases
    ]
    state = searcher.usable(indexes.CJK.name)
    root = q.And(nodes) if len(nodes) > 1 else nodes[0]
    expression = q.to_fts5(root)
    if state is None or expression is None or not query.servable("cjk"):
        return None
    marker = q.compile(root, adjacent=True)
    if expensive_prefixes(searcher.connection, marker.phrases):
        answer = searcher.newest_by_scan(marker)
    else:
        gapless = any(phrase.gapless for phrase in query.phrases)
        found = searcher.indexed(state, expression, marker, marker if gapless else None)
        searcher.rank(found, query, None, substring=True)
        answer = Answer("cjk", found, marker)
    answer.notes.append("These hold words that begin with those of the query.")
    return answer
