# SPDX-License-Identifier: MIT
"""Times as other programs write them, and the names that they give them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from typing import Any, Final

from mnemogram.moments import EPOCH

__all__ = ["as_time", "read_time"]

#: Where a record keeps its time; the first that holds one is taken.
_NAMES: Final = (
    *("timestamp", "created_at", "createdAt", "create_time", "createTime", "created"),
    *("createdTime", "created_time", "creation_time", "create_date", "createDate", "createdOn"),
    *("sent_at", "sentAt", "send_date", "sendDate", "send_time", "sendTime", "datetime"),
    *("time", "date", "ts", "started_at", "startedAt", "start_time", "startTime"),
    *("session_start", "sessionStart", "session_started_at", "start_timestamp", "event_time"),
    *("datetime_utc", "inserted_at", "insertedAt", "published_at", "logged_at"),
)
#: Where a session keeps its beginning before it may be under one of those.
_BEGINNINGS: Final = (
    *("started_at", "startedAt", "session_start", "sessionStart", "session_started_at"),
    *("start_time", "startTime"),
)
#: Records keep what is said about them in these.
_INSIDE: Final = ("metadata", "meta", "response_metadata", "additional_kwargs", "info")

_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_DIGITS: Final = re.compile(r"(19[7-9]\d|20\d\d)(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d))?")
_ISO: Final = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)"
    r"(?:[Tt ]\s*(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?"
    r"\s*(?:([Zz]|UTC|GMT)|([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)?"
)
#: What chat programs show to people and store as well: 2026-3-1 @9h 05m 07s 250ms
_SHOWN: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})\s*@\s*(\d{1,2})h\s*(\d{1,2})m\s*(\d{1,2})s(?:\s*(\d{1,3})ms)?"
)
_BROWSER: Final = re.compile(r"([A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4} [\d:]{8}) GMT([+-]\d{4}).*")
_MAIL: Final = re.compile(r"\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4} \d")
_WORDS: Final = (
    "%b %d, %Y %I:%M%p",
    "%B %d, %Y %I:%M%p",
    "%B %d, %Y %I:%M %p",
    "%b %d, %Y, %I:%M:%S %p",
    "%b %d, %Y, %I:%M %p",
    "%a %b %d %H:%M:%S %Y",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
)
#: Smaller numbers are offsets, counters or nothing rather than seconds before 1973.
_LEAST: Final = 1e8
#: A number below the first has the unit of the second, in microseconds.
_UNITS: Final = ((1e11, 1e6), (1e14, 1e3), (1e17, 1.0), (1e20, 1e-3))


def read_time(
    record: Mapping[str, Any], *, beginning: bool = False
) -> tuple[datetime | None, bool]:
    """Return the time of a record, and whether it has one that cannot be read.

    Args:
        record: a message or a conversation.
        beginning: of a conversation: when it began goes before any other time.
    """
    written = False
    for inside in (None, *_INSIDE):
        fields = record if inside is None else record.get(inside)
        if not isinstance(fields, Mapping):
            continue
        for name in (*_BEGINNINGS, *_NAMES) if beginning else _NAMES:
            value = fields.get(name)
            if value is None or value == "":
                continue
            found = as_time(value)
            if found is not None:
                return found, False
            written = written or inside is None
    return None, written


def as_time(value: object) -> datetime | None:
    """Return a time as other programs write it, or None where it is not one.

    ISO 8601 with or without a zone, to any number of decimals; the dates of mails and of
    browsers; numbers since 1970 UTC in seconds, milliseconds, microseconds or nanoseconds,
    told apart by their size; and objects that hold one of these, as databases write them.
    What names no zone is UTC.
    """
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, Mapping):
        return _held(value)
    try:
        if isinstance(value, str):
            return _text(value.strip())
        if isinstance(value, (int, float)):
            return _number(value)
    except (OverflowError, ValueError):
        pass
    return None


def _held(value: Mapping[str, Any], depth: int = 0) -> datetime | None:
    for name in ("$date", "$numberLong", "$numberDouble", "$timestamp", "_date", "value"):
        inner = value.get(name)
        if isinstance(inner, Mapping) and depth < 2:
            return _held(inner, depth + 1)
        if inner is not None:
            # A date of a document database is in milliseconds, whatever its size.
            whole = name in ("$date", "$numberLong") and str(inner).lstrip("-").isdigit()
            return as_time(_from_millis(int(inner)) if whole else inner)
    for seconds, rest in (("seconds", "nanoseconds"), ("_seconds", "_nanoseconds"), ("t", "i")):
        count, more = value.get(seconds), value.get(rest, 0)
        if isinstance(count, (int, float)) and not isinstance(count, bool):
            nanos = more if rest != "i" and isinstance(more, (int, float)) else 0
            return as_time(count + nanos / 1e9)
    return None


def _from_millis(value: int) -> datetime | None:
    try:
        return EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        return None


def _number(value: float) -> datetime | None:
    if not math.isfinite(value) or abs(value) < _LEAST:
        return None
    for limit, unit in _UNITS:
        if abs(value) < limit and (value > 0 or unit >= 1e3):
            micros = value * unit
            if isinstance(value, int):
                micros = value * int(unit) if unit >= 1 else value // round(1 / unit)
            return EPOCH + timedelta(microseconds=round(micros))
    return None


def _text(text: str) -> datetime | None:
    digits = _DIGITS.fullmatch(text)
    if digits:
        try:
            return datetime(*(int(each or 0) for each in digits.groups()), tzinfo=timezone.utc)  # type: ignore[misc,arg-type]
        except ValueError:
            pass  # a number after all
    if _NUMBER.fullmatch(text):
        whole = text.lstrip("+-").isdigit()
        return _number(int(text) if whole and len(text) < 25 else float(text))
    iso = _ISO.fullmatch(text)
    if iso:
        return _iso(iso)
    shown = _SHOWN.fullmatch(text)
    if shown:
        year, month, day, hour, minute, second = map(int, shown.groups()[:6])
        micros = int(shown[7] or 0) * 1_000
        return datetime(year, month, day, hour, minute, second, micros, timezone.utc)
    browser = _BROWSER.fullmatch(text)
    if browser:
        return datetime.strptime(browser[1] + browser[2], "%a %b %d %Y %H:%M:%S%z")
    if _MAIL.search(text):
        moment = parsedate_to_datetime(text)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    for form in _WORDS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=timezone.utc)
        except ValueError:
            continue
    return None


def _iso(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(each or 0) for each in match.groups()[:6])
    micros = int((match[7] or "0")[:6].ljust(6, "0"))
    zone: tzinfo = timezone.utc
    if match[9]:
        away = timedelta(
            hours=int(match[10]), minutes=int(match[11] or 0), seconds=int(match[12] or 0)
        )
        zone = timezone(-away if match[9] == "-" else away)
    turn = timedelta()
    if (hour, minute, second) == (24, 0, 0):  # the end of a day
        hour, turn = 0, timedelta(days=1)
    if second == 60:  # a leap second
        second, turn = 59, timedelta(seconds=1)
    moment = datetime(year, month, day, hour, minute, second, micros, zone) + turn
    # Its place on the line must exist: the first hours of year 1 in the east do not.
    return moment.astimezone(timezone.utc) if moment.tzinfo is not timezone.utc else moment
