# SPDX-License-Identifier: MIT
"""Slow reference of exact scores: BM25 of phrases, and of trigrams inside words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from mnemogram._native import text_core
from mnemogram._native.query import Matcher

from . import query as reference

EDGE = "<"


def grams(text: str, options: Mapping[str, str]) -> list[str]:
    """Trigrams of each word, its beginning marked, and of each run of clusters."""
    config = text_core.Config(*[part for item in options.items() for part in item])
    runs: list[str] = []
    open_until = -1
    for token, start, end, flags in text_core.tokens(config, text, text_core.UNITS):
        if flags & text_core.WORD:
            runs.append(EDGE + token)
        elif flags & text_core.CLUSTER:
            if start == open_until:
                runs[-1] += token
            else:
                runs.append(token)
        open_until = end if flags & text_core.CLUSTER else -1
    found: list[str] = []
    for run in runs:
        found += [run[at : at + 3] for at in range(max(1, len(run) - 2))]
    return found


def bm25(weight: float, tf: float, norm: float, k: float) -> float:
    return weight * tf * (k + 1.0) / (tf + norm) if tf else 0.0


def scores(
    matcher: Matcher,
    weights: Sequence[float],
    columns: Sequence[float],
    average: float,
    rows: Sequence[Sequence[str]],
    *,
    k: float,
    b: float,
    grams_of: str,
    options: Mapping[str, str],
    grams_weight: float,
) -> list[float]:
    """Return the score of each row."""
    wanted = list(dict.fromkeys(grams(grams_of, options)))
    counted: list[Counter[str]] = []
    lengths: list[int] = []
    for row in rows:
        counts: Counter[str] = Counter()
        length = 0
        for text, weight in zip(row, columns, strict=True):
            cut = grams(text, options)
            length += len(cut)
            for gram in cut:
                counts[gram] += weight  # type: ignore[assignment]
        counted.append(counts)
        lengths.append(length)
    mean = max(1.0, sum(lengths) / len(rows))
    rarity = {}
    for gram in wanted:
        holding = sum(gram in counts for counts in counted)
        rarity[gram] = (
            math.log(1.0 + (len(rows) - holding + 0.5) / (holding + 0.5)) if holding else 0.0
        )
    total = sum(rarity.values())
    result = []
    for row, counts, length in zip(rows, counted, lengths, strict=True):
        documents = [reference.positions(text) for text in row]
        norm = k * (1.0 - b + b * sum(map(len, documents)) / average)
        score = 0.0
        for phrase, weight in zip(matcher.phrases, weights, strict=True):
            tf = sum(
                share * reference.frequency(phrase, document)
                for document, share in zip(documents, columns, strict=True)
            )
            score += bm25(weight, tf, norm, k)
        if total:
            norm = k * (1.0 - b + b * length / mean)
            parts = sum(bm25(rarity[gram], counts[gram], norm, k) for gram in wanted)
            score += grams_weight * parts / total
        result.append(score)
    return result
