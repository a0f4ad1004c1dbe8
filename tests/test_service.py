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
from mnemogram import History, InvalidArgument, Message, Session, StoreClosed
from mnemogram.history.upkeep.maintain import Maintenance
from mnemogram.service import AsyncHistory, MnemogramService
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
        with service.home.history("u1")._database.write():
            first = asyncio.ensure_future(history.append("s", [message(1)]))
            await asyncio.sleep(0.05)
            second = asyncio.ensure_future(history.append("s", [message(2)]))
            third = asyncio.ensure_future(history.append("s", [message(3)]))
            await asyncio.sleep(0.05)
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
        await asyncio.sleep(0.1)
        await service.upkeep_done()
        for number in range(12):
            assert (await service.history(f"u{number}").browse()).count == 0

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
