# SPDX-License-Identifier: MIT
"""The stores that the page shows: opened by the host's own id of a user, never made."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import mnemogram
from mnemogram.errors import InvalidArgument, MnemogramError, NotFound
from mnemogram.history.history import History
from mnemogram.history.upkeep.maintain import Maintenance
from mnemogram.memory import SceneMemory
from mnemogram.sqlite.files import identity, user_key

__all__ = ["Stores"]

_MOST_OPEN: Final = 8
_S = TypeVar("_S", History, SceneMemory)
#: A store, and the file that it was opened as.
_Opened = tuple[tuple[int, int] | None, _S]


class Stores:
    """Histories and scene memories of the users of one root, as far as there are any.

    Args:
        root: directory of all users.
        key_secret: as for ``mnemogram.open``.
        read_only: open every file so that nothing is ever written.
    """

    def __init__(
        self, root: Path, *, key_secret: str | None = None, read_only: bool = False
    ) -> None:
        self.root = root
        self.read_only = read_only
        self.home = mnemogram.open(root, key_secret=key_secret, max_open=_MOST_OPEN)
        self._key_secret = key_secret
        self._lock = threading.Lock()
        self._histories: OrderedDict[Path, _Opened[History]] = OrderedDict()
        self._memories: OrderedDict[Path, _Opened[SceneMemory]] = OrderedDict()
        self._upkeep: dict[str, _Upkeep] = {}

    def _path(self, user: str, name: str) -> Path | None:
        path = self.root / "users" / user_key(user, key_secret=self._key_secret) / name
        return path if path.exists() else None

    def knows(self, user: str) -> bool:
        """Whether anything is stored of a user."""
        try:
            return any(self._path(user, name) for name in ("state.db", "memory.db"))
        except InvalidArgument:  # no id of anybody
            return False

    def history(self, user: str) -> History:
        """Return the history of a user.

        Raises:
            NotFound: there is none.
        """
        path = self._path(user, "state.db")
        if path is None:
            raise NotFound(f"no history of user {user!r}")
        if not self.read_only:
            return self.home.history(user)
        with self._lock:
            return _cached(self._histories, path, lambda: History.open(path, read_only=True))

    def memory(self, user: str) -> SceneMemory | None:
        """Return the scene memory of a user, None where there is none."""
        path = self._path(user, "memory.db")
        if path is None:
            return None
        if not self.read_only:
            return self.home.memory(user)
        with self._lock:
            return _cached(self._memories, path, lambda: SceneMemory.open(path, read_only=True))

    def upkeep(self, user: str) -> Maintenance | None:
        """Return what the upkeep of a user's history did last; it goes on by itself.

        None where nothing was done yet, and always where nothing may be written.
        """
        if self.read_only:
            return None
        history = self.history(user)
        with self._lock:
            running = self._upkeep.get(user)
            if running is None or running.history is not history:
                if running is not None:
                    running.stop.set()
                running = self._upkeep[user] = _Upkeep(history)
        return running.last

    def delete_user(self, user: str) -> bool:
        """Delete all of a user; see ``Mnemogram.delete_user``."""
        with self._lock:
            running = self._upkeep.pop(user, None)
        if running is not None:
            running.end()
        return self.home.delete_user(user)

    def close(self) -> None:
        """Close every store."""
        for running in self._upkeep.values():
            running.stop.set()
        for running in self._upkeep.values():
            running.end()
        self.home.close()
        with self._lock:
            for _, history in self._histories.values():
                history.close()
            for _, memory in self._memories.values():
                memory.close()


class _Upkeep:
    """Upkeep of one history, in a thread, for as long as the page is served."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.stop = threading.Event()
        self.last: Maintenance | None = None
        self._thread = threading.Thread(target=self._run, name="mnemogram view", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        def told(step: Maintenance) -> None:
            self.last = step

        try:
            self.history.upkeep(watch=True, on_step=told, stop=self.stop)
        except MnemogramError:
            return  # closed, or not to be written: the state page says how it stands

    def end(self) -> None:
        """Stop after the step that is going on."""
        self.stop.set()
        self._thread.join()


def _cached(cache: OrderedDict[Path, _Opened[_S]], path: Path, make: Callable[[], _S]) -> _S:
    now = identity(path)
    known = cache.pop(path, None)
    if known is None or known[0] != now or known[1].closed:
        known = (now, make())
    cache[path] = known
    while len(cache) > _MOST_OPEN:
        cache.popitem(last=False)  # closed once nobody holds it any more
    return known[1]
