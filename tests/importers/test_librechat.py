# SPDX-License-Identifier: MIT
"""Conversations that LibreChat exports."""

from __future__ import annotations

from typing import Any

from .conftest import Load

ROOT = "00000000-0000-0000-0000-000000000000"


def message(key: str, parent: str, text: str, **more: Any) -> Any:
    mine = more.pop("user", False)
    return {
        "messageId": key,
        "parentMessageId": parent,
        "text": text,
        "isCreatedByUser": mine,
        "createdAt": "2026-03-01T09:00:00Z",
        **more,
    }


def conversation(*messages: Any, **more: Any) -> Any:
    return {"conversationId": "c", "title": "t", "messages": list(messages), **more}


def test_the_newest_branch_stands(load: Load) -> None:
    (batch,), report = load(
        conversation(
            message("a", ROOT, "a long story", user=True),
            message("b1", "a", "once"),
            message("b2", "a", "once more"),
            message("z", ROOT, "a long long story", user=True),
            message("y", "z", "long ago"),
        )
    )
    assert report.format == "librechat"
    assert [each.content for each in batch.messages] == ["a long long story", "long ago"]
    assert [each.content for each in batch.left] == ["a long story", "once", "once more"]


def test_messages_inside_of_messages_are_as_deep_as_they_like(load: Load) -> None:
    inner: Any = []
    for number in range(200, 0, -1):
        one = message(f"m{number}", f"m{number - 1}", f"text {number}", user=number % 2 == 1)
        inner = [{**one, "children": inner}]
    value = {"conversationId": "c", "title": "t", "recursive": True, "messagesTree": inner}
    (batch,), _ = load(value)
    assert [each.uid for each in batch.messages] == [f"m{number}" for number in range(1, 201)]
    assert batch.left == ()


def test_only_what_was_said_comes_in(load: Load) -> None:
    content = [
        {"type": "think", "think": "hm"},
        {"type": "text", "text": {"value": "It rains."}},
        {"type": "tool_call", "tool_call": {"id": "k", "name": "rain", "args": "{}"}},
    ]
    files = [
        {"filename": "a.pdf", "type": "application/pdf", "bytes": 9},
        {"filename": "b.png", "type": "image/png"},
    ]
    (batch,), report = load(
        conversation(
            message("a", ROOT, "q", user=True, files=files),
            message("b", "a", "broken", error=True),
            message("c", "a", "", content=content, model="m-1"),
        )
    )
    first, answer = batch.messages
    assert first.content == "q\n[file: a.pdf, application/pdf, 9 bytes]\n[image]"
    assert answer.content == "It rains."
    assert answer.tool_calls == [{"id": "k", "name": "rain", "arguments": "{}"}]
    assert batch.session.model == "m-1"
    assert report.skipped == {"errors that the program showed": 1, "reasoning blocks": 1}
