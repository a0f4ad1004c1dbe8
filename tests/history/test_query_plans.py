# SPDX-License-Identifier: MIT
"""Every statement of the read path goes by an index: none scans messages or sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from mnemogram import History, Message, Session
from mnemogram.sqlite.database import Connection, Database
from tests.history.support import TEXTS

Statement = tuple[str, Any]
_NAMED = re.compile(r"\b(?:FROM|JOIN)\s+(?:messages|sessions)\b(?:\s+(?:AS\s+)?(\w+))?", re.I)
_WORDS = ("牙医", "cache", "复诊 OR job_new1", '"明早九点"', "预约 NOT 东京", "茶*", "ach")


@pytest.fixture(scope="module", params=["extension", "plain"])
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[History, list[Statement]]]:
    """A store that was read in every way, and the statements that ran."""
    statements: list[Statement] = []
    connect = Database._connect

    def watched(self: Database, *, prepare: bool) -> Connection:
        connection = connect(self, prepare=prepare)
        if not prepare:
            connection.exec_trace = lambda cursor, sql, bindings: _note(sql, bindings)
        return connection

    def _note(sql: str, bindings: Any) -> bool:
        statements.append((sql, bindings))
        return True

    path = tmp_path_factory.mktemp("plans") / "state.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_connect", watched)
        with History.open(
            path, load_extension=request.param == "extension", policy="all"
        ) as history:
            for number in range(60):
                history.append(
                    Session(
                        f"s{number}",
                        title=f"{TEXTS[number % len(TEXTS)]} #{number}",
                        parent=f"s{number - 1}" if number % 4 else None,
                        source=("chat", "cron", "subagent")[number % 3],
                    ),
                    [
                        Message(
                            ("user", "assistant", "tool")[place % 3],
                            f"{TEXTS[(number + place) % len(TEXTS)]} {number}",
                            uid=str(place),
                            tool_name="web" if place % 3 == 2 else None,
                        )
                        for place in range(12)
                    ],
                )
            _read_everything(history)
            yield history, statements


def _read_everything(history: History) -> None:
    for query in _WORDS:
        for options in (
            {},
            {"sort": "newest"},
            {"sort": "oldest", "detail": "full"},
            {"roles": ("tool",)},
            {"roles": ("user", "tool"), "limit": 10},
            {"after": "2020-01-01", "before": "2100-01-01", "sources": ["chat"]},
            {"exclude_sessions": ["s1"], "current_session": "s5"},
        ):
            answer = history.search(query, **options)  # type: ignore[arg-type]
            if answer.cursor:
                history.search(query, cursor=answer.cursor, **options)  # type: ignore[arg-type]
    history.search("我上次预约牙医复诊是什么时候来着")
    history.search("when was the job that failed with retry limit reached")
    history.search(f"{TEXTS[0]} #0")
    for session in ("s0", "s1"):
        read = history.read(session)
        history.scroll(session, read.messages[0].id)
    history.browse()
    history.browse(after="2020-01-01", before="2100-01-01", exclude_sessions=["s1"])
    history.browse(sources=["subagent"])
    history.status(sizes=False)


def _scanned(plan: str, sql: str) -> bool:
    """Whether a line of a plan walks a whole table of ours without an index."""
    aliases = {"messages", "sessions"} | {match[1] for match in _NAMED.finditer(sql) if match[1]}
    found = re.match(r"SCAN (\w+)(.*)", plan)
    return bool(found and found[1] in aliases and "USING" not in found[2])


def test_no_statement_scans_messages_or_sessions(
    seen: tuple[History, list[Statement]],
) -> None:
    history, statements = seen
    distinct = {sql: bindings for sql, bindings in statements if "SELECT" in sql.upper()}
    assert len(distinct) > 15
    fts = 0
    with history._database.exclusive() as connection:
        for sql, bindings in distinct.items():
            try:
                plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings).fetchall()
            except (apsw.SQLError, apsw.BindingsError) as error:
                raise AssertionError(f"{error}: {sql}") from error
            for *_, detail in plan:
                assert not _scanned(str(detail), sql), f"{detail}\n{sql}"
                fts += "VIRTUAL TABLE INDEX" in str(detail)
    assert fts > 0


def test_a_scan_would_be_noticed(seen: tuple[History, list[Statement]]) -> None:
    history, _ = seen
    for sql in (
        "SELECT m.content FROM messages AS m WHERE m.content LIKE '%x%'",
        "SELECT title FROM sessions WHERE title LIKE '%x%'",
    ):
        with history._database.exclusive() as connection:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
        assert any(_scanned(str(detail), sql) for *_, detail in plan)
