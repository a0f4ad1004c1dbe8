# SPDX-License-Identifier: MIT
"""The scorer gives what a slow BM25 over phrases and trigrams of words gives."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemogram._native.query import (
    UNIT_NONE,
    UNIT_TYPED,
    Or,
    Scorer,
    compile,
    phrase,
    tokenizer_for,
)
from mnemogram.text import PLAIN_OPTIONS

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


def facts(query: str, text: str) -> tuple[frozenset[int], int, bool, int]:
    units = [found for word in query.split() if (found := phrase(word)) is not None]
    typed = phrase(query)
    assert typed is not None
    matcher = compile(Or([*units, typed]))
    numbers = {each: place for place, each in enumerate(units)}
    scorer = Scorer(
        matcher,
        [1.0] * len(matcher.phrases),
        [1.0],
        5.0,
        **BM25,
        units=[numbers.get(each, UNIT_TYPED) for each in matcher.phrases],
        spellings=[each.text if each in numbers else None for each in matcher.phrases],
        plain=tokenizer_for(PLAIN_OPTIONS),
    )
    scorer.add(text)
    return scorer.about(0)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("red key", "a red key", ({0, 1}, 0, True, 0)),
        ("red key", "a key, red", ({0, 1}, 0, False, 0)),
        ("red key", "red is red. Key and red", ({0, 1}, 0, False, 0)),
        ("red key", "red one two key", ({0, 1}, 0, False, 2)),
        ("red key", "red one", ({0}, 0, False, 0)),
        ("red key", "blue", (set(), 0, False, 0)),
        ("caf\u00e9 a", "a Cafe\u0301", ({0, 1}, 0, False, 0)),
        ("caf\u00e9 a", "a cafe", ({0, 1}, 1, False, 0)),
        ("資料 a", "a 资料", ({0, 1}, 1, False, 0)),
        ("資料 a", "a 资料 and 資料", ({0, 1}, 0, False, 0)),
    ],
)
def test_facts_of_a_text(query: str, text: str, expected: tuple[set[int], int, bool, int]) -> None:
    units, folded, typed, apart = facts(query, text)
    assert (set(units), folded, typed, apart) == expected


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 5))
def test_a_passage_counts_the_same_wherever_it_stands(before: int, after: int, times: int) -> None:
    matcher = compile(phrase("heron"))
    scorer = Scorer(matcher, [1.0], [1.0], 5.0, **BM25, passage=10)
    text = "heron " * times
    scorer.add("other " * before + text + "other " * after)
    scorer.add(text + "other " * 10)
    got, expected = scorer.scores()
    length = before + after + times
    assert got == pytest.approx(expected) if length >= 10 else got >= expected


def test_a_long_text_without_a_match_has_no_score() -> None:
    scorer = Scorer(compile(phrase("a")), [1.0], [1.0], 5.0, **BM25, passage=10)
    scorer.add("other " * 50)
    assert scorer.scores() == [0.0]


def test_units_and_spellings_of_another_number_are_refused() -> None:
    matcher = compile(phrase("a"))
    with pytest.raises(ValueError, match="one unit"):
        Scorer(matcher, [1.0], [1.0], 5.0, **BM25, units=[UNIT_NONE, 1])
    with pytest.raises(IndexError):
        Scorer(matcher, [1.0], [1.0], 5.0, **BM25).about(0)
