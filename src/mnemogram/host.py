# SPDX-License-Identifier: MIT
"""The host's object: one root directory, and the stores of its users."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mnemogram.errors import InvalidArgument, NotFound, StoreClosed
from mnemogram.history.history import History
from mnemogram.sqlite import database

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from mnemogram.memory import SceneMemory
    from mnemogram.options import HistoryOptions, HostOptions, MemoryOptions

__all__ = ["Mnemogram", "open"]

DEFAULT_MAX_OPEN: Final = 64
_KEY: Final = re.compile("[0-9a-f]{64}")
_S = TypeVar("_S", History, "SceneMemory")


class Mnemogram:
    """All users' stores below one root directory.

    Stores are opened when first asked for and kept in a bounded LRU; one that
    falls out is closed once nobody holds it any more. Safe for threads.

    Args:
        root: directory of all users; made (0700) where it is missing.
        key_secret: makes directory names an HMAC of the user's id.
        max_open: how many stores stay open at once, of each kind. Those that are idle
            are closed earlier where the process would run out of file descriptors.
        memory_options: keyword arguments for every ``SceneMemory.open``.
        history_options: keyword arguments for every ``History.open``.

    Raises:
        InvalidArgument: an option is out of range.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        key_secret: bytes | str | None = None,
        max_open: int = DEFAULT_MAX_OPEN,
        memory_options: MemoryOptions | None = None,
        **history_options: Unpack[HistoryOptions],
    ) -> None:
        if max_open < 1:
            raise InvalidArgument("max_open must be 1 or more", hint="64 is the default.")
        self.root = Path(os.path.abspath(os.path.expanduser(os.fspath(root))))
        self._key_secret = key_secret
        self._max_open = max_open
        self._history_options = history_options
        self._memory_options: MemoryOptions = memory_options or {}
        self._lock = threading.Lock()
        self._closed = False
        self._opening: dict[str, threading.Lock] = {}
        self._left_behind: list[Any] = []
        self._histories: OrderedDict[str, History] = OrderedDict()
        self._memories: OrderedDict[str, SceneMemory] = OrderedDict()

    def history(self, user_id: str) -> History:
        """Return the history of a user, opened or made.

        Raises:
            InvalidArgument: the id is blank or reserved.
            StorageUnavailable: the file cannot be opened.
        """
        return self._store(
            self._histories,
            user_id,
            lambda directory: History.open(
                directory / "state.db", user_id=user_id.strip(), **self._history_options
            ),
        )

    def memory(self, user_id: str) -> SceneMemory:
        """Return the scene memory of a user, opened or made.

        Raises:
            InvalidArgument: the id is blank or reserved.
            StorageUnavailable: the file cannot be opened.
        """
        from mnemogram.memory import SceneMemory

        return self._store(
            self._memories,
            user_id,
            lambda directory: SceneMemory.open(directory / "memory.db", **self._memory_options),
        )

    def user_directory(self, user_id: str) -> Path:
        """Return the directory of a user's files, made private below the root."""
        key = database.user_key(user_id, key_secret=self._key_secret)
        return database.user_directory(self.root, key)

    def users(self) -> tuple[str, ...]:
        """Return the keys (not the ids, which are not kept) of the users there are."""
        try:
            with os.scandir(self.root / "users") as entries:
                return tuple(sorted(each.name for each in entries if _KEY.fullmatch(each.name)))
        except FileNotFoundError:
            return ()

    @contextlib.contextmanager
    def history_of_key(self, key: str) -> Iterator[History]:
        """Give the history of a user of whom only the key is known, for upkeep.

        One that is open is shared; another is opened for the block alone. It knows no
        user id, and so takes nothing over from an older store.

        Raises:
            InvalidArgument: not a key that :meth:`users` gave.
            NotFound: the user has no history.
        """
        options: HistoryOptions = {**self._history_options, "legacy": None}
        with self._of_key(
            self._histories, key, "state.db", lambda path: History.open(path, **options)
        ) as store:
            yield store

    @contextlib.contextmanager
    def memory_of_key(self, key: str) -> Iterator[SceneMemory]:
        """Give the scene memory of a user of whom only the key is known, for upkeep.

        Raises:
            InvalidArgument: not a key that :meth:`users` gave.
            NotFound: the user has no scene memory.
        """
        from mnemogram.memory import SceneMemory

        options: MemoryOptions = {**self._memory_options, "background": False}
        with self._of_key(
            self._memories, key, "memory.db", lambda path: SceneMemory.open(path, **options)
        ) as store:
            yield store

    @contextlib.contextmanager
    def _of_key(
        self, cache: OrderedDict[str, _S], key: str, name: str, make: Callable[[Path], _S]
    ) -> Iterator[_S]:
        if not _KEY.fullmatch(key):
            raise InvalidArgument(f"not a user key: {key!r}", hint="Take it from users().")
        with self._lock:
            found = self._cached(cache, key)
        if found is not None:
            yield found
            return
        path = self.root / "users" / key / name
        if not path.exists():
            raise NotFound(f"user {key} has no {name}", hint="Nothing has to be done for it.")
        with make(path) as store:
            yield store

    def delete_user(self, user_id: str) -> bool:
        """Delete all that is kept of a user: histories, memories, the directory.

        The directory is moved away first, so that no other process can find half of
        it, and then removed. Repeat it where it failed: what was left is removed too.

        Returns:
            Whether there was anything.

        Raises:
            InvalidArgument: the id is blank or reserved.
            StorageUnavailable: something could not be removed.
        """
        import shutil

        key = database.user_key(user_id, key_secret=self._key_secret)
        users = self.root / "users"
        with self._lock:
            if self._closed:
                raise StoreClosed(f"{self.root} is closed")
            for cache in (self._histories, self._memories):
                store = cache.pop(key, None)
                if store is not None:
                    store.close()
        with database.file_errors(users / key):
            with contextlib.suppress(FileNotFoundError):
                os.rename(users / key, users / f".deleted-{key}-{secrets.token_hex(8)}")
            remains = list(users.glob(f".deleted-{key}-*"))
            for directory in remains:
                shutil.rmtree(directory)
        return bool(remains)

    def _store(self, cache: OrderedDict[str, _S], user_id: str, make: Callable[[Path], _S]) -> _S:
        key = database.user_key(user_id, key_secret=self._key_secret)
        with self._lock:
            found = self._cached(cache, key)
            opening = self._opening.setdefault(key, threading.Lock())
        if found is not None:
            return found
        # One user's slow opening keeps nobody else waiting.
        with opening:
            with self._lock:
                found = self._cached(cache, key)
            if found is not None:
                return found
            try:
                store = make(database.user_directory(self.root, key))
            finally:
                with self._lock:
                    self._opening.pop(key, None)
            with self._lock:
                if self._closed:
                    store.close()
                    raise StoreClosed(f"{self.root} is closed")
                cache[key] = store
                while len(cache) > self._max_open:
                    # Dropping the reference is enough: a caller may still be using it.
                    cache.popitem(last=False)
            return store

    def _cached(self, cache: OrderedDict[str, _S], key: str) -> _S | None:
        if self._closed:
            raise StoreClosed(f"{self.root} is closed")
        store = cache.get(key)
        if store is None or store.closed:
            return None
        whose = store._database
        if not whose.is_current:
            # Deleted, restored or moved by another process: who holds the store gets an
            # error, who asks for it the file that is there now.
            del cache[key]
            if whose.is_forked:
                self._left_behind.append(store)  # closing it would harm the other process
            return None
        cache.move_to_end(key)
        return store

    def close(self) -> None:
        """Close every store. Closing twice does nothing."""
        with self._lock:
            self._closed = True
            stores: list[Any] = [*self._histories.values(), *self._memories.values()]
            for store in stores:
                store.close()
            self._histories.clear()
            self._memories.clear()

    def __enter__(self) -> Mnemogram:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open(root: str | os.PathLike[str], **options: Unpack[HostOptions]) -> Mnemogram:
    """Open the memory of all users below ``root``; see :class:`Mnemogram`."""
    return Mnemogram(root, **options)
