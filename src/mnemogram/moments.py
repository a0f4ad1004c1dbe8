# SPDX-License-Identifier: MIT
"""Microseconds since 1970 UTC, as stores keep times, and the datetimes they stand for."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Final

__all__ = ["EARLIEST", "LATEST", "clamped", "datetime_of", "microseconds_of"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)


def microseconds_of(moment: datetime) -> int:
    """Return an aware datetime as microseconds since 1970 UTC.

    May lie outside of what can be shown again: at the ends of the calendar a zone leads
    to a time in UTC that has no year.
    """
    return (moment - _EPOCH) // _MICROSECOND


#: What a datetime in UTC can hold.
EARLIEST: Final = microseconds_of(datetime.min.replace(tzinfo=timezone.utc))
LATEST: Final = microseconds_of(datetime.max.replace(tzinfo=timezone.utc))


def clamped(microseconds: int) -> int:
    """Return the nearest time that can be shown."""
    return min(max(microseconds, EARLIEST), LATEST)


def datetime_of(microseconds: int) -> datetime:
    """Return a time as a datetime in UTC: the nearest there is, also of a damaged one."""
    return _EPOCH + timedelta(microseconds=clamped(microseconds))
