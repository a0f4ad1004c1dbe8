# SPDX-License-Identifier: MIT
"""The tools over the async faces: the same answers, and nobody is kept waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mnemogram import InvalidArgument, Message, Triple
from mnemogram.service import MnemogramService
from mnemogram.tools import (
    AsyncTool,
    Tool,
    memory_commit_tool,
    memory_recall_tool,
    session_search_tool,
    tools_of,
)

RULE = {
    "subject": "reply",
    "relation": "style",
    "object": "plain",
    "kind": "rule",
    "scene": "here",
    "sentence": "No markdown, please.",
}


def run(root: Path, body: Callable[[MnemogramService], Awaitable[None]], workers: int = 1) -> None:
    async def main() -> None:
        async with MnemogramService(root, workers=workers, upkeep=False) as service:
            await service.history("ann").append("s1", [Message("user", "dentist on Wednesday")])
            await body(service)

    asyncio.run(main())


def test_the_answers_are_those_of_the_plain_tools(tmp_path: Path) -> None:
    calls = (
        [{"query": "dentist"}, '{"session_id": "s1"}', {}, {"limit": "many"}, None, "no json"],
        [{"triples": [RULE]}, {"triples": [{**RULE, "scene": "chan:mail"}]}, {"triples": []}],
        [{"query": "reply"}, {"scenes": "here"}, {}, {"scenes": ["chan:mail"], "limit": 1}],
    )

    async def body(service: MnemogramService) -> None:
        options = {"current_session": lambda: "now", "current_scenes": ["chan:qq"]}
        plain = tools_of(service.home.history("ann"), service.home.memory("ann"), **options)
        awaited = tools_of(service.history("ann"), service.memory("ann"), **options)
        assert [type(each) for each in awaited] == [AsyncTool] * 3
        for one, other, arguments in zip(awaited, plain, calls, strict=True):
            assert (one.name, one.schema("mcp")) == (other.name, other.schema("mcp"))
            for each in arguments:
                got, want = await one(each), other(each)
                if one.name == "memory_commit" and got["success"]:
                    assert got["created"] + got["known"] == 1
                    assert want["known"] == 1
                    assert got["relations"][0]["trust"] == want["relations"][0]["trust"]
                elif one.name == "session_search" or not got["success"]:
                    assert got == want
                else:
                    assert [each["id"] for each in got["relations"]] == [
                        each["id"] for each in want["relations"]
                    ]

    run(tmp_path, body)


def test_each_tool_is_of_the_kind_of_its_store(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        for make, name in (
            (session_search_tool, "history"),
            (memory_commit_tool, "memory"),
            (memory_recall_tool, "memory"),
        ):
            plain = make(getattr(service.home, name)("ann"))  # type: ignore[operator]
            awaited = make(getattr(service, name)("ann"))  # type: ignore[operator]
            assert type(plain) is Tool
            assert type(awaited) is AsyncTool

    run(tmp_path, body)


def test_the_event_loop_and_the_worker_are_free_while_the_user_is_asked(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        asked, agreed = asyncio.Event(), asyncio.Event()

        async def confirm(rule: Triple) -> bool:
            assert (rule.scene, rule.sentence) == (["chan:qq"], "No markdown, please.")
            asked.set()
            await agreed.wait()
            return True

        commit = memory_commit_tool(
            service.memory("ann"), current_scenes=["chan:qq"], confirm=confirm
        )
        answer = asyncio.ensure_future(commit({"triples": [RULE]}))
        await asked.wait()
        # One worker, and one user: both are there for others meanwhile.
        await service.memory("ann").commit([Triple("Ann", "likes", "tea")])
        agreed.set()
        assert (await answer)["relations"][0]["trust"] == "confirmed"

    run(tmp_path, body)


@pytest.mark.parametrize(
    ("says", "trust"), [(True, "confirmed"), (False, None), (None, "observed"), (..., "observed")]
)
@pytest.mark.parametrize("plainly", [False, True])
def test_what_the_user_says_is_heard(
    tmp_path: Path, says: object, trust: str | None, plainly: bool
) -> None:
    threads: list[threading.Thread] = []

    def plain(rule: Triple) -> bool | None:
        threads.append(threading.current_thread())
        if says is ...:
            raise RuntimeError("the dialog cannot be shown")
        return says  # type: ignore[return-value]

    async def awaited(rule: Triple) -> bool | None:
        return plain(rule)

    async def body(service: MnemogramService) -> None:
        commit = memory_commit_tool(
            service.memory("ann"),
            current_scenes=["chan:qq"],
            confirm=plain if plainly else awaited,
        )
        fact = {"subject": "Ann", "relation": "likes", "object": "tea"}
        answer = await commit({"triples": [RULE, fact]})
        assert [each["trust"] for each in answer["relations"] if each["kind"] == "rule"] == (
            [trust] if trust else []
        )
        assert len(answer["declined"]) == (trust is None)
        assert (threads[0] is threading.main_thread()) != plainly
        assert len(threads) == 1  # a fact is not asked about

    run(tmp_path, body)


def test_a_plain_tool_cannot_ask_a_coroutine_function(tmp_path: Path) -> None:
    async def confirm(rule: Triple) -> bool:
        return True

    async def body(service: MnemogramService) -> None:
        with pytest.raises(InvalidArgument, match="coroutine"):
            memory_commit_tool(service.home.memory("ann"), confirm=confirm)  # type: ignore[call-overload]

    run(tmp_path, body)


def test_a_store_that_is_closed_is_an_answer(tmp_path: Path) -> None:
    async def body(service: MnemogramService) -> None:
        search = session_search_tool(service.history("ann"))
        await service.close()
        answer = await search({"query": "dentist"})
        assert (answer["success"], answer["error"]) == (False, "storage_unavailable")

    run(tmp_path, body)
