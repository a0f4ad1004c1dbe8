# SPDX-License-Identifier: MIT
"""Deletion leaves nothing to find, expiry comes back, purge leaves no byte."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import apsw
import pytest

from mnemogram import History, InvalidArgument, Message, NotFound, Session
from mnemogram.history.index import state as indexes
from mnemogram.sqlite import database
from tests.history.support import assert_sound, fill, finish, message, raw

SECRET = "zyxwvqcanary"
SECRET_CJK = "龘靐齉"
EVERY_ROLE = ("user", "assistant", "tool")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History.open(path) as opened:
        yield opened


def count(history: History, table: str) -> int:
    with raw(history) as connection:
        return int(connection.one(f"SELECT count(*) FROM {table}"))


# --- states ----------------------------------------------------------------------------


def test_compaction_keeps_messages_and_rewinding_hides_them_everywhere(history: History) -> None:
    fill(history, 6)
    assert history.mark_compacted("s", ["u0", "u1", "unknown"]) == 2
    assert history.mark_compacted("s", ["u0"]) == 0
    assert history.rewind("s", ["u1", "u2"]) == 2
    assert history.mark_compacted("s", ["u2"]) == 0  # rewound stays rewound
    assert [each.uid for each in history.read("s").messages] == ["u0", "u3", "u4", "u5"]
    assert [each.uid for each in history.scroll("s", 4).messages] == ["u0", "u3", "u4", "u5"]
    with pytest.raises(NotFound):
        history.scroll("s", 2)
    assert history.search("no2", roles=EVERY_ROLE).count == 0
    assert history.search("no0", roles=EVERY_ROLE).count == 1
    assert_sound(history)


def test_read_and_scroll_use_one_order_also_for_messages_with_odd_times(history: History) -> None:
    times = ("2026-03-03", "2026-03-01", "2026-03-02")
    history.append("s", [message(number, timestamp=moment) for number, moment in enumerate(times)])
    order = [each.uid for each in history.read("s").messages]
    assert order == [each.uid for each in history.scroll("s", 2).messages] == ["u1", "u2", "u0"]


@pytest.mark.parametrize("call", ["mark_compacted", "rewind"])
def test_states_of_an_unknown_session_are_refused(history: History, call: str) -> None:
    with pytest.raises(NotFound):
        getattr(history, call)("nowhere", ["u0"])
    fill(history, 1)
    with pytest.raises(InvalidArgument, match="list"):
        getattr(history, call)("s", "u0")


def test_a_session_ends_with_a_reason(history: History) -> None:
    fill(history, 1)
    history.end_session("s", "compression")
    assert history.browse().results[0].end_reason == "compression"
    with pytest.raises(NotFound):
        history.end_session("nowhere", "idle")
    with pytest.raises(InvalidArgument):
        history.end_session("s", " ")


# --- deletion --------------------------------------------------------------------------


def test_a_deleted_session_is_gone_from_store_and_indexes(history: History) -> None:
    fill(history, 9)
    fill(history, 3, session="kept", start=102)
    done = history.delete_session("s")
    assert (done.existed, done.messages) == (True, 9)
    assert history.search("牙医 OR job_new1", roles=EVERY_ROLE).count == 0
    with pytest.raises(NotFound):
        history.read("s")
    assert [each.session_id for each in history.browse().results] == ["kept"]
    assert_sound(history)


def test_a_deletion_may_be_repeated_and_keeps_its_first_time(history: History) -> None:
    fill(history, 3)
    history.delete_session("s")
    with raw(history) as connection:
        first = connection.one("SELECT deleted_at FROM tombstones")
    again = history.delete_session("s")
    assert (again.existed, again.messages) == (False, 0)
    with raw(history) as connection:
        assert connection.one("SELECT deleted_at FROM tombstones") == first


def test_a_late_message_of_a_deleted_session_is_refused_and_counted(history: History) -> None:
    history.delete_session("s")  # before anything of it arrived
    result = history.append("s", [message(1), message(2)])
    assert (result.inserted, result.refused, result.ids) == (0, 2, (None, None))
    assert any("deleted" in note for note in result.notes)
    assert count(history, "messages") == 0


def at(minutes: int) -> datetime:
    return datetime.now(timezone.utc) + timedelta(minutes=minutes)


def test_a_lasting_session_begins_anew_and_what_was_deleted_stays_refused(
    history: History,
) -> None:
    old = Message("user", "hello", uid="1", timestamp="2026-01-01T00:00:00Z")
    history.append("tg:42", [old])
    history.delete_session("tg:42")
    new = Message("user", "a new start", uid="2", timestamp=at(1))
    first = history.append("tg:42", [old, new, Message("user", "late", uid="3")])
    assert (first.inserted, first.refused) == (1, 2)
    assert first.ids[0] is first.ids[2] is None
    assert [each.content for each in history.read("tg:42").messages] == ["a new start"]
    # From now on it is a session like any other, except for what is older.
    assert history.append("tg:42", [Message("user", "now", uid="4")]).inserted == 1
    assert history.append("tg:42", [old]).refused == 1
    snapshot = Message("user", "a copy", uid="5", provenance="legacy_snapshot")
    assert history.append("tg:42", [snapshot]).refused == 1
    assert history.read("tg:42").message_count == 2
    assert_sound(history)


def test_a_session_that_is_deleted_again_is_gone_again(history: History) -> None:
    history.delete_session("s")
    ahead = message(1, timestamp=at(30))  # by a clock that is fast
    assert history.append("s", [ahead]).inserted == 1
    assert history.delete_session("s").messages == 1
    assert history.append("s", [ahead, message(2), message(3, timestamp=at(-1))]).refused == 3
    assert history.append("s", [message(4, timestamp=at(31))]).inserted == 1


def test_a_host_without_times_revives_a_session_by_a_call(history: History) -> None:
    fill(history, 2)
    assert history.revive_session("s") is False
    history.delete_session("s")
    assert history.append("s", [message(5)]).refused == 1
    assert history.revive_session("s") is True
    assert history.append("s", [message(5)]).inserted == 1
    assert history.append("s", [message(0, timestamp="2026-01-01")]).refused == 1
    assert history.expire(at(60)).sessions == 1
    assert history.append("s", [message(6)]).inserted == 1  # still alive
    history.delete_session("s")
    assert history.append("s", [message(7)]).refused == 1


def test_an_export_of_a_session_that_began_anew_comes_back(
    history: History, tmp_path: Path
) -> None:
    history.delete_session("s")
    history.append("s", [message(1, timestamp=at(1))])
    stream = io.StringIO()
    history.export(stream)
    with History.open(tmp_path / "other.db") as other:
        done = other.import_export(stream.getvalue().splitlines())
        assert (done.inserted, done.tombstones) == (1, 1)
        assert other.append("s", [message(2, timestamp="2026-01-01")]).refused == 1


def test_the_children_of_a_deleted_session_head_lineages_of_their_own(history: History) -> None:
    for key, parent in (("a", None), ("b", "a"), ("c", "b"), ("d", "c")):
        history.append(Session(key, parent=parent), [message(1)])
    history.delete_session("b")
    with raw(history) as connection:
        roots = dict(
            connection.execute(
                "SELECT s.key, r.key FROM sessions AS s JOIN sessions AS r ON r.id = s.root_id"
            )
        )
    assert roots == {"a": "a", "c": "c", "d": "c"}


def test_a_deletion_that_fails_changes_nothing(history: History) -> None:
    fill(history, 5)
    with raw(history) as connection:
        connection.execute(
            "CREATE TRIGGER refuse BEFORE DELETE ON sessions"
            " BEGIN SELECT raise(ABORT, 'refused'); END"
        )
    with pytest.raises(Exception, match="refused"):
        history.delete_session("s")
    assert history.read("s").message_count == 5
    assert count(history, "tombstones") == 0
    assert_sound(history)


# --- expiry ----------------------------------------------------------------------------


def dated(history: History, key: str, day: int, messages: int) -> None:
    history.append(
        key,
        [message(number, timestamp=f"2026-01-{day:02d}T00:00:00Z") for number in range(messages)],
    )


def test_expiry_takes_sessions_by_their_last_activity_and_leaves_no_tombstone(
    history: History,
) -> None:
    dated(history, "old", 1, 3)
    dated(history, "long", 2, 700)
    dated(history, "revived", 3, 2)
    history.append("revived", [message(50, timestamp="2026-01-20T00:00:00Z")])
    dated(history, "new", 21, 2)
    planned = history.expire("2026-01-15T00:00:00Z", dry_run=True)
    assert (planned.sessions, planned.messages, planned.dry_run) == (2, 703, True)
    assert count(history, "messages") == 708
    done = history.expire("2026-01-15T00:00:00Z")
    assert (done.sessions, done.messages, done.dry_run) == (2, 703, False)
    assert {each.session_id for each in history.browse().results} == {"revived", "new"}
    assert count(history, "tombstones") == 0
    assert history.append("old", [message(1)]).inserted == 1
    assert_sound(history)


def test_expiry_deletes_in_bounded_batches(history: History) -> None:
    from mnemogram.history.upkeep import delete as lifecycle

    dated(history, "long", 1, 25)
    dated(history, "short", 2, 2)
    steps = []
    while True:
        sessions, messages, more = history._file.write(
            lambda connection: lifecycle.expire_step(connection, 2**60, limit=10)
        )
        steps.append((sessions, messages))
        assert_sound(history)
        with raw(history) as connection:
            assert connection.one("SELECT sum(message_count) FROM sessions") == connection.one(
                "SELECT nullif(count(*), 0) FROM messages"
            )
        if not more:
            break
    assert [each[1] for each in steps] == [10, 10, 7]
    assert sum(each[0] for each in steps) == 2


def test_a_session_whose_time_nobody_knows_counts_from_its_import(history: History) -> None:
    history.append("s", [Message("user", "old", provenance="legacy_snapshot")])
    assert history.expire("2020-01-01").sessions == 0


# --- purging ---------------------------------------------------------------------------


def traces(path: Path, word: str) -> list[str]:
    """Return which of the store's files hold the bytes of a word, or of its bigrams."""
    pieces = {word.encode()}
    if not word.isascii():
        pieces |= {word[place : place + 2].encode() for place in range(len(word) - 1)}
    return [
        each.name
        for each in sorted(path.parent.iterdir())
        if each.is_file() and any(piece in each.read_bytes() for piece in pieces)
    ]


