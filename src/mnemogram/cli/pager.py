# SPDX-License-Identifier: MIT
"""The reader's pager, for what is longer than a screen."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rich.console import Console

__all__ = ["Screen", "pager_command", "through"]


class Screen(Console):
    """A console on which a reader who leaves is an error to be caught, not an exit."""

    def on_broken_pipe(self) -> None:
        """Called by rich where nobody reads any more."""
        raise BrokenPipeError


def pager_command() -> list[str] | None:
    """Return the pager that the reader has chosen, else less; None where there is none."""
    if os.environ.get("TERM") == "dumb":
        return None
    for name in ("MNEMOGRAM_PAGER", "PAGER"):
        chosen = os.environ.get(name)
        if chosen is not None:
            command = shlex.split(chosen)
            break
    else:
        command = ["less"]
    if not command or command[0] == "cat" or shutil.which(command[0]) is None:
        return None
    return command


@contextmanager
def through(command: list[str], like: Console) -> Iterator[Console]:
    """Give a console whose output goes through a pager, which ends with the block.

    Args:
        command: the pager.
        like: the console of the terminal: width and colours are its own.
    """
    # Of less: give up after one screen, show colours, leave the screen as it is.
    environment = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    assert pager.stdin is not None
    stream = io.TextIOWrapper(pager.stdin, encoding="utf-8", errors="replace")
    try:
        yield Screen(
            file=stream,
            force_terminal=True,
            width=like.width,
            no_color=like.no_color,
            color_system=like.color_system or "auto",  # type: ignore[arg-type]
            highlight=False,
            emoji=False,
            markup=False,
        )
    finally:
        with suppress(BrokenPipeError):
            stream.close()
        while pager.returncode is None:
            with suppress(KeyboardInterrupt):  # it is the pager's
                pager.wait()
