# SPDX-License-Identifier: MIT
"""How text is cut and folded for searching.

The same rules, in the same C code, cut messages for the index, queries, and the text of
these functions. docs/tokenizer.md describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from mnemogram._native import scene_key as _scene_key
from mnemogram._native import text_core
from mnemogram._native.snippet import cut, cut_around, excerpt
from mnemogram.errors import InvalidArgument

__all__ = [
    "RULES_VERSION",
    "STORE_OPTIONS",
    "UNICODE_VERSION",
    "Token",
    "config",
    "cut",
    "cut_around",
    "excerpt",
    "fold",
    "normalize_scene_key",
    "tokenize",
]

RULES_VERSION: int = text_core.RULES_VERSION
"""Version of the token rules; another one means that an index must be rebuilt."""

UNICODE_VERSION: str = text_core.UNICODE_VERSION
"""Version of Unicode that the character tables were made from."""

_EXTRA_FOLDS: Final = (
    "han", "invisible", "digits", "marks", "arabic", "letters", "forms",
)  # fmt: skip

STORE_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "remove_diacritics": "2",
        "variants": "1",
        "categories": "L* N* Co Mn Mc",
        "separators": "\ufe0e\ufe0f",
        **dict.fromkeys(_EXTRA_FOLDS, "1"),
    }
)
"""How histories and scene memories cut texts, and so every query for them.

Unlike in unicode61 by default, combining marks belong to words: without them Hindi falls
apart into single consonants. Variation selectors are marks, too, and part of no word.
"""
PLAIN_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **STORE_OPTIONS,
        "remove_diacritics": "0",
        "variants": "0",
        **dict.fromkeys(_EXTRA_FOLDS, "0"),
        "invisible": "1",
    }
)
"""How spellings are told apart: case, width and what is not seen are folded, no more."""

_DEFAULTS = {"remove_diacritics": "2", "variants": "1", **dict.fromkeys(_EXTRA_FOLDS, "1")}


class Token(NamedTuple):
    """One search token of a text.

    Attributes:
        text: the token, folded.
        start: where its source begins, in code points.
        end: where its source ends, in code points.
        colocated: it stands at the same position as the token before it.
    """

    text: str
    start: int
    end: int
    colocated: bool


@lru_cache(maxsize=64)
def _config(options: tuple[tuple[str, str], ...]) -> text_core.Config:
    arguments = {**_DEFAULTS, **dict(options)}
    if "han" not in dict(options):
        arguments["han"] = arguments["variants"]
    try:
        return text_core.Config(*(part for pair in arguments.items() for part in pair))
    except ValueError as error:
        raise InvalidArgument(str(error)) from None


def config(**options: str | int | bool) -> text_core.Config:
    """Return the text core's configuration for tokenizer options.

    Args:
        **options: ``remove_diacritics`` (0, 1 or 2), ``categories``, ``tokenchars``,
            ``separators`` as SQLite's unicode61 takes them; ``variants`` (0 or 1) folds
            traditional Chinese characters to simplified ones; ``han``, ``invisible``,
            ``digits``, ``marks``, ``arabic``, ``letters`` and ``forms`` (0 or 1) are the
            folds of docs/tokenizer.md; ``compat`` (0 or 1) leaves only unicode61 and plain
            bigrams. What is not given is ``remove_diacritics=2``, and 1 for every fold;
            ``han`` is as ``variants``.

    Raises:
        InvalidArgument: an option is unknown or its value is not allowed.
    """
    return _config(
        tuple((name, str(int(v)) if isinstance(v, bool) else str(v)) for name, v in options.items())
    )


def tokenize(text: str, *, query: bool = False, **options: str | int | bool) -> list[Token]:
    """Cut a text into search tokens, as an index does.

    Args:
        text: any str; a lone surrogate is a separator.
        query: cut as a query: the last character of a run is not repeated as a token of
            its own.
        **options: tokenizer options, see `config`. Unlike the bare SQLite tokenizer, which
            has unicode61's defaults, this function folds as a store does:
            ``remove_diacritics=2``, and every other fold on. Stores also count combining marks as
            letters: ``**STORE_OPTIONS``.

    Returns:
        The tokens in order, with offsets in code points.

    Raises:
        InvalidArgument: an option is unknown or its value is not allowed.
    """
    mode = text_core.QUERY if query else text_core.DOCUMENT
    return [
        Token(token, start, end, bool(flags & text_core.COLOCATED))
        for token, start, end, flags in text_core.tokens(config(**options), text, mode)
    ]


def fold(text: str, **options: str | int | bool) -> str:
    """Return the form of a text in which equal-looking texts are equal.

    Every character is folded as for the index (case, diacritics, width, normal form,
    variants). Anything between tokens, such as punctuation and white space, becomes one
    space; at the ends nothing. Folding twice changes nothing.

    Args:
        text: any str.
        **options: tokenizer options, see `config`.

    Raises:
        InvalidArgument: an option is unknown or its value is not allowed.
    """
    parts: list[str] = []
    last = 0
    for token, start, end, _ in text_core.tokens(config(**options), text, text_core.UNITS):
        if parts and start > last:
            parts.append(" ")
        parts.append(token)
        last = end
    return "".join(parts)


def normalize_scene_key(key: str) -> str:
    """Return the one form of a scene key that stands for all spellings of it.

    Levels are divided by ``/``. Case, width, normal form and white space do not count; any
    other difference makes another key. ``""`` where nothing is left: no scene.

    Raises:
        InvalidArgument: not a string.
    """
    if not isinstance(key, str):
        raise InvalidArgument(
            f"a scene key must be a string, not {type(key).__name__}",
            hint="Pass a key like 'chan:qq/peer:group_1'.",
        )
    return _scene_key.normalize_scene_key(key if type(key) is str else str.__str__(key))
