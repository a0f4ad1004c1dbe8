# SPDX-License-Identifier: MIT
"""memory_commit and memory_recall, as models call them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemogram import InvalidArgument
from mnemogram.memory import SceneMemory, Triple
from mnemogram.tools.memory import memory_commit_tool, memory_recall_tool

RULE = {
    "subject": "QQ回复",
    "relation": "格式",
    "object": "纯文本",
    "kind": "rule",
    "sentence": "别用标记",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[SceneMemory]:
    with SceneMemory.open(tmp_path / "memory.db", synchronous="normal") as opened:
        yield opened


def test_what_one_tool_commits_the_other_recalls(memory: SceneMemory) -> None:
    commit, recall = memory_commit_tool(memory), memory_recall_tool(memory)
    answer = commit({"triples": [RULE], "scene": "chan:qq"})
    assert (answer["success"], answer["created"], answer["pins"]) == (True, 1, 1)
    found = recall({"scenes": ["chan:qq/peer:g1"]})
    assert found["count"] == 1
    assert found["relations"][0]["sentence"] == "别用标记"
    assert found["relations"][0]["scene"] == "chan:qq"
    assert recall({"query": "回复格式"})["relations"][0]["subject"] == "QQ回复"
    assert recall({"query": "格式", "scenes": "chan:qq"})["count"] == 1


def test_a_model_cannot_confirm_its_own_rules(memory: SceneMemory) -> None:
    commit = memory_commit_tool(memory)
    answer = commit({"triples": [RULE]})
    assert answer["relations"][0]["authority"] == "unconfirmed"
    refused = commit({"triples": [{**RULE, "trust": "confirmed"}]})
    assert (refused["success"], refused["error"]) == (False, "invalid_argument")
    confirmed = memory_commit_tool(memory, trust="confirmed")({"triples": [RULE]})
    assert confirmed["relations"][0]["authority"] == "rule"


def test_here_is_what_the_host_says_it_is(memory: SceneMemory) -> None:
    scenes = ["chan:qq/peer:g1", "tool:send_mail"]
    commit = memory_commit_tool(memory, current_scenes=lambda: scenes)
    recall = memory_recall_tool(memory, current_scenes=scenes)
    assert commit({"triples": [{**RULE, "scene": "here"}]})["pins"] == 2
    assert recall({"scenes": "current"})["count"] == 1
    assert [each.key for each in memory.scenes()] == sorted(scenes)
    unknown = memory_commit_tool(memory)({"triples": [RULE], "scene": "here"})
    assert "not known here" in unknown["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"triples": [RULE]}),
        {"triples": RULE},
        {"triples": json.dumps([RULE])},
        {"facts": [{"subject": "a", "predicate": "is", "value": "b", "confidence": "0.5"}]},
    ],
)
def test_arguments_are_read_where_the_intent_is_clear(memory: SceneMemory, arguments: Any) -> None:
    assert memory_commit_tool(memory)(arguments)["created"] == 1


@pytest.mark.parametrize(
    "arguments",
    [{}, {"triples": []}, {"triples": [{"subject": "a"}]}, {"triples": [RULE], "user": "x"}],
)
def test_arguments_that_are_unclear_are_refused_with_a_hint(
    memory: SceneMemory, arguments: Any
) -> None:
    answer = memory_commit_tool(memory)(arguments)
    assert (answer["success"], answer["error"]) == (False, "invalid_argument")
    assert answer["hint"]
    assert memory.status().relations == 0


def test_recall_of_nothing_is_refused_and_of_the_unknown_is_empty(memory: SceneMemory) -> None:
    recall = memory_recall_tool(memory)
    assert recall({})["error"] == "invalid_argument"
    assert recall({"query": "unheard"})["count"] == 0


def test_the_commit_carries_the_running_session(memory: SceneMemory) -> None:
    memory_commit_tool(memory, session_id=lambda: "s1")({"triples": [RULE]})
    assert memory.forget(session_id="s1").counts["relations"] == 1


def test_an_answer_is_bounded_json(memory: SceneMemory) -> None:
    for name, scene in (("n" * 1_000, "k"), ("m" * 1_000, None)):
        memory.commit(
            [Triple(name, str(n), "o", sentence="长" * 5_000) for n in range(80)], scene=scene
        )
    answer = memory_recall_tool(memory)({"scenes": ["k"], "query": "m" * 1_000, "limit": 500})
    assert len(answer["relations"]) == 100
    assert answer["relations"][0]["sentence_truncated"]
    assert len(json.dumps(answer, ensure_ascii=False)) < 250_000


@pytest.mark.parametrize("kind", ["openai", "anthropic", "mcp"])
def test_every_interface_gets_a_schema(memory: SceneMemory, kind: Any) -> None:
    for tool in (memory_commit_tool(memory), memory_recall_tool(memory)):
        text = json.dumps(tool.schema(kind))
        assert "scene" in text
        assert "trust" not in text
    annotations = memory_commit_tool(memory).schema("mcp")["annotations"]
    assert annotations["readOnlyHint"] is False
    assert annotations["destructiveHint"] is False
    assert annotations["idempotentHint"] is True
    assert annotations["title"]


def test_a_rule_that_the_user_agrees_to_is_to_be_followed(memory: SceneMemory) -> None:
    asked: list[Triple] = []

    def confirm(rule: Triple) -> bool | None:
        asked.append(rule)
        return True

    commit = memory_commit_tool(memory, current_scenes=["chan:qq"], confirm=confirm)
    fact = {"subject": "Ann", "relation": "likes", "object": "tea"}
    answer = commit({"triples": [{**RULE, "scene": "here"}, fact]})
    (rule,) = asked
    assert (rule.object, rule.sentence, rule.scene) == ("纯文本", "别用标记", ["chan:qq"])
    trusts = [(each["subject"], each["trust"], each["authority"]) for each in answer["relations"]]
    assert trusts == [("QQ回复", "confirmed", "rule"), ("Ann", "observed", "memory")]
    assert answer["notes"] == []
    shown = memory.build_context("hi", scenes=["chan:qq"])
    assert [each.authority for each in shown.lines] == ["rule"]


def test_a_rule_that_the_user_declines_is_not_stored(memory: SceneMemory) -> None:
    fact = {"subject": "Ann", "relation": "likes", "object": "tea"}
    commit = memory_commit_tool(memory, confirm=lambda rule: False)
    answer = commit({"triples": [RULE, fact]})
    assert [each["subject"] for each in answer["relations"]] == ["Ann"]
    assert answer["declined"] == [{"subject": "QQ回复", "relation": "格式", "object": "纯文本"}]
    assert memory.status().relations == 1
    only = commit({"triples": [RULE]})
    assert (only["success"], only["created"], len(only["declined"])) == (True, 0, 1)


@pytest.mark.parametrize("silence", [None, RuntimeError("the user left")])
def test_a_rule_without_an_answer_waits_to_be_confirmed(
    memory: SceneMemory, silence: Exception | None
) -> None:
    def confirm(rule: Triple) -> bool | None:
        if silence is not None:
            raise silence
        return None

    commit = memory_commit_tool(memory, trust="confirmed", confirm=confirm)
    (stored,) = commit({"triples": [RULE], "scene": "chan:qq"})["relations"]
    assert (stored["trust"], stored["authority"]) == ("observed", "unconfirmed")
    assert memory.confirm([stored["id"]]) == 1
    assert memory.confirm([stored["id"]]) == 0
    (line,) = memory.build_context("hi", scenes=["chan:qq"]).lines
    assert (line.authority, line.relation.sentence) == ("rule", "别用标记")


def test_a_cancelled_question_stores_nothing(memory: SceneMemory) -> None:
    class Cancelled(BaseException):
        pass

    def confirm(rule: Triple) -> bool | None:
        raise Cancelled

    fact = {"subject": "Ann", "relation": "likes", "object": "tea"}
    with pytest.raises(Cancelled):
        memory_commit_tool(memory, confirm=confirm)({"triples": [fact, RULE]})
    assert memory.status().relations == 0


def test_the_answer_says_which_trust_a_rule_got(memory: SceneMemory) -> None:
    observed = memory_commit_tool(memory)({"triples": [RULE]})
    assert [each["trust"] for each in observed["relations"]] == ["observed"]
    assert "confirmed" in observed["notes"][0]
    confirmed = memory_commit_tool(memory, trust="confirmed")({"triples": [RULE]})
    assert [each["trust"] for each in confirmed["relations"]] == ["confirmed"]
    assert confirmed["notes"] == []
    with pytest.raises(InvalidArgument, match="trust"):
        memory_commit_tool(memory, trust="sure")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [memory_commit_tool, memory_recall_tool])
def test_here_is_offered_only_where_the_host_knows_what_it_is(
    memory: SceneMemory, make: Any
) -> None:
    assert "'here'" not in json.dumps(make(memory).schema())
    assert "'here'" in json.dumps(make(memory, current_scenes=["chan:qq"]).schema())
    assert "tool:send_mail." in json.dumps(make(memory).schema())
