# SPDX-License-Identifier: MIT
"""Stored texts that are not UTF-8: found, shown with their bytes, and mended.

A bad disk or another program leaves them. Reading gives U+FFFD for what is no text (see
``connection.Cursor``); here is what tells such a text from one that holds U+FFFD rightly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import apsw

from mnemogram.sqlite.connection import Connection

__all__ = ["REPLACEMENT", "Undecodable", "escaped", "find", "mend", "raw_texts"]

REPLACEMENT: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A row with texts that are not UTF-8.

    Attributes:
        table: its table.
        key: values of the columns by which the row is found, texts as bytes.
        texts: the bytes of each such column.
    """

    table: str
    key: tuple[Any, ...]
    texts: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    keys: tuple[str, ...]
    texts: tuple[str, ...]


def escaped(raw: bytes) -> str:
    r"""Return bytes as text that tells all of them: ``\xff`` for what is no UTF-8, ``\\``."""
    return raw.replace(b"\\", b"\\\\").decode(errors="backslashreplace")


def raw_texts(
    connection: Connection, table: str, rowid: int, columns: Sequence[str]
) -> dict[str, bytes]:
    """Return the bytes of those of a row's columns whose text is not UTF-8."""
    listed = ", ".join(f'CAST("{each}" AS BLOB)' for each in columns)
    found: dict[str, bytes] = {}
    for row in connection.execute(f'SELECT {listed} FROM "{table}" WHERE rowid = ?', (rowid,)):
        found = _bad(columns, row)
    return found


def _bad(columns: Sequence[str], row: Sequence[bytes | None]) -> dict[str, bytes]:
    return {
        name: raw
        for name, raw in zip(columns, row, strict=True)
        if raw is not None and not _is_text(raw)
    }


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _tables(connection: Connection, leave_out: Collection[str]) -> list[_Table]:
    """Return the ordinary tables that hold texts, without the parts of FTS tables."""
    found = []
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    ).fetchall()
    for name in (str(row[0]) for row in names):
        if name.startswith("sqlite_") or any(name.startswith(f"{o}_") for o in leave_out):
            continue
        columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        texts = tuple(str(each[1]) for each in columns if str(each[2]).upper() == "TEXT")
        without_rowid = connection.one(
            "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?", (name,)
        )
        keys: tuple[str, ...] = ("rowid",)
        if without_rowid:
            primary = sorted((int(each[5]), str(each[1])) for each in columns if each[5])
            keys = tuple(name for _, name in primary)
        if texts:
            found.append(_Table(name, keys, texts))
    return found


def find(connection: Connection, *, leave_out: Collection[str] = ()) -> Iterator[Undecodable]:
    """Yield every row that holds a text that is not UTF-8; reads all texts there are.

    Args:
        leave_out: FTS tables, whose parts hold no texts.
    """
    for table in _tables(connection, leave_out):
        columns = (*table.keys, *table.texts)
        listed = ", ".join(f'"{each}"' for each in columns)
        if table.keys == ("rowid",):
            # As text, because that is the fastest; what cannot be read so is looked at.
            for row in connection.execute(f'SELECT {listed} FROM "{table.name}"'):
                if any(isinstance(each, str) and REPLACEMENT in each for each in row[1:]):
                    texts = raw_texts(connection, table.name, row[0], table.texts)
                    if texts:
                        yield Undecodable(table.name, (row[0],), texts)
            continue
        raw = ", ".join(
            f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in (f'"{each}"' for each in columns)
        )
        for row in connection.execute(f'SELECT {raw} FROM "{table.name}"'):
            split = len(table.keys)
            texts = _bad(table.texts, row[split:])
            if texts:
                yield Undecodable(table.name, row[:split], texts)


def mend(connection: Connection, *, leave_out: Collection[str] = ()) -> int:
    """Put U+FFFD where a text is not UTF-8, so that everything can be read and found.

    Where that would make two rows one, a hash of the bytes is added.

    Returns:
        How many rows were changed.
    """
    keys = {table.name: table.keys for table in _tables(connection, leave_out)}
    found = list(find(connection, leave_out=leave_out))
    for each in found:
        where = " AND ".join(
            f'"{name}" = ' + ("CAST(? AS TEXT)" if isinstance(value, bytes) else "?")
            for name, value in zip(keys[each.table], each.key, strict=True)
        )
        texts = {name: raw.decode(errors="replace") for name, raw in each.texts.items()}
        for attempt in (
            texts,
            {name: _told_apart(texts[name], each.texts[name]) for name in texts},
        ):
            try:
                changes = ", ".join(f'"{name}" = ?' for name in attempt)
                connection.execute(
                    f'UPDATE "{each.table}" SET {changes} WHERE {where}',
                    (*attempt.values(), *each.key),
                )
                break
            except apsw.ConstraintError:
                if attempt is not texts:
                    raise
    return len(found)


def _told_apart(text: str, raw: bytes) -> str:
    return f"{text}~{hashlib.sha256(raw).hexdigest()[:8]}"
