# SPDX-License-Identifier: MIT
"""Random damage: every public call answers or raises one of our errors, in bounded time.

And what is undamaged is found: a message that the file still holds as it was is found by
its word, or the answer is an error of ours, or ``check`` tells of the damage. After a repair
that left nothing beyond repair, everything that is left is found.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import apsw

from bench.harm.stores import SUFFIXES, Report, attempt, calls, changes, texts, word
from mnemogram import History, MnemogramError
from mnemogram.history.index import state as indexes
from mnemogram.history.index.build import SHADOW_TABLES
from mnemogram.history.upkeep import check as checks

PAGE: Final = 4096
#: Messages that a check looks up in each index; what it finds otherwise is compared whole.
_SAMPLED: Final = 6


def _flip(chance: random.Random, data: bytearray) -> None:
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _zero(chance: random.Random, data: bytearray) -> None:
    start = chance.randrange(len(data))
    length = chance.choice((1, 16, 512, PAGE, 3 * PAGE))
    data[start : start + length] = bytes(min(length, len(data) - start))


def _zero_page(chance: random.Random, data: bytearray) -> None:
    start = chance.randrange(max(1, len(data) // PAGE)) * PAGE
    data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))


def _cut(chance: random.Random, data: bytearray) -> None:
    keep = chance.randrange(len(data))
    del data[keep if chance.random() < 0.5 else keep // PAGE * PAGE :]


def _swap(chance: random.Random, data: bytearray) -> None:
    pages = len(data) // PAGE
    if pages < 3:
        return
    for _ in range(chance.choice((1, 1, 3))):
        one, other = (chance.randrange(1, pages) * PAGE for _ in range(2))
        data[one : one + PAGE], data[other : other + PAGE] = (
            data[other : other + PAGE],
            data[one : one + PAGE],
        )


def _double(chance: random.Random, data: bytearray) -> None:
    pages = len(data) // PAGE
    if pages < 3:
        return
    one, other = (chance.randrange(1, pages) * PAGE for _ in range(2))
    data[one : one + PAGE] = data[other : other + PAGE]


def _noise(chance: random.Random, data: bytearray) -> None:
    start = chance.randrange(len(data))
    piece = chance.randbytes(chance.choice((4, 100, PAGE)))
    data[start : start + len(piece)] = piece[: len(data) - start]


def _header(chance: random.Random, data: bytearray) -> None:
    for _ in range(chance.choice((1, 2, 4))):
        data[chance.randrange(min(100, len(data)))] = chance.randrange(256)


_BYTES: Final[tuple[Callable[[random.Random, bytearray], None], ...]] = (
    *(_flip, _flip, _flip, _zero, _zero_page, _cut, _swap, _swap, _double, _noise, _header),
)


def _harm_bytes(chance: random.Random, path: Path) -> str:
    target = path
    wal = Path(f"{path}-wal")
    if wal.exists() and wal.stat().st_size and chance.random() < 0.5:
        target = wal
    how = chance.choice(_BYTES)
    data = bytearray(target.read_bytes())
    how(chance, data)
    target.write_bytes(data)
    return f"{how.__name__[1:]} in {target.name}"


_GARBAGE: Final = (None, "", "x", 0, -1, 2**62, 0.5, b"\xff\xfe", b"", "\u732b" * 50, b"\x00" * 99)


def _harm_tables(chance: random.Random, path: Path) -> str:
    """Change what only SQLite and FTS5 should: shadow, configuration and state tables, schema."""
    connection = apsw.Connection(str(path))
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.execute("PRAGMA ignore_check_constraints = ON").fetchall()
        index = chance.choice(sorted(indexes.NAMES))
        part = chance.choice(SHADOW_TABLES)
        statements: tuple[tuple[str, Any], ...] = (
            (f"DELETE FROM {index}_{part}", None),
            (f"DROP TABLE {index}_{part}", None),
            (f"UPDATE {index}_config SET v = ? WHERE k = 'version'", (chance.choice(_GARBAGE),)),
            (f"DELETE FROM {index}_config WHERE k = 'version'", None),
            (
                f"INSERT OR REPLACE INTO {index}_config VALUES (?, ?)",
                (
                    chance.choice(("rank", "pgsz", "crisismerge", "automerge", "secure-delete")),
                    chance.choice(("", "nosuch()", "bm25(", 0, -5, 2**40, b"\xff")),
                ),
            ),
            (
                f"UPDATE {index}_data SET block = ? WHERE id = ?",
                (chance.choice((b"", b"\x00", b"\xff" * 50, "x", None)), chance.choice((1, 10))),
            ),
            (
                f"DELETE FROM {index}_data WHERE id = (SELECT id FROM {index}_data"
                " ORDER BY random() LIMIT 1)",
                None,
            ),
            (
                f"UPDATE {index}_data SET block = randomblob(length(block)) WHERE id ="
                f" (SELECT id FROM {index}_data ORDER BY random() LIMIT 1)",
                None,
            ),
            (
                f"UPDATE {index}_idx SET pgno = ? WHERE rowid IN"
                f" (SELECT rowid FROM {index}_idx LIMIT 1)"
                if part == "never"
                else f"UPDATE {index}_idx SET pgno = ?",
                (chance.choice((0, 2, -1, 2**40)),),
            ),
            (
                f"UPDATE indexes SET {chance.choice(('state', 'tokenizer', 'token_version'))} = ?",
                (chance.choice(("ready", "detached", "building", "odd", 1, 99)),),
            ),
            ("DELETE FROM indexes WHERE name = ?", (index,)),
            ("DELETE FROM index_gaps", None),
            (
                "INSERT INTO index_gaps VALUES (?, ?, ?)",
                (index, chance.choice((-1, 0, 50, 2**40)), chance.choice((-5, 7, 50, 2**63 - 1))),
            ),
            ("UPDATE meta SET value = ?", (chance.choice(_GARBAGE),)),
            ("DELETE FROM meta", None),
            (
                f"UPDATE sessions SET {chance.choice(('parent_id', 'root_id', 'message_count'))}"
                " = ? WHERE id % 2",
                (chance.choice((0, 1, 3, 99, -1)),),
            ),
            ("DELETE FROM sessions WHERE id = ?", (chance.randrange(1, 8),)),
            ("DELETE FROM sqlite_sequence", None),
            ("UPDATE sqlite_sequence SET seq = ?", (chance.choice((0, 3, 2**62, "x", None)),)),
            ("PRAGMA user_version = " + str(chance.choice((0, 1, 99, -1))), None),
            ("PRAGMA application_id = " + str(chance.choice((0, 1, -1))), None),
        )
        if chance.random() < 0.2:
            connection.execute("PRAGMA writable_schema = ON")
            name = chance.choice(
                [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")]
            )
            statement: tuple[str, Any] = chance.choice(
                (
                    ("DELETE FROM sqlite_schema WHERE name = ?", (name,)),
                    ("UPDATE sqlite_schema SET sql = 'CREATE TABLE' WHERE name = ?", (name,)),
                    (
                        "UPDATE sqlite_schema SET sql = replace(sql, 'text', 'txet')"
                        " WHERE name = ?",
                        (name,),
                    ),
                    (
                        "UPDATE sqlite_schema SET sql = replace(sql, 'unicode61', 'none')"
                        " WHERE name = ?",
                        (name,),
                    ),
                    ("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", (7, name)),
                )
            )
        else:
            statement = chance.choice(statements)
        connection.execute(*statement)
        return f"{statement[0]} {statement[1]!r}"
    except apsw.Error as error:
        return f"not harmed: {error}"
    finally:
        connection.close()


def case(seed: int, bases: dict[str, Path], folder: Path) -> Report:
    """Harm a copy of a store, call everything, repair it, and look for what is left."""
    checks._SAMPLED = _SAMPLED  # type: ignore[misc]
    chance = random.Random(seed)
    report = Report(cases=1)
    kind = chance.choice(sorted(bases))
    path = folder / "state.db"
    for suffix in SUFFIXES:
        if Path(f"{bases[kind]}{suffix}").exists():
            shutil.copy(f"{bases[kind]}{suffix}", f"{path}{suffix}")
    harm = _harm_tables if chance.random() < 0.4 else _harm_bytes
    about = f"seed {seed} ({kind}, {harm(chance, path)})"
    history: History | None = attempt(
        "open", lambda: History.open(path, busy_timeout=2.0), report, about
    )
    if history is None:
        return report
    try:
        _look(history, chance, report, about)
        for name, call in changes(history, chance, folder):
            attempt(name, call, report, about)
        done = attempt("repair", lambda: history.repair(dry_run=False), report, about)
        if done is not None:
            well = not done.beyond_repair and not done.failed
            report.count(f"repair: {'all' if well else 'not all'} mended")
            if well and not (done.after is not None and done.after.ok):
                report.findings.append(f"{about}: repaired, but {done.after.findings}"[:600])
            if well:
                attempt("maintain", lambda: _finish(history), report, about)
                _look(history, chance, report, f"{about} repaired")
                attempt("purge", history.purge, report, about)
                after = attempt("check", history.check, report, about)
                if after is None or not after.ok:
                    report.findings.append(f"{about}: purged, but {after}"[:600])
    finally:
        attempt("close", history.close, report, about)
    return report


def _finish(history: History) -> None:
    for _ in range(200):
        done = history.maintain()
        if done.failed:
            raise AssertionError(f"maintain failed: {done.parts}")
        if not done.more:
            return
    raise AssertionError("maintain never ends")


def _look(history: History, chance: random.Random, report: Report, about: str) -> None:
    """Call all that reads, and ask for some messages that the file holds as they were."""
    sound = None
    for name, call in calls(history, chance):
        answer = attempt(name, call, report, about)
        if name == "check":
            sound = answer is not None and answer.ok
    try:
        held = texts(history)
    except (MnemogramError, ValueError, TypeError):
        return
    for number in chance.sample(sorted(held), min(6, len(held))):
        if word(number) not in str(held[number]) or number % 4 == 2:
            continue
        try:
            found = history.search(word(number), limit=10)
        except MnemogramError:
            report.count("lost: an error of ours")
            continue
        except Exception as error:
            report.findings.append(f"{about}: search raised {type(error).__name__}: {error}")
            continue
        if any(word(number) in each.content for hit in found.results for each in hit.messages):
            report.count("found")
        elif sound:
            report.findings.append(f"{about}: {word(number)} is not found, and check says ok")
        else:
            report.count("not found, and check tells")
