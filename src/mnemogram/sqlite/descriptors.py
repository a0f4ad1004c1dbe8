# SPDX-License-Identifier: MIT
"""File descriptors: how many there may be, and who gives some back when they run out.

SQLite holds up to three for a connection, and a process of macOS has 256 by default. What
is open registers here. Before more is opened, what was not used for longest gives its
descriptors back, so that all together hold at most half of what the process may have: the
rest is the host's. Where they run out all the same, everything idle gives its back.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from mnemogram.errors import StorageUnavailable

__all__ = [
    "Holder",
    "forget",
    "is_short",
    "limit",
    "make_room",
    "register",
    "shortage",
    "with_room",
]

#: What opening a store takes at most, and so what is tried where an opening failed.
_NEEDED: Final = 8
_SHARE: Final = 2
_T = TypeVar("_T")


class Holder(Protocol):
    """What holds descriptors and can give them back while it is idle."""

    last_used: float

    def held(self) -> int:
        """Return how many descriptors it holds, about."""
        ...

    def park(self) -> bool:
        """Give back what is idle; return whether anything was given back. Never waits."""
        ...


_holders: weakref.WeakSet[Holder] = weakref.WeakSet()
_lock: Final = threading.Lock()


def register(holder: Holder) -> None:
    """Count a holder from now on; it is forgotten when nobody has it any more."""
    with _lock:
        _holders.add(holder)


def forget(holder: Holder) -> None:
    """Do not count a holder any more."""
    with _lock:
        _holders.discard(holder)


def limit() -> int | None:
    """Return how many descriptors the process may have; None where nothing tells."""
    if sys.platform == "win32":
        return None
    try:
        import resource
    except ImportError:  # an extension of the standard library, which may be out of reach
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else int(soft)


def is_short() -> bool:
    """Whether the process has hardly a descriptor left, found by trying."""
    taken: list[int] = []
    try:
        for _ in range(_NEEDED):
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    finally:
        for each in taken:
            os.close(each)
    return False


def shortage() -> StorageUnavailable:
    """Return the error that says that there are none left."""
    most = limit()
    about = "" if most is None else f" (the limit is {most})"
    return StorageUnavailable(
        f"this process has no file descriptors left{about}",
        hint="Raise the limit (ulimit -n), pass a smaller max_open, or close what is open.",
    )


def _others(holder: Holder | None) -> list[Holder]:
    with _lock:
        found = [each for each in _holders if each is not holder]
    return sorted(found, key=lambda each: each.last_used)


def make_room(holder: Holder) -> None:
    """Let the longest idle give their descriptors back, where all hold too many."""
    most = limit()
    if most is None:
        return
    others = _others(holder)
    held = holder.held() + sum(each.held() for each in others) + _NEEDED
    for each in others:
        if held <= most // _SHARE:
            return
        before = each.held()
        if each.park():
            held -= before - each.held()


def with_room(holder: Holder, step: Callable[[], _T]) -> _T:
    """Run what opens files; where descriptors run out, once more after all idle gave theirs.

    Raises:
        StorageUnavailable: there are none left all the same.
    """
    make_room(holder)
    try:
        return step()
    except Exception as error:
        if not is_short():
            raise
        parked = [each.park() for each in _others(holder)]
        if not any(parked):
            raise shortage() from error
    try:
        return step()
    except Exception as error:
        if is_short():
            raise shortage() from error
        raise
