# SPDX-License-Identifier: MIT
"""The answer of a tool: an error as one, and as text, JSON in one line for every reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mnemogram.errors import MnemogramError, StorageUnavailable, StoreClosed
from mnemogram.values import one_line, storable

__all__ = ["answer_text", "refusal"]


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
