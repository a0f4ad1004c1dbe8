# SPDX-License-Identifier: MIT
"""The tables of a history file, and how an older file is brought up to date.

The FTS tables and their triggers are derived and disposable: see ``index.state``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mnemogram.sqlite.database import Connection, Schema
from mnemogram.text import STORE_OPTIONS, fold

__all__ = ["BEFORE_ALL", "HIDDEN_SOURCES", "SCHEMA", "STEPS", "UNATTENDED_SOURCES", "title_key"]

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


#: `timestamp` of messages that stand before all whose time is known.
BEFORE_ALL: Final = -(2**62)

_ORDER_BY_TIME: Final = (
    # Messages whose time nobody knows: their `timestamp` says where they stand in their
    # session and nothing else. A table of its own because adding a column to `messages`
    # would read every page of it.
    """
    CREATE TABLE untimed (
        id INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE
    ) STRICT
    """,
    # Sessions of which no time is known: theirs are those of their import.
    """
    CREATE TABLE undated (
        id INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE
    ) STRICT
    """,
    # The order in which a session is read. `messages_by_session` keeps that of arrival.
    """
    CREATE INDEX messages_in_order
        ON messages (session_id, timestamp, id, state)
    """,
    "CREATE INDEX messages_rewound ON messages (session_id) WHERE state = 'rewound'",
    # What was said when, and in which session.
    "DROP INDEX messages_by_time",
    "CREATE INDEX messages_by_time ON messages (timestamp, id, session_id)",
    f"CREATE INDEX sessions_hidden ON sessions (id) WHERE source IN {HIDDEN_SOURCES}",
)
_UNTIMED: Final = """
SELECT id FROM main.messages WHERE timestamp = 0 AND provenance = 'legacy_snapshot'
"""
_UNDATED: Final = """
SELECT DISTINCT m.session_id FROM untimed CROSS JOIN main.messages AS m ON m.id = untimed.id
 WHERE NOT EXISTS (
    SELECT 1 FROM main.messages AS other
     WHERE other.session_id = m.session_id AND other.id NOT IN (SELECT id FROM untimed))
"""
_WITH_UNTIMED: Final = """
SELECT m.session_id, m.id, m.timestamp, m.id IN (SELECT id FROM untimed)
  FROM (SELECT DISTINCT m.session_id AS id
          FROM untimed CROSS JOIN messages AS m ON m.id = untimed.id) AS mixed
 CROSS JOIN messages AS m INDEXED BY messages_by_session ON m.session_id = mixed.id
 ORDER BY m.session_id, m.id
"""
#: First and last known time of a session.
_KNOWN: Final = """
(SELECT m.timestamp FROM messages AS m
  WHERE m.session_id = sessions.id AND m.id NOT IN (SELECT id FROM untimed)
  ORDER BY m.timestamp {order} LIMIT 1)
"""
_FIRST_TIMES: Final = f"""
UPDATE sessions SET started_at = first FROM (
    SELECT id AS session, {_KNOWN.format(order="ASC")} AS first FROM sessions
) WHERE id = session AND first < started_at
"""
_LAST_TIMES: Final = f"""
UPDATE sessions SET last_active_at = {_KNOWN.format(order="DESC")}
 WHERE id NOT IN (SELECT id FROM undated)
   AND id IN (SELECT m.session_id FROM untimed CROSS JOIN messages AS m ON m.id = untimed.id)
