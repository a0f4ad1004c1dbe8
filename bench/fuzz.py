# SPDX-License-Identifier: MIT
"""Random query text against a store: nothing raises, nothing outlasts its deadline.

    python -m bench.fuzz [--queries 100000] [--messages 20000] [--seed 1] [--timeout 0.5]

Queries are random characters of many scripts, operators and quotes, broken pieces of
them, and mutilated sentences. Prints JSON: how many ran, what was raised other than
InvalidArgument, how many timed out (which is allowed), and by how much the slowest one
overran its deadline.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import apsw

import mnemogram
from mnemogram import History, InvalidArgument, Message, QueryTimeout

WORDS = [
    *("cache", "queue", "deploy", "retry_max", "QX-417", "src/io/reader.py", "ops@example.org"),
    *("牙医", "复诊", "预约", "電影", "台灣", "東京", "人々", "𠮷野", "サーバー", "ﾃｽﾄ"),
    *("バックアップ", "예약", "바꿔줘", "นัดหมอฟัน", "พรุ่งนี้", "пароль", "café", "Øresund", "🎉"),
]
PIECES = (
    "AND",
    "OR",
    "NOT",
    "NEAR",
    '"',
    "(",
    ")",
    "*",
    "-",
    "^",
    ":",
    "+",
    "{",
    "}",
    "'",
    "`",
    "\\",
    "%",
    "_",
    "\0",
    "\ud83d",
    "\u200d",
    "\ufe0f",
    "\u0301",
    "\u3099",
    "ー",
    "、",
    "。",
    " ",
    " ",
    "\n",
    "\t",
    ".",
    "..",
    "--",
    "content:",
    "rowid",
    ";",
    "NULL",
)


def one_query(rng: random.Random) -> str:
    """Return one random query of some length."""
    kind = rng.random()
    length = rng.choice((1, 2, 3, 5, 8, 13, 40)) if rng.random() < 0.98 else 3_000
    if kind < 0.35:
        return "".join(rng.choice(PIECES + tuple(WORDS)) for _ in range(length))
    if kind < 0.6:
        return " ".join(rng.choice(WORDS + list(PIECES)) for _ in range(length))
    if kind < 0.8:
        return "".join(chr(rng.randrange(0x110000)) for _ in range(length))
    if kind < 0.9:
        return "".join(
            chr(rng.choice((0x4E00, 0xAC00, 0x3040, 0x0E00, 0x1100)) + rng.randrange(96))
            for _ in range(length)
        )
    sentence = list(" ".join(rng.choice(WORDS) for _ in range(length)))
    for _ in range(max(1, len(sentence) // 8)):
        sentence[rng.randrange(len(sentence))] = rng.choice(PIECES)
    return "".join(sentence)


def fill(history: History, messages: int, rng: random.Random) -> None:
    """Store conversations of random words."""
    batch = []
    for number in range(messages // 10):
        batch.append(
            (
                f"s{number}",
                [
                    Message(
                        rng.choice(("user", "assistant")),
                        " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 20))),
                        uid=str(place),
                    )
                    for place in range(10)
                ],
            )
        )
    history.append_many(batch)


def main() -> int:
    """Run the fuzzing and print its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=0.5)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    paths: Counter[str] = Counter()
    raised: dict[str, list[str]] = {}
    refused = timed_out = 0
    worst = (0.0, "")
    with (
        tempfile.TemporaryDirectory() as directory,
        History.open(Path(directory) / "fuzz.db", synchronous="normal") as history,
    ):
        fill(history, chosen.messages, rng)
        started = time.perf_counter()
        for _ in range(chosen.queries):
            query = one_query(rng)
            before = time.perf_counter()
            try:
                result = history.search(
                    query,
                    timeout=chosen.timeout,
                    roles=rng.choice((("user", "assistant"), ("user", "tool"))),
                    sort=rng.choice(("relevance", "relevance", "newest", "oldest")),
                )
                paths[result.search_path] += 1
            except InvalidArgument:
                refused += 1
            except QueryTimeout:
                timed_out += 1
            except Exception:  # what must not happen is what is counted
                name = traceback.format_exc(limit=-2).encode("ascii", "backslashreplace").decode()
                if name not in raised:
                    print(name, ascii(query), file=sys.stderr, flush=True)
                raised.setdefault(name, []).append(ascii(query[:200]))
            seconds = time.perf_counter() - before
            worst = max(worst, (seconds, ascii(query[:200])))
        total = time.perf_counter() - started
    print(
        json.dumps(
            {
                "queries": chosen.queries,
                "messages": chosen.messages,
                "seed": chosen.seed,
                "seconds": round(total, 1),
                "search_paths": paths,
                "refused": refused,
                "timed_out": timed_out,
                "raised": {name: queries[:3] for name, queries in raised.items()},
                "deadline_seconds": chosen.timeout,
                "slowest_seconds": round(worst[0], 3),
                "slowest_query": worst[1],
                "versions": {
                    "mnemogram": mnemogram.__version__,
                    "sqlite": apsw.sqlite_lib_version(),
                    "python": platform.python_version(),
                },
            },
            ensure_ascii=False,
            indent=1,
        )
    )
    return 1 if raised else 0


if __name__ == "__main__":
    sys.exit(main())
