# SPDX-License-Identifier: MIT
"""The C text core and the slow reference give the same tokens, spans and flags."""

from __future__ import annotations

import random
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mnemogram._native import text_core
from mnemogram.text import STORE_OPTIONS
from tests.reference import tokenizer as reference
from tests.reference.tokenizer import Reference

SCRIPTS = {
    "words": "abcXYZ019 _-.éØłđıÀǿΣςİßЖйहिाابꭰᎠ€½①\u0301\u0308\u0323",
    "han": "漢字語臺湾國乾雨豈丽⼤⺟⻢⻄々〆〇〡\U00020bb7\U00030000\U0002f800"
    "\ufe00\U000e0100\u302a",
    "kana": "かがきゔワヷアーゝゞヽヿぱ・、。ﾞﾟｶﾊｱｰｦ\u3099\u309a\u0301㍿㋐",
    "hangul": "가각힣ㄱㅏㅋ\u1100\u1112\u1161\u1175\u11a8\u11c2\u1113\u119e\ua960\ud7b0ﾡￂﾠ\u302e",
    "width": "ＡｚＺ９０＿！aZ9漢",
    "thai": "กขำเฺุู่้ิ็ๆ๑฿ຂຸ່ຼ້ໆ໑",
    "khmer": "ករ្ា់៍៝១។ឥ",
    "myanmar": "ကရဥဦီ့်္ာ၁၊\ufe00",
    "emoji": "🎉😀👍❤♀⌚🤔🫠🏻🏿🇯🇵🇰🏴ℹ©▶\u200d\ufe0f\U000e0067\U000e007f",
    "edges": "\0\u00ad\u200b\u200d\ufeff\ufffd\ufffe\U0001fffe\ue000\U0010ffff",
    "marks": "\u05e8\u05b9\u05d0\ufb2aكِتـابٌأآؤئۂیکफ़\u093c\u0958क়ёйЁѝΆϊᾳΐς\u0345",
    "digits": "०५٢۶๑໑೧𝟎𝟗²①1a",
    "forms": "ﬁﬃﷺﷲﻻ𝐇𝔥ⓐ⑴⒈㏂㍿㌔㌀㋀㋋㍘㎞№℡™℃ⅣⅳÆǽßẞœþŉĳʰªſㄱ㉠㈎🄰🈁🈚½ﾞa.漢カ\u3099\u0301",
    "itaiji": "髙高﨑崎邊邉辺齋齊斎斉櫻桜樱廣広广戶戸户著着弁辨芸藝欠缺",
    "invisible": "aé漢ก🎉\u00ad\u034f\u061c\u200b\u200c\u200d\u2060\ufeff\U000e0061\u180e می",
}
EXTRAS = ("han", "invisible", "digits", "marks", "arabic", "letters", "forms")
BROKEN = [
    b"\xff",
    b"\x80",
    b"\xc2",
    b"\xc0\x80",
    b"\xe4",
    b"\xe4\xb8",
    b"\xe0\x80\x80",
    b"\xed\xa0\x80",
    b"\xf0\x80",
    b"\xf0\x9f\x8e",
    b"\xf4\x90\x80\x80",
]
OPTIONS: list[dict[str, str]] = [
    {},
    {"remove_diacritics": "2", "variants": "1"},
    {"remove_diacritics": "0"},
    {"compat": "1"},
    {"compat": "1", "remove_diacritics": "0"},
    {"categories": "L* N* Mn"},
    {"categories": "N* So"},
    {"categories": "Ll"},
    {"tokenchars": "_🎉漢・⼤\u0e34", "separators": "a字😀🤔ก"},
    {"categories": "N*", "tokenchars": "漢か⼤กｶ가\u1100🏻"},
    dict(STORE_OPTIONS),
    {"separators": "\u6f23\ufffd\U0002f9ff"},  # beside 漢, as U+FFFE, and far out
    *({name: "1"} for name in EXTRAS),
    {**dict(STORE_OPTIONS), "tokenchars": "№\u200b", "separators": "ﬁß٢\u0640"},
    {**dict(STORE_OPTIONS), "compat": "1"},
]


def assigned(alphabet: str) -> str:
    """Without what this Python's unicodedata cannot tell the reference about."""
    return "".join(
        c for c in alphabet if unicodedata.category(c) != "Cn" or c in "\ufffe\U0001fffe"
    )


pieces = st.one_of(
    *(st.sampled_from(assigned(alphabet)).map(str.encode) for alphabet in SCRIPTS.values()),
    st.sampled_from(BROKEN),
    st.characters(exclude_categories=("Cs", "Cn")).map(str.encode),
)
mixed = st.lists(pieces, max_size=14).map(b"".join)
one_script = st.sampled_from([assigned(alphabet) for alphabet in SCRIPTS.values()]).flatmap(
    lambda alphabet: st.text(alphabet, max_size=14).map(str.encode)
)


