# SPDX-License-Identifier: MIT
"""SQLite files of programs: `llm`, the Agents SDK, LangChain, and our own."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemogram import History, Message, Session
from mnemogram.history.legacy import LegacyRecord
from mnemogram.importers import Batch, NothingFound, Report, read

from .samples import LLM


def loaded(path: Path) -> tuple[list[Batch], Report]:
    report = Report()
    return list(read(path, report=report)), report


@pytest.fixture
def log(tmp_path: Path) -> Any:
    def write(*statements: tuple[str, tuple[Any, ...]], script: str = LLM) -> Path:
        path = tmp_path / "logs.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
            for statement, values in statements:
                connection.execute(statement, values)
            connection.commit()
        return path

    return write


RESPONSE = (
    "INSERT INTO responses (id, model, prompt, response, conversation_id, duration_ms,"
    " datetime_utc) VALUES (?, 'm', ?, ?, ?, 1500, '2026-03-01T09:00:00')"
)


def test_a_response_of_llm_without_a_conversation_is_one(log: Any) -> None:
    (one, two), report = loaded(
        log((RESPONSE, ("r1", "a", "b", None)), (RESPONSE, ("r2", "c", "d", None)))
    )
    assert report.format == "llm"
    assert (one.session.id, two.session.id) == ("r1", "r2")
    asked, answer = one.messages
    assert (asked.uid, answer.uid) == ("r1/prompt", "r1")
    assert str(answer.timestamp) == "2026-03-01 09:00:01.500000+00:00"


def test_what_was_given_with_a_prompt_of_llm_stands_with_it(log: Any) -> None:
    path = log(
        (RESPONSE, ("r1", "explain", "a poem", "c-1")),
        ("INSERT INTO fragments VALUES (1, 'h', 'roses are red', NULL, 'poem.txt')", ()),
        ("INSERT INTO prompt_fragments VALUES ('r1', 1, 0)", ()),
        ("INSERT INTO attachments VALUES ('a', 'image/png', '/x/a.png', NULL, x'0102')", ()),
        ("INSERT INTO prompt_attachments VALUES ('r1', 'a', 0)", ()),
    )
    (batch,), _ = loaded(path)
    assert batch.messages[0].content == (
        "[file: poem.txt]\nroses are red\n[file: /x/a.png, image/png, 2 bytes]\nexplain"
    )


def test_a_log_of_an_older_llm_has_no_tables_of_tools(log: Any) -> None:
    older = LLM.partition("CREATE TABLE tool_calls")[0]
    (batch,), _ = loaded(log((RESPONSE, ("r1", "a", "b", None)), script=older))
    assert [each.content for each in batch.messages] == ["a", "b"]


def test_sessions_that_the_agents_sdk_wrote_are_read(tmp_path: Path) -> None:
    agents = pytest.importorskip("agents")
    path = tmp_path / "sessions.db"

    async def write() -> None:
        for name in ("one", "two"):
            session = agents.SQLiteSession(name, str(path))
            await session.add_items(
                [
                    {"role": "user", "content": f"hello from {name}"},
                    {
                        "type": "function_call",
                        "call_id": "k",
                        "name": "ls",
                        "arguments": "{}",
                    },
                    {"type": "function_call_output", "call_id": "k", "output": '{"a": 1}'},
                ]
            )
            session.close()

    asyncio.run(write())
    found, report = loaded(path)
    assert report.format == "agents-sdk"
    assert [each.session.id for each in found] == ["one", "two"]
    assert [(m.role, m.content) for m in found[1].messages] == [
        ("user", "hello from two"),
        ("assistant", ""),
        ("tool", '{"a": 1}'),
    ]
    assert report.untimed == 0


def test_items_that_cannot_be_read_are_named(log: Any) -> None:
    script = "CREATE TABLE mine (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT);"
    path = log(
        *(
            ("INSERT INTO mine (session_id, message_data) VALUES ('s', ?)", (data,))
            for data in ('{"role": "user", "content": "a"}', '{"__enc__": 1}', "{", "[]", None)
        ),
        script=script,
    )
    (batch,), report = loaded(path)
    assert [each.content for each in batch.messages] == ["a"]
    assert [each.where for each in report.problems] == [f"message {n}" for n in (2, 3, 4, 5)]
    assert "encrypted" in report.problems[0].reason


def test_our_own_store_brings_states_ends_and_deletions(tmp_path: Path) -> None:
    class Old:
        def page(self, user: str, after: str | None, limit: int) -> list[LegacyRecord]:
            said = Message("user", "of no time", uid="o")
            return [] if after else [LegacyRecord("1", Session("old"), (said,))]

    with History.open(tmp_path / "state.db", legacy=Old(), user_id="me") as history:
        while history.maintain().more:
            pass
        history.append(
            Session("s", source="cli", parent="old"),
            [
                Message("user", f"text {n}", uid=str(n), timestamp=f"2026-03-01T09:0{n}:00Z")
                for n in range(3)
            ],
        )
        history.mark_compacted("s", ["0"])
        history.rewind("s", ["1"])
        history.end_session("s", "daily")
        history.append("gone", [Message("user", "x", uid="x")])
        history.delete_session("gone")
    found, report = loaded(tmp_path / "state.db")
    assert report.format == "mnemogram"
    assert [each["session"] for each in report.tombstones] == ["gone"]
    old, new = found
    assert old.messages[0].timestamp is None
    assert old.session.started_at is None
    assert (new.session.source, new.session.parent) == ("cli", "old")
    states = [each["state"] for each in new.records if each["type"] == "message"]
    assert states == ["compacted", "rewound", "active"]
    assert new.records[0]["end_reason"] == "daily"


def test_a_database_that_nobody_knows_is_named_with_the_closest(log: Any) -> None:
    path = log(script="CREATE TABLE conversations (id, name); CREATE TABLE replies (id, text);")
    with pytest.raises(NothingFound) as raised:
        loaded(path)
    assert "Closest is llm" in raised.value.hint
    assert "tables `conversations` and `responses`" in raised.value.hint


def test_a_broken_chat_in_a_database_is_named(log: Any) -> None:
    script = "CREATE TABLE chat (id TEXT, title TEXT, chat TEXT);"
    whole = {"history": {"messages": {"m": {"id": "m", "role": "user", "content": "a"}}}}
    path = log(
        ("INSERT INTO chat VALUES ('1', 't', '{broken')", ()),
        ("INSERT INTO chat VALUES ('2', 't', ?)", (json.dumps(whole),)),
        script=script,
    )
    (batch,), report = loaded(path)
    assert batch.session.id == "2"
    assert [each.where for each in report.problems] == ["chat 1"]
