# SPDX-License-Identifier: MIT
"""Slow reference of display cuts: UAX #29 as the regular expression that the annex gives.

The properties come from the ``regex`` package, independently of the table of the native code.
"""

from __future__ import annotations

import re
from functools import lru_cache

import regex

# One letter for each class of code point that the rules tell apart.
_CLASSES = [
    ("r", r"\r"),
    ("n", r"\n"),
    ("j", r"\u200D"),
    ("k", r"[\p{InCB=Linker}&&\p{GCB=Extend}]"),
    ("c", r"\p{InCB=Consonant}"),
    ("i", r"[\p{InCB=Extend}&&\p{GCB=Extend}]"),
    ("e", r"\p{GCB=Extend}"),
    ("F", r"\p{GCB=Regional_Indicator}"),
    ("p", r"\p{GCB=Prepend}"),
    ("s", r"\p{GCB=SpacingMark}"),
    ("L", r"\p{GCB=L}"),
    ("V", r"\p{GCB=V}"),
    ("T", r"\p{GCB=T}"),
    ("W", r"\p{GCB=LV}"),
    ("X", r"\p{GCB=LVT}"),
    ("C", r"\p{GCB=Control}"),
    ("E", r"\p{Extended_Pictographic}"),
]
_PATTERNS = [(letter, regex.compile(pattern, regex.V1)) for letter, pattern in _CLASSES]

_EXTEND = "[eikj]"
_HANGUL = "(?:L*(?:V+|WV*|X)T*|L+|T+)"
_EMOJI = f"(?:E(?:{_EXTEND.replace('j', '')}*jE)*)"
_INDIC = "(?:c(?:[ikj]*k[ikj]*c)+)"
_CORE = f"(?:{_INDIC}|{_EMOJI}|{_HANGUL}|FF|[^rnC])"
_CLUSTER = re.compile(f"rn|[rnC]|p*{_CORE}[eikjs]*|p+[eikjs]*")


@lru_cache(maxsize=4096)
def letter_of(character: str) -> str:
    """Return the letter of a character's class, ``o`` for any other."""
    if "\ud800" <= character <= "\udfff":
        return "C"
    for letter, pattern in _PATTERNS:
        if pattern.match(character):
            return letter
    return "o"


def clusters(text: str) -> list[str]:
    """Return the extended grapheme clusters of a text."""
    letters = "".join(map(letter_of, text))
    found = [text[match.start() : match.end()] for match in _CLUSTER.finditer(letters)]
    assert "".join(found) == text
    return found


def floor(text: str, position: int, reach: int) -> int:
    """Return the last boundary at or before a position, looking back so far only.

    A boundary is sure where the two characters beside it tell, whatever stands before them.
    """
    start = position
    while 0 < start < len(text) and not _is_sure(text[start - 1], text[start]):
        start -= 1
        if position - start > reach:
            return position
    boundary = start
    for cluster in clusters(text[start : position + reach]):
        if boundary + len(cluster) > position:
            return boundary
        boundary += len(cluster)
    return boundary


def _is_sure(before: str, after: str) -> bool:
    left, right = letter_of(before), letter_of(after)
    depends = (
        (left == "j" and right == "E") or left == right == "F" or (left in "kij" and right == "c")
    )
    return not depends and len(clusters(before + after)) == 2


def cut(text: str, limit: int) -> tuple[str, bool, int]:
    """Keep whole clusters while they fit."""
    if len(text) <= limit:
        return text, False, len(text)
    kept = ""
    for cluster in clusters(text):
        if len(kept) + len(cluster) > limit:
            break
        kept += cluster
    return kept, True, len(text)
