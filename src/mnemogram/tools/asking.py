# SPDX-License-Identifier: MIT
"""What a user says of something, by a function of the host's; none where that fails."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from mnemogram.errors import InvalidArgument
from mnemogram.memory import Triple

__all__ = ["AsyncConfirm", "Confirm", "answer_of", "answer_of_async", "checked_plain"]

_log = logging.getLogger(__name__)

Confirm: TypeAlias = Callable[[Triple], bool | None]
AsyncConfirm: TypeAlias = Callable[[Triple], Awaitable[bool | None]]


def checked_plain(confirm: Any) -> None:
    """Check that a tool which is not awaited can call a function.

    Raises:
        InvalidArgument: it is a coroutine function.
    """
    if inspect.iscoroutinefunction(confirm):
        raise InvalidArgument(
            "confirm is a coroutine function, and the tool is not awaited",
            hint="Make the tool over the async face of the memory, or ask with a plain function.",
        )


def answer_of(confirm: Any, triple: Triple, about: str) -> Any:
    """Return what the user says; None where nobody answers, or the function fails.

    Args:
        confirm: asks the user.
        triple: what is asked about.
        about: the matter, for the log.
    """
    try:
        return confirm(triple)
    except Exception:  # the host's: what nobody was asked about is without an answer
        _log.exception("asking the user about %s failed", about)
        return None


async def answer_of_async(confirm: Any, triple: Triple, about: str) -> Any:
    """Return what :func:`answer_of` does; a coroutine function is awaited, another called
    on a thread."""
    if not inspect.iscoroutinefunction(confirm):
        return await asyncio.to_thread(answer_of, confirm, triple, about)
    try:
        return await confirm(triple)
    except Exception:
        _log.exception("asking the user about %s failed", about)
        return None
