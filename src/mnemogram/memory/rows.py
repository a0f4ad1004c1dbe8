# SPDX-License-Identifier: MIT
"""Rows of a statement, typed by who reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mnemogram.sqlite.database import Connection

__all__ = ["all_rows", "each_row"]


def each_row(connection: Connection, sql: str, bindings: Any = ()) -> Iterator[Any]:
    """Run a statement and yield its rows as they come."""
    yield from connection.execute(sql, bindings)


def all_rows(connection: Connection, sql: str, bindings: Any = ()) -> list[Any]:
    """Run a statement and return all its rows: nothing is left under way."""
    return connection.execute(sql, bindings).fetchall()
