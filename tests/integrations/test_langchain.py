# SPDX-License-Identifier: MIT
"""LangChain calls the tools with what a model sends, and what was said there is kept."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip(
    "langchain_core", reason="the extra `langchain` is not installed (needs Python 3.11)"
)

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.utils.function_calling import convert_to_openai_tool

import mnemogram
from mnemogram import InvalidArgument, Message
from mnemogram.integrations.langchain import MemoryTool, make_tools, messages_of, tools_of
from mnemogram.service import MnemogramService


@pytest.fixture
def tools(home: mnemogram.Mnemogram) -> dict[str, MemoryTool]:
    made = make_tools(tools_of(home.history("ann"), home.memory("ann")))
    return {each.name: each for each in made}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "id": "call-1", "name": name, "args": arguments}


def test_a_model_is_told_of_the_tools_as_they_are_declared(home: mnemogram.Mnemogram) -> None:
    declared = tools_of(home.history("ann"), home.memory("ann"))
    made = make_tools(declared)
    assert [convert_to_openai_tool(each) for each in made] == [each.schema() for each in declared]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_call_is_answered_with_a_tool_message(
    tools: dict[str, MemoryTool], asynchronous: bool
) -> None:
    def ask(name: str, arguments: dict[str, Any]) -> ToolMessage:
        if asynchronous:
            return asyncio.run(tools[name].ainvoke(call(name, arguments)))
        return tools[name].invoke(call(name, arguments))

    found = ask("session_search", {"query": "牙医"})
    assert isinstance(found, ToolMessage)
    assert (found.tool_call_id, found.name, found.status) == (
        "call-1",
        "session_search",
        "success",
    )
    assert json.loads(found.content)["count"] == 1
    assert "牙医" in found.content
    assert "bob" not in found.content
    rule = {"subject": "mail", "relation": "rule", "object": "sign as Ann"}
    assert ask("memory_commit", {"triples": [rule], "scene": "tool:send_mail"}).status == "success"
    assert "sign as Ann" in ask("memory_recall", {"scenes": ["tool:send_mail"]}).content


def test_called_with_arguments_alone_a_tool_returns_the_text(tools: dict[str, MemoryTool]) -> None:
    text = tools["session_search"].invoke({"query": "牙医"})
    assert json.loads(text)["success"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "x", "limit": "many"},
        {"self": 1},
        {"args": ["x"]},
        {"config": {}},
        {"run_manager": None, "callbacks": 1},
        {"sort": [[[["\ud800"]]]]},
    ],
    ids=str,
)
def test_nothing_that_a_model_sends_raises(
    tools: dict[str, MemoryTool], arguments: dict[str, Any]
) -> None:
    tool = tools["session_search"]
    answers = [
        tool.invoke(call(tool.name, arguments)),
        asyncio.run(tool.ainvoke(call(tool.name, arguments))),
    ]
    for answer in answers:
        assert answer.status == "error"
        assert json.loads(answer.content)["error"] == "invalid_argument"
        assert json.loads(answer.content)["hint"]
        answer.content.encode()


def test_tools_over_an_async_face_are_awaited(home: mnemogram.Mnemogram) -> None:
    async def main() -> None:
        async with MnemogramService(home.root, upkeep=False) as service:
            (search, *_) = make_tools(tools_of(service.history("ann"), service.memory("ann")))
            found = await search.ainvoke(call(search.name, {"query": "牙医"}))
            assert json.loads(found.content)["count"] == 1
            wrong = await search.ainvoke(call(search.name, {"limit": "many"}))
            assert wrong.status == "error"
            with pytest.raises(NotImplementedError):
                search.invoke(call(search.name, {"query": "牙医"}))

    asyncio.run(main())


# --- what was said ---------------------------------------------------------------------


TALK = [
    SystemMessage("Be brief.", id="0"),
    HumanMessage("明天北京天气怎么样", id="1"),
    AIMessage(
        [{"type": "text", "text": "Let me look."}, {"type": "tool_use", "id": "c", "name": "sky"}],
        tool_calls=[{"id": "c", "name": "sky", "args": {"city": "北京"}}],
        id="2",
    ),
    ToolMessage("晴", tool_call_id="c", id="3", status="success"),
    AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "晴"}], id="4"),
]


def test_what_was_said_becomes_messages_with_their_ids_and_calls() -> None:
    assert messages_of(TALK) == [
        Message("user", "明天北京天气怎么样", uid="1"),
        Message(
            "assistant",
            "Let me look.",
            uid="2",
            tool_calls=[{"id": "c", "name": "sky", "arguments": {"city": "北京"}}],
        ),
        Message("tool", "晴", uid="3", tool_call_id="c", tool_name="sky", tool_status="success"),
        Message("assistant", "晴", uid="4"),
    ]


def test_the_whole_state_can_be_appended_after_every_turn(home: mnemogram.Mnemogram) -> None:
    history = home.history("ann")
    assert history.append("s2", messages_of(TALK[:3])).inserted == 2
    again = history.append("s2", messages_of(TALK))
    assert (again.inserted, again.repeated) == (2, 2)
    assert history.search("北京").results[0].session_id == "s2"
    anonymous = [each.model_copy(update={"id": None}) for each in TALK]
    assert history.append("s3", messages_of(anonymous[:3])).inserted == 2
    assert history.append("s3", messages_of(anonymous)).inserted == 2


def test_every_kind_of_message_has_its_role() -> None:
    broken = {"id": "c", "name": "sky", "args": "{city", "error": "no JSON"}
    said = messages_of(
        [
            ChatMessage(role="human", content="a"),
            ChatMessage(role="system", content="b"),
            AIMessageChunk("c", id="x"),
            FunctionMessage("d", name="sky"),
            ToolMessage("e", tool_call_id="c", status="error"),
            AIMessage("", invalid_tool_calls=[broken]),
            RemoveMessage(id="x"),
        ]
    )
    assert said == [
        Message("user", "a"),
        Message("assistant", "c", uid="x"),
        Message("tool", "d", tool_name="sky"),
        Message("tool", "e", tool_call_id="c", tool_status="error"),
        Message("assistant", "", tool_calls=[{"id": "c", "name": "sky", "arguments": "{city"}]),
    ]
    with pytest.raises(InvalidArgument, match="critic"):
        messages_of([ChatMessage(role="critic", content="a")])


def test_a_sentence_that_a_provider_cut_is_whole() -> None:
    cut = [{"type": "text", "text": "博物馆周一"}, {"type": "text", "text": "闭馆。"}]
    (said,) = messages_of([AIMessage(cut)])
    assert said.content == "博物馆周一闭馆。"


def test_results_inside_a_message_stand_on_the_side_of_their_calls() -> None:
    result = {"type": "tool_result", "tool_use_id": "c", "content": "晴", "is_error": True}
    server = [
        {"type": "server_tool_use", "id": "c", "name": "sky", "input": {"city": "北京"}},
        {**result, "type": "sky_tool_result"},
        {"type": "text", "text": "It is sunny."},
    ]
    asked, answered = messages_of([AIMessage(server, id="1")])
    assert asked.tool_calls == [{"id": "c", "name": "sky", "arguments": {"city": "北京"}}]
    assert answered == Message(
        "tool", "晴", uid="1/1", tool_call_id="c", tool_name="sky", tool_status="error"
    )
    said = messages_of([HumanMessage([result, {"type": "text", "text": "and?"}])])
    assert [each.role for each in said] == ["tool", "user"]
    assert [each.role for each in messages_of([HumanMessage([result])])] == ["tool"]


def summary(text: str, **marks: Any) -> HumanMessage:
    return HumanMessage(text, id="sum", additional_kwargs={"lc_source": "summarization", **marks})


@pytest.mark.parametrize(
    "made_up",
    [
        summary("Here is a summary: likes the harbour hotel"),
        AIMessage("They like it", id="sum", additional_kwargs={"lc_source": "summarization"}),
        HumanMessage("Task 7 is done", id="n", additional_kwargs={"lc_source": "async_subagent"}),
    ],
)
def test_what_a_program_put_into_the_conversation_was_said_by_nobody(made_up: BaseMessage) -> None:
    said = messages_of([made_up, HumanMessage("and breakfast?", id="h", additional_kwargs={})])
    assert [(each.uid, each.content) for each in said] == [("h", "and breakfast?")]


def test_a_mark_that_names_no_source_takes_nothing_away() -> None:
    kept = [
        HumanMessage("a", id="a", additional_kwargs={"lc_source": None}),
        AIMessage("b", id="b"),
    ]
    assert [each.content for each in messages_of(kept)] == ["a", "b"]
