# SPDX-License-Identifier: MIT
"""What is counted about a list of answers, and how a set of counts is printed.

R@k: share of the questions with a right session among the first k. MRR: mean of
1 / rank of the first right session, 0 beyond the tenth. A session is right when it holds
evidence; a list is read one session at a time, each at its best message.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Outcome", "Scores", "percentile", "scores", "table"]

DEPTH = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happened to one question.

    Attributes:
        rank: 1-based place of the first right session, 0 where it is not in the first ten.
        first_message_right: whether the first answer is a message of evidence.
        answers: how many sessions were returned.
        route: which way it was answered.
        seconds: time of the call.
    """

    rank: int
    first_message_right: bool
    answers: int
    route: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Counts over a set of questions; times in milliseconds."""

    questions: int
    r1: float
    r10: float
    mrr: float
    message_r1: float
    zero: float
    p50_ms: float
    p95_ms: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, rounded."""
        return {key: round(value, 4) for key, value in asdict(self).items()}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile of values; NaN for none."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def scores(outcomes: Iterable[Outcome]) -> Scores:
    """Count a set of outcomes."""
    listed = list(outcomes)
    n = len(listed) or 1
    seconds = [each.seconds for each in listed]
    return Scores(
        questions=len(listed),
        r1=sum(each.rank == 1 for each in listed) / n,
        r10=sum(1 <= each.rank <= DEPTH for each in listed) / n,
        mrr=sum(1 / each.rank for each in listed if each.rank) / n,
        message_r1=sum(each.first_message_right for each in listed) / n,
        zero=sum(each.answers == 0 for each in listed) / n,
        p50_ms=percentile(seconds, 0.5) * 1e3,
        p95_ms=percentile(seconds, 0.95) * 1e3,
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as aligned text: the first column to the left, the others to the right."""
    cells = [list(head), *([_cell(each) for each in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.3f}"
    return str(value)
