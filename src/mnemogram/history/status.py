# SPDX-License-Identifier: MIT
"""What the history says of itself: counts, sizes and the state of each index."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from typing import Any, Final

import apsw

from mnemogram import extension
from mnemogram.errors import QueryTimeout
from mnemogram.history.index import records
from mnemogram.history.index import state as indexes
from mnemogram.history.models import IndexReport, LegacyImport, Status
from mnemogram.sqlite.database import Connection, Database, deadline

__all__ = ["index_status", "legacy_import", "report"]


#: Seconds that measuring the tables may take; reading a file's page list is a scan.
_MEASURING: Final = 2.0

# Both read a covering index only, never the messages with their text.
_TOTALS: Final = """
SELECT count(*), coalesce(sum(substring), 0) FROM messages INDEXED BY messages_by_session
"""
#: How many of some messages the substring index sees.
_SUBSTRINGS: Final = """
SELECT sum(substring), count(*)
  FROM (SELECT substring FROM messages INDEXED BY messages_by_session LIMIT ?)
"""
_MOST_LOOKED_AT: Final = 50_000
_NEARLY: Final = 0.9999
_MISSING: Final = """
SELECT count(*) FROM messages INDEXED BY messages_by_session
 WHERE +id > :low AND +id <= :high AND (substring OR NOT :substring)
"""


def index_status(
    connection: Connection,
    states: dict[str, indexes.IndexState],
    damaged: Collection[str] = (),
) -> dict[str, Any]:
    """Return, for each of the three tables, whether it is whole and usable here.

    ``building`` is there where something builds: about the share of the messages done.

    Args:
        damaged: tables that turned out to be damaged, whatever their state says.
    """
    shown: dict[str, Any] = {}
    building: dict[str, float] = {}
    for definition in indexes.INDEXES:
        state = states.get(definition.name)
        usable = definition.name not in damaged
        usable &= state is not None and (state.token_version == 0 or connection.has_tokenizer)
        shown[definition.name] = bool(usable and state is not None and state.state == "ready")
        if state is not None and state.state == "building" and definition.name not in damaged:
            building[definition.name] = _share_done(connection, definition)
    if building:
        shown["building"] = building
    return shown


def _share_done(connection: Connection, definition: indexes.IndexDefinition) -> float:
    """Return about which share of what an index will hold it holds, from 0 to less than 1.

    From what is counted already: ids tell nothing, many of theirs may have no message.
    """
    try:
        done = records.sizes(connection, definition.name)[:1] or [0]
    except (apsw.SQLError, apsw.CorruptError):
        done = [0]
    total = int(connection.one("SELECT coalesce(sum(message_count), 0) FROM sessions"))
    if definition.name == indexes.TRIGRAM.name:
        ((seen, looked),) = connection.execute(_SUBSTRINGS, (_MOST_LOOKED_AT,))
        total = total * int(seen or 0) // max(1, int(looked))
    return min(_NEARLY, round(done[0] / max(1, total), 4))


def legacy_import(connection: Connection) -> LegacyImport:
    """Return how far the import of older conversations has come."""
    values: dict[str, str] = dict(
        connection.execute("SELECT key, value FROM meta WHERE key GLOB 'legacy_*'")
    )
    return LegacyImport(
        complete=values.get("legacy_done", "1") == "1",
        imported=indexes.number(values.get("legacy_imported")),
        set_aside=int(connection.one("SELECT count(*) FROM legacy_set_aside") or 0),
    )


def _sizes(connection: Connection) -> dict[str, int]:
    """Bytes of each FTS table with its shadow tables, from the dbstat table.

    Empty where it cannot be measured in time.
    """
    sizes: dict[str, int] = {}
    # A SQLite built without dbstat, or a file too large to walk now.
    with contextlib.suppress(apsw.SQLError, QueryTimeout), deadline(connection, _MEASURING):
        for definition in indexes.INDEXES:
            for suffix in ("data", "idx", "docsize", "config"):
                # With a name, dbstat walks that one b-tree only.
                size = connection.one(
                    "SELECT pgsize FROM dbstat('main', 1) WHERE name = ?",
                    (f"{definition.name}_{suffix}",),
                )
                sizes[definition.name] = sizes.get(definition.name, 0) + int(size or 0)
        return sizes
    return {}


def report(connection: Connection, database: Database, *, sizes: bool) -> Status:
    """Return the state of one user's history."""
    states = indexes.load_states(connection)
    measured = _sizes(connection) if sizes else {}
    ((total, substrings),) = connection.execute(_TOTALS)
    reports = []
    for definition in indexes.INDEXES:
        state = states.get(definition.name)
        trigram = definition.name == indexes.TRIGRAM.name
        seen = int(substrings if trigram else total)
        if state is None:
            reports.append(IndexReport(definition.name, "absent", 0, seen, None, None, None))
            continue
        missing = sum(
            int(connection.one(_MISSING, {"low": low, "high": high, "substring": trigram}))
            for low, high in state.gaps
        )
        reports.append(
            IndexReport(
                name=definition.name,
                state=state.state,
                indexed=seen - missing,
                total=seen,
                bytes=measured.get(definition.name),
                token_version=state.token_version or None,
                reason=state.reason,
            )
        )
    notes = []
    if database.tokenizer_error is not None:
        notes.append(
            f"The tokenizer extension is not loaded ({database.tokenizer_error}): "
            "words of Chinese, Japanese, Korean and Thai are found by scanning."
        )
    if database.has_tokenizer:
        notes += [
            f"A tokenizer library is passed over for {extension.path()}: {problem}"
            for problem in extension.passed_over()
        ]
    if database.immutable:
        notes.append(
            "The file or its directory cannot be written here: it was opened as one that"
            " nobody changes."
        )
    elif database.journal_mode != "wal":
        notes.append(
            f"WAL cannot work on this file system ({database.network_file_system or 'unknown'}); "
            f"the journal mode is {database.journal_mode}, so readers and writers wait "
            "for each other."
        )
    size = os.stat(database.path).st_size
    wal = f"{database.path}-wal"
    return Status(
        path=str(database.path),
        policy=indexes.load_choice(connection).policy,
        sessions=int(connection.one("SELECT count(*) FROM sessions")),
        messages=int(total),
        bytes=size,
        wal_bytes=os.stat(wal).st_size if os.path.exists(wal) else 0,
        journal_mode=database.journal_mode,
        schema_version=int(connection.one("PRAGMA user_version")),
        tokenizer=extension.path() if database.has_tokenizer else None,
        tokenizer_error=database.tokenizer_error,
        sqlite_version=apsw.sqlite_lib_version(),
        indexes=tuple(reports),
        legacy_import=legacy_import(connection),
        notes=tuple(notes),
    )
