# SPDX-License-Identifier: MIT
"""Writing: sessions and their lineage, append, amend, and the states of messages.

Every function runs inside a write transaction that the caller holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from reprlib import repr as shown
from typing import Any, Final

from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.history import labels
from mnemogram.history.models import (
    ROLES,
    STATES,
    AppendResult,
    Message,
    Session,
)
from mnemogram.history.schema import BEFORE_ALL, HIDDEN_SOURCES, UNATTENDED_SOURCES, title_key
from mnemogram.moments import to_microseconds
from mnemogram.sqlite.database import Connection
from mnemogram.values import MOST_DEPTH, depth_of, parsed, storable

__all__ = [
    "SNAPSHOT",
    "Added",
    "Prepared",
    "add",
    "amend",
    "append",
    "end_if_open",
    "end_session",
    "link_parent",
    "prepare",
    "session_row",
    "set_state",
    "set_states",
    "tag",
    "upsert_session",
]

#: Characters of a tool result that the word indexes see.
TOOL_INDEX_CHARS: Final = 8_192
#: Provenance of messages that were imported as another store showed them.
SNAPSHOT: Final = "legacy_snapshot"
_DERIVED: Final = "auto:"
#: Begins the keys, in ``meta``, of deleted sessions that have begun anew.
_REVIVED: Final = "revived:"
_NO_SUBSTRINGS: Final = frozenset((*HIDDEN_SOURCES, *UNATTENDED_SOURCES))

_INSERT: Final = """
INSERT INTO messages (session_id, role, timestamp, substring, index_bytes, uid, provenance,
                      tool_call_id, tool_name, tool_status, tool_calls, content)
VALUES (:session_id, :role, :timestamp, :substring, :index_bytes, :uid, :provenance,
        :tool_call_id, :tool_name, :tool_status, :tool_calls, :content)
RETURNING id
"""
_KNOWN: Final = "SELECT id FROM messages WHERE session_id = ? AND uid = ?"


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
            inner = parsed(value)
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


def _finite(value: Any) -> Any:
    """Return a JSON value with text in place of the floats that are no JSON numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {_finite(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value


def _tool_calls(value: Any, notes: list[str]) -> str | None:
    if value is None or (isinstance(value, (list, tuple, dict)) and not value):
        return None
    if isinstance(value, str):
        try:
            value = parsed(value)
        except ValueError:
            return _text(value, "tool_calls", notes)  # kept as it is: evidence
    try:
        if depth_of(value) > MOST_DEPTH:
            raise ValueError(f"nested deeper than {MOST_DEPTH} levels; pass it as text")
        plain = _finite(value)
        if plain != value:
            notes.append("tool_calls: NaN and infinity, which are not JSON, were stored as text")
        text = json.dumps(
            _real_characters(plain), ensure_ascii=False, separators=(", ", ": "), allow_nan=False
        )
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


def _row(
    message: Message, position: int, now: int, notes: list[str], turn: str | None
) -> dict[str, Any]:
    if not isinstance(message, Message):
        raise InvalidArgument(
            f"message {position} is a {type(message).__name__}",
            hint="Append mnemogram.Message values.",
        )
    if message.role not in ROLES:
        raise InvalidArgument(
            f"message {position}: role must be one of {', '.join(ROLES)},"
            f" not {shown(message.role)}",
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
        "metadata": labels.checked_metadata(message.metadata, f"{where} metadata"),
    }
    uid = _optional(message.uid, f"{where} uid", notes)
    if uid == "":
        raise InvalidArgument(f"{where}: uid is empty", hint="Leave it out, or pass your own id.")
    if uid is None:
        uid = _derived_uid(position, row, moment) if turn is None else f"{turn}/{position}"
        row["anonymous"] = turn is None and moment is None
    else:
        row["anonymous"] = False
    row["uid"] = row["given_uid"] = uid
    row["moment"] = moment
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
        tags=labels.checked_tags(session.tags),
        metadata=_copied(labels.checked_metadata(session.metadata)),
    )


def _copied(text: str | None) -> dict[str, Any] | None:
    return None if text is None else labels.metadata_of(text)


def _label(connection: Connection, row_id: int, session: Session) -> None:
    """Store the tags and the metadata that a host gives for a session, if it gives any."""
    if session.tags is not None:
        labels.set_tags(connection, row_id, session.tags)
    metadata = labels.checked_metadata(session.metadata)
    if metadata is not None:
        labels.set_metadata(connection, row_id, metadata)


def session_row(connection: Connection, key: str) -> int | None:
    """Return the store's id of the session that the host calls ``key``."""
    found = connection.one("SELECT id FROM sessions WHERE key = ?", (key,))
    return None if found is None else int(found)


def deleted_at(connection: Connection, key: str) -> int | None:
    """Return when the session was deleted on purpose, or None."""
    found = connection.one("SELECT deleted_at FROM tombstones WHERE key = ?", (key,))
    return None if found is None else int(found)


def is_revived(connection: Connection, key: str) -> bool:
    """Whether a session that was deleted has begun anew."""
    return connection.one("SELECT 1 FROM meta WHERE key = ?", (_REVIVED + key,)) is not None


def revive(connection: Connection, key: str) -> None:
    """Let a session that was deleted begin anew; what was deleted stays refused."""
    connection.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, '1')", (_REVIVED + key,)
    )


