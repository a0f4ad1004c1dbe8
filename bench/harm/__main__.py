# SPDX-License-Identifier: MIT
"""Harm histories for a while, and print what was found as JSON.

    python -m bench.harm [--minutes 15] [--kinds damage,kills,full,arguments]
                         [--seed 1] [--jobs 2] [--cases 20000] [--folder /dev/shm]

Each case runs in a forked process that is given up after two minutes, so that a crash or a
hang is a finding like any other. The same seed gives the same cases. Damage needs no disk:
in a ``--folder`` in memory a core does some five cases a second, and 20,000 in about an hour.
Findings are told as they come, on stderr.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from bench.harm import arguments, damage, full, kills
from bench.harm.stores import Report, make
from mnemogram import History

KINDS: Final = ("damage", "kills", "full", "arguments")
_GIVEN_UP: Final = 120.0
#: Cases between two lines that tell how far a run is.
_TOLD: Final = 500


def isolated(work: Callable[[Path], Report], about: str, where: Path) -> Report:
    """Run a case in a process and a directory of its own."""
    folder = Path(tempfile.mkdtemp(prefix="harm-", dir=where))
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def body() -> None:
        log = open(folder.with_suffix(".log"), "w")  # noqa: SIM115
        faulthandler.enable(log)
        faulthandler.dump_traceback_later(_GIVEN_UP, exit=True, file=log)
        try:
            sender.send(work(folder))
        except Exception:
            words = traceback.format_exc()[-1_000:]
            sender.send(Report(1, {"failed": 1}, [f"{about}: {words}"]))
        sender.close()
        faulthandler.cancel_dump_traceback_later()

    process = context.Process(target=body)
    process.start()
    sender.close()
    try:
        report = receiver.recv() if receiver.poll(_GIVEN_UP + 10) else None
    except EOFError:
        report = None
    process.join(5)
    log = folder.with_suffix(".log")
    if report is None:
        process.kill()
        last = log.read_text()[-1500:] if log.exists() else ""
        report = Report(1, {"given up": 1}, [f"{about}: no answer, {process.exitcode}: {last}"])
    log.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return report


def _beside(bases: dict[str, Path]) -> Path:
    return bases["whole"].parent.parent


def _damage(seed: int, bases: dict[str, Path]) -> Report:
    return isolated(
        lambda folder: damage.case(seed, bases, folder), f"damage {seed}", _beside(bases)
    )


def _full(seed: int, bases: dict[str, Path]) -> Report:
    # From no room at all to enough, in steps that grow.
    room = int(1.4 ** (seed % 42)) * 10
    return isolated(
        lambda folder: full.case(seed, room, bases, folder), f"full {seed}", _beside(bases)
    )


def _arguments(seed: int, bases: dict[str, Path]) -> Report:
    def work(folder: Path) -> Report:
        os.chdir(folder)
        shutil.copy(bases["whole"], folder / "state.db")
        return arguments.run(
            seed,
            150,
            folder,
            lambda: History.open(folder / "state.db", answer_budget=arguments.BUDGET),
        )

    return isolated(work, f"arguments {seed}", _beside(bases))


def _kills(seed: int, bases: dict[str, Path]) -> Report:
    name = kills.WORKS[seed % len(kills.WORKS)]
    # Every step of a work in turn; after the last one from the first again.
    step = seed // len(kills.WORKS) + 1
    return isolated(
        lambda folder: kills.case(name, step, bases, folder)[0], f"{name} {step}", _beside(bases)
    )


RUNS: Final = {"damage": _damage, "kills": _kills, "full": _full, "arguments": _arguments}


def run(
    kinds: list[str], *, minutes: float, seed: int, jobs: int, folder: Path, most: int = 10**9
) -> dict[str, Report]:
    """Harm stores of each kind for an equal share of the time, or so many cases."""
    bases = {kind: folder / kind / "base.db" for kind in ("whole", "wal")}
    for kind, path in bases.items():
        path.parent.mkdir()
        make(path, kind)
    reports = {}
    for kind in kinds:
        total = reports[kind] = Report()
        end = time.monotonic() + 60 * minutes / len(kinds)
        number = seed
        with ThreadPoolExecutor(jobs) as pool:
            while time.monotonic() < end and number < seed + most:
                batch = range(number, min(number + 4 * jobs, seed + most))
                for report in pool.map(lambda each: RUNS[kind](each, bases), batch):  # noqa: B023
                    total.add(report)
                    for finding in report.findings:
                        print(f"{kind}: {finding}", file=sys.stderr, flush=True)
                if (batch.stop - seed) // _TOLD > (number - seed) // _TOLD:
                    done = f"{kind}: {total.cases} cases, {len(total.findings)} findings"
                    print(done, file=sys.stderr, flush=True)
                number = batch.stop
    return reports


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cases", type=int, default=10**9, help="most cases of each kind")
    parser.add_argument("--folder", type=Path, help="where stores are harmed, else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        reports = run(
            options.kinds.split(","),
            minutes=options.minutes,
            seed=options.seed,
            jobs=options.jobs,
            folder=Path(folder),
            most=options.cases,
        )
    shown = {
        kind: {
            "cases": report.cases,
            "outcomes": dict(sorted(report.outcomes.items())),
            "findings": report.findings,
        }
        for kind, report in reports.items()
    }
    json.dump(shown, sys.stdout, indent=1, ensure_ascii=True)
    print()
    return 1 if any(report.findings for report in reports.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
