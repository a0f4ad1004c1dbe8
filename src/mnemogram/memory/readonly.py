# SPDX-License-Identifier: MIT
"""A connection of its own that cannot write, for dry runs and checks."""

from __future__ import annotations

from typing import Any

from mnemogram.memory.schema import SCHEMA
from mnemogram.sqlite.database import Connection, Database

__all__ = ["ReadOnly"]


class ReadOnly:
    """Opens a database's file once more, read-only, for a block."""

    def __init__(self, database: Database) -> None:
        self._source = database
        self._copy: Database | None = None
        self._reader: Any = None

    def __enter__(self) -> Connection:
        self._copy = Database(
            self._source.path,
            SCHEMA,
            read_only=True,
            busy_timeout=self._source.busy_timeout,
            load_extension=self._source.load_extension,
        )
        self._reader = self._copy.read()
        connection: Connection = self._reader.__enter__()
        return connection

    def __exit__(self, *error: Any) -> None:
        try:
            self._reader.__exit__(*error)
        finally:
            if self._copy is not None:
                self._copy.close()
