# SPDX-License-Identifier: MIT
"""The numbers of BM25 (Robertson and Zaragoza 2009), the same wherever something is ranked.

The C of the extension has its own (``native/fts5_cjk/fts5/rank.c``); a test holds them equal.
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ["B", "K", "idf"]

#: How soon further occurrences of a term stop counting, and how much a text's length matters.
K: Final = 1.2
B: Final = 0.6


def idf(rows: int, matching: int) -> float:
    """Return the weight of a term by its rarity; never negative.

    Args:
        rows: how many texts there are.
        matching: how many of them hold the term.
    """
    rows = max(rows, matching)
    return math.log(1.0 + (rows - matching + 0.5) / (matching + 0.5))
