# SPDX-License-Identifier: MIT
"""Hooks that store what was called and what came back the moment it exists."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import agents

from mnemogram.integrations import reporting
from mnemogram.integrations.openai_agents.session import MemorySession
from mnemogram.learning import Learner

__all__ = ["MemoryHooks"]

_log = logging.getLogger(__name__)


class MemoryHooks(agents.RunHooks[Any]):
    """Store a model's answers and the results of tools before the SDK does, for a run.

    The SDK adds the items of a turn to its session when all of its tools are done. Where the
    run breaks off before that, the receipts of those that were done are lost to the session,
    and with these hooks not to the record. A run never fails for it.

    Args:
        session: of the run; or of the conversation, where the provider keeps the items.
        learner: learns after some turns with tools, see :mod:`mnemogram.learning`. Its
            callback works at the end of a turn, before the answer is given back.
        report: called with an exception of recording or learning; logged by default.
    """

    def __init__(
        self,
        session: MemorySession,
        *,
        learner: Learner | None = None,
        report: Callable[[Exception], object] | None = None,
    ) -> None:
        self._session = session
        self._learner = learner
        self._report = report

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Store what a model said and what it calls."""
        await self._record(_as_items(response.output))

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        """Store what a tool returned."""
        call_id = getattr(context, "tool_call_id", None)
        if not isinstance(call_id, str):
            return  # a tool of the provider's: its item says it all
        text = result if isinstance(result, str) else str(result)
        item = {"type": "function_call_output", "call_id": call_id, "output": text}
        await self._record([item])

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """Learn where it is time."""
        if self._learner is not None:
            await self._guarded(self._learner.turn_ended_async())

    async def _record(self, items: Iterable[Any]) -> None:
        await self._guarded(self._session.record(items))

    async def _guarded(self, work: Awaitable[object]) -> None:
        try:
            await work
        except Exception as error:  # the store's, or the host's redactor's or callback's
            reporting.tell(self._report, error, doing="recording or learning", log=_log)


def _as_items(output: Iterable[Any]) -> list[Any]:
    return [
        each.model_dump(exclude_unset=True) if hasattr(each, "model_dump") else each
        for each in output
    ]
