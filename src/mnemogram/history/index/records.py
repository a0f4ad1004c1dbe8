# SPDX-License-Identifier: MIT
"""What FTS5 writes down about an index of its own: its sizes and its segments.

Records of the ``_data`` table (SQLite's documentation of FTS5, section 9.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mnemogram.sqlite.database import Connection

__all__ = ["segments", "sizes", "structure"]

_AVERAGES_ID: Final = 1
_STRUCTURE_ID: Final = 10
#: What follows the cookie of a structure record of version 2.
_VERSION_2: Final = b"\xff\x00\x00\x01"


def _varints(data: bytes) -> Iterator[int]:
    """Decode SQLite varints (big-endian base 128; a ninth byte holds eight bits)."""
    value = length = 0
    for byte in data:
        length += 1
        if length == 9:
            value = value << 8 | byte
        else:
            value = value << 7 | byte & 0x7F
            if byte & 0x80:
                continue
        yield value
        value = length = 0


def _record(connection: Connection, table: str, row_id: int) -> bytes:
    block = connection.one(f"SELECT block FROM {table}_data WHERE id = ?", (row_id,))
    return block if isinstance(block, bytes) else b""


def sizes(connection: Connection, table: str) -> list[int]:
    """Return the number of an index's rows, then the tokens of each column.

    Returns:
        The averages record; nothing where there is none.
    """
    return list(_varints(_record(connection, table, _AVERAGES_ID)))


def structure(connection: Connection, table: str) -> bytes:
    """Return an index's record of its levels and segments: another one after each change."""
    return _record(connection, table, _STRUCTURE_ID)


def segments(structure: bytes) -> int:
    """Return the number of segments in a structure record.

    A four-byte cookie, in newer files four bytes that say "version 2", then the number of
    levels and that of segments.
    """
    numbers = list(_varints(structure[8 if structure[4:8] == _VERSION_2 else 4 :]))
    return numbers[1] if len(numbers) > 1 else 0
