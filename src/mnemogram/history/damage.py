# SPDX-License-Identifier: MIT
"""Which errors speak of a damaged index, and which of a damaged file."""

from __future__ import annotations

import apsw

from mnemogram.database import Connection

__all__ = ["is_index_corruption", "may_be_index_damage"]


def is_index_corruption(
    connection: Connection, error: apsw.CorruptError, name: str, expression: str
) -> bool:
    """Whether a search failed because its index is damaged, and not the messages.

    FTS5 reports damage of its own as SQLITE_CORRUPT_VTAB. SQLITE_CORRUPT is the
    b-tree layer's, for a page of any table: then the index is asked once more without
    the messages, and where it fails alone, it is to blame.

    Args:
        error: what the search raised.
        name: the FTS table that was searched.
        expression: what was searched for.
    """
    if int(getattr(error, "extendedresult", 0)) == apsw.SQLITE_CORRUPT_VTAB:
        return True
    try:
        connection.one(f"SELECT count(*) FROM {name} WHERE {name} MATCH ?", (expression,))
    except apsw.CorruptError:
        return True
    return False


def may_be_index_damage(error: BaseException | None) -> bool:
    """Whether a failed write may have failed because of an FTS table.

    One that is damaged, whose pages are, whose shadow tables contradict each other, or
    that is not there: each has its own error, and none of them names the table.
    """
    while error is not None:
        if isinstance(error, apsw.Error):
            return isinstance(error, (apsw.CorruptError, apsw.ConstraintError, apsw.SQLError))
        error = error.__cause__
    return False
