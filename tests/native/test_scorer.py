# SPDX-License-Identifier: MIT
"""The scorer gives what a slow BM25 over phrases and trigrams of words gives."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemogram._native.query import Or, Scorer, compile, phrase, tokenizer_for

from ..reference import query as phrases
from ..reference import scoring as reference

COLUMNS = (1.0, 0.5)
BM25 = {"k": 1.2, "b": 0.6}
OPTIONS = {**phrases.DEFAULTS, "remove_diacritics": "0"}
KEPT = {**OPTIONS, "categories": "L* N* Co Mn Mc"}

pieces = st.sampled_from(
    [
        *("cache", "caches", "Cachés", "recached", "a", "ab", "abc", "abcd", "Ａ", "ß", "é"),
        *("牙医", "牙", "東京都", "テスト", "예약", "หมอฟัน", "หมอ", "ฟัน", "ก", "ี่", "ນ"),
        *("नमस्ते", "हिन्दी", "كتاب", "والكتاب", "🎉", "-", "、", " ", " ", "\0", "e\u0301", "\ud800"),
    ]
)
texts = st.lists(pieces, max_size=8).map("".join)
rows = st.lists(st.tuples(texts, texts), min_size=1, max_size=6)


def scored(
    asked: Sequence[str],
    found: Sequence[tuple[str, str]],
    words: str,
    weight: float,
    options: dict[str, str] = OPTIONS,
) -> tuple[list[float], list[float]]:
    leaves = [each for text in asked if (each := phrase(text)) is not None]
    matcher = compile(Or(leaves) if len(leaves) > 1 else leaves[0] if leaves else None)
    weights = [1.0 + place / 4 for place in range(len(matcher.phrases))]
    scorer = Scorer(
        matcher,
        weights,
        COLUMNS,
        7.5,
        **BM25,
        grams_of=words,
        grams_by=tokenizer_for(options),
        grams_weight=weight,
    )
    for row in found:
        scorer.add(*row)
    expected = reference.scores(
        matcher,
        weights,
        COLUMNS,
        7.5,
        found,
        **BM25,
        grams_of=words,
        options=options,
        grams_weight=weight,
    )
    return scorer.scores(), expected


@given(
    st.lists(texts, max_size=3),
    rows,
    texts,
    st.sampled_from((0.0, 0.5, 3.0)),
    st.sampled_from((OPTIONS, KEPT)),
)
@example([], [("หมอฟัน", ""), ("หมอ ฟัน", "")], "หมอฟัน", 1.0, OPTIONS)
@example([], [("ab", ""), ("abc", "ab")], "ab abc a", 1.0, OPTIONS)
def test_scores_are_those_of_the_reference(
    asked: list[str],
    found: list[tuple[str, str]],
    words: str,
    weight: float,
    options: dict[str, str],
) -> None:
    got, expected = scored(asked, found, words, weight, options)
    assert got == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("الكتاب", "قرأت كتابا جديدا", "قرأت رسالة جديدة"),  # a prefix and an ending
        ("Versicherung", "die Krankenversicherungen zahlen", "die Verkehrsampeln leuchten"),
        ("заказ", "о вашем заказе", "о вашем балконе"),
        ("hổ", "con hổ", "cái hồ"),  # told apart by a diacritic alone
    ],
)
def test_what_inflection_leaves_of_a_word_is_found(asked: str, near: str, far: str) -> None:
    (first, second), _ = scored([], [(near, ""), (far, "")], asked, 1.0)
    assert first > second


def test_grams_of_a_long_query_are_bounded() -> None:
    words = " ".join([*(f"{number:07d}" for number in range(5_000)), "quixotic"])
    matcher = compile(phrase("a"))
    scorer = Scorer(
        matcher, [1.0], [1.0], 5.0, **BM25,
        grams_of=words, grams_by=tokenizer_for(OPTIONS), grams_weight=1.0,
    )  # fmt: skip
    scorer.add("0000001")  # its trigrams are among the first of the query's
    scorer.add("quixotic")  # its own lie behind the bound
    near, far = scorer.scores()
    assert near > far == 0.0


def test_arguments_that_do_not_fit_are_refused() -> None:
    matcher = compile(phrase("a"))
    with pytest.raises(ValueError, match="one weight"):
        Scorer(matcher, [], [1.0], 5.0, **BM25)
    with pytest.raises(ValueError, match="positive"):
        Scorer(matcher, [1.0], [1.0], 0.0, **BM25)
    scorer = Scorer(matcher, [1.0], [1.0], 5.0, **BM25)
    with pytest.raises(ValueError, match="one text for each column"):
        scorer.add("a", "b")
    with pytest.raises(TypeError):
        scorer.add(3)  # type: ignore[arg-type]
    assert scorer.scores() == []


def test_an_empty_column_counts_nothing() -> None:
    matcher = compile(phrase("a"))
    scorer = Scorer(matcher, [1.0], [1.0, 1.0], 5.0, **BM25)
    scorer.add("a", None)
    scorer.add(None, None)
    first, second = scorer.scores()
    assert first > 0.0 == second
