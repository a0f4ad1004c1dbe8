# SPDX-License-Identifier: MIT
"""Several processes at one file: killed at any moment, or all at work at once."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import pytest

import mnemogram
from mnemogram import History, Message
from mnemogram.history.index import state as indexes
from tests.history.kills import (
    Acknowledged,
    maintain_for,
    open_together,
    work_until_killed,
    write_for,
)
from tests.history.support import TEXTS, assert_sound, finish, states


@pytest.fixture(scope="module")
def processes() -> Any:
    """Processes that are forked from a clean one which has imported mnemogram."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.history.kills"])
    return context


def furnish(path: Path, count: int) -> None:
    """Make a store whose indexes are all still to be built."""
    with History.open(path, load_extension=False) as plain:
        plain.append(
            "old",
            [Message("user", TEXTS[n % len(TEXTS)], uid=str(n)) for n in range(count)],
        )


def kill_rounds(processes: Any, folder: Path, rounds: int) -> None:
    path = folder / "state.db"
    furnish(path, 1_500)
    known = Acknowledged()
    chance = random.Random(rounds)
    seeds = iter(range(10**6))
    for number in range(rounds):
        workers = []
        for _ in range(chance.choice((1, 1, 2))):
            log = folder / f"log-{next(seeds)}"
            seed = int(log.name.partition("-")[2])
            process = processes.Process(target=work_until_killed, args=(str(path), str(log), seed))
            process.start()
            workers.append((process, log))
        end = time.monotonic() + 300
        while not all(log.exists() and log.stat().st_size for _, log in workers):
            assert time.monotonic() < end, "the workers do not begin"
            time.sleep(0.002)
        time.sleep(chance.random() * 0.08)
        for process, _ in workers:
            process.kill()
        for process, log in workers:
            process.join()
            assert process.exitcode == -9, log.read_text()
        known.take([log for _, log in workers])
        for _, log in workers:
            log.unlink()
        with History.open(path) as history:
            report = history.check()
            assert report.ok, (number, report)
            known.verify(history)
            if number % 10 == 9:
                assert_sound(history)
    with History.open(path) as history:
        finish(history)
        assert {states(history)[name] for name in (indexes.CJK.name, indexes.TRIGRAM.name)} == {
            "ready"
        }
        assert_sound(history)
        known.verify(history)
        assert history.check().ok


def test_processes_that_make_the_same_stores_at_once_all_get_them(
    processes: Any, tmp_path: Path
) -> None:
    count, rounds = 3, 100
    barrier, errors = processes.Barrier(count), processes.Queue()
    workers = [
        processes.Process(target=open_together, args=(str(tmp_path), rounds, barrier, errors))
        for _ in range(count)
    ]
    for worker in workers:
        worker.start()
    said = []
    while said.count(None) < count:
        said.append(errors.get(timeout=600))
    for worker in workers:
        worker.join()
    assert [each for each in said if each is not None] == []
    with mnemogram.open(tmp_path / "7") as host:
        assert host.history("3").status().messages == 1


def test_a_process_may_be_killed_at_any_moment(processes: Any, tmp_path: Path) -> None:
    kill_rounds(processes, tmp_path, 12)


@pytest.mark.long
def test_a_process_may_be_killed_at_three_hundred_moments(processes: Any, tmp_path: Path) -> None:
    kill_rounds(processes, tmp_path, 300)


def crowd(processes: Any, path: Path, seconds: float) -> None:
    furnish(path, 2_000)
    results = processes.Queue()
    jobs = [(write_for, f"writer{number}") for number in range(4)]
    jobs += [(maintain_for, f"maintainer{number}") for number in range(2)]
    crew = [
        processes.Process(target=target, args=(str(path), name, seconds, results))
        for target, name in jobs
    ]
    for process in crew:
        process.start()
    reports = [results.get(timeout=seconds + 600) for _ in crew]
    for process in crew:
        process.join()
        assert process.exitcode == 0
    written = {name: count for name, count, _ in reports if name.startswith("writer")}
    slowest = max(wait for _, _, wait in reports)
    print(f"{sum(written.values()) / seconds:.0f} messages a second, slowest {slowest:.2f} s")
    with History.open(path) as history:
        with history._database.read() as connection:
            stored = dict(
                connection.execute(
                    "SELECT substr(m.uid, 1, 7), count(*) FROM messages AS m"
                    " WHERE m.uid GLOB 'writer*' GROUP BY 1"
                )
            )
        assert stored == written
        assert min(written.values()) > 0
        finish(history)
        assert_sound(history)
        assert history.check().ok


def test_four_writers_and_two_maintainers_lose_and_double_nothing(
    processes: Any, tmp_path: Path
) -> None:
    crowd(processes, tmp_path / "state.db", 3.0)


@pytest.mark.long
def test_four_writers_and_two_maintainers_work_for_a_minute(processes: Any, tmp_path: Path) -> None:
    crowd(processes, tmp_path / "state.db", 60.0)
