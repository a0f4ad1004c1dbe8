# SPDX-License-Identifier: MIT
"""Verbs that remove: delete and expire. Both only show what they would do, by default."""

from __future__ import annotations

from datetime import datetime
from itertools import islice, takewhile
from typing import Any, Final

import click
from rich.text import Text

from mnemogram.cli.common import FAILURE, NOTHING, OK, Env, store_options, time_option
from mnemogram.cli.naming import complete_session
from mnemogram.cli.render import Page, clean, one_line
from mnemogram.cli.status import size
from mnemogram.cli.words import count
from mnemogram.errors import NotFound
from mnemogram.history.history import History
from mnemogram.history.models import SessionSummary
from mnemogram.history.upkeep.delete import Expired, Purged
from mnemogram.moments import to_microseconds

__all__ = ["delete", "expire"]

#: Conversations that are named before they expire; of more the number is said.
_NAMED: Final = 20
_DRY: Final = "Nothing was changed: this was a dry run. Add --apply to do it."


def _purge_option(function: Any) -> Any:
    return click.option(
        "--purge",
        is_flag=True,
        help="Afterwards leave no byte of deleted text in the file; takes as long as a copy.",
    )(function)


def _apply_option(function: Any) -> Any:
    return click.option("--apply", is_flag=True, help="Do it; without this, only show it.")(
        function
    )


@click.command()
@click.argument("sessions", nargs=-1, metavar="[SESSION]...", shell_complete=complete_session)
@click.option("--everything", is_flag=True, help="The user's files as a whole.")
@_purge_option
@_apply_option
@store_options
def delete(env: Env, sessions: tuple[str, ...], everything: bool, purge: bool, apply: bool) -> int:
    """Delete each SESSION with its messages, for good.

    A mark stays behind, so that a message that is still on its way is refused. Deleting what
    is not there any more does no harm.
    """
    if everything == bool(sessions):
        raise click.UsageError("name one SESSION or more, or --everything")
    if everything:
        return _everything(env, apply)
    with env.history(write=apply) as history:
        found = [_about(history, _exactly(history, session)) for session in sessions]
        if apply:
            for each in found:
                deleted = history.delete_session(each["session_id"])
                each |= deleted.to_dict()
        purged = history.purge() if purge and apply else None
    existed = any(each["existed"] for each in found)
    if env.json:
        env.emit(
            {
                "success": purged is None or purged.complete,
                "dry_run": not apply,
                "sessions": found,
                "purge": None if purged is None else purged.to_dict(),
            }
        )
    else:
        page = Page(env.out, env.zone)
        for each in found:
            what = "not there"
            if each["existed"]:
                what = count(each["messages"], "message") + (" deleted" if apply else "")
            title = f"  {one_line(each['title'])}" if each["title"] else ""
            page.line(f"{one_line(each['session_id'])}{title}  {what}")
        _tell(env, apply, purged)
    if purged is not None and not purged.complete:
        return FAILURE
    return OK if existed or apply else NOTHING


def _exactly(history: History, name: str) -> str:
    """Return the id of a session that is named by a message of it, ``#12``, or the name itself.

    No beginnings here: what is repeated after a deletion must not find another session.
    """
    if name[:1] != "#":
        return name
    try:
        return history.locate(name).session_id
    except NotFound:
        return name


def _about(history: History, session: str) -> dict[str, Any]:
    try:
        found = history.read(session)
    except NotFound:
        return {"session_id": session, "title": None, "existed": False, "messages": 0}
    return {
        "session_id": session,
        "title": found.title,
        "existed": True,
        "messages": found.message_count,
    }


def _everything(env: Env, apply: bool) -> int:
    with env.history() as history:
        found = history.status(sizes=False)
    about = {"sessions": found.sessions, "messages": found.messages, "bytes": found.bytes}
    if apply:
        with env.home() as home:
            home.delete_user(env.user)
    if env.json:
        env.emit({"success": True, "dry_run": not apply, "user": env.user, **about})
    else:
        words = f"{found.sessions:,} sessions, {found.messages:,} messages, {size(found.bytes)}"
        Page(env.out, env.zone).line(f"all of user {clean(env.user)}: {words}")
        _tell(env, apply, None)
    return OK


@click.command()
@time_option("--before", "Sessions that were last active before this time")
@_purge_option
@_apply_option
@store_options
def expire(env: Env, before: datetime | None, purge: bool, apply: bool) -> int:
    """Delete sessions that were not active for long.

    No mark stays behind: an expired session that goes on is stored again.
    """
    if before is None:
        raise click.UsageError("Missing option '--before'")
    with env.history(write=apply) as history:
        gone = [] if env.json else _inactive(history, before)
        result = history.expire(before, dry_run=not apply)
        purged = history.purge() if purge and apply else None
    if env.json:
        env.emit(
            {
                "success": purged is None or purged.complete,
                "before": before.isoformat(),
                **result.to_dict(),
                "purge": None if purged is None else purged.to_dict(),
            }
        )
    else:
        _show_expired(env, before, result, gone)
        _tell(env, apply, purged)
    if purged is not None and not purged.complete:
        return FAILURE
    return OK if result.sessions else NOTHING


def _inactive(history: History, before: datetime) -> list[SessionSummary]:
    """Return the first of the conversations that were last active before a time."""
    bound = to_microseconds(before)

    def old(summary: SessionSummary) -> bool:
        active = summary.last_active_at
        return active is not None and to_microseconds(active) < bound

    found = history.sessions(all_sources=True, newest_first=False)
    return list(islice(takewhile(old, found), _NAMED))


def _show_expired(env: Env, before: datetime, result: Expired, gone: list[SessionSummary]) -> None:
    page = Page(env.out, env.zone)
    for summary in gone:
        page.session(summary, short=True)
    more = result.sessions - len(gone)
    if more > 0:
        page.line(Text(f"and {count(more, 'conversation')} more", style="dim"))
    what = "would be deleted" if result.dry_run else "deleted"
    words = f"{count(result.sessions, 'conversation')} with {count(result.messages, 'message')}"
    if not result.sessions:
        words, what = "no conversation", "is that old"
    when = env.zone.show(before.isoformat())
    page.line(f"last active before {when}: {words} {what}")


def _tell(env: Env, apply: bool, purged: Purged | None) -> None:
    if not apply:
        env.say(_DRY, "yellow")
    if purged is not None:
        before, after = size(purged.bytes_before), size(purged.bytes_after)
        env.say(f"purged: {before} before, {after} now")
        if purged.hint:
            env.say(clean(purged.hint), "bold red" if not purged.complete else "dim")
