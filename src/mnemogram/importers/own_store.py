# SPDX-License-Identifier: MIT
"""Our own store: the ``state.db`` of a history, read as its export would be."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mnemogram.history.labels import metadata_of
from mnemogram.importers import jsonl
from mnemogram.importers.base import Batch, Record, Report
from mnemogram.importers.sqlite import SQLiteFile
from mnemogram.moments import datetime_of

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "mnemogram"
LOOKS_FOR: Final = "a SQLite file that is a history of ours"
FIELDS: Final = frozenset(("tombstones", "untimed", "undated", "provenance"))

_BARE_MESSAGES: Final = """
SELECT m.*, s.key AS session, NULL AS metadata
  FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
 ORDER BY m.session_id, m.id
"""
_MESSAGES: Final = """
SELECT m.*, s.key AS session, d.metadata AS metadata
  FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
  LEFT JOIN message_metadata AS d ON d.id = m.id
 ORDER BY m.session_id, m.id
"""
_SESSION: Final = ("source", "title", "model", "end_reason")
_MESSAGE: Final = (
    *("session", "uid", "role", "state", "provenance"),
    *("tool_call_id", "tool_name", "tool_status", "content"),
)


def recognises(value: object) -> bool:
    """Whether it is a history of ours, of whatever version."""
    return isinstance(value, SQLiteFile) and value.has(
        sessions="key source parent_key started_at", messages="uid role state timestamp content"
    )


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the sessions of a history."""
    return jsonl.read(_lines(records, report), report)


def _lines(records: Iterable[Record], report: Report) -> Iterator[Record]:
    for record in records:
        if not recognises(record.value):
            report.problem(record.where or "line 1", "no history of ours")
            continue
        store: SQLiteFile = record.value
        if store.has(tombstones="key deleted_at"):
            for row in store.rows("SELECT key, deleted_at FROM tombstones ORDER BY key"):
                deleted = {"session": row["key"], "deleted_at": _time(row["deleted_at"])}
                yield Record("", {"type": "tombstone", **deleted})
        tags, metadata = _labels(store)
        undated, untimed = _ids(store, "undated"), _ids(store, "untimed")
        for row in store.rows("SELECT * FROM sessions ORDER BY id"):
            about = {name: row[name] for name in _SESSION}
            if row["id"] not in undated:
                about["started_at"] = _time(row["started_at"])
                about["last_active_at"] = _time(row["last_active_at"])
            about["tags"] = tags.get(row["id"])
            about["metadata"] = metadata.get(row["id"])
            head = {"type": "session", "id": row["key"], "parent": row["parent_key"]}
            yield Record(f"session {row['id']}", head | about)
        with_metadata = store.has(message_metadata="id metadata")
        for row in store.rows(_MESSAGES if with_metadata else _BARE_MESSAGES):
            about = {name: row[name] for name in _MESSAGE}
            about["timestamp"] = None if row["id"] in untimed else _time(row["timestamp"])
            about["tool_calls"] = _calls(row["tool_calls"])
            about["metadata"] = metadata_of(row["metadata"]) or None
            yield Record(f"message {row['id']}", {"type": "message"} | about)


def _ids(store: SQLiteFile, table: str) -> set[int]:
    if not store.has(**{table: "id"}):
        return set()
    return {row["id"] for row in store.rows(f"SELECT id FROM {table}")}


def _labels(store: SQLiteFile) -> tuple[dict[int, list[str]], dict[int, dict[str, Any]]]:
    """Return the tags and the metadata of sessions, by their ids."""
    tags: dict[int, list[str]] = {}
    metadata: dict[int, dict[str, Any]] = {}
    if store.has(session_tags="session_id tag", session_metadata="id metadata"):
        for row in store.rows("SELECT session_id, tag FROM session_tags ORDER BY tag_key"):
            tags.setdefault(row["session_id"], []).append(row["tag"])
        for row in store.rows("SELECT id, metadata FROM session_metadata"):
            metadata[row["id"]] = metadata_of(row["metadata"])
    return tags, metadata


def _time(microseconds: Any) -> str:
    return datetime_of(int(microseconds)).isoformat(timespec="microseconds")


def _calls(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text
