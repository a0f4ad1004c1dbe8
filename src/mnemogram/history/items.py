# SPDX-License-Identifier: MIT
"""What a host's SDK keeps of a session: its own items, as they came, beside the messages.

A session of an SDK is a list that it replays to the model: reasoning, ids of the provider,
what a compaction left. None of that is evidence, and all of it has to come back byte for
byte. So the items lie in a table of their own, each with the uids of the messages that it
became, and change together with them.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mnemogram.errors import SessionDeleted
from mnemogram.history import writing
from mnemogram.sqlite.database import Connection
from mnemogram.values import storable

__all__ = ["Item", "add", "clear", "pop", "read"]

_LIVE: Final = """
SELECT i.id, i.uids, i.item FROM session_items AS i JOIN sessions AS s ON s.id = i.session_id
 WHERE s.key = ? AND NOT i.cleared ORDER BY i.id DESC LIMIT ?
"""
_INSERT: Final = """
INSERT INTO session_items (session_id, uids, item) SELECT id, ?, ? FROM sessions WHERE key = ?
"""
_DIFFERS: Final = """
SELECT 1 FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
 WHERE s.key = ? AND m.uid = ? AND m.content <> ?
"""
_CLEARED: Final = """
SELECT i.session_id, i.uids FROM session_items AS i JOIN sessions AS s ON s.id = i.session_id
 WHERE s.key = ? AND i.cleared ORDER BY i.id
"""
_FORGET: Final = """
DELETE FROM session_items
 WHERE cleared AND session_id = (SELECT id FROM sessions WHERE key = ?)
"""
_SAID: Final = """
SELECT role, content, tool_calls, tool_call_id FROM messages
 WHERE session_id = ? AND uid = ? AND state = 'compacted'
"""


@dataclass(frozen=True, slots=True)
class Item:
    """An item on its way into a session.

    Attributes:
        text: its JSON.
        messages: what it says, prepared and with uids.
        stored: messages that are there already, each uid with the content it should have.
    """

    text: str
    messages: writing.Prepared
    stored: tuple[tuple[str, str], ...] = ()


def add(
    connection: Connection, session: str, items: Sequence[Item], *, again: bool = False
) -> None:
    """Add items at the end of a session, and their messages to the history.

    Args:
        session: its id; made where it is new.
        items: in order.
        again: they may be what was just cleared, as a compaction puts it back: then their
            messages are those that are there, and in the context again.

    Raises:
        SessionDeleted: the session takes nothing any more.
    """
    if writing.deleted_at(connection, session) is not None and not writing.is_revived(
        connection, session
    ):
        raise SessionDeleted(
            f"session {session!r} was deleted and takes no messages",
            hint="Go on in a new session, or call revive_session().",
        )
    back = _cleared(connection, session) if again else {}
    for item in items:
        uids = _taken(back, item)
        if uids:
            writing.set_state(connection, session, uids, "active")
        else:
            writing.append(connection, item.messages)
            for uid, content in item.stored:
                if connection.one(_DIFFERS, (session, uid, storable(content))):
                    writing.amend(connection, session, uid, content=content)
            uids = [uid for uid, _ in item.stored]
            uids += [str(row["uid"]) for row in item.messages.rows]
        connection.execute(_INSERT, (json.dumps(uids), item.text, session))
    connection.execute(_FORGET, (session,))


def read(connection: Connection, session: str, limit: int | None = None) -> list[str]:
    """Return a session's items in order, the last ``limit`` of them where it is not negative."""
    most = -1 if limit is None else limit
    rows = list(connection.execute(_LIVE, (session, most)))
    return [str(item) for _, _, item in reversed(rows)]


def pop(connection: Connection, session: str) -> str | None:
    """Take the last item away, and hide what it said; None where there is none."""
    for row_id, uids, item in list(connection.execute(_LIVE, (session, 1))):
        connection.execute("DELETE FROM session_items WHERE id = ?", (row_id,))
        writing.set_state(connection, session, json.loads(uids), "rewound")
        return str(item)
    return None


def clear(connection: Connection, session: str) -> None:
    """Empty a session. What it said has left the model's context, and stays evidence."""
    connection.execute(_FORGET, (session,))
    for row_id, uids, _ in list(connection.execute(_LIVE, (session, -1))):
        writing.set_state(connection, session, json.loads(uids), "compacted")
        connection.execute("UPDATE session_items SET cleared = 1 WHERE id = ?", (row_id,))


_Said = tuple[tuple[object, ...], ...]


def _cleared(connection: Connection, session: str) -> dict[_Said, deque[list[str]]]:
    """Return what was cleared last: the uids of items by what they say, the oldest first."""
    found: dict[_Said, deque[list[str]]] = defaultdict(deque)
    for row_id, text in list(connection.execute(_CLEARED, (session,))):
        uids = json.loads(text)
        said = tuple(tuple(row) for uid in uids for row in connection.execute(_SAID, (row_id, uid)))
        if uids and len(said) == len(uids):
            found[said].append(uids)
    return found


def _taken(back: dict[_Said, deque[list[str]]], item: Item) -> list[str]:
    names = ("role", "content", "tool_calls", "tool_call_id")
    said = tuple(tuple(row[name] for name in names) for row in item.messages.rows)
    waiting = back.get(said) if said else None
    return waiting.popleft() if waiting else []
