# SPDX-License-Identifier: MIT
"""Bounded steps of work on the FTS tables: fill a gap, pay debts, merge, take down.

Each runs inside a write transaction that the caller holds, and is small enough for
other writers to wait for. What is done and how far it came commit together, so that
an interruption anywhere loses nothing and several processes can share the work.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Final, Literal

import apsw

from mnemogram.history.index import state as indexes
from mnemogram.history.index.damage import blaming
from mnemogram.sqlite.database import Connection

__all__ = [
    "IndexStep",
    "count_deletions",
    "count_messages",
    "due",
    "forget_deletions",
    "forget_index",
    "merge_step",
    "most_steps",
    "note_deletions",
    "step",
]

DEFAULT_ROWS: Final = 500
DEFAULT_BYTES: Final = 4_000_000
#: Pages that one merge may write: 2 MB, some 10 ms.
MERGE_PAGES: Final = 500
#: Rows of a shadow table, each about a page, that one step of taking down deletes.
_SHADOW_ROWS: Final = 2_000
#: What an FTS5 table without stored content consists of.
SHADOW_TABLES: Final = ("data", "idx", "docsize", "config")


@dataclass(frozen=True, slots=True)
class IndexStep:
    """What one step did to an index.

    Attributes:
        name: the FTS table.
        work: ``build`` (rows into the index), ``catch up`` (changes it was not told
            of), ``take down`` (rows of a worthless table) or ``merge``.
        rows: how many.
        bytes: size of the text that was indexed, as far as it was indexed.
        seconds: how long it took.
        done: whether no more of this work is due for the index.
    """

    name: str
    work: Literal["build", "catch up", "take down", "merge"]
    rows: int
    bytes: int
    seconds: float
    done: bool


def count_messages(connection: Connection) -> int:
    """Return how many messages there are, counted in their smallest index."""
    return int(connection.one("SELECT count(*) FROM messages INDEXED BY messages_by_session"))


def most_steps(connection: Connection) -> int:
    """Return a number of steps within which everything that is due for an index is done."""
    pages = int(connection.one("PRAGMA page_count"))
    rows = count_messages(connection)
    # Each takes 2,000 rows down or pays 500 debts, or indexes 500 messages or, counted
    # generously, 4 MB of their text.
    return 100 + rows // 100 + pages // 100


def due(connection: Connection) -> tuple[str, ...]:
    """Return the indexes that a step would advance, the one that search needs most first."""
    states = indexes.load_states(connection)
    found = []
    for definition in indexes.INDEXES:
        state = states.get(definition.name)
        if state is None or state.is_newer or state.state == "ready":
            continue
        if state.is_rebuild or indexes.served_by(connection, state) is not None:
            found.append(state.name)
    # Building comes before taking down: it is what makes answers complete.
    return tuple(sorted(found, key=lambda name: states[name].is_rebuild))


def step(
    connection: Connection,
    name: str,
    *,
    max_rows: int = DEFAULT_ROWS,
    max_bytes: int = DEFAULT_BYTES,
) -> IndexStep:
    """Do the next bounded step that an index needs.

    Args:
        max_rows: messages to look at, at most.
        max_bytes: stop after the message that brings the text to this many bytes.

    Raises:
        StepFailed: the index, or what it is built from, is damaged.
    """
    with blaming(None):
        return _step(connection, name, max_rows, max_bytes)


def _step(connection: Connection, name: str, max_rows: int, max_bytes: int) -> IndexStep:
    started = time.monotonic()
    state = indexes.load_states(connection).get(name)
    if state is None or state.state == "ready":
        return IndexStep(name, "build", 0, 0, 0.0, True)
    if state.is_rebuild:
        rows, done = _take_down(connection, state, min(_SHADOW_ROWS, 4 * max_rows))
        return IndexStep(name, "take down", rows, 0, time.monotonic() - started, done)
    definition = indexes.served_by(connection, state)
    if definition is None:
        return IndexStep(name, "build", 0, 0, 0.0, True)
    if state.state == "detached":
        with blaming(name):
            rows = indexes.pay_debts(connection, definition, max_rows)
        if not indexes.count_debts(connection, name, 1):
            indexes.attach(connection, definition)
        return IndexStep(name, "catch up", rows, 0, time.monotonic() - started, False)
    if not state.gaps:
        reason = f"{indexes.UNSOUND}: nothing says how far it is built"
        indexes.mark_for_rebuild(connection, name, reason)
        return IndexStep(name, "build", 0, 0, time.monotonic() - started, False)
    rows, size, done = _fill(connection, definition, state.gaps[0], max_rows, max_bytes)
    return IndexStep(name, "build", rows, size, time.monotonic() - started, done)


def _fill(
    connection: Connection,
    definition: indexes.IndexDefinition,
    gap: tuple[int, int],
    max_rows: int,
    max_bytes: int,
) -> tuple[int, int, bool]:
    """Index the next messages of a gap, from below."""
    name = definition.name
    low, high = gap
    columns = ", ".join(definition.columns)
    marks = ", ".join("?" * len(definition.columns))
    seen = definition.condition.format(row="m")
    # Rows that the index does not see are counted too, so that a long stretch of them
    # is not walked in one go; their text is not read.
    projected = ", ".join(
        f"CASE WHEN {seen} THEN {each} END" for each in indexes.projections(definition, "m")
    )
    batch: list[tuple[apsw.SQLiteValue, ...]] = []
    size = 0
    reached = high
    damaged: list[tuple[int]] = []
    met = connection.undecodable
    rows = connection.execute(
        f"SELECT m.id, {seen}, {projected} FROM messages AS m"
        " WHERE m.id > ? AND m.id <= ? ORDER BY m.id LIMIT ?",
        (low, high, max_rows),
    )
    for looked, row in enumerate(rows, 1):
        if row[1] and connection.undecodable > met:
            # SQLite passes the bytes on as they are: so they are cut, and taken out again.
            damaged.append((row[0],))
        elif row[1]:
            batch.append((row[0], *row[2:]))
            size += sum(_utf8_bytes(value) for value in row[2:])
        met = connection.undecodable
        if size >= max_bytes or looked >= max_rows:
            reached = int(row[0])
            break
    rows.close()  # a statement that is still being read keeps tables from being dropped
    with blaming(name):
        connection.executemany(f"INSERT INTO {name} (rowid, {columns}) VALUES (?, {marks})", batch)
        connection.executemany(
            f"INSERT INTO {name} (rowid, {columns})"
            f" SELECT id, {columns} FROM {definition.view} WHERE id = ?",
            damaged,
        )
    if reached >= high:
        connection.execute("DELETE FROM index_gaps WHERE name = ? AND high = ?", (name, high))
    else:
        connection.execute(
            "UPDATE index_gaps SET low = ? WHERE name = ? AND high = ?", (reached, name, high)
        )
    return len(batch) + len(damaged), size, indexes.settle(connection, name)


def _utf8_bytes(value: object) -> int:
    """Size of a text, rounded up: exact sizes would cost a copy of it."""
    if not isinstance(value, str):
        return 0
    return len(value) if value.isascii() else len(value) * 3


def merge_step(connection: Connection, name: str, pages: int = MERGE_PAGES) -> IndexStep:
    """Merge some of an index's segments, writing about ``pages`` pages at most.

    FTS5 itself says when nothing is left to merge: fewer than two changes.

    Raises:
        StepFailed: the index is damaged.
    """
    started = time.monotonic()
    before = connection.total_changes()
    with blaming(name):
        connection.execute(f"INSERT INTO {name} ({name}, rank) VALUES ('merge', ?)", (pages,))
    changes = connection.total_changes() - before
    return IndexStep(name, "merge", changes, 0, time.monotonic() - started, changes < 2)


def note_deletions(connection: Connection, count: int) -> None:
    """Count messages that were deleted: FTS5 keeps their tokens until segments merge."""
    if count:
        connection.execute(
            "INSERT INTO meta (key, value) VALUES ('unmerged_deletions', ?)"
            " ON CONFLICT (key) DO UPDATE SET value = value + excluded.value",
            (str(count),),
        )


def count_deletions(connection: Connection) -> int:
    """Return how many messages were deleted since the indexes were merged whole."""
    value = connection.one("SELECT value FROM meta WHERE key = 'unmerged_deletions'")
    return indexes.number(value)


def forget_deletions(connection: Connection, count: int) -> None:
    """Say that the segments no longer hold ``count`` messages that were deleted."""
    connection.execute(
        "UPDATE meta SET value = max(0, value - ?) WHERE key = 'unmerged_deletions'", (count,)
    )


def _take_down(connection: Connection, state: indexes.IndexState, most: int) -> tuple[int, bool]:
    """Delete a piece of a worthless index; the last piece takes the table itself.

    A large table is emptied in pieces first, because DROP TABLE walks all of its
    pages in one statement. What was found damaged is only walked where its pages prove to
    be its own: else a page of the messages might be given away with it.
    """
    name = state.name
    with blaming(name, unwalkable=True):
        if (state.reason or "").startswith(indexes.UNSOUND):
            _check_pages(connection, name)
        done = _emptied(connection, name, most)
        if done >= most:
            return done, False
        _drop_table(connection, name)
    connection.execute("DELETE FROM indexes WHERE name = ?", (name,))
    indexes.prepare_for_writing(connection)  # made anew where it is wanted
    return done, name not in indexes.load_states(connection)


def _check_pages(connection: Connection, name: str) -> None:
    """Look whether the pages of an index are its own; say so, that it is asked only once.

    Raises:
        apsw.CorruptError: they are not, or nobody knows.
    """
    for suffix in SHADOW_TABLES:
        table = f"{name}_{suffix}"
        if _is_table(connection, table):
            root = connection.one("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
            if connection.one("SELECT count(*) FROM sqlite_schema WHERE rootpage = ?", (root,)) > 1:
                raise apsw.CorruptError(f"{table} shares page {root}")
            lines = connection.execute(f'PRAGMA integrity_check("{table}")').fetchall()
            if lines != [("ok",)]:
                raise apsw.CorruptError(f"{table}: {lines[:1]}")
    connection.execute(
        "UPDATE indexes SET reason = ? WHERE name = ?", (f"was {indexes.UNSOUND}", name)
    )


def _is_table(connection: Connection, table: str) -> bool:
    return connection.one("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)) is not None


def _emptied(connection: Connection, name: str, most: int) -> int:
    """Delete up to so many rows of an index's parts; return how many there were."""
    left = most
    # Its shadow tables can be written only while the defensive mode is off.
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        for suffix in SHADOW_TABLES[:-1]:
            left -= _empty(connection, f"{name}_{suffix}", left)
            if left <= 0:
                break
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return most - left