def secret(number: int) -> Message:
    return Message("user", f"{SECRET}{number} {SECRET_CJK} padding " * 20, uid=f"x{number}")


@pytest.mark.parametrize("policy", ["auto", "all"])
@pytest.mark.parametrize("how", ["delete", "amend", "expire"])
def test_a_purge_leaves_no_byte_of_deleted_text(
    path: Path, policy: indexes.Policy, how: str
) -> None:
    with History.open(path, policy=policy) as history:
        for number in range(20):
            fill(history, 5, start=number * 5)
            history.append(
                Session("gone", title=f"about {SECRET}", started_at="2020-01-01"),
                [secret(number)] if how != "expire" else [],
            )
            if how == "expire":
                stamped = Message(
                    "user", secret(number).content, uid=f"x{number}", timestamp="2020-01-01"
                )
                history.append("gone", [stamped])
        assert traces(path, SECRET)
        if how == "amend":
            for number in range(20):
                history.amend("gone", f"x{number}", content="harmless")
            history.append(Session("gone", title="harmless"), [])
        elif how == "expire":
            assert history.expire("2021-01-01").messages == 20
        else:
            history.delete_session("gone")
        done = history.purge()
        assert done.complete
        assert done.hint is None
        for word in (SECRET, SECRET_CJK):
            assert traces(path, word) == []
        assert_sound(history)
        assert history.search("牙医", roles=EVERY_ROLE).count == 1


