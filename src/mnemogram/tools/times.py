# SPDX-License-Identifier: MIT
"""Times as people and models write them: ISO 8601, or how long ago."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Final

from mnemogram.errors import InvalidArgument
from mnemogram.moments import datetime_of, to_microseconds

__all__ = ["bound", "moment"]

_UNITS: Final = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_AGO: Final = re.compile(
    r"(\d{1,6})\s*(m|h|d|w|min|minute|hour|day|week)s?(?:\s+ago)?", re.IGNORECASE
)
_HINT: Final = "Write 2026-03-01, 2026-03-01T09:00:00+08:00, or how long ago: 3h, 2d, 1w."


def moment(text: str, *, now: datetime | None = None) -> datetime:
    """Return the time that a text names.

    Args:
        text: ISO 8601 (without a zone it is UTC), ``now``, or how long ago: minutes,
            hours, days or weeks, like ``90m``, ``3h``, ``2d ago``, ``1 week ago``.
        now: what "ago" counts from; the present by default.

    Raises:
        InvalidArgument: it is neither.
    """
    now = datetime.now(timezone.utc) if now is None else now
    stripped = text.strip()
    if stripped.lower() == "now":
        return now
    ago = _AGO.fullmatch(stripped)
    try:
        if ago is not None:
            return now - int(ago[1]) * _UNITS[ago[2][0].lower()]
        return datetime_of(to_microseconds(stripped))
    except (InvalidArgument, OverflowError) as error:
        raise InvalidArgument(f"{text!r} is not a time", hint=_HINT) from error


def bound(text: str) -> datetime | str:
    """Return the bound of a period that a text names: a time, or as it is what has no zone.

    Raises:
        InvalidArgument: it is no time and no date.
    """
    when = moment(text)
    with suppress(ValueError):
        if datetime.fromisoformat(text.strip()).tzinfo is None:
            return text.strip()
    return when
