# SPDX-License-Identifier: MIT
"""The tools as a server of the Model Context Protocol, for one user.

Needs the extra ``mcp``. The user is bound where the tools are made; nothing that a client
sends can name another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import anyio
import anyio.to_thread
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types import (
    Tool as Description,
)

from mnemogram import __version__
from mnemogram.history.writing import map_strings, storable
from mnemogram.integrations.mcp_wire import standard_streams
from mnemogram.tools import Tool, tools_of
from mnemogram.tools.answers import answer_text

__all__ = ["INSTRUCTIONS", "make_server", "serve", "tools_of"]

INSTRUCTIONS = (
    "Memory of earlier conversations with this user, and of facts and rules. Search before you"
    " say that you do not know of something; what is found is the original wording. Recall with"
    " the scenes you are in; commit what should still hold when the scene comes back."
)


def make_server(tools: Sequence[Tool]) -> Server[dict[str, Any]]:
    """Return a server that offers tools; run it over any transport of the SDK.

    Each call runs on a worker thread, so that a long search blocks nobody. Answers are
    the tools' JSON, as text and as structured content; an answer without success is
    marked as an error, for the model to see.
    """
    offered = {each.name: each for each in tools}

    async def list_tools(
        context: ServerRequestContext[dict[str, Any]], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(
            tools=[Description.model_validate(each.schema("mcp")) for each in tools]
        )

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult:
        tool = offered.get(params.name)
        if tool is None:
            answer: dict[str, Any] = {
                "success": False,
                "error": "invalid_argument",
                "complete": False,
                "message": f"there is no tool {params.name!r}",
                "hint": f"The tools are {', '.join(offered)}.",
            }
        else:
            answer = await anyio.to_thread.run_sync(tool, params.arguments)
        return CallToolResult(
            content=[TextContent(type="text", text=answer_text(answer))],
            structured_content=map_strings(answer, storable),
            is_error=not answer.get("success", False),
        )

    return Server(
        "mnemogram",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(tools: Sequence[Tool]) -> None:
    """Serve tools over standard input and output until the client leaves.

    Every request is answered: half a surrogate pair and broken UTF-8 are read as U+FFFD, a
    line that is no message is refused under the id it carries, and what is at work when the
    input ends is finished. Each answer is one line for readers that split at U+2028, too.
    """

    async def run() -> None:
        server = make_server(tools)
        with standard_streams() as wire:
            file = anyio.wrap_file(cast(Any, wire))
            async with stdio_server(file, file) as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())

    anyio.run(run)
