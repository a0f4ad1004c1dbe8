# SPDX-License-Identifier: MIT
"""Times, whatever they are called and however they are written."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram.importers.times import as_time, read_time

from .conftest import Load

MOMENT = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
SECONDS = 1772355600


@pytest.mark.parametrize(
    "written",
    [
        SECONDS,
        float(SECONDS),
        str(SECONDS),
        f"{SECONDS}.0",
        SECONDS * 10**3,
        SECONDS * 10**6,
        SECONDS * 10**9,
        str(SECONDS * 10**9),
        1.7723556e9,
        "1.7723556e9",
        "2026-03-01T09:00:00Z",
        "2026-03-01t09:00:00z",
        "2026-03-01T09:00:00",
        "2026-03-01 09:00:00",
        "2026-03-01 09:00",
        "2026-03-01T17:00:00+08:00",
        "2026-03-01T17:00:00+0800",
        "2026-03-01 17:00:00+08",
        "2026-03-01T04:00:00 -05:00",
        "2026-03-01 09:00:00 UTC",
        "2026-03-01T09:00:00.000000000Z",
        "2026-03-01T09:00:00,0",
        "20260301T090000Z",
        "20260301090000",
        "Sun, 01 Mar 2026 09:00:00 +0000",
        "Sun, 01 Mar 2026 17:00:00 +0800",
        "01 Mar 2026 09:00:00 GMT",
        "1 Mar 2026 09:00:00 -0000",
        "Sun Mar 01 2026 17:00:00 GMT+0800 (China Standard Time)",
        "Sun Mar  1 09:00:00 2026",
        "March 1, 2026 9:00am",
        "2026-3-1 @9h 0m 0s 0ms",
        "2026/03/01 09:00:00",
        {"$date": "2026-03-01T09:00:00Z"},
        {"$date": SECONDS * 1000},
        {"$date": {"$numberLong": str(SECONDS * 1000)}},
        {"seconds": SECONDS, "nanoseconds": 0},
        {"_seconds": SECONDS, "_nanoseconds": 0},
        datetime(2026, 3, 1, 9),
    ],
    ids=str,
)
def test_one_moment_is_read_in_every_form(written: Any) -> None:
    assert as_time(written) == MOMENT


@pytest.mark.parametrize(
    "written",
    [
        *("soon", "", "2026-13-01", "2026-02-30T00:00:00Z", "99999999T", "12", "9" * 400),
        *(0, 1, 41.5, True, None, [], float("nan"), float("inf"), 1e300, -1e18, 10**40),
        *({}, {"$date": None}, {"$date": "soon"}, {"$date": {"seconds": "x"}}),
        "0001-01-01T00:00:00+14:00",
    ],
    ids=str,
)
def test_what_is_no_time_is_none(written: Any) -> None:
    assert as_time(written) is None


@given(
    st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
    st.sampled_from(["iso", "mail", "s", "ms", "us", "ns"]),
)
def test_every_moment_comes_back(naive: datetime, minutes: int, form: str) -> None:
    moment = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    micros = (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
    step = {"mail": 1_000_000, "s": 1_000_000, "ms": 1_000}.get(form, 1)
    written: Any = {
        "iso": moment.isoformat(),
        "mail": format_datetime(moment),
        "s": micros // 1_000_000,
        "ms": micros // 1_000,
        "us": micros,
        "ns": micros * 1_000,
    }[form]
    found = as_time(written)
    assert found is not None
    assert abs(found - moment) < timedelta(microseconds=step)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    as_time(text)


@pytest.mark.parametrize(
    "name",
    [
        *("timestamp", "created_at", "createdAt", "create_time", "created", "time", "date", "ts"),
        *("send_date", "sent_at", "startTime", "start_time", "session_start", "datetime_utc"),
    ],
)
def test_a_time_is_seen_under_every_usual_name(load: Load, name: str) -> None:
    (batch,), report = load([{"role": "user", "content": "rain?", name: "2026-03-01T09:00:00Z"}])
    assert batch.messages[0].timestamp == MOMENT
    assert report.untimed == 0


@pytest.mark.parametrize("name", ["session_start", "startTime", "started_at", "createdAt"])
def test_a_conversation_begins_when_it_says(load: Load, name: str) -> None:
    talk = {"id": "x", name: "2026-03-01T09:00:00", "messages": [{"role": "user", "content": "a"}]}
    (batch,), _ = load(talk)
    assert batch.session.started_at == batch.messages[0].timestamp == MOMENT


def test_a_time_may_stand_with_what_else_is_said_of_a_message() -> None:
    assert read_time({"metadata": {"timestamp": SECONDS}}) == (MOMENT, False)
    assert read_time({"created_at": "soon", "timestamp": SECONDS}) == (MOMENT, False)
    assert read_time({"created_at": "soon"}) == (None, True)
    assert read_time({}) == (None, False)


def test_messages_without_a_time_are_counted(load: Load) -> None:
    _, report = load([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    assert report.untimed == 2
    _, report = load([{"role": "user", "content": "a", "createdAt": "one day"}])
    assert (report.untimed, dict(report.skipped)) == (1, {"times that could not be read": 1})
