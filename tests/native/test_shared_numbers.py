# SPDX-License-Identifier: MIT
"""Numbers that C and Python both need are the same in both."""

from __future__ import annotations

import math
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mnemogram import bm25

RANK = Path(__file__).resolve().parents[2] / "native" / "fts5_cjk" / "fts5" / "rank.c"


def test_the_extension_ranks_with_the_same_saturation() -> None:
    found = re.search(r"^#define RANK_K (\S+)$", RANK.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert float(found[1]) == bm25.K


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_rarer_term_weighs_more_and_none_weighs_less_than_nothing(rows: int, some: int) -> None:
    assert bm25.idf(rows, some) > 0.0
    assert bm25.idf(rows, some + 1) < bm25.idf(rows, some) or some >= rows
    if some <= rows:  # as rank.c and the scorer compute it
        assert bm25.idf(rows, some) == math.log(1.0 + ((rows - some) + 0.5) / (some + 0.5))
