# SPDX-License-Identifier: MIT
"""Conversations that other programs hold: brought up to what they are there now.

What is new is appended, what has grown is amended, what was taken back is rewound, and what
one conversation has copied from another is stored once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mnemogram.history import writing
from mnemogram.history.models import Conversation, Message, Updated
from mnemogram.moments import to_microseconds
from mnemogram.sqlite.database import Connection

__all__ = ["PreparedUpdate", "prepare", "update"]


@dataclass(frozen=True, slots=True)
class PreparedUpdate:
    """A conversation whose values have been checked."""

    prepared: writing.Prepared
    conversation: Conversation
    left: frozenset[str]
    newest: int | None


def prepare(conversation: Conversation, redacted: Callable[[Message], Message]) -> PreparedUpdate:
    """Check what another program holds, before any lock is taken.

    Raises:
        InvalidArgument: a value is of the wrong kind.
    """
    messages = (*conversation.messages, *conversation.left)
    prepared = writing.prepare(conversation.session, map(redacted, messages))
    left = frozenset(row["uid"] for row in prepared.rows[len(conversation.messages) :])
    newest = conversation.newest
    moment = None if newest is None else to_microseconds(newest, "newest")
    return PreparedUpdate(prepared, conversation, left, moment)


def update(connection: Connection, wanted: PreparedUpdate) -> Updated:
    """Store a conversation as another program holds it now.

    What is new is stored, what has grown or was corrected is amended, and what was taken
    back is rewound. A conversation without messages is one to link: nothing is done where
    it is not there.
    """
    prepared, about = wanted.prepared, wanted.conversation
    key = prepared.session.id
    existing = writing.session_row(connection, key)
    if existing is None and not prepared.rows:
        return Updated()
    if existing is None and about.made:
        existing = _under_another_name(connection, prepared, about.after)
        if existing is not None:
            key = str(connection.one("SELECT key FROM sessions WHERE id = ?", (existing,)))
            prepared = replace(prepared, session=replace(prepared.session, id=key))
    copied = 0
    follower: int | None = None
    if about.unique:
        prepared, follower = _without_copies(connection, prepared, existing)
        copied = len(wanted.prepared.rows) - len(prepared.rows)
    stored = _stored(connection, existing) if about.live is not None and existing else {}
    older = _is_older(stored, wanted)

    def corrects(old: str, new: str) -> bool:
        return new.startswith(old) or not (older or old.startswith(new))

    done = writing.add(connection, prepared, corrects)
    repeated = len(prepared.rows) - done.inserted - done.refused + copied
    rewound = 0
    if done.refused < len(prepared.rows) or not prepared.rows:
        if follower is not None:
            writing.link_parent(connection, follower, key, done.notes)
        states = {**about.states, **dict.fromkeys(wanted.left, "rewound")}
        if about.live is not None and not older:
            rewound += _take_back(connection, key, stored, wanted, done.inserted > 0)
        counts = writing.set_states(connection, key, states)
        rewound += counts.get("rewound", 0)
        if about.end_reason is not None:
            writing.end_if_open(connection, key, about.end_reason)
    return Updated(
        done.inserted,
        repeated,
        done.amended,
        done.changed,
        rewound,
        done.refused,
        tuple(done.notes),
    )


_MADE: Final = re.compile(r"-[0-9a-f]{20}")
_ALIKE: Final = """
SELECT id FROM sessions WHERE key >= :stem AND key < :stem || 'g' ORDER BY id DESC LIMIT 100
"""


def _under_another_name(
    connection: Connection, prepared: writing.Prepared, after: str | None
) -> int | None:
    """Find a conversation whose id was made of what it held when it was shorter, or longer."""
    key = prepared.session.id
    if _MADE.fullmatch(key[-21:]) is None:
        return None
    uids = [row["uid"] for row in prepared.rows]
    for (found,) in list(connection.execute(_ALIKE, {"stem": key[:-10]})):
        session = int(found)
        if after is not None:
            same = _holds(connection, session, after)
        else:
            same = all(_holds(connection, session, uid) for uid in uids) or _begins(
                connection, session, uids
            )
        if same:
            return session
    return None


def _begins(connection: Connection, session: int, uids: Sequence[str]) -> bool:
    """Whether these messages begin with all that a session holds."""
    stored = [
        str(row[0])
        for row in connection.execute(
            "SELECT uid FROM messages WHERE session_id = ? ORDER BY id LIMIT ?",
            (session, len(uids) + 1),
        )
    ]
    return len(stored) <= len(uids) and set(stored) <= set(uids)


def _stored(connection: Connection, session: int) -> dict[str, tuple[str, int | None]]:
    """Return state and time, where it is known, of each message of a session."""
    rows = connection.execute(
        "SELECT uid, state, iif(id IN (SELECT id FROM untimed), NULL, timestamp)"
        " FROM messages WHERE session_id = ?",
        (session,),
    )
    return {str(uid): (str(state), moment) for uid, state, moment in rows}


def _is_older(stored: dict[str, tuple[str, int | None]], wanted: PreparedUpdate) -> bool:
    """Whether the store knows newer messages of a conversation than its program did."""
    live, gone = wanted.conversation.live or frozenset(), wanted.conversation.gone
    newest = wanted.newest
    if newest is None:
        return False
    return any(
        moment is not None and moment > newest
        for uid, (_, moment) in stored.items()
        if uid not in live and uid not in gone
    )


def _take_back(
    connection: Connection,
    key: str,
    stored: dict[str, tuple[str, int | None]],
    wanted: PreparedUpdate,
    brought_new: bool,
) -> int:
    """Rewind what no longer stands, and bring back what stands again."""
    live, gone = wanted.conversation.live or frozenset(), wanted.conversation.gone
    away, back = [], []
    for uid, (state, moment) in stored.items():
        if uid in live:
            if state == "rewound":
                back.append(uid)
        elif state != "rewound" and (
            uid in gone
            # Without times only a conversation that has gone on is known to be a newer one.
            or brought_new
            or (moment is not None and wanted.newest is not None and moment <= wanted.newest)
        ):
            away.append(uid)
    row_id = writing.session_row(connection, key)
    connection.executemany(
        "UPDATE messages SET state = 'active' WHERE session_id = ? AND uid = ?",
        [(row_id, uid) for uid in back],
    )
    return writing.set_state(connection, key, away, "rewound") if away else 0


_ELSEWHERE: Final = """
SELECT m.session_id FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
 WHERE m.timestamp = ? AND m.uid = ? AND m.session_id IS NOT ? AND s.source NOT IN ('subagent')
 ORDER BY m.session_id DESC LIMIT 1
