# SPDX-License-Identifier: MIT
"""What was said in LangChain's messages, for a history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import Message, Role
from mnemogram.importers.base import role_of
from mnemogram.importers.blocks import Content, split

__all__ = ["is_made_up", "messages_of", "said_in"]

#: Source that summarizing middleware names.
SUMMARY: Final = "summarization"


def messages_of(messages: Iterable[BaseMessage]) -> list[Message]:
    """Return what was said, ready to be appended to a history.

    Ids are kept, so that the whole state of a graph can be appended after every turn: what
    is there already changes nothing. Messages without an id are told apart by their place
    in the list; append a list of such messages always from its beginning. System prompts
    and hidden reasoning are not history and are left out, an image or a file is a mark.
    So are summaries, and what else a program put into the conversation in a person's name:
    nobody said it.

    Args:
        messages: in order.

    Raises:
        InvalidArgument: a message has a role of its own that nobody knows.
    """
    names: dict[str, str] = {}
    return [said for each in messages for said in said_in(each, names)]


def is_made_up(message: BaseMessage) -> bool:
    """Return whether a message stands in the conversation and nobody said it.

    Summaries replace what was said, notices of programs are worded as a person's: both are
    marked with their source, see ``langchain_core.messages.add_notification_metadata``.
    """
    source = message.additional_kwargs.get("lc_source")
    return isinstance(source, str) and (
        SUMMARY in source or isinstance(message, (HumanMessage, SystemMessage))
    )


def said_in(message: BaseMessage, names: dict[str, str]) -> Iterator[Message]:
    """Yield what was said in one message.

    Args:
        names: names of tools by the ids of their calls; those of the message are added.
    """
    role = _role(message)
    if role is None:
        return
    content = split(message.content)
    calls = _calls(message, content)
    names.update((call["id"], call["name"]) for call in calls if call.keys() >= {"id", "name"})
    results = [
        Message(
            "tool",
            result.text,
            uid=f"{message.id}/{number}" if message.id else None,
            tool_call_id=result.call_id,
            tool_name=names.get(result.call_id or ""),
            tool_status="error" if result.failed else None,
        )
        for number, result in enumerate(content.results, 1)
    ]
    # A person's message brings results of calls before it, a model's those of its own calls.
    if role != "assistant":
        yield from results
    if content.text or calls or not results:
        answered = message.tool_call_id if isinstance(message, ToolMessage) else None
        yield Message(
            role,
            content.text,
            uid=message.id or None,
            tool_calls=calls or None,
            tool_call_id=answered,
            tool_name=message.name or names.get(answered or "") if role == "tool" else None,
            tool_status=message.status if isinstance(message, ToolMessage) else None,
        )
    if role == "assistant":
        yield from results


def _role(message: BaseMessage) -> Role | None:
    """Return whose message it is; None for one that is not history."""
    if isinstance(message, RemoveMessage) or is_made_up(message):
        return None
    name = message.role if isinstance(message, ChatMessage) else message.type
    role = role_of(name.removesuffix("MessageChunk"))
    if role is None:
        raise InvalidArgument(
            f"a message has the role {name!r}",
            hint="Give messages of people, models and tools; leave out others.",
        )
    return None if role == "system" else role


def _calls(message: BaseMessage, content: Content) -> list[dict[str, Any]]:
    """Return what a model asked for, once: some providers repeat calls in the content."""
    if not isinstance(message, AIMessage):
        return content.calls
    calls: list[dict[str, Any]] = []
    for each in (*message.tool_calls, *message.invalid_tool_calls):
        call = {"id": each["id"], "name": each["name"], "arguments": each["args"]}
        calls.append({key: value for key, value in call.items() if value is not None})
    known = {call.get("id") for call in calls}
    return [*calls, *(call for call in content.calls if call.get("id") not in known)]
