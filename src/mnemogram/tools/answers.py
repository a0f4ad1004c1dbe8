# SPDX-License-Identifier: MIT
"""The answer of a tool: an error as one, and as text, JSON in one line for every reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mnemogram.errors import MnemogramError, StorageUnavailable, StoreClosed
from mnemogram.values import storable

__all__ = ["answer_text", "one_line", "refusal"]

#: Characters that JSON leaves alone and that some readers end a line at.
_LINE_ENDS: Final = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}


def one_line(text: str) -> str:
    """Return JSON text with every character escaped that a reader may end a line at."""
    return text.translate(_LINE_ENDS) if not text.isascii() else text


def answer_text(answer: Mapping[str, Any]) -> str:
    """Return what a model reads: JSON with real characters, that any UTF-8 can hold."""
    return storable(one_line(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))))


def refusal(error: MnemogramError) -> dict[str, Any]:
    """Return the answer that an error is."""
    answer = error.to_dict()
    if isinstance(error, (StorageUnavailable, StoreClosed)):
        # A model can do the same about each of them: nothing.
        answer["error"] = StorageUnavailable.code
    return answer
