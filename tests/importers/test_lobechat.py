# SPDX-License-Identifier: MIT
"""Exports of LobeChat."""

from __future__ import annotations

from typing import Any

from .conftest import Load

AT = 1_772_355_600_000


def message(key: str, role: str, content: str, second: int, **more: Any) -> Any:
    return {
        "id": key,
        "role": role,
        "content": content,
        "createdAt": AT + second * 1000,
        "sessionId": "s",
        **more,
    }


def export(*messages: Any, **more: Any) -> Any:
    state = {"messages": list(messages), "sessions": [], "topics": [], **more}
    return {"exportType": "sessions", "state": state, "version": 5}


def test_topics_sessions_and_threads_are_conversations(load: Load) -> None:
    found, report = load(
        export(
            message("1", "user", "in no topic", 1),
            message("2", "user", "in a topic", 2, topicId="t"),
            message("3", "user", "in a thread", 3, topicId="t", threadId="th"),
            {**message("4", "user", "in none", 4), "sessionId": None},
            sessions=[{"id": "s", "meta": {"title": "Travel"}}],
            topics=[{"id": "t", "title": "Ferry", "sessionId": "s"}],
            threads=[{"id": "th", "title": "Price", "topicId": "t"}],
        )
    )
    assert report.format == "lobechat"
    assert [(b.session.id, b.session.title, b.session.parent) for b in found] == [
        ("s", "Travel", None),
        ("t", "Ferry", None),
        ("th", "Price", "t"),
        ("inbox", None, None),
    ]


def test_messages_stand_in_the_order_of_time(load: Load) -> None:
    (batch,), _ = load(export(message("2", "assistant", "b", 2), message("1", "user", "a", 1)))
    assert [each.uid for each in batch.messages] == ["1", "2"]


def test_an_older_message_of_a_tool_holds_call_and_answer(load: Load) -> None:
    plugin = {"apiName": "crawl", "identifier": "web", "arguments": '{"url": "x"}'}
    (batch,), _ = load(
        export(message("1", "user", "q", 1), message("2", "function", "page", 2, plugin=plugin))
    )
    _, call, result = batch.messages
    assert call.tool_calls == [{"id": "2/call", "name": "crawl", "arguments": '{"url": "x"}'}]
    assert (result.uid, result.tool_call_id, result.tool_name) == ("2", "2/call", "crawl")


def test_tables_of_its_database_are_joined(load: Load) -> None:
    row = {"id": "1", "toolCallId": "k", "apiName": "crawl", "error": {"message": "no"}}
    data = {
        "messages": [{**message("1", "tool", "failed", 1), "createdAt": "2026-03-01T09:00:00Z"}],
        "messagePlugins": [row],
        "sessions": [],
        "topics": [],
    }
    (batch,), report = load({"data": data, "mode": "pglite", "schemaHash": "0"})
    (result,) = batch.messages
    assert report.format == "lobechat"
    assert (result.tool_call_id, result.tool_name, result.tool_status) == ("k", "crawl", "error")


def test_errors_and_files_are_told_apart_from_words(load: Load) -> None:
    (batch,), report = load(
        export(
            message("1", "user", "see", 1, imageList=[{"id": "x"}], fileList=[{"name": "a.csv"}]),
            message("2", "assistant", "", 2, error={"type": "quota"}),
            message("3", "assistant", "yes", 3, reasoning={"content": "hm"}),
        )
    )
    assert [each.content for each in batch.messages] == ["see\n[image]\n[file: a.csv]", "yes"]
    assert report.skipped == {"errors that the program showed": 1, "reasoning blocks": 1}
