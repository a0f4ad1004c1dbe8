# SPDX-License-Identifier: MIT
"""The life of the FTS tables: which are kept, their triggers, gaps and building.

A message is in an index unless its id lies in one of the index's gaps. Triggers
keep the index in step inside the message's own transaction. A connection that
cannot serve an index detaches it: from then on new messages are in its gap, and a
debt is noted for each message it holds that changes. Filling gaps, paying debts and
taking tables down are the work of ``build``. Everything here runs inside a write
transaction that the caller holds.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Final, Literal, TypeAlias

import apsw

from mnemogram.errors import InvalidArgument
from mnemogram.history.index import records
from mnemogram.sqlite.database import Connection
from mnemogram.text import RULES_VERSION, STORE_OPTIONS

__all__ = [
    "CJK",
    "INDEXES",
    "NAMES",
    "TRIGRAM",
    "UNSOUND",
    "WORDS",
    "Choice",
    "IndexDefinition",
    "IndexState",
    "Policy",
    "attach",
    "count_about",
    "definition_of",
    "detach",
    "id_span",
    "load_choice",
    "load_states",
    "mark_for_rebuild",
    "number",
    "prepare_for_writing",
    "wanted",
]

#: Version of the projection views; another version means the index is rebuilt.
PROJECTION_VERSION: Final = 1
OPEN_END: Final = 2**63 - 1
#: How the reason of an index begins that was found damaged, and whose pages are in doubt.
UNSOUND: Final = "found damaged"
#: Debts that are paid on the way of a write; more are the work of maintenance.
PAID_AT_ONCE: Final = 50
#: Debts from which building anew is cheaper than paying, and than keeping old texts.
MOST_DEBTS: Final = 5_000
#: Seconds after the last write by a process without the tokenizer during which the
#: others keep the indexes that it needs. Two kinds of process on one file would
#: otherwise build and drop each other's indexes for ever.
PLAIN_WRITER_GRACE: Final = 86_400
_PLAIN_WRITER_NOTED: Final = 600
_GRACE_US: Final = PLAIN_WRITER_GRACE * 1_000_000

Policy: TypeAlias = Literal["auto", "portable", "all"]
POLICIES: Final = ("auto", "portable", "all")


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """One FTS table.

    Attributes:
        name: name of the FTS table.
        columns: its columns, all of them columns of ``view``.
        view: the projection it indexes.
        tokenizer: FTS5 ``tokenize`` value; another one needs another token version, or
            two releases would take down each other's tables.
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
    def tokenize(self) -> str:
        """The FTS5 option that names the tokenizer, as SQL."""
        return "tokenize='" + self.tokenizer.replace("'", "''") + "'"

    @property
    def token_version(self) -> int:
        """Version of the rules by which the table's tokens were cut."""
        return RULES_VERSION if self.needs_extension else 0


_PROJECTED: Final = (
    "CASE WHEN {row}.index_bytes IS NULL THEN {row}.content"
    " ELSE CAST(substr(CAST({row}.content AS BLOB), 1, {row}.index_bytes) AS TEXT) END"
)
_WORD_COLUMNS: Final = ("content", "tool_name", "tool_calls")

# What SQLite's own unicode61 knows of the options; the folds are our tokenizers' alone.
_PLAIN_OPTIONS: Final = " ".join(
    f"{name} '{STORE_OPTIONS[name]}'" for name in ("remove_diacritics", "categories", "separators")
)
_WORD_OPTIONS: Final = " ".join(
    f"{name} '{value}'" for name, value in STORE_OPTIONS.items() if name != "variants"
)

