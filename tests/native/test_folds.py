# SPDX-License-Identifier: MIT
"""The law of every fold: what folds alike finds each other, and is marked exactly."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mnemogram._native import query as q
from mnemogram.text import STORE_OPTIONS, excerpt, tokenize
from tests.reference import tokenizer as reference

Pairs = st.SearchStrategy[tuple[str, str]]
EVERY = [
    chr(code)
    for code in range(0x80, 0x30000)
    if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co", "Cc")
]


def spelled(letters: Mapping[str, list[str]], *, size: int = 8) -> Pairs:
    """Return two spellings of one word, letter by letter from the forms of each letter."""
    letter = st.sampled_from(sorted(letters)).flatmap(
        lambda each: st.tuples(st.sampled_from(letters[each]), st.sampled_from(letters[each]))
    )
    words = st.lists(letter, min_size=2, max_size=size)
    return words.map(
        lambda pairs: ("".join(each for each, _ in pairs), "".join(each for _, each in pairs))
    )


def by(key: Callable[[str], str | None], characters: list[str]) -> dict[str, list[str]]:
    classes: dict[str, list[str]] = {}
    for each in characters:
        found = key(each)
        if found:
            classes.setdefault(found, []).append(each)
    return classes


def with_marks(letters: str, marks: list[str]) -> Pairs:
    return spelled({each: [each, *(each + mark for mark in marks)] for each in letters})


def invisible() -> Pairs:
    unseen = [each for each in EVERY if reference.is_invisible(each)]
    pieces = st.lists(st.sampled_from(["", "", *unseen]), min_size=5, max_size=5)
    return pieces.map(
        lambda each: ("dentist", "".join(map("".join, zip("denti", each, strict=True))) + "st")
    )


def digits() -> Pairs:
    every = [each for each in EVERY if unicodedata.category(each) == "Nd"]
    return spelled({**by(lambda each: str(unicodedata.decimal(each)), every)})


def forms() -> Pairs:
    def letters(character: str) -> str | None:
        form = reference.compatibility_form(character)
        # Case is told apart by another fold; a mark at an end belongs to nobody.
        plain = form != character and form.isascii() and form.isalpha()
        return form.lower() if plain else None

    classes = by(letters, [each for each in EVERY if not reference.is_cjk(each)])
    return spelled({form: [form, *members] for form, members in classes.items()}, size=5)


def two_letters() -> Pairs:
    pairs = {"ss": ["ss", "ß", "ẞ"], "ae": ["ae", "æ", "Æ"], "oe": ["oe", "œ", "Œ"],
             "th": ["th", "þ", "Þ"], "ij": ["ij", "ĳ", "Ĳ"]}  # fmt: skip
    return spelled({**pairs, "x": ["x", "X"]})


def han() -> Pairs:
    simple = {key: value for key, value in reference.variants().items() if len(key + value) == 2}
    groups = [[key, value] for key, value in sorted(simple.items())][::7]
    groups += [sorted(each) for each in reference.forms_of_han()]
    return spelled({group[0]: group for group in groups if len(group[0]) == 1}, size=4)


ARABIC = {"ي": list("يیى"), "ك": list("كک"), "ه": list("هہھ"), "ا": list("اأإآٱ"), "ب": ["ب"]}
HEBREW_POINTS = [each for each in EVERY if "HEBREW POINT" in unicodedata.name(each, "")
                 and unicodedata.category(each) == "Mn"]  # fmt: skip
HARAKAT = [chr(code) for code in range(0x64B, 0x653)] + ["\u0640"]
KINDS: dict[str, Pairs] = {
    "invisible": invisible(),
    "digits": digits(),
    "Hebrew points": with_marks("אבגדהוז", HEBREW_POINTS),
    "Arabic vowels": with_marks("بتثجحس", HARAKAT),
    "Greek tonos": spelled({"α": list("αάἀἄᾶ"), "ο": list("οόὀ"), "λ": ["λ"], "γ": ["γ"]}),
    "nukta": spelled({"क": ["क", "क़", "क\u093c"], "फ": ["फ", "फ़"], "ल": ["ल"]}),
    "ё": spelled({"е": list("еёЕЁ"), "л": ["л", "Л"], "к": ["к"]}),
    "Arabic letters": spelled(ARABIC),
    "two letters": two_letters(),
    "forms": forms(),
    "Han forms": han(),
}


def folded(text: str) -> list[str]:
    return [each.text for each in tokenize(text, query=True, **STORE_OPTIONS)]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_folds_alike_finds_each_other_and_is_marked_exactly(
    kind: str, data: st.DataObject
) -> None:
    asked, said = data.draw(KINDS[kind])
    assert folded(asked) == folded(said), (asked, said)
    phrase = q.phrase(asked, config=STORE_OPTIONS)
    assert phrase is not None
    matcher = q.compile(phrase, adjacent=True)
    text = f"。{said}。" if kind == "Han forms" else f"go {said} go"
    start = text.index(said)
    assert [each[1:] for each in matcher.occurrences(text)] == [(start, start + len(said))]
    assert excerpt(text, matcher) == text.replace(said, f"⟦{said}⟧")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(KINDS)), st.data())
def test_what_does_not_fold_alike_does_not_find_each_other(
    one: str, other: str, data: st.DataObject
) -> None:
    asked, said = data.draw(KINDS[one])[0], data.draw(KINDS[other])[1]
    assume(folded(asked) != folded(said))
    phrase = q.phrase(asked, config=STORE_OPTIONS)
    assert phrase is not None
    spans = [each[1:] for each in q.compile(phrase, adjacent=True).occurrences(f"go {said} go")]
    assert (3, 3 + len(said)) not in spans