def _empty(connection: Connection, table: str, limit: int) -> int:
    if not _is_table(connection, table):
        return 0
    key = "segid, term" if table.endswith("_idx") else "id"
    connection.execute(
        f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} LIMIT ?)", (limit,)
    )
    return int(connection.changes())


def _drop_table(connection: Connection, name: str) -> None:
    """Drop an emptied FTS table, also where it cannot be opened: there is no tokenizer for
    it, its configuration is damaged, or a part of it is missing."""
    with contextlib.suppress(apsw.SQLError):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        if not any(_is_table(connection, f"{name}_{suffix}") for suffix in SHADOW_TABLES):
            return
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        for suffix in SHADOW_TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {name}_{suffix}")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    _forget_table(connection, name)


def forget_index(connection: Connection, name: str) -> None:
    """Remove an index whose pages cannot be walked: they stay lost until VACUUM.

    In a transaction of its own. In one in which damage was met SQLite does nothing more.
    """
    _forget_table(connection, name)
    connection.execute("DELETE FROM indexes WHERE name = ?", (name,))


def _forget_table(connection: Connection, name: str) -> None:
    """Take an FTS table and what is left of its shadow tables out of the schema."""
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        connection.execute("PRAGMA writable_schema = ON")
        for each in (name, *(f"{name}_{suffix}" for suffix in SHADOW_TABLES)):
            connection.execute("DELETE FROM sqlite_schema WHERE tbl_name = ?", (each,))
        version = int(connection.one("PRAGMA schema_version"))
        connection.execute(f"PRAGMA schema_version = {version + 1}")
    finally:
        connection.execute("PRAGMA writable_schema = RESET")
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
