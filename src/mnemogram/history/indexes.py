# SPDX-License-Identifier: MIT
"""The life of the FTS tables: which are kept, their triggers, gaps and building.

A message is in an index unless its id lies in one of the index's gaps. Triggers
keep the index in step inside the message's own transaction; building fills a gap
from below, each batch and its progress in one transaction. Everything here runs
inside a write transaction that the caller holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import apsw

from mnemogram.database import Connection
from mnemogram.errors import InvalidArgument
from mnemogram.text import RULES_VERSION

__all__ = [
    "CJK",
    "INDEXES",
    "TRIGRAM",
    "WORDS",
    "IndexDefinition",
    "IndexState",
    "Policy",
    "build_step",
    "detach",
    "is_index_corruption",
    "load_states",
    "prepare_for_writing",
    "wanted",
]

#: Version of the projection views; another version means the index is rebuilt.
PROJECTION_VERSION: Final = 1
_OPEN_END: Final = 2**63 - 1

Policy: TypeAlias = Literal["auto", "portable", "all"]
POLICIES: Final = ("auto", "portable", "all")


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """One FTS table.

    Attributes:
        name: name of the FTS table.
        columns: its columns, all of them columns of ``view``.
        view: the projection it indexes.
        tokenizer: FTS5 ``tokenize`` value.
        needs_extension: whether the tokenizer comes from our extension.
        options: further FTS5 options.
        condition: SQL over ``{row}`` that says whether the index sees a row.
    """

    name: str
    columns: tuple[str, ...]
    view: str
    tokenizer: str
    needs_extension: bool
    options: str
    condition: str

    @property
    def token_version(self) -> int:
        """Version of the rules by which the table's tokens were cut."""
        return RULES_VERSION if self.needs_extension else 0


_PROJECTED: Final = (
    "CASE WHEN {row}.index_bytes IS NULL THEN {row}.content"
    " ELSE CAST(substr(CAST({row}.content AS BLOB), 1, {row}.index_bytes) AS TEXT) END"
)
_WORD_COLUMNS: Final = ("content", "tool_name", "tool_calls")

# columnsize=0: ranking reads lengths of the best candidates from their text, so
# the size table would only cost 7 % of size and a quarter of the build time.
CJK: Final = IndexDefinition(
    name="messages_fts_cjk",
    columns=_WORD_COLUMNS,
    view="messages_projection",
    tokenizer="cjk_unicode61 remove_diacritics 2 variants 1",
    needs_extension=True,
    options="columnsize=0",
    condition="1",
)
WORDS: Final = IndexDefinition(
    name="messages_fts",
    columns=_WORD_COLUMNS,
    view="messages_projection",
    tokenizer="unicode61 remove_diacritics 2",
    needs_extension=False,
    options="columnsize=0",
    condition="1",
)
TRIGRAM: Final = IndexDefinition(
    name="messages_fts_trigram",
    columns=("content", "tool_name"),
    view="messages_substring_projection",
    tokenizer="word_trigram remove_diacritics 2",
    needs_extension=True,
    options="columnsize=0, detail=none",
    condition="{row}.substring",
)
_PORTABLE_TRIGRAM: Final = IndexDefinition(
    name=TRIGRAM.name,
    columns=TRIGRAM.columns,
    view=TRIGRAM.view,
    tokenizer="trigram",
    needs_extension=False,
    options=TRIGRAM.options,
    condition=TRIGRAM.condition,
)
INDEXES: Final = (CJK, WORDS, TRIGRAM)
_NAMES: Final = frozenset(each.name for each in INDEXES)


@dataclass(frozen=True, slots=True)
class IndexState:
    """One row of ``indexes`` with its gaps, as (low, high] pairs in id order."""

    name: str
    state: Literal["ready", "building", "detached"]
    tokenizer: str
    token_version: int
    projection_version: int
    reason: str | None
    gaps: tuple[tuple[int, int], ...]

    def matches(self, definition: IndexDefinition) -> bool:
        """Whether the table was made by exactly this definition and these rules."""
        return (
            self.tokenizer == definition.tokenizer
            and self.token_version == definition.token_version
            and self.projection_version == PROJECTION_VERSION
        )


