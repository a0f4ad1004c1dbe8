# SPDX-License-Identifier: MIT
"""How long do requests of a service wait, with upkeep beside them and without?

Clients ask, tell, search and recall for users at random. Beside half of the rounds, indexes
are built and an older store is taken over, each page of which takes seconds. Reported: times
by kind of request, how late the event loop ran, errors, and whether all that was acknowledged
is stored.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mnemogram
from mnemogram import Message, MnemogramError, Session, Triple
from mnemogram.history.legacy import LegacyRecord
from mnemogram.service import MnemogramService
from mnemogram.tools import tools_of

WORDS = (
    *("kettle", "harbour", "tram", "invoice", "garden", "release", "branch", "worker", "deploy"),
    *("海港", "预约", "牙医", "发布", "缓存", "節点", "会議", "予約", "회의", "예약"),
)


class SlowStore:
    """An older store: some conversations of each user, a page of which takes seconds."""

    page_size = 20

    def __init__(self, seconds: float, pages: int) -> None:
        self._seconds = seconds
        self._pages = pages

    def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
        time.sleep(self._seconds)
        first = int(after or 0)
        if first >= self._pages * self.page_size:
            return []
        return [
            LegacyRecord(
                str(number), Session(f"old-{number}"), (Message("user", _text(), uid=f"o{number}"),)
            )
            for number in range(first + 1, first + 1 + self.page_size)
        ]


def _text() -> str:
    return " ".join(random.choices(WORDS, k=random.randint(6, 40)))


def fill(root: Path, users: int, messages: int) -> None:
    """Store something for everybody, by a process that cannot fill the best index."""
    with mnemogram.open(root, load_extension=False, synchronous="normal") as home:
        for user in range(users):
            home.history(f"u{user}").append_many(
                (Session(f"s{n}"), [Message("user", _text(), uid=f"{n}-{m}") for m in range(20)])
                for n in range(messages // 20)
            )


async def round_of(root: Path, options: argparse.Namespace, *, upkeep: bool) -> dict[str, Any]:
    """Run all clients for a while and return what was measured."""
    times: dict[str, list[float]] = defaultdict(list)
    late: list[float] = []
    errors: list[str] = []
    told = 0
    legacy = SlowStore(options.page_seconds, options.pages) if upkeep else None
    async with MnemogramService(root, upkeep=upkeep, legacy=legacy, closing=5.0) as service:
        end = time.monotonic() + options.seconds

        async def watch() -> None:
            while time.monotonic() < end:
                began = time.monotonic()
                await asyncio.sleep(0.005)
                late.append(time.monotonic() - began - 0.005)

        async def timed(kind: str, work: Awaitable[Any]) -> Any:
            began = time.perf_counter()
            try:
                return await work
            except MnemogramError as error:
                errors.append(f"{kind}: {error}")
            finally:
                times[kind].append(time.perf_counter() - began)

        async def client(number: int) -> None:
            nonlocal told
            chance = random.Random(number)
            while time.monotonic() < end:
                user = f"u{chance.randrange(options.users)}"
                history, memory = service.history(user), service.memory(user)
                what = chance.random()
                if what < 0.45:
                    query = " ".join(chance.choices(WORDS, k=2))
                    search, *_ = tools_of(history, memory)
                    answer = await timed("search", search({"query": query}))
                    if answer is not None and not answer["success"]:
                        errors.append(f"search: {answer['error']}")
                elif what < 0.85:
                    said = [Message("user", _text()), Message("assistant", _text())]
                    session = f"new-{number}-{chance.randrange(10**9)}"
                    result = await timed("append", history.append(session, said))
                    told += result.inserted if result is not None else 0
                elif what < 0.95:
                    await timed("context", memory.build_context(_text(), scenes=["chan:qq"]))
                else:
                    triple = Triple(chance.choice(WORDS), "near", chance.choice(WORDS))
                    await timed("commit", memory.commit([triple], scene="chan:qq"))
                await asyncio.sleep(chance.expovariate(1 / options.think))

        await asyncio.gather(watch(), *(client(number) for number in range(options.clients)))
    return {"times": times, "late": late, "errors": errors, "told": told}


def stored(root: Path, users: int) -> int:
    """Count what clients told, in the files."""
    count = 0
    with mnemogram.open(root) as home:
        for user in range(users):
            with home.history(f"u{user}")._database.read() as connection:
                count += int(
                    connection.one(
                        "SELECT count(*) FROM messages AS m JOIN sessions AS s"
                        " ON s.id = m.session_id WHERE s.key LIKE 'new-%'"
                    )
                )
    return count


def quantile(values: list[float], share: float) -> float:
    """Return a quantile in milliseconds."""
    return round(sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1000, 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--clients", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=4, help="alternating without and with upkeep")
    parser.add_argument("--think", type=float, default=0.25, help="a client's mean pause, seconds")
    parser.add_argument("--messages", type=int, default=400, help="of each user at the beginning")
    parser.add_argument("--page-seconds", type=float, default=3.0, help="of the older store")
    parser.add_argument("--pages", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kinds: Callable[[], dict[str, list[float]]] = lambda: defaultdict(list)  # noqa: E731
    seen = {False: kinds(), True: kinds()}
    told = lost = 0
    errors: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        for number in range(options.rounds):
            root = Path(directory) / str(number)
            fill(root, options.users, options.messages)
            upkeep = number % 2 == 1
            found = asyncio.run(round_of(root, options, upkeep=upkeep))
            for kind, values in found["times"].items():
                seen[upkeep][kind] += values
            seen[upkeep]["loop late"] += found["late"]
            told += found["told"]
            lost += found["told"] - stored(root, options.users)
            errors += found["errors"]
    rows = {
        kind: {
            "without": {"n": len(seen[False][kind]), "p50": quantile(seen[False][kind], 0.5),
                        "p99": quantile(seen[False][kind], 0.99)},
            "with": {"n": len(seen[True][kind]), "p50": quantile(seen[True][kind], 0.5),
                     "p99": quantile(seen[True][kind], 0.99)},
        }
        for kind in ("search", "append", "context", "commit", "loop late")
    }  # fmt: skip
    print(
        f"{'':10} {'n':>7} {'p50':>7} {'p99':>7}   with upkeep: {'n':>7} {'p50':>7} {'p99':>7}  ms"
    )
    for kind, row in rows.items():
        one, two = row["without"], row["with"]
        print(
            f"{kind:10} {one['n']:>7} {one['p50']:>7} {one['p99']:>7}"
            f"                {two['n']:>7} {two['p50']:>7} {two['p99']:>7}"
        )
    print(f"acknowledged {told:,}, not stored {lost}, errors {len(errors)}", *errors[:5], sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "told": told, "lost": lost}), "utf-8")


if __name__ == "__main__":
    main()
