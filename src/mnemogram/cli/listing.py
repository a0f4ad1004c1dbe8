# SPDX-License-Identifier: MIT
"""Verbs that list conversations: list, without end, and browse, the last ones."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

import click

from mnemogram.cli.common import NOTHING, OK, Env, filter_options, pager_option, store_options
from mnemogram.cli.render import clean
from mnemogram.cli.words import count
from mnemogram.history.models import BrowseResult

__all__ = ["browse", "list_", "show_listing"]


@click.command("list")
@click.option("--limit", "-n", type=click.IntRange(1), default=20, show_default=True)
@click.option("--all", "-a", "all_", is_flag=True, help="All of them, in place of --limit.")
@click.option("--title", help="Only those whose title holds this.")
@click.option("--oldest", is_flag=True, help="The first active first.")
@click.option("--short", "-s", is_flag=True, help="One line for each.")
@filter_options
@pager_option
@store_options
def list_(
    env: Env,
    limit: int,
    all_: bool,
    title: str | None,
    oldest: bool,
    short: bool,
    after: datetime | str | None,
    before: datetime | str | None,
    tags: tuple[str, ...],
    sources: tuple[str, ...],
    all_sources: bool,
    excluded: tuple[str, ...],
    pager: bool,
) -> int:
    """List conversations, the last active first, as many as there are.

    --json writes one JSON document for each, in a line of its own.
    """
    chosen: dict[str, Any] = {
        "after": after,
        "before": before,
        "tag": tags,
        "sources": sources or None,
        "all_sources": all_sources,
        "exclude_sessions": excluded,
        "title": title,
        "timezone": env.zone.info,
    }
    shown = 0
    with env.history() as history:
        found = history.sessions(newest_first=not oldest, **chosen)
        summaries = found if all_ else islice(found, limit)
        if env.json:
            for summary in summaries:
                shown += 1
                env.emit_line(summary.to_dict())
            return OK if shown else NOTHING
        with env.page(pager=pager) as page:
            for summary in summaries:
                shown += 1
                page.session(summary, short=short)
        total = history.count_sessions(**chosen)
        hidden = 0
        if not sources and not all_sources:
            hidden = history.count_sessions(**{**chosen, "all_sources": True}) - total
    if not total:
        env.say(
            "no conversation is like that"
            if title or after or before or sources or tags
            else "no conversation yet",
            "dim",
        )
    elif shown < total:
        env.say(
            f"{shown:,} of {count(total, 'conversation')}, times in {env.zone.name}: -n or --all"
            " shows more",
            "dim",
        )
    else:
        env.say(f"{count(total, 'conversation')}, times in {env.zone.name}", "dim")
    if hidden:
        env.say(
            f"{count(hidden, 'conversation')} of background work left out: --all-sources", "dim"
        )
    return OK if total else NOTHING


@click.command()
@click.option("--limit", "-n", type=click.IntRange(1, 10), default=10, show_default=True)
@filter_options
@click.option("--cursor", help="Go on after an earlier answer.")
@pager_option
@store_options
def browse(
    env: Env,
    limit: int,
    after: datetime | str | None,
    before: datetime | str | None,
    tags: tuple[str, ...],
    sources: tuple[str, ...],
    all_sources: bool,
    excluded: tuple[str, ...],
    cursor: str | None,
    pager: bool,
) -> int:
    """List the conversations that were active last, or in a period; `list` has no end."""
    with env.history() as history:
        result = history.browse(
            limit=limit,
            after=after,
            before=before,
            tag=tags,
            sources=sources or None,
            all_sources=all_sources,
            exclude_sessions=excluded,
            cursor=cursor,
            timezone=env.zone.info,
        )
    return show_listing(env, result, pager=pager)


def show_listing(env: Env, result: BrowseResult, *, pager: bool) -> int:
    """Write an answer of ``History.browse``."""
    if env.json:
        env.emit(result.to_dict())
        return OK if result.results else NOTHING
    with env.page(pager=pager) as page:
        for summary in result.results:
            page.session(summary)
    if result.results:
        env.say(f"{count(result.count, 'conversation')}, times in {env.zone.name}", "dim")
    env.hint(result.hint)
    if result.cursor:
        env.say(f"more: --cursor {clean(result.cursor)}", "dim")
    return OK if result.results else NOTHING
