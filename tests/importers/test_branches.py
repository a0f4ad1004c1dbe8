# SPDX-License-Identifier: MIT
"""Branches, forks and compactions in the logs of coding agents."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Load


def event(
    uuid: str, parent: str | None, role: str, content: Any, session: str = "S", **more: Any
) -> dict[str, Any]:
    message = {"role": role, "content": content, **more.pop("message", {})}
    return {
        "type": role,
        "sessionId": session,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": "2026-03-01T09:00:00Z",
        "isSidechain": False,
        "message": message,
        **more,
    }


def note(uuid: str, parent: str | None, kind: str = "attachment", **more: Any) -> dict[str, Any]:
    return {"type": kind, "sessionId": "S", "uuid": uuid, "parentUuid": parent, **more}


def call(uuid: str, parent: str, answer: str, tool: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": tool, "name": "f", "input": {}}
    return event(uuid, parent, "assistant", [block], message={"id": answer})


def result(uuid: str, parent: str, tool: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": tool, "content": f"result {tool}"}
    return event(uuid, parent, "user", [block])


def kept_and_left(load: Load, *lines: Any) -> tuple[list[str | None], list[str | None]]:
    batches, report = load(lines=list(lines))
    assert report.problem_count == 0
    kept = [m.uid for batch in batches for m in batch.messages]
    return kept, [m.uid for batch in batches for m in batch.left]


@pytest.mark.parametrize("roles", [("assistant", "assistant"), ("user", "user")])
def test_an_answer_or_a_question_that_was_replaced_is_left(
    load: Load, roles: tuple[str, str]
) -> None:
    lines = [
        event("u1", None, "user", "which bakery"),
        event("a1", "u1", roles[0], "Elm Street"),
        event("u2", "a1", "user", "and then?"),
        event("a2", "u1", roles[1], "Oak Street"),
        event("u3", "a2", "user", "thanks"),
    ]
    assert kept_and_left(load, *lines) == (["u1", "a2", "u3"], ["a1", "u2"])


def test_going_back_leaves_all_that_was_said_and_done_since(load: Load) -> None:
    lines = [
        event("u1", None, "user", "one"),
        call("a1", "u1", "m1", "t1"),
        result("r1", "a1", "t1"),
        event("a2", "r1", "assistant", "answer"),
        note("n1", "a2"),
        event("u2", "n1", "user", "wrong way"),
        call("a3", "u2", "m3", "t3"),
        result("r3", "a3", "t3"),
        note("n2", "a2"),
        event("u4", "n2", "user", "right way"),
    ]
    kept, left = kept_and_left(load, *lines)
    assert kept == ["u1", "a1", "r1", "a2", "u4"]
    assert left == ["u2", "a3", "r3"]


def test_tools_that_ran_at_the_same_time_are_no_branch(load: Load) -> None:
    lines = [
        event("u1", None, "user", "both"),
        call("a1", "u1", "m1", "t1"),
        call("a2", "a1", "m1", "t2"),
        note("p1", "a1", "progress"),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        event("a3", "r1", "assistant", "done", message={"id": "m2"}),
        event("u2", "a3", "user", "good"),
    ]
    assert kept_and_left(load, *lines)[1] == []
    assert kept_and_left(load, *lines[:6], event("a3", "r2", "assistant", "done"))[1] == []


def test_what_stands_before_a_compaction_is_compacted(load: Load) -> None:
    boundary = note("b", None, "system", subtype="compact_boundary", logicalParentUuid="a1")
    lines = [
        event("u1", None, "user", "one"),
        event("a1", "u1", "assistant", "two"),
        boundary,
        event("s", "b", "user", "the summary", isCompactSummary=True),
        event("u2", "s", "user", "three"),
    ]
    (batch,), _ = load(lines=lines)
    assert [m.uid for m in batch.messages] == ["u1", "a1", "u2"]
    assert batch.left == ()
    assert batch.states == {"u1": "compacted", "a1": "compacted"}


def test_logs_that_hang_together_nowhere_lose_nothing(load: Load) -> None:
    lines = [
        event("u1", "gone", "user", "one"),
        event("u2", None, "user", "two"),
        event("u3", "u3", "user", "its own parent"),
        event("u4", "u2", "assistant", "three"),
        event("u1", "u4", "user", "one"),  # written twice
    ]
    kept, left = kept_and_left(load, *lines)
    assert (set(kept), left) == ({"u1", "u2", "u3", "u4"}, [])


def test_branches_in_a_long_log_are_told_by_their_uids(load: Load) -> None:
    lines = [event("u0", None, "user", "start")]
    lines += [event(f"u{i}", f"u{i - 1}", "user", f"line {i}") for i in range(1, 6_000)]
    lines.append(event("v", "u10", "user", "back to ten"))
    first, last = load(lines=lines)[0]
    assert len(first.messages) == 5_000
    assert [m.uid for m in last.messages] == ["v"]
    assert len(last.left) == 1_000
    assert set(last.states) == {f"u{i}" for i in range(11, 5_000)}


def test_a_log_of_two_sessions_tells_which_goes_on_from_which(load: Load) -> None:
    first, second = load(
        lines=[
            event("m1", None, "user", "plant tulips", "M1"),
            event("m2", "m1", "user", "water them", "M2"),
        ]
    )[0]
    assert (first.session.id, first.session.parent) == ("M1", None)
    assert (second.session.id, second.session.parent) == ("M2", "M1")
    assert first.unique
    assert second.unique


def test_a_fork_that_names_its_origin_is_believed(load: Load) -> None:
    origin = {"sessionId": "A", "messageUuid": "u0"}
    (batch,), _ = load(lines=[event("u1", None, "user", "on", "B", forkedFrom=origin)])
    assert batch.session.parent == "A"


def test_a_sequel_is_named_by_the_log_it_continues(load: Load) -> None:
    continued = {"type": "continued-in", "continuedInSessionId": "B"}
    batches, _ = load(lines=[event("u1", None, "user", "one", "A"), continued])
    assert [(b.session.id, b.session.parent, len(b.messages)) for b in batches] == [
        ("A", None, 1),
        ("B", "A", 0),
    ]
