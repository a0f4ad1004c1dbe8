# SPDX-License-Identifier: MIT
"""Verbs that bring messages in: import and append."""

from __future__ import annotations

import sys
import time
import uuid
from collections import Counter
from contextlib import nullcontext
from datetime import datetime
from signal import SIGINT, SIGTERM
from typing import Final, get_args

import click

from mnemogram.cli.common import (
    FAILURE,
    INTERRUPTED,
    NOTHING,
    OK,
    Env,
    store_options,
    time_option,
)
from mnemogram.cli.intake import COUNTS, Intake, Result, Stop, expand, show
from mnemogram.cli.render import clean
from mnemogram.cli.words import count
from mnemogram.history.models import Message, Role, Session
from mnemogram.history.redact import redact_secrets
from mnemogram.importers import FORMATS, NothingFound
from mnemogram.importers.places import Program

__all__ = ["append", "import_"]

_STOPPING: Final = "Stopping when the conversation is whole; once more stops at once."
_GO_ON: Final = "To go on, run the same command again: what is stored is not stored twice."

_REDACT: Final = click.option(
    "--redact", is_flag=True, help="Take keys, tokens and passwords out before storing."
)


@click.command("import")
@click.argument("files", nargs=-1, metavar="FILE...")
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
@click.option(
    "--find",
    is_flag=True,
    help="Show what programs on this machine hold; with their names, import it.",
)
@click.option("--all", "everything", is_flag=True, help="With --find: all that it shows.")
@click.option("--watch", is_flag=True, help="Keep following what is named, until stopped.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.05, max=86_400),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="With --watch: between two looks.",
)
@_REDACT
@store_options
def import_(
    env: Env,
    files: tuple[str, ...],
    format_: str,
    source: str | None,
    session: str | None,
    dry_run: bool,
    find: bool,
    everything: bool,
    watch: bool,
    interval: float,
    redact: bool,
) -> int:
    """Import conversations of other programs from FILE...

    A FILE is JSON or JSON lines, plain or gzip, or a zip of them; a directory stands for
    the files in it, and - for standard input. Importing a file twice adds nothing; what
    was corrected or taken back since is corrected and taken back.

    With --find, what programs on this machine hold is shown, and imported where it is
    chosen: by names in place of FILE..., or --all. With --watch it is followed.
    """
    if everything and not find:
        raise click.UsageError("--all goes with --find")
    if everything and files:
        raise click.UsageError("name programs, or say --all")
    if watch and (session is not None or dry_run):
        raise click.UsageError("--watch goes with neither --session nor --dry-run")
    if watch and "-" in files:
        raise click.UsageError("standard input cannot be followed")
    if not files and not everything and (watch or not find):
        chosen_by = "--find with names or --all" if find else "FILE..., or --find"
        raise click.UsageError(f"Missing argument: {chosen_by}.")
    redactor = redact_secrets if redact else None
    programs: tuple[Program, ...] = ()
    if find:
        from mnemogram.cli.finding import chosen, files_found, show_found

        programs = chosen(files, everything)
        if not programs:
            return show_found(env)
    if watch:
        from mnemogram.cli.finding import follow

        with Stop((SIGINT, SIGTERM), begun=True) as stop:
            return follow(
                *(env, () if find else files, programs),
                interval=interval,
                redactor=redactor,
                stop=stop,
                format_=format_,
                source=source,
            )
    start = time.perf_counter()
    if find:
        paths = files_found(programs)
        inside = set(paths)
    else:
        paths = list(dict.fromkeys(each for name in files for each in expand(name)))
        inside = {path for path in paths if path not in files}
    results: list[Result] = []
    store = nullcontext() if dry_run else env.history(create=True, redactor=redactor)
    with Stop(words=_STOPPING) as stop, store as history:
        intake = Intake(env, history, stop, format_, source, session)
        try:
            for path in paths:
                if stop.asked:
                    break
                results.append(intake.take(path))
            intake.finish()
        except KeyboardInterrupt:
            _say_broken_off(env, intake.current)
            raise
    elapsed = time.perf_counter() - start
    for each in results:
        if isinstance(each.error, NothingFound) and each.report.file in inside:
            each.error, each.passed_over = None, True
    stopped = len(results) < len(paths) or any(each.stopped for each in results)
    failed = any(each.failed for each in results)
    if env.json:
        totals: Counter[str] = sum((each.counts for each in results), Counter())
        env.emit(
            {
                "success": not failed and not stopped,
                "dry_run": dry_run,
                "stopped": stopped,
                "conversations": len(set().union(*(each.sessions for each in results))),
                **{name: totals[name] for name in COUNTS},
                "files_passed_over": sum(each.passed_over for each in results),
                "untimed": sum(each.report.untimed for each in results),
                "seconds": round(elapsed, 3),
                "files": [each.to_dict() for each in results],
            }
        )
    else:
        for each in results:
            if not each.passed_over:
                show(env, each, dry_run)
        _show_total(env, results, dry_run, elapsed)
        if stopped:
            left = len(paths) - len(results)
            rest = f"; {count(left, 'file')} not begun" if left else ""
            env.say(f"Stopped. What is stored is whole conversations{rest}.", "bold")
            env.say(f"  {_GO_ON}")
    if stopped:
        return INTERRUPTED
    if failed:
        return FAILURE
    return OK if any(each.sessions for each in results) else NOTHING


def _say_broken_off(env: Env, result: Result | None) -> None:
    """Say what an import that was broken off may have left in part."""
    if result is not None and result.begun:
        names = ", ".join(clean(each) for each in list(result.begun)[:3])
        more = len(result.begun) - 3
        names += f" and {more:,} more" if more > 0 else ""
        env.say(f"Broken off. Stored in part may be: {names}.", "bold")
    env.say(f"  {_GO_ON}")


def _show_total(env: Env, results: list[Result], dry_run: bool, elapsed: float) -> None:
    counts: Counter[str] = sum((each.counts for each in results), Counter())
    number = counts["read" if dry_run else "inserted"]
    rate = f", {number / elapsed:,.0f} a second" if number > 999 else ""
    passed = sum(each.passed_over for each in results)
    if passed:
        env.say(f"{count(passed, 'file')} without a conversation passed over")
    what = "would be read" if dry_run else "stored"
    env.say(f"{count(number, 'message')} {what} in {elapsed:.1f} s{rate}", "bold")


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
