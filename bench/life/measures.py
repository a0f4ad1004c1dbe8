# SPDX-License-Identifier: MIT
"""What is measured: appends beside the building of an index, opening, several processes."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mnemogram import History, Message, Session
from mnemogram.history.index import state as indexes

_PIECES = (
    "明早九点预约牙医复诊",
    "把缓存节点扩容以后再看一次日志",
    "重启服务，错误码是四零四",
    "東京駅で待ち合わせをしました",
    "예약을 내일 오후로 바꿔 주세요",
    "the retry limit was reached again",
    "please move the meeting to Thursday",
    "status is green after the deploy",
)


def _text(chance: random.Random) -> str:
    """A made-up message of some 40 to 200 characters, with one rare word."""
    parts = chance.choices(_PIECES, k=chance.randrange(2, 9))
    return " ".join((*parts, f"id{chance.randrange(10**9)}"))


def _share(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _milliseconds(latencies: list[float]) -> dict[str, float]:
    return {
        "count": len(latencies),
        "p50_ms": round(statistics.median(latencies) * 1e3, 3),
        "p95_ms": round(_share(latencies, 0.95) * 1e3, 3),
        "p99_ms": round(_share(latencies, 0.99) * 1e3, 3),
        "max_ms": round(max(latencies) * 1e3, 3),
    }


# --- a store that grew before it had indexes -------------------------------------------


def _fill(path: Path, count: int) -> None:
    """Store messages without any index, as an older file has them."""
    chance = random.Random(7)
    with History.open(path, trigram=True) as history:
        history.append("warm", [Message("user", "hello")])
        with history._database.write() as connection:
            for name in indexes.load_states(connection):
                indexes.mark_for_rebuild(connection, name, "the benchmark begins")
        started = int(time.time() * 1e6) - count
        with history._database.write() as connection:
            per_session = 200
            for first in range(0, count, per_session):
                connection.execute(
                    "INSERT INTO sessions (key, source, root_id, started_at, last_active_at,"
                    " message_count) VALUES (?, 'chat', 0, ?, ?, ?)",
                    (f"old-{first}", started, started, per_session),
                )
                row = connection.last_insert_rowid()
                connection.execute("UPDATE sessions SET root_id = id WHERE id = ?", (row,))
                connection.executemany(
                    "INSERT INTO messages (session_id, role, timestamp, substring, uid,"
                    " provenance, content) VALUES (?, ?, ?, 1, ?, 'observed', ?)",
                    [
                        (row, ("user", "assistant")[n % 2], started + n, str(n), _text(chance))
                        for n in range(first, min(first + per_session, count))
                    ],
                )


def _write_steadily(path: str, rate: float, stop: Any, results: Any) -> None:
    """Append ``rate`` messages a second until told to stop; report every latency."""
    chance = random.Random(os.getpid())
    latencies: list[tuple[float, float]] = []
    with History.open(path) as history:
        history.append("live", [Message("user", "first")])
        next_at = time.monotonic()
        while not stop.is_set():
            text = _text(chance)
            began = time.monotonic()
            history.append("live", [Message("user", text, uid=f"{began}")])
            latencies.append((began, time.monotonic() - began))
            next_at = max(next_at + 1 / rate, time.monotonic())
            time.sleep(max(0.0, next_at - time.monotonic()))
    results.put(latencies)


def backfill(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Build the indexes of a large store while a writer appends 50 messages a second."""
    path = folder / "backfill.db"
    began = time.monotonic()
    _fill(path, arguments.messages)
    filled = time.monotonic() - began
    context = multiprocessing.get_context("spawn")

    def writer(seconds: float | None, work: Callable[[], Any]) -> tuple[list[float], Any]:
        stop, results = context.Event(), context.Queue()
        process = context.Process(
            target=_write_steadily, args=(str(path), arguments.rate, stop, results)
        )
        process.start()
        time.sleep(1.0)
        if seconds is None:
            done = work()
        else:
            time.sleep(seconds)
            done = None
        stop.set()
        latencies = [seconds for _, seconds in results.get()]
        process.join()
        return latencies[10:], done

    alone, _ = writer(arguments.baseline, lambda: None)
    steps: list[tuple[float, int]] = []

    def build() -> float:
        started = time.monotonic()
        with History.open(path) as history:
            history.upkeep(
                batch_size=arguments.batch_size,
                on_step=lambda step: steps.append(
                    (step.seconds, sum(part.done for part in step.parts))
                ),
            )
        return time.monotonic() - started

    beside, seconds = writer(None, build)
    with History.open(path) as history:
        report = history.status()
    return {
        "messages": arguments.messages,
        "fill_seconds": round(filled, 1),
        "batch_size": arguments.batch_size,
        "writer_alone": _milliseconds(alone),
        "writer_beside_backfill": _milliseconds(beside),
        "backfill_seconds": round(seconds, 1),
        "steps": len(steps),
        "step": _milliseconds([each[0] for each in steps]),
        "duty_cycle": round(sum(each[0] for each in steps) / seconds, 3),
        "indexes": [
            {"name": each.name, "state": each.state, "bytes": each.bytes} for each in report.indexes
        ],
        "file_bytes": report.bytes,
    }