def forget_revival(connection: Connection, key: str) -> None:
    """Note that a session was deleted again."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_REVIVED + key,))


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
        _label(connection, row_id, session)
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
    _label(connection, row_id, session)
    return row_id, source


def tag(
    connection: Connection, session: str, add: Sequence[str], remove: Sequence[str]
) -> tuple[str, ...]:
    """Give a session tags and take others off it; return those that it has then.

    Raises:
        NotFound: no such session.
        InvalidArgument: it would have too many.
    """
    row_id = session_row(connection, session)
    if row_id is None:
        raise NotFound(f"no session {session!r}")
    gone = set(map(labels.tag_key, remove))
    known, _ = labels.of_session(connection, row_id)
    left = [each for each in known if labels.tag_key(each) not in gone]
    tags = labels.checked_tags([*left, *add]) or ()
    labels.set_tags(connection, row_id, tags)
    return tags


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


def prepare(
    session: Session | str, messages: Iterable[Message], turn: str | None = None
) -> Prepared:
    """Check what is to be appended, before any lock is taken.

    Args:
        turn: names the messages that bring no uid, together with their places.

    Raises:
        InvalidArgument: a value is of the wrong kind.
    """
    notes: list[str] = []
    now = time.time_ns() // 1_000
    checked = _checked_session(session, notes)
    turn = _optional(turn, "turn", notes)
    if turn == "":
        raise InvalidArgument("turn is empty", hint="Leave it out, or pass your own id of it.")
    rows = tuple(_row(message, place, now, notes, turn) for place, message in enumerate(messages))
    return Prepared(checked, rows, tuple(notes), now)


@dataclass(slots=True)
class Added:
    """What became of the rows of a call."""

    notes: list[str]
    ids: list[int | None] = field(default_factory=list)
    inserted: int = 0
    changed: int = 0
    amended: int = 0
    refused: int = 0


def append(connection: Connection, prepared: Prepared) -> AppendResult:
    """Store messages that are not there yet, all or none."""
    done = add(connection, prepared, None)
    repeated = len(prepared.rows) - done.inserted - done.refused
    return AppendResult(
        done.inserted, repeated, done.refused, tuple(done.ids), tuple(done.notes), done.changed
    )


def add(
    connection: Connection,
    prepared: Prepared,
    corrects: Callable[[str, str], bool] | None,
) -> Added:
    """Store the rows that are not there yet.

    Args:
        corrects: tells from the stored text and another one, that came under the same
            uid, whether the other is to take its place; nothing does by default.
    """
    done = Added(list(prepared.notes))
    key = prepared.session.id
    rows = prepared.rows
    accepted = _accepted(connection, key, rows, done.notes)
    if accepted is not None and not any(accepted):
        done.refused, done.ids = len(rows), [None] * len(rows)
        return done
    known = [
        row["timestamp"]
        for place, row in enumerate(rows)
        if not row["untimed"] and (accepted is None or accepted[place])
    ]
    row_id, source = upsert_session(
        connection, prepared.session, min(known, default=None), prepared.now, done.notes
    )
    _place_untimed(connection, row_id, rows)
    _tell_apart(connection, row_id, rows)
    times: list[int] = []
    searchable = source not in _NO_SUBSTRINGS
    for position, row in enumerate(rows):
        if accepted is not None and not accepted[position]:
            done.refused += 1
            done.ids.append(None)
            continue
        row["session_id"] = row_id
        row["substring"] = int(searchable and row["role"] != "tool")
        # Asked first: an insert that meets a conflict uses up an id all the same.
        if connection.one(_KNOWN, (row_id, row["uid"])) is None:
            new = connection.one(_INSERT, row)
            done.inserted += 1
            if row["untimed"]:
                connection.execute("INSERT INTO untimed (id) VALUES (?)", (new,))
            else:
                times.append(row["timestamp"])
            if row["metadata"] is not None:
                labels.set_message(connection, int(new), row["metadata"])
        else:
            new = _repeated(connection, position, row, corrects, done)
        done.ids.append(int(new))
    if done.inserted:
        connection.execute(
            "UPDATE sessions SET message_count = message_count + ? WHERE id = ?",
            (done.inserted, row_id),
        )
    if times:
        _note_times(connection, row_id, min(times), max(times))
    return done


def _accepted(
    connection: Connection, key: str, rows: Sequence[dict[str, Any]], notes: list[str]
) -> list[bool] | None:
    """Return which rows a session takes that was deleted; None for one that was not.

    What is known to be said after the deletion begins the session anew. From then on only
    what is known to be older, or is a copy of unknown age, is refused.
    """
    deleted = deleted_at(connection, key)
    if deleted is None:
        return None
    revived = is_revived(connection, key)
    if not rows and revived:
        return None
    accepted = [
        row["moment"] > deleted
        if row["moment"] is not None
        else revived and row["provenance"] != SNAPSHOT
        for row in rows
    ]
    if not all(accepted) or not rows:
        notes.append(
            "session: it was deleted and takes no messages from before; those with a timestamp"
            " after the deletion, or revive_session, begin it anew"
        )
    if any(accepted) and not revived:
        revive(connection, key)
    return accepted


_VARIANTS: Final = """
SELECT id, uid FROM messages
 WHERE session_id = :session AND (uid = :uid OR (uid >= :uid || '#' AND uid < :uid || '$'))
 ORDER BY id DESC