def wanted(policy: Policy, *, has_tokenizer: bool, trigram: bool) -> tuple[IndexDefinition, ...]:
    """Return the indexes that a policy keeps.

    ``auto`` keeps the smallest set that serves this host; ``portable`` adds what
    a reader without the extension needs; ``all`` keeps every table.

    Raises:
        InvalidArgument: no such policy.
    """
    if policy not in POLICIES:
        raise InvalidArgument(
            f"index policy must be one of {', '.join(POLICIES)}, not {policy!r}",
            hint="'auto' is right unless other programs read the file.",
        )
    kept: list[IndexDefinition] = []
    if has_tokenizer:
        kept.append(CJK)
    if not has_tokenizer or policy in ("portable", "all"):
        kept.append(WORDS)
    if trigram:
        stock = not has_tokenizer or policy == "portable"
        kept.append(_PORTABLE_TRIGRAM if stock else TRIGRAM)
    return tuple(kept)


def load_states(connection: Connection) -> dict[str, IndexState]:
    """Return the state of every index that the file keeps, by name."""
    gaps: dict[str, list[tuple[int, int]]] = {}
    for name, low, high in connection.execute(
        "SELECT name, low, high FROM index_gaps ORDER BY name, high"
    ):
        gaps.setdefault(name, []).append((low, high))
    return {
        row[0]: IndexState(*row, gaps=tuple(gaps.get(row[0], ())))
        for row in connection.execute(
            "SELECT name, state, tokenizer, token_version, projection_version, reason FROM indexes"
        )
    }


def definition_of(state: IndexState) -> IndexDefinition | None:
    """Return the definition of ours that made an index, None for another release's."""
    for each in (*INDEXES, _PORTABLE_TRIGRAM):
        if each.name == state.name and state.matches(each):
            return each
    return None


# --- triggers --------------------------------------------------------------------------


def _in_index(definition: IndexDefinition, row: str) -> str:
    """SQL that says whether the index holds ``row`` (``new`` or ``old``)."""
    return (
        f"{definition.condition.format(row=row)} AND NOT EXISTS ("
        f"SELECT 1 FROM index_gaps AS gap WHERE gap.name = '{definition.name}'"
        f" AND gap.high >= {row}.id AND gap.low < {row}.id)"
    )


def _values(definition: IndexDefinition, row: str) -> str:
    whole = definition.view == TRIGRAM.view  # no tool rows there, so nothing is cut
    projected = {"content": "{row}.content" if whole else _PROJECTED}
    return ", ".join(
        projected.get(column, f"{{row}}.{column}").format(row=row) for column in definition.columns
    )


