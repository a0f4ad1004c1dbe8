# SPDX-License-Identifier: MIT
"""Writing: sessions and their lineage, append, amend, and the states of messages.

Every function runs inside a write transaction that the caller holds.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.history.models import ROLES, AppendResult, Message, Session
from mnemogram.history.schema import BEFORE_ALL, HIDDEN_SOURCES, UNATTENDED_SOURCES, title_key
from mnemogram.moments import to_microseconds
from mnemogram.sqlite.database import Connection
from mnemogram.values import storable

__all__ = [
    "SNAPSHOT",
    "Prepared",
    "amend",
    "append",
    "end_session",
    "prepare",
    "set_state",
    "upsert_session",
]

#: Characters of a tool result that the word indexes see.
TOOL_INDEX_CHARS: Final = 8_192
#: Provenance of messages that were imported as another store showed them.
SNAPSHOT: Final = "legacy_snapshot"
_DERIVED: Final = "auto:"
_NO_SUBSTRINGS: Final = frozenset((*HIDDEN_SOURCES, *UNATTENDED_SOURCES))

_INSERT: Final = """
INSERT INTO messages (session_id, role, timestamp, substring, index_bytes, uid, provenance,
                      tool_call_id, tool_name, tool_status, tool_calls, content)
VALUES (:session_id, :role, :timestamp, :substring, :index_bytes, :uid, :provenance,
        :tool_call_id, :tool_name, :tool_status, :tool_calls, :content)
ON CONFLICT (session_id, uid) DO NOTHING
RETURNING id
"""


# --- values ----------------------------------------------------------------------------


def _text(value: Any, name: str, notes: list[str]) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(
            f"{name} must be a string, not {type(value).__name__}",
            hint=f"Convert {name} to text before appending.",
        )
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        notes.append(f"{name}: lone surrogates were stored as U+FFFD")
        return storable(value)
    return value


def _optional(value: Any, name: str, notes: list[str]) -> str | None:
    return None if value is None else _text(value, name, notes)


def _real_characters(value: Any, depth: int = 0) -> Any:
    """Return a JSON value in which JSON kept inside strings has no ``\\u`` escapes.

    Chat-completion APIs send a call's arguments as JSON text inside JSON; escaped
    there, no Chinese city name would ever be found.
    """
    if isinstance(value, str) and "\\u" in value and depth < 4:
        try:
            inner = json.loads(value)
        except ValueError:
            return value
        if isinstance(inner, (dict, list, str)):
            return json.dumps(_real_characters(inner, depth + 1), ensure_ascii=False)
        return value
    if isinstance(value, dict):
        return {key: _real_characters(each, depth) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_real_characters(each, depth) for each in value]
    return value


def _tool_calls(value: Any, notes: list[str]) -> str | None:
    if value is None or (isinstance(value, (list, tuple, dict)) and not value):
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return _text(value, "tool_calls", notes)  # kept as it is: evidence
    try:
        text = json.dumps(_real_characters(value), ensure_ascii=False, separators=(", ", ": "))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"tool_calls cannot be written as JSON: {error}",
            hint="Pass dictionaries, lists, strings, numbers, booleans and None only.",
        ) from error
    return _text(text, "tool_calls", notes)


def _derived_uid(position: int, row: dict[str, Any], timestamp: int | None) -> str:
    parts = (
        str(position),
        row["role"],
        row["content"],
        row["tool_calls"] or "",
        row["tool_call_id"] or "",
        "" if timestamp is None else str(timestamp),
    )
    digest = hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode())
    return f"{_DERIVED}{digest.hexdigest()[:20]}"


def _row(message: Message, position: int, now: int, notes: list[str]) -> dict[str, Any]:
    if not isinstance(message, Message):
        raise InvalidArgument(
            f"message {position} is a {type(message).__name__}",
            hint="Append mnemogram.Message values.",
        )
    if message.role not in ROLES:
        raise InvalidArgument(
            f"message {position}: role must be one of {', '.join(ROLES)}, not {message.role!r}",
            hint="System prompts are not history; leave them out.",
        )
    where = f"message {position}"
    content = "" if message.content is None else _text(message.content, f"{where} content", notes)
    stamp = message.timestamp
    moment = None if stamp is None else to_microseconds(stamp, f"{where} timestamp")
    row: dict[str, Any] = {
        "role": message.role,
        "timestamp": now + position if moment is None else moment,
        "untimed": moment is None and message.provenance == SNAPSHOT,
        "index_bytes": _indexed_bytes(message.role, content),
        "provenance": _text(message.provenance, f"{where} provenance", notes),
        "tool_call_id": _optional(message.tool_call_id, f"{where} tool_call_id", notes),
        "tool_name": _optional(message.tool_name, f"{where} tool_name", notes),
        "tool_status": _optional(message.tool_status, f"{where} tool_status", notes),
        "tool_calls": _tool_calls(message.tool_calls, notes),
        "content": content,
    }
    uid = _optional(message.uid, f"{where} uid", notes)
    if uid == "":
        raise InvalidArgument(f"{where}: uid is empty", hint="Leave it out, or pass your own id.")
    row["uid"] = _derived_uid(position, row, moment) if uid is None else uid
    row["anonymous"] = uid is None and moment is None
    return row


def _indexed_bytes(role: str, content: str) -> int | None:
    """Bytes of the content that the word indexes see; None for all of it."""
    if role != "tool" or len(content) <= TOOL_INDEX_CHARS:
        return None
    return len(content[:TOOL_INDEX_CHARS].encode())


# --- sessions and lineage --------------------------------------------------------------


def _checked_session(session: Session | str, notes: list[str]) -> Session:
    if isinstance(session, str):
        session = Session(session)
    if not isinstance(session, Session):
        raise InvalidArgument(
            f"session must be a Session or its id, not {type(session).__name__}",
            hint="Pass mnemogram.Session(id, ...).",
        )
    key = _text(session.id, "session id", notes)
    if not key.strip():
        raise InvalidArgument("session id is blank", hint="Pass your own id of the conversation.")
    source = _text(session.source, "source", notes).strip()
    if not source:
        raise InvalidArgument("source is blank", hint="Leave it out, or name one such as 'chat'.")
    return replace(
        session,
        id=key,
        source=source,
        title=_optional(session.title, "title", notes),
        model=_optional(session.model, "model", notes),
        parent=_optional(session.parent, "parent", notes),
    )


def session_row(connection: Connection, key: str) -> int | None:
    """Return the store's id of the session that the host calls ``key``."""
    found = connection.one("SELECT id FROM sessions WHERE key = ?", (key,))
    return None if found is None else int(found)


