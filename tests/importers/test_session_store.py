# SPDX-License-Identifier: MIT
"""Session stores of hermes-agent style programs, from the command line."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemogram import History, Message
from mnemogram.importers import ImportFailed, NothingFound, Report, read

PARTS = "\0json:" + json.dumps(
    [
        {"type": "text", "text": "看大连港"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 3000}},
    ]
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "state.db"
    rows: list[Any] = [
        ("a", "system", "be kind", 1, 0),
        ("a", "user", "old detail porcelain", 0, 1),
        ("b", "user", PARTS, 1, 0),
        ("a", "user", "order the teapot", 1, 0),
        ("a", "assistant", "ordered a samovar", 0, 0),
        ("b", "oracle", "?", 1, 0),
        ("b", "tool", "\0json:{broken", None, None),
        ("b", "tool", '\0json:{"rows": ["瓷器"]}', None, 0),
    ]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, title TEXT, end_reason TEXT);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT,"
            " content TEXT, timestamp REAL, active INTEGER, compacted INTEGER);"
            "INSERT INTO sessions VALUES ('a', 'cli', 'Tea', 'compression'), ('b', 'chat', '', '')"
        )
        connection.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp, active, compacted)"
            " VALUES (?, ?, ?, 1767225600, ?, ?)",
            rows,
        )
        connection.commit()
    return path


def test_a_store_is_recognised_by_its_tables(store: Path) -> None:
    report = Report()
    first, second = read(store, report=report)
    assert report.format == "session-store"
    assert (first.session.id, first.session.title, first.end_reason) == ("a", "Tea", "compression")
    assert [(m.uid, m.content) for m in first.messages] == [
        ("2", "old detail porcelain"),
        ("4", "order the teapot"),
    ]
    assert [m.content for m in first.left] == ["ordered a samovar"]
    assert first.states == {"2": "compacted"}
    assert [m.content for m in second.messages] == [
        "看大连港\n[image]",
        "{broken",
        '{"rows": ["瓷器"]}',
    ]
    assert report.skipped["system messages"] == 1
    assert "oracle" in report.problems[0].reason


def test_a_packed_store_and_one_from_standard_input_are_read(store: Path, tmp_path: Path) -> None:
    packed = tmp_path / "state.db.gz"
    packed.write_bytes(gzip.compress(store.read_bytes()))
    assert list(read(packed)) == list(read(store))


def test_our_own_file_and_other_databases_are_no_session_store(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE messages (id, session_id, role, content)")
        connection.commit()
    with pytest.raises(NothingFound):
        list(read(other))
    with History.open(tmp_path / "own.db") as history:
        history.append("s", [Message("user", "our own", uid="1")])
    report = Report()
    (batch,) = read(tmp_path / "own.db", report=report)
    assert report.format == "mnemogram"
    assert [each.content for each in batch.messages] == ["our own"]


def test_a_damaged_database_is_named(store: Path) -> None:
    data = bytearray(store.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    store.write_bytes(data)
    with pytest.raises(ImportFailed, match="cannot be read"):
        list(read(store))
