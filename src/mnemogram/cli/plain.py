# SPDX-License-Identifier: MIT
"""A stored text by itself: an answer, or the code in it, for files and other programs."""

from __future__ import annotations

import re
import sys
from typing import Final

from mnemogram.cli.common import Env
from mnemogram.cli.render import clean

__all__ = ["code_of", "write_text"]

_FENCE: Final = re.compile(
    r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n`]*\n(?P<code>.*?)^[ \t]*(?P=mark)[`~]*[ \t]*$", re.M | re.S
)


def code_of(text: str) -> str | None:
    """Return the first code block of a text, without its fences; None where there is none."""
    found = _FENCE.search(text)
    return None if found is None else found["code"]


def write_text(env: Env, text: str) -> None:
    """Write a text: for a terminal without what one acts on, else exactly."""
    if env.out.is_terminal:
        text = clean(text)
    data = text.encode("utf-8", "replace")
    sys.stdout.flush()
    sys.stdout.buffer.write(data if data.endswith(b"\n") else data + b"\n")
    sys.stdout.buffer.flush()
