# SPDX-License-Identifier: MIT
"""The async face: never on the event loop, bounded, in turn, and finished when cancelled."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import mnemogram
from mnemogram import (
    History,
    InvalidArgument,
    Message,
    NotFound,
    QueryTimeout,
    Session,
    StoreClosed,
)
from mnemogram.history.legacy import LegacyRecord
from mnemogram.history.upkeep.maintain import Maintenance
from mnemogram.memory import SceneMemory
from mnemogram.service import AsyncHistory, AsyncSceneMemory, MnemogramService
from mnemogram.sqlite.database import Database
from tests.history.support import fill, message, states


def run(root: Path, body: Callable[[MnemogramService], Awaitable[None]], **options: Any) -> None:
    """Run ``body`` with a service, and close it."""

    async def main() -> None:
        async with MnemogramService(root, **options) as service:
            await body(service)

    asyncio.run(main())


def test_the_methods_are_those_of_the_history() -> None:
    sync = {
        name
        for name, _ in inspect.getmembers(History, inspect.isfunction)
        if not name.startswith("_")
    }
    mirrored = {name for name in vars(AsyncHistory) if not name.startswith("_")}
    assert sync - mirrored == {"close", "upkeep"}  # the service does both itself
    assert mirrored <= sync
    for name in mirrored:
        assert getattr(AsyncHistory, name).__doc__ == getattr(History, name).__doc__


def test_all_is_walked_over_and_awaited(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        history = service.history("u1")
        for session in ("a", "b"):
            await history.append(session, [message(number) for number in range(45)])
        found = [each.uid async for each in history.messages("a")]
        assert found == [f"u{number}" for number in range(45)]
        assert [each.session_id async for each in history.sessions()] == ["b", "a"]
        assert await history.count_sessions() == 2
        with pytest.raises(NotFound):
            async for _ in history.messages("nowhere"):
                pass
        # Calls are coroutines: a task group takes them.
        task = asyncio.create_task(history.search("牙医"))
        assert (await task).count == 2

    run(tmp_path, body)


def test_the_methods_are_those_of_the_scene_memory() -> None:
    sync = {
        name
        for name, _ in inspect.getmembers(SceneMemory, inspect.isfunction)
        if not name.startswith("_")
    }
    mirrored = {name for name in vars(AsyncSceneMemory) if not name.startswith("_")}
    # What hands out rows while it reads them cannot cross threads.
    assert sync - mirrored == {"close", "export_lines"}
    assert mirrored <= sync
    for name in mirrored:
        assert getattr(AsyncSceneMemory, name).__doc__ == getattr(SceneMemory, name).__doc__


def test_a_conversation_is_stored_found_and_read(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        history = service.history("u1")
        result = await history.append(Session("s", title="牙医"), [message(0), message(1)])
        assert result.inserted == 2
        assert (await history.search("牙医")).count == 1
        assert (await history.read("s")).message_count == 2
        assert (await history.browse(limit=5)).count == 1
        assert (await service.history("u2").browse()).count == 0

    run(tmp_path, body)


def test_the_scene_memory_is_there_too(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        memory = service.memory("u1")
        triple = mnemogram.Triple("Ann", "likes", "tea", scene="chan:qq")
        await memory.commit([triple])
        assert len(await memory.recall_by_scene(["chan:qq"])) == 1
        with pytest.raises(AttributeError):
            memory.close  # noqa: B018

    run(tmp_path, body)


def test_storage_never_runs_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    real = History.append

    def watched(self: History, *args: Any, **kwargs: Any) -> Any:
        threads.add(threading.current_thread())
        return real(self, *args, **kwargs)

    monkeypatch.setattr(AsyncHistory, "append", _async_of(watched))

    async def body(service: MnemogramService) -> None:
        await asyncio.gather(
            *(service.history(f"u{number}").append("s", [message(1)]) for number in range(10))
        )

    run(tmp_path, body, workers=3)
    assert threading.main_thread() not in threads
    assert 1 <= len(threads) <= 3


def _async_of(method: Callable[..., Any]) -> Any:
    from mnemogram import service

    return service._writing(method)


def test_the_event_loop_goes_on_while_a_write_waits(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        history = service.history("u1")
        await history.append("s", [message(1)])
        with service.home.history("u1")._database.write():
            waiting = asyncio.ensure_future(history.append("s", [message(2)]))
            for _ in range(20):
                await asyncio.sleep(0.005)
            assert not waiting.done()
            assert (await history.read("s")).message_count == 1
        assert (await waiting).inserted == 1

    run(tmp_path, body, upkeep=False)


def test_writes_of_one_user_take_turns_and_occupy_one_worker(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        busy = service.history("busy")
        await busy.append("s", [message(0)])
        with service.home.history("busy")._database.write():
            waiting = [
                asyncio.ensure_future(busy.append("s", [message(number)]))
                for number in range(1, 20)
            ]
            # Nineteen writes wait, and yet the two workers have time for others.
            for number in range(5):
                await service.history(f"u{number}").append("s", [message(1)])
        done = await asyncio.gather(*waiting)
        assert [each.inserted for each in done] == [1] * 19
        read = await busy.read("s")
        assert [each.uid for each in read.messages] == [f"u{number}" for number in range(20)]

    run(tmp_path, body, workers=2, upkeep=False)


def test_a_cancelled_write_is_finished_and_the_next_waits_for_it(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        history = service.history("u1")
        await history.append("s", [message(0)])
        at_work = threading.Event()

        def append(store: History) -> int:
            at_work.set()
            return store.append("s", [message(1)]).inserted

        with service.home.history("u1")._database.write():
            first = asyncio.ensure_future(history.run(append, write=True))
            await _until(at_work)
            second = asyncio.ensure_future(history.append("s", [message(2)]))
            third = asyncio.ensure_future(history.append("s", [message(3)]))
            while any(turn.users < 3 for turn in service._turns.values()):
                await asyncio.sleep(0)
            first.cancel()  # at work already
            third.cancel()  # still waiting for its turn
            with pytest.raises(asyncio.CancelledError):
                await first
        assert (await second).inserted == 1
        read = await history.read("s")
        assert [each.uid for each in read.messages] == ["u0", "u1", "u2"]
        assert service._turns == {}  # nothing is kept of users who are done

    run(tmp_path, body, upkeep=False)


def test_upkeep_runs_by_itself_after_a_write(tmp_path: Path) -> None:
    with mnemogram.open(tmp_path, load_extension=False) as plain:
        fill(plain.history("u1"), 40)

    async def body(service: MnemogramService) -> None:
        await service.history("u1").append("s", [message(100)])
        await service.upkeep_done()
        assert set(states(service.home.history("u1")).values()) == {"ready"}
        status = await service.history("u1").status()
        assert status.indexes[0].indexed == 41

    run(tmp_path, body, upkeep_batch=50)


def test_idle_users_are_looked_after_too(tmp_path: Path) -> None:
    with mnemogram.open(tmp_path) as home:
        for number in range(12):
            home.history(f"u{number}").append("old", [message(1, timestamp="2020-01-01T00:00:00Z")])

    async def body(service: MnemogramService) -> None:
        # The first look at all users comes by itself, as soon as there is time for it.
        for number in range(12):
            while (await service.history(f"u{number}").browse()).count:
                await asyncio.sleep(0.02)

    run(tmp_path, body, retention=timedelta(days=30))


def test_each_user_has_one_upkeep_at_most_and_all_together_eight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = threading.Lock()
    now: list[str] = []
    most: list[int] = []
    steps: dict[str, int] = {}

    def watched(self: History, *, batch_size: int = 500) -> Maintenance:
        with lock:
            assert self.path not in now
            now.append(self.path)
            most.append(len(now))
            steps[self.path] = steps.get(self.path, 0) + 1
        time.sleep(0.01)
        with lock:
            now.remove(self.path)
        return Maintenance((), steps[self.path] < 3, (), 0.0)

    monkeypatch.setattr(History, "maintain", watched)
    with mnemogram.open(tmp_path) as home:
        for number in range(20):
            home.history(f"u{number}")

    async def body(service: MnemogramService) -> None:
        for number in range(20):
            for _ in range(3):
                service.request_upkeep(f"u{number}")
        await service.upkeep_done()

    run(tmp_path, body, workers=16)
    assert len(steps) == 20  # queued, not dropped
    assert min(steps.values()) >= 3
    assert max(most) <= 8


@pytest.mark.parametrize("error", [mnemogram.StorageUnavailable, ZeroDivisionError])
def test_upkeep_that_fails_is_logged_and_tried_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: type[Exception],
) -> None:
    from mnemogram import service as module

    monkeypatch.setattr(module, "_RETRY", 0.05)
    tries: list[str] = []
    real = History.maintain

    def watched(self: History, *, batch_size: int = 500) -> Maintenance:
        tries.append(self.path)
        if len(tries) == 1:
            raise error("the disk is away")
        return real(self, batch_size=batch_size)

    monkeypatch.setattr(History, "maintain", watched)

    async def body(service: MnemogramService) -> None:
        await service.history("u1").append("s", [message(1)])
        await service.upkeep_done()

    run(tmp_path, body)
    assert len(tries) >= 2
    assert "the disk is away" in caplog.text


def test_closing_waits_for_what_runs_and_refuses_what_comes_after(tmp_path: Path) -> None:
    async def main() -> None:
        service = MnemogramService(tmp_path)
        await service.__aenter__()
        history = service.history("u1")
        await history.append("s", [message(0)])
        running = [asyncio.ensure_future(history.append("s", [message(1)])) for _ in range(1)]
        await asyncio.sleep(0)
        await service.close()
        await service.close()
        done = await asyncio.gather(*running, return_exceptions=True)
        with pytest.raises(StoreClosed):
            await history.append("s", [message(9)])
        with mnemogram.open(tmp_path) as home:
            stored = home.history("u1").read("s").message_count
        assert stored == 1 + sum(not isinstance(each, BaseException) for each in done)

    asyncio.run(main())


def test_bad_options_and_ids_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        MnemogramService(tmp_path, workers=0)

    async def body(service: MnemogramService) -> None:
        for store in (service.history, service.memory):
            with pytest.raises(InvalidArgument):
                store(" ")

    run(tmp_path, body)


def test_a_service_of_many_users_opens_no_more_than_it_may(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        await asyncio.gather(
            *(
                service.history(f"u{number}").append("s", [Message("user", "hello")])
                for number in range(40)
            )
        )
        assert len(service.home._histories) <= 5

    run(tmp_path, body, max_open=5)


# --- what upkeep never does to others ------------------------------------------------------


class SlowSource:
    """An older store of one conversation, which answers only once it is let."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.answers = threading.Event()
        self.pages: list[str | None] = []

    def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
        self.pages.append(after)
        self.asked.set()
        assert self.answers.wait(30)
        number = int(after or 0) + 1
        if number > 3:
            return []
        said = Message("user", f"an old kettle of {user_id}", uid=f"o{number}")
        return [LegacyRecord(str(number), Session(f"old{number}"), (said,))]


