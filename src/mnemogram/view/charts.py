# SPDX-License-Identifier: MIT
"""Messages over time: which periods are counted, and bars of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from typing import Final

from mnemogram.errors import InvalidArgument, MnemogramError
from mnemogram.history.history import History

__all__ = ["Bar", "day", "day_bounds", "over_time"]

#: Most bars of a chart.
_MOST: Final = 120
_HEIGHT: Final = 100
#: Days of a bar; the first that gives few enough of them.
_STEPS: Final = (1, 7, 30, 91, 365)
#: Times that no message was said at, to find those that were.
_EVER: Final = ("0001-01-02", "9999-12-30")
#: Seconds that counting may take, beside what else the page shows.
_TIMEOUT: Final = 1.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One period and how much was said in it.

    Attributes:
        first, last: its days, as dates.
        count: messages.
        height: 0 to 100, of the highest.
    """

    first: str
    last: str
    count: int
    height: int

    @property
    def when(self) -> str:
        """The period in words."""
        return self.first if self.first == self.last else f"{self.first} – {self.last}"


def day(text: str) -> date | None:
    """Return a day of the calendar, None where none is given.

    Raises:
        InvalidArgument: the text is no date.
    """
    if not text.strip():
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidArgument("no date", hint="Write it like 2026-03-01.") from error


def midnight(of: date) -> datetime:
    """Return where a day begins in this machine's zone."""
    try:
        return datetime.combine(of, time()).astimezone()
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return datetime.combine(of, time(), timezone.utc)


def day_bounds(first: date | None, last: date | None) -> tuple[datetime | None, datetime | None]:
    """Return the times from the beginning of one day to the end of another."""
    after = None if first is None else midnight(first)
    before = None if last is None or last == date.max else midnight(last + timedelta(days=1))
    return after, before


def over_time(history: History, sources: Sequence[str] | None) -> tuple[Bar, ...]:
    """Return messages over all of a history's time, in so many bars as can be seen.

    Empty where there are no times, or counting takes too long.
    """
    with suppress(MnemogramError):
        ends = []
        for newest_first in (False, True):
            walk = history.messages(
                after=_EVER[0], before=_EVER[1], all_sources=True, newest_first=newest_first
            )
            found = next(walk, None)
            if found is None or found.timestamp is None:
                return ()
            stamp = datetime.fromisoformat(found.timestamp.replace("Z", "+00:00"))
            ends.append(stamp.astimezone().date())
        days = _days(ends[0], ends[1])
        edges = [midnight(each) for each in days]
        counts = history.count_messages(
            edges, sources=sources, all_sources=sources is None, timeout=_TIMEOUT
        )
        highest = max(*counts, 1)
        return tuple(
            Bar(
                first.isoformat(),
                (after - timedelta(days=1)).isoformat(),
                count,
                0 if not count else max(3, round(count * _HEIGHT / highest)),
            )
            for first, after, count in zip(days, days[1:], counts, strict=False)
        )
    return ()


def _days(first: date, last: date) -> list[date]:
    """Return the days at which bars begin, and the day after the last one."""
    span = (last - first).days + 1
    step = next((days for days in _STEPS if span <= days * _MOST), span // _MOST + 1)
    if step == 7:
        first -= timedelta(days=first.weekday())
    count = max(1, -(-((last - first).days + 1) // step))
    return [first + timedelta(days=step * place) for place in range(count + 1)]
