# SPDX-License-Identifier: MIT
"""What the tests of the store share: texts, a sound-index check, other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemogram import History, Message
from mnemogram.history.index import state as indexes
from mnemogram.sqlite.database import Connection

TEXTS = (
    "明早九点预约牙医复诊",
    "把cacheA节点扩容，重启以后再看",
    "東京都厅の近くで人々が集まる",
    "예약을 바꿔줘, 내일 오후로",
    "The job_new1 run failed: retry_max: 5 reached",
    "พรุ่งนี้นัดหมอฟัน",
    "party 🎉 tonight, don't forget the cake",
    "alpha\0bravo after a NUL",
    "Øresund crossing; café with a view",
    "",
    "...",
    "臺灣大學 and 台湾大学 are one",
)


def message(number: int, **fields: Any) -> Message:
    """Return a message with a uid, its text chosen by its number."""
    fields = {"uid": f"u{number}", "role": ("user", "assistant", "tool")[number % 3], **fields}
    content = fields.pop("content", f"{TEXTS[number % len(TEXTS)]} no{number}")
    return Message(fields.pop("role"), content, **fields)


def fill(history: History, count: int, *, session: str = "s", start: int = 0) -> None:
    """Append ``count`` messages in one call."""
    history.append(session, [message(number) for number in range(start, start + count)])


def finish(history: History, *, batch_size: int = 500, most: int = 1_000) -> int:
    """Maintain until nothing is due, without pauses; return the number of steps."""
    for steps in range(1, most + 1):
        result = history.maintain(batch_size=batch_size)
        assert not result.failed, result
        if not result.more:
            return steps
    raise AssertionError(f"still more to do after {most} steps")


@contextmanager
def raw(history: History) -> Iterator[Connection]:
    """Give the writer's connection, outside a transaction."""
    with history._database.exclusive() as connection:
        yield connection


def states(history: History) -> dict[str, str]:
    """Return the state of each index that the file keeps."""
    with history._database.read() as connection:
        return {name: state.state for name, state in indexes.load_states(connection).items()}


def assert_sound(history: History) -> None:
    """Assert that every index that is in use holds exactly what it should.

    An index made anew from the same rows must have the same tokens at the same places.
    """
    with raw(history) as connection:
        for state in indexes.load_states(connection).values():
            definition = indexes.served_by(connection, state)
            if definition is None or state.is_rebuild:
                continue
            _compare(connection, definition, state)
            if state.state == "ready":
                name = definition.name
                connection.execute(
                    f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', 1)"
                )


def _compare(
    connection: Connection, definition: indexes.IndexDefinition, state: indexes.IndexState
) -> None:
    columns = ", ".join(definition.columns)
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.expected USING fts5 ({columns}, content='',"
        f" {definition.tokenize}, {definition.options})"
    )
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.found_terms USING fts5vocab (main, {definition.name}, instance)"
    )
    connection.execute(
        "CREATE VIRTUAL TABLE temp.expected_terms USING fts5vocab (temp, expected, instance)"
    )
    try:
        outside = " AND ".join(f"NOT (m.id > {low} AND m.id <= {high})" for low, high in state.gaps)
        owing = "m.id NOT IN (SELECT id FROM index_debts WHERE name = :name)"
        connection.execute(
            f"INSERT INTO temp.expected (rowid, {columns})"
            f" SELECT m.id, {indexes.projection(definition, 'm')} FROM messages AS m"
            f" WHERE {definition.condition.format(row='m')} AND {owing}"
            + (f" AND {outside}" if outside else ""),
            {"name": definition.name},
        )
        values = 'term, doc, col, "offset"'
        in_debt = "doc NOT IN (SELECT id FROM index_debts WHERE name = :name)"
        for one, other, what in (
            ("expected", "found", "missing from"),
            ("found", "expected", "too much in"),
        ):
            difference = connection.execute(
                f"SELECT {values} FROM temp.{one}_terms WHERE {in_debt}"
                f" EXCEPT SELECT {values} FROM temp.{other}_terms WHERE {in_debt} LIMIT 5",
                {"name": definition.name},
            ).fetchall()
            assert not difference, f"{what} {definition.name}: {difference}"
    finally:
        for table in ("found_terms", "expected_terms", "expected"):
            connection.execute(f"DROP TABLE temp.{table}")


def start(code: str, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """Start another process that runs ``code``, with ``arguments`` in ``sys.argv[1:]``."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        **options,
    )


def wait_until_ready(process: subprocess.Popen[str]) -> None:
    """Wait for the line ``ready`` of a process; where it ends without one, say why."""
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        process.kill()
        raise AssertionError(process.communicate()[1])


def outcome(process: subprocess.Popen[str], timeout: float = 60) -> str:
    """Return what a process printed, once it ended well."""
    out, errors = process.communicate(timeout=timeout)
    assert process.returncode == 0, errors
    return out


def mode(path: str | Path) -> int:
    """Return a file's permission bits."""
    return os.stat(path).st_mode & 0o777
