# SPDX-License-Identifier: MIT
"""What a start costs: imports and commands in fresh processes, opening a ready store."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mnemogram

#: What Python is started with.
_PYTHON = {
    "python -c pass": "pass",
    "import dataclasses, json, re, pathlib": "import dataclasses, json, re, pathlib",
    "import apsw": "import apsw",
    "import mnemogram": "import mnemogram",
    "import mnemogram.cli": "import mnemogram.cli",
}


def _spent(command: Sequence[str]) -> tuple[float, float]:
    """Return wall time and processor time of a fresh process, in milliseconds."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"status {process.returncode}: {' '.join(command)}")
    return wall * 1e3, (used.ru_utime + used.ru_stime) * 1e3


def starts(folder: Path, runs: int) -> dict[str, dict[str, float]]:
    """Measure each start, in turns, so that a busy moment is everybody's.

    Returns:
        For each: median and least milliseconds, of wall and of processor time, and the median
        processor time as a multiple of that of an empty program.
    """
    root = str(folder / "root")
    with mnemogram.open(root) as home:
        home.history("local").append(
            mnemogram.Session("s1"), [mnemogram.Message("user", "明早九点预约牙医复诊")]
        )
    program = [sys.executable, "-m", "mnemogram", "--root", root]
    commands = {name: [sys.executable, "-c", code] for name, code in _PYTHON.items()}
    commands["mnemogram --help"] = [*program, "--help"]
    commands["mnemogram search"] = [*program, "--user", "local", "search", "牙医"]
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            spent[name].append(_spent(command))
    empty = statistics.median(used for _, used in spent["python -c pass"])
    return {
        name: {
            "wall_median": statistics.median(wall for wall, _ in each),
            "wall_least": min(wall for wall, _ in each),
            "processor_median": statistics.median(used for _, used in each),
            "processor_least": min(used for _, used in each),
            "times_empty": statistics.median(used for _, used in each) / empty,
        }
        for name, each in spent.items()
    }


def openings(folder: Path, runs: int) -> dict[str, float]:
    """Measure opening and closing a store of 1,000 messages that is ready, in milliseconds."""
    path = folder / "state.db"
    with mnemogram.History.open(path) as history:
        for number in range(10):
            history.append(
                f"s{number}", [mnemogram.Message("user", f"word {n}") for n in range(100)]
            )
        while history.maintain().more:
            pass
    opened, closed = [], []
    for _ in range(runs):
        began = time.perf_counter()
        history = mnemogram.History.open(path)
        middle = time.perf_counter()
        history.close()
        closed.append((time.perf_counter() - middle) * 1e3)
        opened.append((middle - began) * 1e3)
    return {
        "open_median": statistics.median(opened),
        "open_least": min(opened),
        "close_median": statistics.median(closed),
    }


def main() -> None:
    """Measure, print, and write as JSON where asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.start_up", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="processes of each kind")
    parser.add_argument("--openings", type=int, default=200)
    parser.add_argument("--json", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result: dict[str, Any] = {
            "python": sys.version.split()[0],
            "openings": openings(Path(folder), arguments.openings),
            "starts": starts(Path(folder), arguments.runs),
        }
    print("| a fresh process | median ms | least ms | processor, least ms | x empty |")
    print("|---|---|---|---|---|")
    for name, each in result["starts"].items():
        print(
            f"| `{name}` | {each['wall_median']:.0f} | {each['wall_least']:.0f} "
            f"| {each['processor_least']:.0f} | {each['times_empty']:.1f} |"
        )
    opening = result["openings"]
    print(
        f"opening a ready store: median {opening['open_median']:.2f} ms, "
        f"least {opening['open_least']:.2f} ms; closing {opening['close_median']:.2f} ms"
    )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
