# SPDX-License-Identifier: MIT
"""Whole histories out and in again, as JSON lines.

The export is a ``header`` line, then the ``tombstone`` lines, then for each session a
``session`` line before its ``message`` lines, all in the order of the store. Importing
it into an empty history gives the same sessions, lineage, messages, states, end reasons
and tombstones; importing it twice, or into a history that holds some of it, adds only
what is missing. docs/storage.md describes the fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.history import labels, writing
from mnemogram.history.models import STATES, Message, Session
from mnemogram.moments import datetime_of, to_microseconds
from mnemogram.sqlite import undecodable
from mnemogram.sqlite.database import Connection
from mnemogram.values import MOST_DEPTH, Value, map_strings, one_line, parsed, storable

__all__ = ["Exported", "Imported", "export_lines", "import_lines"]

FORMAT: Final = "mnemogram"
VERSION: Final = 1
#: Messages that one transaction of an import stores.
_IMPORT_BATCH: Final = 1_000
_TOMBSTONES: Final = "SELECT key, deleted_at FROM tombstones ORDER BY key"
_SESSIONS: Final = f"""
SELECT id, key, source, title, model, parent_key, end_reason, started_at, last_active_at,
       id IN (SELECT id FROM undated), {labels.SESSION_TAGS}, {labels.SESSION_METADATA}
  FROM sessions AS s ORDER BY id
"""
_MESSAGES: Final = f"""
SELECT uid, role, state, timestamp, provenance, tool_call_id, tool_name, tool_status,
       tool_calls, content, id IN (SELECT id FROM untimed), id,
       {labels.MESSAGE_METADATA}
  FROM messages AS m WHERE session_id = ? ORDER BY id
"""


_SESSION_TEXTS: Final = ("key", "source", "title", "model", "parent_key", "end_reason")
_MESSAGE_TEXTS: Final = (
    *("uid", "role", "state", "provenance", "tool_call_id", "tool_name", "tool_status"),
    *("tool_calls", "content"),
)


@dataclass(frozen=True, slots=True)
class Exported(Value):
    """What an export wrote.

    Attributes:
        damaged: sessions and messages with a text that is not UTF-8: it is written with
            U+FFFD, and what it holds escaped under ``damaged``.
    """

    sessions: int
    messages: int
    tombstones: int
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Imported(Value):
    """What an import stored.

    Attributes:
        sessions: sessions in the file.
        inserted, repeated, refused: messages stored, there already, and of sessions
            that were deleted here.
        tombstones: deletions taken over.
        notes: what had to be changed or left out.
    """

    sessions: int
    inserted: int
    repeated: int
    refused: int
    tombstones: int
    notes: tuple[str, ...] = ()


# --- export ----------------------------------------------------------------------------


def export_lines(connection: Connection) -> Iterator[dict[str, Any]]:
    """Yield the records of an export, inside a read transaction of the caller's."""
    yield {"type": "header", "format": FORMAT, "version": VERSION}
    for key, deleted_at in connection.execute(_TOMBSTONES):
        yield {"type": "tombstone", "session": key, "deleted_at": _time(deleted_at)}
    # A cursor of its own for each session: both are stepped at once.
    for row in connection.cursor().execute(_SESSIONS):
        yield _without_none(
            {
                "type": "session",
                "id": row[1],
                "source": row[2],
                "title": row[3],
                "model": row[4],
                "parent": row[5],
                "end_reason": row[6],
                "started_at": None if row[9] else _time(row[7]),
                "last_active_at": None if row[9] else _time(row[8]),
                "tags": list(labels.tags_of(row[10])) or None,
                "metadata": labels.metadata_of(row[11]) or None,
                "damaged": _damaged(connection, "sessions", row[0], row, _SESSION_TEXTS),
            }
        )
        for message in connection.cursor().execute(_MESSAGES, (row[0],)):
            yield _without_none(
                {
                    "type": "message",
                    "session": row[1],
                    "uid": message[0],
                    "role": message[1],
                    "state": message[2],
                    "timestamp": None if message[10] else _time(message[3]),
                    "provenance": message[4],
                    "tool_call_id": message[5],
                    "tool_name": message[6],
                    "tool_status": message[7],
                    "tool_calls": _calls(message[8]),
                    "content": message[9],
                    "metadata": labels.metadata_of(message[12]) or None,
                    "damaged": _damaged(
                        connection, "messages", message[11], message, _MESSAGE_TEXTS
                    ),
                }
            )