def is_tombstoned(connection: Connection, key: str) -> bool:
    """Whether the session was deleted on purpose."""
    return connection.one("SELECT 1 FROM tombstones WHERE key = ?", (key,)) is not None


def upsert_session(
    connection: Connection, session: Session, first: int | None, now: int, notes: list[str]
) -> tuple[int, str]:
    """Create the session, or take over what its host says of it now.

    Args:
        first: time of its first message; None where there is none, or nobody knows.

    Returns:
        The store's id of the session, and its source.
    """
    started = None if session.started_at is None else to_microseconds(session.started_at)
    folded_title = title_key(session.title) or None if session.title else None
    # A session starts with its first message unless its host knows better. Where no time
    # is known at all it is that of the import, so that expiry lets it live its time.
    beginning = next(each for each in (started, first, now) if each is not None)
    activity = next(each for each in (first, started, now) if each is not None)
    known = connection.execute(
        "SELECT id, source, parent_key FROM sessions WHERE key = ?", (session.id,)
    ).fetchone()
    if known is None:
        connection.execute(
            "INSERT INTO sessions (key, source, title, title_key, model, parent_key, root_id,"
            " started_at, last_active_at) VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?)",
            (
                session.id,
                session.source,
                session.title,
                folded_title,
                session.model,
                session.parent,
                beginning,
                activity,
            ),
        )
        row_id, source = connection.last_insert_rowid(), session.source
        connection.execute("UPDATE sessions SET root_id = id WHERE id = ?", (row_id,))
        if started is None and first is None:
            connection.execute("INSERT INTO undated (id) VALUES (?)", (row_id,))
        if session.parent is not None:
            link_parent(connection, row_id, session.parent, notes)
        _adopt_children(connection, row_id, session.id, notes)
        return row_id, source
    row_id, source, parent_key = int(known[0]), str(known[1]), known[2]
    if session.source not in (source, "chat"):
        source = session.source
    if (session.title, session.model, started) != (None, None, None) or source != known[1]:
        connection.execute(
            "UPDATE sessions SET source = ?, title = coalesce(?, title),"
            " title_key = coalesce(?, title_key), model = coalesce(?, model),"
            " started_at = coalesce(?, started_at) WHERE id = ?",
            (source, session.title, folded_title, session.model, started, row_id),
        )
        if started is not None:
            _date(connection, row_id, started)
    if session.parent is not None and session.parent != parent_key:
        link_parent(connection, row_id, session.parent, notes)
        _link_left_out(connection)
    return row_id, source


