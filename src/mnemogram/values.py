# SPDX-License-Identifier: MIT
"""JSON values: results as dictionaries, and the strings inside a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

__all__ = ["Value", "map_strings", "storable"]

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
        return {name: _plain(getattr(self, name)) for name in names}


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
