# SPDX-License-Identifier: MIT
"""Messages of the AI SDK: ``role`` and ``parts`` that name their ``type``.

A list of them, JSON lines, or what holds one: a chat with ``id``, ``messages`` and
``createdAt``. A tool's part (``tool-NAME``, ``dynamic-tool``, ``tool-invocation``) holds the
call and, once it is there, what was answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mnemogram.importers import openai
from mnemogram.importers.base import Batch, Record, Report

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "ai-sdk"
LOOKS_FOR: Final = "messages with `role` and `parts` that have a `type`"
FIELDS: Final = frozenset(("parts", "role", "createdAt", "toolInvocations", "messages"))

_HOLDERS: Final = ("messages", "chat", "data", "chats", "conversations")


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("role"), str):
        return False
    parts = value.get("parts")
    if isinstance(parts, list) and parts:
        return all(
            isinstance(each, Mapping) and isinstance(each.get("type"), str) for each in parts
        )
    return isinstance(value.get("toolInvocations"), list)


def recognises(value: object, depth: int = 0) -> bool:
    """Whether it is a message of the AI SDK, or what holds some."""
    if _is_message(value):
        return True
    if isinstance(value, list):
        return any(recognises(each, depth + 1) for each in value[:20]) if depth < 4 else False
    if isinstance(value, Mapping) and depth < 4:
        return any(recognises(value[name], depth + 1) for name in _HOLDERS if name in value)
    return False


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the conversations of a file; messages that stand alone on lines are one."""
    return openai.read(records, report)
