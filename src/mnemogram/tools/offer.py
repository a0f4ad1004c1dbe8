# SPDX-License-Identifier: MIT
"""All tools over the stores of one user."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any, overload

from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.memory import SceneMemory
from mnemogram.memory.models import Trust
from mnemogram.tools.appending import history_append_tool
from mnemogram.tools.asynchronous import AnyTool, AsyncStore, AsyncTool
from mnemogram.tools.declaration import Tool
from mnemogram.tools.forgetting import memory_forget_tool
from mnemogram.tools.memory import (
    AsyncConfirm,
    Confirm,
    CurrentScenes,
    CurrentSession,
    memory_commit_tool,
    memory_recall_tool,
)
from mnemogram.tools.session_search import session_search_tool

__all__ = ["tools_of"]


@overload
def tools_of(
    history: History,
    memory: SceneMemory,
    *,
    read_only: bool = False,
    allow_write: bool = False,
    current_session: CurrentSession = None,
    current_scenes: CurrentScenes = None,
    trust: Trust = "observed",
    compact: bool = True,
    timezone: tzinfo | None = None,
    confirm: Confirm | None = None,
    confirm_forgetting: Confirm | None = None,
) -> list[Tool]: ...
@overload
def tools_of(
    history: AsyncStore[History],
    memory: AsyncStore[SceneMemory],
    *,
    read_only: bool = False,
    allow_write: bool = False,
    current_session: CurrentSession = None,
    current_scenes: CurrentScenes = None,
    trust: Trust = "observed",
    compact: bool = True,
    timezone: tzinfo | None = None,
    confirm: Confirm | AsyncConfirm | None = None,
    confirm_forgetting: Confirm | AsyncConfirm | None = None,
) -> list[AsyncTool]: ...


def tools_of(
    history: Any,
    memory: Any,
    *,
    read_only: bool = False,
    allow_write: bool = False,
    current_session: CurrentSession = None,
    current_scenes: CurrentScenes = None,
    trust: Trust = "observed",
    compact: bool = True,
    timezone: tzinfo | None = None,
    confirm: Any = None,
    confirm_forgetting: Any = None,
) -> Any:
    """Return the tools over one user's stores.

    Args:
        history: the user's history; the model cannot name another.
        memory: the user's scene memory; the model cannot name another. Both plain, or both
            the async faces of a service: then the tools are awaited.
        read_only: leave out what writes.
        allow_write: offer ``history_append`` and ``memory_forget`` as well.
        current_session: id of the running session, or a function that returns it at each
            call; what is still in its context is not found again.
        current_scenes: keys of the present situation, or a function that returns them.
        trust: of what a model commits, see ``memory_commit_tool``.
        compact: leave out of answers what says nothing, see ``session_search_tool``.
        timezone: that of the user, in which days begin; UTC by default.
        confirm: asks the user about a rule that a model commits, see ``memory_commit_tool``.
        confirm_forgetting: asks the user about what a model wants to forget, see
            ``memory_forget_tool``; with ``trust="confirmed"`` the user agrees to each call.

    Raises:
        InvalidArgument: it is to be read-only and to write.
    """
    if read_only and allow_write:
        raise InvalidArgument(
            "read_only and allow_write exclude each other", hint="Choose one of them."
        )
    tools: list[AnyTool] = [
        session_search_tool(
            history, current_session=current_session, compact=compact, timezone=timezone
        ),
        memory_commit_tool(
            memory,
            current_scenes=current_scenes,
            session_id=current_session,
            trust=trust,
            confirm=confirm,
        ),
        memory_recall_tool(memory, current_scenes=current_scenes, compact=compact),
    ]
    if allow_write:
        tools += [
            history_append_tool(history, current_session=current_session),
            memory_forget_tool(memory, confirm=confirm_forgetting, agreed=trust == "confirmed"),
        ]
    return [each for each in tools if each.declaration.read_only or not read_only]
