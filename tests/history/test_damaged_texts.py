# SPDX-License-Identifier: MIT
"""One flipped bit in a stored text costs that text a character, and nothing else."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemogram import History, Message, Session, StorageUnavailable
from mnemogram.sqlite.connection import Connection
from mnemogram.sqlite.undecodable import escaped
from mnemogram.tools import session_search_tool
from tests.history.support import assert_sound, finish, raw

WORDS = ("apple", "pear", "quince", "medlar", "sloe", "plum")


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        for number, word in enumerate(WORDS):
            opened.append(
                Session(f"s{number}", title=f"about {word}"),
                [
                    Message("user", f"one {word} tart, été 猫 {word}", uid="aa"),
                    Message("tool", f"{word} result", uid="bb", tool_name=f"{word}_tool"),
                ],
            )
        yield opened


def flip(history: History, table: str, column: str, row_id: int) -> bytes:
    """Flip the highest bit of the second byte of a text, past every trigger and check."""
    connection = apsw.Connection(history.path)
    connection.execute("PRAGMA ignore_check_constraints = ON").fetchall()
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    kept = triggers.fetchall()
    with connection:
        for name, _ in kept:
            connection.execute(f"DROP TRIGGER {name}")
        ((before,),) = connection.execute(
            f"SELECT CAST({column} AS BLOB) FROM {table} WHERE rowid = ?", (row_id,)
        )
        assert isinstance(before, bytes)
        after = before[:1] + bytes([before[1] ^ 0x80]) + before[2:]
        connection.execute(
            f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (after, row_id)
        )
        for _, sql in kept:
            connection.execute(str(sql))
    connection.close()
    return after


def exported(history: History) -> list[dict[str, Any]]:
    stream = io.StringIO()
    history.export(stream)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def everything(history: History) -> None:
    """Call all that reads: each answers."""
    for word in (*WORDS, "tart", "猫", "art", "zzz"):
        history.search(word, all_sources=True, roles=("user", "assistant", "tool"))
    for number, _ in enumerate(WORDS):
        history.browse(exclude_sessions=[f"s{number}"])
    history.browse()
    history.status()
    history.check()
    history.repair()
    finish(history)
    exported(history)


COLUMNS = (
    *(("messages", column) for column in ("content", "uid", "tool_name", "provenance")),
    *(("messages", column) for column in ("role", "state")),
    *(("sessions", column) for column in ("key", "title", "source")),
)


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_every_call_answers_and_a_repair_mends_it(
    history: History, table: str, column: str
) -> None:
    flip(history, table, column, 4)
    everything(history)
    for place, word in enumerate(WORDS):
        if place not in (1, 3):
            assert [hit.session_id for hit in history.search(word).results] == [f"s{place}"]
    report = history.check()
    assert any(
        each.kind == "text" and each.where == table and column in each.detail
        for each in report.findings
    ), report
    repaired = history.repair(dry_run=False)
    assert repaired.after is not None
    assert repaired.after.ok, repaired.after
    finish(history)
    assert_sound(history)
    everything(history)
    assert len(exported(history)) == 1 + 6 + 12


def test_the_message_is_named_and_the_others_are_found(history: History) -> None:
    bad = flip(history, "messages", "content", 3)
    found = history.search("pear")
    assert [hit.session_id for hit in found.results] == ["s1"]
    assert "\ufffd" in found.results[0].messages[0].content
    assert "message 3" in (found.hint or "")
    for answer in (history.read("s1"), history.scroll("s1", 3), history.browse()):
        assert "message 3" in (answer.hint or "")
    assert "amaged" not in (history.read("s0").hint or "")
    tool = session_search_tool(history)({"query": "pear"})
    assert "message 3" in json.dumps(tool)
    (finding,) = (each for each in history.check().findings if each.kind == "text")
    assert "message 3 (session 's1', uid 'aa')" in finding.detail
    assert r"\x" in finding.detail
    assert finding.repair == "mend"
    lines = [line for line in exported(history) if line["type"] == "message"]
    assert len(lines) == 12
    damaged = [line for line in lines if "damaged" in line]
    assert [line["damaged"] for line in damaged] == [{"content": escaped(bad)}]
    stream = io.StringIO()
    assert history.export(stream).damaged == 1


def test_a_right_replacement_character_is_no_damage(history: History) -> None:
    history.append("s", [Message("user", "a \ufffd stands here", uid="r")])
    assert history.check().ok
    assert all("damaged" not in line for line in exported(history))
    assert history.search("stands").hint is None


def test_an_export_of_a_damaged_history_can_be_imported(history: History, tmp_path: Path) -> None:
    flip(history, "messages", "content", 3)
    stream = io.StringIO()
    history.export(stream)
    with History.open(tmp_path / "other.db") as other:
        assert other.import_export(stream.getvalue().splitlines()).inserted == 12
        assert other.check().ok


def test_an_index_built_over_damage_holds_what_its_triggers_take_out(
    history: History, tmp_path: Path
) -> None:
    flip(history, "messages", "content", 3)
    with raw(history) as connection:
        for name in ("messages_fts_cjk", "messages_fts_trigram"):
            connection.execute("DELETE FROM index_gaps WHERE name = ?", (name,))
            connection.execute("UPDATE indexes SET state = 'detached' WHERE name = ?", (name,))
            connection.execute(
                "INSERT INTO index_gaps VALUES (?, -1, 9223372036854775807)", (name,)
            )
    finish(history)
    assert_sound(history)
    assert [each.kind for each in history.check().findings] == ["text"]
    history.amend("s1", "aa", content="whole again")
    assert_sound(history)
    assert history.check().ok


def test_two_texts_that_would_become_one_are_told_apart(history: History) -> None:
    with raw(history) as connection:
        for number, byte in enumerate(("fe", "ff"), 1):
            connection.execute(
                f"UPDATE sessions SET key = CAST(x'61{byte}' AS TEXT) WHERE id = ?", (number,)
            )
            connection.execute(
                f"INSERT INTO tombstones VALUES (CAST(x'62{byte}' AS TEXT), 1)",
            )
    assert len(history.check().findings) == 4
    after = history.repair(dry_run=False).after
    assert after is not None
    assert after.ok, after
    keys = [line["id"] for line in exported(history) if line["type"] == "session"]
    assert len(set(keys)) == 6
    assert keys[0] == "a\ufffd"


@pytest.fixture
def connection() -> Iterator[Connection]:
    opened = Connection(
        ":memory:", flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE, busy_timeout=0.0
    )
    yield opened
    opened.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.binary(max_size=4), st.integers(), st.binary(max_size=3)), max_size=8
    ),
    wanted=st.integers(0, 12),
    taken=st.integers(0, 8),
)
def test_rows_come_in_order_and_whole_whatever_their_texts_hold(
    connection: Connection, rows: list[tuple[bytes, int, bytes]], wanted: int, taken: int
) -> None:
    rows = [(text, number % 2**60, blob) for text, number, blob in rows]
    connection.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a TEXT, b, c BLOB)")
    connection.executemany("INSERT INTO t VALUES (CAST(? AS TEXT), ?, ?)", rows)
    expected = [(text.decode(errors="replace"), number, blob) for text, number, blob in rows]
    connection.undecodable = 0
    sql = "SELECT a, b, c FROM t WHERE rowid > :low ORDER BY rowid LIMIT :wanted;"
    cursor = connection.execute(sql, {"low": 0, "wanted": wanted})
    got = [row for row in (cursor.fetchone() for _ in range(taken)) if row is not None]
    got += list(cursor)
    assert got == expected[:wanted]
    assert connection.undecodable == sum(
        "\ufffd".encode() not in text and "\ufffd" in shown
        for (text, *_), (shown, *_) in zip(rows[:wanted], expected, strict=False)
    )


@pytest.mark.parametrize("taken", ["one", "some", "none"])
def test_a_damaged_row_of_which_not_all_is_taken_leaves_no_statement_behind(
    connection: Connection, taken: str
) -> None:
    connection.execute("CREATE TABLE t (a TEXT)")
    connection.execute("INSERT INTO t VALUES ('a'), (CAST(x'ff' AS TEXT)), ('c'), ('d')")
    sql = "SELECT a FROM t WHERE a <> 'a'"
    if taken == "one":
        assert connection.one(sql) == "\ufffd"
    elif taken == "some":
        for row in connection.execute(sql):
            assert row == ("\ufffd",)
            break
    else:
        connection.execute(sql)
    assert not connection.has_unfinished
    connection.close()


def test_a_statement_that_cannot_be_asked_again_is_an_error_of_ours(
    connection: Connection,
) -> None:
    connection.execute("CREATE TABLE t (a TEXT)")
    with pytest.raises(StorageUnavailable, match="damaged"):
        connection.one("INSERT INTO t VALUES (CAST(x'ff' AS TEXT)) RETURNING a")
