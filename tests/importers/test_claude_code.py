# SPDX-License-Identifier: MIT
"""Session logs of coding agents, one event a line."""

from __future__ import annotations

from typing import Any

from .conftest import Load


def event(kind: str, uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {
        "type": kind,
        "uuid": uuid,
        "sessionId": "s-1",
        "timestamp": "2026-03-01T01:00:00.5Z",
        "cwd": "/home/me",
        "message": message,
        **more,
    }


LOG: list[Any] = [
    {"type": "summary", "summary": "Reader fix", "leafUuid": "a2"},
    event("user", "u1", "fix the reader"),
    event(
        "assistant",
        "a1",
        [
            {"type": "thinking", "thinking": "..."},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "src/读.py"}},
        ],
        message={"model": "model-a"},
    ),
    event(
        "user",
        "u2",
        [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "x = 1"}],
            }
        ],
    ),
    {"type": "file-history-snapshot", "messageId": "a1", "snapshot": {}},
    {"type": "system", "sessionId": "s-1", "uuid": "y1", "content": "hook ran"},
    event("assistant", "a2", [{"type": "text", "text": "Done."}]),
]


def test_events_become_messages_calls_and_results(load: Load) -> None:
    (batch,), report = load(lines=LOG)
    assert report.format == "claude-code"
    assert [(m.uid, m.role, m.content) for m in batch.messages] == [
        ("u1", "user", "fix the reader"),
        ("a1", "assistant", "Looking."),
        ("u2", "tool", "x = 1"),
        ("a2", "assistant", "Done."),
    ]
    assert batch.messages[1].tool_calls == [
        {"id": "t1", "name": "Read", "arguments": {"path": "src/读.py"}}
    ]
    assert (batch.messages[2].tool_name, batch.messages[2].tool_call_id) == ("Read", "t1")
    session = batch.session
    assert (session.id, session.source, session.title, session.model) == (
        "s-1",
        "cli",
        "Reader fix",
        "model-a",
    )
    assert report.skipped == {
        "reasoning blocks": 1,
        "file-history-snapshot events": 1,
        "system events": 1,
    }


def test_what_the_program_wrote_itself_is_left_out(load: Load) -> None:
    (batch,), report = load(
        lines=[
            event("user", "u1", "caveat", isMeta=True),
            event("user", "u2", "summary of before", isCompactSummary=True),
            event("user", "u3", "real"),
        ]
    )
    assert [m.content for m in batch.messages] == ["real"]
    assert sum(report.skipped.values()) == 2


def test_a_side_chain_is_a_subagent_of_the_session(load: Load) -> None:
    main, side = load(
        lines=[
            event("user", "u1", "main"),
            event("user", "u2", "do this part", isSidechain=True, agentId="7f"),
        ]
    )[0]
    assert (main.session.id, main.session.source, main.session.parent) == ("s-1", "cli", None)
    assert (side.session.id, side.session.source, side.session.parent) == (
        "s-1/7f",
        "subagent",
        "s-1",
    )


def test_titles_go_to_the_session_they_name(load: Load) -> None:
    batches, _ = load(
        lines=[
            event("user", "u1", "one"),
            {**event("user", "u2", "two"), "sessionId": "s-2"},
            {"type": "custom-title", "customTitle": "Second", "sessionId": "s-2"},
        ]
    )
    assert {batch.session.id: batch.session.title for batch in batches} == {
        "s-1": None,
        "s-2": "Second",
    }


def test_a_broken_line_is_reported_with_its_number_and_the_rest_is_imported(load: Load) -> None:
    (batch,), report = load(
        lines=[
            LOG[1],
            '{"type": "user", "uuid": "half',
            {"type": "user", "uuid": "z", "sessionId": "s-1"},
            event("user", "u9", 12),
            LOG[6],
        ]
    )
    assert [m.uid for m in batch.messages] == ["u1", "a2"]
    assert [each.where for each in report.problems] == ["line 2", "line 3", "line 4"]


def test_a_long_log_comes_in_pieces_and_no_uid_twice(load: Load) -> None:
    lines = [event("user", f"u{i}", f"line {i}") for i in range(6_000)]
    for line in lines:
        del line["uuid"]
        line["type"] = "user"
    lines.insert(0, LOG[1])
    batches, _ = load(lines=lines)
    assert [len(batch.messages) for batch in batches] == [5_000, 1_001]
    assert len({m.uid for batch in batches for m in batch.messages}) == 6_001
