# SPDX-License-Identifier: MIT
"""Check and repair: is the file whole, do the indexes hold what they should.

FTS5's own comparison of an index with its content needs the write lock for as long as
it reads both. On a small file it runs in place; a larger one is copied first, so that
writers never wait for a check.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import apsw

from mnemogram.errors import InvalidArgument, MnemogramError, StorageUnavailable
from mnemogram.history import writing
from mnemogram.history.file import HistoryFile
from mnemogram.history.index import build as building
from mnemogram.history.index import damage
from mnemogram.history.index import state as indexes
from mnemogram.history.models import Message
from mnemogram.history.schema import SCHEMA
from mnemogram.sqlite import backup as copies
from mnemogram.sqlite import definitions, undecodable
from mnemogram.sqlite.database import Connection, Database
from mnemogram.values import Value

__all__ = ["CheckReport", "Finding", "RepairReport", "check", "repair"]

Kind: TypeAlias = Literal["file", "text", "index", "lineage", "counts", "write"]

#: Files up to this size are compared in place, within a second or so.
_IN_PLACE_BYTES: Final = 64 * 1024 * 1024
#: Rows of each index that are looked up by one of their own words.
_SAMPLED: Final = 40
_MOST_LINES: Final = 100
#: Rounds of check and repair, where a repair uncovers what another one mends.
_MOST_ROUNDS: Final = 5
_MOST_TRIES: Final = 2
#: Bytes of a damaged text that a finding shows on each side of the first that is no text.
_SHOWN_BYTES: Final = 30

_CHILDREN_AND_ROOTS: Final = """
SELECT count(*) FROM sessions AS s LEFT JOIN sessions AS p ON p.id = s.parent_id
 WHERE s.root_id <> coalesce(p.root_id, s.id)
"""
_UNREACHED: Final = """
WITH RECURSIVE reached (id) AS (
    SELECT id FROM sessions WHERE parent_id IS NULL
    UNION
    SELECT s.id FROM sessions AS s JOIN reached ON s.parent_id = reached.id
)
SELECT (SELECT count(*) FROM sessions) - (SELECT count(*) FROM reached)
"""
_MISCOUNTED: Final = """
SELECT count(*) FROM sessions AS s
 WHERE s.message_count <> (SELECT count(*) FROM messages AS m WHERE m.session_id = s.id)
