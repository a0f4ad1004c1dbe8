# SPDX-License-Identifier: MIT
"""Exact scores of a set of texts."""

from collections.abc import Sequence
from typing import final

from mnemogram._native.matcher import Matcher
from mnemogram._native.query_tree import Tokenizer

B: float
K: float
UNIT_NONE: int
UNIT_TYPED: int

def part(weight: float, tf: float, norm: float) -> float: ...
def rarity(texts: float, holding: float) -> float: ...

@final
class Scorer:
    def __new__(
        cls,
        matcher: Matcher,
        weights: Sequence[float],
        columns: Sequence[float],
        average: float,
        *,
        k: float,
        b: float,
        grams_of: str = "",
        grams_by: Tokenizer | None = None,
        grams_weight: float = 0.0,
        passage: int = 0,
        units: Sequence[int] = (),
        spellings: Sequence[str | None] = (),
        plain: Tokenizer | None = None,
    ) -> Scorer: ...
    def add(self, *columns: str | bytes | None, deadline: float | None = None) -> int: ...
    def about(self, row: int) -> tuple[frozenset[int], int, bool, int]: ...
    def parts(self, row: int) -> dict[int, float]: ...
    def scores(self) -> list[float]: ...
