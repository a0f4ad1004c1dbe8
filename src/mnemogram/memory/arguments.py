# SPDX-License-Identifier: MIT
"""Checking what callers pass: each function returns the value or says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from mnemogram._native.scene_key import scene_path
from mnemogram.errors import InvalidArgument
from mnemogram.memory.models import TRUST_RANK

__all__ = [
    "checked_ids",
    "checked_key",
    "checked_trust",
    "one_of",
    "scene_keys",
    "scene_paths",
    "strings",
    "unit_interval",
    "whole_number",
    "within_key",
]

#: Characters and levels of a scene key as it is given, and keys given at once.
MAX_KEY_CHARS: Final = 4_096
MAX_KEY_LEVELS: Final = 32
MAX_KEYS: Final = 64
_KEY_HINT: Final = "Pass a key like 'chan:qq/peer:group_1'."


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


def within_key(text: str, field: str) -> str:
    """Return a text that is short enough to be part of a scene key, before it is folded.

    Raises:
        InvalidArgument: it has more than 4,096 characters.
    """
    if len(text) > MAX_KEY_CHARS:
        raise InvalidArgument(
            f"{field} has {len(text)} characters; a scene key has at most {MAX_KEY_CHARS}",
            hint=_KEY_HINT,
        )
    return text


def scene_paths(value: Any, field: str = "scene") -> dict[str, tuple[str, ...]]:
    """Return the normalised keys of one key or several, without repeats and blanks.

    Each comes with itself and all that is above it, the nearest first. A key that is too long
    to be kept whole loses levels to its hash; those above it are taken from it as it was given.

    Raises:
        InvalidArgument: not a string nor strings, too many of them, or one that is too long
            or has too many levels.
    """
    if value is None:
        return {}
    values = (value,) if isinstance(value, str) else value
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise InvalidArgument(
            f"{field} must be a string or a list of strings, not {type(value).__name__}",
            hint=_KEY_HINT,
        )
    paths: dict[str, tuple[str, ...]] = {}
    for count, each in enumerate(values, 1):
        if not isinstance(each, str):
            raise InvalidArgument(
                f"{field} must be strings, not {type(each).__name__}", hint=_KEY_HINT
            )
        if count > MAX_KEYS:
            raise InvalidArgument(
                f"{field} holds more than {MAX_KEYS} keys",
                hint="Pass the keys of the present situation only.",
            )
        path = scene_path(within_key(each, field))
        if len(path) > MAX_KEY_LEVELS:
            raise InvalidArgument(
                f"{field} has {len(path)} levels; a scene key has at most {MAX_KEY_LEVELS}",
                hint=_KEY_HINT,
            )
        if path:
            paths[path[-1]] = tuple(reversed(path))
    return paths


def scene_keys(value: Any, field: str = "scene") -> tuple[str, ...]:
    """Return the normalised keys of one key or several; see :func:`scene_paths`."""
    return tuple(scene_paths(value, field))


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
            hint=_KEY_HINT,
        )
    return keys[0]


def checked_trust(trust: Any) -> None:
    if trust not in TRUST_RANK:
        raise InvalidArgument(
            f"trust must be one of {', '.join(TRUST_RANK)}, not {trust!r}",
            hint="A pin made by hand is 'confirmed'.",
        )