def ours(source: bytes, options: dict[str, str], mode: int) -> list[tuple[str, int, int, int]]:
    config = text_core.Config(*(part for pair in options.items() for part in pair))
    return text_core.tokens(config, source, mode)


@settings(max_examples=300, deadline=None)
@given(source=st.one_of(mixed, one_script), options=st.sampled_from(OPTIONS), query=st.booleans())
@example(source="가\u0301ᆨ".encode(), options={}, query=False)
@example(source="ခွင့်ခွင့်".encode(), options={}, query=False)
@example(source="\u17d2ក\u1039က".encode(), options={}, query=True)
def test_tokens_spans_and_flags_equal_the_reference(
    source: bytes, options: dict[str, str], query: bool
) -> None:
    wanted = [tuple(token) for token in Reference(**options).tokens(source, query=query)]
    mode = text_core.QUERY if query else text_core.DOCUMENT
    assert ours(source, options, mode) == wanted


@pytest.mark.parametrize("alphabet", SCRIPTS, ids=str)
def test_long_runs_of_a_script_equal_the_reference(alphabet: str) -> None:
    options = dict(STORE_OPTIONS)
    rng = random.Random(alphabet)
    source = "".join(rng.choices(assigned(SCRIPTS[alphabet]), k=3000)).encode()
    wanted = [tuple(token) for token in Reference(**options).tokens(source)]
    assert ours(source, options, text_core.DOCUMENT) == wanted


def code_points_to_judge() -> list[str]:
    """Every character whose class or fold is its own: long uniform ranges are sampled."""
    uniform = [(0x3410, 0x4DA0), (0x4E10, 0x9F00), (0xAC10, 0xD790), (0xE010, 0xF8F0)]
    uniform += [(0x17000, 0x18D00), (0x20100, 0x2F7F0), (0x30010, 0x33470), (0xF0010, 0x10FFF0)]
    chosen = []
    for cp in range(1, sys.maxunicode + 1):
        c = chr(cp)
        if unicodedata.category(c) in ("Cn", "Cs"):
            continue
        inside = any(low <= cp <= high for low, high in uniform)
        if not inside or c in reference.variants() or cp % 97 == 0:
            chosen.append(c)
    return chosen


@pytest.mark.parametrize("options", [OPTIONS[1], OPTIONS[4], dict(STORE_OPTIONS)], ids=str)
def test_every_character_of_this_unicode_equals_the_reference(options: dict[str, str]) -> None:
    judge = Reference(**options)
    config = text_core.Config(*(part for pair in options.items() for part in pair))
    different = []
    for c in code_points_to_judge():
        source = f"{c} a{c}b".encode()
        if text_core.tokens(config, source) != [tuple(t) for t in judge.tokens(source)]:
            different.append(f"U+{ord(c):04X} {unicodedata.name(c, '')}")
    assert different == []


def is_many(source: bytes, options: dict[str, str]) -> bool:
    chars = reference.decode(source)
    return len(Reference(**options).expand(chars)) > len(chars)


@settings(max_examples=100, deadline=None)
@given(source=st.one_of(mixed, one_script), options=st.sampled_from(OPTIONS))
def test_the_source_of_a_token_gives_that_token_alone(
    source: bytes, options: dict[str, str]
) -> None:
    for token, start, end, _ in ours(source, options, text_core.DOCUMENT):
        again = ours(source[start:end], options, text_core.QUERY)
        if is_many(source[start:end], options):
            continue  # a token may hold one of the letters that a character stands for
        assert [(text, at, to) for text, at, to, _ in again] == [(token, 0, end - start)]


@settings(max_examples=100, deadline=None)
@given(source=st.one_of(mixed, one_script))
def test_a_token_is_its_own_query(source: bytes) -> None:
    options = {"remove_diacritics": "2", "variants": "1"}
    for token, _, _, _ in ours(source, options, text_core.DOCUMENT):
        assert [text for text, _, _, _ in ours(token.encode(), options, text_core.QUERY)] == [token]


@settings(max_examples=100, deadline=None)
@given(source=st.one_of(mixed, one_script))
def test_every_unit_of_a_run_begins_exactly_one_token(source: bytes) -> None:
    units = ours(source, {}, text_core.UNITS)
    starts = [start for _, start, _, _ in ours(source, {}, text_core.DOCUMENT)]
    assert starts == [start for _, start, _, _ in units]


@settings(max_examples=100, deadline=None)
@given(source=st.one_of(mixed, one_script), options=st.sampled_from(OPTIONS))
def test_a_query_is_the_document_without_its_tails(source: bytes, options: dict[str, str]) -> None:
    document = ours(source, options, text_core.DOCUMENT)
    without = [token for token in document if not token[3] & text_core.COLOCATED]
    assert ours(source, options, text_core.QUERY) == without


