# SPDX-License-Identifier: MIT
"""Scene keys: idempotent, ordered under prefix, within the limit, never merged."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemogram._native.scene_key import MAX_BYTES, normalize_scene_key

from ..reference import scene_key as reference

level_text = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("aB9_:-. /\\%團团чあ각กเ้नमि́̈ﬃİßẞŉΐ﹅ﾊﾞ①½／·　🎉👩‍💻"),
    ),
    max_size=40,
)
key_text = st.lists(level_text, max_size=6).map("/".join)


@pytest.mark.parametrize(
    ("key", "normal"),
    [
        ("chan:qq/peer:group_1", "chan:qq/peer:group_1"),
        ("Chan:QQ / Peer:Group 1", "chan:qq/peer:group_1"),
        ("tool:qq_get", "tool:qq_get"),
        ("team-a", "team-a"),
        ("3F2504E0-4F89-11D3-9A0C-0305E82C3301", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
        ("团队", "团队"),
        ("chan:чат", "chan:чат"),
        ("ＣＨＡＮ：ｑｑ／ｐｅｅｒ", "chan:qq/peer"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
        ("हिन्दी/กำหนด/예약", "हिन्दी/กํ\u0e32หนด/예약"),
        ("a//b", "a/b"),
        ("/ a / \u3000 /b/", "a/b"),
        ("__a__b__", "a_b"),
        ("a % \\ * ? b", "a_b"),
        ("v1.2:beta-3", "v1.2:beta-3"),
        ("a\x00b\ud800c", "a_b_c"),
        ("🎉", ""),
        (" \t\n", ""),
        ("", ""),
    ],
)
def test_a_key_has_this_normal_form(key: str, normal: str) -> None:
    assert normalize_scene_key(key) == normal


@given(key_text)
@example("x" * 97)
@example("a/" * 60)
@example("好" * 40 + "/" + "好" * 40 + "/" + "好" * 40)
@example("a" + "\u0301" * 200)
def test_the_native_form_is_the_reference_form(key: str) -> None:
    assert normalize_scene_key(key) == reference.normalize_scene_key(key)


@given(key_text)
def test_normalising_again_changes_nothing(key: str) -> None:
    once = normalize_scene_key(key)
    assert normalize_scene_key(once) == once


@given(key_text)
def test_a_normal_form_stays_within_its_limit_and_alphabet(key: str) -> None:
    normal = normalize_scene_key(key)
    assert len(normal.encode()) <= MAX_BYTES
    assert unicodedata.normalize("NFKC", normal.casefold()) == normal
    if normal:
        for level in normal.split("/"):
            assert level.strip("_") == level != ""
            assert all(c == "_" or reference.stays(c) for c in level)


@given(key_text, level_text)
def test_a_child_starts_with_its_parent_wherever_there_is_room(parent: str, level: str) -> None:
    above, below = normalize_scene_key(parent), normalize_scene_key(parent + "/" + level)
    if not normalize_scene_key(level):
        assert below == above
    elif not above:
        assert below == normalize_scene_key(level)
    elif len(above.encode()) <= MAX_BYTES - 15:
        assert below.startswith(above + "/")
    else:
        assert below != above


def test_a_short_child_of_a_cut_parent_is_kept_whole() -> None:
    parent = "chan:mail/" + "subject " * 30
    assert normalize_scene_key(parent + "/thread:7") == normalize_scene_key(parent) + "/thread:7"


def test_siblings_that_differ_only_past_the_cut_stay_apart() -> None:
    parent = normalize_scene_key("chan:qq/peer:" + "群" * 60 + "1")
    other = normalize_scene_key("chan:qq/peer:" + "群" * 60 + "2")
    assert parent != other
    assert parent[:20] == other[:20]


def test_the_cut_never_splits_a_grapheme() -> None:
    normal = normalize_scene_key("각" * 60)
    assert normal.rpartition("-")[0] == "각" * (len(normal) - 13)


def test_a_chain_of_levels_longer_than_the_limit_never_merges() -> None:
    chain = [normalize_scene_key("/".join(["level"] * n)) for n in range(1, 200)]
    assert len(set(chain)) == len(chain)
    assert max(len(key.encode()) for key in chain) <= MAX_BYTES


def random_levels(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    letters = [
        chr(code)
        for first, last in [
            (0x61, 0x7A), (0x30, 0x39), (0xE0, 0xF6), (0x3B1, 0x3C9), (0x430, 0x44F),
            (0x5D0, 0x5EA), (0x627, 0x63A), (0x905, 0x939), (0xE01, 0xE2E), (0x10D0, 0x10F0),
            (0x1780, 0x17A2), (0x3041, 0x3096), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
            (0x20000, 0x2A6DF),
        ]
        for code in range(first, last + 1, 1 + (last - first) // 400)
        if unicodedata.category(chr(code)) != "Cn"
    ]  # fmt: skip
    levels: set[str] = set()
    while len(levels) < count:
        level = "".join(rng.choices(letters, k=rng.randint(6, 70)))
        levels.add(reference.folded(level))
    return sorted(levels)


@pytest.mark.parametrize(
    "count", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)], ids=["short", "million"]
)
def test_random_keys_of_every_script_never_merge(count: int) -> None:
    keys = random_levels(count, seed=count)
    normal = {normalize_scene_key(key) for key in keys}
    assert len(normal) == count
    assert max(len(key.encode()) for key in normal) <= MAX_BYTES


@pytest.mark.parametrize("key", [None, 7, b"chan:qq"])
def test_a_key_that_is_no_string_is_refused(key: object) -> None:
    with pytest.raises(TypeError):
        normalize_scene_key(key)  # type: ignore[arg-type]