# columnsize=0: ranking reads lengths of the best candidates from their text, so
# the size table would only cost 7 % of size and a quarter of the build time.
CJK: Final = IndexDefinition(
    name="messages_fts_cjk",
    columns=_WORD_COLUMNS,
    view="messages_projection",
    tokenizer=f"cjk_unicode61 variants 1 {_WORD_OPTIONS}",
    needs_extension=True,
    options="columnsize=0",
    condition="1",
)
WORDS: Final = IndexDefinition(
    name="messages_fts",
    columns=_WORD_COLUMNS,
    view="messages_projection",
    tokenizer=f"unicode61 {_PLAIN_OPTIONS}",
    needs_extension=False,
    options="columnsize=1",  # for bm25(), where recall_rank is missing
    condition="1",
)
TRIGRAM: Final = IndexDefinition(
    name="messages_fts_trigram",
    columns=("content", "tool_name"),
    view="messages_substring_projection",
    tokenizer=f"word_trigram {_WORD_OPTIONS}",
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
NAMES: Final = frozenset(each.name for each in INDEXES)


@dataclass(frozen=True, slots=True)
class IndexState:
    """One row of ``indexes`` with its gaps, as (low, high] pairs in id order."""

    name: str
    state: Literal["ready", "building", "detached"]
    tokenizer: str
    token_version: int
    projection_version: int
    changed_at: int
    reason: str | None
    gaps: tuple[tuple[int, int], ...]

    @property
    def is_rebuild(self) -> bool:
        """Whether what the table holds is worthless, and waits to be taken down."""
        return any(low < 0 for low, _ in self.gaps)

    @property
    def is_newer(self) -> bool:
        """Whether a newer release made it: it is neither used nor taken down by us."""
        return (
            self.token_version > RULES_VERSION
            or self.projection_version > PROJECTION_VERSION
            or self.name not in NAMES
        )

    def matches(self, definition: IndexDefinition) -> bool:
        """Whether the table was made by exactly this definition and these rules."""
        return (
            self.tokenizer == definition.tokenizer
            and self.token_version == definition.token_version
            and self.projection_version == PROJECTION_VERSION
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """What the file's owner chose, and what its writers need.

    Attributes:
        policy: which indexes are kept.
        trigram: whether the substring index is kept.
        plain_writer_at: when a process without the tokenizer last wrote, in
            microseconds since 1970 UTC; 0 for never.
    """

    policy: Policy = "auto"
    trigram: bool = True
    plain_writer_at: int = 0

    @property
    def has_plain_writer(self) -> bool:
        """Whether a process without the tokenizer wrote not long ago."""
        return _now() - self.plain_writer_at < _GRACE_US


def load_choice(connection: Connection) -> Choice:
    """Return what the file says of its indexes."""
    stored = dict(
        connection.execute(
            "SELECT key, value FROM meta WHERE key IN ('policy', 'trigram', 'plain_writer_at')"
        )
    )
    policy = stored.get("policy")
    return Choice(
        policy=policy if policy in POLICIES else "auto",
        trigram=stored.get("trigram", "1") != "0",
        plain_writer_at=number(stored.get("plain_writer_at")),
    )


def number(value: object) -> int:
    """Return a number of ``meta``; 0 where it is none, or damaged."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def check_policy(policy: str) -> None:
    """Raise InvalidArgument where there is no such policy."""
    if policy not in POLICIES:
        raise InvalidArgument(
            f"index policy must be one of {', '.join(POLICIES)}, not {shown(policy)}",
            hint="'auto' is right unless other programs read the file.",
        )


def wanted(policy: Policy, *, has_tokenizer: bool, trigram: bool) -> tuple[IndexDefinition, ...]:
    """Return the indexes that a policy keeps.

    ``auto`` keeps the smallest set that serves this host; ``portable`` adds what
    a reader without the extension needs; ``all`` keeps every table.
    """
    kept: list[IndexDefinition] = []
    if has_tokenizer:
        kept.append(CJK)
    if not has_tokenizer or policy in ("portable", "all"):
        kept.append(WORDS)
    if trigram:
        stock = not has_tokenizer or policy == "portable"
        kept.append(_PORTABLE_TRIGRAM if stock else TRIGRAM)
    return tuple(kept)


def _now() -> int:
    return time.time_ns() // 1_000


def load_states(connection: Connection) -> dict[str, IndexState]:
    """Return the state of every index that the file keeps, by name."""
    gaps: dict[str, list[tuple[int, int]]] = {}
    for name, low, high in connection.execute(
        "SELECT name, low, high FROM index_gaps ORDER BY name, high"
    ):
        gaps.setdefault(name, []).append((low, high))
    states = {}
    for row in connection.execute(
        "SELECT name, state, tokenizer, token_version, projection_version, changed_at, reason"
        " FROM indexes"
    ):
        name = str(row[0])
        states[name] = IndexState(*row, gaps=tuple(gaps.get(name, ())))  # type: ignore[misc]
    return states


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


def projections(definition: IndexDefinition, row: str) -> tuple[str, ...]:
    """SQL of each column as the index sees it in ``row``, which has a message's columns."""
    whole = definition.view == TRIGRAM.view  # no tool rows there, so nothing is cut
    projected = {"content": "{row}.content" if whole else _PROJECTED}
    return tuple(
        projected.get(column, f"{{row}}.{column}").format(row=row) for column in definition.columns
    )


def projection(definition: IndexDefinition, row: str) -> str:
    """SQL of all that the index sees of ``row``."""
    return ", ".join(projections(definition, row))


def _trigger_names(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{event}" for event in ("insert", "delete", "update"))


def _triggers(definition: IndexDefinition) -> Iterator[str]:
    """Triggers that keep an attached index in step with the messages."""
    name = definition.name
    columns = ", ".join(definition.columns)
    insert = (
        f"INSERT INTO {name} (rowid, {columns}) VALUES (new.id, {projection(definition, 'new')});"
    )
    delete = (
        f"INSERT INTO {name} ({name}, rowid, {columns})"
        f" VALUES ('delete', old.id, {projection(definition, 'old')});"
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
    note = (
        "INSERT OR IGNORE INTO index_debts (name, id, index_bytes, tool_name, tool_calls, content)"
        f" VALUES ('{name}', old.id, old.index_bytes, old.tool_name, old.tool_calls, old.content);"
    )
    _, deleted, updated = _trigger_names(name)
    when = f"WHEN {_in_index(definition, 'old')}"
    yield f"CREATE TRIGGER {deleted} AFTER DELETE ON messages {when} BEGIN {note} END"
    yield (
        f"CREATE TRIGGER {updated}"
        " AFTER UPDATE OF content, index_bytes, tool_name, tool_calls ON messages"
        f" {when} BEGIN {note} END"
    )


def triggers(definition: IndexDefinition, *, attached: bool) -> tuple[str, ...]:
    """Return the SQL of the triggers that an index has while attached or detached."""
    return tuple(_triggers(definition) if attached else _debt_triggers(definition))


def _drop_triggers(connection: Connection, name: str) -> None:
    for trigger in _trigger_names(name):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")


def _install(connection: Connection, name: str, statements: Iterable[str]) -> None:
    _drop_triggers(connection, name)
    for statement in statements:
        connection.execute(statement)


# --- attaching and detaching -----------------------------------------------------------


def top_id(connection: Connection) -> int:
    """Return the largest id that any message ever had."""
    return int(
        connection.one(
            "SELECT max("
            " coalesce((SELECT CAST(seq AS INTEGER) FROM sqlite_sequence WHERE name = 'messages'"
            "   AND typeof(seq) = 'integer'), 0), coalesce((SELECT max(id) FROM messages), 0))"
        )
    )


def id_span(connection: Connection) -> tuple[int, int]:
    """Return the smallest and the largest id of the messages there are; (1, 0) for none."""
    for first, last in connection.execute(
        "SELECT (SELECT min(id) FROM messages), (SELECT max(id) FROM messages)"
    ):
        if first is not None:
            return int(first), int(last)
    return 1, 0


def count_about(connection: Connection) -> int:
    """Return about how many messages there are: ids do not tell, many of theirs may be gone.

    A whole index knows how many rows it has.
    """
    for name in (CJK.name, WORDS.name):
        if connection.one("SELECT 1 FROM indexes WHERE name = ? AND state = 'ready'", (name,)):
            with contextlib.suppress(apsw.SQLError, apsw.CorruptError):
                if numbers := records.sizes(connection, name):
                    return numbers[0]
    return int(connection.one("SELECT coalesce(sum(message_count), 0) FROM sessions"))


def _set_state(connection: Connection, name: str, state: str, reason: str | None) -> None:
    connection.execute(
        "UPDATE indexes SET state = ?, reason = ?, changed_at = ? WHERE name = ?",
        (state, reason, _now(), name),
    )


def create(connection: Connection, definition: IndexDefinition) -> None:
    """Make an index; what messages there are become its gap."""
    name = definition.name
    columns = ", ".join(definition.columns)
    if connection.one("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,)) is not None:
        # It lost its row of state: nothing says what it holds.
        mark_for_rebuild(connection, name, f"{UNSOUND}, without its state")
        return
    connection.execute(
        f"CREATE VIRTUAL TABLE {name} USING fts5 ({columns},"
        f" content='{definition.view}', content_rowid='id',"
        f" {definition.tokenize}, {definition.options})"
    )
    top = top_id(connection)
    _note(connection, definition, "building" if top else "ready")
    if top:
        connection.execute("INSERT INTO index_gaps (name, low, high) VALUES (?, 0, ?)", (name, top))
    _install(connection, name, _triggers(definition))


def _note(connection: Connection, definition: IndexDefinition, state: str) -> None:
    """Note the state of an index that has none."""
    connection.execute(
        "INSERT OR IGNORE INTO indexes"
        " (name, state, tokenizer, token_version, projection_version, changed_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            definition.name,
            state,
            definition.tokenizer,
            definition.token_version,
            PROJECTION_VERSION,
            _now(),
        ),
    )


def detach(connection: Connection, name: str, reason: str) -> None:
    """Take an index out of use without touching its table, and say why.

    Messages from now on are in its gap, and a debt is noted for every change to
    what it holds, so that only those are made good when it is attached again.
    """
    _set_state(connection, name, "detached", reason)
    connection.execute(
        "INSERT OR IGNORE INTO index_gaps (name, low, high) VALUES (?, ?, ?)",
        (name, top_id(connection), OPEN_END),
    )
    _install(connection, name, _debt_triggers(_by_name(name)))


def mark_for_rebuild(connection: Connection, name: str, reason: str) -> None:
    """Say that what an index holds is worthless; maintenance takes it down, then builds it.

    The table is not touched: it may be damaged, or too big for the way of a request.
    """
    if name in NAMES:
        _note(connection, _by_name(name), "detached")
    _set_state(connection, name, "detached", reason)
    connection.execute("DELETE FROM index_gaps WHERE name = ?", (name,))
    connection.execute("DELETE FROM index_debts WHERE name = ?", (name,))
    connection.execute(
        "INSERT INTO index_gaps (name, low, high) VALUES (?, -1, ?)", (name, OPEN_END)
    )
    _drop_triggers(connection, name)


def count_debts(connection: Connection, name: str, limit: int) -> int:
    """Return how many changes an index has not been told of, counting to ``limit``."""
    return int(
        connection.one(
            "SELECT count(*) FROM (SELECT 1 FROM index_debts WHERE name = ? LIMIT ?)", (name, limit)
        )
    )


def pay_debts(connection: Connection, definition: IndexDefinition, limit: int) -> int:
    """Tell an index what changed while it was detached, oldest rows first.

    Returns:
        How many debts were paid.
    """
    name = definition.name
    columns = ", ".join(definition.columns)
    debts = connection.execute(
        "SELECT id FROM index_debts WHERE name = ? ORDER BY id LIMIT ?", (name, limit)
    ).fetchall()
    for debt in debts:
        # Inside SQLite: a damaged text must be taken out by the bytes that went in.
        connection.execute(
            f"INSERT INTO {name} ({name}, rowid, {columns})"
            f" SELECT 'delete', debt.id, {projection(definition, 'debt')}"
            " FROM index_debts AS debt WHERE debt.name = ? AND debt.id = ?",
            (name, debt[0]),
        )
        connection.execute(
            f"INSERT INTO {name} (rowid, {columns})"
            f" SELECT id, {columns} FROM {definition.view} WHERE id = ?",
            (debt[0],),
        )
        connection.execute("DELETE FROM index_debts WHERE name = ? AND id = ?", (name, debt[0]))
    return len(debts)


def attach(connection: Connection, definition: IndexDefinition) -> None:
    """Bring back a detached index that has no debts: close its open gap, set its triggers."""
    name = definition.name
    top = top_id(connection)
    # Another gap may end at the same id, where nothing was written meanwhile.
    connection.execute(
        "DELETE FROM index_gaps WHERE name = ? AND high = ? AND low >= ?", (name, OPEN_END, top)
    )
    connection.execute(
        "UPDATE index_gaps SET high = ? WHERE name = ? AND high = ?", (top, name, OPEN_END)
    )
    settle(connection, name)
    _install(connection, name, _triggers(definition))


def settle(connection: Connection, name: str) -> bool:
    """Set the state that follows from the gaps; return whether the index is ready."""
    gap = connection.one("SELECT 1 FROM index_gaps WHERE name = ?", (name,))
    _set_state(connection, name, "ready" if gap is None else "building", None)
    return gap is None


def _by_name(name: str) -> IndexDefinition:
    return next(each for each in INDEXES if each.name == name)


def served_by(connection: Connection, state: IndexState) -> IndexDefinition | None:
    """Return an index's definition where this connection can read and write it."""
    definition = definition_of(state)
    if definition is None or (definition.needs_extension and not connection.has_tokenizer):
        return None
    return definition


# --- before a write --------------------------------------------------------------------


def prepare_for_writing(connection: Connection) -> None:
    """Make the file's indexes what this connection can serve, before it writes.

    Runs at the start of every write transaction: another process, with another
    build or without the extension, may have changed them since. Costs three reads
    of tiny tables where nothing has to be done, and a bounded amount of work where
    something has: nothing here is proportional to the size of an index.
    """
    choice = load_choice(connection)
    states = load_states(connection)
    if not connection.has_tokenizer:
        _note_plain_writer(connection, choice)
    keep = {
        each.name: each
        for each in wanted(
            choice.policy, has_tokenizer=connection.has_tokenizer, trigram=choice.trigram
        )
    }
    for name, state in states.items():
        if name in NAMES and not state.is_rebuild:
            _prepare(connection, state, keep.get(name), choice)
    for name, definition in keep.items():
        if name not in states:
            create(connection, definition)


def _prepare(
    connection: Connection, state: IndexState, mine: IndexDefinition | None, choice: Choice
) -> None:
    name = state.name
    definition = served_by(connection, state)
    attached = state.state != "detached"
    if definition is None:
        if state.is_newer or not connection.has_tokenizer:
            # It stays for those who can serve it; our writes must not reach it.
            if attached:
                detach(connection, name, _why_not_served(connection, state))
            elif count_debts(connection, name, MOST_DEBTS) >= MOST_DEBTS:
                mark_for_rebuild(connection, name, "changed too much while detached")
            elif mine is not None and _now() - state.changed_at > _GRACE_US:
                mark_for_rebuild(connection, name, "no process that can serve it writes any more")
        else:
            mark_for_rebuild(connection, name, "made by other token rules")
    elif definition != mine and not _kept_for_others(definition, choice):
        why = "not kept by the policy" if mine is None else "made by another tokenizer"
        mark_for_rebuild(connection, name, why)
    elif not attached and count_debts(connection, name, PAID_AT_ONCE + 1) <= PAID_AT_ONCE:
        pay_debts(connection, definition, PAID_AT_ONCE)
        attach(connection, definition)


def _kept_for_others(definition: IndexDefinition, choice: Choice) -> bool:
    """Whether a process without the tokenizer needs the index, and still writes."""
    if definition.needs_extension or not choice.has_plain_writer:
        return False
    return definition.name != TRIGRAM.name or choice.trigram


def _note_plain_writer(connection: Connection, choice: Choice) -> None:
    now = _now()
    if now - choice.plain_writer_at >= _PLAIN_WRITER_NOTED * 1_000_000:
        connection.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('plain_writer_at', ?)", (str(now),)
        )


def _why_not_served(connection: Connection, state: IndexState) -> str:
    if state.is_newer:
        return "made by a newer release; a process of this one wrote to the file"
    return f"a process without the tokenizer wrote to the file ({connection.tokenizer_error})"
