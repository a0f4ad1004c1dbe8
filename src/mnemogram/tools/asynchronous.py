# SPDX-License-Identifier: MIT
"""Tools over the async faces: awaited, and at work where the face puts its work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from mnemogram.errors import MnemogramError
from mnemogram.tools.answers import refusal
from mnemogram.tools.declaration import Declaration, SchemaKind, Tool

__all__ = ["AnyTool", "AsyncStore", "AsyncTool", "called"]

_S = TypeVar("_S")
_S_co = TypeVar("_S_co", covariant=True)
_T = TypeVar("_T")


@runtime_checkable
class AsyncStore(Protocol[_S_co]):
    """The async face of a user's store; ``MnemogramService`` gives such."""

    async def run(self, work: Callable[[_S_co], _T], *, write: bool = False) -> _T:
        """Run work with the plain store, off the event loop."""


@dataclass(frozen=True, slots=True)
class AsyncTool:
    """A declaration and what answers it; await it with a model's arguments.

    Attributes:
        declaration: how the model knows it.
        handler: takes the arguments as they were meant, and returns the answer.
    """

    declaration: Declaration
    handler: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

    @property
    def name(self) -> str:
        """Name of the tool."""
        return self.declaration.name

    def schema(self, kind: SchemaKind = "openai") -> dict[str, Any]:
        """Return the schema for ``openai``, ``anthropic`` or ``mcp``."""
        return self.declaration.schema(kind)

    async def __call__(self, arguments: Mapping[str, Any] | str | None = None) -> dict[str, Any]:
        """Answer a model's call; see :meth:`mnemogram.tools.Tool.__call__`."""
        try:
            return await self.handler(self.declaration.read(arguments))
        except MnemogramError as error:
            return refusal(error)


AnyTool: TypeAlias = Tool | AsyncTool


async def called(
    tool: AnyTool,
    arguments: Mapping[str, Any] | str | None,
    on_thread: Callable[..., Awaitable[dict[str, Any]]],
) -> dict[str, Any]:
    """Answer a call of either kind.

    Args:
        tool: the tool.
        arguments: as the model sent them.
        on_thread: awaits a function of these arguments on a thread: for plain tools.
    """
    if isinstance(tool, AsyncTool):
        return await tool(arguments)
    return await on_thread(tool, arguments)
