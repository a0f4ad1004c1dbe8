# SPDX-License-Identifier: MIT
"""Saying what a relation is, in place of what was told."""

from __future__ import annotations

from typing import Any

import pytest

from mnemogram import InvalidArgument, NotFound, Triple
from mnemogram.memory import SceneMemory

KEYS = ["chan:qq", "chan:mail"]


def told(memory: SceneMemory, **fields: Any) -> int:
    triple = Triple("reply", "uses", "short words", scene=KEYS, sentence="Keep it short.", **fields)
    (number,) = memory.commit([triple], session_id="s").relation_ids
    return number


def test_a_rule_can_be_taken_back_to_a_fact(memory: SceneMemory) -> None:
    number = told(memory, kind="rule", trust="confirmed")
    assert memory.build_context("", scenes=["chan:qq"]).lines[0].authority == "rule"
    assert memory.revise(number, kind="fact").kind == "fact"
    assert memory.build_context("", scenes=["chan:qq"]).lines[0].authority == "memory"


@pytest.mark.parametrize("trust", ["document", "observed", "confirmed"])
def test_trust_is_that_of_the_relation_and_of_its_pins(memory: SceneMemory, trust: Any) -> None:
    number = told(memory, kind="rule", trust="observed")
    told(memory, kind="rule", trust="confirmed")
    now = memory.revise(number, trust=trust)
    assert (now.trust, now.sentence) == (trust, "Keep it short.")
    for key in KEYS:
        (found,) = memory.recall_by_scene(key)
        assert found.effective_trust == trust
    expected = {"document": "document", "observed": "unconfirmed", "confirmed": "rule"}[trust]
    assert memory.build_context("", scenes=KEYS).lines[0].authority == expected


def test_what_was_lowered_stays_so_when_another_session_is_forgotten(memory: SceneMemory) -> None:
    number = told(memory, trust="confirmed")
    memory.revise(number, trust="observed")
    memory.commit([Triple("reply", "uses", "short words", trust="document")], session_id="t")
    memory.forget(session_id="t")
    assert memory.relations(ids=[number])[0].trust == "observed"


def test_a_pin_can_be_made_lighter_alone(memory: SceneMemory) -> None:
    number = told(memory)
    memory.revise(number, weight=0.25, scene="chan:QQ")
    assert [memory.recall_by_scene(key)[0].weight for key in KEYS] == [0.25, 1.0]
    memory.revise(number, weight=0.5)
    assert [memory.recall_by_scene(key)[0].weight for key in KEYS] == [0.5, 0.5]


def test_what_is_not_there_changes_nothing(memory: SceneMemory) -> None:
    number = told(memory)
    with pytest.raises(NotFound):
        memory.revise(number + 1, kind="rule")
    with pytest.raises(NotFound):
        memory.revise(number, kind="rule", weight=0.5, scene="tool:none")
    assert memory.relations(ids=[number])[0].kind == "fact"


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "law"}, {"trust": "much"}, {"weight": 2}, {"weight": "x"}, {"scene": 3}],
)
def test_wrong_arguments_are_refused(memory: SceneMemory, wrong: Any) -> None:
    with pytest.raises(InvalidArgument):
        memory.revise(told(memory), **wrong)
