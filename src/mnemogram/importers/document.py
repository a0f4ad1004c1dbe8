# SPDX-License-Identifier: MIT
"""A JSON document of any size, a piece of it in memory at a time."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["Broken", "Document"]

_PIECE: Final = 4 << 20
_SPACE: Final = re.compile(r"[ \t\r\n]*")
#: What a fault is called whose place may lie before the end of what was read.
_CUT: Final = ("Unterminated string", "Invalid \\u")
#: Characters at the end of what was read that may be half a word or number.
_TAIL: Final = 32
#: Fields by which an element of a list is a conversation and not a message.
_HOLDS: Final = (
    *("mapping", "chat_messages", "messages", "messagesTree", "chat", "history"),
    *("conversations", "conversation", "contents", "items", "turns", "traj", "trajectory"),
)


class Broken(Exception):
    """A document that is not JSON.

    Attributes:
        line: where, from 1.
        reason: what is wrong there.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class Document:
    """Reads the values of a document one after the other.

    Args:
        start: the beginning, as bytes of UTF-8.
        read: gives so many bytes more, or none at the end.

    Attributes:
        is_list: whether the values are elements of a list.
    """

    def __init__(self, start: bytes, read: Callable[[int], bytes]) -> None:
        self.is_list = False
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        # NaN and the infinities are no JSON, and no other program could read them back.
        self._json = json.JSONDecoder(parse_constant=str)
        self._text = self._decoder.decode(start)
        self._place = 0
        self._lines = 0  # before the text
        self._keeps = False  # what was read already
        self._ended = False

    def values(self) -> Iterator[Any]:
        """Yield the elements of a list; conversations in a list of an object; else the value.

        Where other objects follow the first one, as in JSON lines, only that is yielded;
        what comes after it is the ``rest``.

        Raises:
            Broken: it is not JSON.
        """
        opening = self._next()
        if opening == "[":
            self.is_list = True
            self._place += 1
            yield from self._elements()
            self._close()
        elif opening == "{" and self._leads_to_conversations():
            self.is_list = True
            yield from self._inside()
            self._close()
        else:
            yield self._value()
            if self._next() not in ("", "{"):
                raise self._broken("Extra data")

    def rest(self) -> bytes:
        """Return what was read and is no part of the values."""
        pending, _ = self._decoder.getstate()
        return self._text[self._place :].encode("utf-8") + pending

    @property
    def line(self) -> int:
        """The line that was read last, from 1."""
        return self._lines + self._text.count("\n", 0, self._place) + 1

    # -- pieces of the text

    def _more(self) -> bool:
        """Read on, at least as much as is there; return whether there was anything."""
        if self._ended:
            return False
        if not self._keeps:
            self._lines += self._text.count("\n", 0, self._place)
            self._text, self._place = self._text[self._place :], 0
        data = self._read(max(_PIECE, len(self._text)))
        self._ended = not data
        self._text += self._decoder.decode(data, final=not data)
        return True

    def _next(self) -> str:
        """Return the next character that is no space, or nothing at the end."""
        while True:
            found = _SPACE.match(self._text, self._place)
            self._place = found.end() if found else self._place
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more():
                return ""

    def _value(self) -> Any:
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith(_CUT) or error.pos > len(self._text) - _TAIL
                if not cut or not self._more():
                    raise self._broken(error.msg, error.pos) from error
            except RecursionError as error:
                raise self._broken("nested too deeply") from error
            except ValueError as error:  # a number of too many digits
                raise self._broken(str(error)) from error
            else:
                # A number at the end of what was read may go on.
                whole = not isinstance(value, (int, float)) or end + _TAIL < len(self._text)
                if whole or not self._more():
                    self._place = end
                    return value

    def _elements(self) -> Iterator[Any]:
        """Yield the elements of a list whose bracket was read, to the closing one."""
        if self._next() == "]":
            self._place += 1
            return
        while True:
            self._next()
            yield self._value()
            if self._comma("]"):
                return

    def _comma(self, closing: str) -> bool:
        """Read a comma, or the closing character; return whether it was that."""
        found = self._next()
        if found not in (",", closing) or not found:
            raise self._broken(f"Expecting ',' or '{closing}'")
        self._place += 1
        return found == closing

    def _close(self) -> None:
        if self._next():
            raise self._broken("Extra data")

    # -- an object that holds a list of conversations

    def _leads_to_conversations(self) -> bool:
        """Look into an object; at a list of conversations stay there, else go back."""
        self._keeps, start = True, self._place
        try:
            self._place += 1
            while self._next() == '"':
                self._value()
                if self._next() != ":":
                    break
                self._place += 1
                if self._next() == "[":
                    before = self._place
                    self._place += 1
                    found = self._value() if self._next() == "{" else None
                    if _is_conversation(found):
                        self._place = before
                        return True
                    self._place = before
                self._value()
                if self._next() != ",":
                    break
                self._place += 1
                self._next()
            self._place = start
            return False
        except Broken:  # what is wrong is said where it is read
            self._place = start
            return False
        finally:
            self._keeps = False

    def _inside(self) -> Iterator[Any]:
        """Yield the conversations of the list that the place is at, and of those after it."""
        while True:
            if self._next() == "[":
                self._place += 1
                wanted: bool | None = None
                for each in self._elements():
                    wanted = _is_conversation(each) if wanted is None else wanted
                    if wanted:
                        yield each
            else:
                self._value()
            if self._comma("}"):
                return
            if self._next() != '"':
                raise self._broken("Expecting a name in double quotes")
            self._value()
            if self._next() != ":":
                raise self._broken("Expecting ':'")
            self._place += 1

    def _broken(self, reason: str, place: int | None = None) -> Broken:
        place = self._place if place is None else place
        line = self._lines + self._text.count("\n", 0, place) + 1
        column = place - self._text.rfind("\n", 0, place)
        return Broken(line, f"not JSON: {reason}, column {column}")


def _is_conversation(value: object) -> bool:
    """Whether it is an object that holds messages."""
    return isinstance(value, Mapping) and any(
        isinstance(value.get(name), (list, Mapping)) and value[name] for name in _HOLDS
    )
