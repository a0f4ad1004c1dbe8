# SPDX-License-Identifier: MIT
"""Display cuts keep grapheme clusters whole; excerpts mark the exact raw characters."""

from __future__ import annotations

import itertools
import re
import time
import unicodedata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from mnemogram._native.query import compile, parse
from mnemogram._native.snippet import cut, cut_around, excerpt, merge_spans
from mnemogram.errors import QueryTimeout

from ..reference import snippet as reference

CLUSTERS = [
    "e\u0301", "각", "각", "👩‍💻", "👨‍👩‍👧", "👍🏽", "🇯🇵", "❤️", "1️⃣", "क्षि", "ก็", "กำ", "မြ", "\r\n",
    "நி", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "の゙", "ﾊﾞ", "؀1",
]  # fmt: skip
hard_text = st.text(
    st.one_of(
        st.sampled_from(
            "ab \r\n\u0301\u0308\u200c\u200d\ufe0f\u0600\u0e01\u0e33\u0915\u094d\u093f\u0937\u1100"
            "\u1161\u11a8가각🇯🇵👩💻❤🏽\u0d4e\u103a\u1039\u1000\U000e0067\U000e007f好\u0a95\u0acd"
        ),
        st.characters(),
    ),
    max_size=24,
)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_cluster_is_shown_whole_or_not_at_all(cluster: str) -> None:
    text = "ab" + cluster + "cd"
    for limit in range(len(text)):
        shown, truncated, length = cut(text, limit)
        assert truncated
        assert length == len(text)
        assert shown in ("", "a", "ab", "ab" + cluster, "ab" + cluster + "c")


@given(hard_text, st.integers(0, 30))
@example("\u1039\u0a95", 1)
@example("क\u094d\u200dक", 2)
@example("🇯🇵🇯🇵🇯", 3)
def test_the_native_cut_is_the_reference_cut(text: str, limit: int) -> None:
    assert cut(text, limit) == reference.cut(text, limit)


@given(hard_text)
def test_the_reference_clusters_are_those_of_another_implementation(text: str) -> None:
    # regex joins a linker to a consonant even without a consonant before it (not GB9c).
    if not any(reference.letter_of(character) == "k" for character in text):
        assert reference.clusters(text) == regex.findall(r"\X", text)