def _trigger_names(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{event}" for event in ("insert", "delete", "update"))


def _triggers(definition: IndexDefinition) -> Iterator[str]:
    """Triggers that keep an attached index in step with the messages."""
    name = definition.name
    columns = ", ".join(definition.columns)
    insert = f"INSERT INTO {name} (rowid, {columns}) VALUES (new.id, {_values(definition, 'new')});"
    delete = (
        f"INSERT INTO {name} ({name}, rowid, {columns})"
        f" VALUES ('delete', old.id, {_values(definition, 'old')});"
    )
    created, deleted, updated = _trigger_names(name)
    yield (
        f"CREATE TRIGGER {created} AFTER INSERT ON messages"
        f" WHEN {_in_index(definition, 'new')} BEGIN {insert} END"
    )
    yield (
        f"CREATE TRIGGER {deleted} AFTER DELETE ON messages"
        f" WHEN {_in_index(definition, 'old')} BEGIN {delete} END"
    )
    yield (
        f"CREATE TRIGGER {updated}"
        " AFTER UPDATE OF content, index_bytes, tool_name, tool_calls ON messages"
        f" WHEN {_in_index(definition, 'old')} BEGIN {delete} {insert} END"
    )


def _debt_triggers(definition: IndexDefinition) -> Iterator[str]:
    """Triggers that note what a detached index will have to be told."""
    name = definition.name
    columns = ", ".join(definition.columns)
    note = (
        f"INSERT OR IGNORE INTO index_debts (name, id, {columns})"
        f" VALUES ('{name}', old.id, {_values(definition, 'old')});"
    )
    _, deleted, updated = _trigger_names(name)
    when = f"WHEN {_in_index(definition, 'old')}"
    yield f"CREATE TRIGGER {deleted} AFTER DELETE ON messages {when} BEGIN {note} END"
    yield (
        f"CREATE TRIGGER {updated}"
        " AFTER UPDATE OF content, index_bytes, tool_name, tool_calls ON messages"
        f" {when} BEGIN {note} END"
    )


def _drop_triggers(connection: Connection, name: str) -> None:
    for trigger in _trigger_names(name):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")


def _install(connection: Connection, name: str, statements: Iterable[str]) -> None:
    _drop_triggers(connection, name)
    for statement in statements:
        connection.execute(statement)


# --- attaching and detaching -----------------------------------------------------------


def create(connection: Connection, definition: IndexDefinition) -> None:
    """Make an index; what messages there are become its gap."""
    name = definition.name
    columns = ", ".join(definition.columns)
    connection.execute(
        f"CREATE VIRTUAL TABLE {name} USING fts5 ({columns},"
        f" content='{definition.view}', content_rowid='id',"
        f" tokenize='{definition.tokenizer}', {definition.options})"
    )
    top = connection.one("SELECT max(id) FROM messages") or 0
    connection.execute(
        "INSERT INTO indexes (name, state, tokenizer, token_version, projection_version)"
        " VALUES (?, ?, ?, ?, ?)",
        (
            name,
            "building" if top else "ready",
            definition.tokenizer,
            definition.token_version,
            PROJECTION_VERSION,
        ),
    )
    if top:
        connection.execute("INSERT INTO index_gaps (name, low, high) VALUES (?, 0, ?)", (name, top))
    _install(connection, name, _triggers(definition))


def drop(connection: Connection, name: str) -> None:
    """Remove an index with all that belongs to it."""
    _drop_triggers(connection, name)
    connection.execute("DELETE FROM indexes WHERE name = ?", (name,))
    connection.execute(f"DROP TABLE IF EXISTS {name}")


def detach(
    connection: Connection, definition: IndexDefinition, reason: str, *, rebuild: bool = False
) -> None:
    """Take an index out of use without touching its table, and say why.

    Messages from now on are in its gap, and a note is kept of every change to
    what it holds, so that only those are made good when it is attached again.

    Args:
        rebuild: its contents are worthless (damage, other token rules); it is
            emptied and built anew by the next maintenance.
    """
    name = definition.name
    connection.execute(
        "UPDATE indexes SET state = 'detached', reason = ? WHERE name = ?", (reason, name)
    )
    if rebuild:
        connection.execute("DELETE FROM index_gaps WHERE name = ?", (name,))
        connection.execute("DELETE FROM index_debts WHERE name = ?", (name,))
        connection.execute(
            "INSERT INTO index_gaps (name, low, high) VALUES (?, -1, ?)", (name, _OPEN_END)
        )
        _drop_triggers(connection, name)
        return
    top = connection.one("SELECT seq FROM sqlite_sequence WHERE name = 'messages'") or 0
    connection.execute(
        "INSERT OR IGNORE INTO index_gaps (name, low, high) VALUES (?, ?, ?)",
        (name, top, _OPEN_END),
    )
    _install(connection, name, _debt_triggers(definition))


def attach(connection: Connection, definition: IndexDefinition) -> None:
    """Bring a detached index back: pay its debts, close its open gap, set its triggers."""
    name = definition.name
    columns = ", ".join(definition.columns)
    debts = list(
        connection.execute(f"SELECT id, {columns} FROM index_debts WHERE name = ?", (name,))
    )
    marks = ", ".join("?" * len(definition.columns))
    for debt in debts:
        connection.execute(
            f"INSERT INTO {name} ({name}, rowid, {columns}) VALUES ('delete', ?, {marks})", debt
        )
        connection.execute(
            f"INSERT INTO {name} (rowid, {columns})"
            f" SELECT id, {columns} FROM {definition.view} WHERE id = ?",
            (debt[0],),
        )
    connection.execute("DELETE FROM index_debts WHERE name = ?", (name,))
    top = connection.one("SELECT seq FROM sqlite_sequence WHERE name = 'messages'") or 0
    connection.execute(
        "UPDATE index_gaps SET high = ? WHERE name = ? AND high = ?", (top, name, _OPEN_END)
    )
    connection.execute("DELETE FROM index_gaps WHERE name = ? AND low >= high", (name,))
    _settle(connection, name)
    _install(connection, name, _triggers(definition))


def _settle(connection: Connection, name: str) -> None:
    """Set the state that follows from the gaps."""
    connection.execute(
        "UPDATE indexes SET reason = NULL, state = CASE WHEN EXISTS"
        " (SELECT 1 FROM index_gaps WHERE index_gaps.name = indexes.name)"
        " THEN 'building' ELSE 'ready' END WHERE name = ?",
        (name,),
    )


def _is_rebuild(state: IndexState) -> bool:
    return any(low < 0 for low, _ in state.gaps)


def _by_name(name: str) -> IndexDefinition:
    return next(each for each in INDEXES if each.name == name)


def _why_not_served(connection: Connection) -> str:
    if connection.has_tokenizer:
        return "made by a newer release; a process of this one wrote to the file"
    return f"a process without the tokenizer wrote to the file ({connection.tokenizer_error})"


def prepare_for_writing(connection: Connection, *, policy: Policy, trigram: bool) -> None:
    """Make the file's indexes what this connection can serve, before it writes.

    Runs at the start of every write transaction: another process, with another
    build or without the extension, may have changed them since. Costs two reads
    of tiny tables where nothing has to be done.
    """
    keep = {
        each.name: each
        for each in wanted(policy, has_tokenizer=connection.has_tokenizer, trigram=trigram)
    }
    states = load_states(connection)
    for name, state in states.items():
        definition = definition_of(state)
        mine = keep.get(name)
        if state.token_version > (RULES_VERSION if connection.has_tokenizer else 0):
            # It stays for those who can serve it; our triggers must not touch it.
            if state.state != "detached":
                detach(connection, definition or _by_name(name), _why_not_served(connection))
        elif mine is None or definition is None or state.tokenizer != mine.tokenizer:
            if state.state != "detached" or not _is_rebuild(state):
                why = "not kept by the policy" if mine is None else "made by other token rules"
                detach(connection, definition or _by_name(name), why, rebuild=True)
        elif state.state == "detached" and not _is_rebuild(state):
            attach(connection, definition)
    for name, definition in keep.items():
        if name not in states:
            create(connection, definition)


# --- building --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BuildStep:
    """What one step of building did: rows added, bytes of text, and what is left."""

    name: str
    rows: int
    bytes: int
    seconds: float
    done: bool


def build_step(
    connection: Connection, name: str, *, max_rows: int = 500, max_bytes: int = 4_000_000
) -> BuildStep:
    """Index the next messages of an index's lowest gap, inside the caller's transaction.

    Args:
        max_rows: rows at most.
        max_bytes: stop after the row that brings the text to this many bytes.
    """
    started = time.monotonic()
    state = load_states(connection)[name]
    definition = definition_of(state)
    if definition is None or not state.gaps or state.state != "building":
        return BuildStep(name, 0, 0, 0.0, state.state != "building")
    low, high = state.gaps[0]
    columns = ", ".join(definition.columns)
    marks = ", ".join("?" * len(definition.columns))
    insert = f"INSERT INTO {name} (rowid, {columns}) VALUES (?, {marks})"
    rows = size = 0
    reached = high
    batch: list[tuple[apsw.SQLiteValue, ...]] = []
    for row in connection.execute(
        f"SELECT id, {columns} FROM {definition.view} WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
        (low, high, max_rows),
    ):
        batch.append(row)
        rows += 1
        size += sum(len(value) * 3 for value in row[1:] if isinstance(value, str))
        if size >= max_bytes or rows >= max_rows:
            reached = row[0]
            break
    connection.executemany(insert, batch)
    if reached >= high:
        connection.execute("DELETE FROM index_gaps WHERE name = ? AND high = ?", (name, high))
    else:
        connection.execute(
            "UPDATE index_gaps SET low = ? WHERE name = ? AND high = ?", (reached, name, high)
        )
    _settle(connection, name)
    done = connection.one("SELECT state FROM indexes WHERE name = ?", (name,)) == "ready"
    return BuildStep(name, rows, size, time.monotonic() - started, done)


def is_index_corruption(error: BaseException) -> bool:
    """Whether an error says that an FTS table, and not the file, is damaged.

    FTS5 reports damage of its own as SQLITE_CORRUPT_VTAB; the b-tree layer's
    SQLITE_CORRUPT means that the file itself cannot be trusted.
    """
    return isinstance(error, apsw.CorruptError) and error.extendedresult == apsw.SQLITE_CORRUPT_VTAB
