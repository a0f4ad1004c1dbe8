# SPDX-License-Identifier: MIT
"""How long searches take in one user's history of a million messages.

Usage: python -m bench.scale [--messages N] [--workdir DIR] [--data DIR] [--json OUT]

In one run, over one file: our search; FTS5's own ``ORDER BY rank`` over the same index and
over a twin of it that stores column sizes (ours leaves them out, which makes FTS5's bm25
read the texts); FTS5 counting the matches; a LIKE scan. The database is kept in the work
directory and used again by the next run with the same arguments.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

import mnemogram
from bench.data import conversations as read_conversations
from bench.quality.__main__ import machine
from bench.quality.metrics import percentile, table
from bench.scale_texts import VERSION, Conversation, conversations, sentences
from mnemogram import extension
from mnemogram.history.index.state import CJK
from mnemogram.text import RULES_VERSION, tokenize

_BATCH_MESSAGES: Final = 20_000
_LIMIT: Final = 10
_TIMEOUT: Final = 10.0
_CACHE_KIB: Final = 16_384  # as our own connections have it
_COLLECTIONS: Final = ("kdconv", "real-persona-chat", "ko-chatbot", "tau-bench")
_RANKED: Final = "SELECT rowid FROM {t} WHERE {t} MATCH ? ORDER BY rank LIMIT ?"
_COUNTED: Final = "SELECT count(*) FROM {t} WHERE {t} MATCH ?"
_LIKE: Final = "SELECT count(*) FROM messages WHERE content LIKE '%' || ? || '%'"


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of query: its terms, and what our search is called with."""

    name: str
    terms: tuple[str, ...]
    options: dict[str, Any]
    like: bool = True


# --- the database ------------------------------------------------------------------------


def _batches(made: Iterator[Conversation]) -> Iterator[list[Conversation]]:
    batch: list[Conversation] = []
    size = 0
    for conversation in made:
        batch.append(conversation)
        size += len(conversation[1])
        if size >= _BATCH_MESSAGES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _given(folder: Path | None) -> list[str]:
    if folder is None:
        return []
    return [
        each.content
        for kind in _COLLECTIONS
        for dialogue in read_conversations(folder, kind)
        for each in dialogue.messages
        if each.role != "tool" and 0 < len(each.content) <= 300
    ]


