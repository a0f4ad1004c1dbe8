# SPDX-License-Identifier: MIT
"""The labelled situations: every rule comes back, and none of another scene."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bench.scenes.__main__ import leaks, measure
from bench.scenes.labelled import fill, noise, rules, situations

from mnemogram.memory import Relation, SceneMemory, normalize_scene_key

ALL = situations()


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("scenes") / "memory.db"
    with SceneMemory.open(path, synchronous="normal") as memory:
        return measure(memory, fill(memory), ALL)


def test_the_set_is_large_in_four_languages_and_names_rules_that_exist() -> None:
    named = rules()
    languages = Counter(each.language for each in ALL)
    assert len(ALL) >= 120
    assert set(languages) == {"zh", "en", "ja", "ko"}
    assert min(languages.values()) >= 25
    assert len({(each.scenes, each.message) for each in ALL}) == len(ALL)
    for each in ALL:
        assert each.must | each.must_not <= set(named), each
        assert not each.must & each.must_not, each
        assert each.must_not, each
        assert all(key == normalize_scene_key(key) for key in each.scenes)
    assert len(noise()) == 600


def test_with_scenes_nearly_every_rule_comes_back(figures: Any) -> None:
    for name, group in figures["groups"].items():
        assert group["recall@8 scene"] >= 0.98, name
        assert group["recall@8 both"] >= 0.98, name
        assert group["recall@8 topic"] < 0.5, name  # else the set would prove nothing


def test_nothing_leaks_between_sibling_scenes(figures: Any) -> None:
    for name, group in figures["groups"].items():
        for way in ("scene", "both"):
            assert group[f"leaked {way}"] == group[f"forbidden {way}"] == 0, name
    # The measure sees a leak where there is one: a broad key brings every group's rules.
    assert figures["groups"]["all"]["leaked subtree"] > 0


@pytest.mark.parametrize(
    ("pinned", "asked", "wrong"),
    [
        ("chan:qq", "chan:qq/peer:a", False),
        ("chan:qq/peer:a", "chan:qq/peer:a", False),
        ("chan:qq/peer:b", "chan:qq/peer:a", True),
        ("chan:qq/peer:a", "chan:qq", True),
        ("chan:qq/topic:x", "chan:qq", False),
        ("chan:qq2", "chan:qq", True),
        (None, "chan:qq", False),
    ],
)
def test_a_leak_is_what_is_pinned_beside_or_to_somebody_else(
    pinned: str | None, asked: str, wrong: bool
) -> None:
    relation = Relation(
        1, "a", "b", "c", "rule", "confirmed", 1.0, None, "active", 0, 0, scene=pinned
    )
    assert leaks(relation, [asked]) is wrong


def test_the_data_is_beside_the_benchmark() -> None:
    folder = Path(__file__).resolve().parents[2] / "bench" / "scenes" / "data"
    assert sorted(each.name for each in folder.iterdir()) == ["rules.tsv", "situations.tsv"]
