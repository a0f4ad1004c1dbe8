# SPDX-License-Identifier: MIT
"""Verbs that bring messages in: import and append."""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, get_args

import click
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from mnemogram.cli.common import FAILURE, NOTHING, OK, Env, store_options, time_option
from mnemogram.cli.render import clean
from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.history.models import Message, Role, Session, Updated
from mnemogram.history.redact import redact_secrets
from mnemogram.history.upkeep.export import Imported
from mnemogram.importers import (
    DIRECTORY_SUFFIXES,
    FORMATS,
    LEFT_BRANCHES,
    Batch,
    ImportFailed,
    NothingFound,
    Report,
    by_number,
    read,
)

__all__ = ["append", "import_"]

_COUNTS: Final = (
    *("inserted", "repeated", "amended", "changed", "rewound", "refused", "tombstones"),
)
#: Broken records named in words; more of them are named in JSON.
_PROBLEMS_SHOWN: Final = 10
#: Messages stored in one transaction.
_TRANSACTION: Final = 2_000


_REDACT: Final = click.option(
    "--redact", is_flag=True, help="Take keys, tokens and passwords out before storing."
)


@dataclass(slots=True)
class _Result:
    """What became of one file."""

    report: Report
    sessions: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    error: ImportFailed | None = None
    passed_over: bool = False  # a file of a directory, without any conversation

    def to_dict(self) -> dict[str, Any]:
        return {
            "file": self.report.file,
            "format": self.report.format,
            "conversations": len(self.sessions),
            **{name: self.counts[name] for name in _COUNTS},
            "skipped": dict(self.report.skipped),
            "passed_over": self.passed_over,
            "untimed": self.report.untimed,
            "notes": dict(self.notes),
            "problem_count": self.report.problem_count,
            "problems": [
                {"where": each.where, "reason": each.reason} for each in self.report.problems
            ],
            "error": None if self.error is None else self.error.to_dict(),
        }


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["auto", *FORMATS]),
    default="auto",
    show_default=True,
)
@click.option("--source", help="Source of the sessions, in place of what the file says.")
@click.option("--session", help="Id of the session, for files with a single conversation.")
@click.option("--dry-run", is_flag=True, help="Read the files and store nothing.")
@_REDACT
@store_options
def import_(
    env: Env,
    files: tuple[str, ...],
    format_: str,
    source: str | None,
    session: str | None,
    dry_run: bool,
    redact: bool,
) -> int:
    """Import conversations of other programs from FILE...

    A FILE is JSON or JSON lines, plain or gzip, or a zip of them; a directory stands for
    the files in it, and - for standard input. Importing a file twice adds nothing; what
    was corrected or taken back since is corrected and taken back.
    """
    start = time.perf_counter()
    paths = list(dict.fromkeys(each for name in files for each in _expand(name)))
    inside = {path for path in paths if path not in files}
    results: list[_Result] = []
    if dry_run:
        for path in paths:
            results.append(_file(env, None, path, format_, source, session))
    else:
        redactor = redact_secrets if redact else None
        with env.history(create=True, redactor=redactor) as history:
            links: list[Batch] = []
            for path in paths:
                results.append(_file(env, history, path, format_, source, session, links))
            # A session may be named as another's sequel before it was read.
            history.import_conversations(each.conversation() for each in links)
    elapsed = time.perf_counter() - start
    for each in results:
        if isinstance(each.error, NothingFound) and each.report.file in inside:
            each.error, each.passed_over = None, True
    failed = any(each.error or each.report.problem_count for each in results)
    if env.json:
        totals: Counter[str] = sum((each.counts for each in results), Counter())
        env.emit(
            {
                "success": not failed,
                "dry_run": dry_run,
                "conversations": len(set().union(*(each.sessions for each in results))),
                **{name: totals[name] for name in _COUNTS},
                "files_passed_over": sum(each.passed_over for each in results),
                "untimed": sum(each.report.untimed for each in results),
                "seconds": round(elapsed, 3),
                "files": [each.to_dict() for each in results],
            }
        )
    else:
        for each in results:
            if not each.passed_over:
                _show(env, each, dry_run)
        _show_total(env, results, dry_run, elapsed)
    if failed:
        return FAILURE
    return OK if any(each.sessions for each in results) else NOTHING


def _expand(name: str) -> Iterator[str]:
    path = Path(name)
    if name == "-" or not path.is_dir():
        yield name
        return
    inside = (str(each) for each in path.rglob("*") if each.is_file())
    wanted = (each for each in inside if each.lower().endswith(DIRECTORY_SUFFIXES))
    yield from sorted(wanted, key=by_number)


def _file(
    env: Env,
    history: History | None,
    path: str,
    format_: str,
    source: str | None,
    session: str | None,
    links: list[Batch] | None = None,
) -> _Result:
    result = _Result(Report())
    with _progress(env, path) as progress:
        batches = read(path, format=format_, report=result.report, progress=progress)
        waiting: list[Batch] = []
        try:
            for batch in batches:
                if not (batch.messages or batch.left or batch.states or batch.records):
                    if links is not None:
                        links.append(batch)
                    continue
                waiting.append(_renamed(batch, source, session, result))
                if sum(len(each.messages) for each in waiting) >= _TRANSACTION:
                    _store(history, waiting, result)
                    waiting = []
        except ImportFailed as error:
            result.error = error
        _store(history, waiting, result)
    tombstones = result.report.tombstones
    if tombstones and history is not None:
        restored = _restore(history, tombstones)
        result.counts["tombstones"] += restored.tombstones
        result.notes.update(restored.notes)
    return result