def build(path: Path, messages: int, seed: int, given: Sequence[str]) -> dict[str, Any]:
    """Fill a history and return how long that took and how large it became."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    making = storing = maintaining = 0.0
    made = _batches(conversations(seed, messages, given))
    done = 0
    with mnemogram.History.open(path, synchronous="normal") as history:
        while True:
            started = time.perf_counter()
            batch = next(made, None)
            making += time.perf_counter() - started
            if batch is None:
                break
            started = time.perf_counter()
            history.append_many(batch)
            storing += time.perf_counter() - started
            done += sum(len(each) for _, each in batch)
            print(f"\rstored {done:,} of {messages:,}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        started = time.perf_counter()
        while history.maintain(batch_size=10_000).more:
            pass
        maintaining = time.perf_counter() - started
        status = history.status()
    return {
        "messages": status.messages,
        "sessions": status.sessions,
        "file_bytes": status.bytes,
        "indexes": {each.name: each.bytes for each in status.indexes if each.bytes},
        "make_texts_seconds": round(making, 1),
        "append_seconds": round(storing, 1),
        "maintain_seconds": round(maintaining, 1),
        "messages_per_second": round(status.messages / storing),
    }


def build_twin(path: Path, twin: Path) -> float:
    """Index the same projection with column sizes, and return the seconds it took."""
    twin.unlink(missing_ok=True)
    connection = apsw.Connection(str(twin))
    extension.load(connection)
    connection.execute("PRAGMA journal_mode = off; PRAGMA synchronous = off")
    connection.execute("ATTACH ? AS history", (str(path),))
    started = time.perf_counter()
    with connection:
        connection.execute(
            "CREATE VIRTUAL TABLE sized USING fts5("
            f"{', '.join(CJK.columns)}, content = '', {CJK.tokenize})"
        )
        connection.execute(
            f"INSERT INTO sized (rowid, {', '.join(CJK.columns)})"
            f" SELECT id, {', '.join(CJK.columns)} FROM history.{CJK.view} ORDER BY id"
        )
    seconds = time.perf_counter() - started
    connection.close()
    return round(seconds, 1)


# --- what is asked -----------------------------------------------------------------------


def _cases(path: Path, seed: int) -> list[Case]:
    """Terms of every kind; phrases and the current session are read from the file."""
    rng = random.Random(f"cases/{seed}")
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    last = connection.execute("SELECT max(id) FROM messages").get
    phrases: list[str] = []
    while len(phrases) < 20:
        row = connection.execute(
            "SELECT content FROM messages WHERE id >= ? AND role != 'tool' LIMIT 1",
            (rng.randint(1, last),),
        ).fetchone()
        if row is None:
            continue
        words = [each for each in row[0].split() if each.isascii() and each.isalpha()]
        run = next((each for each in row[0].replace("，", " ").split() if len(each) >= 6), "")
        pairs = [f'"{a} {b}"' for a, b in pairwise(words) if f"{a} {b}" in row[0]]
        if pairs:
            phrases.append(rng.choice(pairs))
        elif len(run) >= 6 and not run.isascii():
            start = rng.randint(0, len(run) - 5)
            piece = run[start : start + 5]
            if piece.isalpha():
                phrases.append(piece)
    largest = connection.execute("SELECT key FROM sessions ORDER BY message_count DESC LIMIT 1").get
    connection.close()
    common = ("预约", "invoice", "会議室", "예약")
    very_common = ("今天", "update", "部署")
    current = {"current_session": largest}
    return [
        Case("rare term", ("鹈鹕", "zymurgy", "두루미", "瑠璃鶲"), {}),
        Case("common term (1 %)", common, {}),
        Case("very common term (10 %)", very_common, {}),
        Case("two common terms", ("预约 今天", "invoice update"), {}, like=False),
        Case("rare character", ("鼹",), {}),
        Case("character below 1 %", ("蟹", "茶"), {}),
        Case("commonest character", ("的",), {}),
        Case("phrase", tuple(phrases), {}),
        Case("sentence", tuple(sentences(seed, 20)), {}, like=False),
        Case("common, newest first", common, {"sort": "newest"}),
        Case("very common, newest first", very_common, {"sort": "newest"}),
        Case("common, current session", common, current),
        Case("very common, current session", very_common, current),
        Case("very common, newest, current", very_common, {"sort": "newest", **current}),
    ]


def _expression(term: str, *, anyhow: bool) -> str:
    """The FTS5 expression of a term: a phrase, a prefix, or for sentences an OR."""
    if anyhow:
        tokens = dict.fromkeys(each.text for each in tokenize(term, query=True))
        return " OR ".join(f'"{each}"' for each in tokens)
    words = [f'"{each}"' for each in term.split()] if '"' not in term else [term]
    single = (len(each) == 3 and not each.isascii() for each in words)
    return " ".join(f"{each} *" if lone else each for each, lone in zip(words, single, strict=True))


# --- measuring ---------------------------------------------------------------------------


class _Seconds(NamedTuple):
    wall: float
    cpu: float


def _timed(call: Callable[[], Any]) -> tuple[_Seconds, Any]:
    started, cpu = time.perf_counter(), time.process_time()
    value = call()
    return _Seconds(time.perf_counter() - started, time.process_time() - cpu), value


def _raw(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    extension.load(connection)
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return connection


def _summary(seconds: Sequence[_Seconds]) -> dict[str, float]:
    wall = [each.wall * 1e3 for each in seconds]
    cpu = [each.cpu * 1e3 for each in seconds]
    return {
        "p50_ms": round(percentile(wall, 0.5), 3),
        "p95_ms": round(percentile(wall, 0.95), 3),
        "cpu_p50_ms": round(percentile(cpu, 0.5), 3),
        "cpu_p95_ms": round(percentile(cpu, 0.95), 3),
    }


def measure(
    path: Path, twin: Path, cases: Sequence[Case], *, repeats: int, peers: bool
) -> list[dict[str, Any]]:
    """Time every case, ours first, each peer after it on a connection of its own."""
    reports = []
    raw, sized = _raw(path), _raw(twin)
    with mnemogram.History.open(path, read_only=True) as history:
        for case in cases:
            ours: list[_Seconds] = []
            routes: set[str] = set()
            unfinished = empty = 0
            for term in case.terms:
                for round_ in range(repeats + 1):
                    search = partial(history.search, term, limit=_LIMIT, timeout=_TIMEOUT)
                    seconds, answer = _timed(partial(search, **case.options))
                    if round_ == 0:
                        continue  # pages come from the disk the first time
                    ours.append(seconds)
                    routes.add(answer.search_path)
                    unfinished += not answer.complete or bool(
                        answer.hint and "newest" in answer.hint
                    )
                    empty += answer.count == 0
            report: dict[str, Any] = {
                "case": case.name,
                "terms": list(case.terms),
                "ours": _summary(ours),
                "routes": sorted(routes),
                "unfinished": unfinished,
                "empty": empty,
            }
            if peers:
                report |= _peers(raw, sized, case, repeats)
            reports.append(report)
            print(f"  {case.name}: {report['ours']}", file=sys.stderr, flush=True)
    raw.close()
    sized.close()
    return reports


def _peers(
    raw: apsw.Connection, sized: apsw.Connection, case: Case, repeats: int
) -> dict[str, Any]:
    anyhow = case.name == "sentence"
    times: dict[str, list[_Seconds]] = {}
    matches: list[int] = []

    def run(name: str, connection: apsw.Connection, sql: str, bindings: tuple[Any, ...]) -> Any:
        seconds, rows = _timed(lambda: connection.execute(sql, bindings).fetchall())
        times.setdefault(name, []).append(seconds)
        return rows

    for term in case.terms:
        expression = _expression(term, anyhow=anyhow)
        for _ in range(repeats):
            rows = run("count", raw, _COUNTED.format(t=CJK.name), (expression,))
            run("rank_sized", sized, _RANKED.format(t="sized"), (expression, _LIMIT))
        matches.append(rows[0][0])
        if matches[-1] <= 20_000:  # without sizes every match's text is read and cut
            run("rank_same_index", raw, _RANKED.format(t=CJK.name), (expression, _LIMIT))
    if case.like and not case.options:
        for term in case.terms[:4]:
            run("like", raw, _LIKE, (term.strip('"'),))
    return {"matches": matches, **{name: _summary(each) for name, each in times.items()}}


def _print(reports: Sequence[dict[str, Any]]) -> None:
    # Ratios are of processor time: a busy machine stretches the clock, not the work.
    def cell(report: dict[str, Any], name: str, field: str = "p50_ms") -> object:
        return float(report[name][field]) if name in report else "-"

    def ratio(report: dict[str, Any], name: str) -> object:
        if name not in report:
            return "-"
        return f"{report[name]['cpu_p50_ms'] / report['ours']['cpu_p50_ms']:.1f}x"

    print(
        table(
            (
                "case",
                "matches",
                "ours p50",
                "p95",
                "cpu p50",
                "rank",
                "ratio",
                "rank, same index",
                "LIKE",
                "ratio",
                "count",
                "routes",
            ),
            [
                [
                    each["case"],
                    f"{int(percentile(each['matches'], 0.5)):,}" if "matches" in each else "-",
                    cell(each, "ours"),
                    cell(each, "ours", "p95_ms"),
                    cell(each, "ours", "cpu_p50_ms"),
                    cell(each, "rank_sized"),
                    ratio(each, "rank_sized"),
                    cell(each, "rank_same_index"),
                    cell(each, "like"),
                    ratio(each, "like"),
                    cell(each, "count"),
                    ",".join(each["routes"]),
                ]
                for each in reports
            ],
        )
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="recombine these conversations' texts")
    parser.add_argument("--workdir", type=Path, default=Path("build/bench"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="beginnings of names of cases")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--rebuild", action="store_true")
    parser.add_argument("--json", type=Path, help="write everything here")
    options = parser.parse_args(arguments)
    options.workdir.mkdir(parents=True, exist_ok=True)
    kind = "given" if options.data else "made"
    name = f"scale-{kind}-{options.messages}-{options.seed}-v{VERSION}-r{RULES_VERSION}"
    path, twin = (options.workdir / f"{name}{each}.db" for each in ("", "-sized"))
    notes = options.workdir / f"{name}.json"
    if options.rebuild or not notes.exists():
        built = build(path, options.messages, options.seed, _given(options.data))
        notes.write_text(json.dumps(built), encoding="utf-8")
    built = json.loads(notes.read_text(encoding="utf-8"))
    if not options.no_peers and (options.rebuild or "twin_seconds" not in built):
        built["twin_seconds"] = build_twin(path, twin)
        notes.write_text(json.dumps(built), encoding="utf-8")
    print(json.dumps(built))
    only = tuple(filter(None, options.only.split(",")))
    cases = [each for each in _cases(path, options.seed) if not only or each.name.startswith(only)]
    reports = measure(path, twin, cases, repeats=options.repeats, peers=not options.no_peers)
    print(f"\n{built['messages']:,} messages; times in ms")
    _print(reports)
    if options.json:
        report = {
            "machine": machine(),
            "versions": {
                "mnemogram": mnemogram.__version__,
                "sqlite": apsw.sqlite_lib_version(),
                "python": sys.version.split()[0],
            },
            "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "built": built,
            "cases": reports,
        }
        options.json.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
