# SPDX-License-Identifier: MIT
"""The stores that are harmed, and every public call of one."""

from __future__ import annotations

import io
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mnemogram import History, Message, MnemogramError, Session

SUFFIXES: Final = ("", "-wal", "-shm")
#: Seconds that one call may take on a store of this size, on a busy machine.
PATIENCE: Final = 30.0
_TEXTS: Final = (
    "明早九点预约牙医复诊",
    "東京都厅の近くで人々が集まる",
    "예약을 바꿔줘, 내일 오후로",
    "The job_new1 run failed: retry_max: 5 reached",
    "พรุ่งนี้นัดหมอฟัน",
    "Øresund crossing; café with a view",
    "a longer answer about queues, caches and their owners, who are never at home " * 40,
)


@dataclass
class Report:
    """What a run came to.

    Attributes:
        cases: how many stores were harmed, or calls made.
        outcomes: how often each outcome was met.
        findings: what was not as it should be.
    """

    cases: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def count(self, outcome: str) -> None:
        """Count an outcome."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def add(self, other: Report) -> None:
        """Take over what another run came to."""
        self.cases += other.cases
        for outcome, count in other.outcomes.items():
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + count
        self.findings += other.findings


def word(number: int) -> str:
    """Return the word that one message alone holds."""
    return f"wq{number:04d}x"


def fill(history: History, first: int, count: int, session: str) -> None:
    """Append messages, each with a word of its own."""
    history.append(
        Session(session, title=f"about {session}"),
        [
            Message(
                ("user", "assistant", "tool", "user")[number % 4],
                f"{word(number)} {_TEXTS[number % len(_TEXTS)]}",
                uid=f"u{number}",
                tool_name="grep" if number % 4 == 2 else None,
                tool_calls=[{"name": "f", "arguments": {"n": number}}] if number % 9 == 1 else None,
            )
            for number in range(first, first + count)
        ],
    )


def make(path: Path, kind: str) -> None:
    """Make a store of 120 messages; ``wal`` leaves a part of it in the WAL, as a kill does."""
    history = History.open(path, policy="all")
    for place in range(6):
        fill(history, place * 16, 16, f"s{place}")
    history.append(Session("child", parent="s1"), [Message("user", f"{word(96)} child", uid="u96")])
    fill(history, 200, 20, "gone")
    while history.maintain().more:
        pass
    history.delete_session("gone")
    if kind == "wal":
        with history._database.exclusive() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    fill(history, 97, 23, "last")
    if kind == "wal":
        for suffix in SUFFIXES:
            shutil.copy(f"{path}{suffix}", f"{path}.kept{suffix}")
        history.close()
        for suffix in SUFFIXES:
            Path(f"{path}{suffix}").unlink(missing_ok=True)
            shutil.move(f"{path}.kept{suffix}", f"{path}{suffix}")
        Path(f"{path}-shm").unlink()
    else:
        history.close()


def texts(history: History) -> dict[int, str]:
    """Return what the file holds, by the number of the word; raises where it cannot be read."""
    with history._database.read() as connection:
        rows = connection.execute("SELECT uid, content FROM messages NOT INDEXED").fetchall()
    return {int(uid[1:]): content for uid, content in rows if str(uid)[0] == "u"}


def calls(history: History, chance: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every public call of a history that reads or only looks."""
    some = f"s{chance.randrange(6)}"
    number = chance.randrange(120)
    yield "status", history.status
    yield "search", lambda: history.search(word(number), roles=("user", "assistant", "tool"))
    yield "search cjk", lambda: history.search("牙医 複診")
    yield "search part", lambda: history.search(word(number)[1:-1], detail="full")
    yield "search common", lambda: history.search("queues OR 近く", limit=10, sort="newest")
    yield "search old", lambda: history.search("caches owners", sort="oldest", after="2020-01-01")
    yield "read", lambda: history.read(some)
    yield "scroll", lambda: history.scroll(some, number + 1)
    yield "browse", history.browse
    yield "browse period", lambda: history.browse(after="2020-01-01", limit=3)
    yield "export", lambda: history.export(io.StringIO())
    yield "set_aside", history.set_aside
    yield "check", history.check
    yield "repair plan", history.repair
    yield "expire plan", lambda: history.expire("2020-01-01T00:00:00Z", dry_run=True)


def changes(
    history: History, chance: random.Random, folder: Path
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every public call that writes, but for the repair."""
    some = f"s{chance.randrange(6)}"
    yield "append", lambda: history.append("new", [Message("user", "new 牙医 words", uid="n1")])
    yield "append again", lambda: fill(history, 0, 16, "s0")
    yield "amend", lambda: history.amend("new", "n1", content="newer 牙医 words")
    yield "mark_compacted", lambda: history.mark_compacted("new", ["n1"])
    yield "end_session", lambda: history.end_session("new", "idle")
    yield "maintain", history.maintain
    yield "maintain again", history.maintain
    yield "backup", lambda: history.backup(folder / "copy.db", overwrite=True)
    yield "delete", lambda: history.delete_session("new")
    yield "expire", lambda: history.expire("1990-01-01T00:00:00Z")
    yield "rewind", lambda: history.rewind(some, [])


def attempt(name: str, call: Callable[[], Any], report: Report, about: str) -> Any:
    """Make a call: an answer, one of our errors, or a finding. Returns the answer or None."""
    began = time.monotonic()
    answer = None
    try:
        answer = call()
        report.count(f"{name}: answered")
        if hasattr(answer, "to_dict"):
            json.dumps(answer.to_dict(), allow_nan=False).encode()
    except MnemogramError as error:
        report.count(f"{name}: {error.code}")
    except Exception as error:
        report.count(f"{name}: {type(error).__name__}")
        report.findings.append(f"{about}: {name} raised {type(error).__name__}: {error}"[:400])
    taken = time.monotonic() - began
    if taken > PATIENCE:
        report.findings.append(f"{about}: {name} took {taken:.1f} s")
    return answer
