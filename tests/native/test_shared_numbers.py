# SPDX-License-Identifier: MIT
"""Numbers that C and Python both need are the same in both."""

from __future__ import annotations

import math
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mnemogram import bm25

NATIVE = Path(__file__).resolve().parents[2] / "native" / "fts5_cjk"


def test_the_extension_and_the_scorer_rank_by_one_formula() -> None:
    header = (NATIVE / "text" / "bm25.h").read_text(encoding="utf-8")
    numbers = dict(re.findall(r"^#define BM25_(\w) (\S+)", header, re.MULTILINE))
    assert {name: float(number) for name, number in numbers.items()} == {
        "K": bm25.K,
        "B": bm25.B,
    }
    for path in (NATIVE / "fts5" / "rank.c", NATIVE.parents[1] / "cython" / "scorer.pyx"):
        text = path.read_text(encoding="utf-8")
        assert "bm25_part(" in text
        assert not re.search(r"\blog\(|\b1\.2\b", text)


@given(st.integers(1, 1_000))
def test_further_occurrences_count_less_and_less(count: int) -> None:
    first, second, third = (bm25.part(1.0, count + each, bm25.K) for each in range(3))
    assert first < second < third
    assert third - second < second - first


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_rarer_term_weighs_more_and_none_weighs_less_than_nothing(rows: int, some: int) -> None:
    assert bm25.idf(rows, some) > 0.0
    assert bm25.idf(rows, some + 1) < bm25.idf(rows, some) or some >= rows
    if some <= rows:  # as rank.c and the scorer compute it
        assert bm25.idf(rows, some) == math.log(1.0 + ((rows - some) + 0.5) / (some + 0.5))
