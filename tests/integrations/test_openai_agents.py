# SPDX-License-Identifier: MIT
"""An agent of the OpenAI Agents SDK calls the tools; no model is asked for it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("agents", reason="the extra `openai-agents` is not installed")

import agents
from agents.tool_context import ToolContext
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

import mnemogram
from mnemogram.integrations.openai_agents import make_tools, tools_of
from mnemogram.service import MnemogramService


@pytest.fixture
def tools(home: mnemogram.Mnemogram) -> dict[str, Any]:
    made = make_tools(tools_of(home.history("ann"), home.memory("ann")))
    return {each.name: each for each in made}


def ask(tool: Any, arguments: str) -> Any:
    context = ToolContext(
        None, tool_name=tool.name, tool_call_id="call-1", tool_arguments=arguments
    )
    text = asyncio.run(tool.on_invoke_tool(context, arguments))
    assert isinstance(text, str)
    text.encode()
    return json.loads(text)


class Scripted(agents.Model):
    """Says what it was given to say, and keeps what it was asked."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = list(outputs)
        self.inputs: list[Any] = []
        self.offered: list[Any] = []

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,
        model_settings: Any,
        tools: list[Any],
        *others: Any,
        **options: Any,
    ) -> agents.ModelResponse:
        self.inputs.append(input)
        self.offered = tools
        return agents.ModelResponse(
            output=[self.outputs.pop(0)], usage=agents.Usage(), response_id=None
        )

    def stream_response(self, *others: Any, **options: Any) -> Any:
        raise NotImplementedError


def calls(name: str, arguments: str, number: int) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        name=name, arguments=arguments, call_id=f"call-{number}", type="function_call"
    )


def says(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, annotations=[], type="output_text")
    return ResponseOutputMessage(
        id="m", content=[part], role="assistant", status="completed", type="message"
    )


def test_a_model_is_told_of_the_tools_as_they_are_declared(home: mnemogram.Mnemogram) -> None:
    declared = tools_of(home.history("ann"), home.memory("ann"))
    for tool, made in zip(declared, make_tools(declared), strict=True):
        assert isinstance(made, agents.FunctionTool)
        assert not made.strict_json_schema
        assert tool.schema()["function"] == {
            "name": made.name,
            "description": made.description,
            "parameters": made.params_json_schema,
        }


def test_what_was_said_is_found_and_what_is_committed_comes_back(tools: dict[str, Any]) -> None:
    found = ask(tools["session_search"], '{"query": "牙医"}')
    assert found["count"] == 1
    assert "bob" not in json.dumps(found)
    rule = {"subject": "mail", "relation": "rule", "object": "sign as Ann"}
    committed = ask(
        tools["memory_commit"], json.dumps({"triples": [rule], "scene": "tool:send_mail"})
    )
    assert committed["success"]
    recalled = ask(tools["memory_recall"], '{"scenes": ["tool:send_mail"]}')
    assert "sign as Ann" in json.dumps(recalled)


@pytest.mark.parametrize(
    "arguments",
    ['{"query": "x", "limit": "many"}', "{query", "[]", '"牙医"', '{"self": "\\ud800"}'],
)
def test_nothing_that_a_model_sends_raises(tools: dict[str, Any], arguments: str) -> None:
    answer = ask(tools["session_search"], arguments)
    assert answer["success"] is False
    assert answer["error"] == "invalid_argument"
    assert answer["hint"]


@pytest.mark.parametrize("arguments", ["", "{}", "null"])
def test_no_arguments_are_no_error(tools: dict[str, Any], arguments: str) -> None:
    assert ask(tools["session_search"], arguments)["mode"] == "browse"


def test_tools_over_an_async_face_work_on_its_workers(home: mnemogram.Mnemogram) -> None:
    async def main() -> None:
        async with MnemogramService(home.root, upkeep=False) as service:
            faces = service.history("ann"), service.memory("ann")
            (search, *_) = make_tools(tools_of(*faces))
            context = ToolContext(None, tool_name="x", tool_call_id="c", tool_arguments="")
            assert isinstance(search, agents.FunctionTool)
            for arguments, found in (('{"query": "牙医"}', 1), ("{query", None)):
                answer = json.loads(await search.on_invoke_tool(context, arguments))
                assert answer.get("count") == found

    asyncio.run(main())


def test_a_run_goes_through_the_tools_to_its_end(home: mnemogram.Mnemogram) -> None:
    model = Scripted(
        calls("session_search", '{"query": "牙医"}', 1),
        calls("session_search", "{query", 2),
        says("On Wednesday."),
    )
    made = make_tools(tools_of(home.history("ann"), home.memory("ann"), read_only=True))
    agent = agents.Agent(name="assistant", model=model, tools=made)
    settings = agents.RunConfig(tracing_disabled=True)
    result = asyncio.run(agents.Runner.run(agent, "When was it?", run_config=settings))
    assert result.final_output == "On Wednesday."
    assert {each.name for each in model.offered} == {"session_search", "memory_recall"}
    outputs = [each["output"] for each in model.inputs[-1] if "output" in each]
    assert "星期三" in outputs[0]
    assert json.loads(outputs[1])["error"] == "invalid_argument"
