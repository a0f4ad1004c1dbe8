# SPDX-License-Identifier: MIT
"""Checking what callers pass: each function returns the value or says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from mnemogram.errors import InvalidArgument
from mnemogram.memory.models import TRUST_RANK
from mnemogram.text import normalize_scene_key

__all__ = [
    "checked_ids",
    "checked_key",
    "checked_trust",
    "one_of",
    "scene_keys",
    "strings",
    "unit_interval",
    "whole_number",
]


def one_of(value: Any, allowed: Iterable[str], field: str) -> None:
    choices = tuple(allowed)
    if value not in choices:
        raise InvalidArgument(
            f"{field} must be one of {', '.join(choices)}, not {value!r}",
            hint=f"Use one of {', '.join(choices)}.",
        )


def unit_interval(value: Any, field: str) -> float:
    """Return a number from 0 to 1 as a float.

    Raises:
        InvalidArgument: not such a number.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgument(
            f"{field} must be a number, not {type(value).__name__}", hint="Use 0 to 1."
        )
    number = float(value)
    if not math.isfinite(number) or not 0.0 <= number <= 1.0:
        raise InvalidArgument(f"{field} must be from 0 to 1, not {value!r}", hint="Use 0 to 1.")
    return number


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidArgument(
            f"{name} must be a whole number from {low} to {high}, not {value!r}",
            hint=f"Use {low} to {high}.",
        )
    return value


def strings(value: Any, name: str) -> list[str]:
    values = [value] if isinstance(value, str) else list(value)
    for each in values:
        if not isinstance(each, str):
            raise InvalidArgument(
                f"{name} must be strings, not {type(each).__name__}",
                hint="Pass keys like 'chan:qq/peer:group_1'.",
            )
    return values


def scene_keys(value: Any, field: str = "scene") -> tuple[str, ...]:
    """Return the normalised keys of one key or several, without repeats and blanks.

    Raises:
        InvalidArgument: not a string nor strings.
    """
    if value is None:
        return ()
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, Iterable):
        raise InvalidArgument(
            f"{field} must be a string, not {type(value).__name__}",
            hint="Pass a key like 'chan:qq/peer:group_1'.",
        )
    keys: dict[str, None] = {}
    for each in values:
        if not isinstance(each, str):
            raise InvalidArgument(
                f"{field} must be a string, not {type(each).__name__}",
                hint="Pass a key like 'chan:qq/peer:group_1'.",
            )
        key = normalize_scene_key(each)
        if key:
            keys[key] = None
    return tuple(keys)


def checked_ids(values: Iterable[int]) -> list[int]:
    if isinstance(values, int):
        values = (values,)
    ids = list(dict.fromkeys(values))
    for each in ids:
        if isinstance(each, bool) or not isinstance(each, int):
            raise InvalidArgument(
                f"ids must be whole numbers, not {each!r}", hint="Use ids from an earlier answer."
            )
    return ids


def checked_key(key: Any) -> str:
    keys = scene_keys(key, "key")
    if not keys or not isinstance(key, str):
        raise InvalidArgument(
            f"nothing is left of the scene key {key!r}",
            hint="Pass a key like 'chan:qq/peer:group_1'.",
        )
    return keys[0]


def checked_trust(trust: Any) -> None:
    if trust not in TRUST_RANK:
        raise InvalidArgument(
            f"trust must be one of {', '.join(TRUST_RANK)}, not {trust!r}",
            hint="A pin made by hand is 'confirmed'.",
        )