@settings(max_examples=100, deadline=None)
@given(source=st.one_of(mixed, one_script), options=st.sampled_from(OPTIONS))
def test_trigrams_are_the_trigrams_of_the_words(source: bytes, options: dict[str, str]) -> None:
    config = text_core.Config(*(part for pair in options.items() for part in pair))
    wanted = []
    for token, _, _, flags in text_core.tokens(config, source):
        if flags & text_core.WORD:
            wanted += [token[i : i + 3] for i in range(len(token) - 2)]
    found = text_core.trigrams(config, source)
    assert [token for token, _, _, _ in found] == wanted
    if options.get("remove_diacritics") == "0":
        return  # a trigram may then begin with a mark, which begins no word
    for token, start, end, _ in found:
        if is_many(source[start:end], options):
            continue
        again = text_core.tokens(config, source[start:end], text_core.QUERY)
        assert [text for text, _, _, _ in again] == [token]


ALIKE = [
    ("invisible", "docu\u00adment", "document"),
    ("invisible", "in\u200bvoice", "invoice"),
    ("invisible", "a\u034fb\u2060c\ufeffd\U000e0061e", "abcde"),
    ("invisible", "می\u200cخواهم", "میخواهم"),
    ("invisible", "東\u200b京", "東京"),
    ("invisible", "ภา\u200bษา", "ภาษา"),
    ("digits", "२०२६", "2026"),
    ("digits", "٢٠٢٦", "۲۰۲۶"),
    ("digits", "๒๐๒๖", "2026"),
    ("marks", "הַשָּׁנָה", "השנה"),
    ("marks", "كِتَابٌ", "كتاب"),
    ("marks", "كتـــاب", "كتاب"),
    ("marks", "फ़ोन", "फोन"),
    ("marks", "Ἀθῆναι", "αθηναι"),
    ("marks", "ЁЛКА", "елка"),
    ("arabic", "كتاب", "کتاب"),
    ("arabic", "أحمد", "احمد"),
    ("arabic", "مدرسۃ", "مدرسة"),
    ("arabic", "على", "علی"),
    ("letters", "Straße", "STRASSE"),
    ("letters", "STRAẞE", "strasse"),
    ("letters", "Ægir Œuvre Þór ĳs", "aegir oeuvre thor ijs"),
    ("forms", "ﬁnancial oﬃce", "financial office"),
    ("forms", "𝐇𝐞𝐥𝐥𝐨 ⓗⓘ x² Ⅳ №5", "hello hi x2 iv no5"),
    ("forms", "10㌔ ㍿ ㊤", "10キロ 株式会社 上"),
    ("forms", "ﻻ", "لا"),
    ("han", "髙橋 山﨑 渡邊 渡邉", "高橋 山崎 渡辺 渡辺"),
    ("han", "齋齊 櫻 廣 戶 著", "斎斉 桜 広 戸 着"),
]


@pytest.mark.parametrize(("option", "written", "asked"), ALIKE)
def test_what_means_the_same_is_cut_the_same_with_its_option_and_not_without(
    option: str, written: str, asked: str
) -> None:
    options = {"remove_diacritics": "2", "categories": "L* N* Co Mn Mc"}
    on, off = {**options, option: "1"}, options
    for settled in (on, dict(STORE_OPTIONS)):
        found = [ours(text.encode(), settled, text_core.DOCUMENT) for text in (written, asked)]
        assert [token for token, _, _, _ in found[0]] == [token for token, _, _, _ in found[1]]
    apart = [ours(text.encode(), off, text_core.DOCUMENT) for text in (written, asked)]
    assert [token for token, _, _, _ in apart[0]] != [token for token, _, _, _ in apart[1]]
    compat = {**on, "compat": "1"}
    plain = {**off, "compat": "1"}
    assert ours(written.encode(), compat, text_core.DOCUMENT) == ours(
        written.encode(), plain, text_core.DOCUMENT
    )


@pytest.mark.parametrize(
    "apart", [("й", "и"), ("欠", "缺"), ("弁", "辨"), ("辨", "辯"), ("か", "が")]
)
def test_what_is_another_word_stays_apart(apart: tuple[str, str]) -> None:
    one, other = (
        [token for token, _, _, _ in ours(c.encode(), dict(STORE_OPTIONS), text_core.QUERY)]
        for c in apart
    )
    assert one != other


def test_the_letters_of_one_character_all_have_its_span() -> None:
    found = ours("a㍿b ﬁx ㋀".encode(), dict(STORE_OPTIONS), text_core.QUERY)
    assert [(token, start, end) for token, start, end, _ in found] == [
        ("a", 0, 1),
        ("株式", 1, 4),
        ("式会", 1, 4),
        ("会社", 1, 4),
        ("b", 4, 5),
        ("fix", 6, 10),
        ("1", 11, 14),
        ("月", 11, 14),
    ]


def test_a_joined_emoji_is_still_one_token_for_each_pictograph() -> None:
    source = "👩\u200d💻❤\ufe0f🏴\U000e0067\U000e007f".encode()
    assert ours(source, {}, text_core.DOCUMENT) == ours(
        source, dict(STORE_OPTIONS), text_core.DOCUMENT
    )
