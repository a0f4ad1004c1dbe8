# SPDX-License-Identifier: MIT
"""Tables, indexes and views as they were defined, and as a file has them.

A flipped bit in the schema, or another program, takes an object away or changes what it says.
The data is not hurt by that: what is missing or changed is defined anew. The FTS tables and
their triggers are not among these; they come and go, and others know which there must be.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import apsw

from mnemogram.errors import StorageUnavailable
from mnemogram.sqlite.database import Connection, Schema

__all__ = ["Difference", "define", "differences"]

_SEQUENCE: Final = "sqlite_sequence"
#: In this order they are made: an index needs its table.
_KINDS: Final = ("table", "view", "index")


@dataclass(frozen=True, slots=True)
class _Definition:
    kind: str
    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Difference:
    """An object that is not as it was defined.

    Attributes:
        name: the table, index or view.
        kind: which of these it is.
        how: what is wrong.
        redefined: whether it can be defined as it was, with what it holds: it is no table,
            or one of the same columns.
    """

    name: str
    kind: str
    how: Literal["missing", "changed"]
    redefined: bool


@contextlib.contextmanager
def _in_memory() -> Iterator[Connection]:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with contextlib.closing(Connection(":memory:", flags=flags, busy_timeout=0.0)) as connection:
        yield connection


@functools.cache
def _expected(schema: Schema) -> tuple[_Definition, ...]:
    with _in_memory() as connection:
        schema.upgrade(connection, 0)
        found = [
            _Definition(kind, name, sql)
            for kind, name, sql in connection.execute(
                "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
            )
        ]
    return tuple(sorted(found, key=lambda each: _KINDS.index(each.kind)))


def _plain(sql: object) -> str:
    return " ".join(str(sql).split())


def differences(connection: Connection, schema: Schema) -> list[Difference]:
    """Return what a file of the newest version lacks or has otherwise; of an older one nothing."""
    if int(connection.one("PRAGMA user_version")) != schema.version:
        return []
    there = {
        str(name): (str(kind), _plain(sql))
        for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema")
    }
    found = []
    for each in _expected(schema):
        if each.name not in there:
            found.append(Difference(each.name, each.kind, "missing", each.kind != "table"))
        elif there[each.name] != (each.kind, _plain(each.sql)):
            same = each.kind != "table" or _columns(connection, each.name) == _columns_of(each)
            found.append(Difference(each.name, each.kind, "changed", same))
    return found


def _columns(connection: Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f'PRAGMA table_xinfo("{table}")')]


def _columns_of(definition: _Definition) -> list[str]:
    with _in_memory() as connection:
        connection.execute(definition.sql)
        return _columns(connection, definition.name)


def define(connection: Connection, schema: Schema, disposable: frozenset[str]) -> list[str]:
    """Make all again that is missing or changed, in the transaction of the caller.

    Args:
        disposable: tables whose rows may go, where theirs are other columns.

    Returns:
        The tables that are empty now.

    Raises:
        StorageUnavailable: a table does not hold what its definition says.
    """
    wrong = {each.name: each for each in differences(connection, schema)}
    emptied = []
    for definition in _expected(schema):
        difference = wrong.get(definition.name)
        if difference is None:
            continue
        name = definition.name
        if definition.kind != "table":
            _drop(connection, name)
            connection.execute(definition.sql)
        elif difference.how == "changed" and difference.redefined:
            _redefine(connection, definition)
        elif difference.how == "missing" or name in disposable:
            _drop(connection, name)
            _create(connection, definition)
            emptied.append(name)
        else:
            raise StorageUnavailable(
                f"the table {name} has other columns than it should",
                hint="Restore the file from a backup.",
            )
    return emptied


def _drop(connection: Connection, name: str) -> None:
    kind = connection.one("SELECT type FROM sqlite_schema WHERE name = ?", (name,))
    if kind is not None:
        connection.execute(f'DROP {kind} "{name}"')


def _create(connection: Connection, definition: _Definition) -> None:
    if definition.name != _SEQUENCE:
        connection.execute(definition.sql)
        return
    # SQLite alone makes it, with the first table that needs one.
    connection.execute("CREATE TABLE mnemogram_counted (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    connection.execute("DROP TABLE mnemogram_counted")


def _redefine(connection: Connection, definition: _Definition) -> None:
    """Put a definition in the place of the one of a table whose rows stay where they are."""
    name = definition.name
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = ?",
            (definition.sql, name),
        )
        version = int(connection.one("PRAGMA schema_version"))
        connection.execute(f"PRAGMA schema_version = {version + 1}")
    finally:
        connection.execute("PRAGMA writable_schema = RESET")
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    lines = list(_complaints(connection, name))
    if lines:
        raise StorageUnavailable(
            f"the table {name} does not hold what its definition says: {'; '.join(lines[:3])}",
            hint="Restore the file from a backup.",
        )


def _complaints(connection: Connection, table: str) -> Iterator[str]:
    for (line,) in connection.execute(f'PRAGMA integrity_check("{table}")'):
        # Words that are none are mended later.
        if line != "ok" and not str(line).startswith("CHECK constraint failed"):
            yield str(line)
