# SPDX-License-Identifier: MIT
"""The async face: storage on a bounded set of workers, never on the event loop.

Methods are those of :class:`~mnemogram.history.history.History` and
:class:`~mnemogram.memory.SceneMemory`, with ``await``::

    async with MnemogramService(root) as service:
        await service.history("u1").append("s1", [Message("user", "hello")])
        answer = await service.history("u1").search("hello")

Writes of one user take turns, so that a busy user occupies one worker at most. Upkeep
runs by itself after writes, one task for each user and eight in all; what is more waits
its turn. A call that is cancelled while SQLite is at work is finished all the same, and
its result dropped: nothing is ever half done.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, ClassVar, Concatenate, Final, Generic, ParamSpec, TypeVar

from mnemogram.errors import InvalidArgument, MnemogramError, NotFound, StoreClosed
from mnemogram.history.history import History
from mnemogram.history.upkeep.maintain import PAUSE_FACTOR, SHORTEST_PAUSE, Maintenance
from mnemogram.host import Mnemogram
from mnemogram.sqlite.database import user_key

__all__ = ["AsyncHistory", "AsyncSceneMemory", "MnemogramService"]

DEFAULT_WORKERS: Final = 8
#: Users whose upkeep runs at the same time.
UPKEEP_TASKS: Final = 8
#: Seconds between two looks at all users, for the expiry of those who are idle.
SWEEP_INTERVAL: Final = 3_600.0
#: Seconds after which an upkeep that failed is tried again.
_RETRY: Final = 60.0

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")
_T = TypeVar("_T")


class _Bound(Generic[_S]):
    """A user's store, opened by the worker that needs it."""

    __slots__ = ("_open", "_service", "_user")

    #: Whether a write may leave something for upkeep to do.
    _has_upkeep: ClassVar[bool] = False

    def __init__(
        self, service: MnemogramService, user_id: str, open_store: Callable[[str], _S]
    ) -> None:
        self._service = service
        self._user = user_id
        self._open = open_store