def test_a_purge_forgets_what_detached_indexes_and_their_debts_hold(path: Path) -> None:
    with History.open(path) as history:
        fill(history, 10)
        history.append("gone", [secret(number) for number in range(10)])
    with History.open(path, load_extension=False) as plain:
        plain.delete_session("gone")
        assert traces(path, SECRET)
        assert plain.purge().complete
        for word in (SECRET, SECRET_CJK):
            assert traces(path, word) == []
        finish(plain)
        assert_sound(plain)
    with History.open(path) as history:
        finish(history)
        assert_sound(history)
        assert history.status().messages == 10


def test_a_purge_that_a_reader_keeps_from_finishing_says_so(path: Path) -> None:
    with History.open(path, busy_timeout=0.2) as history:
        history.append("gone", [secret(1)])
        fill(history, 2)
        history.delete_session("gone")
        with history._database.read() as connection:
            connection.one("SELECT count(*) FROM messages")
            done = history.purge()
            assert not done.complete
            assert done.hint is not None
            assert "reader" in done.hint
        assert history.purge().complete
        assert traces(path, SECRET) == []


def test_space_that_deletion_freed_is_given_back_in_steps(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemogram.history.upkeep import maintain as maintenance

    monkeypatch.setattr(maintenance, "_FREE_PAGES", 50)
    monkeypatch.setattr(maintenance, "_VACUUM_PAGES", 100)
    monkeypatch.setattr(maintenance, "_MANY_DELETIONS", 100)
    history.append(
        "big", [Message("user", os.urandom(3_000).hex(), uid=str(number)) for number in range(300)]
    )
    with raw(history) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    before = history.status().bytes
    history.delete_session("big")
    steps = 0
    while history.maintain().more:
        steps += 1
    with raw(history) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    status = history.status()
    assert status.bytes < before / 5
    assert max(each.bytes or 0 for each in status.indexes) < 50_000
    assert steps > 3


def test_a_wal_that_a_reader_let_grow_is_emptied_once_the_reader_is_gone(
    path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemogram.history.upkeep import maintain as maintenance

    monkeypatch.setattr(maintenance, "_WAL_BYTES", 200_000)
    wal = Path(f"{path}-wal")
    with history._database.read() as connection:
        connection.one("SELECT count(*) FROM messages")
        for number in range(20):
            fill(history, 100, start=number * 100)
        history.maintain()
        grown = wal.stat().st_size
        assert grown > 200_000
    parts = [each for each in history.maintain().parts if each.part == "space"]
    assert [each.detail for each in parts] == ["emptied the WAL"]
    assert wal.stat().st_size == 0
    assert_sound(history)


def test_a_wal_cut_to_its_limit_is_emptied_once_the_reader_is_gone(path: Path) -> None:
    # SQLite cuts it to journal_size_limit, exactly, as soon as it is written anew.
    with History.open(path, synchronous="normal") as history:
        history.append("s", [Message("user", "first", uid="0")])
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN; SELECT count(*) FROM messages").fetchall()
        for number in range(6):
            text = f"pear {number} " + "lorem ipsum dolor " * 60_000
            history.append("s", [Message("user", text, uid=f"a{number}")])
        grown = os.stat(f"{path}-wal").st_size
        assert grown > database.JOURNAL_SIZE_LIMIT
        history.maintain()
        reader.execute("ROLLBACK").fetchall()
        reader.close()
        for number in range(3):
            history.append("s", [Message("user", "small", uid=f"b{number}")])
        finish(history)
        assert os.stat(f"{path}-wal").st_size < 1_000_000
