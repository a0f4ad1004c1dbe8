# SPDX-License-Identifier: MIT
"""The order of a session: by time, then by arrival, and what has no time in its place."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, Message, Session
from mnemogram.history import reading
from mnemogram.history.legacy import LegacyRecord
from mnemogram.history.models import EvidenceMessage
from mnemogram.history.schema import SCHEMA, STEPS
from mnemogram.sqlite.database import Connection, Database, Schema
from tests.history.support import assert_sound, finish, raw

START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


def said(uid: str, day: float | None = None, **fields: str) -> Message:
    """Return a message of a day from the start on, or of none."""
    if day is None:
        return Message("user", f"word {uid}", uid=uid, provenance="legacy_snapshot")
    return Message("user", f"word {uid}", uid=uid, timestamp=START + timedelta(days=day), **fields)


def uids(messages: tuple[EvidenceMessage, ...]) -> str:
    return " ".join(each.uid for each in messages)


# --- what arrives later -----------------------------------------------------------------


def test_older_messages_that_arrive_later_come_first_everywhere(history: History) -> None:
    history.append("s", [said("c", 3), said("d", 4)])
    history.append("s", [said("a", 1), said("b", 2)])
    assert uids(history.read("s").messages) == "a b c d"
    (hit,) = history.search("c", window=1).results
    assert uids(hit.messages) == "b c d"
    assert uids(hit.bookend_start) == "a"
    assert (hit.messages_before, hit.messages_after) == (1, 0)
    assert hit.match_message_id is not None
    around = history.scroll("s", hit.match_message_id, window=1)
    assert uids(around.messages) == "b c d"
    assert (around.messages_before, around.messages_after) == (1, 0)
    (listed,) = history.browse().results
    assert listed.preview == "word a"
    assert (listed.started_at, listed.last_active_at) == (
        "2026-03-02T09:00:00.000Z",
        "2026-03-05T09:00:00.000Z",
    )


def test_a_legacy_import_beside_a_running_host_comes_before_it(tmp_path: Path) -> None:
    class Old:
        def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
            records = [
                LegacyRecord("1", "trip", (said("a", 0),)),
                LegacyRecord("2", "trip", (said("untimed"),)),
                LegacyRecord("3", "trip", (said("b", 1),)),
            ]
            return [each for each in records if after is None or each.cursor > after][:limit]

    with History.open(tmp_path / "x.db", legacy=Old(), user_id="u") as history:
        history.append("trip", [said("new", 60)])
        finish(history)
        assert uids(history.read("trip").messages) == "a untimed b new"
        assert history.read("trip").started_at == "2026-03-01T09:00:00.000Z"


def test_the_first_and_the_last_of_a_long_session_meet_once(history: History) -> None:
    for count in (19, 20, 21, 29, 30, 31, 45):
        # The newest half arrives first.
        days = [*range(count // 2, count), *range(count // 2)]
        history.append(f"s{count}", [said(f"{day:02}", day) for day in days])
        result = history.read(f"s{count}")
        wanted = [f"{day:02}" for day in range(count)]
        shown = wanted if count <= 30 else wanted[:20] + wanted[-10:]
        assert [each.uid for each in result.messages] == shown
        assert (result.message_count, result.omitted) == (count, count - len(shown))
        if result.omitted:
            edge = next(each.id for each in result.messages if each.uid == "19")
            assert f"scroll from message {edge}" in (result.hint or "")


# --- unknown times ----------------------------------------------------------------------


def test_what_has_no_time_matches_no_bound_and_is_the_last_in_any_order_by_time(
    history: History,
) -> None:
    history.append("old", [said("x")])
    history.append("mixed", [said("y", 1), said("z")])
    history.append("timed", [said("w", 2)])
    for sort, order in (("oldest", "mixed timed old"), ("newest", "timed mixed old")):
        found = history.search("word", sort=sort, limit=10).results  # type: ignore[arg-type]
        assert " ".join(hit.session_id for hit in found) == order
        assert found[-1].when is None
        assert found[-1].messages[-1].timestamp is None
    for bounds in ({"after": "0001-01-01"}, {"before": "9999-12-31"}):
        found = history.search("word", limit=10, **bounds).results  # type: ignore[arg-type]
        assert {hit.session_id for hit in found} == {"mixed", "timed"}
        assert not history.search("z", **bounds).results  # type: ignore[arg-type]
        assert "old" not in {s.session_id for s in history.browse(**bounds).results}  # type: ignore[arg-type]
    (hit,) = history.search("z").results
    assert (hit.session_id, hit.when) == ("mixed", None)


@pytest.mark.parametrize("load_extension", [True, False])
def test_a_scan_sorts_unknown_times_last_too(tmp_path: Path, load_extension: bool) -> None:
    with History.open(tmp_path / "x.db", load_extension=load_extension) as history:
        history.append("old", [said("牙医 x")])
        history.append("timed", [said("牙医 w", 2)])
        for sort in ("oldest", "newest"):
            found = history.search("牙医", sort=sort, limit=10).results  # type: ignore[arg-type]
            assert [hit.session_id for hit in found] == ["timed", "old"]


def test_a_time_of_the_import_is_never_shown(history: History) -> None:
    history.append(Session("old", title="amber quay"), [said("x"), said("y")])
    history.append(Session("dated", title="amber lake", started_at="2024-05-06"), [said("z")])
    history.append(Session("timed", title="amber pond"), [said("w", 1)])
    hits = {hit.session_id: hit.when for hit in history.search("amber", limit=10).results}
    assert hits == {
        "old": None,
        "dated": "2024-05-06T00:00:00.000Z",
        "timed": "2026-03-02T09:00:00.000Z",
    }
    listed = history.browse().results
    assert [(each.session_id, each.started_at) for each in listed] == [
        ("timed", "2026-03-02T09:00:00.000Z"),
        ("dated", "2024-05-06T00:00:00.000Z"),
        ("old", None),
    ]
    assert [each.last_active_at is None for each in listed] == [False, False, True]
    read = history.read("old")
    assert (read.started_at, read.last_active_at) == (None, None)
    # A message with a time brings one.
    history.append("old", [said("later", 5)])
    read = history.read("old")
    assert (read.started_at, read.last_active_at) == ("2026-03-06T09:00:00.000Z",) * 2
    assert uids(read.messages) == "x y later"


def test_the_beginning_of_time_is_a_time_where_somebody_says_so(history: History) -> None:
    epoch = "1970-01-01T00:00:00Z"
    history.append("s", [Message("user", "word at zero", timestamp=epoch, uid="e")])
    (hit,) = history.search("zero", before="1970-01-02").results
    assert hit.when == "1970-01-01T00:00:00.000Z"
    assert [each.session_id for each in history.browse(after="1970-01-01").results] == ["s"]


def test_deleting_forgets_what_was_known_of_times(history: History) -> None:
    history.append("old", [said("x")])
    history.delete_session("old")
    with raw(history) as connection:
        for table in ("untimed", "undated"):
            assert connection.one(f"SELECT count(*) FROM {table}") == 0


def test_unknown_times_survive_an_export(history: History, tmp_path: Path) -> None:
    history.append("s", [said("a", 2), said("x"), said("b", 4)])
    history.append("s", [said("early", 1)])
    history.append("old", [said("y")])
    with (tmp_path / "out").open("w") as stream:
        history.export(stream)
    with History.open(tmp_path / "other.db") as other:
        other.import_export((tmp_path / "out").read_text().splitlines())
        for session in ("s", "old"):
            mine, theirs = history.read(session), other.read(session)
            assert [(m.uid, m.timestamp) for m in mine.messages] == [
                (m.uid, m.timestamp) for m in theirs.messages
            ]
            assert (mine.started_at, mine.last_active_at) == (
                theirs.started_at,
                theirs.last_active_at,
            )


# --- the law ----------------------------------------------------------------------------

DAYS = st.one_of(st.none(), st.integers(-40_000, 5).map(float), st.sampled_from([0.0, 1.0, 2.0]))


@settings(max_examples=40, deadline=None)
@given(batches=st.lists(st.lists(DAYS, min_size=1, max_size=8), min_size=1, max_size=6))
def test_every_view_of_a_session_has_one_order(batches: list[list[float | None]]) -> None:
    places: list[tuple[float, int]] = []
    for batch in batches:
        for day in batch:
            known = [each for each in batch if each is not None]
            first = known[0] if known else -math.inf
            place = day if day is not None else places[-1][0] if places else first
            places.append((place, len(places)))
    order = [f"u{number}" for _, number in sorted(places)]
    with tempfile.TemporaryDirectory() as folder, History.open(Path(folder) / "x.db") as history:
        number = 0
        for batch in batches:
            history.append("s", [said(f"u{number + n}", day) for n, day in enumerate(batch)])
            number += len(batch)
        check_order(history, order)


def check_order(history: History, order: list[str]) -> None:
    """Assert that reading, scrolling from each message and bookends have one order."""
    shown = history.read("s").messages
    ids = {each.uid: each.id for each in shown}
    assert [each.uid for each in shown] == (order if len(order) <= 30 else order[:20] + order[-10:])
    for uid, row_id in ids.items():
        at = order.index(uid)
        for window in (1, 3, 20):
            around = history.scroll("s", row_id, window=window)
            left = max(0, at - window)
            assert [each.uid for each in around.messages] == order[left : at + window + 1]
            assert around.messages_before == left
            assert around.messages_after == max(0, len(order) - at - window - 1)
    (hit,) = history.search("word", window=1).results
    assert [each.uid for each in hit.bookend_start] == [
        each for each in order[:3] if each not in uids(hit.messages).split()
    ]


# --- files of the first version -----------------------------------------------------------


def first_version(path: Path) -> None:
    """Make a file as the first version of the schema left it."""

    def create(connection: Connection, version: int) -> None:
        STEPS[0](connection)

    schema = Schema(SCHEMA.application_id, 1, create)
    now = 1_800_000_000_000_000
    day = 86_400_000_000
    rows = {  # of each session: uid, time (0: unknown)
        "s": [("b", 5 * day), ("x", 0), ("c", 7 * day), ("a", 3 * day), ("y", 0)],
        "old": [("p", 0), ("q", 0)],
        "late": [("m", 0), ("n", 9 * day)],
    }
    with Database(path, schema) as database, database.write() as connection:
        for row_id, (key, messages) in enumerate(rows.items(), 1):
            times = [time for _, time in messages if time]
            connection.execute(
                "INSERT INTO sessions (id, key, source, root_id, started_at, last_active_at,"
                " message_count) VALUES (?, ?, 'chat', ?, ?, ?, ?)",
                (row_id, key, row_id, times[0] if times else now, now, len(messages)),
            )
            for uid, time in messages:
                connection.execute(
                    "INSERT INTO messages (session_id, role, timestamp, substring, uid,"
                    " provenance, content) VALUES (?, 'user', ?, 1, ?, ?, ?)",
                    (row_id, time, uid, "observed" if time else "legacy_snapshot", f"word {uid}"),
                )


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    first_version(tmp_path / "old.db")
    with History.open(tmp_path / "old.db") as history:
        finish(history)
        assert history.status().schema_version == len(STEPS)
        assert uids(history.read("s").messages) == "a y b x c"
        assert uids(history.read("old").messages) == "p q"
        assert uids(history.read("late").messages) == "m n"
        times = {each.session_id: each for each in history.browse().results}
        assert list(times) == ["late", "s", "old"]
        assert times["s"].started_at == "1970-01-04T00:00:00.000Z"
        assert times["s"].last_active_at == "1970-01-08T00:00:00.000Z"
        assert times["late"].started_at == "1970-01-10T00:00:00.000Z"
        assert (times["old"].started_at, times["old"].last_active_at) == (None, None)
        hidden = [m.uid for m in history.read("s").messages if m.timestamp is None]
        assert hidden == ["y", "x"]
        assert history.check().ok
        assert_sound(history)


def test_a_file_of_the_first_version_can_be_read_without_writing_it(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first_version(path)
    before = path.read_bytes()
    with History.open(path, read_only=True) as history:
        assert {each.session_id for each in history.browse().results} == {"s", "old", "late"}
        assert [m.uid for m in history.read("s").messages if m.timestamp] == ["a", "b", "c"]
        assert history.read("old").started_at is None
        found = history.search("word", sort="oldest", limit=10)
        assert [hit.session_id for hit in found.results] == ["s", "late", "old"]
        assert len(history.search("word", after="1970-01-02", limit=10).results) == 2
    assert path.read_bytes() == before


def test_every_migration_may_be_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_version(tmp_path / "old.db")

    def broken(connection: Connection, version: int) -> None:
        SCHEMA.upgrade(connection, version)
        raise KeyboardInterrupt

    schema = Schema(SCHEMA.application_id, SCHEMA.version, broken)
    with pytest.raises(KeyboardInterrupt):
        Database(tmp_path / "old.db", schema)
    with History.open(tmp_path / "old.db") as history:
        assert uids(history.read("s").messages) == "a y b x c"


# --- by the index -------------------------------------------------------------------------


def test_windows_and_counts_are_read_off_the_index_of_the_order(history: History) -> None:
    history.append("s", [said(str(n), n) for n in range(50)])
    bindings = {"session": 1, "time": 0, "id": 25, "limit": 5}
    with raw(history) as connection:
        for statement in (
            reading._BEFORE,
            reading._AFTER,
            reading._COUNT_BEFORE,
            reading._COUNT_AFTER,
            reading._SPAN,
        ):
            plan = [
                str(row[-1])
                for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", bindings)
            ]
            read = [line for line in plan if " m " in f"{line} " and "rowid=" not in line]
            assert len(read) == 2
            assert all("USING COVERING INDEX messages_in_order (session_id=?" in s for s in read)
            assert not any("TEMP B-TREE" in line for line in plan)
