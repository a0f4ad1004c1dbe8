# SPDX-License-Identifier: MIT
"""A statement that somebody holds on to costs a connection, and nothing that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemogram.sqlite.connection import Connection
from mnemogram.sqlite.database import Database, Schema


def _make(connection: Connection, version: int) -> None:
    connection.execute("CREATE TABLE t (a INTEGER)")
    connection.execute("INSERT INTO t VALUES (1), (2), (3)")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "a.db", Schema(77, 1, _make), load_extension=False) as opened:
        yield opened


def _fails(database: Database, kind: str) -> Exception:
    """Fail inside a loop over rows; the error's traceback holds the cursor of the loop."""
    context: Any = {
        "read": database.read,
        "write": database.write,
        "exclusive": database.exclusive,
    }[kind]
    try:
        with context() as connection:
            rows = iter(connection.execute("SELECT a FROM t"))
            for row in rows:
                raise ZeroDivisionError(row)
    except ZeroDivisionError as error:
        return error
    raise AssertionError("the block fails")


@pytest.mark.parametrize("kind", ["read", "write", "exclusive"])
def test_an_error_that_is_kept_keeps_no_snapshot_and_no_lock(database: Database, kind: str) -> None:
    kept = [_fails(database, kind) for _ in range(3)]
    for number in range(3):
        with database.write() as connection:
            connection.execute("INSERT INTO t VALUES (?)", (number,))
        with database.read() as connection:
            assert connection.one("SELECT count(*) FROM t") == 4 + number
    with database.exclusive() as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0] == 0
    database.close()
    assert len(kept) == 3


def test_a_cursor_that_is_kept_after_its_transaction_is_closed(database: Database) -> None:
    with database.read() as connection:
        held = iter(connection.execute("SELECT a FROM t"))
        assert next(held) == (1,)
    with database.write() as connection:
        connection.execute("INSERT INTO t VALUES (4)")
        kept = iter(connection.execute("SELECT a FROM t"))
        assert next(kept) == (1,)
    with database.write() as connection:
        connection.execute("INSERT INTO t VALUES (5)")
    with database.read() as connection:
        assert connection.one("SELECT count(*) FROM t") == 5
