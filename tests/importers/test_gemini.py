# SPDX-License-Identifier: MIT
"""Sessions of Gemini CLI, `contents`, and what AI Studio keeps."""

from __future__ import annotations

from typing import Any

from .conftest import Load

HEAD = {"sessionId": "s", "projectHash": "0", "startTime": "2026-03-01T09:00:00Z"}


def message(key: str, kind: str, content: Any, **more: Any) -> Any:
    return {
        "id": key,
        "type": kind,
        "content": content,
        "timestamp": "2026-03-01T09:00:01Z",
        **more,
    }


def test_a_later_record_of_a_message_takes_the_place_of_an_earlier_one(load: Load) -> None:
    call = {"id": "k", "name": "ls", "args": {}, "status": "error", "resultDisplay": "no such"}
    (batch,), report = load(
        lines=[
            HEAD,
            message("1", "user", [{"text": "list"}]),
            message("2", "gemini", "looking"),
            message("2", "gemini", "looking", toolCalls=[call]),
            {"$set": {"summary": "Listing"}},
        ]
    )
    assert report.format == "gemini"
    assert [(m.uid, m.role, m.content) for m in batch.messages] == [
        ("1", "user", "list"),
        ("2", "assistant", "looking"),
        ("2/1", "tool", "no such"),
    ]
    assert batch.messages[2].tool_status == "error"
    assert batch.session.title == "Listing"


def test_what_was_stepped_back_over_was_left(load: Load) -> None:
    (batch,), _ = load(
        lines=[
            HEAD,
            message("1", "user", "a"),
            message("2", "gemini", "elm"),
            message("3", "user", "no"),
            {"$rewindTo": "2"},
            message("4", "gemini", "oak"),
        ]
    )
    assert [each.content for each in batch.messages] == ["a", "oak"]
    assert [each.content for each in batch.left] == ["elm", "no"]


def test_a_context_made_anew_takes_no_evidence_away(load: Load) -> None:
    (batch,), report = load(
        lines=[
            HEAD,
            message("1", "user", "a"),
            {"$set": {"messages": [message("9", "user", "a summary of all")]}},
            message("2", "gemini", "b"),
        ]
    )
    assert [each.content for each in batch.messages] == ["a", "b"]
    assert report.skipped["summaries of compacted context"] == 1


def test_a_session_of_a_subagent_says_so(load: Load) -> None:
    (batch,), _ = load({**HEAD, "kind": "subagent", "messages": [message("1", "user", "a")]})
    assert batch.session.source == "subagent"


def test_what_ai_studio_keeps_is_read(load: Load) -> None:
    chunks = [
        {"role": "user", "driveImage": {"id": "x"}},
        {"role": "user", "text": "what is it", "createTime": "2026-03-01T09:00:00Z"},
        {"role": "model", "text": "hm", "isThought": True},
        {"role": "model", "text": "a ferry", "finishReason": "STOP"},
    ]
    (batch,), report = load(
        {"runSettings": {"model": "models/m-2"}, "chunkedPrompt": {"chunks": chunks}}
    )
    assert [each.content for each in batch.messages] == ["[image]", "what is it", "a ferry"]
    assert batch.session.model == "models/m-2"
    assert report.skipped["reasoning blocks"] == 1


def test_parts_that_name_their_type_are_another_programs(load: Load) -> None:
    _, report = load([{"role": "user", "parts": [{"type": "text", "text": "a"}]}])
    assert report.format == "ai-sdk"
