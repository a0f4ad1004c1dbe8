# SPDX-License-Identifier: MIT
"""The end of messages: deletion on purpose, expiry by age, and leaving no trace.

Deleting removes a session's messages, their index rows and the session in one
transaction. What SQLite and FTS5 keep of them in free space and in unmerged segments
is harmless to search, and is removed by :func:`purge`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from mnemogram.errors import StorageUnavailable
from mnemogram.history import writing
from mnemogram.history.file import HistoryFile
from mnemogram.history.index import build as building
from mnemogram.history.index import state as indexes
from mnemogram.history.upkeep.maintain import Maintained
from mnemogram.sqlite.database import Connection
from mnemogram.values import Value

__all__ = [
    "Deleted",
    "Expired",
    "Purged",
    "count_expired",
    "delete_session",
    "expire_step",
    "expiry_part",
    "purge",
    "revive_session",
]

#: Messages that one transaction of expiry deletes.
EXPIRY_BATCH: Final = 500
_MERGE_PAGES: Final = 2_000


@dataclass(frozen=True, slots=True)
class Deleted(Value):
    """What a deletion removed.

    Attributes:
        session_id: the session.
        existed: whether it was there; a repeated deletion finds nothing.
        messages: how many messages went with it.
    """

    session_id: str
    existed: bool
    messages: int


@dataclass(frozen=True, slots=True)
class Expired(Value):
    """What an expiry removed, or would remove."""

    sessions: int
    messages: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Purged(Value):
    """What a purge did.

    Attributes:
        bytes_before, bytes_after: size of the file with its WAL.
        complete: whether nothing of any deleted text is left in file and WAL.
        hint: why it is not, and what to do.
    """

    bytes_before: int
    bytes_after: int
    complete: bool
    hint: str | None


# --- deleting --------------------------------------------------------------------------


def delete_session(connection: Connection, key: str) -> Deleted:
    """Delete a session for good: nothing of it is stored again.

    The tombstone is written even where the session is not there (yet): a message of
    it that is still on its way must be refused.
    """
    moment = time.time_ns() // 1_000
    connection.execute(
        "INSERT OR IGNORE INTO tombstones (key, deleted_at) VALUES (?, ?)", (key, moment)
    )
    writing.forget_revival(connection, key)
    found = connection.execute(
        "SELECT id, last_active_at FROM sessions WHERE key = ?", (key,)
    ).fetchone()
    if found is None:
        return Deleted(key, False, 0)
    row_id, latest = found
    # It had begun anew since, or holds what a fast clock wrote: that must not come back.
    connection.execute(
        "UPDATE tombstones SET deleted_at = max(deleted_at, ?, ?) WHERE key = ?",
        (moment, latest, key),
    )
    connection.execute("DELETE FROM messages WHERE session_id = ?", (row_id,))
    messages = connection.changes()
    building.note_deletions(connection, messages)
    _delete_session_row(connection, row_id)
    return Deleted(key, True, messages)


def revive_session(connection: Connection, key: str) -> bool:
    """Let a session that was deleted begin anew; return whether it was deleted."""
    if writing.deleted_at(connection, key) is None:
        return False
    writing.revive(connection, key)
    return True


def _delete_session_row(connection: Connection, row_id: int) -> None:
    """Delete a session without messages; its children head lineages of their own."""
    children = [
        row[0]
        for row in connection.execute("SELECT id FROM sessions WHERE parent_id = ?", (row_id,))
    ]
    connection.execute("DELETE FROM sessions WHERE id = ?", (row_id,))
    for child in children:
        connection.execute(
            "WITH RECURSIVE subtree (id) AS (VALUES (:child) UNION SELECT s.id FROM sessions AS s"
            " JOIN subtree ON s.parent_id = subtree.id)"
            " UPDATE sessions SET root_id = :child WHERE id IN (SELECT id FROM subtree)",
            {"child": child},
        )


# --- expiry ----------------------------------------------------------------------------

_OLDEST: Final = """
SELECT id, message_count FROM sessions WHERE last_active_at < ?
 ORDER BY last_active_at, id LIMIT 1
