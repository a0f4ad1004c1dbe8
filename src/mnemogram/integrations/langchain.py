# SPDX-License-Identifier: MIT
"""The tools for LangChain and LangGraph, and what was said there for a history.

Needs the extra ``langchain``. The user is bound where the tools are made; nothing that a
model sends can name another::

    tools = make_tools(tools_of(home.history("alice"), home.memory("alice")))
    agent = create_agent(model, tools)
    ...
    home.history("alice").append("chat-1", messages_of(state["messages"]))
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import Message, Role
from mnemogram.importers.base import role_of
from mnemogram.importers.blocks import Content, split
from mnemogram.tools import Tool, tools_of
from mnemogram.tools.answers import answer_text

__all__ = ["MemoryTool", "make_tools", "messages_of", "tools_of"]


class MemoryTool(BaseTool):
    """One of our tools as LangChain knows tools: the declared schema, an answer in JSON.

    An answer without success comes back like any other, as a ``ToolMessage`` whose status
    is ``error``.

    Args:
        tool: what answers.
    """

    _tool: Tool = PrivateAttr()

    def __init__(self, tool: Tool) -> None:
        function = tool.schema("openai")["function"]
        super().__init__(
            name=function["name"],
            description=function["description"],
            args_schema=function["parameters"],
            handle_tool_error=True,
        )
        self._tool = tool

    # Positional self and nothing by name: an argument may be called anything.
    def _run(self, /, *args: Any, **arguments: Any) -> str:
        return self._answer(arguments)

    async def _arun(self, /, *args: Any, **arguments: Any) -> str:
        return await asyncio.to_thread(self._answer, arguments)

    def _answer(self, arguments: Mapping[str, Any]) -> str:
        answer = self._tool(arguments)
        text = answer_text(answer)
        if not answer.get("success", False):
            raise ToolException(text)
        return text


def make_tools(tools: Sequence[Tool]) -> list[MemoryTool]:
    """Return tools that an agent or a chat model of LangChain takes.

    Called with ``invoke`` they work where they are called, with ``ainvoke`` on a worker
    thread. What they return is the text of the answer, the JSON that every interface gets.

    Args:
        tools: for example all of :func:`tools_of`.
    """
    return [MemoryTool(each) for each in tools]


def messages_of(messages: Iterable[BaseMessage]) -> list[Message]:
    """Return what was said, ready to be appended to a history.

    Ids are kept, so that the whole state of a graph can be appended after every turn: what
    is there already changes nothing. Messages without an id are told apart by their place
    in the list; append a list of such messages always from its beginning. System prompts
    and hidden reasoning are not history and are left out, an image or a file is a mark.

    Args:
        messages: in order.

    Raises:
        InvalidArgument: a message has a role of its own that nobody knows.
    """
    names: dict[str, str] = {}
    return [said for each in messages for said in _said(each, names)]


def _said(message: BaseMessage, names: dict[str, str]) -> Iterator[Message]:
    role = _role(message)
    if role is None:
        return
    content = split(message.content)
    calls = _calls(message, content)
    names.update((call["id"], call["name"]) for call in calls if call.keys() >= {"id", "name"})
    results = [
        Message(
            "tool",
            result.text,
            uid=f"{message.id}/{number}" if message.id else None,
            tool_call_id=result.call_id,
            tool_name=names.get(result.call_id or ""),
            tool_status="error" if result.failed else None,
        )
        for number, result in enumerate(content.results, 1)
    ]
    # A person's message brings results of calls before it, a model's those of its own calls.
    if role != "assistant":
        yield from results
    if content.text or calls or not results:
        answered = message.tool_call_id if isinstance(message, ToolMessage) else None
        yield Message(
            role,
            content.text,
            uid=message.id or None,
            tool_calls=calls or None,
            tool_call_id=answered,
            tool_name=message.name or names.get(answered or "") if role == "tool" else None,
            tool_status=message.status if isinstance(message, ToolMessage) else None,
        )
    if role == "assistant":
        yield from results


def _role(message: BaseMessage) -> Role | None:
    """Return whose message it is; None for one that is not history."""
    if isinstance(message, RemoveMessage):
        return None
    name = message.role if isinstance(message, ChatMessage) else message.type
    role = role_of(name.removesuffix("MessageChunk"))
    if role is None:
        raise InvalidArgument(
            f"a message has the role {name!r}",
            hint="Give messages of people, models and tools; leave out others.",
        )
    return None if role == "system" else role


def _calls(message: BaseMessage, content: Content) -> list[dict[str, Any]]:
    """Return what a model asked for, once: some providers repeat calls in the content."""
    if not isinstance(message, AIMessage):
        return content.calls
    calls: list[dict[str, Any]] = []
    for each in (*message.tool_calls, *message.invalid_tool_calls):
        call = {"id": each["id"], "name": each["name"], "arguments": each["args"]}
        calls.append({key: value for key, value in call.items() if value is not None})
    known = {call.get("id") for call in calls}
    return [*calls, *(call for call in content.calls if call.get("id") not in known)]
