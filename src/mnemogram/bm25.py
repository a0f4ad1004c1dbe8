# SPDX-License-Identifier: MIT
"""BM25 (Robertson and Zaragoza 2009), the same wherever something is ranked.

Its formula and its numbers are those of ``native/fts5_cjk/text/bm25.h``.
"""

from __future__ import annotations

from mnemogram._native.scorer import B, K, part, rarity

__all__ = ["B", "K", "idf", "part"]


def idf(rows: int, matching: int) -> float:
    """Return the weight of a term by its rarity; never negative.

    Args:
        rows: how many texts there are.
        matching: how many of them hold the term.
    """
    return rarity(max(rows, matching), matching)