"""


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """Something that is wrong.

    Attributes:
        kind: ``file`` (pages, b-trees, definitions, foreign keys), ``text`` (bytes that are
            no UTF-8), ``index`` (an FTS table), ``lineage``, ``counts`` or ``write`` (a trial
            write failed).
        where: the table or index.
        detail: what was found.
        repair: what ``repair`` does about it; None where only a backup helps.
    """

    kind: Kind
    where: str
    detail: str
    repair: str | None


@dataclass(frozen=True, slots=True)
class CheckReport(Value):
    """What a check found.

    Attributes:
        ok: whether nothing is wrong.
        findings: what is.
        checked: what was looked at, and how thoroughly.
        seconds: how long it took.
    """

    ok: bool
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class RepairReport(Value):
    """What a repair did, or would do.

    Attributes:
        dry_run: whether only the plan was made.
        actions: what is done, in order.
        beyond_repair: findings that only a backup helps against. Where pages of a table are
            among them, nothing is done: what is left is not to be put at risk.
        failed: actions that failed, each with its error.
        backup: copy of the file as it was before; None where nothing was changed.
        after: the check after the repair; None for a dry run.
    """

    dry_run: bool
    actions: tuple[str, ...]
    beyond_repair: tuple[str, ...]
    backup: str | None
    after: CheckReport | None
    failed: tuple[str, ...] = ()


# --- checking --------------------------------------------------------------------------


def check(store: HistoryFile) -> CheckReport:
    """Look at the whole file and every index; change nothing.

    Pages and b-trees, foreign keys, lineage and counters are read in one snapshot.
    Each index that this process can serve is compared with the messages (a whole one
    by FTS5 itself, one that is being built by a sample of its rows), a real match is
    made in it, and a trial append is made and rolled back.
    """
    started = time.monotonic()
    findings: list[Finding] = []
    checked: list[str] = []
    with store.database.read() as connection:
        sound = _check_file(connection, findings, checked)
        if sound:
            _check_texts(connection, findings, checked)
            _check_sessions(connection, findings, checked)
            _check_definitions(connection, findings, checked)
    if sound:
        with _comparable(store.database, checked) as comparable:
            with comparable.read() as connection:
                states = indexes.load_states(connection).values()
            for state in states:
                # Each in a transaction of its own: after damage was met in one, SQLite
                # calls everything in it damaged.
                with _rolled_back(comparable) as connection:
                    _check_index(connection, state, findings, checked)
        if not store.database.read_only:
            _check_write(store, findings, checked)
    return CheckReport(
        not findings, tuple(findings), tuple(checked), round(time.monotonic() - started, 3)
    )


def _check_file(connection: Connection, findings: list[Finding], checked: list[str]) -> bool:
    """Check pages and b-trees; return whether the rest can be looked at."""
    lines = _integrity(connection, None)
    checked.append("pages, b-trees and ordinary indexes")
    if any("2nd reference" in line for line in lines):
        # Whatever gave one's pages back would take the other's.
        findings.append(Finding("file", "pages used twice", "; ".join(lines[:5]), None))
    elif lines:
        for table, tree in _tables(connection):
            found = _integrity(connection, table)
            if found:
                findings.append(_file_finding(table, tree, found))
        if not findings:
            findings.append(Finding("file", "free pages", "; ".join(lines[:5]), "VACUUM"))
    sound = not any(each.kind == "file" and each.repair is None for each in findings)
    if not sound or not _check_schema(connection, findings, checked):
        return False
    for row in connection.execute("PRAGMA foreign_key_check").fetchall()[:_MOST_LINES]:
        detail = f"row {row[1]} refers to nothing"
        findings.append(Finding("file", str(row[0]), detail, "reattach"))
    checked.append("foreign keys")
    return True


_INDEX_TABLES: Final = frozenset({"indexes", "index_gaps", "index_debts"})
#: Tables that hold nothing but what the messages tell, or can be told again.
_DERIVED: Final = _INDEX_TABLES | {"meta"}


def _check_schema(connection: Connection, findings: list[Finding], checked: list[str]) -> bool:
    """Check that tables, indexes and views are what they were defined as.

    Returns whether they are: else nobody can rely on what is read through them.
    """
    wrong = definitions.differences(connection, SCHEMA)
    for each in wrong:
        detail = f"the {each.kind} is {each.how}"
        helped = each.redefined or each.name in _DERIVED
        # A table that is gone is made anew, empty; without the messages there is nothing to save.
        helped |= each.how == "missing" and each.name != "messages"
        findings.append(Finding("file", each.name, detail, "define" if helped else None))
    checked.append("definitions of tables, indexes and views")
    return not wrong


def _integrity(connection: Connection, table: str | None) -> list[str]:
    """Return what SQLite's integrity check complains of, in one table or all of them."""
    argument = _MOST_LINES if table is None else f'"{table}"'
    try:
        lines = [
            str(row[0])
            for row in connection.execute(f"PRAGMA integrity_check({argument})").fetchall()
        ]
    except (apsw.CorruptError, apsw.IOError) as error:
        return [str(error)]
    except damage.DAMAGE as error:
        if table is not None:
            return [str(error)]
        # A virtual table that this process has no tokenizer for cannot be opened.
        return [line for name, _ in _tables(connection) for line in _integrity(connection, name)]
    # What FTS5 adds of its own is compared more closely below.
    return [line for line in lines if line != "ok" and "FTS5" not in line.upper()]


def _tables(connection: Connection) -> list[tuple[str, str]]:
    """Return the tables that have pages, each with the FTS table it belongs to, or ''."""
    found = []
    for (name,) in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    ):
        owners = [
            each.name
            for each in indexes.INDEXES
            if str(name) in {f"{each.name}_{part}" for part in building.SHADOW_TABLES}
        ]
        found.append((str(name), owners[0] if owners else ""))
    return found


