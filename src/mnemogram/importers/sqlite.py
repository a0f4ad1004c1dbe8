# SPDX-License-Identifier: MIT
"""SQLite files of other programs, recognised by their tables and only ever read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from mnemogram.importers.base import ImportFailed

__all__ = ["SQLITE_HEAD", "SQLiteFile", "quoted"]

SQLITE_HEAD: Final = b"SQLite format 3\0"


def quoted(name: str) -> str:
    """Return the name of a table as a statement may hold it."""
    return '"' + name.replace('"', '""') + '"'


class SQLiteFile:
    """A database, opened read-only where it is asked.

    Args:
        path: the file.
        label: its name in errors.
    """

    def __init__(self, path: str, label: str) -> None:
        self.path = path
        self.label = label

    @cached_property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """The columns of each table, by lower-case names."""
        with self._connected() as connection:
            names = [
                str(row[0])
                for row in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                )
            ]
            return {name.lower(): _columns(connection, name) for name in names}

    @cached_property
    def application_id(self) -> int:
        """What its program wrote into the header, or 0."""
        return int(self.rows("PRAGMA application_id").__next__()["application_id"])

    def has(self, **tables: str) -> bool:
        """Whether it has these tables, each with the columns that are named."""
        return all(
            set(columns.split()) <= self.tables.get(name, frozenset())
            for name, columns in tables.items()
        )

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[dict[str, Any]]:
        """Yield the rows that a query gives.

        Raises:
            ImportFailed: the database is damaged or locked.
        """
        with self._connected() as connection:
            for row in connection.execute(query, values):
                yield dict(row)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        uri = f"{Path(self.path).absolute().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
                connection.row_factory = sqlite3.Row
                # Bytes that are no UTF-8 spoil their own characters only.
                connection.text_factory = lambda data: data.decode("utf-8", "replace")
                yield connection
        except sqlite3.Error as error:
            raise ImportFailed(
                self.label,
                None,
                f"the database cannot be read: {error}",
                hint="Close the program that writes it, or copy it with its -wal file.",
            ) from error


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    try:
        rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return frozenset(str(row[0]).lower() for row in rows)
    except sqlite3.Error:  # a virtual table whose module is not here
        return frozenset()
