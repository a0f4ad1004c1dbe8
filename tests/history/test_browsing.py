# SPDX-License-Identifier: MIT
"""Lists of sessions: which were active when, in what order, and what a bound means."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram import History, InvalidArgument, Message, Session
from mnemogram.history.period import DAY, checked_period
from mnemogram.moments import to_microseconds

START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


def say(history: History, session: str, *days: float, **fields: str) -> None:
    """Store a message of a session on each of some days from the start on."""
    history.append(
        Session(session, **fields),  # type: ignore[arg-type]
        [
            Message("user", f"{session} on day {day}", timestamp=START + timedelta(days=day))
            for day in days
        ],
    )


def listed(history: History, after: float | None, before: float | None, **options: object) -> str:
    """Return the ids of the sessions active between two days, in the order of the list."""
    answer = history.browse(
        after=None if after is None else START + timedelta(days=after),
        before=None if before is None else START + timedelta(days=before),
        **options,  # type: ignore[arg-type]
    )
    return " ".join(each.session_id for each in answer.results)


def test_a_session_counts_where_it_was_active_whatever_came_later(history: History) -> None:
    say(history, "channel", 0, 5, 9)
    say(history, "one", 4)
    say(history, "two", 6)
    assert listed(history, 3, 6) == "channel one"
    assert listed(history, 0, 1) == "channel"
    assert listed(history, None, 5) == "one channel"
    assert listed(history, 5, None) == "channel two"
    assert listed(history, 1, 4) == ""


def test_bounds_are_inclusive_and_exclusive(history: History) -> None:
    say(history, "s", 1)
    assert listed(history, 1, 2) == "s"
    assert listed(history, 0, 1) == ""


def test_the_preview_and_the_time_are_those_of_the_period(history: History) -> None:
    say(history, "channel", 0, 3, 4, 9)
    (found,) = history.browse(after="2026-03-04", before="2026-03-06").results
    assert found.preview == "channel on day 3"
    assert found.when == "2026-03-05T09:00:00.000Z"
    assert found.last_active_at == "2026-03-10T09:00:00.000Z"
    assert found.match_message_id is not None
    around = history.scroll("channel", found.match_message_id, window=1)
    assert [message.content for message in around.messages if message.anchor] == [found.preview]


def test_what_was_undone_or_has_no_time_makes_no_session_active(history: History) -> None:
    say(history, "undone", 1)
    history.append("undone", [Message("user", "undone", uid="u", timestamp=START)])
    history.rewind("undone", ["u"])
    history.append("old", [Message("user", "old", provenance="legacy_snapshot")])
    assert listed(history, None, 0.5) == ""
    assert listed(history, None, 2) == "undone"


def test_excluding_a_session_excludes_its_lineage(history: History) -> None:
    say(history, "root", 1)
    say(history, "child", 2, parent="root")
    say(history, "other", 3)
    for name in ("root", "child"):
        assert listed(history, 0, 9, exclude_sessions=[name]) == "other"
        assert listed(history, None, None, exclude_sessions=[name]) == "other"
        found = history.search("day", limit=10, exclude_sessions=[name])
        assert [hit.session_id for hit in found.results] == ["other"]


def test_hidden_sources_are_listed_by_name_only(history: History) -> None:
    say(history, "chat", 1)
    say(history, "sub", 2, source="subagent")
    for bounds in ((None, None), (0, 9)):
        assert listed(history, *bounds) == "chat"
        assert listed(history, *bounds, sources=["subagent"]) == "sub"
        assert listed(history, *bounds, all_sources=True) == "sub chat"
        assert listed(history, *bounds, sources=["kanban"]) == ""


def test_pages_go_on_to_the_end_while_sessions_arrive(history: History) -> None:
    for number in range(25):
        say(history, f"s{number}", number, number + 0.5)
    for bounds in ({}, {"after": START, "before": START + timedelta(days=99)}):
        shown, cursor = [], None
        while True:
            answer = history.browse(cursor=cursor, **bounds)  # type: ignore[arg-type]
            shown += [each.session_id for each in answer.results]
            say(history, f"new{len(shown)}", 100 + len(shown))
            cursor = answer.cursor
            if cursor is None or len(shown) > 60:
                break
        assert [each for each in shown if each[0] == "s"] == [f"s{n}" for n in range(24, -1, -1)]
        assert len(shown) == len(set(shown))


def test_a_cursor_of_another_list_is_refused(history: History) -> None:
    for number in range(3):
        say(history, f"s{number}", number)
    cursor = history.browse(limit=1).cursor
    with pytest.raises(InvalidArgument, match="another"):
        history.browse(limit=1, after=START, cursor=cursor)


def test_bounds_that_count_from_now_may_move_between_two_pages(history: History) -> None:
    for number in range(4):
        say(history, f"s{number}", number)
    hour = timedelta(hours=1)
    for pages in (history.browse, partial(history.search, "day")):
        first = pages(limit=2, after=START)  # type: ignore[operator]
        second = pages(limit=2, after=START + hour / 2, cursor=first.cursor)  # type: ignore[operator]
        assert {each.session_id for each in (*first.results, *second.results)} == {
            f"s{number}" for number in range(4)
        }
        with pytest.raises(InvalidArgument, match="another period"):
            pages(limit=2, after=START + 2 * hour, cursor=first.cursor)  # type: ignore[operator]


@pytest.mark.parametrize("depth", [900, 60_000])
def test_a_cursor_that_is_nested_without_end_is_refused(history: History, depth: int) -> None:
    data = zlib.compress(b"[" * depth)
    cursor = base64.urlsafe_b64encode(data).decode().rstrip("=")
    for pages in (history.browse, partial(history.search, "day")):
        with pytest.raises(InvalidArgument, match="cursor"):
            pages(cursor=cursor)  # type: ignore[operator]


@pytest.mark.parametrize("sources", ["chat", [], [1]])
def test_sources_are_a_list_of_names(history: History, sources: object) -> None:
    with pytest.raises(InvalidArgument):
        history.browse(sources=sources)  # type: ignore[arg-type]


# --- bounds ----------------------------------------------------------------------------

MIDNIGHT = to_microseconds("2026-03-02")


@pytest.mark.parametrize(
    ("after", "before", "start", "end"),
    [
        ("2026-03-02", "2026-03-02", MIDNIGHT, MIDNIGHT + DAY),
        (None, "2026-03-02", None, MIDNIGHT + DAY),
        ("2026-03-02", None, MIDNIGHT, None),
        ("2026-03-01", "2026-03-02", MIDNIGHT - DAY, MIDNIGHT),
        ("2026-03-01T12:00", " 2026-03-02 ", MIDNIGHT - DAY // 2, MIDNIGHT + DAY),
        ("2026-03-01", "2026-03-02T00:00", MIDNIGHT - DAY, MIDNIGHT),
        (datetime(2026, 3, 1, tzinfo=timezone.utc), "2026-03-02", MIDNIGHT - DAY, MIDNIGHT + DAY),
        (None, "9999-12-31", None, 253_402_300_799_999_999),
    ],
)
def test_what_bounds_mean(after: object, before: object, start: object, end: object) -> None:
    period = checked_period(after, before)  # type: ignore[arg-type]
    assert (period.after, period.before) == (start, end)


@given(dates=st.lists(st.dates(), min_size=2, max_size=2))
def test_two_dates_are_a_period_or_can_be_exchanged(dates: list[date]) -> None:
    first, last = min(dates), max(dates)
    period = checked_period(str(first), str(last))
    assert period.after is not None
    assert period.before is not None
    assert period.after < period.before
    if first < last:
        hint = f"exchange them: after {first}, before {last}."
        with pytest.raises(InvalidArgument) as caught:
            checked_period(str(last), str(first))
        assert hint in caught.value.hint


@given(moment=st.datetimes(timezones=st.just(timezone.utc)))
def test_one_moment_as_both_bounds_is_refused_with_a_later_one(moment: datetime) -> None:
    with pytest.raises(InvalidArgument) as caught:
        checked_period(moment, moment)
    later = caught.value.hint.split("ends before ")[1].rstrip(".")
    if moment < datetime(9999, 12, 31, tzinfo=timezone.utc):
        assert checked_period(moment, later).before is not None