"""


def expire_step(
    connection: Connection, before: int, *, limit: int = EXPIRY_BATCH
) -> tuple[int, int, bool]:
    """Delete sessions that were last active before a time, within a bound.

    A session larger than the bound loses its oldest messages first and goes with the
    last. No tombstone is left: an expired session may come back.

    Args:
        before: microseconds since 1970 UTC.
        limit: messages to delete at most.

    Returns:
        Sessions and messages deleted, and whether there are more to delete.
    """
    sessions, messages, more = _expire(connection, before, limit)
    building.note_deletions(connection, messages)
    return sessions, messages, more


def _expire(connection: Connection, before: int, limit: int) -> tuple[int, int, bool]:
    sessions = messages = 0
    while True:
        found = connection.execute(_OLDEST, (before,)).fetchone()
        if found is None:
            return sessions, messages, False
        if messages >= limit:
            return sessions, messages, True
        row_id = found[0]
        connection.execute(
            "DELETE FROM messages WHERE id IN"
            " (SELECT id FROM messages WHERE session_id = ? ORDER BY id LIMIT ?)",
            (row_id, limit - messages),
        )
        deleted = connection.changes()
        messages += deleted
        if connection.one("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", (row_id,)):
            connection.execute(
                "UPDATE sessions SET message_count = message_count - ? WHERE id = ?",
                (deleted, row_id),
            )
            return sessions, messages, True
        _delete_session_row(connection, int(row_id))
        sessions += 1
        # A session without messages costs a step too.
        limit -= 1


def expiry_part(store: HistoryFile, before: int, batch_size: int) -> Maintained | None:
    """Do one bounded step of expiry as a part of upkeep; None where nothing is due."""
    started = time.monotonic()
    with store.database.read() as connection:
        if connection.execute(_OLDEST, (before,)).fetchone() is None:
            return None
    sessions, messages, more = store.write(
        lambda connection: expire_step(connection, before, limit=batch_size)
    )
    words = f"expired {sessions} sessions with {messages} messages"
    return Maintained("expiry", messages, time.monotonic() - started, more, words)


def count_expired(connection: Connection, before: int) -> tuple[int, int]:
    """Return how many sessions and messages an expiry would delete."""
    ((sessions, messages),) = connection.execute(
        "SELECT count(*), coalesce(sum(message_count), 0) FROM sessions WHERE last_active_at < ?",
        (before,),
    )
    return int(sessions), int(messages)


# --- purging ---------------------------------------------------------------------------


def _bytes(store: HistoryFile) -> int:
    size = 0
    for suffix in ("", "-wal"):
        name = f"{store.database.path}{suffix}"
        size += os.stat(name).st_size if os.path.exists(name) else 0
    return size


def purge(store: HistoryFile) -> Purged:
    """Remove every trace of deleted and replaced text from the file, its indexes and WAL.

    1. Indexes that still hold text they were not told to forget are caught up, or taken
       down where this process cannot serve them.
    2. The segments of each index are merged into one, which drops the tokens of deleted
       messages; in bounded steps, so that writers get in between.
    3. VACUUM writes the file anew from what is alive; it holds the write lock and needs
       as much free disk as the file is large.
    4. The WAL is emptied into the file and cut to nothing.

    Raises:
        Busy: another process held the write lock too long.
        StorageUnavailable: the disk is full, or the file damaged.
    """
    before = _bytes(store)
    with store.database.read() as connection:
        most = len(indexes.INDEXES) * building.most_steps(connection)
    merges = (partial(_merge_all, name=each.name) for each in indexes.INDEXES)
    steps: tuple[Callable[[Connection], bool], ...] = (_forget_step, *merges)
    for step in steps:
        if not any(store.write(step) for _ in range(most)):
            raise StorageUnavailable(f"the indexes were not done within {most} steps")
    store.write(lambda connection: building.forget_deletions(connection, 2**62))
    with store.database.exclusive() as connection:
        # VACUUM's copy of the file must not go into memory.
        connection.execute("PRAGMA temp_store = FILE")
        try:
            connection.execute("VACUUM")
        finally:
            connection.execute("PRAGMA temp_store = MEMORY")
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
    hint = None
    if busy:
        hint = "A reader kept the WAL from being emptied: purge again when it is done."
    return Purged(before, _bytes(store), not busy, hint)


def _forget_step(connection: Connection) -> bool:
    """Bring an index that is behind nearer to the truth; return whether all are there."""
    for name, state in indexes.load_states(connection).items():
        if state.state != "detached":
            continue
        if not state.is_rebuild and indexes.served_by(connection, state) is None:
            indexes.mark_for_rebuild(connection, name, "taken down by a purge")
        done = building.step(connection, name)
        if done.rows or not done.done:
            return False
    return True


def _merge_all(connection: Connection, name: str) -> bool:
    state = indexes.load_states(connection).get(name)
    if state is None or state.state == "detached":
        return True
    return building.merge_step(connection, name, -_MERGE_PAGES).done
