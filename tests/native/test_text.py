# SPDX-License-Identifier: MIT
"""mnemogram.text: tokens and folded text for callers in Python."""

from __future__ import annotations

import ast
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import text
from mnemogram._native import text_core
from mnemogram.errors import InvalidArgument
from mnemogram.text import Token, fold, tokenize

any_text = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(
            "漢字臺ｶﾞが\u3099\u309a각\u1100\u1161\u11a8กำุ่🎉👍🏽🇯🇵\u200d\ufe0fＡéØ \ud83d\udc4d\0"
        ),
    ),
    max_size=20,
)


def test_offsets_are_in_code_points() -> None:
    assert tokenize("é把cacheA🎉") == [
        Token("e", 0, 1, False),
        Token("把", 1, 2, False),
        Token("cachea", 2, 8, False),
        Token("🎉", 8, 9, False),
    ]


def test_the_last_character_of_a_run_is_colocated_and_left_out_of_queries() -> None:
    assert tokenize("东京都") == [
        Token("东京", 0, 2, False),
        Token("京都", 1, 3, False),
        Token("都", 2, 3, True),
    ]
    assert tokenize("东京都", query=True) == tokenize("东京都")[:2]


def test_the_defaults_are_those_of_a_store() -> None:
    assert [t.text for t in tokenize("Ấ臺")] == ["a", "台"]
    assert [t.text for t in tokenize("Ấ臺", remove_diacritics=1, variants=0)] == ["ấ", "臺"]
    assert [t.text for t in tokenize("Øﾃ", compat=True)] == ["ø", "ﾃ"]
    assert [t.text for t in tokenize("a-b", tokenchars="-")] == ["a-b"]


@pytest.mark.parametrize(
    "options", [{"variant": 1}, {"variants": 2}, {"remove_diacritics": "x"}, {"categories": "Q"}]
)
def test_a_wrong_option_is_an_invalid_argument(options: dict[str, str | int]) -> None:
    with pytest.raises(InvalidArgument, match=r"must be|unknown"):
        tokenize("x", **options)


def test_a_lone_surrogate_is_a_separator() -> None:
    assert tokenize("bad\ud83dworse \udc4d雨") == [
        Token("bad", 0, 3, False),
        Token("worse", 4, 9, False),
        Token("雨", 11, 12, False),
    ]


@settings(max_examples=200, deadline=None)
@given(source=any_text)
def test_spans_lie_in_the_text_and_never_go_back(source: str) -> None:
    last = (0, 0)
    for token in tokenize(source):
        assert 0 <= token.start < token.end <= len(source)
        assert last <= (token.start, token.end) or token.colocated
        last = (token.start, token.end)


@settings(max_examples=200, deadline=None)
@given(source=any_text)
def test_code_point_offsets_are_the_byte_offsets_of_the_same_tokens(source: str) -> None:
    raw = source.encode("utf-8", "surrogatepass")
    config = text.config()
    for in_text, in_bytes in zip(
        text_core.tokens(config, source), text_core.tokens(config, raw), strict=True
    ):
        start, end = (len(source[:at].encode("utf-8", "surrogatepass")) for at in in_text[1:3])
        assert (in_text[0], start, end, in_text[3]) == in_bytes


@settings(max_examples=200, deadline=None)
@given(source=any_text)
def test_folding_twice_changes_nothing(source: str) -> None:
    assert fold(fold(source)) == fold(source)


@settings(max_examples=200, deadline=None)
@given(source=st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=12))
def test_the_normal_forms_of_cjk_fold_alike(source: str) -> None:
    kept = "".join(
        c for c in source if unicodedata.name(c, "").startswith(("HANGUL S", "KATAKANA"))
    )
    assert fold(unicodedata.normalize("NFD", kept)) == fold(kept)


@pytest.mark.parametrize(
    ("source", "folded"),
    [
        ("Jazz", "jazz"),
        ("ＪＡＺＺ", "jazz"),
        ("  QX-417,  rev. B! ", "qx 417 rev b"),
        ("把cacheA节点", "把cachea节点"),
        ("臺灣 大學", "台湾 大学"),
        ("ﾊﾞｯｸｱｯﾌﾟ", "バックアップ"),
        ("예약표", "예약표"),
        ("👍🏽👍", "👍👍"),
        ("...", ""),
        ("", ""),
    ],
)
def test_equal_looking_texts_fold_alike(source: str, folded: str) -> None:
    assert fold(source) == folded


def test_the_versions_are_those_of_the_text_core() -> None:
    assert text.RULES_VERSION >= 1
    assert text.UNICODE_VERSION.count(".") == 2


def test_the_stub_names_what_the_module_has() -> None:
    stub = Path(text.__file__).with_name("_native") / "text_core.pyi"
    names = set()
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    assert names == {name for name in vars(text_core) if not name.startswith("_")}


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError):
        text_core.tokens(text.config(), 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        text_core.tokens(None, "x")  # type: ignore[arg-type]
