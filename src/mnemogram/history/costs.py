# SPDX-License-Identifier: MIT
"""What a prefix costs, told before it is asked for.

Before its first row, FTS5 merges the postings of every word that a prefix begins, in one
step that no deadline interrupts. Of a letter in a large store that takes longer than some
deadlines. How much it will be, the newest messages tell: what is frequent among them is
frequent in the index.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from mnemogram._native import query as q
from mnemogram.database import Connection

__all__ = ["dear_prefixes"]

#: Seconds to merge one row's postings of a prefix, on a slow day (measured 0.3 to 0.8 us).
_SECONDS_PER_ROW: Final = 1e-6
#: Share of the remaining time that merging may take.
_MERGE_SHARE: Final = 0.25
#: Messages that are looked at, and characters of each.
_SAMPLE: Final = 400
_SAMPLED_CHARS: Final = 8_192


def _beginning(phrase: q.Phrase) -> q.Phrase | None:
    return q.phrase(phrase.tokens[-1].text, prefix=True, config=phrase.tokenizer.options)


def dear_prefixes(connection: Connection, phrases: Iterable[q.Phrase]) -> dict[q.Phrase, int]:
    """Return the phrases whose prefixes cannot all be merged in time, the dearest ones.

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
        each: beginning
        for each in phrases
        if each.prefix and (beginning := _beginning(each)) is not None
    }
    if not prefixes:
        return {}
    rows = connection.one("SELECT max(id) FROM messages") or 0
    if len(prefixes) * rows * _SECONDS_PER_ROW <= budget:
        return {}
    matcher = q.compile(q.Or(list(prefixes.values())))
    places = {each: place for place, each in enumerate(matcher.phrases)}
    holding = [0] * len(places)
    sampled = 0
    stop = time.monotonic() + budget
    for (text,) in connection.execute(
        "SELECT substr(content, 1, ?) FROM messages ORDER BY id DESC LIMIT ?",
        (_SAMPLED_CHARS, _SAMPLE),
    ):
        sampled += 1
        for place, count in enumerate(matcher.count(text)[0]):
            holding[place] += count > 0
        if time.monotonic() > stop:
            break  # long messages: fewer of them have to do
    estimates = {
        each: holding[places[beginning]] * rows // max(1, sampled)
        for each, beginning in prefixes.items()
    }
    dear: dict[q.Phrase, int] = {}
    total = sum(estimates.values()) * _SECONDS_PER_ROW
    for each, estimate in sorted(estimates.items(), key=lambda pair: -pair[1]):
        if total <= budget:
            break
        total -= estimate * _SECONDS_PER_ROW
        dear[each] = estimate
    return dear
