# SPDX-License-Identifier: MIT
"""The full-text index over relations: derived from them and disposable.

It is an FTS5 table with external content, kept by the writers themselves: what
changes the text of a relation takes it out first and puts it back after, in the
same transaction. A process without the tokenizer cannot do that; it marks the
index stale, and the next writer that has the tokenizer fills it again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import apsw

from mnemogram._native import text_core
from mnemogram.sqlite.database import Connection
from mnemogram.text import RULES_VERSION, STORE_OPTIONS, config

__all__ = [
    "ensure",
    "integrity",
    "is_damaged",
    "mark_stale",
    "rebuild",
    "reindexed",
    "state",
    "unindex",
    "words_of",
]

TOKENIZER: Final = " ".join(
    ("cjk_unicode61", *(f"{name} '{value}'" for name, value in STORE_OPTIONS.items()))
)
_TOKENIZE: Final = TOKENIZER.replace("'", "''")
#: Version of the projection; another one means the index is filled again.
_PROJECTION: Final = 1
_META: Final = "text_index"

_CREATE: Final = f"""
CREATE VIRTUAL TABLE relations_fts USING fts5(
    subject, type, object, sentence,
    content='relations_projection', content_rowid='id', tokenize='{_TOKENIZE}')
"""
_CREATE_TERMS: Final = "CREATE VIRTUAL TABLE relations_terms USING fts5vocab(relations_fts, row)"
# Without it deleted words stay in the index until a merge happens to meet them.
_SECURE_DELETE: Final = (
    "INSERT INTO relations_fts (relations_fts, rank) VALUES ('secure-delete', 1)"
)
_REBUILD: Final = "INSERT INTO relations_fts (relations_fts) VALUES ('rebuild')"
_INTEGRITY: Final = "INSERT INTO relations_fts (relations_fts, rank) VALUES ('integrity-check', 1)"
_INSERT: Final = """
INSERT INTO relations_fts (rowid, subject, type, object, sentence)
SELECT id, subject, type, object, sentence FROM relations_projection WHERE id = ?
"""
_DELETE: Final = """
INSERT INTO relations_fts (relations_fts, rowid, subject, type, object, sentence)
SELECT 'delete', id, subject, type, object, sentence FROM relations_projection WHERE id = ?
"""
_SET_META: Final = """
INSERT INTO meta (key, value) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value
"""


def words_of(text: str) -> list[str]:
    """Return the words of a text as the index holds them."""
    cut = text_core.tokens(config(**STORE_OPTIONS), text, text_core.DOCUMENT)
    return [word for word, *_ in cut]


def _version() -> str:
    return f"{TOKENIZER}; rules {RULES_VERSION}; projection {_PROJECTION}"


def state(connection: Connection) -> Literal["ready", "stale", "absent"]:
    """Return whether the index holds every relation as this process would cut it."""
    value = connection.one("SELECT value FROM meta WHERE key = ?", (_META,))
    if value is None:
        return "absent"
    return "ready" if value == _version() else "stale"


def ensure(connection: Connection) -> bool:
    """Fill the index where it is not ready and can be; return whether it was filled.

    Needs a write transaction.
    """
    if not connection.has_tokenizer or state(connection) == "ready":
        return False
    rebuild(connection)
    return True


def rebuild(connection: Connection) -> None:
    """Make the index anew from the relations. Needs a write transaction and the tokenizer."""
    # What the old index holds may have been forgotten since: its pages are overwritten.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("DROP TABLE IF EXISTS relations_terms")
    connection.execute("DROP TABLE IF EXISTS relations_fts")
    connection.execute(_CREATE)
    connection.execute(_SECURE_DELETE)
    connection.execute(_CREATE_TERMS)
    connection.execute(_REBUILD)
    connection.execute(_SET_META, (_META, _version()))


def integrity(connection: Connection) -> str | None:
    """Compare the index with the relations; return what is wrong, or None.

    Needs a write transaction and the tokenizer: the check is an INSERT to SQLite.
    """
    try:
        connection.execute(_INTEGRITY)
    except apsw.CorruptError as error:
        return str(error)
    return None


def _writable(connection: Connection) -> bool:
    """Return whether the index can be kept; mark it stale where it cannot."""
    if connection.has_tokenizer and state(connection) == "ready":
        return True
    mark_stale(connection)
    return False


def mark_stale(connection: Connection) -> None:
    """Say that the index does not hold the relations any more, where there is one."""
    if state(connection) == "ready":
        connection.execute(_SET_META, (_META, "stale: damaged, or written without the tokenizer"))


def index(connection: Connection, relation_ids: Iterable[int]) -> None:
    """Put relations into the index that are not in it."""
    _change(connection, _INSERT, relation_ids)


def unindex(connection: Connection, relation_ids: Iterable[int]) -> None:
    """Take relations out of the index, before they change or go."""
    _change(connection, _DELETE, relation_ids)


def _change(connection: Connection, statement: str, relation_ids: Iterable[int]) -> None:
    if _writable(connection):
        connection.executemany(statement, ((each,) for each in relation_ids))


def is_damaged(error: BaseException | None) -> bool:
    """Return whether an error means that the index alone is damaged, not the file.

    FTS5 reports damage of its own as SQLITE_CORRUPT_VTAB.
    """
    return (
        isinstance(error, apsw.CorruptError)
        and getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB
    )


@contextlib.contextmanager
def reindexed(connection: Connection, relation_ids: Iterable[int]) -> Iterator[None]:
    """Take relations out of the index for the block, and put back those still there.

    Their vectors, and that one was refused, go too: they stand for a text that is no more.
    """
    ids = list(dict.fromkeys(relation_ids))
    unindex(connection, ids)
    for table in ("vectors", "refusals"):
        connection.executemany(
            f"DELETE FROM {table} WHERE relation_id = ?", ((each,) for each in ids)
        )
    yield
    index(connection, ids)
