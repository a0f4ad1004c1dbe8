# SPDX-License-Identifier: MIT
"""The async face: storage on a bounded set of workers, never on the event loop.

Methods are those of :class:`~mnemogram.history.history.History` and
:class:`~mnemogram.memory.SceneMemory`, with ``await``::

    async with MnemogramService(root) as service:
        await service.history("u1").append("s1", [Message("user", "hello")])
        answer = await service.history("u1").search("hello")

Writes of one user take turns, so that a busy user occupies one worker at most. A call
that writes and is cancelled while SQLite is at work is finished all the same, and its
result dropped: nothing is ever half done. One that reads ends, and its worker is free. A
timeout counts from the call, not from when a worker is free.

Upkeep runs by itself, after writes and when a user is met for the first time, one task for
each user and eight in all; what is more waits its turn. It has workers of its own, and
waits for the host's older store outside of every lock.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, NamedTuple, ParamSpec, TypeVar

from mnemogram.errors import InvalidArgument, MnemogramError, NotFound, StoreClosed
from mnemogram.history.history import History
from mnemogram.history.upkeep.maintain import PAUSE_FACTOR, SHORTEST_PAUSE
from mnemogram.host import Mnemogram
from mnemogram.memory import SceneMemory
from mnemogram.sqlite.connection import Caller, for_caller
from mnemogram.sqlite.database import user_key

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from mnemogram.options import HostOptions

__all__ = ["AsyncHistory", "AsyncSceneMemory", "MnemogramService"]

DEFAULT_WORKERS: Final = 8
#: Users whose upkeep runs at the same time.
UPKEEP_TASKS: Final = 8
#: Seconds between two looks at all users, for the expiry of those who are idle.
SWEEP_INTERVAL: Final = 3_600.0
#: Seconds that closing waits for upkeep that is at work.
CLOSING: Final = 10.0
#: Seconds after which an upkeep that failed is tried again.
_RETRY: Final = 60.0
#: Seconds after which the upkeep of a scene memory takes on no new step.
_MEMORY_STEP: Final = 1.0
#: Messages or sessions that a worker fetches at once for who walks over all of them.
_WALKED: Final = 20

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_S = TypeVar("_S")
_T = TypeVar("_T")


class _Bound(Generic[_S]):
    """A user's store, opened by the worker that needs it."""

    __slots__ = ("_open", "_service", "_user")

    def __init__(
        self, service: MnemogramService, user_id: str, open_store: Callable[[str], _S]
    ) -> None:
        self._service = service
        self._user = user_id
        self._open = open_store

    async def run(self, work: Callable[[_S], _T], *, write: bool = False) -> _T:
        """Run work with the plain store on a worker: several calls at one go, for example.

        Args:
            work: gets the store; must not keep it.
            write: whether it writes: then it takes its turn after the user's other writes.
        """
        if write:
            result = await self._service._run(lambda: work(self._open(self._user)), self._user)
        else:
            caller = Caller()

            def read() -> _T:
                caller.left_of(None)
                with for_caller(caller):
                    return work(self._open(self._user))

            try:
                result = await self._service._run(read, None)
            except asyncio.CancelledError:
                caller.given_up.set()
                raise
        self._service._met(self._user, again=write)
        return result


