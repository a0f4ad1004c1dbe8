# SPDX-License-Identifier: MIT
"""Verbs that look after a history: maintain, check, repair, backup, export."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from mnemogram.cli.common import FAILURE, OK, Env, store_options
from mnemogram.cli.render import Page, clean
from mnemogram.cli.status import size
from mnemogram.errors import InvalidArgument, StorageUnavailable
from mnemogram.history.upkeep.check import Finding
from mnemogram.history.upkeep.maintain import SHORTEST_PAUSE, Maintenance
from mnemogram.sqlite.backup import publish, sweep, unfinished

__all__ = ["backup", "check", "export", "maintain", "repair"]


@contextmanager
def bar(env: Env) -> Iterator[Progress | None]:
    """Give a progress bar where a person is watching."""
    if not env.err.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=env.err, transient=True) as progress:
        yield progress


@click.command()
@click.option("--watch", is_flag=True, help="Go on when nothing is due, until Ctrl-C.")
@click.option(
    "--batch-size",
    type=click.IntRange(1, 100_000),
    default=500,
    show_default=True,
    help="Most messages in one step.",
)
@click.option(
    "--no-pause",
    is_flag=True,
    help="Do not rest between steps: sooner done, but writers wait longer.",
)
@store_options
def maintain(env: Env, watch: bool, batch_size: int, no_pause: bool) -> int:
    """Do what is due: build indexes, expire, import older stores, merge, give space back.

    Works in short steps with pauses, so that others can read and write meanwhile; safe to
    interrupt, and to run in several processes.
    """
    done: Counter[str] = Counter()
    failed: dict[str, str] = {}
    with env.history(write=True) as history, bar(env) as progress:
        tasks: dict[str, Any] = {}

        def report(step: Maintenance) -> None:
            for part in step.parts:
                done[part.part] += part.done
                if part.error is not None:
                    if failed.get(part.part) != part.error:
                        env.say(f"{part.part}: {clean(part.error)}", "bold red")
                    failed[part.part] = part.error
                else:
                    failed.pop(part.part, None)
            if progress is not None:
                _advance(progress, tasks, step)

        steps = history.upkeep(
            batch_size=batch_size,
            watch=watch,
            on_step=report,
            shortest_pause=0.0 if no_pause else SHORTEST_PAUSE,
        )
    if env.json:
        env.emit(
            {"success": not failed, "steps": steps, "done": dict(done), "failed": dict(failed)}
        )
    else:
        words = ", ".join(f"{part}: {count:,}" for part, count in done.items() if count)
        env.say(f"{words or 'nothing was due'} ({steps:,} step{'s' if steps != 1 else ''})")
    return FAILURE if failed else OK


def _advance(progress: Progress, tasks: dict[str, Any], step: Maintenance) -> None:
    for name, share in step.progress.items():
        if name not in tasks:
            tasks[name] = progress.add_task(name, total=1.0)
        progress.update(tasks[name], completed=share)
    for name, task in tasks.items():
        if name not in step.progress:
            progress.update(task, completed=1.0)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@store_options
def backup(env: Env, file: Path, overwrite: bool) -> int:
    """Copy the history to FILE, a database of its own, while others use it."""
    with env.history() as history, bar(env) as progress:
        task = None if progress is None else progress.add_task(clean(file.name), total=None)

        def advance(copied: int, total: int) -> None:
            if progress is not None and task is not None:
                progress.update(task, completed=copied, total=total)

        path = history.backup(file, overwrite=overwrite, progress=advance)
    length = path.stat().st_size
    if env.json:
        env.emit({"success": True, "path": str(path), "bytes": length})
    else:
        env.say(f"{clean(str(path))}: {size(length)}")
    return OK


@click.command()
@click.argument("file", default="-")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@store_options
def export(env: Env, file: str, overwrite: bool) -> int:
    """Write the history to FILE as JSON lines, or to standard output."""
    if file == "-" and env.json:
        raise click.UsageError("--json needs a FILE: the export itself goes to standard output")
    with env.history() as history:
        if file == "-":
            descriptor = sys.stdout.fileno()
            with open(descriptor, "w", encoding="utf-8", newline="\n", closefd=False) as stream:
                result = history.export(stream)
        else:
            result = written(Path(file), overwrite, history.export)
    if env.json:
        env.emit({"success": True, "path": file, **result.to_dict()})
    else:
        env.say(f"{result.sessions:,} sessions and {result.messages:,} messages exported")
        if result.damaged:
            env.say(f"{result.damaged:,} of them are damaged: run check, then repair", "yellow")
    return OK


def written(path: Path, overwrite: bool, write: Callable[[Any], Any]) -> Any:
    """Write a private file that appears under its name only when it is whole."""
    if path.exists() and not overwrite:
        raise InvalidArgument(f"{path} exists", hint="Name another file, or add --overwrite.")
    try:
        sweep(path.parent)
        with unfinished(path) as partial:
            with open(partial, "w", encoding="utf-8", newline="\n") as stream:
                result = write(stream)
            publish(partial, path)
    except OSError as error:
        raise StorageUnavailable(
            f"cannot write {path}: {error.strerror or error}",
            hint="Check that the directory can be written and that the disk has room.",
        ) from error
    return result


@click.command()
@store_options
def check(env: Env) -> int:
    """Look at the whole file and every index, changing nothing; status 1 if anything is wrong."""
    with env.history(write=os.access(env.directory / "state.db", os.W_OK)) as history:
        report = history.check()
    if env.json:
        env.emit({"success": report.ok, **report.to_dict()})
    else:
        page = Page(env.out, env.zone)
        for finding in report.findings:
            _finding(page, finding)
        looked = ", ".join(report.checked)
        words = "nothing is wrong" if report.ok else "see above"
        env.say(f"{words} ({clean(looked)}; {report.seconds:.1f} s)")
    return OK if report.ok else FAILURE


def _finding(page: Page, finding: Finding) -> None:
    page.line(Text(clean(f"{finding.where}: {finding.kind}"), style="bold red"))
    page.line(clean(finding.detail), 2)
    remedy = finding.repair or "beyond repair; restore a backup"
    page.line(Text(clean(f"repair: {remedy}"), style="yellow"), 2)


@click.command()
@click.option("--apply", is_flag=True, help="Do it; without this, only show it.")
@click.option(
    "--backup",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the file is copied before the first change; beside it by default.",
)
@store_options
def repair(env: Env, apply: bool, backup: Path | None) -> int:
    """Do what check finds helpful, after a backup; of messages only what is no text is mended."""
    with env.history(write=apply) as history:
        report = history.repair(
            dry_run=not apply,
            backup=backup,
            on_step=None if env.json else lambda step: env.say(clean(step), "dim"),
        )
    good = (
        not report.beyond_repair and not report.failed and (report.after is None or report.after.ok)
    )
    if env.json:
        env.emit({"success": good, **report.to_dict()})
    else:
        page = Page(env.out, env.zone)
        for action in report.actions:
            page.line(clean(action))
        for damage in report.beyond_repair:
            page.line(Text(clean(f"beyond repair: {damage}"), style="bold red"))
        for failure in report.failed:
            page.line(Text(clean(f"failed: {failure}"), style="bold red"))
        if not report.actions and good:
            env.say("nothing to repair")
        elif not apply and report.actions:
            env.say("Nothing was changed: this was a dry run. Add --apply to do it.", "yellow")
        if report.backup is not None:
            env.say(f"a copy from before the repair: {clean(report.backup)}", "dim")
    return OK if good else FAILURE
