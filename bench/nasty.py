# SPDX-License-Identifier: MIT
"""Texts of nasty shapes, small to huge, through every public call.

    python -m bench.nasty [--only search,cut] [--shapes joiners] [--largest 10000000] [--huge]

Each text repeats one piece: joiners, jamo, marks, selectors, flags, quotes, brackets and
the like. Four things are asked of each call, for each shape: that it answers or raises an
error of ours; that ten times the text takes about ten times as long; that a deadline is
overrun by a tenth of a second at most; and that another thread goes on meanwhile, which is
measured by the longest time between two ticks of it. Times are the process's own, so that other
work on the machine does not count. Prints what did not hold, and JSON with ``--json``. Slow
texts are not made any longer. ``--huge`` stores, finds and reads one message of 100 MB.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from mnemogram import History, Message, MnemogramError, QueryTimeout, SceneMemory, Session, text
from mnemogram.history.redact import redact_secrets

SHAPES: Final = {
    "words": "word ",
    "letters": "a",
    "han": "医",
    "joiners": "👩\u200d",
    "lone joiners": "\u200d",
    "leading jamo": "\u1100",
    "vowel jamo": "\u1161",
    "trailing jamo": "\u11a8",
    "syllables of jamo": "\u1100\u1161\u11a8",
    "marks": "\u0301",
    "marks out of order": "\u0e48\u0e38",
    "voicing marks": "\u3099",
    "selectors": "\ufe0f",
    "selected": "は\ufe00\u3099",
    "tags": "🏴\U000e0067",
    "regional indicators": "🇯",
    "prepended": "\u0600",
    "linked consonants": "क\u094d",
    "invisible": "\u200b",
    "ligatures": "ﷺ",
    "parts": "㍿",
    "quotes": '"',
    "quoted": '"a" ',
    "opening": "(",
    "closing": ")",
    "brackets": "(a ",
    "OR": "a OR ",
    "AND NOT": "a AND NOT ",
    "minus": "-a ",
    "NEAR": "NEAR(",
    "stars": "a* ",
    "carets": "^",
    "slashes": "a/",
    "only slashes": "/",
    "backslashes": "\\",
    "dots": "a.",
    "hyphens": "a-",
    "underscores": "_a",
    "colons": "a:",
    "keys": "sk-a-",
    "tokens": "eyJa.",
    "key blocks": "-----BEGIN PRIVATE KEY-----",
    "passwords": "a-password-",
    "addresses": "a://b",
    "JSON": '{"a":[',
    "spaces": " ",
    "lines": "\n",
    "line ends": "\r\n",
    "NUL": "\0",
    "half surrogates": "\ud83d",
}
NEEDLE: Final = "needle"
DEADLINE: Final = 0.3
#: What a machine with other work on it makes of a tenth of a second.
GRACE: Final = 0.1
#: Shorter than this says nothing about growth.
_TELLING: Final = 0.05
_PATIENCE: Final = 30.0
_GROWTH: Final = 2.5


class Ticks:
    """A thread that counts as fast as the interpreter lets it, and its longest silence.

    A silence is the processor time that the rest of the process took between two ticks.
    """

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._last = time.process_time()
        self._longest = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.001):
            now = time.process_time()
            self._longest = max(self._longest, now - self._last)
            self._last = now

    def restart(self) -> None:
        """Forget the longest silence."""
        time.sleep(0.003)
        self._longest = 0.0

    @property
    def longest(self) -> float:
        """Seconds of the longest silence, the one that goes on included."""
        return max(self._longest, time.process_time() - self._last)

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()


@contextlib.contextmanager
def _history(*messages: str) -> Iterator[History]:
    with (
        tempfile.TemporaryDirectory() as directory,
        History.open(Path(directory) / "nasty.db", synchronous="normal") as history,
    ):
        for number, each in enumerate(messages):
            history.append(Session("nasty"), [Message("user", each, uid=str(number))])
        yield history


@contextlib.contextmanager
def _memory() -> Iterator[SceneMemory]:
    with (
        tempfile.TemporaryDirectory() as directory,
        SceneMemory.open(Path(directory) / "nasty.db") as memory,
    ):
        memory.commit([("Mia", "likes", "tea"), ("は", "is", "ば")], scene="a/b")
        yield memory


def _sound(shape: str) -> str:
    """What a message can hold of a text."""
    return shape.replace("\0", "\ufffd").replace("\ud83d", "\ufffd")


Call = Callable[[], object]


@contextlib.contextmanager
def _once(call: Call) -> Iterator[Call]:
    yield call


@contextlib.contextmanager
def _append(shape: str) -> Iterator[Call]:
    with _history() as history:
        message = Message("user", shape + f" {NEEDLE}", uid="n")
        yield lambda: history.append(Session("nasty"), [message])


@contextlib.contextmanager
def _redacted_append(shape: str) -> Iterator[Call]:
    yield lambda: redact_secrets(shape)


def _in_history(ask: Callable[[History, str], object]) -> Callable[[str], Any]:
    @contextlib.contextmanager
    def prepared(shape: str) -> Iterator[Call]:
        with _history(f"{_sound(shape)} {NEEDLE} here", "a word a医 👩") as history:
            yield lambda: ask(history, shape)

    return prepared


def _in_memory(ask: Callable[[SceneMemory, str], object]) -> Callable[[str], Any]:
    @contextlib.contextmanager
    def prepared(shape: str) -> Iterator[Call]:
        with _memory() as memory:
            yield lambda: ask(memory, shape)

    return prepared


def _of_text(ask: Callable[[str], object]) -> Callable[[str], Any]:
    return lambda shape: _once(lambda: ask(shape))


def _scroll(history: History, shape: str) -> object:
    first = history.read("nasty").messages[0].id
    return history.scroll("nasty", first, timeout=DEADLINE)


#: Name -> (what makes the call ready for a shape, whether the call has a deadline).
CALLS: Final[dict[str, tuple[Callable[[str], Any], bool]]] = {
    "append": (_append, False),
    "search": (_in_history(lambda h, s: h.search(NEEDLE, timeout=DEADLINE)), True),
    "search part": (_in_history(lambda h, s: h.search("eed", timeout=DEADLINE)), True),
    "search shape": (_in_history(lambda h, s: h.search(s[:4], timeout=DEADLINE)), True),
    "search nothing": (_in_history(lambda h, s: h.search("nowhere", timeout=DEADLINE)), True),
    "query": (_in_history(lambda h, s: h.search(s, timeout=DEADLINE)), True),
    "read": (_in_history(lambda h, s: h.read("nasty", timeout=DEADLINE)), True),
    "scroll": (_in_history(_scroll), True),
    "browse": (_in_history(lambda h, s: h.browse(timeout=DEADLINE)), True),
    "id": (_in_history(lambda h, s: h.read(s, timeout=DEADLINE)), True),
    "tokenize": (_of_text(text.tokenize), False),
    "fold": (_of_text(text.fold), False),
    "cut": (_of_text(lambda s: text.cut(s, len(s) // 2)), False),
    "normalize": (_of_text(text.normalize_scene_key), False),
    "redact": (_redacted_append, False),
    "recall": (_in_memory(lambda m, s: m.recall(s, timeout=DEADLINE)), True),
    "recall in scene": (_in_memory(lambda m, s: m.recall("tea", scenes=[s])), True),
    "recall by scene": (_in_memory(lambda m, s: m.recall_by_scene(s)), True),
    "context": (_in_memory(lambda m, s: m.build_context(s, timeout=DEADLINE)), True),
    "context in scene": (_in_memory(lambda m, s: m.build_context("tea", scenes=[s])), True),
    "commit subject": (_in_memory(lambda m, s: m.commit([(s, "is", "b")])), True),
    "commit scene": (_in_memory(lambda m, s: m.commit([("a", "is", "b")], scene=s)), True),
    "list scenes": (_in_memory(lambda m, s: m.list_scenes(s)), True),
}


def _measure(ready: Any, ticks: Ticks) -> tuple[float, float, str]:
    """Return the seconds of a call, the longest silence meanwhile, and how it ended."""
    with ready as call:
        ticks.restart()
        started = time.process_time()
        try:
            call()
            ended = "answered"
        except QueryTimeout:
            ended = "late"
        except MnemogramError as error:
            ended = error.code
        except Exception as error:  # what must not happen is what is shown
            ended = type(error).__name__
        seconds = time.process_time() - started
        return seconds, ticks.longest, ended


def measure(call: str, shape: str, largest: int, ticks: Ticks) -> Iterator[dict[str, Any]]:
    """Give one row for each size."""
    prepare, bounded = CALLS[call]
    piece = SHAPES[shape]
    size, before = 1_000, None
    while size <= largest:
        repeated = piece * max(1, size // len(piece.encode("utf-8", "surrogatepass")))
        began = time.perf_counter()
        seconds, silence, ended = _measure(prepare(repeated), ticks)
        whole = time.perf_counter() - began
        faults = ["raised"] if ended.endswith("Error") else []
        if (
            before is not None
            and seconds > _TELLING
            and seconds > 10 * _GROWTH * max(before, _TELLING / 10)
        ):
            faults.append("growth")
        if bounded and seconds > DEADLINE + GRACE:
            faults.append("deadline")
        if silence > GRACE:
            faults.append("silence")
        yield {
            "call": call,
            "shape": shape,
            "bytes": size,
            "seconds": round(seconds, 4),
            "silence": round(silence, 4),
            "ended": ended,
            "faults": faults,
        }
        if whole > _PATIENCE or (before is not None and "growth" in faults and seconds > 2):
            return
        before = seconds
        size *= 10


def huge(ticks: Ticks) -> Iterator[dict[str, Any]]:
    """Give one row for each call on a message of 100 MB."""
    message = "word 医院 " * 7_700_000 + NEEDLE
    with _history() as history:
        calls: dict[str, Call] = {
            "append": lambda: history.append(Session("nasty"), [Message("user", message)]),
            **{
                f"search {query}": lambda query=query: history.search(  # type: ignore[misc]
                    query, timeout=DEADLINE
                )
                for query in (NEEDLE, "eed", "医", "医院", "word", "nowhere")
            },
            "read": lambda: history.read("nasty", timeout=DEADLINE),
            "browse": lambda: history.browse(timeout=DEADLINE),
            "scroll": lambda: history.scroll("nasty", 1, timeout=DEADLINE),
        }
        for name, call in calls.items():
            seconds, silence, ended = _measure(_once(call), ticks)
            faults = ["silence"] if silence > GRACE else []
            if name != "append" and seconds > DEADLINE + GRACE:
                faults.append("deadline")
            yield {
                "call": name,
                "shape": "huge",
                "bytes": len(message.encode()),
                "seconds": round(seconds, 4),
                "silence": round(silence, 4),
                "ended": ended,
                "faults": faults,
            }


def main() -> int:
    """Run the measurements and print what did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="calls, with commas between")
    parser.add_argument("--shapes", help="shapes, with commas between")
    parser.add_argument("--largest", type=int, default=10_000_000, help="bytes")
    parser.add_argument("--huge", action="store_true", help="one message of 100 MB")
    parser.add_argument("--json", type=Path, help="write all rows there")
    chosen = parser.parse_args()
    calls = chosen.only.split(",") if chosen.only else list(CALLS)
    shapes = chosen.shapes.split(",") if chosen.shapes else list(SHAPES)
    rows = []
    ticks = Ticks()
    measured = (
        huge(ticks)
        if chosen.huge
        else (
            row
            for call in calls
            for shape in shapes
            for row in measure(call, shape, chosen.largest, ticks)
        )
    )
    for row in measured:
        rows.append(row)
        if row["faults"] or chosen.huge:
            print(
                f"{row['call']:18} {row['shape']:20} {row['bytes']:>11,}"
                f" {row['seconds']:8.3f} s  silent {row['silence']:6.3f} s"
                f"  {row['ended']:18} {' '.join(row['faults'])}",
                flush=True,
            )
    ticks.stop()
    if chosen.json:
        chosen.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    failed = sum(bool(row["faults"]) for row in rows)
    slowest = max(rows, key=lambda row: row["silence"])
    print(f"{len(rows)} measured, {failed} with faults; longest silence {slowest}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
