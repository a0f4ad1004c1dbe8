# SPDX-License-Identifier: MIT
"""Tools for models: one declaration gives the schemas, the reading of arguments, the answer.

What a model sends is read generously where the intent is clear (``"5"`` for 5,
``"user, assistant"`` for a list) and refused with a hint where it is not. An argument that
was not declared is refused: no tool takes the name of a user, a path or a database.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args

from mnemogram.errors import InvalidArgument, MnemogramError
from mnemogram.tools.answers import refusal
from mnemogram.tools.times import bound
from mnemogram.values import map_strings, storable

__all__ = [
    "Choice",
    "Declaration",
    "Integer",
    "Number",
    "Objects",
    "Parameter",
    "SchemaKind",
    "String",
    "Strings",
    "Time",
    "Tool",
]

SchemaKind: TypeAlias = Literal["openai", "anthropic", "mcp"]

#: What models send for "nothing".
_NOTHING: Final = ("null", "none", "undefined")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool.

    Attributes:
        name: its name.
        description: what the model is told about it.
        required: whether the tool cannot do without.
        aliases: other names that models use for it.
    """

    name: str
    description: str
    required: bool = False
    aliases: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        raise NotImplementedError

    def read(self, value: Any) -> Any:
        """Return what the model meant; None for nothing.

        Raises:
            InvalidArgument: that is not clear.
        """
        raise NotImplementedError

    def _refuse(self, value: Any, hint: str) -> InvalidArgument:
        shown = json.dumps(value, ensure_ascii=False, default=str)
        shown = shown if len(shown) <= 80 else shown[:80] + "…"
        return InvalidArgument(f"{self.name} cannot be {shown}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class String(Parameter):
    """Any text.

    Attributes:
        literal: keep words such as ``null``, which mean nothing elsewhere.
    """

    literal: bool = False

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {"type": "string", "description": self.description}

    def read(self, value: Any) -> str | None:
        """Return the text."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise self._refuse(value, f"Give {self.name} as text.")
        text = value.strip()
        return None if not text or (not self.literal and text.lower() in _NOTHING) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Parameter):
    """A number; one out of range is moved to the nearest end."""

    minimum: float
    maximum: float
    default: float | None = None

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        schema: dict[str, Any] = {"type": "number", "minimum": self.minimum}
        schema["maximum"] = self.maximum
        if self.default is not None:
            schema["default"] = self.default
        return {**schema, "description": self.description}

    def _number(self, value: Any) -> float | None:
        if isinstance(value, str):
            text = value.strip().lstrip("#")
            if not text or text.lower() in _NOTHING:
                return None
            with suppress(ValueError):
                value = int(text) if text.lstrip("+-").isdecimal() else float(text)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
            hint = f"Give {self.name} as a number from {self.minimum:g} to {self.maximum:g}."
            raise self._refuse(value, hint)
        return min(max(value, self.minimum), self.maximum)

    def read(self, value: Any) -> float | None:
        """Return the number."""
        return self._number(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(Number):
    """A whole number; one out of range is moved to the nearest end."""

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {**Number.schema(self), "type": "integer"}

    def read(self, value: Any) -> int | None:
        """Return the number."""
        number = self._number(value)
        if number is None:
            return None
        if number != int(number):
            raise self._refuse(value, f"Give {self.name} as a whole number.")
        return int(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Parameter):
    """One of several words.

    Attributes:
        choices: the words.
        synonyms: other words, and which of the choices each means.
    """

    choices: tuple[str, ...]
    synonyms: Mapping[str, str] = field(default_factory=dict)
    default: str | None = None

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        schema: dict[str, Any] = {"type": "string", "enum": list(self.choices)}
        if self.default is not None:
            schema["default"] = self.default
        return {**schema, "description": self.description}

    def read(self, value: Any) -> str | None:
        """Return the choice."""
        if isinstance(value, str):
            word = value.strip().lower()
            if not word or word in _NOTHING:
                return None
            word = self.synonyms.get(word, word)
            if word in self.choices:
                return word
        raise self._refuse(value, f"{self.name} is one of: {', '.join(self.choices)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Strings(Parameter):
    """A list of texts.

    Attributes:
        choices: the words it may hold; any text where it is empty.
        synonyms: other words, and which of the choices each means.
        maximum: most of them; None for any number.
    """

    choices: tuple[str, ...] = ()
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    maximum: int | None = None

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        items: dict[str, Any] = {"type": "string"}
        if self.choices:
            items["enum"] = list(self.choices)
        schema: dict[str, Any] = {"type": "array", "items": items}
        if self.maximum is not None:
            schema["maxItems"] = self.maximum
        return {**schema, "description": self.description}

    def read(self, value: Any) -> tuple[str, ...] | None:
        """Return the texts, each once."""
        listed = _listed(value)
        found: dict[str, None] = {}
        for each in listed:
            if isinstance(each, (int, float)) and not isinstance(each, bool):
                each = str(each)
            if not isinstance(each, str):
                raise self._refuse(value, f"Give {self.name} as a list of texts.")
            text = each.strip()
            if not text or text.lower() in _NOTHING:
                continue
            meant: tuple[str, ...] = (text,)
            if self.choices:
                meant = self.synonyms.get(text.lower(), (text.lower(),))
                if any(word not in self.choices for word in meant):
                    hint = f"{self.name} may hold: {', '.join(self.choices)}."
                    raise self._refuse(value, hint)
            found.update(dict.fromkeys(meant))
        if self.maximum is not None and len(found) > self.maximum:
            raise self._refuse(value, f"{self.name} may hold at most {self.maximum} of them.")
        return tuple(found) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Time(Parameter):
    """A bound of a period: ISO 8601, a date alone, or how long ago."""

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {"type": "string", "description": self.description}

    def read(self, value: Any) -> datetime | str | None:
        """Return the time; a date alone as it is."""
        if isinstance(value, str) and (not value.strip() or value.strip().lower() in _NOTHING):
            return None
        if not isinstance(value, str):
            hint = "Write 2026-03-01, 2026-03-01T09:00:00+08:00, or how long ago: 3h, 2d, 1w."
            raise self._refuse(value, hint)
        try:
            return bound(value)
        except InvalidArgument as error:
            raise self._refuse(value, error.hint) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects(Parameter):
    """A list of objects, each with parameters of its own."""

    parameters: tuple[Parameter, ...]
    maximum: int = 100

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {
            "type": "array",
            "items": _object_schema(self.parameters),
            "maxItems": self.maximum,
            "description": self.description,
        }

    def read(self, value: Any) -> list[dict[str, Any]] | None:
        """Return the objects with their arguments read."""
        if isinstance(value, Mapping):
            value = [value]
        listed = _listed(value)
        if len(listed) > self.maximum:
            raise InvalidArgument(
                f"{self.name} holds {len(listed)} objects",
                hint=f"Send at most {self.maximum} at once.",
            )
        found = []
        for number, each in enumerate(listed, 1):
            if not isinstance(each, Mapping):
                raise self._refuse(each, f"Give {self.name} as a list of objects.")
            try:
                found.append(_read_all(self.parameters, each))
            except InvalidArgument as error:
                message = f"{self.name}, object {number}: {error}"
                raise InvalidArgument(message, hint=error.hint) from error
        return found or None


def _listed(value: Any) -> list[Any]:
    """Return a list that may have come as JSON, as words with commas, or as one thing."""
    if isinstance(value, str):
        text = value.strip()
        if text[:1] == "[":
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = text.strip("[]").split(",")
        else:
            value = text.split(",")
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value]


def _object_schema(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {each.name: each.schema() for each in parameters},
        "required": [each.name for each in parameters if each.required],
        "additionalProperties": False,
    }


def _read_all(parameters: tuple[Parameter, ...], given: Mapping[Any, Any]) -> dict[str, Any]:
    names = {each.name: each for each in parameters}
    names |= {alias: each for each in parameters for alias in each.aliases}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        parameter = names.get(name) or names.get(str(name).strip().lower().replace("-", "_"))
        if parameter is None:
            close = difflib.get_close_matches(str(name), list(names), 1)
            meant = f"Did you mean {close[0]}? " if close else ""
            raise InvalidArgument(
                f"there is no argument {str(name)[:80]!r}",
                hint=f"{meant}The arguments are: {', '.join(each.name for each in parameters)}.",
            )
        read = parameter.read(value)
        if read is not None and (parameter.name not in found or name == parameter.name):
            found[parameter.name] = read
    for parameter in parameters:
        if parameter.required and parameter.name not in found:
            raise InvalidArgument(
                f"{parameter.name} is missing",
                hint=f"Give {parameter.name}: {parameter.description}",
            )
    return found


@dataclass(frozen=True, slots=True)
class Declaration:
    """A tool as a model knows it.

    Attributes:
        name: its name.
        description: what it does and when to use it.
        parameters: its arguments.
        read_only: whether it changes nothing.
        destructive: whether it may take something away. Calling any of the tools once more
            changes nothing.
        title: its name for people.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    read_only: bool = True
    destructive: bool = False
    title: str = ""

    def schema(self, kind: SchemaKind = "openai") -> dict[str, Any]:
        """Return the declaration in the form of an interface.

        Args:
            kind: ``openai`` (function calling), ``anthropic`` (messages), or ``mcp``.

        Raises:
            InvalidArgument: there is no such kind.
        """
        about = {"name": self.name, "description": self.description}
        parameters = _object_schema(self.parameters)
        if kind == "openai":
            return {"type": "function", "function": {**about, "parameters": parameters}}
        if kind == "anthropic":
            return {**about, "input_schema": parameters}
        if kind == "mcp":
            hints = {
                "title": self.title or self.name,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": True,
                "openWorldHint": False,
            }
            return {**about, "inputSchema": parameters, "annotations": hints}
        raise InvalidArgument(
            f"there is no schema of kind {kind!r}", hint=f"Use {', '.join(get_args(SchemaKind))}."
        )

    def read(self, arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
        """Return a model's arguments as they were meant.

        Args:
            arguments: a mapping, or JSON text of one; None or empty text for none.

        Raises:
            InvalidArgument: an argument is unknown, missing or unclear.
        """
        try:
            return self._read(arguments)
        except RecursionError as error:
            raise InvalidArgument(
                "the arguments are nested too deep", hint="Send the arguments as declared."
            ) from error

    def _read(self, arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
        value: Any = arguments
        for _ in range(2):  # some hosts encode what was encoded before
            if isinstance(value, (str, bytes)):
                try:
                    value = json.loads(value) if value.strip() else {}
                except (ValueError, RecursionError) as error:
                    raise InvalidArgument(
                        f"the arguments are no JSON: {error}", hint="Send one JSON object."
                    ) from error
        value = {} if value is None else value
        if not isinstance(value, Mapping):
            raise InvalidArgument(
                f"the arguments are {type(value).__name__}, not an object",
                hint="Send one JSON object.",
            )
        # Half a surrogate pair can be written in JSON, but neither stored nor answered.
        return _read_all(self.parameters, map_strings(dict(value), storable))


@dataclass(frozen=True, slots=True)
class Tool:
    """A declaration and what answers it; call it with a model's arguments.

    Attributes:
        declaration: how the model knows it.
        handler: takes the arguments as they were meant, and returns the answer.
    """

    declaration: Declaration
    handler: Callable[[dict[str, Any]], dict[str, Any]]

    @property
    def name(self) -> str:
        """Name of the tool."""
        return self.declaration.name

    def schema(self, kind: SchemaKind = "openai") -> dict[str, Any]:
        """Return the schema for ``openai``, ``anthropic`` or ``mcp``."""
        return self.declaration.schema(kind)

    def __call__(self, arguments: Mapping[str, Any] | str | None = None) -> dict[str, Any]:
        """Answer a model's call.

        Args:
            arguments: as the model sent them: a mapping, or JSON text.

        Returns:
            The answer as JSON-ready values. Nothing that a model sends raises: an error is
            ``{"success": False, "error": CODE, "complete": False, "message": ..., "hint": ...}``.
        """
        try:
            return self.handler(self.declaration.read(arguments))
        except MnemogramError as error:
            return refusal(error)
