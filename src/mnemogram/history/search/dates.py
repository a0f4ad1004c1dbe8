# SPDX-License-Identifier: MIT
"""The times that a question names: ``last May``, ``on the 12th``, 去年五月, 昨天, 지난주.

Known in English, Chinese, Japanese and Korean: days (today, yesterday, three days ago, a day of
the week or of a month), weeks, months and years, relative or by name and number. Without a year
the last one that has begun is meant. What is no such time, or no date of the calendar, is passed
over: a time is a preference, so nothing is lost.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final, TypeAlias

from mnemogram.moments import microseconds_of

__all__ = ["days_named", "names_times", "times_named"]

#: The first day, and the first after it.
Days: TypeAlias = tuple[date, date]
_DAY: Final = timedelta(days=1)

_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH: Final = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS: Final = {
    each: number
    for number, words in enumerate(
        (
            "",
            "a an one 一 한",
            "two couple 二 两 兩 두",
            "three 三 세",
            "four 四 네",
            "five 五",
            "six 六",
            "seven 七",
            "eight 八",
            "nine 九",
            "ten 十",
            "eleven 十一",
            "twelve 十二",
        )
    )
    for each in words.split()
}
_COUNT: Final = "(?P<count>[0-9]{1,3}|十[一二]|[一二两兩三四五六七八九十]|한|두|세|네)"
_YEAR: Final = r"(?P<year>(?:19|20)[0-9]{2})"
_HAN_YEAR: Final = (
    rf"(?:{_YEAR}\s*[年년]\s*"
    r"|(?P<shift>去年|前年|今年|昨年|一昨年|작년|재작년|올해)\s*[的の]?)"
)
_HAN_MONTH: Final = r"(?P<month>1[0-2]|[1-9]|十[一二]|[一二三四五六七八九十])\s*[月월]"
_SHIFTS: Final = {
    "今年": 0, "올해": 0, "去年": 1, "昨年": 1, "작년": 1, "前年": 2, "一昨年": 2, "재작년": 2
}  # fmt: skip


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text.lower()]


# --- spans -----------------------------------------------------------------------------


def _day(day: date) -> Days:
    return day, day + _DAY


def _month(year: int, month: int) -> Days:
    following = year + (month == 12), month % 12 + 1
    return date(year, month, 1), date(*following, 1)


def _months_before(today: date, count: int) -> Days:
    months = today.year * 12 + today.month - 1 - count
    return _month(months // 12, months % 12 + 1)


def _week_before(today: date, count: int) -> Days:
    first = today - timedelta(days=today.weekday(), weeks=count)
    return first, first + timedelta(weeks=1)


def _year(year: int) -> Days:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _before(today: date, unit: str, count: int) -> Days:
    """The day, week, month or year so many before this one."""
    if unit == "day":
        return _day(today - timedelta(days=count))
    if unit == "week":
        return _week_before(today, count)
    return _months_before(today, count) if unit == "month" else _year(today.year - count)


def _around(today: date, unit: str, count: int) -> Days:
    """So many days, weeks, months or years ago, as roughly as people mean it."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit] * count
    slack = timedelta(days=0 if unit == "day" and count < 7 else max(1, days // 8))
    day = today - timedelta(days=days)
    return day - slack, day + slack + _DAY


def _named(today: date, found: re.Match[str]) -> Days:
    """A month or a day of one, of the year that is named or the last that fits."""
    parts = found.groupdict()
    written = parts["month"]
    known = written[:3].lower() in _MONTHS
    month = _MONTHS.index(written[:3].lower()) // 4 + 1 if known else _number(written)
    day = int(parts["day"]) if parts.get("day") else None
    if parts.get("year"):
        year = int(parts["year"])
    elif parts.get("shift"):
        year = today.year - _SHIFTS[parts["shift"]]
    else:
        year = today.year - ((month, day or 1) > (today.month, today.day))
        # "Last May", in May, is that of the year before.
        year -= bool(parts.get("last")) and (year, month) == (today.year, today.month)
    return _month(year, month) if day is None else _day(date(year, month, day))


def _day_of_month(today: date, found: re.Match[str]) -> Days:
    day, month = int(found["day"]), today.replace(day=1)
    for _ in range(3):  # of the last months that have such a day
        named = month + timedelta(days=day - 1)
        if named.month == month.month and named <= today:
            return _day(named)
        month = (month - _DAY).replace(day=1)
    raise ValueError("no such day")


def _weekday(today: date, index: int, weeks: int | None) -> Days:
    """The last such day of the week; with a number of weeks, that of so many weeks before."""
    if weeks is None:
        return _day(today - timedelta(days=(today.weekday() - index) % 7 or 7))
    return _day(_week_before(today, weeks)[0] + timedelta(days=index))


_UNITS: Final = {
    "day": "day", "week": "week", "month": "month", "year": "year", "天": "day", "日": "day",
    "周": "week", "週": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year",
    "일": "day", "주": "week", "달": "month", "개월": "month", "년": "year",
}  # fmt: skip
_DAYS_BEFORE: Final = {
    "today": 0, "this morning": 0, "yesterday": 1, "last night": 1, "the day before yesterday": 2,
    "今天": 0, "今日": 0, "昨天": 1, "昨日": 1, "昨晚": 1, "前天": 2, "大前天": 3, "一昨日": 2,
    "おととい": 2, "きのう": 1, "오늘": 0, "어제": 1, "그제": 2, "그저께": 2,
}  # fmt: skip
_PERIODS: Final = {
    "上上周": ("week", 2), "上周": ("week", 1), "上星期": ("week", 1), "上個月": ("month", 1),
    "上个月": ("month", 1), "上月": ("month", 1), "本周": ("week", 0), "这周": ("week", 0),
    "本月": ("month", 0), "这个月": ("month", 0), "先週": ("week", 1), "先月": ("month", 1),
    "今週": ("week", 0), "今月": ("month", 0), "先々週": ("week", 2), "先々月": ("month", 2),
    "지난주": ("week", 1), "지난달": ("month", 1), "이번주": ("week", 0), "이번 주": ("week", 0),
    "이번달": ("month", 0), "이번 달": ("month", 0), "去年": ("year", 1), "前年": ("year", 2),
    "今年": ("year", 0), "昨年": ("year", 1), "작년": ("year", 1), "올해": ("year", 0),
}  # fmt: skip
_HAN_WEEKDAYS: Final = {each: n for n, each in enumerate("一二三四五六日")} | {"天": 6}
_OTHER_WEEKDAYS: Final = {each: n for n, each in enumerate("月火水木金土日")} | {
    each: n for n, each in enumerate("월화수목금토일")
}


def _any(words: dict[str, object]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


#: Forms of times, the longer ones first, each with what it means on a day.
_FORMS: Final[tuple[tuple[str, Callable[[date, re.Match[str]], Days]], ...]] = (
    (rf"(?<![0-9]){_YEAR}(?P<sign>[-/.])(?P<month>[0-9]{{1,2}})(?P=sign)(?P<day>[0-9]{{1,2}})"
     r"(?![0-9])", _named),
    (rf"\b(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)? (?:of )?{_MONTH}\b(?:,? {_YEAR})?", _named),
    (rf"\b{_MONTH} (?:the )?(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?\b(?:,? {_YEAR})?", _named),
    (rf"\b{_MONTH},? {_YEAR}\b", _named),
    (rf"\b(?:in|during|since|of|this|early|late|mid|by|until|(?P<last>last)) {_MONTH}\b",
     _named),
    (rf"{_HAN_YEAR}?{_HAN_MONTH}(?:\s*[份中]|\s*(?P<day>[0-9]{{1,2}})\s*[日号號일])?", _named),
    (r"\bthe (?P<day>[0-9]{1,2})(?:st|nd|rd|th)\b(?! century)", _day_of_month),
    (r"(?<![0-9.月])(?P<day>[0-9]{1,2})\s*[号號](?!楼|线|店|室)", _day_of_month),
    (r"\b(?P<count>[0-9]{1,3}|an?|one|two|(?:a )?couple of|three|four|five|six|seven|eight|nine"
     r"|ten|eleven|twelve) (?P<unit>day|week|month|year)s? ago\b",
     lambda today, found: _around(
         today, found["unit"].lower(),
         2 if "couple" in found["count"].lower() else _number(found["count"]))),
    (rf"{_COUNT}\s*[个個かヶケカ]?(?P<unit>天|日|周|週|星期|礼拜|月|年|일|주|달|개월|년)"
     r"[間间간]?\s*(?:之?前|以前|전)",
     lambda today, found: _around(today, _UNITS[found["unit"]], _number(found["count"]))),
    (r"\b(?:on|last|this) (?P<name>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)"
     r"(?:day)?\b",
     lambda today, found: _weekday(today, _WEEKDAYS.index(found["name"][:3].lower()), None)),
    (r"(?P<week>上上?|本|这)?个?(?:周|星期|礼拜)(?P<name>[一二三四五六日天])",
     lambda today, found: _weekday(
         today, _HAN_WEEKDAYS[found["name"]],
         {None: None, "上": 1, "上上": 2}.get(found["week"], 0))),
    (r"(?P<week>先週|지난주)?の?\s*(?P<name>[月火水木金土日]曜|[월화수목금토일]요일)",
     lambda today, found: _weekday(
         today, _OTHER_WEEKDAYS[found["name"][0]], 1 if found["week"] else None)),
    (rf"\b(?:{_any({k: v for k, v in _DAYS_BEFORE.items() if k.isascii()})})\b"
     rf"|{_any({k: v for k, v in _DAYS_BEFORE.items() if not k.isascii()})}",
     lambda today, found: _before(today, "day", _DAYS_BEFORE[found[0].lower()])),
    (r"\b(?P<which>last|this) (?P<unit>week|month|year)\b",
     lambda today, found: _before(
         today, found["unit"].lower(), int(found["which"].lower() == "last"))),
    (_any(dict(_PERIODS)), lambda today, found: _before(today, *_PERIODS[found[0]])),
    (rf"\b(?:in|during|since) {_YEAR}\b|{_YEAR.replace('year', 'han')}\s*[年년]",
     lambda today, found: _year(int(found["year"] or found["han"]))),
)  # fmt: skip


@functools.cache
def _forms() -> tuple[tuple[re.Pattern[str], Callable[[date, re.Match[str]], Days]], ...]:
    # Compiled for the first question, and not at the import of the package.
    return tuple((re.compile(each, re.IGNORECASE), meaning) for each, meaning in _FORMS)


def names_times(text: str) -> bool:
    """Whether a text may name a time."""
    return any(form.search(text) for form, _ in _forms())


def days_named(text: str, today: date) -> Iterator[Days]:
    """Give the days, weeks, months and years that a text names, as first day and day after.

    Args:
        text: a question.
        today: the day that relative times are counted from.
    """
    taken: list[tuple[int, int]] = []
    for form, meaning in _forms():
        for found in form.finditer(text):
            start, end = found.span()
            if any(start < other_end and other < end for other, other_end in taken):
                continue  # a part of a time that is named more closely
            try:
                days = meaning(today, found)
            except (ValueError, OverflowError):
                continue
            taken.append((start, end))
            yield days


def times_named(text: str, now: datetime, zone: tzinfo) -> tuple[tuple[int, int], ...]:
    """Return the times that a text names as bounds in microseconds, [from, to).

    Args:
        text: a question.
        now: an aware time that relative ones are counted from.
        zone: where days begin.
    """
    return tuple(
        (
            microseconds_of(datetime.combine(first, time.min, zone)),
            microseconds_of(datetime.combine(after, time.min, zone)),
        )
        for first, after in days_named(text, now.astimezone(zone).date())
    )