#: What is done about rows that refer to nothing. Messages come into a session of their own,
#: which has the number that theirs had; what only speaks of others goes.
_REATTACH: Final[dict[str, tuple[str, ...]]] = {
    "messages": (
        "INSERT INTO sessions"
        " (id, key, source, root_id, started_at, last_active_at, message_count)"
        " SELECT session_id, 'recovered-' || session_id || '-' || hex(randomblob(4)), 'chat',"
        "        session_id, min(timestamp), max(timestamp), count(*)"
        "   FROM messages WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id",
    ),
    "sessions": (
        "UPDATE sessions SET parent_id = NULL WHERE parent_id NOT IN (SELECT id FROM sessions)",
        "UPDATE sessions SET root_id = id WHERE root_id NOT IN (SELECT id FROM sessions)",
    ),
    "untimed": ("DELETE FROM untimed WHERE id NOT IN (SELECT id FROM messages)",),
    "undated": ("DELETE FROM undated WHERE id NOT IN (SELECT id FROM sessions)",),
    "session_tags": ("DELETE FROM session_tags WHERE session_id NOT IN (SELECT id FROM sessions)",),
    **{
        f"{kind}_{part}": (f"DELETE FROM {kind}_{part} WHERE id NOT IN (SELECT id FROM {kind}s)",)
        for kind in ("session", "message")
        for part in ("metadata", "fields")
    },
    "index_gaps": ("DELETE FROM index_gaps WHERE name NOT IN (SELECT name FROM indexes)",),
    "index_debts": ("DELETE FROM index_debts WHERE name NOT IN (SELECT name FROM indexes)",),
}
_REINDEXABLE: Final = ("missing from index", "wrong # of entries in index", "non-unique entry")


def _file_finding(table: str, tree: str, lines: Sequence[str]) -> Finding:
    detail = "; ".join(lines[:5])
    if tree:
        return Finding("index", tree, f"{table}: {detail}", "rebuild")
    rest = [line for line in lines if not _is_role_or_state(line)]
    if not rest:
        return Finding("text", table, detail, "mend")
    if all(any(mark in line for mark in _REINDEXABLE) for line in rest):
        return Finding("file", table, detail, "REINDEX")
    return Finding("file", table, detail, None)


def _is_role_or_state(line: str) -> bool:
    """Whether a complaint is about a role or state that is none."""
    return line == "CHECK constraint failed in messages"


def _check_texts(connection: Connection, findings: list[Finding], checked: list[str]) -> None:
    """Find the texts that are not UTF-8, each with where it stands."""
    for row_id, column, value in damage.unknown_words(connection):
        detail = f"message {row_id}: {column} is {value!r}, which is none"
        findings.append(Finding("text", "messages", detail, "mend"))
    found = 0
    for row in undecodable.find(connection, leave_out=indexes.NAMES):
        found += 1
        if found <= _MOST_LINES:
            findings.append(Finding("text", row.table, _described(connection, row), "mend"))
    if found > _MOST_LINES:
        more = f"{found - _MOST_LINES} more rows hold bytes that are not text"
        findings.append(Finding("text", "all tables", more, "mend"))
    checked.append("every text")


def _described(connection: Connection, row: undecodable.Undecodable) -> str:
    """Say which row holds bytes that are not text, and show them."""
    which = ", ".join(
        repr(undecodable.escaped(each)) if isinstance(each, bytes) else str(each)
        for each in row.key
    )
    name = {"messages": "message", "sessions": "session"}.get(row.table, "row")
    if row.table == "messages":
        about = connection.execute(
            "SELECT s.key, m.uid FROM messages AS m JOIN sessions AS s ON s.id = m.session_id"
            " WHERE m.id = ?",
            row.key,
        ).fetchone()
        if about is not None:
            which += f" (session {about[0]!r}, uid {about[1]!r})"
    return f"{name} {which}: bytes that are not text in " + ", ".join(
        f"{column}: {_around_damage(raw)}" for column, raw in row.texts.items()
    )


def _around_damage(raw: bytes) -> str:
    """Return the part of a text around its first byte that is no text."""
    try:
        raw.decode()
        place = 0
    except UnicodeDecodeError as error:
        place = error.start
    low, high = max(0, place - _SHOWN_BYTES), place + _SHOWN_BYTES
    shown = undecodable.escaped(raw[low:high])
    return f"{'…' if low else ''}{shown}{'…' if high < len(raw) else ''}"


def _check_sessions(connection: Connection, findings: list[Finding], checked: list[str]) -> None:
    wrong = int(connection.one(_CHILDREN_AND_ROOTS)) or int(connection.one(_UNREACHED))
    if wrong:
        findings.append(
            Finding("lineage", "sessions", f"{wrong} sessions have a wrong root", "relink")
        )
    wrong = int(connection.one(_MISCOUNTED))
    if wrong:
        findings.append(
            Finding("counts", "sessions", f"{wrong} sessions miscount their messages", "recount")
        )
    checked.append("lineage and counters")


