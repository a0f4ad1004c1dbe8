# SPDX-License-Identifier: MIT
"""The session stores of hermes-agent style programs are read as they are."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mnemogram import History
from mnemogram.integrations.session_store import SessionStoreSource

SCHEMA = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, title TEXT,
    parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
    content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL
);
"""
CALL = [{"id": "k1", "function": {"name": "weather", "arguments": '{"city": "\\u5927\\u8fde"}'}}]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        connection.executemany(
            "INSERT INTO sessions (id, source, user_id, model, title, parent_session_id,"
            " started_at, end_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                ("a", "cli", "me", "m-1", "天气", None, 1_700_000_000.5, "compression"),
                ("b", "telegram", "me", "m-1", "天气 #2", "a", 1_700_001_000.0, None),
                ("c", "cli", "you", None, None, None, 1_700_002_000.0, None),
            ],
        )
        connection.executemany(
            "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls,"
            " tool_name, timestamp) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                ("a", "system", "be kind", None, None, None, 1_700_000_000.5),
                ("a", "user", "大连天气怎么样", None, None, None, 1_700_000_001.25),
                ("a", "assistant", None, None, json.dumps(CALL), None, 1_700_000_002.0),
                ("a", "tool", "晴", "k1", None, "weather", 1_700_000_003.0),
                ("b", "user", "明天呢", None, None, None, 1_700_001_001.0),
                ("b", "mystery", "?", None, None, None, 1_700_001_002.0),
                ("c", "user", "别人的", None, None, None, 1_700_002_001.0),
            ],
        )
        connection.commit()
    return path


def imported(path: Path, source: SessionStoreSource, user: str = "me") -> History:
    history = History.open(path, legacy=source, user_id=user)
    while history.maintain().more:
        pass
    return history


@pytest.mark.parametrize("page_size", [1, 2, 200])
def test_sessions_messages_and_lineage_are_taken_over(
    store: Path, tmp_path: Path, page_size: int
) -> None:
    source = SessionStoreSource(store, by_user=True, page_size=page_size)
    with imported(tmp_path / "state.db", source) as history:
        first = history.read("a")
        assert (first.title, first.source, first.model) == ("天气", "cli", "m-1")
        assert first.started_at == "2023-11-14T22:13:20.500Z"
        assert [(each.role, each.content) for each in first.messages] == [
            ("user", "大连天气怎么样"),
            ("assistant", ""),
            ("tool", "晴"),
        ]
        assert first.messages[0].timestamp == "2023-11-14T22:13:21.250Z"
        assert first.messages[2].tool_name == "weather"
        assert "大连" in json.dumps(first.messages[1].tool_calls, ensure_ascii=False)
        (second, _) = history.browse().results
        assert (second.session_id, second.parent_session_id) == ("b", "a")
        assert history.browse().results[1].end_reason == "compression"
        (aside,) = history.set_aside()
        assert "mystery" in aside.reason


def test_a_store_of_one_user_is_taken_over_whole(store: Path, tmp_path: Path) -> None:
    with imported(tmp_path / "state.db", SessionStoreSource(store), user="anyone") as history:
        assert history.status().sessions == 3


def test_columns_that_are_not_there_are_done_without(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content);"
            "INSERT INTO messages VALUES (1, 's', 'user', 'hello'), (2, NULL, 'user', 'lost')"
        )
    with imported(tmp_path / "state.db", SessionStoreSource(path)) as history:
        (message,) = history.read("s").messages
        assert (message.content, message.timestamp) == ("hello", None)
        assert len(history.set_aside()) == 1


def test_what_was_undone_or_compacted_keeps_its_state_and_parts_are_text(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    parts = [
        {"type": "text", "text": "看大连港"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "QUJD" * 3000}},
    ]
    rows = [
        ("order the teapot", 1, 0),
        ("ordered a samovar", 0, 0),
        ("old detail porcelain", 0, 1),
        ("\0json:" + json.dumps(parts), 1, 0),
    ]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT DEFAULT 'S',"
            " role TEXT DEFAULT 'user', content TEXT, active INTEGER, compacted INTEGER)"
        )
        connection.executemany(
            "INSERT INTO messages (content, active, compacted) VALUES (?, ?, ?)", rows
        )
        connection.commit()
    with imported(tmp_path / "own.db", SessionStoreSource(path)) as history:
        assert [(m.content, m.state) for m in history.read("S").messages] == [
            ("order the teapot", "active"),
            ("old detail porcelain", "compacted"),
            ("看大连港\n[image]", "active"),
        ]
        assert history.search("samovar").count == 0
        assert history.search("大连港").count == 1
        assert history.search("porcelain", current_session="S").count == 1


@pytest.mark.parametrize("what", ["missing", "another file", "other tables"])
def test_a_file_that_is_no_session_store_is_named(tmp_path: Path, what: str) -> None:
    path = tmp_path / "odd.db"
    if what == "another file":
        path.write_text("nothing of the kind " * 100)
    elif what == "other tables":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE messages (x)")
    with History.open(
        tmp_path / "state.db", legacy=SessionStoreSource(path), user_id="u"
    ) as history:
        (part,) = history.maintain().parts
        assert part.error is not None
        assert "odd.db" in part.error
