# SPDX-License-Identifier: MIT
"""What programs on this machine hold, chosen by name, and how it is followed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click

import mnemogram
from mnemogram.cli.common import NOTHING, OK, Env
from mnemogram.cli.intake import Intake, Result, Stop, expand, show
from mnemogram.cli.render import clean
from mnemogram.cli.status import size
from mnemogram.cli.words import count
from mnemogram.errors import MnemogramError
from mnemogram.history.redaction import Redactor
from mnemogram.importers import NothingFound
from mnemogram.importers.places import PROGRAMS, Found, Machine, Program, files_of, find

__all__ = ["Follower", "chosen", "files_found", "follow", "show_found"]

#: A file is read again after so many times as long as reading it took.
_REST: Final = 9.0
#: What is kept of the files that were followed, beside the history.
_NOTES: Final = "followed.json"

#: What tells that a file changed: of it and of a database's log, number, size and time.
Mark = list[list[int]]


def chosen(names: Sequence[str], everything: bool) -> tuple[Program, ...]:
    """Return the programs that were named, or all of them.

    Raises:
        click.UsageError: one of them is unknown.
    """
    known = {each.name: each for each in PROGRAMS}
    for name in names:
        if name.lower() not in known:
            close = get_close_matches(name.lower(), known, 1)
            meant = f" Did you mean {close[0]}?" if close else ""
            raise click.UsageError(
                f"there is no program {name!r} to find.{meant} Known are {', '.join(known)}."
            )
    if everything:
        return PROGRAMS
    return tuple(dict.fromkeys(known[name.lower()] for name in names))


def files_found(programs: Iterable[Program]) -> list[str]:
    """Return the files of programs that can be imported."""
    machine = Machine()
    return [str(path) for each in programs for path in files_of(each, machine)[0]]


def show_found(env: Env) -> int:
    """Show what programs on this machine hold, and import nothing."""
    found = find(Machine())
    if env.json:
        env.emit(
            {
                "success": True,
                "programs": [_as_json(each) for each in found],
                "looked_for": [each.name for each in PROGRAMS],
            }
        )
    elif not found:
        looked = ", ".join(each.title for each in PROGRAMS)
        env.say(f"Nothing of these programs is on this machine: {looked}.")
    else:
        for line in _lines(env, found):
            click.echo(line)
        for each in found:
            if each.unread:
                compressed = count(len(each.unread), "file")
                env.say(f"  {each.program.name}: {compressed} packed with zstd: unpack first")
        names = " ".join(each.program.name for each in found)
        env.say("Nothing was imported. To import some, or all that is shown:", "dim")
        env.say(f"  mnemogram import --find {names}")
        env.say("  mnemogram import --find --all")
    return OK if found else NOTHING


def _as_json(found: Found) -> dict[str, Any]:
    return {
        "name": found.program.name,
        "title": found.program.title,
        "folder": str(found.folder),
        "conversations": found.conversations,
        "files": len(found.files),
        "files_unread": len(found.unread),
        "bytes": found.size,
        "first": None if found.first is None else found.first.isoformat(),
        "last": None if found.last is None else found.last.isoformat(),
    }


def _lines(env: Env, found: list[Found]) -> Iterator[str]:
    """Yield the columns of what was found, each as wide as what stands in it."""
    rows = [("program", "conversations", "from", "to", "size", "in")]
    for each in found:
        first, last = (
            "" if moment is None else env.zone.show(moment.isoformat())[:10]
            for moment in (each.first, each.last)
        )
        rows.append(
            (
                *(each.program.name, f"{each.conversations:,}", first, last),
                *(size(each.size), clean(str(each.folder))),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            each.rjust(width) if name in ("conversations", "size") else each.ljust(width)
            for name, each, width in zip(rows[0], row, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()


# --- following -----------------------------------------------------------------------------


def mark_of(path: str) -> Mark | None:
    """Return what tells that a file changed; None where there is none."""
    try:
        own = os.stat(path)
    except OSError:
        return None
    mark = [[own.st_ino, own.st_size, own.st_mtime_ns]]
    with suppress(OSError):
        log = os.stat(path + "-wal")
        mark.append([log.st_ino, log.st_size, log.st_mtime_ns])
    return mark


@dataclass(slots=True)
class Follower:
    """Knows which files changed since they were read.

    A file that is being written is read again no sooner than nine times as long as the
    last reading took, so that following costs a tenth of one processor at most.

    Attributes:
        notes: where it keeps what it read; None keeps it in memory.
        clock: seconds that only grow.
        known: by path, what a file was when it was read.
        rests: by path, when it may be read again.
    """

    notes: Path | None = None
    clock: Callable[[], float] = time.monotonic
    known: dict[str, Mark] = field(default_factory=dict)
    rests: dict[str, float] = field(default_factory=dict)

    def load(self) -> None:
        """Take up where an earlier one of the same version ended."""
        if self.notes is None:
            return
        with suppress(OSError, ValueError, TypeError, LookupError):
            kept = json.loads(self.notes.read_text("utf-8"))
            if kept["version"] == mnemogram.__version__:
                self.known = dict(kept["files"])

    def save(self) -> None:
        """Keep what was read, for the next one."""
        if self.notes is None or not self.notes.parent.is_dir():
            return
        value = {"version": mnemogram.__version__, "files": self.known}
        fresh = self.notes.with_name(self.notes.name + ".new")
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
            handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(handle, "w", encoding="utf-8") as file:
                json.dump(value, file)
            fresh.replace(self.notes)

    def changed(self, paths: Iterable[str]) -> list[tuple[str, Mark]]:
        """Return those that may be read now, as they are before they are read."""
        now, found = self.clock(), []
        for path in paths:
            mark = mark_of(path)
            if mark is None or mark == self.known.get(path):
                continue
            if now >= self.rests.get(path, now):
                found.append((path, mark))
        return found

    def was_read(self, path: str, mark: Mark, began: float) -> None:
        """Note that a file was read to its end, as it was before."""
        self.known[path] = mark
        now = self.clock()
        self.rests[path] = now + _REST * (now - began)


def follow(
    env: Env,
    names: Sequence[str],
    programs: Sequence[Program],
    *,
    interval: float,
    redactor: Redactor | None,
    stop: Stop,
    format_: str,
    source: str | None,
) -> int:
    """Import what is there and then what changes, until it is told to stop.

    Args:
        env: the command line's options.
        names: files and folders.
        programs: whose places are followed as well.
        interval: seconds between two looks.
        redactor: called with every text before it is stored.
        stop: tells when.
        format_: how the files are written, or ``auto``.
        source: in place of what the files say.
    """
    follower = Follower(env.directory / _NOTES)
    if (env.directory / "state.db").exists():
        follower.load()
    first, said = True, ""
    while not stop.asked:
        paths = list(dict.fromkeys(chain(*map(expand, names), files_found(programs))))
        read = 0
        try:
            read = _round(env, follower, follower.changed(paths), redactor, stop, format_, source)
            said = ""
        except MnemogramError as error:  # a lock or a full disk passes; the files stay due
            if str(error) != said:
                said = str(error)
                env.say(f"mnemogram: {clean(said)}; trying again", "bold red")
        if read:
            follower.save()
        if first and not stop.asked:
            first = False
            _say_ready(env, len(paths), interval)
        stop.wait(interval)
    if not env.json:
        env.say("Stopped; what was followed is stored. Started again, it goes on from here.")
    return OK


def _say_ready(env: Env, number: int, interval: float) -> None:
    if env.json:
        env.emit_line({"following": number, "interval": interval})
    else:
        env.say(f"Following {count(number, 'file')}, looked at every {interval:g} s.", "dim")


def _round(
    env: Env,
    follower: Follower,
    changed: list[tuple[str, Mark]],
    redactor: Redactor | None,
    stop: Stop,
    format_: str,
    source: str | None,
) -> int:
    """Read the files that changed; return how many."""
    if not changed:
        return 0
    read = 0
    with env.history(create=True, redactor=redactor) as history:
        intake = Intake(env, history, stop, format=format_, source=source)
        for path, mark in changed:
            if stop.asked:
                break
            began = follower.clock()
            result = intake.take(path)
            if not result.stopped:
                follower.was_read(path, mark, began)
                read += 1
            if not isinstance(result.error, NothingFound):
                _tell(env, result, written=mark_of(path) != mark)
        intake.finish()
    return read


def _tell(env: Env, result: Result, written: bool) -> None:
    """Say what came of a file, where anything did; half a line is none while it is written."""
    something = any(result.counts[name] for name in ("inserted", "amended", "rewound"))
    if not something and (written or not result.failed):
        return
    if env.json:
        env.emit_line(result.to_dict())
    else:
        show(env, result)
