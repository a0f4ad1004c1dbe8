# SPDX-License-Identifier: MIT
"""Conversations named at the command line, and the shell's completion of their names."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from mnemogram.cli.common import Env
from mnemogram.errors import MnemogramError

__all__ = ["complete_session", "session_argument"]

_F = TypeVar("_F", bound=Callable[..., Any])
_MOST: Final = 50


def complete_session(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the conversations whose id begins so, the last active first."""
    given = ctx.params
    root = given.get("root") or os.environ.get("MNEMOGRAM_ROOT")
    user = given.get("user") or os.environ.get("MNEMOGRAM_USER")
    env = Env(Path(root) if root else None, user, json=False)
    with suppress(MnemogramError, OSError), env.history() as history:
        fitting = (
            each
            for each in history.sessions(all_sources=True)
            if each.session_id.startswith(incomplete)
        )
        return [
            CompletionItem(each.session_id, help=each.title or each.preview)
            for each in islice(fitting, _MOST)
        ]
    return []


def session_argument(function: _F) -> _F:
    """Give a verb the argument SESSION."""
    return click.argument("session", shell_complete=complete_session)(function)
