# SPDX-License-Identifier: MIT
"""Times: what hosts give, microseconds since 1970 UTC as stores keep them, ISO 8601 as shown."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone, tzinfo
from reprlib import repr as shown
from typing import Final, TypeAlias

from mnemogram.errors import InvalidArgument

__all__ = [
    "EARLIEST",
    "EPOCH",
    "LATEST",
    "Time",
    "clamped",
    "datetime_of",
    "format_time",
    "microseconds_of",
    "to_microseconds",
    "unbounded_microseconds",
]

#: An aware datetime, ISO 8601, or Unix seconds.
Time: TypeAlias = datetime | str | float

EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)


def microseconds_of(moment: datetime) -> int:
    """Return an aware datetime as microseconds since 1970 UTC.

    May lie outside of what can be shown again: at the ends of the calendar a zone leads
    to a time in UTC that has no year.
    """
    return (moment - EPOCH) // _MICROSECOND


#: What a datetime in UTC can hold.
EARLIEST: Final = microseconds_of(datetime.min.replace(tzinfo=timezone.utc))
LATEST: Final = microseconds_of(datetime.max.replace(tzinfo=timezone.utc))


def clamped(microseconds: int) -> int:
    """Return the nearest time that can be shown."""
    return min(max(microseconds, EARLIEST), LATEST)


def datetime_of(microseconds: int) -> datetime:
    """Return a time as a datetime in UTC: the nearest there is, also of a damaged one."""
    return EPOCH + timedelta(microseconds=clamped(microseconds))


def to_microseconds(value: Time, name: str = "timestamp") -> int:
    """Return a time as microseconds since 1970 UTC.

    It is an aware datetime, an ISO 8601 string or a number of Unix seconds. A string
    without a zone (a date alone, for example) is UTC.

    Raises:
        InvalidArgument: not a time, a datetime without a zone, or a time that in UTC lies
            outside of the years 1 to 9999.
    """
    microseconds = unbounded_microseconds(value, name)
    if not EARLIEST <= microseconds <= LATEST:
        raise InvalidArgument(
            f"{name} lies outside of the years 1 to 9999 in UTC: {shown(value)}",
            hint="Correct the time, or leave it out; Unix times are in seconds.",
        )
    return microseconds


def unbounded_microseconds(value: Time, name: str, zone: tzinfo = timezone.utc) -> int:
    """Return what :func:`to_microseconds` does, also of a time beyond the calendar.

    Args:
        zone: that of a string without one.
    """
    moment: datetime
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str):
        text = value.strip()
        if text[-1:] in ("Z", "z"):  # fromisoformat learnt the Z in 3.11
            text = text[:-1] + "+00:00"
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=zone)
        except ValueError as error:
            raise InvalidArgument(
                f"{name} is not an ISO 8601 time: {shown(value)}",
                hint="Write it like 2026-03-01T09:00:00+08:00.",
            ) from error
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return round(value * 1_000_000)
        except (OverflowError, ValueError) as error:  # an infinity, or no number
            raise InvalidArgument(
                f"{name} is no number of Unix seconds: {shown(value)}",
                hint="Correct the time, or leave it out.",
            ) from error
    else:
        raise InvalidArgument(
            f"{name} must be a datetime, an ISO 8601 string or a number of Unix seconds, not"
            f" {type(value).__name__}",
            hint="Pass an aware datetime or a string like 2026-03-01T09:00:00+08:00.",
        )
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise InvalidArgument(
            f"{name} has no time zone: {shown(value)}",
            hint="Add the zone, for example tzinfo=timezone.utc.",
        )
    return microseconds_of(moment)


def format_time(microseconds: int | None) -> str | None:
    """Return microseconds since 1970 UTC as ISO 8601, or None for None.

    Of a time that has no year the nearest that has one.
    """
    if microseconds is None:
        return None
    return datetime_of(microseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")
