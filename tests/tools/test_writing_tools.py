# SPDX-License-Identifier: MIT
"""history_append and memory_forget: only where the host says so, and never what is another's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemogram
from mnemogram import InvalidArgument, Message, Session, Triple
from mnemogram.service import MnemogramService
from mnemogram.tools import history_append_tool, memory_forget_tool, tools_of

SAID = [{"role": "user", "content": "牙医几点?"}, {"role": "assistant", "content": "九点。"}]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[mnemogram.Mnemogram]:
    with mnemogram.open(tmp_path / "root") as home:
        yield home


def commit(home: mnemogram.Mnemogram, **about: Any) -> int:
    triple = Triple("mail", "rule", about.pop("object", "sign as Ann"), kind="rule", **about)
    return home.memory("ann").commit([triple]).relation_ids[0]


# --- offered ---------------------------------------------------------------------------


def test_they_are_offered_only_where_writing_is_allowed(home: mnemogram.Mnemogram) -> None:
    stores = home.history("ann"), home.memory("ann")
    more = {each.name for each in tools_of(*stores, allow_write=True)}
    assert more - {each.name for each in tools_of(*stores)} == {"history_append", "memory_forget"}
    with pytest.raises(InvalidArgument):
        tools_of(*stores, allow_write=True, read_only=True)


def test_every_tool_says_how_it_behaves(home: mnemogram.Mnemogram) -> None:
    tools = tools_of(home.history("ann"), home.memory("ann"), allow_write=True)
    hints = {each.name: each.schema("mcp")["annotations"] for each in tools}
    behaviour = {
        name: (each["readOnlyHint"], each["destructiveHint"], each["idempotentHint"])
        for name, each in hints.items()
    }
    assert behaviour == {
        "session_search": (True, False, True),
        "memory_recall": (True, False, True),
        "memory_commit": (False, False, True),
        "history_append": (False, False, True),
        "memory_forget": (False, True, True),
    }
    assert all(each["openWorldHint"] is False and each["title"] for each in hints.values())


@pytest.mark.parametrize("place", range(5))
def test_calling_a_tool_again_changes_nothing_more(home: mnemogram.Mnemogram, place: int) -> None:
    history, memory = home.history("ann"), home.memory("ann")
    relation = commit(home)
    tool = tools_of(history, memory, allow_write=True)[place]
    arguments: dict[str, Any] = {
        "session_search": {"query": "牙医"},
        "memory_recall": {"query": "mail"},
        "memory_commit": {"triples": [{"subject": "a", "relation": "b", "object": "c"}]},
        "history_append": {"session_id": "x", "messages": SAID},
        "memory_forget": {"ids": [relation]},
    }[tool.name]

    def state() -> tuple[Any, ...]:
        relations = [each.id for each in memory.relations(retired=True)]
        return history.status(sizes=False).messages, relations

    assert tool(arguments)["success"]
    before = state()
    assert tool(arguments)["success"]
    assert state() == before


# --- writing down ----------------------------------------------------------------------


def test_what_is_written_down_is_found_and_marked_as_reported(home: mnemogram.Mnemogram) -> None:
    history = home.history("ann")
    tool = history_append_tool(history)
    answer = tool({"session_id": "x", "messages": SAID, "title": "复诊", "tags": "health"})
    assert (answer["stored"], answer["known"], answer["session_id"]) == (2, 0, "x")
    (hit,) = history.search("牙医").results
    assert (hit.source, hit.title, hit.tags) == ("agent", "复诊", ("health",))
    assert {each.provenance for each in history.messages("x")} == {"reported"}
    assert tool({"session_id": "x", "messages": SAID})["known"] == 2
    assert tool({"session_id": "x", "messages": [SAID[0]]})["stored"] == 1  # said again


def test_nothing_is_added_to_what_others_have_said(home: mnemogram.Mnemogram) -> None:
    history = home.history("ann")
    history.append(Session("real", source="chat"), [Message("user", "hello")])
    tool = history_append_tool(history)
    answer = tool({"session_id": "real", "messages": SAID})
    assert (answer["success"], answer["error"]) == (False, "invalid_argument")
    assert history.status(sizes=False).messages == 1
    assert not tool({"messages": SAID})["success"]
    assert not tool({"session_id": "x", "messages": [{"role": "tool", "content": "x"}]})["success"]
    assert not tool({"session_id": "x", "messages": SAID, "source": "chat"})["success"]


def test_where_the_running_conversation_is_known_no_other_is_written(
    home: mnemogram.Mnemogram,
) -> None:
    history = home.history("ann")
    history.append(Session("now", source="telegram"), [Message("user", "hello")])
    tool = history_append_tool(history, current_session=lambda: "now")
    assert not tool({"session_id": "other", "messages": SAID})["success"]
    assert tool({"messages": SAID})["session_id"] == "now"
    assert history.source_of("now") == "telegram"
    assert history.source_of("other") is None


def test_a_deleted_conversation_stays_deleted(home: mnemogram.Mnemogram) -> None:
    history = home.history("ann")
    tool = history_append_tool(history)
    tool({"session_id": "x", "messages": SAID})
    history.delete_session("x")
    answer = tool({"session_id": "x", "messages": SAID})
    assert (answer["stored"], answer["refused"]) == (0, 2)
    assert answer["notes"]


# --- forgetting ------------------------------------------------------------------------


def test_what_a_model_forgets_is_gone(home: mnemogram.Mnemogram) -> None:
    relation = commit(home)
    answer = memory_forget_tool(home.memory("ann"))({"ids": [f"#{relation}", 999]})
    assert [each["id"] for each in answer["forgotten"]] == [relation]
    assert answer["unknown"] == [999]
    assert not home.memory("ann").relations()
    assert not memory_forget_tool(home.memory("ann"))({"ids": ["all"]})["success"]


@pytest.mark.parametrize(
    ("trust", "said", "gone"),
    [
        ("observed", None, True),
        ("observed", True, True),
        ("observed", False, False),
        ("confirmed", None, False),
        ("confirmed", True, True),
        ("confirmed", False, False),
        ("confirmed", RuntimeError("no client"), False),
    ],
)
def test_what_was_confirmed_goes_only_at_the_users_word(
    home: mnemogram.Mnemogram, trust: Any, said: Any, gone: bool
) -> None:
    relation = commit(home, trust=trust)
    asked = []

    def confirm(triple: Triple) -> bool | None:
        asked.append(triple)
        if isinstance(said, Exception):
            raise said
        return said  # type: ignore[no-any-return]

    answer = memory_forget_tool(home.memory("ann"), confirm=confirm)({"ids": [relation]})
    assert bool(answer["forgotten"]) == gone
    assert bool(answer["kept"]) == bool(answer["notes"]) == (not gone)
    assert [each.object for each in asked] == ["sign as Ann"]
    assert bool(home.memory("ann").relations()) == (not gone)


def test_a_call_that_the_user_agreed_to_asks_no_more(home: mnemogram.Mnemogram) -> None:
    relation = commit(home, trust="confirmed")
    assert not memory_forget_tool(home.memory("ann"))({"ids": [relation]})["forgotten"]
    tool = memory_forget_tool(home.memory("ann"), agreed=True)
    assert tool({"ids": [relation]})["forgotten"]


def test_the_awaited_tools_do_the_same(tmp_path: Path) -> None:
    async def no(triple: Triple) -> bool:
        return False

    async def use() -> None:
        async with MnemogramService(tmp_path / "root") as service:
            history, memory = service.history("ann"), service.memory("ann")
            append = history_append_tool(history)
            assert (await append({"session_id": "x", "messages": SAID}))["stored"] == 2
            result = await memory.commit([Triple("a", "b", "c")])
            (relation,) = result.relation_ids
            kept = await memory_forget_tool(memory, confirm=no)({"ids": [relation]})
            assert kept["kept"]
            gone = await memory_forget_tool(memory)({"ids": [relation]})
            assert gone["forgotten"]

    asyncio.run(use())


def test_a_plain_tool_cannot_ask_a_coroutine_function(home: mnemogram.Mnemogram) -> None:
    async def no(triple: Triple) -> bool:
        return False

    with pytest.raises(InvalidArgument):
        memory_forget_tool(home.memory("ann"), confirm=no)  # type: ignore[call-overload]


def test_no_argument_reaches_another_user(home: mnemogram.Mnemogram) -> None:
    relation = commit(home)
    home.history("bob").append("b", [Message("user", "bob's secret")])
    theirs = tools_of(home.history("bob"), home.memory("bob"), allow_write=True)
    tools = {each.name: each for each in theirs}
    assert tools["memory_forget"]({"ids": [relation]})["unknown"] == [relation]
    tools["history_append"]({"session_id": "s", "messages": SAID})
    assert home.memory("ann").relations()
    assert home.history("ann").status(sizes=False).messages == 0