"""


def _tell_apart(connection: Connection, session: int, rows: Sequence[dict[str, Any]]) -> None:
    """Give messages that bring neither uid nor time, and equal older ones, uids of their own.

    Such messages are a repeat where they are the session's last ones, as when a call is made
    again, or its first ones (two or more), as when a list is appended from its beginning.
    Otherwise somebody has said the same again.
    """
    for row in rows:
        row["uid"] = row["given_uid"]
    if not rows or not all(row["anonymous"] for row in rows):
        return
    variants: list[list[tuple[int, str]]] = []
    for row in rows:
        values = {"session": session, "uid": row["uid"]}
        known = [(int(each[0]), str(each[1])) for each in connection.execute(_VARIANTS, values)]
        if not known:
            return  # a list that has grown, or new words
        variants.append(known)
    edge = "SELECT {}(id) FROM messages WHERE session_id = ?"
    if variants[-1][0][0] == connection.one(edge.format("max"), (session,)):
        for row, known in zip(rows, variants, strict=True):
            row["uid"] = known[0][1]
    elif len(rows) < 2 or variants[0][-1][0] != connection.one(edge.format("min"), (session,)):
        for row, known in zip(rows, variants, strict=True):
            row["uid"] = f"{row['given_uid']}#{len(known) + 1}"


def _repeated(
    connection: Connection,
    position: int,
    row: dict[str, Any],
    corrects: Callable[[str, str], bool] | None,
    done: Added,
) -> int:
    """Look at a message whose uid is there already; return the store's id of it."""
    found = next(
        connection.execute(
            "SELECT id, content = :content AND (:tool_calls IS NULL OR tool_calls IS :tool_calls)"
            " AND (:tool_status IS NULL OR tool_status IS :tool_status)"
            " FROM messages WHERE session_id = :session_id AND uid = :uid",
            row,
        )
    )
    row_id, same = int(found[0]), bool(found[1])
    told = row["metadata"]
    relabelled = told is not None and labels.metadata_of(told) != labels.message_metadata(
        connection, row_id
    )
    if row["anonymous"]:
        done.notes.append(
            f"message {position}: the same text at the same place was there already and"
            " counts as a repeat; give uids or timestamps to store it again"
        )
    if same and not relabelled:
        return row_id
    if corrects is None:
        done.changed += 1
        done.notes.append(
            f"message {position}: its uid was there already with other"
            f" {'metadata' if same else 'text'}, which stays;"
            " amend corrects it"
        )
        return row_id
    stored = str(connection.one("SELECT content FROM messages WHERE id = ?", (row_id,)))
    if corrects(stored, row["content"]):
        _set_text(connection, row_id, row)
        if relabelled:
            labels.set_message(connection, row_id, told)
        done.amended += 1
    else:
        done.changed += 1
    return row_id


