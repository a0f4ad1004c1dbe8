# SPDX-License-Identifier: MIT
"""Text without CJK and the extras gives exactly the tokens of SQLite's own unicode61."""

from __future__ import annotations

import bisect
import unicodedata
from collections.abc import Callable
from functools import cache

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram._native import text_core
from tests.reference import tokenizer as reference

ARGUMENTS: list[list[str]] = [
    [],
    ["remove_diacritics", "0"],
    ["remove_diacritics", "2"],
    ["categories", "L* N* Co Mn"],
    ["categories", "Ll Sm  P*\tSo"],
    ["categories", ""],
    ["categories", "Zs Cc", "CATEGORIES", "Lu M*"],
    ["tokenchars", "-_@·€", "separators", "xé1"],
    ["separators", "abé", "tokenchars", "é+é", "remove_diacritics", "0"],
    ["Remove_Diacritics", "2", "tokenchars", "\ufffd\u0301"],
]
Spans = list[tuple[str, int, int]]


def unicode61(source: bytes, arguments: list[str]) -> Spans:
    connection = apsw.Connection(":memory:")
    tokens = connection.fts5_tokenizer("unicode61", arguments)(
        source, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False
    )
    return [(token, start, end) for start, end, token in tokens]


def ours(source: bytes, arguments: list[str]) -> Spans:
    tokens = text_core.tokens(text_core.Config(*arguments), source)
    return [(token, start, end) for token, start, end, _ in tokens]


@cache
def code_points() -> tuple[int, ...]:
    """What unicode61's tables hold, and some of what they do not."""
    # SQLite reads U+FFFE and U+FFFF as U+FFFD, but for a few releases that did not.
    every = [cp for cp in range(0x110000) if not (0xD800 <= cp < 0xE000 or cp >> 1 == 0x7FFF)]
    # With a category that holds nothing, only the unknown are token characters.
    source = "\0".join(map(chr, every)).encode()
    unknown = {ord(token) for token, _, _ in unicode61(source, ["categories", "Cs"])}
    return tuple(cp for cp in every if cp not in unknown or cp % 211 == 0)


def by_character(pattern: str, tokenize: Callable[[bytes], Spans]) -> dict[int, Spans]:
    """The tokens of the pattern with each code point put in, by code point."""
    starts, at = [], 0
    for cp in code_points():
        starts.append(at)
        at += len(pattern.format(chr(cp)).encode())
    groups: dict[int, Spans] = {}
    source = "".join(pattern.format(chr(cp)) for cp in code_points()).encode()
    for token, start, end in tokenize(source):
        index = bisect.bisect_right(starts, start) - 1
        place = starts[index]
        groups.setdefault(code_points()[index], []).append((token, start - place, end - place))
    return groups


def differences(pattern: str, arguments: list[str], ours_too: list[str]) -> list[int]:
    wanted = by_character(pattern, lambda source: unicode61(source, arguments))
    found = by_character(pattern, lambda source: ours(source, [*arguments, *ours_too]))
    return [cp for cp in code_points() if wanted.get(cp) != found.get(cp)]


def is_cjk(cp: int) -> bool:
    c = chr(cp)
    newer = ((0x9FCD, 0x9FFF), (0x1AFF0, 0x1B16F), (0x20000, 0x3FFFD))
    return reference.is_cjk(c) or reference.within(c, newer)


def is_extra(cp: int) -> bool:
    """Is it one of those for which the rules ask for more than unicode61?"""
    c = chr(cp)
    if is_cjk(cp) or reference.is_cluster(c) or reference.within(c, reference.PICTOGRAPHS):
        return True
    return 0xFF10 <= cp <= 0xFF5A or reference.fold_stroke(c) != c


def is_new_letter(cp: int) -> bool:
    return unicodedata.category(chr(cp)) in ("Lu", "Ll", "Cn") and not reference.unicode61_category(
        chr(cp)
    )


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
@pytest.mark.parametrize("pattern", ["\0{}", "\0a{}b"])
def test_every_character_that_unicode61_knows_gives_its_tokens(
    pattern: str, arguments: list[str]
) -> None:
    different = differences(pattern, arguments, [])
    assert [f"U+{c:04X}" for c in different if not is_extra(c) and not is_new_letter(c)] == []


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_compat_gives_unicode61_for_every_character_outside_of_cjk(arguments: list[str]) -> None:
    different = differences("\0a{}b", arguments, ["compat", "1"])
    assert [f"U+{c:04X}" for c in different if not is_cjk(c)] == []


PLAIN = "abcXYZ019éÀßÿĀſΑΣςάЖйёאبहिाẤﬁ²½ª \t.,-_'\"@€·\u0301\u0327\u0345\u0e3f\u2019\u200b\ue000"


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from(PLAIN), max_size=40), arguments=st.sampled_from(ARGUMENTS))
def test_random_text_of_plain_scripts_gives_the_tokens_of_unicode61(
    text: str, arguments: list[str]
) -> None:
    assert ours(text.encode(), arguments) == unicode61(text.encode(), arguments)


BAD_ARGUMENTS = [
    ["remove_diacritics"],
    ["remove_diacritics", "3"],
    ["remove_diacritics", "11"],
    ["remove_diacritics", ""],
    ["categories", "L"],
    ["categories", "Q* L*"],
    ["categories", "l*"],
    ["tokenchar", "x"],
    ["", ""],
]


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS, ids=str)
def test_arguments_that_unicode61_refuses_are_refused(arguments: list[str]) -> None:
    with pytest.raises(apsw.SQLError):
        unicode61(b"", arguments)
    with pytest.raises(ValueError, match=r"\w"):
        text_core.Config(*arguments)


@pytest.mark.parametrize("name", [*reference.SWITCHES, "compat"])
@pytest.mark.parametrize("value", ["", "2", "on", "01"])
def test_our_own_switches_take_0_and_1_alone(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be 0 or 1"):
        text_core.Config(name, value)


def test_arguments_are_text_without_nul() -> None:
    with pytest.raises(TypeError, match="str"):
        text_core.Config("variants", 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NUL"):
        text_core.Config("tokenchars", "a\0b")
