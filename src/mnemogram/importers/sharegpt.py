# SPDX-License-Identifier: MIT
"""Conversations as ShareGPT and its kin have them: turns with ``from`` and ``value``.

An object with ``conversations``, a list of them, or JSON lines. Turns may be a tool's
(``function_call``, ``observation``); the prompt of the system stands in ``system`` or is a
turn of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mnemogram.importers import openai
from mnemogram.importers.base import Batch, Record, Report

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "sharegpt"
LOOKS_FOR: Final = "`conversations` of turns with `from` and `value`"
FIELDS: Final = frozenset(("conversations", "from", "value", "items"))

_LISTS: Final = ("conversations", "conversation", "items", "messages")


def _is_turn(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("from"), str) and "value" in value


def _turns(value: object) -> tuple[str, list[Any]] | None:
    if isinstance(value, Mapping):
        for name in _LISTS:
            inner = value.get(name)
            if isinstance(inner, list) and any(map(_is_turn, inner[:20])):
                return name, inner
    return None


def recognises(value: object) -> bool:
    """Whether it is a conversation of turns, a list of them, or a list of turns."""
    if isinstance(value, list):
        return any(_is_turn(each) or _turns(each) is not None for each in value[:20])
    return _is_turn(value) or _turns(value) is not None


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the conversations of a file."""
    return openai.read((Record(each.where, _plain(each.value)) for each in records), report)


def _plain(value: Any) -> Any:
    """Return conversations with their turns as messages."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if _is_turn(value):
        return _turn(value)
    found = _turns(value)
    if found is None:
        return value
    name, turns = found
    rest = {key: each for key, each in value.items() if key != name}
    return {**rest, "messages": [_turn(each) for each in turns]}


def _turn(turn: Any) -> Any:
    if not _is_turn(turn) or turn["from"].strip().lower() != "function_call":
        return turn
    said = turn["value"]
    try:
        call = json.loads(said) if isinstance(said, str) else said
    except (ValueError, RecursionError):
        call = None
    calls = call if isinstance(call, list) else [call]
    if not all(isinstance(each, Mapping) and "name" in each for each in calls):
        return {"role": "assistant", "content": said}
    return {"role": "assistant", "content": None, "tool_calls": calls}