def _reading(
    method: Callable[Concatenate[_S, _P], _R],
) -> Callable[Concatenate[_Bound[_S], _P], Coroutine[Any, Any, _R]]:
    """Return the async form of a method that only reads."""

    @functools.wraps(method)
    async def call(self: _Bound[_S], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self.run(lambda store: method(store, *args, **kwargs))

    return call


def _writing(
    method: Callable[Concatenate[_S, _P], _R],
) -> Callable[Concatenate[_Bound[_S], _P], Coroutine[Any, Any, _R]]:
    """Return the async form of a method that writes: one at a time for each user."""

    @functools.wraps(method)
    async def call(self: _Bound[_S], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self.run(lambda store: method(store, *args, **kwargs), write=True)

    return call


def _walking(
    method: Callable[Concatenate[_S, _P], Iterator[_R]],
) -> Callable[Concatenate[_Bound[_S], _P], AsyncIterator[_R]]:
    """Return the async form of a method that gives one thing after another: `async for`."""

    @functools.wraps(method)
    async def walk(self: _Bound[_S], /, *args: _P.args, **kwargs: _P.kwargs) -> AsyncIterator[_R]:
        found = await self.run(lambda store: method(store, *args, **kwargs))
        while True:
            batch = await self.run(lambda _: list(itertools.islice(found, _WALKED)))
            for each in batch:
                yield each
            if len(batch) < _WALKED:
                return

    return walk


class AsyncHistory(_Bound[History]):
    """The history of one user; see :class:`~mnemogram.history.history.History`."""

    __slots__ = ()

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
    tag = _writing(History.tag)
    search = _reading(History.search)
    scroll = _reading(History.scroll)
    read = _reading(History.read)
    browse = _reading(History.browse)
    messages = _walking(History.messages)
    sessions = _walking(History.sessions)
    count_sessions = _reading(History.count_sessions)
    locate = _reading(History.locate)
    count_messages = _reading(History.count_messages)
    sources = _reading(History.sources)
    source_of = _reading(History.source_of)
    lineage = _reading(History.lineage)
    message_at = _reading(History.message_at)
    status = _reading(History.status)
    set_aside = _reading(History.set_aside)
    check = _reading(History.check)
    backup = _reading(History.backup)
    export = _reading(History.export)


class AsyncSceneMemory(_Bound[SceneMemory]):
    """The scene memory of one user; see :class:`~mnemogram.memory.SceneMemory`."""

    __slots__ = ()

    commit = _writing(SceneMemory.commit)
    confirm = _writing(SceneMemory.confirm)
    forget = _writing(SceneMemory.forget)
    import_lines = _writing(SceneMemory.import_lines)
    maintain = _writing(SceneMemory.maintain)
    merge_entities = _writing(SceneMemory.merge_entities)
    purge_noise = _writing(SceneMemory.purge_noise)
    purge_orphans = _writing(SceneMemory.purge_orphans)
    purge_stale_scene_refs = _writing(SceneMemory.purge_stale_scene_refs)
    repair = _writing(SceneMemory.repair)
    retire = _writing(SceneMemory.retire)
    revise = _writing(SceneMemory.revise)
    set_single_valued = _writing(SceneMemory.set_single_valued)
    tag_scene = _writing(SceneMemory.tag_scene)
    tag_scene_by_entity_glob = _writing(SceneMemory.tag_scene_by_entity_glob)
    untag_scene = _writing(SceneMemory.untag_scene)
    backup = _reading(SceneMemory.backup)
    build_context = _reading(SceneMemory.build_context)
    check = _reading(SceneMemory.check)
    recall = _reading(SceneMemory.recall)
    recall_by_scene = _reading(SceneMemory.recall_by_scene)
    relations = _reading(SceneMemory.relations)
    scene_stats = _reading(SceneMemory.scene_stats)
    scenes = _reading(SceneMemory.scenes)
    status = _reading(SceneMemory.status)


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
        upkeep_workers: users whose upkeep runs at the same time, on threads of their own.
        sweep_interval: seconds between two looks at all users.
        closing: seconds that closing waits for upkeep, such as an older store that does
            not answer. What is left behind then stores nothing any more.
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
        upkeep_workers: int = UPKEEP_TASKS,
        sweep_interval: float = SWEEP_INTERVAL,
        closing: float = CLOSING,
        **options: Unpack[HostOptions],
    ) -> None:
        for name, value in (("workers", workers), ("upkeep_workers", upkeep_workers)):
            if value < 1:
                raise InvalidArgument(f"{name} must be 1 or more", hint="8 is the default.")
        self.home = Mnemogram(root, **options)
        self._key_secret = options.get("key_secret")
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="mnemogram")
        self._turns: dict[str, _Turn] = {}
        self._running: set[asyncio.Future[Any]] = set()
        self._closed = False
        self._known: set[int] = set()
        self._upkeep: _Upkeep | None = None
        if upkeep:
            self._upkeep = _Upkeep(
                self.home,
                batch=upkeep_batch,
                workers=upkeep_workers,
                sweep_interval=sweep_interval,
                closing=closing,
                has_legacy=options.get("legacy") is not None,
            )

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
        key = self._key(user_id)
        if self._upkeep is not None:
            self._upkeep.forget(key)
        self._known.discard(_mark(key))
        return await self._run(lambda: self.home.delete_user(user_id), user_id)

    def _key(self, user_id: str) -> str:
        return user_key(user_id, key_secret=self._key_secret)

    # -- running

    async def _run(self, work: Callable[[], _T], writer: str | None) -> _T:
        """Run ``work`` on a worker; with ``writer``, after that user's other writes."""
        if self._closed:
            raise StoreClosed(f"{self.home.root} is closed")
        if writer is None:
            return await asyncio.shield(self._submit(work))
        key = self._key(writer)
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
        """Look after a user soon: done after every write, and at the first call, by itself.

        After a start, a user who does not come is looked after but for the older store,
        which is asked by the user's id: give a host's list of users here to have it taken
        over before they come.
        """
        if self._upkeep is not None and not self._closed:
            self._upkeep.request(self._key(user_id), user_id)

    def _met(self, user_id: str, *, again: bool) -> None:
        """Note that a user was here: the first time there may be something to do."""
        if self._upkeep is None or self._closed:
            return
        key = self._key(user_id)
        mark = _mark(key)
        if again or mark not in self._known:
            self._known.add(mark)
            self._upkeep.request(key, user_id)

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
        # A store that is closed waits for whoever writes, and may empty its WAL.
        await asyncio.get_running_loop().run_in_executor(self._pool, self.home.close)
        self._pool.shutdown(wait=True)