def _check_definitions(connection: Connection, findings: list[Finding], checked: list[str]) -> None:
    """Check that each index has its table, its triggers and gaps that make sense."""
    schema = {
        str(name): str(sql)
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema")
    }
    states = indexes.load_states(connection)
    for name in sorted(indexes.NAMES & schema.keys() - states.keys()):
        findings.append(Finding("index", name, "nothing says what it holds", "rebuild"))
    for name, state in states.items():
        definition = indexes.definition_of(state)
        if state.is_rebuild or definition is None:
            continue
        wrong = None
        if name not in schema:
            wrong = "its table is missing"
        elif state.state == "building" and not state.gaps:
            wrong = "nothing says how far it is built"
        elif any(schema.get(trigger) != sql for trigger, sql in _expected(definition, state)):
            wrong = "its triggers are missing or changed"
        elif any(low > high for low, high in state.gaps) or any(
            one[1] > other[0] for one, other in zip(state.gaps, state.gaps[1:], strict=False)
        ):
            wrong = "its gaps overlap"
        if wrong is not None:
            findings.append(Finding("index", name, wrong, "rebuild"))
    checked.append("definitions of the indexes")


def _expected(
    definition: indexes.IndexDefinition, state: indexes.IndexState
) -> Iterator[tuple[str, str]]:
    for sql in indexes.triggers(definition, attached=state.state != "detached"):
        yield sql.split(" ", 3)[2], sql


@contextmanager
def _comparable(database: Database, checked: list[str]) -> Iterator[Database]:
    """Give the file, or a copy, in which an index may be compared without holding up writers."""
    if database.path.stat().st_size <= _IN_PLACE_BYTES and not database.read_only:
        yield database
        return
    copies.sweep(database.path.parent)
    with copies.unfinished(database.path) as copy:
        copies.copy_to(database, copy)
        checked.append("the indexes, in a copy of the file")
        with Database(copy, SCHEMA, load_extension=database.load_extension) as copied:
            yield copied


class _Undo(Exception):
    """Ends a transaction whose work is not to be kept."""


@contextmanager
def _rolled_back(database: Database) -> Iterator[Connection]:
    with suppress(_Undo), database.write() as connection:
        yield connection
        raise _Undo


def _check_index(
    connection: Connection,
    state: indexes.IndexState,
    findings: list[Finding],
    checked: list[str],
) -> None:
    name = state.name
    definition = indexes.served_by(connection, state)
    if definition is None or state.is_rebuild or any(each.where == name for each in findings):
        checked.append(f"{name}: not looked into ({state.reason or 'damaged or unserved here'})")
        return
    whole = state.state == "ready" and not indexes.count_debts(connection, name, 1)
    try:
        connection.execute(
            f"INSERT INTO {name} ({name}, rank) VALUES ('integrity-check', ?)", (int(whole),)
        )
        missing = _sample(connection, definition, state)
    except damage.DAMAGE as error:
        findings.append(Finding("index", name, f"not what the messages say: {error}", "rebuild"))
        return
    if missing:
        findings.append(
            Finding("index", name, f"message {missing[0]} is not found by its words", "rebuild")
        )
    how = "compared with every message" if whole else f"{_SAMPLED} messages looked up"
    checked.append(f"{name}: {how}")


def _sample(
    connection: Connection, definition: indexes.IndexDefinition, state: indexes.IndexState
) -> list[int]:
    """Look messages up by a word of theirs; return those that are not found."""
    name = definition.name
    columns = ", ".join(definition.columns)
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.mnemogram_sample USING fts5 ({columns}, content='',"
        f" {definition.tokenize}, {definition.options})"
    )
    connection.execute(
        "CREATE VIRTUAL TABLE temp.mnemogram_words USING fts5vocab (temp, mnemogram_sample, row)"
    )
    try:
        missing = []
        for row in _sampled_rows(connection, definition, state):
            if any(isinstance(each, str) and undecodable.REPLACEMENT in each for each in row):
                continue  # a damaged text is cut otherwise there than here
            connection.execute(
                f"INSERT INTO temp.mnemogram_sample (rowid, {columns})"
                f" VALUES ({', '.join('?' * len(row))})",
                row,
            )
            # A single character of a run is a token that only a prefix query reaches.
            word = connection.one(
                "SELECT term FROM temp.mnemogram_words WHERE length(term) > 1 LIMIT 1"
            )
            connection.execute(
                "INSERT INTO temp.mnemogram_sample (mnemogram_sample) VALUES ('delete-all')"
            )
            if word is None:
                continue
            quoted = str(word).replace('"', '""')
            found = connection.one(
                f"SELECT 1 FROM {name} WHERE {name} MATCH ? AND rowid = ?", (f'"{quoted}"', row[0])
            )
            if found is None:
                missing.append(int(row[0]))
        return missing
    finally:
        connection.execute("DROP TABLE temp.mnemogram_words")
        connection.execute("DROP TABLE temp.mnemogram_sample")