def _damaged(
    connection: Connection, table: str, row_id: int, row: Sequence[Any], columns: Sequence[str]
) -> dict[str, str] | None:
    """Return what a row's damaged texts hold, escaped; None where there are none."""
    if not any(isinstance(each, str) and undecodable.REPLACEMENT in each for each in row):
        return None
    found = undecodable.raw_texts(connection, table, row_id, columns)
    return {name: undecodable.escaped(raw) for name, raw in found.items()} or None


def write(lines: Iterable[dict[str, Any]], stream: IO[str]) -> Exported:
    """Write an export's records to a text stream, one JSON object a line."""
    counts = {"session": 0, "message": 0, "tombstone": 0, "header": 0}
    damaged = 0
    for line in lines:
        counts[line["type"]] += 1
        damaged += "damaged" in line
        stream.write(one_line(json.dumps(line, ensure_ascii=False)))
        stream.write("\n")
    return Exported(counts["session"], counts["message"], counts["tombstone"], damaged)


def _time(microseconds: Any) -> str:
    """Return a time to the microsecond: format_time() shows milliseconds."""
    return datetime_of(int(microseconds)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _calls(text: Any) -> Any:
    """Tool calls as JSON where they are, as the host's own text where they are not."""
    if text is None:
        return None
    try:
        calls = parsed(text)
    except ValueError:
        return text
    return calls if isinstance(calls, (dict, list)) else text


def _without_none(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value is not None}


# --- import ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Batch:
    """Records that are stored together."""

    tombstones: list[tuple[str, int]]
    sessions: list[dict[str, Any]]
    messages: dict[str, list[dict[str, Any]]]
    size: int = 0


def import_lines(
    write: Callable[[Callable[[Connection], Any]], Any],
    lines: Iterable[str],
    redacted: Callable[[Message], Message],
) -> Imported:
    """Store what an export holds, as far as it is not there yet.

    Args:
        write: runs work in a write transaction.
        lines: the export, a line at a time.
        redacted: takes secrets out of a message before it is stored.

    Raises:
        InvalidArgument: a line is not of this format; the batches before it are stored.
    """
    totals = {"sessions": 0, "inserted": 0, "repeated": 0, "refused": 0, "tombstones": 0}
    notes: list[str] = []
    known: dict[str, dict[str, Any]] = {}
    batch = _Batch([], [], {})

    def flush() -> None:
        nonlocal batch
        full, batch = batch, _Batch([], [], {})
        for name, count in write(
            lambda connection: _store(connection, full, known, notes, redacted)
        ).items():
            totals[name] += count

    for number, line in enumerate(lines, 1):
        if not isinstance(line, (str, bytes)):
            raise InvalidArgument(
                f"line {number} is a {type(line).__name__}", hint="Pass an open text file."
            )
        if not line.strip():
            continue
        record = _record(line, number)
        kind = record.get("type")
        if kind == "header":
            _check_header(record, number)
        elif kind == "tombstone":
            moment = _moment(record.get("deleted_at"), number)
            batch.tombstones.append((_string(record, "session", number), moment))
            batch.size += 1
        elif kind == "session":
            record["id"] = key = _string(record, "id", number)
            if record.get("end_reason") is not None:
                _string(record, "end_reason", number)
            if record.get("last_active_at") is not None:
                _moment(record["last_active_at"], number)
            known[key] = record
            batch.sessions.append(record)
            batch.size += 1
            totals["sessions"] += 1
        elif kind == "message":
            if record.get("state", "active") not in STATES:
                state = record["state"]
                raise InvalidArgument(f"line {number}: unknown state {state!r}", hint=_HINT)
            key = _string(record, "session", number)
            if record.get("uid") is not None:
                _string(record, "uid", number)
            batch.messages.setdefault(key, []).append(record)
            batch.size += 1
        else:
            raise InvalidArgument(f"line {number}: record of unknown type {kind!r}", hint=_HINT)
        if batch.size >= _IMPORT_BATCH:
            flush()
    flush()
    return Imported(**totals, notes=tuple(dict.fromkeys(notes)))


_HINT: Final = "Give a file that export wrote; other programs' files are for `mnemogram import`."


def _record(line: str, number: int) -> dict[str, Any]:
    try:
        record = parsed(line, most=MOST_DEPTH + 2)
    except ValueError as error:
        raise InvalidArgument(f"line {number}: not JSON: {error}", hint=_HINT) from error
    if not isinstance(record, dict):
        raise InvalidArgument(f"line {number}: not an object", hint=_HINT)
    if not line.isascii() or "\\u" in line:
        record = map_strings(record, storable)
    return dict(record)


def _check_header(record: dict[str, Any], number: int) -> None:
    if record.get("format") != FORMAT:
        raise InvalidArgument(f"line {number}: not an export of mnemogram's", hint=_HINT)
    version = record.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InvalidArgument(
            f"line {number}: version {version!r} of the format; this release reads {VERSION}",
            hint="Upgrade mnemogram to import this file.",
        )


def _string(record: dict[str, Any], field: str, number: int) -> str:
    value = record.get(field)
    if not isinstance(value, str) or not value:
        raise InvalidArgument(f"line {number}: {field} must be a string", hint=_HINT)
    return storable(value)


def _moment(value: Any, number: int) -> int:
    return to_microseconds(value, f"line {number}: time")


def _store(
    connection: Connection,
    batch: _Batch,
    known: dict[str, dict[str, Any]],
    notes: list[str],
    redacted: Callable[[Message], Message],
) -> dict[str, int]:
    counts = {"inserted": 0, "repeated": 0, "refused": 0, "tombstones": 0}
    for key, moment in batch.tombstones:
        if connection.one("SELECT 1 FROM sessions WHERE key = ?", (key,)) is not None:
            notes.append(f"session {key!r}: deleted where the export was made, kept here")
            continue
        connection.execute(
            "INSERT OR IGNORE INTO tombstones (key, deleted_at) VALUES (?, ?)", (key, moment)
        )
        counts["tombstones"] += connection.changes()
    for record in batch.sessions:
        if record["id"] not in batch.messages:
            batch.messages[record["id"]] = []
    for key, records in batch.messages.items():
        about = known.get(key, {"id": key})
        result = writing.append(
            connection,
            writing.prepare(
                _session(connection, about), [redacted(_message(each)) for each in records]
            ),
        )
        notes += result.notes
        counts["inserted"] += result.inserted
        counts["repeated"] += result.repeated
        counts["refused"] += result.refused
        if not result.refused:
            _restore(connection, key, about, records, result.ids)
    return counts


def _session(connection: Connection, about: dict[str, Any]) -> Session:
    """The session of an export; of one that is here already nothing is changed."""
    if writing.session_row(connection, about["id"]) is not None:
        return Session(about["id"])
    return Session(
        about["id"],
        source=about.get("source", "chat"),
        title=about.get("title"),
        model=about.get("model"),
        parent=about.get("parent"),
        started_at=about.get("started_at"),
        tags=about.get("tags"),
        metadata=about.get("metadata"),
    )


def _message(record: dict[str, Any]) -> Message:
    return Message(
        record.get("role", ""),
        record.get("content"),
        uid=record.get("uid"),
        timestamp=record.get("timestamp"),
        tool_calls=record.get("tool_calls"),
        tool_call_id=record.get("tool_call_id"),
        tool_name=record.get("tool_name"),
        tool_status=record.get("tool_status"),
        provenance=record.get("provenance", "observed"),
        metadata=record.get("metadata"),
    )


def _restore(
    connection: Connection,
    key: str,
    about: dict[str, Any],
    records: list[dict[str, Any]],
    ids: Sequence[int | None],
) -> None:
    """Set what an append does not: states, the end, and when the session was active."""
    for state in ("compacted", "rewound"):
        wanted = [
            row_id
            for row_id, each in zip(ids, records, strict=True)
            if each.get("state") == state and row_id is not None
        ]
        writing.set_state_of(connection, wanted, state)
    if about.get("end_reason") is not None:
        writing.end_if_open(connection, key, about["end_reason"])
    if about.get("last_active_at") is not None:
        connection.execute(
            "UPDATE sessions SET last_active_at = ? WHERE key = ? AND last_active_at < ?",
            (moment := to_microseconds(about["last_active_at"]), key, moment),
        )
