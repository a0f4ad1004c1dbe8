# SPDX-License-Identifier: MIT
"""The tools as a server of the Model Context Protocol, for one user.

Needs the extra ``mcp``. The user is bound where the tools are made; nothing that a client
sends can name another.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, cast

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import EventLoopToken, current_token
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types import (
    Tool as Description,
)

from mnemogram import __version__
from mnemogram.integrations.mcp_context import MemoryContext
from mnemogram.integrations.mcp_wire import standard_streams
from mnemogram.memory import SceneMemory, Triple
from mnemogram.tools import tools_of
from mnemogram.tools.answers import answer_text
from mnemogram.tools.asynchronous import AnyTool, AsyncStore, called
from mnemogram.tools.memory import CurrentScenes
from mnemogram.values import map_strings, storable

__all__ = [
    "INSTRUCTIONS",
    "ask_client",
    "ask_client_to_forget",
    "make_server",
    "serve",
    "tools_of",
]

#: Seconds that a user has to answer a question.
ASK_SECONDS: Final = 120.0
_CAN_ASK: Final = ClientCapabilities(elicitation=ElicitationCapability())
#: The session of the client whose call a tool is answering, and where it runs.
_ASKED_BY: ContextVar[tuple[ServerSession, EventLoopToken] | None] = ContextVar(
    "asked_by", default=None
)

INSTRUCTIONS = (
    "Memory of earlier conversations with this user, and of facts and rules. Search before you"
    " say that you do not know of something; what is found is the original wording. Recall with"
    " the scenes you are in; commit what should still hold when the scene comes back."
)


def make_server(
    tools: Sequence[AnyTool],
    *,
    memory: SceneMemory | AsyncStore[SceneMemory] | None = None,
    scenes: CurrentScenes = None,
) -> Server[dict[str, Any]]:
    """Return a server that offers tools; run it over any transport of the SDK.

    Each call runs on a worker thread, or where an async face puts it, so that a long search
    blocks nobody. Answers are the tools' JSON, as text and as structured content; an answer
    without success is marked as an error, for the model to see.

    Args:
        tools: for example all of :func:`tools_of`.
        memory: the user's scene memory: then the server also has the prompt
            ``memory_context`` and resources with what is remembered for a situation.
        scenes: keys of the present situation, or a function that returns them; give the
            same to ``tools_of``.
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
            token = _ASKED_BY.set((context.session, current_token()))
            try:
                answer = await called(tool, params.arguments, anyio.to_thread.run_sync)
            finally:
                _ASKED_BY.reset(token)
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
        **({} if memory is None else MemoryContext(memory, scenes).handlers()),
    )


def ask_client(rule: Triple) -> bool | None:
    """Have the client ask its user whether a rule is to be remembered as confirmed.

    For ``confirm`` of :func:`tools_of`, in tools that :func:`make_server` offers.

    Returns:
        What the user said; None where the client cannot ask, or nobody answered.
    """
    words = " ".join((rule.subject, rule.relation, rule.object))
    scenes = [rule.scene] if isinstance(rule.scene, str) else list(rule.scene or ())
    where = f" It applies in: {', '.join(scenes)}." if scenes else ""
    quoted = f" (“{rule.sentence}”)" if rule.sentence else ""
    return _answer_of_client(f"Remember this as a rule to follow? {words}{quoted}{where}")


def ask_client_to_forget(told: Triple) -> bool | None:
    """Have the client ask its user whether something is to be forgotten for good.

    For ``confirm_forgetting`` of :func:`tools_of`; returns as :func:`ask_client` does.
    """
    words = " ".join((told.subject, told.relation, told.object))
    quoted = f" (“{told.sentence}”)" if told.sentence else ""
    return _answer_of_client(f"Forget this for good? {words}{quoted}")


def _answer_of_client(question: str) -> bool | None:
    asked_by = _ASKED_BY.get()
    if asked_by is None:
        return None
    session, token = asked_by
    message = storable(question)

    async def ask() -> ElicitResult | None:
        if not session.check_client_capability(_CAN_ASK):
            return None
        with anyio.move_on_after(ASK_SECONDS), suppress(MCPError):  # some transports cannot
            return await session.elicit_form(message, {"type": "object", "properties": {}})
        return None

    answer = anyio.from_thread.run(ask, token=token)
    if answer is None or answer.action == "cancel":
        return None
    return answer.action == "accept"


def serve(
    tools: Sequence[AnyTool],
    *,
    memory: SceneMemory | AsyncStore[SceneMemory] | None = None,
    scenes: CurrentScenes = None,
) -> None:
    """Serve tools over standard input and output until the client leaves; see ``make_server``.

    Every request is answered: half a surrogate pair and broken UTF-8 are read as U+FFFD, a
    line that is no message is refused under the id it carries, and what is at work when the
    input ends is finished. Each answer is one line for readers that split at U+2028, too.
    """

    async def run() -> None:
        server = make_server(tools, memory=memory, scenes=scenes)
        with standard_streams() as wire:
            file = anyio.wrap_file(cast(Any, wire))
            async with stdio_server(file, file) as (read_stream, write_stream):
                await server.run(read_stream, write_stream, server.create_initialization_options())

    anyio.run(run)
