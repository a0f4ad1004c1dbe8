# SPDX-License-Identifier: MIT
"""Measure a large memory: ``python -m bench.scenes.scale [--relations N] [--scenes N]``.

Fills a file with made-up relations pinned evenly to scenes (groups of channels), then
times commit, ``recall_by_scene``, ``recall`` and ``build_context``, on a file of a tenth
of the size and on the whole in turn, and shows the query plan of ``recall_by_scene``.
Prints JSON.
"""

from __future__ import annotations

import argparse
import functools
import json
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import apsw

from mnemogram.memory import SceneMemory, Triple, scenes

BATCH: Final = 500
_LATIN: Final = (
    "harbour ticket invoice garden printer meeting budget holiday server recipe ladder violin"
)
_CJK: Final = "合同 报价 体检 草莓 会议 发布 快递 天气 予約 写真 図書館 旅行 締切 회의 예약 사진"
_WORDS: Final = f"{_LATIN} {_CJK}".split()


def triples(count: int, keys: list[str], seed: int) -> Iterator[Triple]:
    """Yield made-up relations: 300 subjects a thousand, one rule in ten, one pin each."""
    chosen = random.Random(seed)
    for number in range(count):
        a, b, c = (chosen.choice(_WORDS) for _ in range(3))
        yield Triple(
            f"{a} {chosen.randrange(max(1, count * 3 // 10))}",
            chosen.choice(("needs", "likes", "在", "喜欢", "は", "좋아")),
            f"{b} {seed}-{number}",
            sentence=f"{a} {b} {c} were spoken of on day {number % 365}",
            scene=keys[number % len(keys)],
            kind="rule" if number % 10 == 0 else "fact",
            trust="confirmed" if number % 20 == 0 else "observed",
            confidence=chosen.choice((0.6, 0.7, 0.8, 0.9, 1.0)),
        )


def timed(calls: dict[str, Callable[[int], object]], repeats: int) -> dict[str, dict[str, float]]:
    """Time calls in turn, so that whatever else the machine does meets them alike.

    Returns:
        For each: median and 95th percentile of the wall clock, and the median of the
        processor's time, all in milliseconds.
    """
    wall: dict[str, list[float]] = {name: [] for name in calls}
    busy: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(repeats):
        for name, call in calls.items():
            start, used = time.perf_counter(), time.thread_time()
            call(number)
            busy[name].append((time.thread_time() - used) * 1_000)
            wall[name].append((time.perf_counter() - start) * 1_000)
    return {
        name: {
            "p50_ms": round(sorted(wall[name])[repeats // 2], 3),
            "p95_ms": round(sorted(wall[name])[int(repeats * 0.95)], 3),
            "cpu_p50_ms": round(sorted(busy[name])[repeats // 2], 3),
        }
        for name in calls
    }


def measured(
    memories: dict[str, SceneMemory], keys: list[str], repeats: int
) -> dict[str, dict[str, dict[str, float]]]:
    """Time every call on each of the memories."""
    chosen = random.Random(5)
    picked = [chosen.choice(keys) for _ in range(repeats)]
    queries = [f"{chosen.choice(_WORDS)} {chosen.choice(_WORDS)}" for _ in range(repeats)]
    rare = [f"{chosen.choice(_WORDS)} {chosen.randrange(1_000)}" for _ in range(repeats)]
    calls: dict[str, Callable[[SceneMemory, int], object]] = {
        "recall_by_scene": lambda m, n: m.recall_by_scene(picked[n]),
        # A tenth of the relations leaves five in each scene: this answer has one size.
        "recall_by_scene, limit 5": lambda m, n: m.recall_by_scene(picked[n], limit=5),
        "recall_by_scene, inherit": lambda m, n: m.recall_by_scene(picked[n], match="inherit"),
        "recall_by_scene, a whole channel": lambda m, n: m.recall_by_scene(picked[n].split("/")[0]),
        "recall, two common words": lambda m, n: m.recall(queries[n]),
        "recall, a word and a number": lambda m, n: m.recall(rare[n]),
        "build_context, no topic": lambda m, n: m.build_context("are you there?", scenes=picked[n]),
        "build_context, a topic": lambda m, n: m.build_context(rare[n], scenes=picked[n]),
    }
    for memory in memories.values():  # open readers, fill caches
        for number in range(20):
            memory.recall_by_scene(picked[number])
    return {
        name: timed(
            {size: functools.partial(call, memory) for size, memory in memories.items()},
            repeats if name.startswith("recall_by") else repeats // 4,
        )
        for name, call in calls.items()
    }


def plan(memory: SceneMemory) -> list[str]:
    """Return SQLite's plan of the statement that finds a subtree's scenes."""
    with memory._database.read() as connection:
        query = f"EXPLAIN QUERY PLAN {scenes.SUBTREE}"
        return [str(row[3]) for row in connection.execute(query, {"key": "chan:c1"})]


def fill(memory: SceneMemory, wanted: Iterator[Triple], count: int) -> float:
    """Commit ``count`` triples in batches and return triples per second."""
    start = time.perf_counter()
    for _ in range(0, count, BATCH):
        memory.commit([each for each, _ in zip(wanted, range(BATCH), strict=False)])
    return count / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scenes.scale", description=__doc__)
    parser.add_argument("--relations", type=int, default=100_000)
    parser.add_argument("--scenes", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=400)
    options = parser.parse_args()
    keys = [f"chan:c{n % 20}/peer:g{n}" for n in range(options.scenes)]
    tenth = options.relations // 10
    with (
        tempfile.TemporaryDirectory() as directory,
        SceneMemory.open(Path(directory) / "small.db") as small,
        SceneMemory.open(Path(directory) / "large.db") as large,
    ):
        fill(small, triples(options.relations, keys, 1), tenth)
        speed = fill(large, triples(options.relations, keys, 1), options.relations)
        sizes = {f"{tenth} relations": small, f"{options.relations} relations": large}
        times = measured(sizes, keys, options.repeats)
        status = large.status()
        checked = large.check()
        shown = plan(large)
    few, many = sizes
    growth = {
        name: round(each[many]["cpu_p50_ms"] / each[few]["cpu_p50_ms"], 2)
        for name, each in times.items()
    }
    report = {
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "machine": platform.machine(),
        "relations": status.relations,
        "entities": status.entities,
        "scenes": status.scenes,
        "megabytes": round(status.bytes / 1e6, 1),
        "commit, triples a second": round(speed),
        "batch": BATCH,
        "times": times,
        "growth from a tenth, processor time": growth,
        "recall_by_scene, plan": shown,
        "sound": checked.ok,
    }
    print(json.dumps(report, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
