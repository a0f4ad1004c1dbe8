# SPDX-License-Identifier: MIT
"""Measure a large memory: ``python -m bench.scenes.scale [--relations N] [--scenes N]``.

Fills a file with made-up relations pinned evenly to scenes (groups of channels), then
times commit, ``recall_by_scene``, ``recall`` and ``build_context``, at a tenth of the
size and at the whole, and prints the query plan of ``recall_by_scene``. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

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


def timed(call: Callable[[int], object], repeats: int) -> dict[str, float]:
    """Return median and 95th percentile of a call, in milliseconds."""
    times = []
    for number in range(repeats):
        start = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - start) * 1_000)
    times.sort()
    return {
        "p50_ms": round(times[len(times) // 2], 3),
        "p95_ms": round(times[int(len(times) * 0.95)], 3),
    }


def calls(memory: SceneMemory, keys: list[str], repeats: int) -> dict[str, Any]:
    """Time the calls on a filled memory."""
    chosen = random.Random(5)
    picked = [chosen.choice(keys) for _ in range(repeats)]
    queries = [f"{chosen.choice(_WORDS)} {chosen.choice(_WORDS)}" for _ in range(repeats)]
    rare = [f"{chosen.choice(_WORDS)} {chosen.randrange(1_000)}" for _ in range(repeats)]
    for number in range(20):  # open readers, fill caches
        memory.recall_by_scene(picked[number])
    return {
        "recall_by_scene": timed(lambda n: memory.recall_by_scene(picked[n]), repeats),
        # A tenth of the relations leaves five in each scene: this answer is the same at both.
        "recall_by_scene, limit 5": timed(
            lambda n: memory.recall_by_scene(picked[n], limit=5), repeats
        ),
        "recall_by_scene, inherit": timed(
            lambda n: memory.recall_by_scene(picked[n], match="inherit"), repeats
        ),
        "recall_by_scene, a whole channel": timed(
            lambda n: memory.recall_by_scene(picked[n].split("/")[0]), repeats // 4
        ),
        "recall, two common words": timed(lambda n: memory.recall(queries[n]), repeats // 4),
        "recall, a word and a number": timed(lambda n: memory.recall(rare[n]), repeats // 4),
        "build_context, no topic": timed(
            lambda n: memory.build_context("are you there?", scenes=picked[n]), repeats
        ),
        "build_context, a topic": timed(
            lambda n: memory.build_context(rare[n], scenes=picked[n]), repeats // 4
        ),
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
        SceneMemory.open(Path(directory) / "memory.db") as memory,
    ):
        wanted = triples(options.relations, keys, 1)
        first = fill(memory, wanted, tenth)
        small = calls(memory, keys, options.repeats)
        second = fill(memory, wanted, options.relations - tenth)
        large = calls(memory, keys, options.repeats)
        status = memory.status()
        checked = memory.check()
        shown = plan(memory)
    growth = {
        name: round(large[name]["p50_ms"] / small[name]["p50_ms"], 2)
        for name in ("recall_by_scene", "recall_by_scene, limit 5")
    }
    print(
        json.dumps(
            {
                "python": platform.python_version(),
                "sqlite": apsw.sqlite_lib_version(),
                "machine": platform.machine(),
                "relations": status.relations,
                "entities": status.entities,
                "scenes": status.scenes,
                "megabytes": round(status.bytes / 1e6, 1),
                "commit, triples a second": [round(first), round(second)],
                "batch": BATCH,
                f"at {tenth} relations": small,
                f"at {options.relations} relations": large,
                "growth from a tenth, p50": growth,
                "recall_by_scene, plan": shown,
                "sound": checked.ok,
            },
            ensure_ascii=False,
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
