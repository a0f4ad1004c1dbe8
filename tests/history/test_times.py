# SPDX-License-Identifier: MIT
"""Times at and beyond the ends of the calendar: refused at the door, read where stored."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnemogram import History, InvalidArgument, Message, Session
from mnemogram.cli.zone import Zone
from mnemogram.moments import format_time
from mnemogram.tools import session_search_tool
from tests.history.support import finish, raw

BEYOND = (
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-00:01",
    datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
)
ENDS = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "0001-01-01T01:00:00+01:00")


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        opened.append(Session("s"), [Message("user", "apple", uid="a")])
        yield opened


@pytest.mark.parametrize("time", BEYOND)
def test_a_time_without_a_year_is_refused_wherever_one_is_stored(
    history: History, time: datetime | str
) -> None:
    for session, stamp in ((Session("t", started_at=time), None), ("t", time)):
        with pytest.raises(InvalidArgument, match="years 1 to 9999"):
            history.append(session, [Message("user", "x", timestamp=stamp)])
    with pytest.raises(InvalidArgument, match="years 1 to 9999"):
        history.expire(time)
    if isinstance(time, str):
        line = f'{{"type": "tombstone", "session": "t", "deleted_at": "{time}"}}'
        with pytest.raises(InvalidArgument, match="years 1 to 9999"):
            history.import_export([line])
    assert history.status().messages == 1
    # As a bound it only means the end of the calendar.
    assert history.search("apple", after="0001-01-01T00:00:00+14:00").count == 1


@pytest.mark.parametrize("time", ENDS)
def test_the_ends_of_the_calendar_are_times_like_others(history: History, time: str) -> None:
    history.append(Session("t", started_at=time), [Message("user", "pear", timestamp=time)])
    assert history.search("pear").count == 1
    assert history.browse().count == 2
    assert (history.read("t").messages[0].timestamp or "").startswith(("0001-01", "9999-12"))
    assert Zone().show(history.read("t").started_at)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(moment=st.integers(-(2**63), 2**63 - 1))
@example(moment=-(2**63))
@example(moment=2**63 - 1)
def test_whatever_is_stored_as_a_time_can_be_read(history: History, moment: int) -> None:
    with raw(history) as connection:
        connection.execute("UPDATE messages SET timestamp = ?", (moment,))
        connection.execute("UPDATE sessions SET started_at = ?, last_active_at = ?", (moment,) * 2)
        connection.execute("INSERT OR REPLACE INTO tombstones VALUES ('gone', ?)", (moment,))
    for sort in ("relevance", "newest", "oldest"):
        found = history.search("apple", sort=sort)  # type: ignore[arg-type]
        assert found.count == 1
    assert Zone().show(found.results[0].when)
    assert history.scroll("s", 1).messages
    assert history.read("s").messages
    assert history.browse().count == 1
    assert session_search_tool(history)({"query": "apple"})["success"]
    assert session_search_tool(history)({})["success"]
    stream = io.StringIO()
    history.export(stream)
    finish(history)
    history.expire("2020-01-01", dry_run=True)
    with History.open(f"{history.path}{moment}") as other:
        assert other.import_export(stream.getvalue().splitlines()).sessions == 1
    assert (format_time(moment) or "").endswith("Z")


@pytest.mark.parametrize("retention", [None, timedelta(0)])
def test_no_retention_keeps_everything(tmp_path: Path, retention: timedelta | None) -> None:
    with History.open(tmp_path / "r.db", retention=retention) as history:
        history.append("s", [Message("user", "old", timestamp="1990-01-01")])
        finish(history)
        assert history.status().messages == 1


def test_a_retention_longer_than_the_calendar_keeps_everything(tmp_path: Path) -> None:
    with History.open(tmp_path / "r.db", retention=timedelta.max) as history:
        history.append("s", [Message("user", "old", timestamp="0001-01-01")])
        finish(history)
        assert history.status().messages == 1


def test_a_negative_retention_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="negative"):
        History.open(tmp_path / "r.db", retention=timedelta(-1))
