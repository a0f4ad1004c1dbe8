# SPDX-License-Identifier: MIT
"""The tag verb: words that conversations are found by."""

from __future__ import annotations

import click

from mnemogram.cli.common import OK, Env, store_options
from mnemogram.cli.naming import session_argument
from mnemogram.cli.render import one_line

__all__ = ["tag"]


@click.command()
@session_argument
@click.argument("tags", nargs=-1)
@click.option("--remove", "-d", "removed", multiple=True, help="Take it off; repeatable.")
@store_options
def tag(env: Env, session: str, tags: tuple[str, ...], removed: tuple[str, ...]) -> int:
    """Give SESSION these TAGS, and say which it has; `list --tag` finds it by them.

    SESSION is an id or the beginning of one, the number of a message (#12, or 12), or a title.
    """
    with env.history(write=bool(tags or removed)) as history:
        found = history.locate(session).session_id
        if tags or removed:
            has = history.tag(found, add=tags, remove=removed)
        else:
            has = history.read(found, limit=1).tags
    if env.json:
        env.emit({"session_id": found, "tags": list(has)})
    else:
        with env.page() as page:
            for each in has:
                page.line(one_line(each))
        if not has:
            env.say("no tags", "dim")
    return OK
