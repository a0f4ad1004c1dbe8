# SPDX-License-Identifier: MIT
"""A disk that is full after so many bytes: an answer or an error of ours, and nothing lost."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

from bench.harm.disk import Disk, Shim
from bench.harm.stores import SUFFIXES, Report, attempt, changes, texts
from mnemogram import History


def case(seed: int, room: int, bases: dict[str, Path], folder: Path) -> Report:
    """Do everything on a disk with so much room, then with enough."""
    chance = random.Random(seed)
    report = Report(cases=1)
    path = folder / "state.db"
    kind = chance.choice(sorted(bases))
    for suffix in SUFFIXES:
        if Path(f"{bases[kind]}{suffix}").exists():
            shutil.copy(f"{bases[kind]}{suffix}", f"{path}{suffix}")
    about = f"seed {seed}, {room:,} bytes free ({kind})"
    disk = Disk()
    shim = Shim(disk)
    try:
        with History.open(path) as history:
            before = texts(history)
            disk.room = room
            works: list[tuple[str, Any]] = list(changes(history, chance, folder))
            works += [
                ("purge", history.purge),
                ("check", history.check),
                ("repair", lambda: history.repair(dry_run=False)),
                ("search", lambda: history.search("牙医")),
                ("export", lambda: history.export(open(os.devnull, "w"))),  # noqa: SIM115
            ]
            chance.shuffle(works)
            gone: set[int] = set()
            for name, call in works:
                attempt(name, call, report, about)
            disk.room = None
            attempt("maintain", history.maintain, report, about)
            checked = attempt("check", history.check, report, about)
            if checked is None or not checked.ok:
                report.findings.append(f"{about}: {checked}"[:600])
            after = texts(history)
            lost = {number for number in before if after.get(number) != before[number]} - gone
            if lost:
                report.findings.append(f"{about}: lost {sorted(lost)}")
            purged = attempt("purge", history.purge, report, about)
            if purged is None or not purged.complete:
                report.findings.append(f"{about}: {purged}")
        left = [each.name for each in folder.iterdir() if each.name.startswith(".")]
        if left:
            report.findings.append(f"{about}: {left} are left")
    finally:
        shim.unregister()
    return report