def _date(connection: Connection, row_id: int, started: int) -> None:
    """Note that a session whose times were those of its import has one of its own now."""
    connection.execute("DELETE FROM undated WHERE id = ?", (row_id,))
    if connection.changes():
        connection.execute("UPDATE sessions SET last_active_at = ? WHERE id = ?", (started, row_id))


_SUBTREE: Final = """
WITH RECURSIVE subtree (id) AS (
    VALUES (:id)
    UNION
    SELECT child.id FROM sessions AS child JOIN subtree ON child.parent_id = subtree.id
)
"""


def link_parent(connection: Connection, row_id: int, parent_key: str, notes: list[str]) -> None:
    """Make a session continue another; a link that would close a circle is left out."""
    parent = connection.execute(
        "SELECT id, root_id FROM sessions WHERE key = ?", (parent_key,)
    ).fetchone()
    parent_id: int | None = None
    root_id = row_id
    if parent is not None:
        circle = connection.one(
            f"{_SUBTREE} SELECT 1 FROM subtree WHERE id = :parent",
            {"id": row_id, "parent": parent[0]},
        )
        if circle is None:
            parent_id, root_id = parent
        else:
            notes.append("parent: the session would become its own ancestor; link left out")
    connection.execute(
        "UPDATE sessions SET parent_key = ?, parent_id = ? WHERE id = ?",
        (parent_key, parent_id, row_id),
    )
    connection.execute(
        f"{_SUBTREE} UPDATE sessions SET root_id = :root WHERE id IN (SELECT id FROM subtree)",
        {"id": row_id, "root": root_id},
    )


def _adopt_children(connection: Connection, row_id: int, key: str, notes: list[str]) -> None:
    """Link the sessions that named this one as their parent before it existed."""
    for (child,) in list(
        connection.execute(
            "SELECT id FROM sessions WHERE parent_key = ? AND parent_id IS NULL AND id <> ?",
            (key, row_id),
        )
    ):
        link_parent(connection, child, key, notes)


def _link_left_out(connection: Connection) -> None:
    """Make the links that a circle forbade, where a move has opened the circle."""
    for child, parent_key in list(
        connection.execute(
            "SELECT child.id, child.parent_key FROM sessions AS child"
            " JOIN sessions AS parent ON parent.key = child.parent_key"
            " WHERE child.parent_key IS NOT NULL AND child.parent_id IS NULL"
        )
    ):
        link_parent(connection, int(child), str(parent_key), [])


def relink_all(connection: Connection) -> None:
    """Set every parent and root anew from what the hosts named."""
    connection.execute("UPDATE sessions SET parent_id = NULL, root_id = id")
    for child, parent_key in list(
        connection.execute(
            "SELECT id, parent_key FROM sessions WHERE parent_key IS NOT NULL ORDER BY id"
        )
    ):
        link_parent(connection, int(child), str(parent_key), [])


# --- messages --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """An append whose values have been checked: all that is left is to store them."""

    session: Session
    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    now: int


def prepare(session: Session | str, messages: Iterable[Message]) -> Prepared:
    """Check what is to be appended, before any lock is taken.

    Raises:
        InvalidArgument: a value is of the wrong kind.
    """
    notes: list[str] = []
    now = time.time_ns() // 1_000
    checked = _checked_session(session, notes)
    rows = tuple(_row(message, place, now, notes) for place, message in enumerate(messages))
    return Prepared(checked, rows, tuple(notes), now)


