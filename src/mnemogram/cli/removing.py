# SPDX-License-Identifier: MIT
"""Verbs that remove: delete and expire. Both only show what they would do, by default."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from mnemogram.cli.common import FAILURE, NOTHING, OK, Env, store_options, time_option
from mnemogram.cli.render import Page, clean, local_time
from mnemogram.cli.status import size
from mnemogram.errors import NotFound
from mnemogram.history.history import History
from mnemogram.history.upkeep.delete import Purged

__all__ = ["delete", "expire"]

_DRY = "Nothing was changed: this was a dry run. Add --apply to do it."


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
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
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
        found = [_about(history, session) for session in sessions]
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
        page = Page(env.out)
        for each in found:
            what = f"{each['messages']:,} messages" if each["existed"] else "not there"
            page.line(clean(f"{each['session_id']}  {each['title'] or ''}  {what}"))
        _tell(env, apply, purged)
    if purged is not None and not purged.complete:
        return FAILURE
    return OK if existed or apply else NOTHING


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
        Page(env.out).line(f"all of user {clean(env.user)}: {words}")
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
        when = local_time(before.isoformat())
        words = f"{result.sessions:,} sessions with {result.messages:,} messages"
        Page(env.out).line(f"last active before {when}: {words}")
        _tell(env, apply, purged)
    if purged is not None and not purged.complete:
        return FAILURE
    return OK if result.sessions else NOTHING


def _tell(env: Env, apply: bool, purged: Purged | None) -> None:
    if not apply:
        env.say(_DRY, "yellow")
    if purged is not None:
        before, after = size(purged.bytes_before), size(purged.bytes_after)
        env.say(f"purged: {before} before, {after} now")
        if purged.hint:
            env.say(clean(purged.hint), "bold red" if not purged.complete else "dim")
