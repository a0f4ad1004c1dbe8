# SPDX-License-Identifier: MIT
"""The search verb: ten results on a screen, or the answer itself."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, get_args

import click

from mnemogram.cli.common import (
    NOTHING,
    OK,
    Env,
    filter_options,
    pager_option,
    store_options,
)
from mnemogram.cli.listing import show_listing
from mnemogram.cli.plain import code_of, write_text
from mnemogram.cli.reading import show_all
from mnemogram.cli.render import Page, clean
from mnemogram.cli.words import ROUTES, count
from mnemogram.history.history import History
from mnemogram.history.models import Role, SearchHit, SearchResult, StoredMessage

__all__ = ["search"]

_ROLES: Final = get_args(Role)


@click.command()
@click.argument("query", nargs=-1)
@click.option(
    "--limit", "-n", type=click.IntRange(1, 10), default=10, show_default=True, help="Most results."
)
@click.option("--short", "-s", is_flag=True, help="One line for each result.")
@click.option("--verbose", "-v", is_flag=True, help="With the messages around the best match.")
@click.option("--open", "open_", is_flag=True, help="The whole conversation of the best match.")
@click.option("--response", "-r", is_flag=True, help="Only the answer: its whole text.")
@click.option("--extract", "-x", is_flag=True, help="Only the first code block of the answer.")
@click.option(
    "--explain",
    is_flag=True,
    help="Why each result stands where it does, how it was searched, and how long that took.",
)
@click.option(
    "--role",
    "roles",
    type=click.Choice(_ROLES),
    multiple=True,
    help="Whose messages; repeatable. User and assistant by default.",
)
@click.option("--tools", is_flag=True, help="What tools answered as well.")
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    show_default=True,
)
@click.option(
    "--detail",
    type=click.Choice(["adaptive", "full"]),
    help="Surroundings of the best match only, or of all; with -v and --json.",
)
@click.option(
    "--window",
    type=click.IntRange(1, 20),
    help="Messages on each side of a match; 5 by default.",
)
@filter_options
@click.option("--current-session", help="The running session, whose own context is left out.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds.",
)
@click.option("--cursor", help="Go on after an earlier answer.")
@click.option(
    "--recency",
    type=click.FloatRange(min=0, min_open=True),
    help="Half-life in days: a match so much older than the newest counts half.",
)
@pager_option
@store_options
def search(
    env: Env,
    query: tuple[str, ...],
    limit: int,
    short: bool,
    verbose: bool,
    open_: bool,
    response: bool,
    extract: bool,
    explain: bool,
    roles: tuple[Role, ...],
    tools: bool,
    sort: Any,
    detail: Any,
    window: int | None,
    after: datetime | str | None,
    before: datetime | str | None,
    tags: tuple[str, ...],
    sources: tuple[str, ...],
    all_sources: bool,
    excluded: tuple[str, ...],
    current_session: str | None,
    timeout: float,
    cursor: str | None,
    recency: float | None,
    pager: bool,
) -> int:
    """Find conversations that hold the words of QUERY.

    Words, "phrases", AND, OR, NOT, parentheses and a trailing * are understood; all else is
    taken as it stands. Write -- before a query that begins with a dash. Without a QUERY, a
    period or a source lists what was active.
    """
    if sum((short, verbose or bool(detail), open_, response, extract)) > 1:
        raise click.UsageError("choose one of --short, --verbose, --open, --response, --extract")
    if not query:
        return _without_words(
            env,
            pager,
            bool(after or before or sources or all_sources or tags),
            limit=limit,
            after=after,
            before=before,
            tag=tags,
            sources=sources or None,
            all_sources=all_sources,
            exclude_sessions=excluded,
            cursor=cursor,
        )
    wanted: tuple[Role, ...] = roles or ("user", "assistant")
    if tools and "tool" not in wanted:
        wanted = (*wanted, "tool")
    with env.history() as history:
        start = time.perf_counter()
        result = history.search(
            " ".join(query),
            limit=limit,
            roles=wanted,
            sort=sort,
            detail=detail or "adaptive",
            window=5 if window is None else window,
            after=after,
            before=before,
            tag=tags,
            sources=sources or None,
            all_sources=all_sources,
            exclude_sessions=excluded,
            current_session=current_session,
            timeout=timeout,
            cursor=cursor,
            recency=recency,
            timezone=env.zone.info,
            estimate=cursor is None,
            explain=explain,
        )
        elapsed = time.perf_counter() - start
        if env.json:
            env.emit(result.to_dict())
        elif result.results and (response or extract):
            return _answer(env, history, result.results, code=extract)
        elif result.results and open_:
            hit = result.results[0]
            return show_all(env, history, hit.session_id, pager=pager, anchor=hit.match_message_id)
        else:
            around = verbose or detail is not None or window is not None
            with env.page(pager=pager) as page:
                _show(page, result.results, around=around, short=short)
            _summarize(env, result, elapsed, first=cursor is None, explain=explain)
    return OK if result.results else NOTHING


def _without_words(env: Env, pager: bool, bounded: bool, **options: Any) -> int:
    """List what was active, where no words are asked for."""
    if not bounded:
        raise click.UsageError("Missing argument 'QUERY...'; list and browse need none.")
    with env.history() as history:
        result = history.browse(timezone=env.zone.info, **options)
    return show_listing(env, result, pager=pager)


def _show(page: Page, hits: Iterable[SearchHit], *, around: bool, short: bool) -> None:
    for number, hit in enumerate(hits, 1):
        if around and number > 1:
            page.line()
        page.hit(number, hit, short=short)
        if hit.explanation is not None:
            page.explanation(hit.explanation)
        if around:
            page.surroundings(hit)


def _summarize(
    env: Env, result: SearchResult, elapsed: float, *, first: bool, explain: bool
) -> None:
    """Write what was found, and how, to standard error."""
    words = [_found(result, first=first)]
    if result.results:
        words.append(f"times in {env.zone.name}")
    if not result.complete:
        words.append("not everything was looked at")
    env.say(", ".join(words), "dim")
    if explain:
        routes = ", ".join(f"{each} ({ROUTES.get(each, each)})" for each in result.found_by)
        how = f"route {result.search_path}; found by {routes or 'nothing'}; {elapsed * 1000:.1f} ms"
        env.say(how, "dim")
        used = [name for name, ready in result.index_status.items() if ready is True]
        env.say(f"ready indexes: {', '.join(used) or 'none'}", "dim")
    env.hint(result.hint)
    if result.cursor:
        env.say(f"more: --cursor {clean(result.cursor)}", "dim")


def _found(result: SearchResult, *, first: bool) -> str:
    if not result.results:
        return "nothing found"
    shown = count(result.count, "conversation")
    if not first or result.about is None or (result.about_exact and result.about <= result.count):
        return shown
    if result.about <= result.count:
        return f"{shown} of more" if result.cursor else shown
    exact = "" if result.about_exact else "about "
    return f"{result.count} of {exact}{result.about:,} conversations"


# --- the answer alone ------------------------------------------------------------------


def _answer(env: Env, history: History, hits: Iterable[SearchHit], *, code: bool) -> int:
    """Write the answer of the first result that has one, or the code in it."""
    what = "code block" if code else "answer"
    for hit in hits:
        if hit.match_message_id is None:
            continue
        for message in _answers(history, hit.session_id, hit.match_message_id):
            text: str | None = message.content
            if code:
                text = code_of(message.content)
            if text:
                write_text(env, text)
                env.say(f"#{message.id} of {clean(hit.title or hit.session_id)}", "dim")
                return OK
            if not code:
                break
    env.say(f"no {what} in what was found", "dim")
    return NOTHING


def _answers(history: History, session: str, anchor: int) -> Iterable[StoredMessage]:
    """Give the message that matched if it is an answer, else what was said to it."""
    for message in history.messages(session, start=anchor):
        if message.role == "assistant" and message.content.strip():
            yield message
            return
        if message.role == "user" and message.id != anchor:
            return
        if message.id == anchor and "```" in message.content:
            yield message
