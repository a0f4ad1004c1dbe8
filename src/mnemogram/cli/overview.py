# SPDX-License-Identifier: MIT
"""What `mnemogram` alone says: what is there, and what to do next."""

from __future__ import annotations

from itertools import islice
from typing import Final

from rich.text import Text

from mnemogram.cli.common import OK, Env
from mnemogram.cli.render import clean
from mnemogram.cli.status import size
from mnemogram.cli.words import count
from mnemogram.errors import NotFound

__all__ = ["overview"]

_LAST: Final = 3
_NEXT: Final = (
    ("mnemogram search WORDS", "find a conversation"),
    ("mnemogram list", "see all of them"),
    ("mnemogram read ID", "read one"),
    ("mnemogram import FILE", "bring in more"),
    ("mnemogram --help", "everything else"),
)
_FIRST: Final = (
    ("mnemogram demo", "see it find things in shipped conversations"),
    ("mnemogram import FILE", "bring in conversations of another program"),
    ("mnemogram append --session ID TEXT", "store a message"),
    ("mnemogram mcp", "serve an agent"),
    ("mnemogram --help", "everything else"),
)


def overview(env: Env) -> int:
    """Write what is stored for the user, and the verbs that come next."""
    try:
        with env.history() as history:
            status = history.status(sizes=False)
            last = list(islice(history.sessions(), _LAST))
    except NotFound:
        env.say(f"Nothing is stored for {clean(env.user)} in {clean(str(env.root))} yet.")
        _steps(env, _FIRST)
        return OK
    with env.page() as page:
        words = f"{count(status.sessions, 'conversation')}, {count(status.messages, 'message')}"
        page.line(f"{words}, {size(status.bytes)} of {clean(env.user)}")
        page.whole(Text(clean(status.path), style="dim"))
        page.line()
        for summary in last:
            page.session(summary, short=True)
    _steps(env, _NEXT)
    return OK


def _steps(env: Env, steps: tuple[tuple[str, str], ...]) -> None:
    env.say("")
    width = max(len(command) for command, _ in steps)
    for command, meaning in steps:
        env.say(f"  {command:<{width}}  {meaning}", "dim")
