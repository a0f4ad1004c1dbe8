# SPDX-License-Identifier: MIT
"""A host's redactor, applied to all that is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import Message, Session
from mnemogram.values import MOST_DEPTH, depth_of

__all__ = ["Redaction", "Redactor"]

#: Called with every text before it is stored; returns what is stored in its place.
Redactor: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Redaction:
    """A host's redactor, applied to what is stored."""

    redactor: Redactor | None

    def text(self, text: str | None) -> str | None:
        """Return a text as it is stored."""
        return text if text is None or self.redactor is None else self.redactor(text)

    def json(self, value: Any) -> Any:
        """Return a JSON value as it is stored.

        A text in it is shown to the redactor by itself, and beside its name, as JSON has it.
        """
        if self.redactor is None:
            return value
        if depth_of(value) > MOST_DEPTH:
            raise InvalidArgument(
                f"a JSON value is nested deeper than {MOST_DEPTH} levels",
                hint="Pass it as text, or leave out what it holds so deep.",
            )
        return self._json(value, self.redactor)

    def _json(self, value: Any, redactor: Redactor) -> Any:
        if isinstance(value, str):
            return redactor(value)
        if isinstance(value, dict):
            return {
                redactor(str(name)): _beside(str(name), each, redactor)
                if isinstance(each, str)
                else self._json(each, redactor)
                for name, each in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._json(each, redactor) for each in value]
        return value

    def session(self, session: Session | str) -> Session | str:
        """Return a session with its title as it is stored."""
        if self.redactor is None or not isinstance(session, Session):
            return session
        return replace(
            session,
            title=self.text(session.title),
            tags=self.tags(session.tags),
            metadata=self.json(session.metadata),
        )

    def tags(self, tags: Any) -> Any:
        """Return tags as they are stored; what is no list is refused where it is prepared."""
        if self.redactor is None or not isinstance(tags, (list, tuple)):
            return tags
        return [self.text(each) if isinstance(each, str) else each for each in tags]

    def message(self, message: Message) -> Message:
        """Return a message with its texts as they are stored."""
        if self.redactor is None or not isinstance(message, Message):
            return message  # what is no message is refused where it is prepared
        return replace(
            message,
            content=self.text(message.content),
            tool_calls=self.json(message.tool_calls),
            metadata=self.json(message.metadata),
        )


def _beside(name: str, value: str, redactor: Redactor) -> str:
    """Return a text of an object as it is stored: a redactor may know it by its name."""
    done = redactor(value)
    line = json.dumps({name: value}, ensure_ascii=False)
    probe = redactor(line) if done == value else line
    if probe == line:
        return done
    try:
        ((_, found),) = json.loads(probe).items()
    except (AttributeError, ValueError):
        return probe  # what is left of both
    return found if isinstance(found, str) else probe
