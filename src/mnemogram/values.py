# SPDX-License-Identifier: MIT
"""JSON values: results as dictionaries, and the strings inside a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from math import isfinite
from typing import Any, Final

from mnemogram.errors import InvalidArgument

__all__ = [
    "MOST_DEPTH",
    "Value",
    "checked_key",
    "depth_of",
    "map_strings",
    "objects_of",
    "one_line",
    "parsed",
    "storable",
]

#: Levels down to which JSON is taken for more than a text.
MOST_DEPTH: Final = 64

#: Characters that JSON leaves alone and that some readers end a line at.
_LINE_ENDS: Final = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return value


_names: dict[type, tuple[str, ...]] = {}  # of the fields of each result type


class Value:
    """Gives a dataclass its ``to_dict()``: plain JSON values under the field names."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON-ready dictionaries, lists and scalars."""
        names = _names.get(type(self))
        if names is None:
            names = _names[type(self)] = tuple(f.name for f in fields(self))  # type: ignore[arg-type]
        scalars, plain = _SCALARS, {}
        for name in names:
            value = getattr(self, name)
            plain[name] = value if type(value) in scalars else _plain(value)
        return plain


def depth_of(value: Any, most: int = MOST_DEPTH) -> int:
    """Return how many levels a JSON value has, counting to ``most`` + 1; never recursive."""
    level = [value]
    for depth in range(most + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each.values()
            elif isinstance(each, (list, tuple)):
                below += each
        if not below:
            return depth
        level = below
    return most + 1


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number(text)


def parsed(text: str | bytes, *, most: int = MOST_DEPTH) -> Any:
    """Return the value of a JSON text (RFC 8259).

    Raises:
        ValueError: it is none: NaN and infinity are no numbers of JSON. Or it is nested so
            deep that not everybody could write it again.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        value = None
        deep = True
    else:
        deep = depth_of(value, most) > most
    if deep:
        raise ValueError(f"nested deeper than {most} levels")
    return value


def objects_of(lines: Iterable[Any], hint: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of JSON lines, each with the number of its line; blank ones are left out.

    Args:
        lines: text, bytes, or objects that are made already.
        hint: what each line holds, for whoever passed something else.

    Raises:
        InvalidArgument: which line holds no object.
    """
    for number, line in enumerate(lines, 1):
        value = line
        if isinstance(line, (str, bytes)):
            try:
                text = line.decode("utf-8-sig") if isinstance(line, bytes) else line
                text = text.lstrip("\ufeff")
                if not text.strip():
                    continue
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise InvalidArgument(f"line {number} is not JSON: {error}", hint=hint) from error
        elif not isinstance(line, Mapping):
            raise InvalidArgument(
                f"line {number} is neither text nor an object but {type(line).__name__}", hint=hint
            )
        if not isinstance(value, Mapping):
            raise InvalidArgument(f"line {number} is not an object", hint=hint)
        yield number, value


def checked_key(value: Any, name: str) -> str:
    """Return an id of the host's as it is stored.

    Raises:
        InvalidArgument: it is no string.
    """
    if not isinstance(value, str):
        raise InvalidArgument(
            f"{name} must be a string, not {type(value).__name__}", hint="Pass the host's own id."
        )
    return value if value.isascii() else storable(value)


def storable(text: str) -> str:
    """Return ``text`` as UTF-8 can hold it: lone surrogates become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with ``change`` applied to every string in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): map_strings(each, change) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_strings(each, change) for each in value]
    return value


def one_line(text: str) -> str:
    """Return JSON text with every character escaped that a reader may end a line at."""
    return text.translate(_LINE_ENDS) if not text.isascii() else text
