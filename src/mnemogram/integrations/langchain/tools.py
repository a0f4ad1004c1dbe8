# SPDX-License-Identifier: MIT
"""The tools as an agent or a chat model of LangChain takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool, ToolException
from pydantic import PrivateAttr

from mnemogram.tools.answers import answer_text
from mnemogram.tools.asynchronous import AnyTool, AsyncTool, called

__all__ = ["MemoryTool", "make_tools"]


class MemoryTool(BaseTool):
    """One of our tools as LangChain knows tools: the declared schema, an answer in JSON.

    An answer without success comes back like any other, as a ``ToolMessage`` whose status
    is ``error``.

    Args:
        tool: what answers.
    """

    _tool: AnyTool = PrivateAttr()

    def __init__(self, tool: AnyTool) -> None:
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
        if isinstance(self._tool, AsyncTool):
            raise NotImplementedError("a tool over an async face is awaited: use ainvoke")
        return _answered(self._tool(arguments))

    async def _arun(self, /, *args: Any, **arguments: Any) -> str:
        return _answered(await called(self._tool, arguments, asyncio.to_thread))


def _answered(answer: Mapping[str, Any]) -> str:
    text = answer_text(answer)
    if not answer.get("success", False):
        raise ToolException(text)
    return text


def make_tools(tools: Sequence[AnyTool]) -> list[MemoryTool]:
    """Return tools that an agent or a chat model of LangChain takes.

    Called with ``invoke`` they work where they are called, with ``ainvoke`` on a worker
    thread. What they return is the text of the answer, the JSON that every interface gets.

    Args:
        tools: for example all of :func:`tools_of`.
    """
    return [MemoryTool(each) for each in tools]
