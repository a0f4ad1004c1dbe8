# SPDX-License-Identifier: MIT
"""How names match: case, width and normal form do not count, everything else does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final
from unicodedata import decomposition, normalize

from mnemogram.errors import InvalidArgument
from mnemogram.memory.arguments import plain
from mnemogram.values import storable

__all__ = ["clean", "fold_name"]

MAX_NAME_CHARS: Final = 2_000


@lru_cache(maxsize=4_096)
def _width(character: str) -> str:
    mapping = decomposition(character)
    if mapping.startswith(("<wide>", "<narrow>")):
        return "".join(chr(int(code, 16)) for code in mapping.split()[1:])
    return character


@lru_cache(maxsize=4_096)
def fold_name(name: str) -> str:
    """Return the form by which two names are the same.

    Full-width and half-width forms, case, canonical normal form and runs of
    white space are levelled. Compatibility characters are not: ``10²`` is not
    ``102``, which NFKC would make of it.
    """
    if name.isascii():
        return " ".join(name.lower().split())
    levelled = "".join(map(_width, name))
    while True:  # folding case can undo the normal form, and the reverse
        folded = normalize("NFC", normalize("NFC", levelled).casefold())
        if folded == levelled:
            return " ".join(folded.split())
        levelled = folded


def clean(value: Any, field: str, notes: list[str]) -> str:
    """Return a name or sentence as it is stored: trimmed, without lone surrogates.

    Raises:
        InvalidArgument: not a string, or blank.
    """
    if not isinstance(value, str):
        raise InvalidArgument(
            f"{field} must be a string, not {type(value).__name__}",
            hint=f"Pass {field} in the user's own words.",
        )
    text = plain(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            notes.append(f"{field}: lone surrogates were stored as U+FFFD")
            text = storable(text)
    text = text.strip()
    if not text or not fold_name(text[:MAX_NAME_CHARS]):  # no more: folding long ones is slow
        raise InvalidArgument(f"{field} is blank", hint=f"Pass {field} in the user's own words.")
    return text


def clean_name(value: Any, field: str, notes: list[str]) -> str:
    """As ``clean``, for a name: bounded in length.

    Raises:
        InvalidArgument: not a string, blank, or longer than 2,000 characters.
    """
    text = clean(value, field, notes)
    if len(text) > MAX_NAME_CHARS:
        raise InvalidArgument(
            f"{field} has {len(text)} characters; a name has at most {MAX_NAME_CHARS}",
            hint="Name the thing shortly and put the long text into the sentence.",
        )
    return text