def _set_text(connection: Connection, row_id: int, values: dict[str, Any]) -> None:
    connection.execute(
        "UPDATE messages SET content = :content, index_bytes = :index_bytes,"
        " tool_calls = coalesce(:tool_calls, tool_calls),"
        " tool_status = coalesce(:tool_status, tool_status) WHERE id = :id",
        {**values, "id": row_id},
    )


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
    metadata: Mapping[str, Any] | None = None,
) -> tuple[str, ...]:
    """Correct a stored message; what is None stays as it is.

    Returns:
        Notes on texts that had to be changed to be storable.

    Raises:
        NotFound: no such session or message.
    """
    notes: list[str] = []
    told = labels.checked_metadata(metadata)
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
    values = {
        "content": text,
        "index_bytes": head,
        "tool_calls": _tool_calls(tool_calls, notes),
        "tool_status": _optional(tool_status, "tool_status", notes),
    }
    _set_text(connection, int(row_id), values)
    if told is not None:
        labels.set_message(connection, int(row_id), told)
    return tuple(notes)


# --- states ----------------------------------------------------------------------------


def set_states(connection: Connection, session: str, states: Mapping[str, str]) -> dict[str, int]:
    """Set the states of messages by their uids; return how many changed to each.

    Raises:
        InvalidArgument: there is no such state.
    """
    unknown = set(states.values()).difference(STATES)
    if unknown:
        raise InvalidArgument(
            f"unknown states: {', '.join(sorted(map(repr, unknown)))}",
            hint=f"They are {', '.join(STATES)}.",
        )
    changed: dict[str, int] = {}
    if session_row(connection, session) is not None:
        for state in STATES[1:]:
            uids = [uid for uid, each in states.items() if each == state]
            changed[state] = set_state(connection, session, uids, state)
    return changed


def end_if_open(connection: Connection, session: str, reason: str) -> None:
    """Note why a session ended, unless that is known."""
    connection.execute(
        "UPDATE sessions SET end_reason = coalesce(end_reason, ?) WHERE key = ?",
        (str(reason), session),
    )


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


def set_state_of(connection: Connection, ids: Iterable[int], state: str) -> None:
    """Move messages to a state by the store's ids of them; a rewound one stays rewound."""
    connection.executemany(
        "UPDATE messages SET state = ? WHERE id = ? AND state NOT IN ('rewound', ?)",
        [(state, each, state) for each in ids],
    )


def end_session(connection: Connection, session: str, reason: str) -> None:
    """Note why a session ended.

    Raises:
        NotFound: no such session.
    """
    connection.execute("UPDATE sessions SET end_reason = ? WHERE key = ?", (reason, session))
    if not connection.changes():
        raise NotFound(f"no session {session!r}")