def _reading(
    method: Callable[Concatenate[Any, _P], _R],
) -> Callable[Concatenate[_Bound[Any], _P], Awaitable[_R]]:
    """Return the async form of a method that only reads."""

    @functools.wraps(method)
    async def call(self: _Bound[Any], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self._service._run(
            lambda: method(self._open(self._user), *args, **kwargs), None
        )

    return call


def _writing(
    method: Callable[Concatenate[Any, _P], _R],
) -> Callable[Concatenate[_Bound[Any], _P], Awaitable[_R]]:
    """Return the async form of a method that writes: one at a time for each user."""

    @functools.wraps(method)
    async def call(self: _Bound[Any], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        result = await self._service._run(
            lambda: method(self._open(self._user), *args, **kwargs), self._user
        )
        if self._has_upkeep:
            self._service.request_upkeep(self._user)
        return result

    return call


class AsyncHistory(_Bound[History]):
    """The history of one user; see :class:`~mnemogram.history.history.History`."""

    __slots__ = ()
    _has_upkeep = True

    append = _writing(History.append)
    append_many = _writing(History.append_many)
    import_conversations = _writing(History.import_conversations)
    amend = _writing(History.amend)
    mark_compacted = _writing(History.mark_compacted)
    rewind = _writing(History.rewind)
    end_session = _writing(History.end_session)
    delete_session = _writing(History.delete_session)
    revive_session = _writing(History.revive_session)
    expire = _writing(History.expire)
    purge = _writing(History.purge)
    maintain = _writing(History.maintain)
    import_export = _writing(History.import_export)
    repair = _writing(History.repair)
    search = _reading(History.search)
    scroll = _reading(History.scroll)
    read = _reading(History.read)
    browse = _reading(History.browse)
    status = _reading(History.status)
    set_aside = _reading(History.set_aside)
    check = _reading(History.check)
    backup = _reading(History.backup)
    export = _reading(History.export)


class AsyncSceneMemory(_Bound[Any]):
    """The scene memory of one user; see :class:`~mnemogram.memory.SceneMemory`.

    Every method of that class is here, to be awaited.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        from mnemogram.memory import SceneMemory

        method = None if name.startswith("_") else getattr(SceneMemory, name, None)
        if not callable(method) or name in _NOT_MIRRORED:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        wrapped = _reading(method) if name in _MEMORY_READS else _writing(method)
        return functools.partial(wrapped, self)


_MEMORY_READS: Final = frozenset(
    (
        *("backup", "build_context", "check", "recall", "recall_by_scene", "relations"),
        *("scene_stats", "scenes", "status"),
    )
)
#: What hands out rows while it reads them cannot cross threads.
_NOT_MIRRORED: Final = frozenset(("open", "close", "export_lines"))


class _Turn:
    """Whose turn it is to write for a user, and how many want to."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class MnemogramService:
    """All users' stores for an async program; an async context manager.

    Args:
        root: directory of all users; made (0700) where it is missing.
        workers: threads that storage runs on.
        upkeep: do background upkeep after writes and, for idle users, every hour.
        upkeep_batch: messages in one step of upkeep.
        sweep_interval: seconds between two looks at all users.
        options: as for :class:`~mnemogram.host.Mnemogram` (``retention``, ``legacy``,
            ``policy``, ``redactor``, ...).

    Raises:
        InvalidArgument: an option is out of range.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        workers: int = DEFAULT_WORKERS,
        upkeep: bool = True,
        upkeep_batch: int = 500,
        sweep_interval: float = SWEEP_INTERVAL,
        **options: Any,
    ) -> None:
        if workers < 1:
            raise InvalidArgument("workers must be 1 or more", hint="8 is the default.")
        self.home = Mnemogram(root, **options)
        self._key_secret = options.get("key_secret")
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="mnemogram")
        self._turns: dict[str, _Turn] = {}
        self._running: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._upkeep = _Upkeep(self, upkeep_batch, sweep_interval) if upkeep else None

    # -- stores

    def history(self, user_id: str) -> AsyncHistory:
        """Return the history of a user; nothing is opened before it is used.

        Raises:
            InvalidArgument: the id is blank or reserved.
        """
        self._key(user_id)
        return AsyncHistory(self, user_id, self.home.history)

    def memory(self, user_id: str) -> AsyncSceneMemory:
        """Return the scene memory of a user; nothing is opened before it is used.

        Raises:
            InvalidArgument: the id is blank or reserved.
        """
        self._key(user_id)
        return AsyncSceneMemory(self, user_id, self.home.memory)

    async def delete_user(self, user_id: str) -> bool:
        """Delete all that is kept of a user; see ``Mnemogram.delete_user``."""
        return await self._run(lambda: self.home.delete_user(user_id), user_id)

    def _key(self, user_id: str) -> str:
        return user_key(user_id, key_secret=self._key_secret)

    # -- running

    async def _run(self, work: Callable[[], _T], writer: str | None) -> _T:
        """Run ``work`` on a worker; with ``writer``, after that user's other writes."""
        key = None if writer is None else self._key(writer)
        return await self._run_for(work, key)

    async def _run_for(self, work: Callable[[], _T], key: str | None) -> _T:
        if self._closed:
            raise StoreClosed(f"{self.home.root} is closed")
        if key is None:
            return await self._on_worker(work)
        turn = self._turns.setdefault(key, _Turn())
        turn.users += 1
        try:
            await turn.lock.acquire()
        except BaseException:
            self._left(key, turn)
            raise
        try:
            if self._closed:
                raise StoreClosed(f"{self.home.root} is closed")
            future = self._submit(work)
        except BaseException:
            turn.lock.release()
            self._left(key, turn)
            raise

        # The next write of the user begins when the worker is done, even where the
        # caller has gone away by then.
        def done(_: asyncio.Future[_T]) -> None:
            turn.lock.release()
            self._left(key, turn)

        future.add_done_callback(done)
        return await asyncio.shield(future)

    def _left(self, key: str, turn: _Turn) -> None:
        turn.users -= 1
        if not turn.users:
            del self._turns[key]

    async def _on_worker(self, work: Callable[[], _T]) -> _T:
        return await asyncio.shield(self._submit(work))

    def _submit(self, work: Callable[[], _T]) -> asyncio.Future[_T]:
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        self._running.add(future)
        future.add_done_callback(self._finished)
        return future

    def _finished(self, future: asyncio.Future[Any]) -> None:
        self._running.discard(future)
        if not future.cancelled():
            future.exception()  # one that nobody waits for any more is no surprise

    # -- upkeep

    def request_upkeep(self, user_id: str) -> None:
        """Look after a user soon: done after every write by itself."""
        if self._upkeep is not None and not self._closed:
            self._upkeep.request(self._key(user_id), user_id)

    async def upkeep_done(self) -> None:
        """Wait until no user has anything due."""
        if self._upkeep is not None:
            await self._upkeep.idle()

    # -- life

    async def __aenter__(self) -> MnemogramService:
        if self._upkeep is not None:
            self._upkeep.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Finish what runs and close every store. Closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._upkeep is not None:
            await self._upkeep.stop()
        while self._running:
            await asyncio.wait(set(self._running))
        self._pool.shutdown(wait=True)
        self.home.close()


class _Upkeep:
    """Who is due for upkeep, and the tasks that do it.

    A user is in ``_due`` at most once, so what is asked for twice is done once, and what
    exceeds the tasks waits there. A task does one bounded step and puts its user back
    for the next one, after the pause that leaves others four fifths of the time.
    """

    def __init__(self, service: MnemogramService, batch: int, sweep_interval: float) -> None:
        self._service = service
        self._batch = batch
        self._sweep_interval = sweep_interval
        self._due: dict[str, float] = {}
        self._users: dict[str, str] = {}
        self._active: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._changed = asyncio.Event()
        self._stopping = False
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look after users."""
        if self._loop_task is None:
            self._loop_task = asyncio.get_running_loop().create_task(self._loop())

    def request(self, key: str, user_id: str | None) -> None:
        """Ask for the upkeep of a user; already asked for counts once."""
        if self._loop_task is None:
            self.start()
        if user_id is not None:
            self._users[key] = user_id
        if key in self._active:
            self._again.add(key)
        elif key not in self._due:
            self._due[key] = time.monotonic()
            self._changed.set()

    async def idle(self) -> None:
        """Wait until nobody is due."""
        while self._due or self._active:
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Let the steps that run come to their end, and begin no more."""
        # Not by cancelling: before Python 3.12 wait_for() may swallow that.
        self._stopping = True
        self._changed.set()
        if self._loop_task is not None:
            await asyncio.gather(self._loop_task, return_exceptions=True)
        await asyncio.gather(*self._active.values(), return_exceptions=True)
        self._due.clear()

    async def _loop(self) -> None:
        sweep_at = time.monotonic()
        while not self._stopping:
            now = time.monotonic()
            if now >= sweep_at:
                sweep_at = now + self._sweep_interval
                await self._sweep()
            for key in sorted(self._due, key=self._due.__getitem__):
                if len(self._active) >= UPKEEP_TASKS or self._due[key] > now:
                    break
                del self._due[key]
                self._active[key] = asyncio.get_running_loop().create_task(self._step(key))
            waiting = [sweep_at]
            if len(self._active) < UPKEEP_TASKS:
                waiting += self._due.values()
            self._changed.clear()
            if self._stopping:
                return
            try:
                await asyncio.wait_for(
                    self._changed.wait(), max(0.0, min(waiting) - time.monotonic())
                )
            except (TimeoutError, asyncio.TimeoutError):  # two classes before Python 3.11
                continue

    async def _sweep(self) -> None:
        """Put every user on the list: an idle one must expire too."""
        try:
            keys = await self._service._on_worker(self._service.home.users)
        except MnemogramError as error:
            _log.warning("upkeep: cannot list the users: %s", error)
            return
        for key in keys:
            self.request(key, None)

    async def _step(self, key: str) -> None:
        wait: float | None = None
        try:
            result = await self._service._run_for(lambda: self._maintain(key), key)
            if result is not None and result.failed:
                _log.warning("upkeep of user %s: %s failed", key, ", ".join(result.failed))
                wait = _RETRY
            if result is not None and result.more:
                wait = max(SHORTEST_PAUSE, PAUSE_FACTOR * result.seconds)
        except StoreClosed:
            wait = None
        except MnemogramError as error:
            _log.warning("upkeep of user %s failed: %s", key, error)
            wait = _RETRY
        except Exception:  # a host's own code: its redactor, its older store
            _log.exception("upkeep of user %s failed", key)
            wait = _RETRY
        finally:
            del self._active[key]
            if key in self._again:
                self._again.discard(key)
                wait = SHORTEST_PAUSE if wait is None else min(wait, SHORTEST_PAUSE)
            if wait is not None and not self._service._closed:
                self._due[key] = time.monotonic() + wait
            elif wait is None:
                self._users.pop(key, None)
            self._changed.set()

    def _maintain(self, key: str) -> Maintenance | None:
        user_id = self._users.get(key)
        if user_id is not None:
            return self._service.home.history(user_id).maintain(batch_size=self._batch)
        try:
            with self._service.home.history_of_key(key) as history:
                return history.maintain(batch_size=self._batch)
        except NotFound:
            return None
