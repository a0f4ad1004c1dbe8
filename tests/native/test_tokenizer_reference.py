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
}
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
    options = OPTIONS[1]
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


@pytest.mark.parametrize("options", [OPTIONS[1], OPTIONS[4]], ids=str)
def test_every_character_of_this_unicode_equals_the_reference(options: dict[str, str]) -> None:
    judge = Reference(**options)
    config = text_core.Config(*(part for pair in options.items() for part in pair))
    different = []
    for c in code_points_to_judge():
        source = f"{c} a{c}b".encode()
        if text_core.tokens(config, source) != [tuple(t) for t in judge.tokens(source)]:
            different.append(f"U+{ord(c):04X} {unicodedata.name(c, '')}")
    assert different == []


@settings(max_examples=100, deadline=None)
@given(source=st.one_of(mixed, one_script), options=st.sampled_from(OPTIONS))
def test_the_source_of_a_token_gives_that_token_alone(
    source: bytes, options: dict[str, str]
) -> None:
    for token, start, end, _ in ours(source, options, text_core.DOCUMENT):
        again = ours(source[start:end], options, text_core.QUERY)
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
        again = text_core.tokens(config, source[start:end], text_core.QUERY)
        assert [text for text, _, _, _ in again] == [token]