def _mark(key: str) -> int:
    """Return a user key's first bits: one such number is kept for each user."""
    return int(key[:15], 16)


class _Workers:
    """Threads that do not keep the process from ending, however long they wait for others."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads = 0

    def submit(self, work: Callable[[], _T]) -> Future[_T]:
        """Do some work on one of the threads."""
        future: Future[_T] = Future()
        self._work.put((future, work))
        if self._threads < self._count:
            self._threads += 1
            threading.Thread(target=self._run, name="mnemogram-upkeep", daemon=True).start()
        return future

    def stop(self) -> None:
        """Have each thread end with what it is at."""
        for _ in range(self._threads):
            self._work.put(None)

    def _run(self) -> None:
        while (given := self._work.get()) is not None:
            future, work = given
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
            del given, future, work


class _Step(NamedTuple):
    """What one step of a user's upkeep left."""

    more: bool
    seconds: float
    failed: bool


class _Upkeep:
    """Who is due for upkeep, and the tasks that do it.

    A user is in ``_due`` at most once, so what is asked for twice is done once, and what
    exceeds the tasks waits there. A task does one bounded step and puts its user back
    for the next one, after the pause that leaves others four fifths of the time.
    """

    def __init__(
        self,
        home: Mnemogram,
        *,
        batch: int,
        workers: int,
        sweep_interval: float,
        closing: float,
        has_legacy: bool,
    ) -> None:
        self._home = home
        self._batch = batch
        self._tasks = workers
        self._workers = _Workers(workers)
        self._sweep_interval = sweep_interval
        self._closing = closing
        self._has_legacy = has_legacy
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

    def forget(self, key: str) -> None:
        """Look no more after a user who is deleted."""
        self._due.pop(key, None)
        self._users.pop(key, None)
        self._again.discard(key)

    async def idle(self) -> None:
        """Wait until nobody is due."""
        while self._due or self._active:
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Let the steps that run come to their end, for a while, and begin no more."""
        # Not by cancelling: before Python 3.12 wait_for() may swallow that.
        self._stopping = True
        self._changed.set()
        if self._loop_task is not None:
            await asyncio.gather(self._loop_task, return_exceptions=True)
        if self._active:
            _, left = await asyncio.wait(set(self._active.values()), timeout=self._closing)
            for each in left:
                each.cancel()
            if left:
                _log.warning("upkeep of %d users did not end in time, and was left", len(left))
                await asyncio.gather(*left, return_exceptions=True)
        self._due.clear()
        self._workers.stop()

    async def _loop(self) -> None:
        sweep_at = time.monotonic()
        while not self._stopping:
            now = time.monotonic()
            if now >= sweep_at:
                sweep_at = now + self._sweep_interval
                await self._sweep()
            for key in sorted(self._due, key=self._due.__getitem__):
                if len(self._active) >= self._tasks or self._due[key] > now:
                    break
                del self._due[key]
                self._active[key] = asyncio.get_running_loop().create_task(self._step(key))
            waiting = [sweep_at]
            if len(self._active) < self._tasks:
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
            keys = await asyncio.wrap_future(self._workers.submit(self._home.users))
        except (MnemogramError, OSError) as error:
            _log.warning("upkeep: cannot list the users: %s", error)
            return
        for key in keys:
            self.request(key, None)

    async def _step(self, key: str) -> None:
        wait: float | None = None
        try:
            work = functools.partial(self._look_after, key, self._users.get(key))
            step = await asyncio.wrap_future(self._workers.submit(work))
            if step.failed:
                wait = _RETRY
            if step.more:
                wait = max(SHORTEST_PAUSE, PAUSE_FACTOR * step.seconds)
        except StoreClosed:
            wait = None
        finally:
            del self._active[key]
            if key in self._again:
                self._again.discard(key)
                wait = SHORTEST_PAUSE if wait is None else min(wait, SHORTEST_PAUSE)
            if wait is not None and not self._stopping:
                self._due[key] = time.monotonic() + wait
            elif wait is None:
                self._users.pop(key, None)
            self._changed.set()

    # -- on a worker

    def _look_after(self, key: str, user_id: str | None) -> _Step:
        """Do a step for both stores of a user; one goes on where the other fails."""
        steps = []
        for name, work in (("history", self._history), ("scene memory", self._memory)):
            began = time.monotonic()
            try:
                more, failed = work(key, user_id)
            except NotFound:
                continue
            except StoreClosed:
                raise
            except MnemogramError as error:
                _log.warning("upkeep of the %s of user %s failed: %s", name, key, error)
                more, failed = False, True
            except Exception:  # a host's own code: its redactor, its embedder, its older store
                _log.exception("upkeep of the %s of user %s failed", name, key)
                more, failed = False, True
            steps.append(_Step(more, time.monotonic() - began, failed))
        return _Step(
            any(each.more for each in steps),
            sum(each.seconds for each in steps),
            any(each.failed for each in steps),
        )

    def _history(self, key: str, user_id: str | None) -> tuple[bool, bool]:
        if user_id is not None and (self._has_legacy or self._has(key, "state.db")):
            result = self._home.history(user_id).maintain(batch_size=self._batch)
        else:
            with self._home.history_of_key(key) as history:
                result = history.maintain(batch_size=self._batch)
        if result.failed:
            _log.warning("upkeep of user %s: %s failed", key, ", ".join(result.failed))
        return result.more, bool(result.failed)

    def _memory(self, key: str, user_id: str | None) -> tuple[bool, bool]:
        if user_id is not None and self._has(key, "memory.db"):
            done = self._home.memory(user_id).maintain(seconds=_MEMORY_STEP)
        else:
            with self._home.memory_of_key(key) as memory:
                done = memory.maintain(seconds=_MEMORY_STEP)
        return bool(done["pending"] and done["embedded"]), False

    def _has(self, key: str, name: str) -> bool:
        return (self._home.root / "users" / key / name).exists()
