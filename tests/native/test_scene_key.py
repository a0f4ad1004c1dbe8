# SPDX-License-Identifier: MIT
"""Scene keys: idempotent, ordered under prefix, within the limit, never merged."""

from __future__ import annotations

import itertools
import random
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemogram._native.scene_key import (
    IDENTITY_LEVELS,
    MAX_BYTES,
    normalize_scene_key,
    normalized,
    scene_level,
    scene_path,
)

from ..reference import scene_key as reference

level_text = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("aB9_:-. /\\%團团чあ각กเ้नमि́̈ﬃİßẞŉΐ﹅ﾊﾞ①½／·　🎉👩‍💻"),
    ),
    max_size=40,
)
key_text = st.lists(level_text, max_size=6).map("/".join)
# Names of few, treacherous characters: two of them often differ in one alone, or in none.
near_text = st.text(
    st.sampled_from("aAàｃC+#_ -.:/\u3000\u0301ßẞsSİi\u0307ςσΣ🌙🌸\u200d\ufe0f\x00\ud800"),
    max_size=5,
)
long_text = st.lists(
    st.one_of(
        level_text,
        st.sampled_from(IDENTITY_LEVELS).flatmap(
            lambda prefix: level_text.map(lambda name: prefix + name * 3)
        ),
    ),
    max_size=8,
).map("/".join)


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
        ("Straße", "straße"),
        ("STRAẞE", "straße"),
        ("STRASSE", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("İzmir", "i̇zmir"),
        ("cafe\u0301", "café"),
        ("हिन्दी/กำหนด/예약", "हिन्दी/กํ\u0e32หนด/예약"),
        ("a//b", "a/b"),
        ("/ a / \u3000 /b/", "a/b"),
        ("a_b", "a_b"),
        ("a \u3000\t b", "a_b"),
        ("__a__b__", "a_b-mitvs5liz226"),
        ("topic:c++", "topic:c-m4owytrmi4bb"),
        ("topic:c#", "topic:c-ju6bqlfkvz5x"),
        ("topic:c", "topic:c"),
        ("a_b@x", "a_b_x-ckr4as5ngqg6"),
        ("a+b@x", "a_b_x-6lomf2nvzqbl"),
        ("chan:tg/peer:🌙", "chan:tg/peer:-ovzleow5suxp"),
        ("v1.2:beta-3", "v1.2:beta-3"),
        ("🌙", "4liefjzxegzq"),
        (" \t\n", ""),
        (" / \u3000// ", ""),
        ("", ""),
    ],
)
def test_a_key_has_this_normal_form(key: str, normal: str) -> None:
    assert normalize_scene_key(key) == normal


@given(st.one_of(key_text, long_text))
@example("x" * 97)
@example("chan:" + "x" * 60 + "/peer:" + "ann" * 20 + "/topic:" + "t" * 50 + "/a/b")
@example("a/" * 60)
@example("好" * 40 + "/" + "好" * 40 + "/" + "好" * 40)
@example("a" + "\u0301" * 200)
def test_the_native_form_is_the_reference_form(key: str) -> None:
    assert normalize_scene_key(key) == reference.normalize_scene_key(key)


@given(st.one_of(key_text, long_text))
def test_normalising_again_changes_nothing(key: str) -> None:
    once = normalize_scene_key(key)
    assert normalize_scene_key(once) == once


@given(st.text(max_size=40), st.text(max_size=40))
def test_keys_of_all_of_unicode_are_equal_only_where_their_names_are(one: str, two: str) -> None:
    same = reference.names(one) == reference.names(two)
    assert (normalize_scene_key(one) == normalize_scene_key(two)) == same


@given(near_text, near_text)
@example("c++", "c#")
@example("c ", "C")
@example("a b", "a_b")
@example("a _b", "a__b")
@example("_a", "a")
@example("Straße", "Strasse")
def test_keys_of_names_that_look_alike_are_equal_only_where_the_names_are(
    one: str, two: str
) -> None:
    same = reference.names(one) == reference.names(two)
    assert (normalize_scene_key(one) == normalize_scene_key(two)) == same
    child, other = (normalize_scene_key(f"peer:{each}") for each in (one, two))
    assert (child == other) == (reference.names(f"peer:{one}") == reference.names(f"peer:{two}"))


# What folds, what is lost, and all else that is not one of the long runs of Han, Hangul,
# private and unassigned characters.
VARIED = (range(0x3500), range(0x9F00, 0xAC10), range(0xD790, 0xE010), range(0xF8F0, 0x1FC00))