def _renamed(batch: Batch, source: str | None, session: str | None, result: _Result) -> Batch:
    changed = batch.session
    if source is not None:
        changed = replace(changed, source=source)
    if session is not None:
        result.counts["named"] += changed.id not in result.sessions
        result.sessions.add(changed.id)
        if result.counts["named"] > 1:
            raise ImportFailed(
                result.report.file,
                None,
                "more than one conversation, and --session names a single one",
                hint="Leave --session out; each conversation gets an id of its own.",
            )
        changed = replace(changed, id=session)
    if changed == batch.session:
        return batch
    named = {"session": {"id": changed.id, "source": changed.source}}
    named["message"] = {"session": changed.id}
    records = tuple(record | named[record["type"]] for record in batch.records)
    made = batch.made and session is None
    return batch._replace(session=changed, records=records, made=made)


def _store(history: History | None, batches: list[Batch], result: _Result) -> None:
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
        for name in _COUNTS:
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
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=env.err, transient=True) as bar:
        task = bar.add_task(clean(Path(path).name), total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _show(env: Env, result: _Result, dry_run: bool) -> None:
    report = result.report
    counts = result.counts
    words = [_count(len(result.sessions), "conversation")]
    if dry_run:
        words.append(_count(counts["read"], "message"))
    else:
        words.append(f"{counts['inserted']:,} new")
        words += [f"{counts[name]:,} {said}" for name, said in _SAID if counts[name]]
    env.say(f"{clean(report.file)} ({report.format or 'nothing in it'}): {', '.join(words)}")
    for what, count in report.skipped.items():
        if what != LEFT_BRANCHES or dry_run:
            env.say(f"  left out: {count:,} {clean(what)}", "dim")
    if report.untimed:
        env.say(f"  without a time: {_count(report.untimed, 'message')}", "dim")
    for note, count in result.notes.items():
        env.say(f"  note: {clean(note)} ({_count(count, 'time')})", "dim")
    for problem in report.problems[:_PROBLEMS_SHOWN]:
        env.say(f"  not imported: {clean(problem.where)}: {clean(problem.reason)}", "yellow")
    more = report.problem_count - _PROBLEMS_SHOWN
    if more > 0:
        env.say(f"  not imported: {_count(more, 'more record')}; --json names them", "yellow")
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


def _show_total(env: Env, results: list[_Result], dry_run: bool, elapsed: float) -> None:
    counts: Counter[str] = sum((each.counts for each in results), Counter())
    number = counts["read" if dry_run else "inserted"]
    rate = f", {number / elapsed:,.0f} a second" if number > 999 else ""
    passed = sum(each.passed_over for each in results)
    if passed:
        env.say(f"{_count(passed, 'file')} without a conversation passed over")
    what = "would be read" if dry_run else "stored"
    env.say(f"{_count(number, 'message')} {what} in {elapsed:.1f} s{rate}", "bold")


@click.command()
@click.argument("text", default="-")
@click.option("--session", required=True, help="Id of the conversation.")
@click.option("--role", type=click.Choice(get_args(Role)), default="user", show_default=True)
@click.option("--uid", help="Id of the message; the same one is stored once.")
@time_option("--timestamp", "When it was said, now by default")
@click.option("--tool-name", help="The tool that answers, with --role tool.")
@click.option("--tool-call-id", help="The call it answers, with --role tool.")
@click.option("--title", help="Title of the conversation.")
@click.option("--source", default="chat", show_default=True, help="Where it happens.")
@click.option("--model", help="The model that answers.")
@click.option("--parent", help="Id of the session that this one continues.")
@_REDACT
@store_options
def append(
    env: Env,
    text: str,
    session: str,
    role: Role,
    uid: str | None,
    timestamp: datetime | None,
    tool_name: str | None,
    tool_call_id: str | None,
    title: str | None,
    source: str,
    model: str | None,
    parent: str | None,
    redact: bool,
) -> int:
    """Store TEXT as the next message of a conversation; - reads standard input."""
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        text = text.removesuffix("\n").removesuffix("\r")
    if not text and role != "tool":
        raise click.UsageError("there is no text to store")
    # Who types the same again says it again.
    turn = uuid.uuid4().hex if uid is None and timestamp is None else None
    message = Message(
        role,
        text,
        uid=uid,
        timestamp=timestamp,
        tool_name=tool_name,
        tool_call_id=tool_call_id,
    )
    about = Session(session, source=source, title=title, model=model, parent=parent)
    with env.history(create=True, redactor=redact_secrets if redact else None) as history:
        result = history.append(about, [message], turn=turn)
    if env.json:
        env.emit({"success": not result.refused, **result.to_dict()})
    else:
        for note in result.notes:
            env.say(f"note: {clean(note)}", "dim")
        if result.refused:
            env.say("refused: the session was deleted", "bold red")
        elif result.repeated:
            other = " with other text" if result.changed else ""
            env.say(f"message {result.ids[0]} was there before{other}; nothing was changed", "dim")
        else:
            env.say(f"message {result.ids[0]} stored", "dim")
    return FAILURE if result.refused else OK
