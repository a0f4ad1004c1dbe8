# SPDX-License-Identifier: MIT
"""A kill before every step of every long work: nothing acknowledged is lost, nothing stays.

A process is forked for each step, counts the writes, syncs, truncations, deletions and
renames that it makes, and is killed in front of the n-th. Then the store is opened again,
the same work is done to its end, and the directory must hold what it should and no more.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path
from typing import Any, Final

from bench.harm.disk import Disk, Shim
from bench.harm.stores import SUFFIXES, Report, fill, texts
from mnemogram import History, Message
from mnemogram.history.upkeep import check as checks

_SECRET: Final = "forgetmexq"


def _work(name: str, history: History, folder: Path) -> Any:
    if name == "append":
        return fill(history, 300, 8, "more")
    if name == "delete":
        return history.delete_session("s1")
    if name == "check":
        return history.check()
    if name == "check in a copy":
        checks._IN_PLACE_BYTES = 0  # type: ignore[misc]
        return history.check()
    if name == "backup":
        return history.backup(folder / "copy.db", overwrite=True)
    if name == "purge":
        return history.purge()
    if name == "repair":
        with history._database.write() as connection:
            connection.execute("UPDATE sessions SET message_count = 7")
            connection.execute(
                "INSERT INTO messages_fts_cjk (messages_fts_cjk, rowid, content)"
                " VALUES ('delete', 1, 'what is not there')"
            )
        return history.repair(dry_run=False, backup=folder / f"before-{os.getpid()}.db")
    while history.maintain(batch_size=20).more:
        pass
    return None


WORKS: Final = (
    *("append", "delete", "check", "check in a copy", "backup", "purge", "repair", "maintain"),
)


def _prepare(name: str, path: Path) -> None:
    """Bring a copy of a store to where a work begins."""
    if name in ("purge", "check in a copy"):
        with History.open(path) as history:
            history.append("secret", [Message("user", f"{_SECRET} words", uid="x1")])
            history.delete_session("secret")
    if name == "maintain":
        with History.open(path, load_extension=False) as history:
            fill(history, 400, 40, "plain")  # leaves the tokenizer's indexes to be built


def _child(name: str, path: Path, folder: Path, kill_at: int | None, disk: Disk) -> None:
    """Do the work in this process, which is killed in front of a step."""
    replace, unlink = os.replace, os.unlink

    def replaced(*arguments: Any, **named: Any) -> None:
        disk.step()
        replace(*arguments, **named)

    def unlinked(*arguments: Any, **named: Any) -> None:
        disk.step()
        unlink(*arguments, **named)

    os.replace, os.unlink = replaced, unlinked  # type: ignore[assignment]
    _shim = Shim(disk)
    history = History.open(path)
    disk.steps, disk.kill_at = 0, kill_at
    _work(name, history, folder)
    disk.kill_at = None
    history.close()


def killed(name: str, path: Path, folder: Path, kill_at: int) -> bool:
    """Run the work in a process of its own; return whether it was killed."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            _child(name, path, folder, kill_at, Disk())
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status != 0:
        raise AssertionError(f"{name} ended with status {status}")
    return False


def case(name: str, step: int, bases: dict[str, Path], folder: Path) -> tuple[Report, bool]:
    """Kill a work in front of a step; return the report and whether it came so far."""
    report = Report(cases=1)
    path = folder / "state.db"
    kind = random.Random(step).choice(sorted(bases))
    for suffix in SUFFIXES:
        if Path(f"{bases[kind]}{suffix}").exists():
            shutil.copy(f"{bases[kind]}{suffix}", f"{path}{suffix}")
    _prepare(name, path)
    with History.open(path) as history:
        before = texts(history)
    about = f"{name} killed at step {step}"
    was_killed = killed(name, path, folder, step)
    report.count(f"{name}: {'killed' if was_killed else 'done'}")
    try:
        _verify(name, path, folder, before, report, about)
    except Exception as error:
        report.findings.append(f"{about}: {type(error).__name__}: {error}"[:600])
    return report, was_killed


def _verify(
    name: str, path: Path, folder: Path, before: dict[int, str], report: Report, about: str
) -> None:
    with History.open(path) as history:
        if name == "repair":
            repaired = history.repair(dry_run=False, backup=folder / "second.db")
            if repaired.after is None or not repaired.after.ok:
                report.findings.append(f"{about}: not repaired afterwards: {repaired}"[:600])
        checked = history.check()
        if not checked.ok:
            report.findings.append(f"{about}: {checked.findings}"[:600])
        after = texts(history)
        lost = set(before) - set(after)
        if name == "delete":
            lost -= set(range(16, 32))
        if lost or any(after[number] != before[number] for number in set(before) & set(after)):
            report.findings.append(f"{about}: lost {sorted(lost)}")
        purged = history.purge()
        while history.maintain().more:
            pass
        if not purged.complete:
            report.findings.append(f"{about}: purge says {purged.hint}")
    for each in sorted(folder.iterdir()):
        known = each.name in ("state.db", "copy.db") or each.name.endswith(".db")
        if not known or each.name.startswith("."):
            report.findings.append(f"{about}: {each.name} is left")
        if each.name == "state.db" and _SECRET.encode() in each.read_bytes():
            report.findings.append(f"{about}: a deleted text is in {each.name}")
    if (folder / "copy.db").exists():
        with History.open(folder / "copy.db", read_only=True) as copy:
            if set(before) - set(texts(copy)) or not copy.check().ok:
                report.findings.append(f"{about}: the backup is not whole")