# --- several processes -----------------------------------------------------------------


def _crowd_member(path: str, name: str, seconds: float, results: Any) -> None:
    latencies: list[float] = []
    count = 0
    chance = random.Random(name)
    with History.open(path) as history:
        end = time.monotonic() + seconds
        if name.startswith("maintainer"):
            stop = threading.Event()
            threading.Timer(seconds, stop.set).start()
            count = history.upkeep(batch_size=500, watch=True, stop=stop, idle=0.2)
        while name.startswith("writer") and time.monotonic() < end:
            began = time.monotonic()
            messages = [
                Message("user", _text(chance), uid=f"{name}-{count + place}") for place in range(5)
            ]
            count += history.append(f"{name}-{count // 500}", messages).inserted
            latencies.append(time.monotonic() - began)
    results.put((name, count, latencies))


def crowd(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Four writers and two maintainers on one file."""
    path = folder / "crowd.db"
    _fill(path, 20_000)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    names = [f"writer{n}" for n in range(4)] + [f"maintainer{n}" for n in range(2)]
    crew = [
        context.Process(target=_crowd_member, args=(str(path), name, arguments.seconds, results))
        for name in names
    ]
    for process in crew:
        process.start()
    reports = [results.get() for _ in crew]
    for process in crew:
        process.join()
        assert process.exitcode == 0
    written = sum(count for name, count, _ in reports if name.startswith("writer"))
    latencies = [each for _, _, waits in reports for each in waits]
    with History.open(path) as history:
        assert history.status().messages == 20_001 + written
        sound = history.check()
    return {
        "seconds": arguments.seconds,
        "messages_a_second": round(written / arguments.seconds),
        "append_of_5": _milliseconds(latencies),
        "sound": sound.ok,
    }


# --- one process -----------------------------------------------------------------------


def open_(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Open a store that is ready, close it again."""
    path = folder / "open.db"
    _fill(path, 10_000)
    with History.open(path) as history:
        while history.maintain().more:
            pass
    times = []
    with History.open(path):  # keeps the WAL, as in a running program
        for _ in range(500):
            began = time.perf_counter()
            history = History.open(path)
            times.append(time.perf_counter() - began)
            history.close()
    return _milliseconds(times)


def append(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Append conversations of 30 messages, and messages one at a time."""
    result = {}
    for synchronous in ("full", "normal"):
        chance = random.Random(3)
        path = folder / f"append-{synchronous}.db"
        with History.open(path, synchronous=synchronous) as history:  # type: ignore[arg-type]
            talks = [
                [Message("user", _text(chance), uid=str(place)) for place in range(30)]
                for _ in range(700)
            ]
            began = time.perf_counter()
            for number, talk in enumerate(talks):
                history.append(Session(f"s{number}", title=f"talk {number}"), talk)
            whole = time.perf_counter() - began
            single = []
            for number in range(1_000):
                message = Message("user", _text(chance), uid=f"x{number}")
                began = time.perf_counter()
                history.append("single", [message])
                single.append(time.perf_counter() - began)
        result[synchronous] = {
            "messages_a_second_in_30s": round(700 * 30 / whole),
            "one_message": _milliseconds(single),
        }
    return result
