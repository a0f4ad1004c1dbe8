# SPDX-License-Identifier: MIT
"""The time that a question is about: two bounds, as people write them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Final

from mnemogram.errors import InvalidArgument
from mnemogram.moments import LATEST, Time, clamped, format_time, unbounded_microseconds

__all__ = ["DAY", "WHENEVER", "Period", "as_date", "checked_period"]

DAY: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Period:
    """Bounds of message time in microseconds, [after, before); None for an open end.

    Attributes:
        next_day: where a day was named as ``before`` and is not in the period, the day
            to name for it to be.
    """

    after: int | None = None
    before: int | None = None
    next_day: date | None = None

    @property
    def bounded(self) -> bool:
        """Whether it has any bound."""
        return self.after is not None or self.before is not None


WHENEVER: Final = Period()


def as_date(value: object) -> date | None:
    """Return the day that a text names, None where it is no date alone."""
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value.strip())
    except ValueError:
        return None


def checked_period(after: Time | None, before: Time | None, zone: tzinfo | None = None) -> Period:
    """Return the period that two bounds mean.

    ``after`` is inclusive and ``before`` exclusive. A date alone (``2026-03-01``) as
    ``before`` means the end of that day, so that one day as both bounds is that day. Only
    two different dates are taken as they stand: from the first up to the second.

    Args:
        after, before: the bounds.
        zone: that of dates and times written without one; UTC by default.

    Raises:
        InvalidArgument: a bound is no time, or nothing can lie between the two.
    """
    zone = timezone.utc if zone is None else zone
    period = _period(after, before, zone)
    if period.after is None or period.before is None or period.after < period.before:
        return period
    hint = "after is the earliest time, before the latest"
    exchanged = _period(before, after, zone)
    if exchanged.after is not None and exchanged.before is not None:
        if exchanged.after < exchanged.before:
            hint += f"; exchange them: after {_written(before)}, before {_written(after)}."
        else:
            later = format_time(min(period.after + DAY, LATEST))
            hint += f" and not in the period: a day from then on ends before {later}."
    raise InvalidArgument("after is not earlier than before", hint=hint)


def _period(after: Time | None, before: Time | None, zone: tzinfo) -> Period:
    first, last = as_date(after), as_date(before)
    start = None if after is None else clamped(unbounded_microseconds(after, "after", zone))
    end = None if before is None else clamped(unbounded_microseconds(before, "before", zone))
    if end is None or last is None:
        return Period(start, end)
    following = None if last == date.max else last + timedelta(days=1)
    if first is not None and first < last:
        return Period(start, end, following)
    if following is None:
        return Period(start, LATEST)
    # The next midnight: a day on which clocks are set is no 24 hours.
    return Period(start, clamped(unbounded_microseconds(following.isoformat(), "before", zone)))


def _written(bound: Time | None) -> str:
    """Return a bound as its author wrote it, or can write it."""
    return bound.isoformat() if isinstance(bound, datetime) else str(bound).strip()
