# SPDX-License-Identifier: MIT
"""Any table, index, view or trigger that is gone or changed is told, and made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemogram import History, Session
from mnemogram.history.schema import SCHEMA
from mnemogram.sqlite import definitions
from tests.history.support import assert_sound, fill, finish, message

_EXPECTED = definitions._expected(SCHEMA)
_TABLES = [each.name for each in _EXPECTED if each.kind == "table"]
_OTHERS = [each.name for each in _EXPECTED if each.kind != "table"]
_TRIGGERS = [
    f"messages_fts{index}_{event}"
    for index in ("_cjk", "_trigram")
    for event in ("insert", "delete", "update")
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    with History.open(path, synchronous="normal") as history:
        fill(history, 60)
        history.append(Session("child", parent="s"), [message(1)])
        history.append("gone", [message(2)])
        history.delete_session("gone")
        finish(history)
    return path


def behind_its_back(path: Path, *statements: str) -> None:
    """Run statements that no connection of ours would, where they do anything."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("PRAGMA writable_schema = ON")
    before = list(connection.execute("SELECT type, name, sql FROM sqlite_schema"))
    for statement in statements:
        connection.execute(statement)
    assert list(connection.execute("SELECT type, name, sql FROM sqlite_schema")) != before
    connection.close()


def taken_away(name: str) -> str:
    """SQL that takes an object out of the schema; its pages stay where they are."""
    return f"DELETE FROM sqlite_schema WHERE name = '{name}' OR tbl_name = '{name}'"


def repaired(path: Path, told: set[str]) -> History:
    """Check that the damage is told, repair it, and return what is open then."""
    history = History.open(path, synchronous="normal")
    before = history.check()
    # What is taken away leaves its pages behind.
    assert {each.where for each in before.findings} - {"free pages"} == told
    assert all(each.repair is not None for each in before.findings), before
    done = history.repair(dry_run=False)
    assert done.failed == ()
    assert done.after is not None
    assert done.after.ok, done.after
    finish(history)
    assert_sound(history)
    assert history.check().ok
    assert history.search("牙医").count >= 1
    return history


_CHANGED = """
UPDATE sqlite_schema SET sql = CASE type
    WHEN 'index' THEN replace(sql, ' (', ' (+')
    WHEN 'table' THEN CASE WHEN sql LIKE '% TEXT %' THEN replace(sql, ' TEXT ', ' ANY ')
                      ELSE replace(sql, 'ON DELETE CASCADE', '') END
    ELSE replace(replace(sql, 'tool_name', 'tool_status'), 'new.id', 'new.timestamp') END
 WHERE name = '{name}'
"""
_KEPT = sorted({*_TABLES} - {"sqlite_sequence"})


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (_OTHERS, {*_OTHERS}),
        (_TRIGGERS, {"messages_fts_cjk", "messages_fts_trigram"}),
        (["messages_projection"], {"messages_projection"}),
    ],
)
def test_views_indexes_and_triggers_that_are_gone_are_made_again(
    path: Path, names: list[str], told: set[str]
) -> None:
    behind_its_back(path, *map(taken_away, names))
    with repaired(path, told) as history:
        assert history.status().messages == 61


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (_OTHERS, {*_OTHERS}),
        (_TRIGGERS, {"messages_fts_cjk", "messages_fts_trigram"}),
        (_KEPT, {*_KEPT}),
    ],
)
def test_what_says_something_else_gets_its_definition_back(
    path: Path, names: list[str], told: set[str]
) -> None:
    """Views and triggers take another column, indexes another order, tables other types."""
    counts = [f"SELECT count(*) FROM {name}" for name in _KEPT]
    connection = apsw.Connection(str(path))
    before = [connection.execute(each).fetchall() for each in counts]
    connection.close()
    behind_its_back(path, *(_CHANGED.format(name=name) for name in names))
    with repaired(path, told) as history:
        assert history.status().messages == 61
        with history._database.read() as reader:
            after = [reader.execute(each).fetchall() for each in counts]
    gaps = _KEPT.index("index_gaps")
    assert [*before[:gaps], *before[gaps + 1 :]] == [*after[:gaps], *after[gaps + 1 :]]


@pytest.mark.parametrize("name", sorted({*_TABLES} - {"messages", "sessions"}))
def test_a_table_that_is_gone_is_made_again_empty(path: Path, name: str) -> None:
    behind_its_back(path, taken_away(name))
    told = {name, *(each for each in _OTHERS if each.startswith(f"{name}_"))}  # its indexes
    with repaired(path, told) as history:
        assert history.status().messages == 61
        # No id is given twice.
        ids = history.append("late", [message(3)]).ids
        assert int(ids[0] or 0) > 61


def test_without_the_sessions_the_messages_come_into_new_ones(path: Path) -> None:
    # Its indexes went with it.
    told = {"sessions", *(each for each in _OTHERS if each.startswith("sessions"))}
    behind_its_back(path, taken_away("sessions"))
    with repaired(path, told) as history:
        assert history.status().messages == 61
        assert {hit.session_id.partition("-")[0] for hit in history.search("牙医").results} == {
            "recovered"
        }


def test_without_the_messages_nothing_is_touched(path: Path) -> None:
    behind_its_back(path, taken_away("messages"))
    before = path.read_bytes()
    with History.open(path) as history:
        (finding,) = [each for each in history.check().findings if each.where == "messages"]
        assert (finding.detail, finding.repair) == ("the table is missing", None)
        done = history.repair(dry_run=False)
        assert done.actions == ()
        assert "messages: the table is missing" in done.beyond_repair
    assert path.read_bytes() == before


def test_a_table_of_state_with_other_columns_is_made_anew(path: Path) -> None:
    behind_its_back(path, "DROP TABLE index_debts", "CREATE TABLE index_debts (odd)")
    with repaired(path, {"index_debts"}) as history:
        assert history.status().messages == 61


def test_a_table_of_content_with_other_columns_is_left_alone(path: Path) -> None:
    behind_its_back(path, "DROP TABLE tombstones", "CREATE TABLE tombstones (odd)")
    with History.open(path) as history:
        assert [each.repair for each in history.check().findings] == [None]
        assert history.repair(dry_run=False).actions == ()


@pytest.mark.parametrize(
    ("harm", "found", "told"),
    [
        (
            "DELETE FROM indexes WHERE name = 'messages_fts_cjk'",
            "nothing says what it holds",
            {"messages_fts_cjk"},
        ),
        (
            "UPDATE indexes SET state = 'building'",
            "nothing says how far it is built",
            {"messages_fts_cjk", "messages_fts_trigram"},
        ),
    ],
)
def test_an_index_whose_state_says_nothing_is_built_anew(
    path: Path, harm: str, found: str, told: set[str]
) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(harm)
    connection.close()
    with History.open(path, read_only=True) as history:
        assert found in {each.detail for each in history.check().findings}
        assert history.search("牙医").count >= 1
    with repaired(path, told) as history:
        assert history.status().messages == 61


def test_writes_and_upkeep_bring_back_an_index_that_lost_its_state(path: Path) -> None:
    calls: list[Callable[[History], Any]] = [
        lambda history: history.append("late", [message(3)]),
        lambda history: finish(history),
    ]
    for call in calls:
        connection = apsw.Connection(str(path))
        connection.execute("DELETE FROM indexes")
        connection.close()
        with History.open(path) as history:
            call(history)
            finish(history)
            assert_sound(history)
            assert history.check().ok
