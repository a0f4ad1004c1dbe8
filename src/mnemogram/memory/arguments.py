# SPDX-License-Identifier: MIT
"""Checking what callers pass: each function returns the value or says what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from mnemogram._native.scene_key import scene_path
from mnemogram.errors import InvalidArgument
from mnemogram.memory.models import TRUST_RANK
from mnemogram.values import storable

__all__ = [
    "callable_or_none",
    "checked_entities",
    "checked_entity",
    "checked_ids",
    "checked_key",
    "checked_session",
    "checked_trust",
    "flag",
    "one_of",
    "plain",
    "real_number",
    "scene_keys",
    "scene_paths",
    "seconds",
    "several",
    "shown",
    "strings",
    "text",
    "unit_interval",
    "whole_number",
    "within_key",
]

#: Characters and levels of a scene key as it is given, and keys given at once.
MAX_KEY_CHARS: Final = 4_096
MAX_KEY_LEVELS: Final = 32
MAX_KEYS: Final = 64
#: Characters of the id of a conversation.
MAX_SESSION_CHARS: Final = 2_000
#: The largest id that a store can hold.
MAX_ID: Final = (1 << 63) - 1
_LONGEST_SECONDS: Final = 1e6
#: Characters of what a caller passed that an error message repeats.
_SHOWN_CHARS: Final = 60
_KEY_HINT: Final = "Pass a key like 'chan:qq/peer:group_1'."


def shown(value: Any) -> str:
    """Return what a caller passed as an error message can name it: short, whatever it is."""
    if isinstance(value, str):
        text = plain(value)
        return repr(text) if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]!r}..."
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    if isinstance(value, int) and value.bit_length() < 128:
        return repr(value)
    return f"a value of type {type(value).__name__}"


def plain(text: str) -> str:
    """Return a string as one of exactly that type: enumerations are strings of their own."""
    return text if type(text) is str else str.__str__(text)


def text(value: Any, field: str, hint: str, *, most: int | None = None) -> str:
    """Return a string as it can be stored: lone surrogates become U+FFFD.

    Raises:
        InvalidArgument: not a string, or longer than ``most`` characters.
    """
    if not isinstance(value, str):
        raise InvalidArgument(f"{field} must be a string, not {type(value).__name__}", hint=hint)
    given = plain(value)
    if most is not None and len(given) > most:
        raise InvalidArgument(
            f"{field} has {len(given)} characters; it has at most {most}", hint=hint
        )
    return given if given.isascii() else storable(given)


def one_of(value: Any, allowed: Iterable[str], field: str) -> None:
    choices = tuple(allowed)
    if not isinstance(value, str) or plain(value) not in choices:
        raise InvalidArgument(
            f"{field} must be one of {', '.join(choices)}, not {shown(value)}",
            hint=f"Use one of {', '.join(choices)}.",
        )


def flag(value: Any, field: str) -> bool:
    """Return a switch: a word like ``"false"`` would be on, and could delete everything.

    Raises:
        InvalidArgument: neither True nor False.
    """
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    raise InvalidArgument(
        f"{field} must be True or False, not {shown(value)}", hint="Pass a boolean."
    )


def real_number(value: Any, field: str, low: float, high: float) -> float:
    """Return a number within bounds as a float.

    Raises:
        InvalidArgument: not such a number.
    """
    hint = f"Use {low:g} to {high:g}."
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgument(f"{field} must be a number, not {type(value).__name__}", hint=hint)
    if not low <= value <= high:  # neither is what is not a number
        raise InvalidArgument(
            f"{field} must be from {low:g} to {high:g}, not {shown(value)}", hint=hint
        )
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all fractions
        return math.inf if value > 0 else -math.inf


def unit_interval(value: Any, field: str) -> float:
    """Return a number from 0 to 1 as a float.

    Raises:
        InvalidArgument: not such a number.
    """
    return real_number(value, field, 0.0, 1.0)


def seconds(value: Any, field: str) -> float:
    """Return a span of time; what is longer than eleven days counts as that.

    Raises:
        InvalidArgument: not a number, or below 0.
    """
    return min(real_number(value, field, 0.0, math.inf), _LONGEST_SECONDS)


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidArgument(
            f"{name} must be a whole number from {low} to {high}, not {shown(value)}",
            hint=f"Use {low} to {high}.",
        )
    return int(value)


def several(values: Any, name: str, hint: str) -> list[Any]:
    """Return what a caller passed several of as a list.

    Raises:
        InvalidArgument: it cannot be iterated over.
    """
    if isinstance(values, bytes) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{name} must be a list, not {type(values).__name__}", hint=hint)
    return list(values)


def strings(value: Any, name: str) -> list[str]:
    hint = f"Pass {name} as a list of strings."
    values = [value] if isinstance(value, str) else several(value, name, hint)
    for each in values:
        if not isinstance(each, str):
            raise InvalidArgument(f"{name} must be strings, not {type(each).__name__}", hint=hint)
    return [plain(each) for each in values]


def callable_or_none(value: Any, name: str) -> None:
    if value is not None and not callable(value):
        raise InvalidArgument(
            f"{name} must be a function, not {type(value).__name__}",
            hint=f"Pass the function itself, or leave {name} out.",
        )


def within_key(text: str, field: str) -> str:
    """Return a text that is short enough to be part of a scene key, before it is folded.

    Raises:
        InvalidArgument: it has more than 4,096 characters.
    """
    given = plain(text)
    if len(given) > MAX_KEY_CHARS:
        raise InvalidArgument(
            f"{field} has {len(given)} characters; a scene key has at most {MAX_KEY_CHARS}",
            hint=_KEY_HINT,
        )
    return given


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


def checked_ids(values: Any, name: str = "ids") -> list[int]:
    hint = "Use ids from an earlier answer."
    given = [values] if isinstance(values, int) else several(values, name, hint)
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int):
            raise InvalidArgument(f"{name} must be whole numbers, not {shown(each)}", hint=hint)
        if not -MAX_ID <= each <= MAX_ID:
            raise InvalidArgument(f"{name} holds a number that is no id", hint=hint)
    return list(dict.fromkeys(map(int, given)))


def checked_entity(value: Any, name: str) -> str | int:
    """Return how an entity is referred to: by one of its names, or by id.

    Raises:
        InvalidArgument: neither a string nor a whole number.
    """
    hint = "Name an entity as it is shown, or by its id."
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidArgument(
            f"{name} must be a name or an id, not {type(value).__name__}", hint=hint
        )
    return text(value, name, hint) if isinstance(value, str) else checked_ids(value, name)[0]


def checked_entities(values: Any, name: str) -> list[str | int]:
    """Return references to entities; see :func:`checked_entity`."""
    if isinstance(values, (str, int)) and not isinstance(values, bool):
        values = (values,)
    given = several(values, name, "Name entities as they are shown, or by their ids.")
    return [checked_entity(each, name) for each in given]


def checked_session(value: Any) -> str:
    """Return the id of a conversation, ``""`` for None.

    Raises:
        InvalidArgument: neither a string nor a whole number, or too long.
    """
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 128:
        return str(int(value))
    return text(value, "session_id", "Pass the id of the conversation.", most=MAX_SESSION_CHARS)


def checked_key(key: Any) -> str:
    keys = scene_keys(key, "key")
    if not keys or not isinstance(key, str):
        raise InvalidArgument(f"nothing is left of the scene key {shown(key)}", hint=_KEY_HINT)
    return keys[0]


def checked_trust(trust: Any) -> None:
    one_of(trust, TRUST_RANK, "trust")
