# SPDX-License-Identifier: MIT
"""What a prefix costs, estimated before it is asked for.

Before its first row, FTS5 merges the postings of every word that a prefix begins, in one
step that no deadline interrupts. Of a letter in a large store that takes longer than some
deadlines. How much it will be, the newest messages show: what is frequent among them is
frequent in the index.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Final

from mnemogram._native import query as q
from mnemogram.history.index import state as indexes
from mnemogram.sqlite.database import Connection

__all__ = ["expensive_prefixes", "frequent_prefixes"]

#: Seconds to merge one row's postings of a prefix, on a slow day (measured 0.3 to 0.8 us).
_SECONDS_PER_ROW: Final = 1e-6
#: Share of the remaining time that merging may take.
_MERGE_SHARE: Final = 0.25
#: Messages that are looked at, and characters of each.
_SAMPLE: Final = 400
_SAMPLED_CHARS: Final = 8_192
#: Smaller stores are asked at once: merging costs less than looking at a sample.
_LEAST_SAMPLED_ROWS: Final = 50_000
#: Seconds that the sample may take where only time is to be saved.
_SAMPLE_SECONDS: Final = 0.001
#: Messages of the sample that have to hold a prefix, so that it counts as frequent.
_FEWEST_HOLDING: Final = 5


def _prefix(phrase: q.Phrase) -> q.Phrase | None:
    return q.phrase(phrase.tokens[-1].text, prefix=True, config=phrase.tokenizer.options)


def _sampled(
    connection: Connection, prefixes: Sequence[q.Phrase], seconds: float
) -> tuple[dict[q.Phrase, int], int]:
    """Return how many of the newest messages hold each prefix, and of how many.

    Raises:
        QueryTimeout: the deadline passed while they were read.
    """
    matcher = q.compile(q.Or(list(prefixes)))
    holding = [0] * len(matcher.phrases)
    sampled = 0
    stop = time.monotonic() + seconds
    for (text,) in connection.execute(
        "SELECT substr(content, 1, ?) FROM messages ORDER BY id DESC LIMIT ?",
        (_SAMPLED_CHARS, _SAMPLE),
    ):
        sampled += 1
        for place, count in enumerate(matcher.count(text)[0]):
            holding[place] += count > 0
        if time.monotonic() > stop:
            break  # long messages: fewer of them have to do
    return dict(zip(matcher.phrases, holding, strict=True)), sampled


def frequent_prefixes(
    connection: Connection, rows: int, prefixes: Sequence[q.Phrase], least: int
) -> dict[q.Phrase, int]:
    """Return the prefixes that far more than ``least`` rows hold, with how many about.

    Args:
        rows: rows of the index.
        prefixes: phrases of one word or character each, all of them prefixes.
        least: what is too frequent to be of use.

    Raises:
        QueryTimeout: the deadline passed while the sample was read.
    """
    if rows < _LEAST_SAMPLED_ROWS or not prefixes:
        return {}
    holding, sampled = _sampled(connection, prefixes, _SAMPLE_SECONDS)
    estimates = {each: holding[each] * rows // max(1, sampled) for each in prefixes}
    return {
        each: estimate
        for each, estimate in estimates.items()
        if estimate > 2 * least and holding[each] >= _FEWEST_HOLDING
    }


def expensive_prefixes(connection: Connection, phrases: Iterable[q.Phrase]) -> dict[q.Phrase, int]:
    """Return the phrases whose prefixes cannot all be merged in time, the most expensive ones.

    Args:
        phrases: all phrases of a query, negative ones too.

    Returns:
        The phrases, each with an estimate of the rows that hold its prefix.

    Raises:
        QueryTimeout: the deadline passed while the sample was read.
    """
    remaining = connection.remaining()
    if remaining is None:
        return {}
    budget = max(0.0, remaining) * _MERGE_SHARE
    prefixes = {
        each: prefix for each in phrases if each.prefix and (prefix := _prefix(each)) is not None
    }
    if not prefixes:
        return {}
    rows = indexes.count_about(connection)
    if len(prefixes) * rows * _SECONDS_PER_ROW <= budget:
        return {}
    holding, sampled = _sampled(connection, list(prefixes.values()), budget)
    estimates = {
        each: holding[prefix] * rows // max(1, sampled) for each, prefix in prefixes.items()
    }
    expensive: dict[q.Phrase, int] = {}
    total = sum(estimates.values()) * _SECONDS_PER_ROW
    for each, estimate in sorted(estimates.items(), key=lambda pair: -pair[1]):
        if total <= budget:
            break
        total -= estimate * _SECONDS_PER_ROW
        expensive[each] = estimate
    return expensive
