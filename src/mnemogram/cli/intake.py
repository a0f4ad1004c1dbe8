# SPDX-License-Identifier: MIT
"""Files into a history: what becomes of each, how far it is, and how one stops it."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from mnemogram.cli.common import Env
from mnemogram.cli.render import clean
from mnemogram.cli.words import count
from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.history.models import Updated
from mnemogram.history.upkeep.export import Imported
from mnemogram.importers import (
    DIRECTORY_SUFFIXES,
    LEFT_BRANCHES,
    SCATTERED,
    Batch,
    ImportFailed,
    Report,
    by_number,
    read,
)

__all__ = ["COUNTS", "Intake", "Result", "Stop", "expand", "show"]

#: What is counted of each file.
COUNTS: Final = (
    *("inserted", "repeated", "amended", "changed", "rewound", "refused", "tombstones"),
)
#: Broken records named in words; more of them are named in JSON.
_PROBLEMS_SHOWN: Final = 10
#: Messages stored in one transaction.
_TRANSACTION: Final = 2_000


@dataclass(slots=True)
class Result:
    """What became of one file.

    Attributes:
        report: what its reader saw.
        sessions: ids of its conversations.
        counts: messages by what became of them, see ``COUNTS``.
        notes: what the history said, counted.
        error: why it stopped.
        passed_over: whether it is a file of a directory, without any conversation.
        stopped: whether a person stopped it before its end.
        begun: conversations of which more may follow, and messages of them so far.
    """

    report: Report
    sessions: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    error: ImportFailed | None = None
    passed_over: bool = False
    stopped: bool = False
    begun: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "file": self.report.file,
            "format": self.report.format,
            "conversations": len(self.sessions),
            **{name: self.counts[name] for name in COUNTS},
            "skipped": dict(self.report.skipped),
            "passed_over": self.passed_over,
            "stopped": self.stopped,
            "untimed": self.report.untimed,
            "notes": dict(self.notes),
            "problem_count": self.report.problem_count,
            "problems": [
                {"where": each.where, "reason": each.reason} for each in self.report.problems
            ],
            "error": None if self.error is None else self.error.to_dict(),
        }

    @property
    def failed(self) -> bool:
        """Whether anything of it could not be read."""
        return self.error is not None or bool(self.report.problem_count)


class Stop:
    """A person's or a service manager's wish to stop, as a context manager.

    The first signal asks; whoever works ends where nothing is left in part, and is broken
    off where nothing was begun. The second one breaks off.

    Args:
        signals: which ones ask.
        words: what the first one is answered with, on standard error.
        begun: whether something always is, so that the first signal never breaks off.

    Attributes:
        asked: whether it is to stop.
        begun: whether breaking off may leave something in part.
    """

    def __init__(
        self,
        signals: Iterable[signal.Signals] = (signal.SIGINT,),
        words: str = "",
        *,
        begun: bool = False,
    ) -> None:
        self.asked = False
        self.begun = self._always = begun
        self._signals = tuple(signals)
        self._words = f"\n{words}\n".encode() if words else b""
        self._before: dict[signal.Signals, Any] = {}
        self._told, self._tell = socket.socketpair()
        self._tell.setblocking(False)

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for each in self._signals:
                if signal.getsignal(each) is not signal.SIG_IGN:
                    self._before[each] = signal.signal(each, self._ask)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)
        self._told.close()
        self._tell.close()

    def wait(self, seconds: float) -> bool:
        """Wait until it is asked for, or for so many seconds; return whether it was."""
        if not self.asked:
            select.select([self._told], [], [], seconds)
        return self.asked

    def nothing_begun(self) -> None:
        """Note that breaking off leaves nothing in part."""
        self.begun = self._always

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked or not self.begun:
            raise KeyboardInterrupt
        self.asked = True
        with suppress(OSError):
            self._tell.send(b"!")
        if self._words:
            with suppress(OSError):
                os.write(2, self._words)


@dataclass(slots=True)
class Intake:
    """Takes files into a history.

    Attributes:
        env: the command line's options.
        history: None stores nothing.
        stop: asked between conversations.
        format: how the files are written, or ``auto``.
        source: in place of what a file says.
        session: id of the only conversation of a file.
        links: conversations that were only named, as another's sequel.
        current: the file that is read, and what became of it so far.
    """

    env: Env
    history: History | None
    stop: Stop
    format: str = "auto"
    source: str | None = None
    session: str | None = None
    links: list[Batch] = field(default_factory=list)
    current: Result | None = None

    def take(self, path: str) -> Result:
        """Read a file and store what is in it."""
        result = self.current = Result(Report())
        self.stop.nothing_begun()
        with _progress(self.env, path) as progress:
            batches = read(path, format=self.format, report=result.report, progress=progress)
            waiting: list[Batch] = []
            with closing(batches):
                try:
                    for batch in self._wanted(batches, result):
                        waiting.append(self._renamed(batch, result))
                        if sum(len(each.messages) for each in waiting) >= _TRANSACTION:
                            _store(self.history, waiting, result)
                            waiting = []
                except ImportFailed as error:
                    result.error = error
            _store(self.history, waiting, result)
        tombstones = result.report.tombstones
        if tombstones and self.history is not None:
            restored = _restore(self.history, tombstones)
            result.counts["tombstones"] += restored.tombstones
            result.notes.update(restored.notes)
        result.begun.clear()
        return result

    def finish(self) -> None:
        """Store what links conversations: one may be named before it was read."""
        if self.history is not None and self.links:
            self.history.import_conversations(each.conversation() for each in self.links)
            self.links.clear()

    def _wanted(self, batches: Iterator[Batch], result: Result) -> Iterator[Batch]:
        """Yield what is to be stored: to the end, or until those that were begun are whole."""
        for batch in batches:
            key = batch.session.id
            if self.stop.asked and key not in result.begun:
                result.stopped = True
                if result.report.format not in SCATTERED:
                    return
                continue
            if not (batch.messages or batch.left or batch.states or batch.records):
                self.links.append(batch)
                continue
            if result.report.format not in SCATTERED and key not in result.begun:
                result.begun.clear()
            result.begun[key] += len(batch.messages)
            self.stop.begun = True
            yield batch

    def _renamed(self, batch: Batch, result: Result) -> Batch:
        changed = batch.session
        if self.source is not None:
            changed = replace(changed, source=self.source)
        if self.session is not None:
            result.counts["named"] += changed.id not in result.sessions
            result.sessions.add(changed.id)
            if result.counts["named"] > 1:
                raise ImportFailed(
                    result.report.file,
                    None,
                    "more than one conversation, and --session names a single one",
                    hint="Leave --session out; each conversation gets an id of its own.",
                )
            changed = replace(changed, id=self.session)
        if changed == batch.session:
            return batch
        named = {"session": {"id": changed.id, "source": changed.source}}
        named["message"] = {"session": changed.id}
        records = tuple(record | named[record["type"]] for record in batch.records)
        made = batch.made and self.session is None
        return batch._replace(session=changed, records=records, made=made)


def expand(name: str) -> Iterator[str]:
    """Yield a file as it is named, and of a directory those in it that may be read."""
    path = Path(name)
    if name == "-" or not path.is_dir():
        yield name
        return
    inside = (str(each) for each in path.rglob("*") if each.is_file())
    wanted = (each for each in inside if each.lower().endswith(DIRECTORY_SUFFIXES))
    yield from sorted(wanted, key=by_number)


def _store(history: History | None, batches: list[Batch], result: Result) -> None:
    result.sessions.update(batch.session.id for batch in batches)
    if history is None:
        result.counts["read"] += sum(len(batch.messages) for batch in batches)
        return
    try:
        added = _append(history, batches)
    except InvalidArgument as error:
        if len(batches) == 1:
            result.report.problem(f"session {batches[0].session.id}", str(error))
            return
        # One of them cannot be stored; the others can.
        for batch in batches:
            _store(history, [batch], result)
        return
    for one in added:
        for name in COUNTS:
            result.counts[name] += getattr(one, name, 0)
        result.notes.update(note.rpartition(": ")[2] for note in one.notes)


def _append(history: History, batches: list[Batch]) -> list[Updated] | list[Imported]:
    if all(batch.records for batch in batches):
        return [_restore(history, (record for batch in batches for record in batch.records))]
    return history.import_conversations(batch.conversation() for batch in batches)


def _restore(history: History, records: Iterable[dict[str, Any]]) -> Imported:
    """Store lines of our own export, which hold what an append does not take."""
    return history.import_export(json.dumps(record) for record in records)


@contextmanager
def _progress(env: Env, path: str) -> Iterator[Callable[[int, int | None], None] | None]:
    if not env.err.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=env.err, transient=True) as bar:
        task = bar.add_task(clean(Path(path).name), total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)


def show(env: Env, result: Result, dry_run: bool = False) -> None:
    """Say in words what became of a file."""
    report = result.report
    counts = result.counts
    words = [count(len(result.sessions), "conversation")]
    if dry_run:
        words.append(count(counts["read"], "message"))
    else:
        words.append(f"{counts['inserted']:,} new")
        words += [f"{counts[name]:,} {said}" for name, said in _SAID if counts[name]]
    env.say(f"{clean(report.file)} ({report.format or 'nothing in it'}): {', '.join(words)}")
    for what, number in report.skipped.items():
        if what != LEFT_BRANCHES or dry_run:
            env.say(f"  left out: {number:,} {clean(what)}", "dim")
    if report.untimed:
        env.say(f"  without a time: {count(report.untimed, 'message')}", "dim")
    for note, number in result.notes.items():
        env.say(f"  note: {clean(note)} ({count(number, 'time')})", "dim")
    for problem in report.problems[:_PROBLEMS_SHOWN]:
        env.say(f"  not imported: {clean(problem.where)}: {clean(problem.reason)}", "yellow")
    more = report.problem_count - _PROBLEMS_SHOWN
    if more > 0:
        env.say(f"  not imported: {count(more, 'more record')}; --json names them", "yellow")
    if result.error is not None:
        env.say(f"mnemogram: {clean(str(result.error))}", "bold red")
        env.say(f"  {clean(result.error.hint)}")


_SAID: Final = (
    ("repeated", "known before"),
    ("amended", "of them corrected"),
    ("changed", "of them with other text, left as they are"),
    ("rewound", "on branches that were left, or taken back: kept, and hidden"),
    ("refused", "refused: their session was deleted"),
    ("tombstones", "deletions taken over"),
)