"""


def _without_copies(
    connection: Connection, prepared: writing.Prepared, existing: int | None
) -> tuple[writing.Prepared, int | None]:
    """Leave out what a conversation has copied from the one it continues, and link the two.

    Returns:
        The rest, and a session that turns out to continue this one.
    """
    session = prepared.session
    follower: int | None = None
    known = None
    if existing is not None:
        known = connection.one("SELECT parent_key FROM sessions WHERE id = ?", (existing,))
    if session.parent is None and known is None:
        origin, follower = _origin(connection, prepared.rows, existing)
        if origin is not None:
            session = replace(session, parent=origin)
    parent = session.parent or known
    if parent is None:
        return replace(prepared, session=session), follower
    chain = _chain(connection, str(parent))
    chain.discard(existing if existing is not None else -1)
    rows = tuple(
        row
        for row in prepared.rows
        if _holds(connection, existing, row["uid"])
        or not any(_holds(connection, each, row["uid"]) for each in chain)
    )
    return replace(prepared, session=session, rows=rows), follower


def _origin(
    connection: Connection, rows: Sequence[dict[str, Any]], existing: int | None
) -> tuple[str | None, int | None]:
    """Find the conversation that begins with the same messages.

    Returns:
        The key of the one that this continues, or the id of the one that continues this.
    """
    timed = [row for row in rows if row["moment"] is not None]

    def elsewhere(row: dict[str, Any]) -> int | None:
        found = connection.one(_ELSEWHERE, (row["moment"], row["uid"], existing))
        return None if found is None else int(found)

    if not timed or elsewhere(timed[0]) is None:
        return None, None
    shared, own = 0, len(timed)  # what is shared stands at the beginning
    while own - shared > 1:
        middle = (shared + own) // 2
        if elsewhere(timed[middle]) is None:
            own = middle
        else:
            shared = middle
    other = elsewhere(timed[shared])
    goes_on = connection.one(
        "SELECT min(timestamp) FROM messages WHERE session_id = ? AND timestamp > ?",
        (other, timed[shared]["moment"]),
    )
    # The first is the one that went on first, or did not go on at all.
    mine = timed[own]["moment"] if own < len(timed) else None
    if goes_on is not None and (mine is None or mine < goes_on):
        taken = connection.one("SELECT parent_key FROM sessions WHERE id = ?", (other,))
        return None, other if taken is None else None
    return str(connection.one("SELECT key FROM sessions WHERE id = ?", (other,))), None


def _chain(connection: Connection, key: str) -> set[int]:
    """Return a session and those that it continues."""
    return {
        int(row[0])
        for row in connection.execute(
            "WITH RECURSIVE chain (id, parent_id) AS (SELECT id, parent_id FROM sessions"
            " WHERE key = ? UNION SELECT s.id, s.parent_id FROM sessions AS s"
            " JOIN chain ON chain.parent_id = s.id) SELECT id FROM chain",
            (key,),
        )
    }


def _holds(connection: Connection, session: int | None, uid: str) -> bool:
    found = connection.one(
        "SELECT 1 FROM messages WHERE session_id = ? AND uid = ?", (session, uid)
    )
    return found is not None
