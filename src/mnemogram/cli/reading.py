# SPDX-License-Identifier: MIT
"""Verbs that read conversations: read, scroll, tail."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final

import click
from rich.text import Text

from mnemogram.cli.common import NOTHING, OK, Env, filter_options, pager_option, store_options
from mnemogram.cli.naming import session_argument
from mnemogram.cli.plain import code_of, write_text
from mnemogram.cli.render import Page, clean, one_line
from mnemogram.cli.words import count
from mnemogram.history.history import History
from mnemogram.history.models import ReadResult, StoredMessage

__all__ = ["read", "scroll", "show_all", "tail"]

#: Messages that a read shows from the end of a session.
READ_END: Final = 10
#: Seconds between two looks for new messages.
_POLL: Final = 0.5
#: Messages that may come between two looks and are shown.
_MOST_NEW: Final = 500


@click.command()
@session_argument
@click.option("--all", "-a", "all_", is_flag=True, help="All of it, every message whole.")
@click.option("--last", "-l", type=click.IntRange(1), help="The last so many messages, whole.")
@click.option("--response", "-r", is_flag=True, help="Only the text of the last answer.")
@click.option("--extract", "-x", is_flag=True, help="Only the first code block of it.")
@pager_option
@store_options
def read(
    env: Env,
    session: str,
    all_: bool,
    last: int | None,
    response: bool,
    extract: bool,
    pager: bool,
) -> int:
    """Show SESSION: its beginning and end, all of it, or its last messages.

    SESSION is an id or the beginning of one, the number of a message (#12, or 12), or a
    title. With --all or --last, --json writes one JSON document for each message.
    """
    if sum((all_, last is not None, response, extract)) > 1:
        raise click.UsageError("choose one of --all, --last, --response, --extract")
    with env.history() as history:
        where = history.locate(session)
        if response or extract:
            return _last_answer(env, history, where.session_id, code=extract)
        if all_ or last is not None:
            return show_all(
                env, history, where.session_id, pager=pager, anchor=where.message_id, last=last
            )
        result = history.read(where.session_id)
    if env.json:
        env.emit(result.to_dict())
        return OK
    with env.page(pager=pager) as page:
        _head(page, result)
        # The messages left out stand before the last ones.
        first = len(result.messages) if not result.omitted else len(result.messages) - READ_END
        page.messages(result.messages[:first])
        page.gap(result.omitted)
        page.messages(result.messages[first:])
    if result.omitted:
        env.say("--all shows all of it, --last N its end", "dim")
    return OK


def _head(page: Page, result: ReadResult) -> None:
    page.line(Text(one_line(result.title or result.session_id), style="bold magenta"))
    page.fields(
        [
            ("session", result.session_id),
            ("source", result.source),
            ("model", result.model),
            ("tags", ", ".join(result.tags) or None),
            ("started", page.when(result.started_at)),
            ("last active", page.when(result.last_active_at)),
            ("messages", f"{result.message_count:,}"),
        ]
    )
    page.line()


def show_all(
    env: Env,
    history: History,
    session: str,
    *,
    pager: bool,
    anchor: int | None = None,
    last: int | None = None,
) -> int:
    """Write the messages of a session whole, as they come.

    Args:
        anchor: the message to mark.
        last: only the last so many.
    """
    messages: Iterable[StoredMessage] = history.messages(session)
    if last is not None:
        newest = islice(history.messages(session, newest_first=True), last)
        messages = reversed(deque(newest))
    if env.json:
        for message in messages:
            env.emit_line(message.to_dict())
        return OK
    with env.page(pager=pager) as page:
        _head(page, history.read(session, limit=1))
        for message in messages:
            page.message(message, anchor=message.id == anchor)
    return OK


def _last_answer(env: Env, history: History, session: str, *, code: bool) -> int:
    for message in history.messages(session, roles=("assistant",), newest_first=True):
        text = code_of(message.content) if code else message.content
        if text and text.strip():
            write_text(env, text)
            return OK
    env.say(f"no {'code block' if code else 'answer'} in {one_line(session)}", "dim")
    return NOTHING


@click.command()
@session_argument
@click.argument("message", required=False)
@click.option(
    "--window",
    "-w",
    type=click.IntRange(1, 20),
    default=5,
    show_default=True,
    help="Messages on each side.",
)
@pager_option
@store_options
def scroll(env: Env, session: str, message: str | None, window: int, pager: bool) -> int:
    """Show the messages around one: SESSION and MESSAGE, or the number of the message alone."""
    number = None if message is None else message.removeprefix("#")
    if number is not None and not number.isdecimal():
        raise click.BadParameter(
            f"{message!r} is not the number of a message", param_hint="MESSAGE"
        )
    with env.history() as history:
        where = history.locate(session)
        anchor = where.message_id if number is None else int(number)
        if anchor is None:
            raise click.UsageError("Missing argument 'MESSAGE': the number of one, #12 or 12.")
        result = history.scroll(where.session_id, anchor, window=window)
    if env.json:
        env.emit(result.to_dict())
        return OK
    with env.page(pager=pager) as page:
        page.line(Text(one_line(result.title or result.session_id), style="bold magenta"))
        page.gap(result.messages_before)
        page.messages(result.messages)
        page.gap(result.messages_after)
    env.hint(result.hint)
    return OK


@click.command()
@click.option("--lines", "-n", type=click.IntRange(0), default=10, show_default=True)
@click.option("--follow", "-f", is_flag=True, help="Go on with what is said, until Ctrl-C.")
@click.option("--tools", is_flag=True, help="What tools answered as well.")
@filter_options
@store_options
def tail(
    env: Env,
    lines: int,
    follow: bool,
    tools: bool,
    after: datetime | str | None,
    before: datetime | str | None,
    tags: tuple[str, ...],
    sources: tuple[str, ...],
    all_sources: bool,
    excluded: tuple[str, ...],
) -> int:
    """Show what was said last, in all conversations.

    --json writes one JSON document for each message, in a line of its own.
    """
    with env.history() as history:

        def newest() -> Iterator[StoredMessage]:
            return history.messages(
                roles=("user", "assistant", "tool") if tools else ("user", "assistant"),
                after=after,
                before=before,
                tag=tags,
                sources=sources or None,
                all_sources=all_sources,
                exclude_sessions=excluded,
                newest_first=True,
                timezone=env.zone.info,
            )

        found = list(islice(newest(), lines))
        _tell(env, reversed(found))
        last = max((message.id for message in found), default=0)
        if not lines:
            last = next((message.id for message in newest()), 0)
        while follow:
            time.sleep(_POLL)
            new = [each for each in islice(newest(), _MOST_NEW) if each.id > last]
            _tell(env, sorted(new, key=lambda each: each.id))
            last = max((last, *(message.id for message in new)))
    if not found and not follow:
        env.say("nothing was said" + (" in this period" if after or before else " yet"), "dim")
    elif not env.json and found:
        env.say(f"{count(len(found), 'message')}, times in {env.zone.name}", "dim")
    return OK if found or follow else NOTHING


def _tell(env: Env, messages: Iterable[StoredMessage]) -> None:
    with env.page() as page:
        for message in messages:
            if env.json:
                env.emit_line(message.to_dict())
            else:
                page.message(message, where=clean(message.session_id))
