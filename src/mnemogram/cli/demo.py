# SPDX-License-Identifier: MIT
"""The demo verb: a temporary home, shipped conversations, and searches that explain themselves."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from rich.text import Text

import mnemogram
from mnemogram.cli.common import FAILURE, OK, Env, output_options
from mnemogram.cli.render import Page, clean
from mnemogram.history.history import History
from mnemogram.history.models import Role, SearchResult

__all__ = ["demo"]

_T = TypeVar("_T")
_USER: Final = "demo"
_BATCH: Final = 25


@dataclass(frozen=True, slots=True)
class _Scene:
    """One search of the demo.

    Attributes:
        query: what is searched.
        why: what it shows.
        must: text that the first result has to hold.
        roles: whose messages.
    """

    query: str
    why: str
    must: str
    roles: tuple[Role, ...] = ("user", "assistant")


_SCENES: Final = (
    _Scene("牙医", "two Chinese characters, inside running text", "牙医"),
    _Scene("雨", "one character", "雨"),
    _Scene("cacheA 扩容", "Latin glued to Chinese, and Chinese", "cacheA"),
    _Scene("バックアップ", "full width finds half width", "ﾊﾞｯｸｱｯﾌﾟ"),
    _Scene("台湾大学", "simplified finds traditional", "臺灣大學"),
    _Scene("예약", "a Korean stem before its particle", "예약"),
    _Scene("หมอฟัน", "Thai, written without spaces", "หมอฟัน"),
    _Scene("ops@example.org", "punctuation is no syntax", "ops@example.org"),
    _Scene(
        "雪松机房",
        "the end of a long tool result, beyond what the index holds",
        "雪松机房",
        ("user", "assistant", "tool"),
    ),
)


@click.command()
@click.option(
    "--messages",
    type=click.IntRange(0, 1_000_000),
    default=10_000,
    show_default=True,
    help="Made-up messages added to the shipped ones.",
)
@output_options
def demo(env: Env, messages: int) -> int:
    """Import the shipped conversations into a temporary home and search them."""
    with (
        tempfile.TemporaryDirectory(prefix="mnemogram-demo-") as directory,
        mnemogram.open(Path(directory) / "home") as home,
    ):
        return _run(env, home.history(_USER), messages)


def _timed(work: Callable[[], _T]) -> tuple[_T, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _run(env: Env, history: History, messages: int) -> int:
    stored, seconds = _timed(lambda: _fill(history, messages))
    steps: list[dict[str, Any]] = []
    page = Page(env.out, env.zone)
    if not env.json:
        line = Text().append("mnemogram ", style="bold magenta")
        line.append(f"{stored:,} messages stored and indexed in {seconds:.1f} s")
        page.line(line)
    good = True
    first: SearchResult | None = None
    for scene in _SCENES:
        result, elapsed = _timed(lambda s=scene: history.search(s.query, roles=s.roles))  # type: ignore[misc]
        found = any(scene.must in each.content for hit in result.results for each in hit.messages)
        good &= found
        first = first or result
        steps.append(
            {
                "query": scene.query,
                "why": scene.why,
                "found": found,
                "search_path": result.search_path,
                "milliseconds": round(elapsed * 1000, 2),
                "result": result.to_dict(),
            }
        )
        if not env.json:
            _show(env, page, scene, result, elapsed, found)
    if first is not None and first.results and not env.json:
        _scroll(page, history, first)
    if env.json:
        env.emit(
            {"success": good, "messages": stored, "seconds": round(seconds, 3), "steps": steps}
        )
    else:
        status = history.status()
        page.line()
        size = sum(index.bytes or 0 for index in status.indexes)
        page.line(
            Text(
                f"{status.bytes / 1e6:.1f} MB in one SQLite file, {size / 1e6:.1f} MB of them"
                f" indexes; tokenizer {status.tokenizer or 'not loaded'},"
                f" SQLite {status.sqlite_version}. The file is gone now.",
                style="dim",
            )
        )
    if not good:
        env.say("mnemogram: a search of the demo did not find what it should", "bold red")
        env.say("  `mnemogram tokenizer check` tells whether the tokenizer works here.")
    return OK if good else FAILURE


def _fill(history: History, count: int) -> int:
    from mnemogram.demo import conversations, filler

    stored = 0
    waiting: list[Any] = [(batch.session, batch.messages) for batch in conversations()]
    for each in filler(count):
        waiting.append(each)
        if len(waiting) >= _BATCH:
            stored += sum(result.inserted for result in history.append_many(waiting))
            waiting = []
    return stored + sum(result.inserted for result in history.append_many(waiting))


def _show(
    env: Env, page: Page, scene: _Scene, result: SearchResult, elapsed: float, found: bool
) -> None:
    page.line()
    head = Text().append("search ", style="dim")
    head.append(scene.query, style="bold yellow")
    head.append(f"   {scene.why}", style="dim")
    page.line(head)
    noun = "conversation" if result.count == 1 else "conversations"
    how = Text().append(f"{result.count} {noun}", style="green" if found else "bold red")
    how.append(f" by route {result.search_path} in {elapsed * 1000:.1f} ms", style="dim")
    page.line(how, 2)
    for number, hit in enumerate(result.results, 1):
        page.hit(number, hit, indent=2)


def _scroll(page: Page, history: History, result: SearchResult) -> None:
    hit = result.results[0]
    if hit.match_message_id is None:
        return
    anchor = hit.match_message_id
    around, elapsed = _timed(lambda: history.scroll(hit.session_id, anchor, window=2))
    page.line()
    head = Text().append("scroll ", style="dim")
    head.append(clean(hit.session_id), style="bold yellow")
    head.append(f"   around message {anchor}, in {elapsed * 1000:.1f} ms", style="dim")
    page.line(head)
    page.messages(around.messages, 2)