def append(connection: Connection, prepared: Prepared) -> AppendResult:
    """Store messages that are not there yet, all or none."""
    notes = list(prepared.notes)
    rows = prepared.rows
    if is_tombstoned(connection, prepared.session.id):
        notes.append("session: it was deleted and takes no messages; use a new session id")
        return AppendResult(0, 0, len(rows), (None,) * len(rows), tuple(notes))
    times = [row["timestamp"] for row in rows if not row["untimed"]]
    row_id, source = upsert_session(
        connection, prepared.session, min(times, default=None), prepared.now, notes
    )
    _place_untimed(connection, row_id, rows)
    times = []
    searchable = source not in _NO_SUBSTRINGS
    ids: list[int | None] = []
    inserted = 0
    for position, row in enumerate(rows):
        row["session_id"] = row_id
        row["substring"] = int(searchable and row["role"] != "tool")
        new = connection.one(_INSERT, row)
        if new is not None:
            inserted += 1
            if row["untimed"]:
                connection.execute("INSERT INTO untimed (id) VALUES (?)", (new,))
            else:
                times.append(row["timestamp"])
        else:
            new = connection.one(
                "SELECT id FROM messages WHERE session_id = ? AND uid = ?", (row_id, row["uid"])
            )
            if row["anonymous"]:
                notes.append(
                    f"message {position}: the same text at the same place was there already and"
                    " counts as a repeat; give uids or timestamps to store it again"
                )
        ids.append(int(new))
    if inserted:
        connection.execute(
            "UPDATE sessions SET message_count = message_count + ? WHERE id = ?",
            (inserted, row_id),
        )
    if times:
        _note_times(connection, row_id, min(times), max(times))
    return AppendResult(inserted, len(rows) - inserted, 0, tuple(ids), tuple(notes))


def _place_untimed(connection: Connection, session: int, rows: Sequence[dict[str, Any]]) -> None:
    """Let messages without a time stand where they are: after the one before them."""
    if not any(row["untimed"] for row in rows):
        return
    place = connection.one(
        "SELECT timestamp FROM messages WHERE session_id = ? ORDER BY id DESC LIMIT 1", (session,)
    )
    if place is None:
        place = next((row["timestamp"] for row in rows if not row["untimed"]), BEFORE_ALL)
    for row in rows:
        if row["untimed"]:
            row["timestamp"] = place
        place = row["timestamp"]


def _note_times(connection: Connection, session: int, first: int, last: int) -> None:
    """Take the times of new messages over into what is known of their session."""
    connection.execute("DELETE FROM undated WHERE id = ?", (session,))
    if connection.changes():
        # What stands there is the time of an import.
        statement = "UPDATE sessions SET started_at = ?, last_active_at = ? WHERE id = ?"
    else:
        statement = (
            "UPDATE sessions SET started_at = min(started_at, ?),"
            " last_active_at = max(last_active_at, ?) WHERE id = ?"
        )
    connection.execute(statement, (first, last, session))


def amend(
    connection: Connection,
    session: str,
    uid: str,
    *,
    content: str | None = None,
    tool_calls: Any = None,
    tool_status: str | None = None,
) -> tuple[str, ...]:
    """Correct a stored message; what is None stays as it is.

    Returns:
        Notes on texts that had to be changed to be storable.

    Raises:
        NotFound: no such session or message.
    """
    notes: list[str] = []
    found = connection.execute(
        "SELECT m.id, m.role, m.content, m.index_bytes FROM messages AS m"
        " JOIN sessions AS s ON s.id = m.session_id WHERE s.key = ? AND m.uid = ?",
        (session, uid),
    ).fetchone()
    if found is None:
        raise NotFound(f"no message {uid!r} in session {session!r}")
    row_id, role, text, head = found
    if content is not None:
        text = _text(content, "content", notes)
        head = _indexed_bytes(role, text)
    connection.execute(
        "UPDATE messages SET content = ?, index_bytes = ?, tool_calls = coalesce(?, tool_calls),"
        " tool_status = coalesce(?, tool_status) WHERE id = ?",
        (
            text,
            head,
            _tool_calls(tool_calls, notes),
            _optional(tool_status, "tool_status", notes),
            row_id,
        ),
    )
    return tuple(notes)


def set_state(connection: Connection, session: str, uids: Sequence[str], state: str) -> int:
    """Move messages to a state; a rewound message stays rewound.

    Returns:
        How many messages changed.

    Raises:
        NotFound: no such session.
    """
    row_id = session_row(connection, session)
    if row_id is None:
        raise NotFound(f"no session {session!r}")
    changed = 0
    for uid in uids:
        connection.execute(
            "UPDATE messages SET state = ? WHERE session_id = ? AND uid = ?"
            " AND state NOT IN ('rewound', ?)",
            (state, row_id, uid, state),
        )
        changed += connection.changes()
    return changed


def end_session(connection: Connection, session: str, reason: str) -> None:
    """Note why a session ended.

    Raises:
        NotFound: no such session.
    """
    connection.execute("UPDATE sessions SET end_reason = ? WHERE key = ?", (reason, session))
    if not connection.changes():
        raise NotFound(f"no session {session!r}")