async def _until(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.005)


def test_nobody_waits_for_an_older_store_that_does_not_answer(tmp_path: Path) -> None:
    source = SlowSource()

    async def body(service: MnemogramService) -> None:
        history = service.history("u1")
        await history.append("s", [message(0)])
        await _until(source.asked)
        # The only worker, and the user's turn, are free while the source is waited for.
        assert (await history.append("s", [message(1)])).inserted == 1
        assert (await history.read("s")).message_count == 2
        assert (await service.history("u2").append("s", [message(1)])).inserted == 1
        source.answers.set()
        await service.upkeep_done()
        assert (await history.search("kettle")).count == 3

    run(tmp_path, body, workers=1, legacy=source)


def test_closing_does_not_wait_for_an_older_store_for_ever(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = SlowSource()

    async def body(service: MnemogramService) -> None:
        await service.history("u1").append("s", [message(0)])
        await _until(source.asked)

    run(tmp_path, body, legacy=source, closing=0.05)
    assert "left" in caplog.text
    source.answers.set()
    for thread in threading.enumerate():
        if thread.name == "mnemogram-upkeep":
            thread.join(30)
    with mnemogram.open(tmp_path) as home:
        assert home.history("u1").search("kettle").count == 0  # what came too late is not stored
        assert home.history("u1").read("s").message_count == 1


def test_who_only_searches_gets_what_an_older_store_holds_after_a_restart_too(
    tmp_path: Path,
) -> None:
    source = SlowSource()

    async def first(service: MnemogramService) -> None:
        assert (await service.history("u1").search("kettle")).count == 0
        await _until(source.asked)
        source.answers.set()
        while (await service.history("u1").search("kettle")).count == 0:
            await asyncio.sleep(0.02)

    async def again(service: MnemogramService) -> None:
        await service.history("u1").search("kettle")
        await service.upkeep_done()
        assert (await service.history("u1").search("kettle")).count == 3

    run(tmp_path, first, legacy=source, closing=0.0)
    run(tmp_path, again, legacy=source)
    run(tmp_path, again, legacy=source)
    assert source.pages.count(None) == 1


def test_an_older_store_can_be_taken_over_before_its_users_come(tmp_path: Path) -> None:
    source = SlowSource()
    source.answers.set()

    async def body(service: MnemogramService) -> None:
        service.request_upkeep("u1")
        await service.upkeep_done()
        assert service.home.history("u1").search("kettle").count == 3

    run(tmp_path, body, legacy=source)


def test_upkeep_makes_no_store_for_who_has_none(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        service.request_upkeep("nobody")
        await service.memory("u1").commit([mnemogram.Triple("Ann", "likes", "tea")])
        await service.upkeep_done()

    run(tmp_path, body)
    assert [each.name for each in tmp_path.glob("users/*/*.db")] == ["memory.db"]


def test_the_scene_memory_has_its_upkeep_and_goes_on_where_the_history_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def maintain(self: SceneMemory, *, seconds: float = 10.0) -> dict[str, int]:
        steps.append(Path(self.path).parent.name)
        return {"indexed": 0, "embedded": 1, "pending": 3 - len(steps)}

    def failing(self: History, *, batch_size: int = 500) -> Maintenance:
        raise mnemogram.StorageUnavailable("the disk is away")

    monkeypatch.setattr(SceneMemory, "maintain", maintain)
    monkeypatch.setattr(History, "maintain", failing)
    with mnemogram.open(tmp_path) as home:
        home.history("u1").append("s", [message(1)])
        home.memory("u1").commit([mnemogram.Triple("Ann", "likes", "tea")])

    async def body(service: MnemogramService) -> None:
        while len(steps) < 3:
            await asyncio.sleep(0.02)

    run(tmp_path, body)
    assert len(set(steps)) == 1


def test_a_deleted_user_is_looked_after_no_more(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        await service.history("u1").append("s", [message(1)])
        assert await service.delete_user("u1")
        await service.upkeep_done()

    run(tmp_path, body, retention=timedelta(days=30))
    assert list(tmp_path.glob("users/*/*.db")) == []


# --- whom a worker works for -----------------------------------------------------------------

_ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_work_may_make_several_calls_at_one_go(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        history = service.history("u1")

        def work(store: History) -> int:
            store.append("s", [message(0)])
            return store.append("s", [message(1)]).inserted

        assert await history.run(work, write=True) == 1
        assert await history.run(lambda store: store.read("s").message_count) == 2

    run(tmp_path, body, workers=1)


def test_a_read_that_nobody_waits_for_any_more_frees_its_worker(tmp_path: Path) -> None:
    def endless(store: Any) -> None:
        database: Database = store._database
        with database.read() as connection:
            connection.one(_ENDLESS)

    async def body(service: MnemogramService) -> None:
        for store in (service.history("u1"), service.memory("u1")):
            with pytest.raises((TimeoutError, asyncio.TimeoutError)):
                await asyncio.wait_for(store.run(endless), 0.1)
        assert (await service.history("u1").browse()).count == 0  # the only worker is there

    run(tmp_path, body, workers=1, upkeep=False)


def test_a_read_that_is_given_up_before_a_worker_is_free_never_begins(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        history = service.history("u1")
        free, begun = threading.Event(), threading.Event()
        busy = asyncio.ensure_future(history.run(lambda _: free.wait(30)))
        waiting = asyncio.ensure_future(history.run(lambda _: begun.set()))
        await asyncio.sleep(0.02)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        free.set()
        await busy
        await history.browse()
        assert not begun.is_set()

    run(tmp_path, body, workers=1, upkeep=False)


def test_a_timeout_counts_from_the_call_and_not_from_when_a_worker_is_free(
    tmp_path: Path,
) -> None:
    async def body(service: MnemogramService) -> None:
        history = service.history("u1")
        await history.append("s", [message(0)])
        free = threading.Event()
        busy = asyncio.ensure_future(history.run(lambda _: free.wait(30)))
        waiting = [
            asyncio.ensure_future(history.search("牙医", timeout=0.01)),
            asyncio.ensure_future(history.browse(timeout=0.01)),
            asyncio.ensure_future(history.search("牙医", timeout=30.0)),
        ]
        await asyncio.sleep(0.05)
        free.set()
        await busy
        late, listed, patient = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(late, QueryTimeout)
        assert isinstance(listed, QueryTimeout)
        assert not isinstance(patient, BaseException)

    run(tmp_path, body, workers=1, upkeep=False)
