# SPDX-License-Identifier: MIT
"""The tables of a history file, and how an older file is brought up to date.

The FTS tables and their triggers are derived and disposable: see ``indexes``.
"""

from __future__ import annotations

from typing import Final

from mnemogram.database import Connection, Schema

__all__ = ["HIDDEN_SOURCES", "SCHEMA", "UNATTENDED_SOURCES"]

#: Sources that no search shows.
HIDDEN_SOURCES: Final = ("subagent", "tool", "kanban")
#: Sources that rank after everything a person took part in.
UNATTENDED_SOURCES: Final = ("cron",)

_APPLICATION_ID: Final = 0x6D6E6768  # "mngh"

_TABLES: Final = (
    # What belongs to the file as a whole: policy, cursors of imports.
    """
    CREATE TABLE meta (
        key   TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # One conversation. `parent_key` is what the host named, `parent_id` the link
    # once that session exists; `root_id` is the oldest member of the lineage.
    """
    CREATE TABLE sessions (
        id             INTEGER PRIMARY KEY,
        key            TEXT NOT NULL UNIQUE,
        source         TEXT NOT NULL,
        title          TEXT,
        title_key      TEXT,
        model          TEXT,
        parent_key     TEXT,
        parent_id      INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
        root_id        INTEGER NOT NULL,
        end_reason     TEXT,
        started_at     INTEGER NOT NULL,
        last_active_at INTEGER NOT NULL,
        message_count  INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    "CREATE INDEX sessions_by_root ON sessions (root_id, id)",
    "CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL",
    "CREATE INDEX sessions_by_parent_key ON sessions (parent_key) WHERE parent_key IS NOT NULL",
    "CREATE INDEX sessions_by_activity ON sessions (last_active_at, id)",
    "CREATE INDEX sessions_by_title ON sessions (title_key) WHERE title_key IS NOT NULL",
    # Holds the titles themselves: looking through them reads no session.
    """
    CREATE INDEX sessions_titled
        ON sessions (last_active_at, id, title_key) WHERE title_key IS NOT NULL
    """,
    # One utterance, whole. Content comes last, so that the short columns are read
    # without its overflow pages. `index_bytes` is how much of the content the
    # indexes see (NULL: all); `substring` whether the trigram index sees the row.
    """
    CREATE TABLE messages (
        id           INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id   INTEGER NOT NULL REFERENCES sessions (id),
        role         TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
        state        TEXT NOT NULL DEFAULT 'active'
                     CHECK (state IN ('active', 'compacted', 'rewound')),
        timestamp    INTEGER NOT NULL,
        substring    INTEGER NOT NULL,
        index_bytes  INTEGER,
        uid          TEXT NOT NULL,
        provenance   TEXT NOT NULL,
        tool_call_id TEXT,
        tool_name    TEXT,
        tool_status  TEXT,
        tool_calls   TEXT,
        content      TEXT NOT NULL,
        UNIQUE (session_id, uid)
    ) STRICT
    """,
    # The order of a session and what is counted: in the messages table a row
    # shares its page with the text.
    """
    CREATE INDEX messages_by_session
        ON messages (session_id, id, state, substring)
    """,
    "CREATE INDEX messages_by_time ON messages (timestamp, id)",
    # Long tool results whose tail no index holds.
    "CREATE INDEX messages_long ON messages (id) WHERE index_bytes IS NOT NULL",
    # One row for each FTS table that is kept. `changed_at` is when its state last changed.
    """
    CREATE TABLE indexes (
        name               TEXT PRIMARY KEY,
        state              TEXT NOT NULL CHECK (state IN ('ready', 'building', 'detached')),
        tokenizer          TEXT NOT NULL,
        token_version      INTEGER NOT NULL,
        projection_version INTEGER NOT NULL,
        changed_at         INTEGER NOT NULL,
        reason             TEXT
    ) STRICT, WITHOUT ROWID
    """,
    # Messages an index does not hold: low < id <= high. Building raises `low`,
    # so it is the progress; a row outside every gap is in the index.
    """
    CREATE TABLE index_gaps (
        name TEXT NOT NULL REFERENCES indexes (name) ON DELETE CASCADE,
        low  INTEGER NOT NULL,
        high INTEGER NOT NULL,
        PRIMARY KEY (name, high)
    ) STRICT, WITHOUT ROWID
    """,
    # Rows that an index holds and that changed while no connection could tell it: the
    # columns that every projection is made of, as they were when it was told last.
    """
    CREATE TABLE index_debts (
        name        TEXT NOT NULL REFERENCES indexes (name) ON DELETE CASCADE,
        id          INTEGER NOT NULL,
        index_bytes INTEGER,
        tool_name   TEXT,
        tool_calls  TEXT,
        content     TEXT NOT NULL,
        PRIMARY KEY (name, id)
    ) STRICT, WITHOUT ROWID
    """,
    # Sessions deleted on purpose; they take no late messages.
    """
    CREATE TABLE tombstones (
        key        TEXT PRIMARY KEY,
        deleted_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # Records of a legacy source that could not be imported, by the source's cursor.
    """
    CREATE TABLE legacy_set_aside (
        id     INTEGER PRIMARY KEY,
        record TEXT NOT NULL UNIQUE,
        reason TEXT NOT NULL
    ) STRICT
    """,
    # The projections: the exact text each index sees. Bytes, not characters, are
    # cut, because SQLite's substr() on text ends at a NUL.
    """
    CREATE VIEW messages_projection (id, content, tool_name, tool_calls) AS
    SELECT id,
           CASE WHEN index_bytes IS NULL THEN content
                ELSE CAST(substr(CAST(content AS BLOB), 1, index_bytes) AS TEXT) END,
           tool_name,
           tool_calls
      FROM messages
    """,
    """
    CREATE VIEW messages_substring_projection (id, content, tool_name) AS
    SELECT id, content, tool_name FROM messages WHERE substring
    """,
)


def _upgrade(connection: Connection, version: int) -> None:
    if version < 1:
        for statement in _TABLES:
            connection.execute(statement)


SCHEMA: Final = Schema(application_id=_APPLICATION_ID, version=1, upgrade=_upgrade)
