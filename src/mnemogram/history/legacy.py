# SPDX-License-Identifier: MIT
"""Taking over the conversations of a host's older store, a page at a time.

The cursor and the done mark live in the user's own file and commit with the messages
they speak of, so that an interrupted import goes on where it stopped, and a finished
one never asks the source again. A record that cannot be stored is set aside with the
reason; the rest go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from mnemogram.errors import InvalidArgument, StorageUnavailable
from mnemogram.history import writing
from mnemogram.history.file import HistoryFile
from mnemogram.history.index import state as indexes
from mnemogram.history.models import Message, Session, State
from mnemogram.history.upkeep.maintain import Maintained
from mnemogram.sqlite.database import Connection
from mnemogram.values import Value, storable

__all__ = ["LegacyRecord", "LegacySource", "SetAside", "import_page", "is_done", "set_aside"]

#: Records asked for at a time.
PAGE: Final = 20
#: What a record can do wrong by itself; anything else is the store's trouble.
_UNUSABLE: Final = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class LegacyRecord:
    """One record of an older store: a conversation, a piece of it, or one message.

    Attributes:
        cursor: the record's place; the source is asked for what comes after it. It is
            also the record's name in reports, and is never shown to a model.
        session: the conversation it belongs to.
        messages: its messages in order. Give uids, so that a record that is changed in
            the source, or imported again, does not come twice. A message without a
            timestamp claims none.
        end_reason: why the conversation ended, as for ``History.end_session``.
        states: by uid, the state of messages that are not ``active``: ``compacted`` for
            what has left the model's context, ``rewound`` for what was undone. They may
            have come with an earlier record.
        problem: why the record cannot be read; it is then set aside.

    A record with neither session nor problem holds nothing to import.
    """

    cursor: str
    session: Session | str | None = None
    messages: Sequence[Message] = ()
    end_reason: str | None = None
    states: Mapping[str, State] = field(default_factory=dict)
    problem: str | None = None


@runtime_checkable
class LegacySource(Protocol):
    """An older store of the host's."""

    def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
        """Return the next records of a user, in an order that never changes.

        Args:
            user_id: the host's id of the user.
            after: cursor of the last record that was taken over; None to begin.
            limit: most records to return.

        Returns:
            Records; an empty list where there are no more.
        """


@dataclass(frozen=True, slots=True)
class SetAside(Value):
    """A record that could not be imported.

    Attributes:
        record: its cursor.
        reason: why.
    """

    record: str
    reason: str


def is_done(connection: Connection) -> bool:
    """Whether an import has run to its end in this file."""
    return bool(connection.one("SELECT value = '1' FROM meta WHERE key = 'legacy_done'"))


def set_aside(connection: Connection) -> tuple[SetAside, ...]:
    """Return the records that could not be imported."""
    rows = connection.execute("SELECT record, reason FROM legacy_set_aside ORDER BY id")
    return tuple(SetAside(str(record), str(reason)) for record, reason in rows)


def begin(store: HistoryFile) -> None:
    """Note that there is an import to do, so that answers say what is still missing."""
    with store.database.read() as connection:
        known = connection.one("SELECT 1 FROM meta WHERE key = 'legacy_done'")
    if known is None:
        store.write(
            lambda connection: connection.execute(
                "INSERT OR IGNORE INTO meta (key, value) VALUES ('legacy_done', '0')"
            )
        )


def import_page(
    store: HistoryFile,
    source: LegacySource,
    user_id: str,
    *,
    limit: int,
    redacted: Callable[[Message], Message],
) -> Maintained | None:
    """Take over the next page; None where the import is done.

    Args:
        limit: most records; a source may ask for other pages by its ``page_size``.
        redacted: takes secrets out of a message before it is stored.

    Raises:
        StorageUnavailable: the source failed, or did not keep its promises; nothing of
            the page was stored.
    """
    started = time.monotonic()
    with store.database.read() as connection:
        if is_done(connection):
            return None
        after = connection.one("SELECT value FROM meta WHERE key = 'legacy_cursor'")
    limit = min(limit, int(getattr(source, "page_size", PAGE)))
    # Outside of any transaction: the source may be a server far away.
    try:
        records = list(source.page(user_id, after, limit))
    except Exception as error:
        raise StorageUnavailable(
            f"the legacy source failed: {type(error).__name__}: {error}",
            hint="The import goes on from the same place at the next maintenance.",
        ) from error
    _check_page(records, after, limit)
    imported, refused = store.write(
        lambda connection: _take_over(connection, records, after, redacted)
    )
    words = "imported" if records else "finished the import"
    if refused:
        words += f", set {refused} records aside"
    return Maintained("legacy", imported, time.monotonic() - started, bool(records), words)


def _check_page(records: list[Any], after: str | None, limit: int) -> None:
    hint = "Fix the source's page(): it must return LegacyRecord values after the cursor."
    if len(records) > limit:
        raise StorageUnavailable(f"the legacy source gave {len(records)} records", hint=hint)
    seen = {after}
    for record in records:
        if not isinstance(record, LegacyRecord) or not _is_text(record.cursor):
            raise StorageUnavailable("the legacy source gave something else", hint=hint)
        if record.cursor in seen:
            raise StorageUnavailable(
                f"the legacy source gave cursor {record.cursor!r} twice", hint=hint
            )
        seen.add(record.cursor)


def _is_text(cursor: object) -> bool:
    return isinstance(cursor, str) and cursor == storable(cursor)


def _take_over(
    connection: Connection,
    records: list[LegacyRecord],
    after: str | None,
    redacted: Callable[[Message], Message],
) -> tuple[int, int]:
    """Store a page with its cursor; returns messages stored and records set aside."""
    now = connection.one("SELECT value FROM meta WHERE key = 'legacy_cursor'")
    if now != after or is_done(connection):
        return 0, 0  # another process has taken this page over
    imported = aside = 0
    for record in records:
        connection.execute("SAVEPOINT record")
        try:
            imported += _store(connection, record, redacted)
        except _UNUSABLE as error:
            connection.execute("ROLLBACK TO record")
            connection.execute(
                "INSERT OR IGNORE INTO legacy_set_aside (record, reason) VALUES (?, ?)",
                (record.cursor, storable(str(error) or type(error).__name__)),
            )
            aside += 1
        connection.execute("RELEASE record")
    values = {"legacy_done": "1"} if not records else {"legacy_cursor": records[-1].cursor}
    stored = connection.one("SELECT value FROM meta WHERE key = 'legacy_imported'")
    total = indexes.number(stored)
    values["legacy_imported"] = str(total + imported)
    connection.executemany(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", list(values.items())
    )
    return imported, aside


def _store(
    connection: Connection, record: LegacyRecord, redacted: Callable[[Message], Message]
) -> int:
    if record.problem is not None:
        raise InvalidArgument(record.problem)
    if record.session is None:
        if record.messages:
            raise InvalidArgument("the record names no session")
        return 0
    prepared = writing.prepare(
        record.session, (redacted(_as_snapshot(each)) for each in record.messages)
    )
    result = writing.append(connection, prepared)
    writing.set_states(connection, prepared.session.id, record.states)
    if record.end_reason is not None and not result.refused:
        writing.end_if_open(connection, prepared.session.id, record.end_reason)
    return result.inserted


def _as_snapshot(message: Any) -> Message:
    if not isinstance(message, Message):
        raise InvalidArgument(f"a message is a {type(message).__name__}")
    return Message(
        message.role,
        message.content,
        uid=message.uid,
        timestamp=message.timestamp,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        tool_name=message.tool_name,
        tool_status=message.tool_status,
        provenance=writing.SNAPSHOT,
    )
