#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the sdist, from it every wheel, check each wheel, and try each where it can be tried.

    python wheels/build.py [--arch x86_64] [--libc gnu] [--python 3.11] [-- PYTEST ARGUMENTS]
    python wheels/build.py --only linux-x86_64-gnu-3.10 linux-aarch64-gnu-3.12+

Ends with a table and status 0, or with a non-zero status at the first failure.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from builds import Workshop
from checks import Needs, check_foreign, check_wheel
from common import ROOT, BuildFailed, NotHere, say
from proofs import EXTENTS, Proof, prove, prove_bare
from pythons import places, versions
from targets import ALL, ARCHITECTURES, COMPILED, LIBCS, PYTHONS, Target, find_python


@dataclass
class Row:
    """One wheel of the table."""

    wheel: Path
    target: Target
    needs: Needs
    proofs: list[Proof] = field(default_factory=list)


def main() -> int:
    options = _options()
    dist: Path = options.dist.resolve()
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    targets = [
        each
        for each in ALL
        if each.platform.arch in options.arch
        and each.platform.libc in options.libc
        and each.python in options.python
        and (options.only is None or each.name in options.only)
    ]
    try:
        with tempfile.TemporaryDirectory(prefix="mnemogram-build-") as directory:
            work = Path(directory)
            workshop = Workshop(work / "workshop")
            sdist = workshop.sdist(dist)
            rows = _build(targets, workshop, dist)
            compiled = {
                name: check_foreign(workshop.compiled(name), workshop.python)
                for name in options.compile
            }
            bare = None if options.no_bare else prove_bare(workshop.bare(sdist), work)
            pairs = [(row, python) for row in rows for python in _tried_with(row.target, options)]
            with ThreadPoolExecutor(options.jobs) as pool:
                proofs = pool.map(lambda pair: _try(pair[0], pair[1], sdist, work, options), pairs)
                for (row, _), proof in zip(pairs, proofs, strict=True):
                    row.proofs.append(proof)
    except BuildFailed as error:
        print(f"wheels/build.py: {error}", file=sys.stderr)
        return 1
    print("\n".join(table(rows)))
    for name, exported in compiled.items():
        print(f"compiled for {name}, not run: the extension exports {exported}")
    if bare is not None:
        print(f"built with neither a compiler nor SQLite's headers, load and search; says: {bare}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--arch", nargs="+", choices=ARCHITECTURES, default=list(ARCHITECTURES))
    add("--libc", nargs="+", choices=LIBCS, default=list(LIBCS))
    add("--python", nargs="+", choices=PYTHONS, default=list(PYTHONS))
    add("--only", nargs="+", choices=[each.name for each in ALL], metavar="WHEEL",
        help=f"these wheels alone, of {', '.join(each.name for each in ALL)}")  # fmt: skip
    add("--compile", nargs="*", choices=COMPILED, default=list(COMPILED), metavar="SYSTEM",
        help="systems whose compiler alone is tried")  # fmt: skip
    add("--no-bare", action="store_true", help="no build without a compiler")
    add("--with", nargs="+", dest="tried", metavar="VERSION", help="try them with these alone")
    add("--tests", choices=EXTENTS, default="suite", help="what is run on this machine's own kind")
    add("--emulated", choices=EXTENTS, default="suite", help="what is run under qemu")
    add("--jobs", type=int, default=1, help="how many suites run at once")
    add("--dist", type=Path, default=ROOT / "wheels" / "dist")
    add("pytest", nargs="*", help="arguments for pytest, after --")
    return parser.parse_args()


def _build(targets: Sequence[Target], workshop: Workshop, dist: Path) -> list[Row]:
    missing = {each.python for each in targets if find_python(each.python) is None}
    if missing:
        say(f"not built, as there is no such Python here: {', '.join(sorted(missing))}")
    rows = []
    for target in targets:
        if target.python not in missing:
            wheel = workshop.wheel(target, dist)
            rows.append(Row(wheel, target, check_wheel(wheel, target)))
    if not rows:
        raise BuildFailed("no wheel was built")
    return rows


def _tried_with(target: Target, options: argparse.Namespace) -> list[str]:
    wanted = versions(target.python)
    return [each for each in wanted if options.tried is None or each in options.tried]


def _try(row: Row, python: str, sdist: Path, work: Path, options: argparse.Namespace) -> Proof:
    try:
        place = places(row.target.platform, python, work)
    except NotHere as reason:
        return Proof(f"not run: {reason}", "-")
    extent = options.emulated if place.emulated else options.tests
    if extent == "none":
        return Proof(f"not run: {place.words}", "-")
    return prove(row.wheel, sdist, place, extent, options.pytest)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the closing table, in Markdown."""
    yield "| wheel | kB | tag | symbols needed | tests | where |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        _, _, *tag = row.wheel.stem.split("-")
        cells = [row.target.name, f"{row.wheel.stat().st_size / 1e3:.0f}", "-".join(tag),
                 str(row.needs)]  # fmt: skip
        for proof in row.proofs or [Proof("not run", "-")]:
            yield f"| {' | '.join([*cells, proof.tests, proof.where])} |"
            cells = [""] * len(cells)


if __name__ == "__main__":
    sys.exit(main())
