# SPDX-License-Identifier: MIT
"""Measure appends beside the building of an index, opening, and several processes.

Usage: python -m bench.life [backfill|crowd|open|append ...] [--messages N] [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import apsw

from bench.life import measures
from mnemogram import __version__

_PARTS: dict[str, Callable[[argparse.Namespace, Path], dict[str, Any]]] = {
    "open": measures.open_,
    "append": measures.append,
    "crowd": measures.crowd,
    "backfill": measures.backfill,
}


def _machine() -> dict[str, Any]:
    return {
        "mnemogram": __version__,
        "apsw": apsw.apsw_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "measured_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    for key, each in value.items():
        if isinstance(each, dict):
            yield f"{indent}{key}:"
            yield from _lines(each, indent + "  ")
        else:
            yield f"{indent}{key}: {each}"


def main() -> None:
    """Measure what was asked for, print it, and write it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.life", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*_PARTS, []], default=[])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=50.0, help="appends a second")
    parser.add_argument("--batch-size", type=int, default=500)
    parser.add_argument("--baseline", type=float, default=60.0, help="seconds of writing alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of the crowd")
    parser.add_argument("--workdir", type=Path, help="where the databases are made")
    parser.add_argument("--json", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    result: dict[str, Any] = {"machine": _machine()}
    with tempfile.TemporaryDirectory(dir=arguments.workdir) as folder:
        for part in arguments.parts or _PARTS:
            result[part] = _PARTS[part](arguments, Path(folder))
            print("\n".join(_lines({part: result[part]})), flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