"""


def _create(connection: Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


def _order_by_time(connection: Connection) -> None:
    """Sessions are read in the order of time, in which what has none keeps its place."""
    for statement in _ORDER_BY_TIME:
        connection.execute(statement)
    connection.execute(f"INSERT INTO untimed (id) {_UNTIMED}")
    if connection.one("SELECT 1 FROM untimed LIMIT 1") is not None:
        connection.execute(f"INSERT INTO undated (id) {_UNDATED}")
        connection.executemany(
            "UPDATE messages SET timestamp = ? WHERE id = ?", list(_places(connection))
        )
        connection.execute(_LAST_TIMES)
    connection.execute(_FIRST_TIMES)


def _places(connection: Connection) -> Iterator[tuple[int, int]]:
    """Where each message without a time stands: after the one before it, else before the next."""
    session = place = None
    waiting: list[int] = []
    for owner, row_id, timestamp, untimed in connection.execute(_WITH_UNTIMED):
        if owner != session:
            yield from ((BEFORE_ALL, each) for each in waiting)
            session, place, waiting = owner, None, []
        if not untimed:
            place = timestamp
            yield from ((timestamp, each) for each in waiting)
            waiting = []
        elif place is None:
            waiting.append(row_id)
        else:
            yield place, row_id
    yield from ((BEFORE_ALL, each) for each in waiting)


_ITEMS: Final = (
    # What a host's SDK keeps of a session to go on with it: its own items as JSON, in order,
    # beside the messages that they became (`uids`, a JSON list). `cleared` ones are in the
    # model's context no more.
    """
    CREATE TABLE session_items (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        cleared    INTEGER NOT NULL DEFAULT 0,
        uids       TEXT NOT NULL,
        item       TEXT NOT NULL
    ) STRICT
    """,
    "CREATE INDEX session_items_in_order ON session_items (session_id, cleared, id)",
)


def _items(connection: Connection) -> None:
    for statement in _ITEMS:
        connection.execute(statement)


_LABELS: Final = (
    # Tags of sessions, as they are compared and as they were given.
    """
    CREATE TABLE session_tags (
        session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        tag_key    TEXT NOT NULL,
        tag        TEXT NOT NULL,
        PRIMARY KEY (session_id, tag_key)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX session_tags_by_tag ON session_tags (tag_key, session_id)",
    # Metadata as it was given, a JSON object, and the plain values in it by which it is found.
    # Tables of their own, because a new column would read every page of the old ones.
    *(
        statement.format(kind=kind, table=table)
        for kind, table in (("session", "sessions"), ("message", "messages"))
        for statement in (
            """
            CREATE TABLE {kind}_metadata (
                id       INTEGER PRIMARY KEY REFERENCES {table} (id) ON DELETE CASCADE,
                metadata TEXT NOT NULL
            ) STRICT
            """,
            """
            CREATE TABLE {kind}_fields (
                id    INTEGER NOT NULL REFERENCES {table} (id) ON DELETE CASCADE,
                name  TEXT NOT NULL,
                value TEXT NOT NULL,
                PRIMARY KEY (id, name, value)
            ) STRICT, WITHOUT ROWID
            """,
            "CREATE INDEX {kind}_fields_by_value ON {kind}_fields (name, value, id)",
        )
    ),
)


def _labels(connection: Connection) -> None:
    for statement in _LABELS:
        connection.execute(statement)


#: Each brings a file from the version of its place to the next; a new one goes at the end.
STEPS: Final[tuple[Callable[[Connection], None], ...]] = (
    _create,
    _order_by_time,
    _items,
    _labels,
)


def title_key(title: str) -> str:
    """Return a title folded as queries are cut; what ``sessions.title_key`` holds."""
    return fold(title, **STORE_OPTIONS)


def _upgrade(connection: Connection, version: int) -> None:
    for step in STEPS[version:]:
        step(connection)


def _adapt(connection: Connection, version: int) -> None:
    """Make what an older file lacks visible to one connection that may not write it."""
    if version < 2:
        connection.execute("CREATE TEMP TABLE untimed (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TEMP TABLE undated (id INTEGER PRIMARY KEY)")
        connection.execute(f"INSERT INTO untimed (id) {_UNTIMED}")
        connection.execute(f"INSERT INTO undated (id) {_UNDATED}")
    if version < 3:
        connection.execute(
            "CREATE TEMP TABLE session_items"
            " (id INTEGER PRIMARY KEY, session_id, cleared, uids, item)"
        )
    if version < 4:
        connection.execute("CREATE TEMP TABLE session_tags (session_id, tag_key, tag)")
        for kind in ("session", "message"):
            connection.execute(
                f"CREATE TEMP TABLE {kind}_metadata (id INTEGER PRIMARY KEY, metadata)"
            )
            connection.execute(f"CREATE TEMP TABLE {kind}_fields (id, name, value)")


SCHEMA: Final = Schema(
    application_id=_APPLICATION_ID, version=len(STEPS), upgrade=_upgrade, adapt=_adapt
)
