# SPDX-License-Identifier: MIT
"""What went into a history by each format, against what its export gives.

Run from the project's root: ``python -m bench.roundtrip``, with ``--large`` for a document of
1 GB and JSON lines of 2 GB (``--scale 0.01`` for a hundredth of that).
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.importers.samples import SAMPLES, Sample

from bench.roundtrip.large import Run, measure
from mnemogram import History
from mnemogram.importers import Report, read

__all__ = ["Row", "rows"]

_LARGE = {"one JSON document": 1_000_000_000, "JSON lines": 2_000_000_000}


class Row(NamedTuple):
    """One file's way in and out.

    Attributes:
        shape: which file of the format it is.
        format: the format it was found to have.
        conversations: that the export gives.
        messages: that were written into the file.
        lost: of them, those that the export does not give, in their order.
        invented: messages of the export that were not in the file.
        again: messages that importing the file again added.
        seconds: the import took.
        peak: bytes of Python's memory that it held at most.
    """

    shape: str
    format: str
    conversations: int
    messages: int
    lost: int
    invented: int
    again: int
    seconds: float
    peak: int


def rows(samples: Iterable[tuple[str, Sample]] = tuple(SAMPLES.items())) -> Iterator[Row]:
    """Import each sample into a history of its own and yield what came of it."""
    for shape, sample in samples:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            path, report = sample.write(folder), Report()
            with History.open(folder / "new.db") as history:
                tracemalloc.start()
                begin = time.perf_counter()
                _take(history, path, report)
                seconds = time.perf_counter() - begin
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                sessions, said = _given(history)
                _take(history, path, Report())
                again = len(_given(history)[1]) - len(said)
        missing = _without(list(sample.said), said)
        more = _without(said, list(sample.said))
        yield Row(
            *(shape, report.format or "", sessions, len(sample.said), len(missing), len(more)),
            *(again, seconds, peak),
        )


def _take(history: History, path: Path, report: Report) -> None:
    history.import_conversations(each.conversation() for each in read(path, report=report))


def _given(history: History) -> tuple[int, list[tuple[str, str]]]:
    stream = io.StringIO()
    history.export(stream)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    said = [(each["role"], each["content"]) for each in lines if each["type"] == "message"]
    return sum(each["type"] == "session" for each in lines), said


def _without(these: list[tuple[str, str]], those: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what of these does not come in those, in the same order."""
    rest = iter(those)
    missing = []
    for each in these:
        before = list(rest)
        if each in before:
            rest = iter(before[before.index(each) + 1 :])
        else:
            rest = iter(before)
            missing.append(each)
    return missing


def _print_large(run: Run) -> None:
    lost = "nothing lost" if run.same else "NOT THE SAME"
    print(
        f"{run.shape}: {run.size / 1e9:.2f} GB, {run.conversations:,} conversations,"
        f" {run.messages:,} messages in, {run.exported:,} out, {lost},"
        f" {run.seconds:,.0f} s, {run.peak / 1e6:,.0f} MB at most"
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="files larger than memory instead")
    parser.add_argument("--scale", type=float, default=1.0, help="of their sizes")
    parser.add_argument("--folder", type=Path, help="where they are written")
    wanted = parser.parse_args()
    if wanted.large:
        whole = True
        for shape, size in _LARGE.items():
            run = measure(shape, int(size * wanted.scale), wanted.folder)
            _print_large(run)
            whole = whole and run.same
        return 0 if whole else 1
    print(f"{'file':<22}{'format':<15}{'conv.':>6}{'mess.':>6}{'lost':>5}{'more':>5}", end="")
    print(f"{'again':>6}{'ms':>7}{'kB':>8}")
    wrong = 0
    for row in rows():
        print(f"{row.shape:<22}{row.format:<15}{row.conversations:>6}{row.messages:>6}", end="")
        print(f"{row.lost:>5}{row.invented:>5}{row.again:>6}", end="")
        print(f"{row.seconds * 1e3:>7.0f}{row.peak / 1e3:>8.0f}")
        wrong += row.lost + row.invented + row.again
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