@given(hard_text, st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_a_window_is_a_slice_within_the_limit_at_clusters(
    text: str, limit: int, start: int, end: int
) -> None:
    shown, truncated, length, offset = cut_around(text, limit, start, end)
    assert len(shown) <= limit or not truncated
    assert text[offset : offset + len(shown)] == shown
    assert truncated == (len(shown) < length == len(text)) or limit >= length
    pieces = reference.clusters(text)
    bounds = {len("".join(pieces[:n])) for n in range(len(pieces) + 1)}
    assert {offset, offset + len(shown)} <= bounds


def test_a_window_holds_a_span_that_fits() -> None:
    text = "x" * 9_000 + "needle" + "y" * 9_000
    shown, truncated, length, offset = cut_around(text, 4_000, 9_000, 9_006)
    assert (truncated, length) == (True, 18_006)
    assert shown.index("needle") + offset == 9_000
    assert len(shown) == 4_000


def test_a_window_stays_at_the_start_while_the_span_is_there() -> None:
    assert cut_around("needle" + "y" * 9_000, 4_000, 0, 6)[3] == 0


@pytest.mark.parametrize("limit", [-1, -100])
def test_a_negative_limit_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        cut("text", limit)
    with pytest.raises(ValueError, match="negative"):
        cut_around("text", limit, 0, 1)


@pytest.mark.parametrize("text", [None, b"text", 3])
def test_a_text_that_is_no_string_is_refused(text: object) -> None:
    with pytest.raises(TypeError):
        cut(text, 3)  # type: ignore[arg-type]


def test_spans_are_widened_to_clusters_and_joined() -> None:
    assert merge_spans("e\u0301a👩‍💻b", [(3, 4), (1, 2), (2, 3)]) == [(0, 6)]
    assert merge_spans("abcdef", [(4, 5), (0, 1), (9, 12), (3, 3)]) == [(0, 1), (4, 5)]


REACH = 4096  # code points that are looked at on either side of a place

LONG_CLUSTERS = ["👩\u200d", "\u1100", "\u11a8", "🇯", "\u0301", "\ufe0f", "क\u094d", "\u0600",
                 "\u200d", "🏽", "\u094d", "a\u0301", "\r\n", "\U000e0067"]  # fmt: skip


@pytest.mark.parametrize("piece", LONG_CLUSTERS)
def test_a_boundary_is_looked_for_within_reach(piece: str) -> None:
    text = "x" + piece * (8_000 // len(piece)) + "y"
    for limit in (0, 1, 2, 3, 100, 101, 4_094, 4_095, 4_096, 4_097, 4_098, 5_000, 7_999):
        shown, truncated, length = cut(text, limit)
        assert (len(shown), truncated, length) == (
            reference.floor(text, limit, REACH), True, len(text)
        )  # fmt: skip


@given(hard_text, st.integers(0, 30))
def test_a_boundary_within_reach_is_that_of_the_clusters(text: str, limit: int) -> None:
    assert reference.floor(text, min(limit, len(text)), REACH) == len(reference.cut(text, limit)[0])


@pytest.mark.parametrize("piece", LONG_CLUSTERS)
def test_spans_in_a_long_cluster_are_joined_or_stay_apart(piece: str) -> None:
    text = "x" + piece * (20_000 // len(piece)) + "y"
    spans = merge_spans(text, [(i, i + 1) for i in range(0, len(text), 37)])
    assert all(left[1] < right[0] for left, right in itertools.pairwise(spans))
    assert all(any(a <= i < b for a, b in spans) for i in range(0, len(text), 37))


@given(hard_text, st.lists(st.tuples(st.integers(-2, 26), st.integers(-2, 26)), max_size=6))
def test_widened_spans_are_whole_clusters(text: str, spans: list[tuple[int, int]]) -> None:
    expected: list[tuple[int, int]] = []
    at = 0
    for cluster in reference.clusters(text):
        end = at + len(cluster)
        if any(max(a, at) < min(b, end) for a, b in spans):
            if expected and expected[-1][1] == at:
                expected[-1] = (expected[-1][0], end)
            else:
                expected.append((at, end))
        at = end
    assert merge_spans(text, spans) == expected


def test_the_time_for_an_excerpt_is_given_to_the_matcher() -> None:
    matcher = compile(parse("needle"))
    with pytest.raises(QueryTimeout):
        excerpt("word " * 10_000 + "needle", matcher, deadline=time.monotonic() - 1)
    assert "⟦needle⟧" in excerpt("a needle", matcher, deadline=time.monotonic() + 60)


def marked(text: str, query: str, **options: object) -> str:
    return excerpt(text, compile(parse(query)), mark_open="[", mark_close="]", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("call the ＡＰＩ now", "api", "call the [ＡＰＩ] now"),
        ("検証ﾃｽﾄ完了", "テスト", "検証[ﾃｽﾄ]完了"),
        ("ﾊﾞｯｸｱｯﾌﾟを取る", "バックアップ", "[ﾊﾞｯｸｱｯﾌﾟ]を取る"),
        ("明早九点预约牙医复诊", "牙医", "明早九点预约[牙医]复诊"),
        ("今天下雨了", "雨", "今天下[雨]了"),
        ("臺灣大學的圖書館", "台湾大学", "[臺灣大學]的圖書館"),
        ("把cacheA节点扩容", "cacheA", "把[cacheA]节点扩容"),
        ("un cafe\u0301 noir", "café", "un [cafe\u0301] noir"),
        ("Øresund", "oresund", "[Øresund]"),
        ("see job_new1 now", "job_new", "see [job_new]1 now"),
        ("party 🎉 tonight", "🎉", "party [🎉] tonight"),
        ("พรุ่งนี้นัดหมอฟัน", "หมอฟัน", "พรุ่งนี้นัด[หมอฟัน]"),
        ("a b c", "zzz", "a b c"),
        ("一二、三四", '"一二 三四"', "[一二、三四]"),
        ("cache queue", "cache NOT tea", "[cache] queue"),
        ("bad \ud83d cache", "cache", "bad \ud83d [cache]"),
    ],
)
def test_an_excerpt_marks_the_exact_raw_characters(text: str, query: str, shown: str) -> None:
    assert marked(text, query) == shown


def test_marks_inside_words_follow_the_characters_found() -> None:
    matcher = compile(parse("che_co"), substring=True)
    assert excerpt("ma\u0301 cáchè_cönfig", matcher) == "ma\u0301 cá⟦chè_cö⟧nfig"


def test_an_excerpt_shows_the_place_where_most_of_the_query_stands() -> None:
    text = "alpha " + "x " * 400 + "alpha near beta " + "y " * 400 + "beta"
    shown = marked(text, "alpha beta", width=60)
    assert "[alpha] near [beta]" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_marks_and_ellipsis_are_the_callers() -> None:
    matcher = compile(parse("beta"))
    shown = excerpt("a " * 200 + "beta" + " c" * 200, matcher, width=11, mark_open="<b>",
                    mark_close="</b>", ellipsis="~")  # fmt: skip
    assert shown.startswith("~")
    assert "<b>beta</b>" in shown
    assert len(shown) <= 11 + 7 + 2


def test_a_match_longer_than_the_excerpt_is_shown_from_its_start() -> None:
    text = "start " + "word " * 100
    shown = marked(text, '"' + ("word " * 60).strip() + '"', width=20)
    assert shown.startswith("…[word word")


@given(
    st.text(st.sampled_from("ab \n牙医雨é👩‍💻🇯🇵ｱﾞ각กำ"), max_size=80),
    st.sampled_from(["a", "牙医", "雨", "ab", "각", "ア", "🇯🇵", "ก", "b OR 医"]),
    st.integers(1, 40),
)
def test_an_excerpt_without_its_marks_is_a_slice_at_clusters(
    text: str, query: str, width: int
) -> None:
    shown = excerpt(text, compile(parse(query)), width=width, mark_open="\x01", mark_close="\x02",
                    ellipsis="\x03")  # fmt: skip
    bare = shown.translate({1: None, 2: None, 3: None})
    assert bare in text
    assert len(bare) <= width
    pieces = reference.clusters(text)
    bounds = {len("".join(pieces[:n])) for n in range(len(pieces) + 1)}
    starts = [i for i in range(len(text) + 1) if text.startswith(bare, i)]
    assert any({i, i + len(bare)} <= bounds for i in starts)
    assert shown.startswith("\x03") or text.startswith(bare)
    assert shown.endswith("\x03") or text.endswith(bare)
    assert shown.count("\x01") == shown.count("\x02")


def test_a_match_at_the_end_of_a_very_long_message_is_found() -> None:
    text = "填充文字，没有要找的词。" * 500_000 + "牙医"
    shown = marked(text, "牙医", width=40)
    assert shown.startswith("…")
    assert shown.endswith("[牙医]")


def test_the_table_of_clusters_is_what_its_script_finds() -> None:
    native = Path(__file__).parents[2] / "native" / "fts5_cjk" / "text"
    spec = spec_from_file_location("make_grapheme_table", native / "make_grapheme_table.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    source = (native / "grapheme_table.h").read_text("utf-8")
    _, stage1, stage2 = (
        [int(number) for number in re.findall(r"(\d+),", part)]
        for part in source.split("static const uint8_t")
    )
    size = script.PAGE
    table = [value for page in stage1 for value in stage2[page * size : (page + 1) * size]]
    found = script.properties()
    # A later Unicode assigns more; what this Python knows has not changed.
    assert [
        (hex(code), table[code], found[code])
        for code in range(0x110000)
        if table[code] != found[code]
        and unicodedata.category(chr(code)) != "Cn"
        and code not in script.HANGUL_SYLLABLES
    ] == []
