# SPDX-License-Identifier: MIT
"""Messages that LangChain has written out, made by LangChain itself where it is installed."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Load

langchain = pytest.importorskip("langchain_core.messages")
load_module = pytest.importorskip("langchain_core.load")


@pytest.fixture
def messages() -> list[Any]:
    call = {"name": "rain", "args": {"city": "Porto"}, "id": "k"}
    block = {"type": "tool_use", "id": "k", "name": "rain", "input": {"city": "Porto"}}
    return [
        langchain.SystemMessage("be kind"),
        langchain.HumanMessage("rain?", id="1"),
        langchain.AIMessage(
            [{"type": "text", "text": "let me see"}, block], tool_calls=[call], id="2"
        ),
        langchain.ToolMessage("drizzle", tool_call_id="k", status="error", id="3"),
        langchain.RemoveMessage(id="1"),
        langchain.HumanMessage(
            "all that was said", additional_kwargs={"lc_source": "summarization"}
        ),
        langchain.ChatMessage(role="user", content="thanks"),
        langchain.AIMessageChunk("welcome", response_metadata={"model_name": "m-1"}),
    ]


@pytest.mark.parametrize("form", ["dicts", "dumps", "fields", "state"])
def test_each_form_says_the_same(load: Load, messages: list[Any], form: str) -> None:
    value: Any = {
        "dicts": lambda: langchain.messages_to_dict(messages),
        "dumps": lambda: load_module.dumpd(messages),
        "fields": lambda: [each.model_dump() for each in messages],
        "state": lambda: {
            "values": {"messages": [each.model_dump() for each in messages]},
            "config": {"configurable": {"thread_id": "t-1"}},
            "created_at": "2026-03-01T09:00:00Z",
        },
    }[form]()
    (batch,), report = load(value)
    assert report.format == "langchain"
    assert report.problems == []
    assert [(m.role, m.content) for m in batch.messages] == [
        ("user", "rain?"),
        ("assistant", "let me see"),
        ("tool", "drizzle"),
        ("user", "thanks"),
        ("assistant", "welcome"),
    ]
    assert batch.messages[1].tool_calls == [
        {"id": "k", "name": "rain", "arguments": {"city": "Porto"}}
    ]
    assert batch.messages[2].tool_status == "error"
    assert batch.messages[2].tool_name == "rain"
    assert batch.session.model == "m-1"
    assert report.skipped["summaries of compacted context"] == 1
    if form == "state":
        assert batch.session.id == "t-1"


def test_a_message_that_is_none_is_named(load: Load, messages: list[Any]) -> None:
    value = [*langchain.messages_to_dict(messages[1:2]), {"type": "weather"}, 7]
    (batch,), report = load(value)
    assert len(batch.messages) == 1
    assert report.problem_count == 2
