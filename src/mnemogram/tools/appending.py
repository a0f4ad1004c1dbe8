# SPDX-License-Identifier: MIT
"""The ``history_append`` tool: a model writes down what was said, where its host does not.

What it writes is told apart from what a host has seen: its provenance is ``reported``, and its
conversations have a source of their own, the only ones that it can add to.
"""

from __future__ import annotations

from typing import Any, Final, overload

from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.history.models import Message, Session
from mnemogram.tools.asynchronous import AsyncStore, AsyncTool
from mnemogram.tools.declaration import (
    Choice,
    Declaration,
    Objects,
    String,
    Strings,
    Tool,
)
from mnemogram.tools.session_search import CurrentSession

__all__ = ["APPEND", "history_append_tool"]

#: Provenance of messages that a model wrote down.
REPORTED: Final = "reported"
SOURCE: Final = "agent"
#: Messages of one call.
_MOST: Final = 50

APPEND: Final = Declaration(
    name="history_append",
    title="Write down what was said",
    description=(
        "Write down messages of the running conversation, word for word, so that session_search"
        " finds them later. Use it where you were told that nothing else keeps the conversation:"
        " the user's message and your answer, after each turn. Never shorten or make up. Sending"
        " the same messages again is harmless. Do not store secrets."
    ),
    parameters=(
        Objects(
            name="messages",
            description="In the order in which they were said; all are stored, or none.",
            required=True,
            parameters=(
                Choice(
                    name="role",
                    description="Who said it.",
                    required=True,
                    choices=("user", "assistant"),
                    synonyms={"human": "user", "ai": "assistant", "model": "assistant"},
                ),
                String(
                    name="content",
                    description="The whole text.",
                    required=True,
                    aliases=("text", "message"),
                    literal=True,
                ),
            ),
            aliases=("message", "turns"),
            maximum=_MOST,
        ),
        String(
            name="session_id",
            description="A name of this conversation: the same for all of it, new for a new one.",
            aliases=("session", "conversation_id"),
        ),
        String(name="title", description="What it is about, in a few words.", literal=True),
        Strings(
            name="tags",
            description="Words to find it by; they take the place of those it has.",
            maximum=20,
            aliases=("tag", "labels"),
        ),
    ),
    read_only=False,
)


@overload
def history_append_tool(
    history: History, *, current_session: CurrentSession = None, source: str = SOURCE
) -> Tool: ...
@overload
def history_append_tool(
    history: AsyncStore[History], *, current_session: CurrentSession = None, source: str = SOURCE
) -> AsyncTool: ...


def history_append_tool(
    history: History | AsyncStore[History],
    *,
    current_session: CurrentSession = None,
    source: str = SOURCE,
) -> Tool | AsyncTool:
    """Make the tool that writes down what was said, for one user.

    For hosts that nothing of ours listens to, such as a client of the MCP server; one that
    appends by itself needs it not. Messages are stored with the provenance ``reported``.

    Args:
        history: the user's history; the model cannot name another. Over its async face the
            tool is awaited.
        current_session: id of the running session, or a function that returns it: then what
            is written goes there, and the model cannot name another.
        source: of the sessions that the tool makes. One of another source is refused, so
            that a model adds nothing to what others have said.
    """

    def session() -> str | None:
        return current_session() if callable(current_session) else current_session

    if isinstance(history, AsyncStore):
        store = history

        async def awaited(given: dict[str, Any]) -> dict[str, Any]:
            here = session()
            return await store.run(lambda plain: _appended(plain, given, here, source), write=True)

        return AsyncTool(APPEND, awaited)
    plain = history
    return Tool(APPEND, lambda given: _appended(plain, given, session(), source))


def _appended(
    history: History, given: dict[str, Any], here: str | None, source: str
) -> dict[str, Any]:
    named = given.get("session_id")
    if here is not None and named not in (None, here):
        raise InvalidArgument(
            "only the running conversation can be written down",
            hint="Leave session_id out.",
        )
    key = here or named
    if key is None:
        raise InvalidArgument(
            "session_id is missing",
            hint="Give a name of this conversation, the same for all of it.",
        )
    known = history.source_of(key)
    if here is None and known not in (None, source):
        raise InvalidArgument(
            f"conversation {key!r} was not begun by this tool",
            hint="Give a session_id of your own for the running conversation.",
        )
    result = history.append(
        Session(
            key,
            source=source if known is None else "chat",
            title=given.get("title"),
            tags=given.get("tags"),
        ),
        [Message(each["role"], each["content"], provenance=REPORTED) for each in given["messages"]],
    )
    return {
        "success": True,
        "mode": "append",
        "session_id": key,
        "stored": result.inserted,
        "known": result.repeated,
        "refused": result.refused,
        "notes": list(result.notes),
    }
