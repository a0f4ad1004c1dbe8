# SPDX-License-Identifier: MIT
"""A command line on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios

COMMAND = [
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'mnemogram'; from mnemogram.cli import main; sys.exit(main())",
]


def on_a_terminal(
    env: dict[str, str], *arguments: str, columns: int = 60, watched: bool = False
) -> tuple[int, str]:
    """Run with standard output and error on a pseudo-terminal, and return what it showed.

    Args:
        columns: its width.
        watched: whether standard input is one, too, as where a person sits.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    kept = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}
    child = subprocess.Popen(
        [*COMMAND, *arguments],
        env={**kept, "TERM": "xterm-256color"},
        stdin=follower if watched else subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    pieces = []
    while True:
        ready, _, _ = select.select([leader], [], [], 60)
        assert ready, "the command said nothing for a minute"
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux's way to say that the other side has closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(leader)
    return child.wait(), b"".join(pieces).decode()


def plain(shown: str) -> str:
    """Return what a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
