# SPDX-License-Identifier: MIT
"""What the items of a session say, as a history takes it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from mnemogram.history.models import Message
from mnemogram.importers.base import Builder, Report
from mnemogram.importers.responses import Items

__all__ = ["is_compaction", "key_of", "learn_names", "said_in"]


def said_in(item: Any, names: dict[str, str]) -> list[Message]:
    """Return what an item says, in messages with uids of their own.

    The provider's ids are no uids: many interfaces give the same one to every item.

    Args:
        item: an item of the SDK; one that says nothing, such as reasoning, is none.
        names: names of tools by the ids of their calls; those of the item are added.
    """
    if not isinstance(item, Mapping):
        return []
    learn_names(item, names)
    builder = Builder()
    try:
        Items(builder, Report()).add(item, datetime.now(timezone.utc))
    except (ValueError, TypeError):  # a kind of a later release: kept, and nobody's words
        return []
    own = uuid.uuid4().hex
    return [
        replace(
            each,
            uid=f"item-{own}" if number == 1 else f"item-{own}/{number}",
            tool_name=each.tool_name or names.get(each.tool_call_id or ""),
        )
        if each.role == "tool"
        else replace(each, uid=f"item-{own}" if number == 1 else f"item-{own}/{number}")
        for number, each in enumerate(builder.take(), 1)
    ]


def learn_names(item: Any, names: dict[str, str]) -> None:
    """Note the name of the tool that an item calls."""
    if not isinstance(item, Mapping):
        return
    kind, call, name = item.get("type"), item.get("call_id") or item.get("id"), item.get("name")
    if isinstance(kind, str) and kind.endswith("_call") and isinstance(call, str):
        names[call] = name if isinstance(name, str) else kind.removesuffix("_call")


def key_of(message: Message) -> tuple[str, ...]:
    """Return what tells one message of a run from the others, however it came."""
    if message.role == "tool" and message.tool_call_id:
        return ("result", message.tool_call_id)
    calls = message.tool_calls or ()
    ids = [str(each.get("id")) for each in calls if isinstance(each, Mapping) and each.get("id")]
    return ("calls", *ids) if ids else (message.role, message.content or "")


def is_compaction(item: Any) -> bool:
    """Return whether an item is what a compaction left of others."""
    kind = item.get("type") if isinstance(item, Mapping) else None
    return isinstance(kind, str) and kind.startswith("compaction")
