# SPDX-License-Identifier: MIT
"""What a memory holds for a situation, for a client that knows nothing of ours.

A prompt that a person chooses, and resources that a client attaches: the same block that
other hosts put at the end of a system prompt. Both only read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from mnemogram.errors import MnemogramError
from mnemogram.memory import SceneMemory
from mnemogram.tools.asynchronous import AsyncStore
from mnemogram.tools.context import context_block
from mnemogram.tools.guide import GUIDE
from mnemogram.tools.memory import CurrentScenes, present_scenes
from mnemogram.values import storable

__all__ = ["MemoryContext"]

_T = TypeVar("_T")
PROMPT: Final = "memory_context"
HERE: Final = "memory://context"
GUIDE_URI: Final = "memory://guide"
_SCENE: Final = "memory://scene/"
#: Scenes that are listed; the template reaches the others.
_LISTED: Final = 100
_NOT_FOUND: Final = -32002
_NOTHING: Final = "Nothing is remembered for this situation."


class MemoryContext:
    """Prompts, resources and completions of a server, over one user's scene memory.

    Args:
        memory: the user's scene memory, or its async face; no client can name another.
        scenes: keys of the present situation, or a function that returns them.
    """

    def __init__(
        self, memory: SceneMemory | AsyncStore[SceneMemory], scenes: CurrentScenes = None
    ) -> None:
        self._memory = memory
        self._scenes = scenes

    def handlers(self) -> dict[str, Any]:
        """Return the arguments with which a server of the SDK takes them."""
        return {
            "on_list_prompts": self.list_prompts,
            "on_get_prompt": self.get_prompt,
            "on_list_resources": self.list_resources,
            "on_list_resource_templates": self.list_templates,
            "on_read_resource": self.read_resource,
            "on_completion": self.complete,
        }

    # -- prompts

    async def list_prompts(self, context: Any, params: Any) -> ListPromptsResult:
        """List the one prompt."""
        arguments = [
            PromptArgument(
                name="scenes",
                description="Keys of the situation, with commas between them; the server's own,"
                " where it was given any, by default.",
            ),
            PromptArgument(name="topic", description="What it is about, in a few words."),
        ]
        return ListPromptsResult(
            prompts=[
                Prompt(
                    name=PROMPT,
                    title="What is remembered here",
                    description="Rules and facts that apply in this situation, and on a topic.",
                    arguments=arguments,
                )
            ]
        )

    async def get_prompt(self, context: Any, params: GetPromptRequestParams) -> GetPromptResult:
        """Return the block as a message of the user's side."""
        if params.name != PROMPT:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name!r}")
        given = params.arguments or {}
        unknown = sorted(given.keys() - {"scenes", "topic"})
        if unknown:
            raise MCPError(INVALID_PARAMS, f"the prompt has no argument {unknown[0]!r}")
        keys = [each.strip() for each in given.get("scenes", "").split(",") if each.strip()]
        text = await self._block(keys or list(present_scenes(self._scenes)), given.get("topic", ""))
        return GetPromptResult(
            messages=[
                PromptMessage(role="user", content=TextContent(type="text", text=text)),
            ]
        )

    # -- resources

    async def list_resources(self, context: Any, params: Any) -> ListResourcesResult:
        """List the guide, the present situation where it is known, and the scenes there are."""
        found = [
            Resource(
                uri=GUIDE_URI,
                name="guide",
                title="How to use the memory",
                description="What a model should do first, and what results are.",
                mime_type="text/plain",
            )
        ]
        if present_scenes(self._scenes):
            found.append(
                Resource(
                    uri=HERE,
                    name="context",
                    title="What is remembered here",
                    description="Rules and facts that apply in the present situation.",
                    mime_type="text/plain",
                )
            )
        for each in await self._on_thread(lambda memory: memory.scenes(limit=_LISTED)):
            found.append(
                Resource(
                    uri=_SCENE + quote(each.key, safe="/:-."),
                    name=each.key,
                    description="Rules and facts that apply there.",
                    mime_type="text/plain",
                )
            )
        return ListResourcesResult(resources=found)

    async def list_templates(self, context: Any, params: Any) -> ListResourceTemplatesResult:
        """List the one template, for scenes that are too many to be listed."""
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=_SCENE + "{+key}",
                    name="scene",
                    title="What is remembered of a scene",
                    description="Rules and facts that apply in the situation with this key, such as"
                    " chan:mail/peer:bob or tool:deploy.",
                    mime_type="text/plain",
                )
            ]
        )

    async def read_resource(
        self, context: Any, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """Return the text of a resource."""
        uri = str(params.uri)
        if uri == GUIDE_URI:
            text = GUIDE
        elif uri == HERE:
            text = await self._block(list(present_scenes(self._scenes)), "")
        elif uri.startswith(_SCENE) and unquote(uri[len(_SCENE) :]).strip():
            text = await self._block([unquote(uri[len(_SCENE) :])], "")
        else:
            raise MCPError(_NOT_FOUND, f"there is no resource {uri!r}")
        contents = TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return ReadResourceResult(contents=[contents])

    async def complete(self, context: Any, params: CompleteRequestParams) -> CompleteResult:
        """Complete the key of a scene."""
        argument = params.argument
        if argument.name not in ("scenes", "key"):
            return CompleteResult(completion=Completion(values=[]))
        before, comma, begun = argument.value.rpartition(",")
        begun = begun.strip().casefold()
        found: Sequence[Any] = await self._on_thread(lambda memory: memory.scenes(limit=1_000))
        values = [f"{before}{comma}{each.key}" for each in found if each.key.startswith(begun)]
        return CompleteResult(
            completion=Completion(
                values=values[:100], total=len(values), has_more=len(values) > 100
            )
        )

    # -- the parts of it

    async def _block(self, keys: list[str], topic: str) -> str:
        block = await self._on_thread(
            lambda memory: context_block(memory, storable(topic), scenes=map(storable, keys))
        )
        return storable(block) or _NOTHING

    async def _on_thread(self, work: Callable[[SceneMemory], _T]) -> _T:
        try:
            if isinstance(self._memory, AsyncStore):
                return await self._memory.run(work)
            return await anyio.to_thread.run_sync(work, self._memory)
        except MnemogramError as error:
            raise MCPError(INTERNAL_ERROR, f"{error} {error.hint}".strip()) from error
