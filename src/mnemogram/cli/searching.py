# SPDX-License-Identifier: MIT
"""Verbs that look into a history: search, read, scroll, browse."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, Final, get_args

import click
from rich.text import Text

from mnemogram.cli.common import NOTHING, OK, Env, bound_option, store_options
from mnemogram.cli.render import Page, clean, local_time
from mnemogram.history.models import Role, SearchResult

__all__ = ["browse", "read", "scroll", "search"]

_ROLES = get_args(Role)
#: Messages that a read shows from the end of a session.
READ_END: Final = 10


@click.command()
@click.argument("query", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 10), default=3, show_default=True)
@click.option(
    "--role",
    "roles",
    type=click.Choice(_ROLES),
    multiple=True,
    help="Whose messages; may be repeated. Default: user and assistant.",
)
@click.option(
    "--sort",
    type=click.Choice(["relevance", "newest", "oldest"]),
    default="relevance",
    show_default=True,
)
@click.option(
    "--detail",
    type=click.Choice(["adaptive", "full"]),
    default="adaptive",
    show_default=True,
    help="Surroundings of the first result only, or of all.",
)
@click.option(
    "--window",
    type=click.IntRange(1, 20),
    default=5,
    show_default=True,
    help="Messages on each side of a match.",
)
@bound_option("--after", "Not before this time")
@bound_option("--before", "Before this time; a date alone is the end of that day")
@click.option("--source", "sources", multiple=True, help="Only this source; may be repeated.")
@click.option("--all-sources", is_flag=True, help="Every source, background work included.")
@click.option("--exclude-session", "excluded", multiple=True, help="Leave it out; may be repeated.")
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
@store_options
def search(
    env: Env,
    query: tuple[str, ...],
    limit: int,
    roles: tuple[Role, ...],
    sort: Any,
    detail: Any,
    window: int,
    after: datetime | str | None,
    before: datetime | str | None,
    sources: tuple[str, ...],
    all_sources: bool,
    excluded: tuple[str, ...],
    current_session: str | None,
    timeout: float,
    cursor: str | None,
    recency: float | None,
) -> int:
    """Find conversations that hold the words of QUERY.

    Words, "phrases", AND, OR, NOT, parentheses and a trailing * are understood; all else is
    taken as it stands. Write -- before a query that begins with a dash.
    """
    if not query:
        listing = "; browse lists what was active in a period" if after or before else ""
        raise click.UsageError(f"Missing argument 'QUERY...'{listing}.")
    with env.history() as history:
        start = time.perf_counter()
        result = history.search(
            " ".join(query),
            limit=limit,
            roles=roles or ("user", "assistant"),
            sort=sort,
            detail=detail,
            window=window,
            after=after,
            before=before,
            sources=sources or None,
            all_sources=all_sources,
            exclude_sessions=excluded,
            current_session=current_session,
            timeout=timeout,
            cursor=cursor,
            recency=recency,
        )
        elapsed = time.perf_counter() - start
    if env.json:
        env.emit(result.to_dict())
    else:
        show_search(env, result, elapsed)
    return OK if result.results else NOTHING


def show_search(env: Env, result: SearchResult, elapsed: float) -> None:
    """Write what was found for people, and how, to standard error."""
    page = Page(env.out)
    for number, hit in enumerate(result.results, 1):
        if number > 1:
            page.line()
        page.hit(number, hit, keep_marks=not env.out.is_terminal or env.out.no_color)
        page.surroundings(hit)
    noun = "conversation" if result.count == 1 else "conversations"
    found = f"{result.count} {noun}" if result.results else "nothing found"
    how = f"{found}  ·  route {result.search_path}  ·  {elapsed * 1000:.1f} ms"
    if not result.complete:
        how += "  ·  not everything was looked at"
    elif result.candidate_limit_reached:
        how += "  ·  more matches than were compared"
    if result.results:
        env.say("")
    env.say(how, "dim")
    if result.hint:
        env.say(clean(result.hint), "dim")
    if result.cursor:
        env.say(f"more: --cursor {clean(result.cursor)}", "dim")


@click.command()
@click.argument("session")
@store_options
def read(env: Env, session: str) -> int:
    """Show the beginning and the end of SESSION."""
    with env.history() as history:
        result = history.read(session)
    if env.json:
        env.emit(result.to_dict())
        return OK
    page = Page(env.out)
    page.line(Text(clean(result.title or result.session_id), style="bold magenta"))
    page.fields(
        [
            ("session", result.session_id),
            ("source", result.source),
            ("model", result.model),
            ("started", local_time(result.started_at)),
            ("last active", local_time(result.last_active_at)),
            ("messages", f"{result.message_count:,}"),
        ]
    )
    page.line()
    # The messages left out stand before the last ones.
    first = len(result.messages) if not result.omitted else len(result.messages) - READ_END
    page.messages(result.messages[:first])
    page.gap(result.omitted)
    page.messages(result.messages[first:])
    if result.hint:
        env.say(clean(result.hint), "dim")
    return OK


@click.command()
@click.argument("session")
@click.argument("message", type=int)
@click.option(
    "--window",
    type=click.IntRange(1, 20),
    default=5,
    show_default=True,
    help="Messages on each side.",
)
@store_options
def scroll(env: Env, session: str, message: int, window: int) -> int:
    """Show the messages of SESSION around MESSAGE, an id from a search."""
    with env.history() as history:
        result = history.scroll(session, message, window=window)
    if env.json:
        env.emit(result.to_dict())
        return OK
    page = Page(env.out)
    page.line(Text(clean(result.title or result.session_id), style="bold magenta"))
    page.gap(result.messages_before)
    page.messages(result.messages)
    page.gap(result.messages_after)
    if result.hint:
        env.say(clean(result.hint), "dim")
    return OK


@click.command()
@click.option("--limit", type=click.IntRange(1, 10), default=10, show_default=True)
@bound_option("--after", "Only sessions that were active at or after this time")
@bound_option("--before", "Only sessions active before this time; a date alone is its end")
@click.option("--source", "sources", multiple=True, help="Only this source; may be repeated.")
@click.option("--all-sources", is_flag=True, help="Every source, background work included.")
@click.option("--exclude-session", "excluded", multiple=True, help="Leave it out; may be repeated.")
@click.option("--cursor", help="Go on after an earlier answer.")
@store_options
def browse(
    env: Env,
    limit: int,
    after: datetime | str | None,
    before: datetime | str | None,
    sources: tuple[str, ...],
    all_sources: bool,
    excluded: tuple[str, ...],
    cursor: str | None,
) -> int:
    """List the sessions that were active last, or in a period."""
    with env.history() as history:
        result = history.browse(
            limit=limit,
            after=after,
            before=before,
            sources=sources or None,
            all_sources=all_sources,
            exclude_sessions=excluded,
            cursor=cursor,
        )
    if env.json:
        env.emit(result.to_dict())
    else:
        page = Page(env.out)
        for number, summary in enumerate(result.results):
            if number:
                page.line()
            page.session(summary)
        if result.hint:
            env.say(clean(result.hint), "dim")
        if result.cursor:
            env.say(f"more: --cursor {clean(result.cursor)}", "dim")
    return OK if result.results else NOTHING
