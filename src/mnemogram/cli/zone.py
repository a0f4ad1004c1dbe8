# SPDX-License-Identifier: MIT
"""Times at the command line: read and written in one zone, the reader's own or UTC."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Final

from mnemogram.tools.times import moment

__all__ = ["LOCAL", "Zone"]

_SPACED_OFFSET: Final = re.compile(r"\s+(?=[+-]\d\d:?\d\d$)")


class _Local(tzinfo):
    """The zone of the machine, with the offset that it has at each time."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        if when is None:
            return None
        with suppress(OverflowError, ValueError, OSError):
            return when.replace(tzinfo=None).astimezone().utcoffset()
        return timedelta(0)  # the ends of the calendar

    def dst(self, when: datetime | None) -> timedelta | None:
        return None

    def tzname(self, when: datetime | None) -> str | None:
        return None if when is None else when.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, when: datetime) -> datetime:
        with suppress(OverflowError, ValueError, OSError):
            local = when.replace(tzinfo=timezone.utc).astimezone()
            return local.replace(tzinfo=self)
        return when


LOCAL: Final = _Local()


class Zone:
    """How times are read and written.

    Attributes:
        info: the zone itself.
    """

    def __init__(self, utc: bool = False) -> None:
        self.info: tzinfo = timezone.utc if utc else LOCAL

    @property
    def name(self) -> str:
        """The zone as it is now: ``UTC``, ``+08:00``."""
        offset = datetime.now(self.info).utcoffset()
        if not offset:
            return "UTC"
        minutes = round(offset.total_seconds() / 60)
        return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"

    def moment(self, text: str) -> datetime:
        """Return the time that a text names: ISO 8601, or how long ago.

        A time without a zone, or a date alone, is one of this zone.

        Raises:
            InvalidArgument: it is neither.
        """
        written = _SPACED_OFFSET.sub("", text.strip())
        with suppress(ValueError):
            plain = datetime.fromisoformat(written)
            return plain if plain.tzinfo is not None else plain.replace(tzinfo=self.info)
        return moment(written)

    def show(self, stamp: str | None, *, seconds: bool = False) -> str:
        """Return an ISO 8601 time as it is shown: to the minute, to be typed back."""
        if stamp is None:
            return "no time"
        when = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
        # At the ends of the calendar the reader's zone may have no such day: UTC then.
        with suppress(OverflowError, ValueError, OSError):
            when = when.astimezone(self.info)
        return when.isoformat(" ")[: 19 if seconds else 16]
