# SPDX-License-Identifier: MIT
"""Times that a question names are preferred, and nothing is left out for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, Message
from mnemogram.history.search.dates import days_named

#: A Wednesday.
TODAY = date(2026, 3, 18)


@pytest.mark.parametrize(
    ("text", "first", "days"),
    [
        ("what did I say yesterday?", "2026-03-17", 1),
        ("昨天说了什么", "2026-03-17", 1),
        ("昨日の話", "2026-03-17", 1),
        ("어제 뭐라고 했지", "2026-03-17", 1),
        ("前天的会", "2026-03-16", 1),
        ("where did we go last May?", "2025-05-01", 31),
        ("the trip in May 2024", "2024-05-01", 31),
        ("the meeting on 12 May 2024", "2024-05-12", 1),
        ("the meeting on May 12th, 2024", "2024-05-12", 1),
        ("what happened in February", "2026-02-01", 28),
        ("what happened in April", "2025-04-01", 30),
        ("last March", "2025-03-01", 31),
        ("on the 12th", "2026-03-12", 1),
        ("on the 31st", "2026-01-31", 1),
        ("2024-05-12", "2024-05-12", 1),
        ("2024/5/12", "2024-05-12", 1),
        ("去年五月去了哪里", "2025-05-01", 31),
        ("2024年5月12日", "2024-05-12", 1),
        ("5月12日の予定", "2025-05-12", 1),
        ("작년 5월", "2025-05-01", 31),
        ("3월 12일 약속", "2026-03-12", 1),
        ("12号的预约", "2026-03-12", 1),
        ("last week", "2026-03-09", 7),
        ("上周", "2026-03-09", 7),
        ("先週", "2026-03-09", 7),
        ("지난주", "2026-03-09", 7),
        ("last month", "2026-02-01", 28),
        ("上个月", "2026-02-01", 28),
        ("last year", "2025-01-01", 365),
        ("去年", "2025-01-01", 365),
        ("in 2024", "2024-01-01", 366),
        ("2024年", "2024-01-01", 366),
        ("on Monday", "2026-03-16", 1),
        ("last Wednesday", "2026-03-11", 1),
        ("上周三", "2026-03-11", 1),
        ("月曜日", "2026-03-16", 1),
        ("지난주 월요일", "2026-03-09", 1),
        ("three days ago", "2026-03-15", 1),
        ("3天前", "2026-03-15", 1),
        ("3日前", "2026-03-15", 1),
        ("3일 전", "2026-03-15", 1),
    ],
)
def test_a_time_is_known_by_its_name(text: str, first: str, days: int) -> None:
    start = date.fromisoformat(first)
    assert list(days_named(text, TODAY)) == [(start, start + timedelta(days=days))]


@pytest.mark.parametrize(
    "text",
    [
        "you may go",
        "march on",
        "the second one",
        "1,200 people",
        "三个人",
        "version 2024.5",
        "sunny",
        "the 19th century",
        "on 45 May",
        "2024-13-45",
        "2024-02-30",
        "5号楼",
        "",
    ],
)
def test_what_is_no_time_is_passed_over(text: str) -> None:
    assert list(days_named(text, TODAY)) == []


def test_about_so_long_ago_is_a_span_around_it() -> None:
    ((first, after),) = days_named("two months ago", TODAY)
    assert first < date(2026, 1, 17) < after
    assert after - first < timedelta(days=31)


@settings(max_examples=200, deadline=None)
@given(
    st.text() | st.text("0123456789 -/.月日年号周一二三上去昨前天maylastinonthe", max_size=20),
    st.dates(),
)
def test_any_text_on_any_day_names_spans_of_the_calendar(text: str, today: date) -> None:
    for first, after in days_named(text, today):
        assert first < after


# --- in a search -----------------------------------------------------------------------


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


def store(history: History, moments: dict[str, datetime], text: str) -> None:
    history.append_many(
        (name, [Message("user", text, uid="1", timestamp=moment)])
        for name, moment in moments.items()
    )


def test_what_was_said_at_the_time_that_is_named_comes_first(history: History) -> None:
    now = datetime.now(timezone.utc)
    moments = {f"d{days}": now - timedelta(days=days) for days in (0, 1, 2, 9)}
    store(history, moments, "the dentist called about the appointment")
    found = [hit.session_id for hit in history.search("dentist yesterday", limit=10).results]
    assert found[0] == "d1"
    assert set(found) == set(moments)
    found = [hit.session_id for hit in history.search("dentist", limit=10).results]
    assert found == ["d0", "d1", "d2", "d9"]


def test_the_gain_of_a_time_is_explained(history: History) -> None:
    now = datetime.now(timezone.utc)
    store(history, {"old": now - timedelta(days=1), "new": now}, "the dentist called")
    first, second = history.search("dentist yesterday", explain=True).results
    assert first.session_id == "old"
    assert first.explanation is not None
    assert second.explanation is not None
    assert first.explanation.points["date"] > 0
    assert "date" not in second.explanation.points


def test_a_much_better_match_stays_above_one_of_the_time_that_is_named(history: History) -> None:
    now = datetime.now(timezone.utc)
    store(history, {"a": now}, "the dentist moved the appointment to the new clinic downtown")
    store(history, {"b": now - timedelta(days=1)}, "we talked about an appointment")
    query = "dentist appointment new clinic downtown yesterday"
    assert history.search(query).results[0].session_id == "a"


def test_in_an_old_store_times_are_counted_from_its_newest_message(history: History) -> None:
    newest = datetime(2020, 6, 10, 12, tzinfo=timezone.utc)
    moments = {f"d{days}": newest - timedelta(days=days) for days in (0, 1, 2)}
    store(history, moments, "the dentist called")
    assert history.search("dentist yesterday").results[0].session_id == "d1"
