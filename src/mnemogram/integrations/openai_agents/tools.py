# SPDX-License-Identifier: MIT
"""The tools as an agent of the SDK takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import agents
from agents.tool_context import ToolContext

from mnemogram.tools.answers import answer_text
from mnemogram.tools.asynchronous import AnyTool, called

__all__ = ["make_tools"]


def make_tools(tools: Sequence[AnyTool]) -> list[agents.Tool]:
    """Return tools that an agent of the SDK takes, each an ``agents.FunctionTool``.

    Each call runs on a worker thread, or where an async face puts it, so that a long search
    blocks nobody. The model gets the tool's JSON as text, of an answer without success too:
    a run never fails for what a model sends.

    Args:
        tools: for example all of :func:`mnemogram.tools.tools_of`.
    """
    return [_function_tool(each) for each in tools]


def _function_tool(tool: AnyTool) -> agents.FunctionTool:
    async def answer(context: ToolContext[Any], arguments: str) -> str:
        return answer_text(await called(tool, arguments, asyncio.to_thread))

    function = tool.schema("openai")["function"]
    return agents.FunctionTool(
        name=function["name"],
        description=function["description"],
        params_json_schema=function["parameters"],
        on_invoke_tool=answer,
        # Strict schemas make every argument required, and most of ours are optional.
        strict_json_schema=False,
    )