def _sampled_rows(
    connection: Connection, definition: indexes.IndexDefinition, state: indexes.IndexState
) -> Iterator[tuple[Any, ...]]:
    """Yield rows that the index holds, spread over all ids, as the index sees them."""
    first, top = indexes.id_span(connection)
    seen = definition.condition.format(row="m")
    last = 0
    for place in range(_SAMPLED):
        row = connection.execute(
            f"SELECT m.id, {indexes.projection(definition, 'm')} FROM messages AS m"
            f" WHERE m.id > max(?, ?) AND {seen} AND NOT EXISTS (SELECT 1 FROM index_gaps AS gap"
            "  WHERE gap.name = ? AND gap.high >= m.id AND gap.low < m.id)"
            " AND NOT EXISTS (SELECT 1 FROM index_debts AS debt"
            "  WHERE debt.name = ? AND debt.id = m.id)"
            " ORDER BY m.id LIMIT 1",
            (first - 1 + (top - first + 1) * place // _SAMPLED, last, state.name, state.name),
        ).fetchone()
        if row is None:
            return
        last = int(str(row[0]))
        yield row


def _check_write(store: HistoryFile, findings: list[Finding], checked: list[str]) -> None:
    """Append a message, find it, and undo it."""
    key = f"check-{secrets.token_hex(8)}"
    try:
        prepared = writing.prepare(key, [Message("user", f"电影订阅成功 {key}")])
        with _rolled_back(store.database) as connection:
            indexes.prepare_for_writing(connection)
            for each in findings:  # what is known to be bad is not tried again
                if each.kind == "index":
                    indexes.mark_for_rebuild(connection, each.where, each.detail)
            (row_id,) = writing.append(connection, prepared).ids
            for state in indexes.load_states(connection).values():
                if state.name == indexes.TRIGRAM.name or state.state == "detached":
                    continue
                query = f'"{key}"'
                if (
                    connection.one(
                        f"SELECT 1 FROM {state.name} WHERE {state.name} MATCH ? AND rowid = ?",
                        (query, row_id),
                    )
                    is None
                ):
                    findings.append(
                        Finding("index", state.name, "a new message is not found", "rebuild")
                    )
    except MnemogramError as error:
        findings.append(Finding("write", str(store.database.path), str(error), None))
    checked.append("a trial write, rolled back")


# --- repairing -------------------------------------------------------------------------


def repair(
    store: HistoryFile,
    *,
    dry_run: bool,
    backup: str | os.PathLike[str] | None,
    on_step: Callable[[str], Any] | None = None,
) -> RepairReport:
    """Do what the check says would help; by default only say it.

    What is repaired is derived from the messages, which are not touched, but for texts
    that are not UTF-8: what is no text in them becomes U+FFFD. Before the first change the
    file is copied.

    Args:
        backup: where to copy the file; beside it by default.
        on_step: called with the words of each action before it begins.

    Raises:
        InvalidArgument: the backup's file exists.
        StorageUnavailable: the backup or the repair could not be written.
    """
    report = check(store)
    hopeless = _beyond_repair(report)
    actions = _plan(report)
    if dry_run or not actions:
        words = tuple(f"{verb} {where}" for verb, where in actions)
        return RepairReport(dry_run, words, hopeless, None, None if dry_run else report)
    if store.database.read_only:
        raise StorageUnavailable("the store was opened read-only", hint="Open it for writing.")
    target = _backup_path(store.database.path) if backup is None else Path(backup)
    copies.backup(store.database, target)
    done: list[str] = []
    failed: list[str] = []
    tried: Counter[tuple[str, str]] = Counter()
    for _ in range(_MOST_ROUNDS):
        for verb, where in actions:
            tried[verb, where] += 1
            done.append(f"{verb} {where}")
            if on_step is not None:
                on_step(done[-1])
            try:
                _ACTIONS[verb](store, where)
            except MnemogramError as error:
                failed.append(f"{done[-1]}: {error}")
        report = check(store)
        # What one action leaves or uncovers is the work of another.
        actions = [each for each in _plan(report) if tried[each] < _MOST_TRIES]
        if not actions:
            break
    hopeless = tuple(dict.fromkeys((*hopeless, *_beyond_repair(report))))
    return RepairReport(False, tuple(done), hopeless, str(target), report, tuple(failed))


def _beyond_repair(report: CheckReport) -> tuple[str, ...]:
    return tuple(f"{each.where}: {each.detail}" for each in report.findings if each.repair is None)


#: What is done for all findings together, and what it is then said to be about.
_AT_ONCE: Final = {"mend": "damaged texts", "define": "tables, indexes and views"}


def _plan(report: CheckReport) -> list[tuple[str, str]]:
    if any(each.kind == "file" and each.repair is None for each in report.findings):
        return []
    order = ("define", "REINDEX", "mend", "reattach", "relink", "recount", "rebuild", "VACUUM")
    wanted = {
        (each.repair, _AT_ONCE.get(each.repair, each.where))
        for each in report.findings
        if each.repair is not None
    }
    return sorted(wanted, key=lambda action: (order.index(action[0]), action[1]))


def _backup_path(path: Path) -> Path:
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target = path.with_name(f"{path.name}.before-repair-{moment}")
    if target.exists():
        raise InvalidArgument(f"{target} exists already", hint="Name another file as backup.")
    return target


def _define(store: HistoryFile, where: str) -> None:
    """Make all again that is not as it was defined, and what was derived from it."""
    with store.database.write() as connection:
        emptied = definitions.define(connection, SCHEMA, _DERIVED)
        if "sqlite_sequence" in emptied:
            for table in ("messages", "session_items"):
                connection.execute(
                    "INSERT INTO sqlite_sequence (name, seq)"
                    f" SELECT '{table}', coalesce(max(id), 0) FROM {table}"
                )
        lost = _INDEX_TABLES.intersection(emptied)
        there = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    for name in sorted(indexes.NAMES & there) if lost else ():
        _rebuild(store, name)


def _mend(store: HistoryFile, where: str) -> None:
    def work(connection: Connection) -> None:
        damage.mend_words(connection)
        undecodable.mend(connection, leave_out=indexes.NAMES)

    store.write(work)


def _reindex(store: HistoryFile, table: str) -> None:
    with store.database.write() as connection:
        connection.execute(f'REINDEX "{table}"')


def _reattach(store: HistoryFile, table: str) -> None:
    with store.database.write() as connection:
        for statement in _REATTACH.get(table, ()):
            connection.execute(statement)


def _relink(store: HistoryFile, table: str) -> None:
    with store.database.write() as connection:
        writing.relink_all(connection)


def _recount(store: HistoryFile, table: str) -> None:
    with store.database.write() as connection:
        connection.execute(
            "UPDATE sessions SET message_count ="
            " (SELECT count(*) FROM messages AS m WHERE m.session_id = sessions.id)"
        )


def _rebuild(store: HistoryFile, name: str) -> None:
    """Take an index down and build it again, also where its pages cannot be read."""
    with store.database.write() as connection:
        indexes.mark_for_rebuild(connection, name, f"{indexes.UNSOUND} by a check")
        most = building.most_steps(connection)
    for _ in range(most):
        step: building.IndexStep = store.write(partial(building.step, name=name))
        if step.done:
            return
    raise StorageUnavailable(f"{name} was not built within {most} steps")


def _vacuum(store: HistoryFile, where: str) -> None:
    store.database.vacuum()


_ACTIONS: Final[dict[str, Callable[[HistoryFile, str], None]]] = {
    "define": _define,
    "mend": _mend,
    "reattach": _reattach,
    "REINDEX": _reindex,
    "relink": _relink,
    "recount": _recount,
    "rebuild": _rebuild,
    "VACUUM": _vacuum,
}
