# SPDX-License-Identifier: MIT
"""The end of messages: deletion on purpose, expiry by age, and leaving no trace.

Deleting removes a session's messages, their index rows and the session in one
transaction. What SQLite and FTS5 keep of them in free space and in unmerged segments
is harmless to search, and is removed by :func:`purge`.
"""

from __future__ import annotations

import contextlib
import glob
import os
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from mnemogram.errors import StorageUnavailable
from mnemogram.history import writing
from mnemogram.history.file import HistoryFile, is_full
from mnemogram.history.index import build as building
from mnemogram.history.index import state as indexes
from mnemogram.history.upkeep.maintain import Maintained
from mnemogram.sqlite import backup as copying
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
#: Messages and pages of a step where the disk is full.
_PIECE: Final = 64
_FEWEST_PAGES: Final = 20


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
        complete: whether nothing of any deleted text is left in file and WAL, nor in a copy
            that somebody began to make of it.
        hint: why it is not, and what to do.
        copies: backups beside the file, made before a repair: they hold what they held.
    """

    bytes_before: int
    bytes_after: int
    complete: bool
    hint: str | None
    copies: tuple[str, ...] = ()


# --- deleting --------------------------------------------------------------------------


def delete(store: HistoryFile, key: str) -> Deleted:
    """Delete a session for good, on a full disk piece by piece.

    Then the tombstone comes first: what is interrupted is finished by another deletion. And
    the indexes are given up, which are built anew once there is room: to tell them what is
    gone would take more of it than the messages give back.

    Raises:
        StorageUnavailable: not even a message can be deleted in the room there is.
    """
    try:
        return store.write(partial(delete_session, key=key))
    except StorageUnavailable as error:
        if not is_full(error):
            raise
    store.write(partial(_leave_tombstone, key=key))
    store.write(_give_up_indexes)
    messages, limit = 0, _PIECE
    while True:
        try:
            deleted = store.write(partial(_delete_some, key=key, limit=limit))
        except StorageUnavailable as error:
            if limit == 1 or not is_full(error):
                raise
            limit //= 4
            continue
        messages += deleted
        if not deleted:
            last = store.write(partial(delete_session, key=key))
            return replace(last, messages=messages + last.messages)


def _give_up_indexes(connection: Connection) -> None:
    for name, state in indexes.load_states(connection).items():
        if name in indexes.NAMES and not state.is_rebuild:
            indexes.mark_for_rebuild(connection, name, "given up on a full disk")


def _delete_some(connection: Connection, key: str, limit: int) -> int:
    connection.execute(
        "DELETE FROM messages WHERE id IN (SELECT m.id FROM messages AS m"
        " JOIN sessions AS s ON s.id = m.session_id WHERE s.key = ? ORDER BY m.id LIMIT ?)",
        (key, limit),
    )
    deleted = connection.changes()
    building.note_deletions(connection, deleted)
    connection.execute(
        "UPDATE sessions SET message_count = message_count - ? WHERE key = ?", (deleted, key)
    )
    return deleted


def _leave_tombstone(connection: Connection, key: str) -> int:
    moment = time.time_ns() // 1_000
    connection.execute(
        "INSERT OR IGNORE INTO tombstones (key, deleted_at) VALUES (?, ?)", (key, moment)
    )
    return moment


def delete_session(connection: Connection, key: str) -> Deleted:
    """Delete a session for good: nothing of it is stored again.

    The tombstone is written even where the session is not there (yet): a message of
    it that is still on its way must be refused.
    """
    moment = _leave_tombstone(connection, key)
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
    path, size = store.database.path, 0
    for suffix in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            size += os.stat(f"{path}{suffix}").st_size
    for copy in copying.left_behind(path.parent):
        with contextlib.suppress(FileNotFoundError):
            size += copy.stat().st_size
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

    What a check or a backup left of a copy, because it was killed, goes first. Where the disk
    has no room for step 3, free pages are given back one by one.

    Raises:
        Busy: another process held the write lock too long.
        StorageUnavailable: the disk is full, or the file damaged.
    """
    path = store.database.path
    before = _bytes(store)
    copying.sweep(path.parent)
    with store.database.read() as connection:
        most = len(indexes.INDEXES) * building.most_steps(connection)
    if not any(store.write(_forget_step) for _ in range(most)):
        raise StorageUnavailable(f"the indexes were not done within {most} steps")
    for definition in indexes.INDEXES:
        _merge(store, definition.name, most)
    store.write(lambda connection: building.forget_deletions(connection, 2**62))
    hints = []
    if not _written_anew(store):
        hints.append(
            "The disk has no room to write the file anew: free pages were given back; free"
            f" {_bytes(store):,} bytes and purge again."
        )
    with store.database.exclusive() as connection:
        if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
            hints.append("A reader kept the WAL from being emptied: purge again when it is done.")
    copying.sweep(path.parent)
    for copy in copying.left_behind(path.parent):
        hints.append(f"{copy.name}, a copy, is being written: purge again when it is done.")
    complete = not hints
    found = path.parent.glob(f"{glob.escape(path.name)}.before-repair-*")
    copies = tuple(sorted(map(str, found)))
    if copies:
        hints.append("Backups made before a repair are left: delete those that are not needed.")
    return Purged(before, _bytes(store), complete, " ".join(hints) or None, copies)


def _merge(store: HistoryFile, name: str, most: int) -> None:
    """Merge an index's segments into one, in smaller steps where the disk is full."""
    pages = _MERGE_PAGES
    for _ in range(most):
        try:
            if store.write(partial(_merge_all, name=name, pages=pages)):
                return
        except StorageUnavailable as error:
            if pages <= _FEWEST_PAGES or not is_full(error):
                raise
            pages //= 10
    raise StorageUnavailable(f"{name} was not merged within {most} steps")


def _written_anew(store: HistoryFile) -> bool:
    """Write the file anew; where there is no room for it, give all free pages back."""
    for has_room in (False, True):
        try:
            store.database.vacuum()
            return True
        except StorageUnavailable as error:
            if not is_full(error):
                raise
        if not has_room and not store.database.make_room():
            break
    left = None
    while left is None or left > 0:
        with store.database.exclusive() as connection:
            connection.execute(f"PRAGMA incremental_vacuum({_FEWEST_PAGES})").fetchall()
            before, left = left, int(connection.one("PRAGMA freelist_count"))
        if left == before or not store.database.make_room():
            break
    return False


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


def _merge_all(connection: Connection, name: str, pages: int) -> bool:
    state = indexes.load_states(connection).get(name)
    if state is None or state.state == "detached":
        return True
    return building.merge_step(connection, name, -pages).done
