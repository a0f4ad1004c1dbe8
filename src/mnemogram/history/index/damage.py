# SPDX-License-Identifier: MIT
"""Damage: which errors speak of an index, which of the file; texts that are damaged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeVar

import apsw

from mnemogram.errors import StorageUnavailable
from mnemogram.history.models import (
    ROLES,
    STATES,
    BrowseResult,
    ReadResult,
    ScrollResult,
    SearchResult,
)
from mnemogram.sqlite import undecodable
from mnemogram.sqlite.database import Connection

__all__ = [
    "DAMAGE",
    "StepFailed",
    "blaming",
    "is_index_damage",
    "may_be_index_damage",
    "mend_words",
    "noted",
    "unknown_words",
]

#: What a damaged index raises: corruption, and where its configuration or a part of it is
#: damaged or missing, an SQL error.
DAMAGE: Final = (apsw.CorruptError, apsw.SQLError, apsw.ConstraintError, apsw.MismatchError)
_WORDS: Final = {"role": ROLES, "state": STATES}

_R = TypeVar("_R", SearchResult, ScrollResult, ReadResult, BrowseResult)
_MOST_NAMED: Final = 5
_TEXTS: Final = ("content", "tool_name", "tool_calls", "uid", "tool_call_id", "tool_status")


class StepFailed(StorageUnavailable):
    """A step of work on an index failed.

    Attributes:
        index: the index that is to blame, whose table is damaged; None where it is not.
        unwalkable: its pages cannot be given back one by one.
    """

    def __init__(self, index: str | None, error: apsw.Error, *, unwalkable: bool = False) -> None:
        super().__init__(f"{type(error).__name__}: {error}", hint="Run check(), then repair().")
        self.index = index
        self.unwalkable = unwalkable


@contextlib.contextmanager
def blaming(index: str | None, *, unwalkable: bool = False) -> Iterator[None]:
    """Say of damage that the block meets which index is to blame for it."""
    try:
        yield
    except DAMAGE as error:
        raise StepFailed(index, error, unwalkable=unwalkable) from error


def noted(connection: Connection, result: _R) -> _R:
    """Say in an answer which of its messages are damaged: bytes that are no text.

    Costs nothing where no such text was met.
    """
    if not connection.undecodable:
        return result
    ids = [
        each
        for each in dict.fromkeys(_shown_ids(result))
        if undecodable.raw_texts(connection, "messages", each, _TEXTS)
    ]
    words = "Some stored texts are damaged"
    if ids:
        named = ", ".join(map(str, ids[:_MOST_NAMED]))
        more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
        words = (
            f"Damaged: message {named}{more}"
            if len(ids) == 1
            else (f"Damaged: messages {named}{more}")
        )
    note = f"{words} (bytes that are not text show as U+FFFD): run check, then repair."
    return replace(result, hint=note if result.hint is None else f"{result.hint} {note}")


def _shown_ids(result: SearchResult | ScrollResult | ReadResult | BrowseResult) -> Iterator[int]:
    """Yield the ids of the messages in an answer."""
    if isinstance(result, BrowseResult):
        yield from (
            each.match_message_id for each in result.results if each.match_message_id is not None
        )
    elif isinstance(result, SearchResult):
        for hit in result.results:
            for message in (*hit.messages, *hit.bookend_start, *hit.bookend_end):
                yield message.id
    else:
        yield from (message.id for message in result.messages)


def is_index_damage(connection: Connection, error: apsw.Error, name: str, expression: str) -> bool:
    """Whether a search failed because its index is damaged, and not the messages.

    FTS5 reports damage of its own as SQLITE_CORRUPT_VTAB. SQLITE_CORRUPT is the
    b-tree layer's, for a page of any table: then the index is asked once more without
    the messages, and where it fails alone, it is to blame. An SQL error may also be the
    query's: then the index is asked for a word.

    Args:
        error: what the search raised.
        name: the FTS table that was searched.
        expression: what was searched for.
    """
    if int(getattr(error, "extendedresult", 0)) == apsw.SQLITE_CORRUPT_VTAB:
        return True
    asked = expression if isinstance(error, apsw.CorruptError) else '"a"'
    try:
        connection.one(f"SELECT count(*) FROM {name} WHERE {name} MATCH ?", (asked,))
    except DAMAGE:
        return True
    return False


def may_be_index_damage(error: BaseException | None) -> bool:
    """Whether a failed write may have failed because of an FTS table.

    One that is damaged, whose pages are, whose shadow tables contradict each other, or
    that is not there: each has its own error, and none of them names the table.
    """
    while error is not None:
        if isinstance(error, apsw.Error):
            return isinstance(error, DAMAGE)
        error = error.__cause__
    return False


def unknown_words(connection: Connection) -> list[tuple[int, str, str]]:
    """Return the messages with a role or state that is none: id, column, the word."""
    found = []
    for column, words in _WORDS.items():
        listed = ", ".join(f"'{each}'" for each in words)
        found += [
            (int(row[0]), column, str(row[1]))
            for row in connection.execute(
                f"SELECT id, {column} FROM messages WHERE {column} NOT IN ({listed})"
            )
        ]
    return found


def mend_words(connection: Connection) -> None:
    """Make each role and state that is none the one that differs in the fewest bits."""
    for row_id, column, _ in unknown_words(connection):
        raw = connection.one(f"SELECT CAST({column} AS BLOB) FROM messages WHERE id = ?", (row_id,))
        best = min(_WORDS[column], key=lambda word: _bits_apart(raw, word.encode()))
        connection.execute(f"UPDATE messages SET {column} = ? WHERE id = ?", (best, row_id))


def _bits_apart(one: bytes, other: bytes) -> int:
    length = max(len(one), len(other))
    pairs = zip(one.ljust(length, b"\0"), other.ljust(length, b"\0"), strict=True)
    return sum((a ^ b).bit_count() for a, b in pairs)
