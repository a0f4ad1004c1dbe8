# SPDX-License-Identifier: MIT
"""Instructions of an agent that end with what the memory holds for the situation."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

from mnemogram.importers.blocks import split
from mnemogram.integrations import reporting
from mnemogram.memory import SceneMemory
from mnemogram.memory.context import Language
from mnemogram.tools.asynchronous import AsyncStore
from mnemogram.tools.context import MAX_CHARS, context_block

__all__ = ["remembering"]

_log = logging.getLogger(__name__)
_Store: TypeAlias = SceneMemory | AsyncStore[SceneMemory]


def remembering(
    instructions: str | Callable[[Any, Any], Any] | None,
    memory: _Store | Callable[[Any], _Store],
    *,
    scenes: Iterable[str] | Callable[[Any], Iterable[str]] = (),
    max_chars: int = MAX_CHARS,
    tool_rules: bool = True,
    language: Language = "en",
    report: Callable[[Exception], object] | None = None,
) -> Callable[[Any, Any], Awaitable[str]]:
    """Return instructions for an agent, which the SDK asks for before each call of a model.

    They are the host's own, and then a block that says what it is: what is pinned to the
    present situation, what else is known on the topic, and rules of the tools at hand.

    Args:
        instructions: the host's own, or a function of the run's context and the agent.
        memory: the user's scene memory or its async face; or, where an agent serves many
            users, a function of the run's context (``RunContextWrapper``).
        scenes: keys of the present situation, or a function of the run's context that
            returns them; see ``scene_keys_for``.
        max_chars: characters of the block.
        tool_rules: show also what is pinned to the scenes of the agent's tools.
        language: of the words around the memories: ``en``, ``zh``, ``ja``, ``ko``.
        report: called with an exception of recalling; logged by default. The model is
            then asked without the block.
    """

    async def told(context: Any, agent: Any) -> str:
        own: Any = instructions
        if callable(own):
            own = own(context, agent)
            if inspect.isawaitable(own):
                own = await own
        try:
            block = await remembered(context, agent)
        except Exception as error:  # the host's functions, and a memory that cannot be read
            reporting.tell(report, error, doing="recalling", log=_log)
            block = ""
        return "\n\n".join(part for part in (own or "", block) if part)

    async def remembered(context: Any, agent: Any) -> str:
        store = memory if isinstance(memory, (SceneMemory, AsyncStore)) else memory(context)
        found = scenes(context) if callable(scenes) else scenes
        keys = [found] if isinstance(found, str) else list(found)
        said = _asked(getattr(context, "turn_input", ()))
        names = [each.name for each in agent.tools] if tool_rules else []

        def block(plain: SceneMemory) -> str:
            return context_block(
                plain, said, scenes=keys, tools=names, max_chars=max_chars, language=language
            )

        if isinstance(store, AsyncStore):
            return await store.run(block)
        return await asyncio.to_thread(block, store)

    return told


def _asked(items: Any) -> str:
    """Return what the user said last."""
    if isinstance(items, str):
        return items
    for each in reversed(list(items)):
        if isinstance(each, Mapping) and each.get("role") == "user":
            return split(each.get("content")).text
    return ""