@pytest.mark.parametrize(
    "codes",
    [VARIED, pytest.param((range(0x110000),), marks=pytest.mark.long)],
    ids=["varied", "all"],
)
def test_no_two_characters_of_unicode_make_one_key_but_by_folding(codes: tuple[range, ...]) -> None:
    folded: dict[str, list[str]] = {}
    for code in itertools.chain(*codes):
        character = chr(code)
        key = normalize_scene_key(f"peer:{character}")
        assert key.startswith("peer:")
        assert normalize_scene_key(key) == key
        names = reference.names(f"peer:{character}")
        assert folded.setdefault(key, names) == names


@given(near_text, near_text)
def test_nothing_but_a_key_itself_is_named_like_the_key(one: str, two: str) -> None:
    key = normalize_scene_key(one)
    if normalize_scene_key(two) == key:
        assert reference.names(two) in (reference.names(one), reference.names(key))


@given(level_text)
def test_a_level_is_dropped_only_where_it_is_white_space(name: str) -> None:
    assert bool(scene_level(name)) == bool(name.strip())
    assert "/" not in scene_level(name)
    parts = normalize_scene_key(f"chan:tg/{name}/x").split("/")
    assert len(parts) == 2 + len(reference.names(name))


@given(level_text.filter(lambda name: "/" not in reference.folded(name)))
def test_a_level_without_a_slash_is_what_it_is_in_a_key(name: str) -> None:
    assert normalize_scene_key(scene_level(name)) == normalize_scene_key(name)


def test_a_slash_inside_a_level_is_not_the_space_or_the_sign_that_stands_for_it() -> None:
    names = ("a/b", "a b", "a_b", "a//b", "a\\b", "ab", "/ab", "a-b")
    assert len({scene_level(each) for each in names}) == len(names) - 1
    assert scene_level("a b") == scene_level("a_b") == "a_b"
    assert scene_level("a／b") == scene_level("a/b")


@given(long_text)
def test_the_path_of_a_key_is_the_key_of_each_of_its_levels(key: str) -> None:
    levels = reference.names(key)
    whole = ["/".join(levels[: depth + 1]) for depth in range(len(levels))]
    assert scene_path(key) == [reference.normalize_scene_key(each) for each in whole]
    assert scene_path(key)[-1:] == [each for each in [normalize_scene_key(key)] if each]


@given(long_text)
@example("chan:" + "x" * 60 + "/peer:" + "ann" * 20 + "/topic:" + "t" * 50)
@example("chan:slack/peer:" + "x" * 60 + "/thread:" + "y" * 30)
@example("chan:slack/peer:" + "x" * 60 + "/topic:" + "y" * 30 + "/more:" + "z" * 90)
def test_a_cut_key_still_says_that_it_is_somebodys(key: str) -> None:
    def owned(level: str) -> bool:
        return level.startswith(IDENTITY_LEVELS)

    if any(map(owned, reference.names(key))):
        assert any(map(owned, normalize_scene_key(key).split("/")))
    last = reference.names(key)[-1:]
    if last and owned(last[0]):
        assert owned(normalize_scene_key(key).split("/")[-1])


@given(
    st.text(st.sampled_from("a가각ᄀ\u1161\u0e38\u0e48\u0308\u0323\u0345\u0344ﷺ①é"), max_size=700)
)
@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_the_linear_normal_form_is_the_normal_form(form: str, text: str) -> None:
    assert normalized(form, text) == unicodedata.normalize(form, text)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_a_text_is_never_parted_where_it_composes(form: str) -> None:
    decomposed = [unicodedata.normalize("NFD", chr(code)) for code in range(0x110000)
                  if not 0xD800 <= code < 0xE000]  # fmt: skip
    text = "x".join(each for each in decomposed if len(each) > 1)
    composed = normalized(form, text, turn=1)  # type: ignore[arg-type]
    assert composed == unicodedata.normalize(form, text)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["\u0e38\u0e48", "\u0308\u0323", "a/", "🎉", "\u0345", "ﷺ", "ｶﾞ"])
def test_a_key_of_many_thousand_levels_or_marks_is_made(unit: str) -> None:
    assert len(normalize_scene_key(unit * 50_000).encode()) <= MAX_BYTES


@given(key_text)
def test_a_normal_form_stays_within_its_limit_and_alphabet(key: str) -> None:
    normal = normalize_scene_key(key)
    assert len(normal.encode()) <= MAX_BYTES
    assert reference.folded(normal) == normal
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
    elif len(above.encode()) <= MAX_BYTES - 15 - (
        8 if any(map(reference.identity, reference.names(level))) else 0
    ):
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
