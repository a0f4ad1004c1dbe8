# SPDX-License-Identifier: MIT
"""Items of the Responses interface, alone and inside rollout logs."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Load


def said(role: str, words: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": words}], **more}


CALL = {"type": "function_call", "name": "shell", "arguments": '{"cmd": "ls"}', "call_id": "k"}
OUTPUT = {"type": "function_call_output", "call_id": "k", "output": "renamed"}
ITEMS = [
    said("developer", "be brief"),
    said("user", "rename the parser"),
    {"type": "reasoning", "id": "r", "summary": []},
    CALL,
    OUTPUT,
    said("assistant", "done", id="msg_1"),
]


def line(kind: str, payload: Any, second: int = 0) -> dict[str, Any]:
    return {"timestamp": f"2026-03-01T09:00:{second:02}Z", "type": kind, "payload": payload}


META = line("session_meta", {"id": "01-aa", "cwd": "/x", "timestamp": "2026-03-01T08:59:00Z"})


def shown(role: str, words: str) -> dict[str, Any]:
    kind = {"user": "user_message", "assistant": "agent_message"}[role]
    return line("event_msg", {"type": kind, "message": words})


def roles(batch: Any) -> list[tuple[str, str | None]]:
    return [(m.role, m.content) for m in batch.messages]


SAID = [
    ("user", "rename the parser"),
    ("assistant", ""),
    ("tool", "renamed"),
    ("assistant", "done"),
]


@pytest.mark.parametrize(
    "shape",
    [
        {"value": ITEMS},
        {"lines": ITEMS},
        {"value": {"session_id": "s", "items": ITEMS}},
        {"value": [{"session_id": "s", "input": ITEMS}]},
    ],
    ids=str,
)
def test_items_become_messages_calls_and_results(load: Load, shape: Any) -> None:
    (batch,), report = load(**shape)
    assert report.format == "responses"
    assert roles(batch) == SAID
    call, answer = batch.messages[1:3]
    assert call.tool_calls == [{"id": "k", "name": "shell", "arguments": '{"cmd": "ls"}'}]
    assert (answer.tool_name, answer.tool_call_id) == ("shell", "k")
    assert report.skipped == {"system messages": 1, "reasoning blocks": 1}
    assert report.problem_count == 0


def test_plain_messages_between_items_are_read_as_well(load: Load) -> None:
    (batch,), _ = load([{"role": "user", "content": "hello"}, CALL, OUTPUT])
    assert roles(batch) == [("user", "hello"), ("assistant", ""), ("tool", "renamed")]


def test_calls_of_every_kind_keep_what_they_asked_and_got(load: Load) -> None:
    (batch,), _ = load(
        [
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"q": "面团"}},
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "***"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": {"ok": ["porcelain"]}},
            {"type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "said"},
        ]
    )
    assert [m.tool_calls and m.tool_calls[0]["name"] for m in batch.messages] == [
        *("web_search", "patch", None, "ask", None),
    ]
    assert batch.messages[0].tool_calls[0]["arguments"] == {"action": {"q": "面团"}}
    assert [m.content for m in batch.messages if m.role == "tool"] == [
        '{"ok": ["porcelain"]}',
        "said",
    ]


def test_a_growing_list_gives_the_same_ids(load: Load) -> None:
    yes = said("user", "yes")
    (short,), _ = load([said("user", "a"), yes])
    (long,), _ = load([said("user", "a"), yes, OUTPUT, yes])
    assert [m.uid for m in long.messages][:2] == [m.uid for m in short.messages]
    assert len({m.uid for m in long.messages}) == 4


def test_what_a_rollout_shows_and_says_is_kept_once(load: Load) -> None:
    (batch,), report = load(
        lines=[
            META,
            line("turn_context", {"model": "model-a"}),
            line("response_item", ITEMS[0]),
            line("response_item", said("user", "<environment_context>\n</environment_context>")),
            line("response_item", ITEMS[1]),
            shown("user", "rename the parser"),
            line("event_msg", {"type": "token_count", "info": None}),
            line("response_item", CALL),
            line("response_item", OUTPUT),
            shown("assistant", "done"),  # before what it mirrors
            line("response_item", ITEMS[5]),
        ]
    )
    assert report.format == "rollout"
    assert roles(batch) == SAID
    assert (batch.session.id, batch.session.source, batch.session.model) == (
        *("01-aa", "cli", "model-a"),
    )
    assert report.skipped["messages that the program wrote itself"] == 1


def test_a_rollout_of_events_alone_is_read_and_equal_words_stay_two(load: Load) -> None:
    (batch,), _ = load(
        lines=[META, shown("user", "yes"), shown("assistant", "ok"), shown("user", "yes")]
    )
    assert roles(batch) == [("user", "yes"), ("assistant", "ok"), ("user", "yes")]
    both = [line("response_item", said("user", "yes")), shown("user", "yes")]
    (batch,), _ = load(lines=[META, *both, *both])
    assert roles(batch) == [("user", "yes"), ("user", "yes")]


def test_a_rollout_that_is_cut_off_before_the_mirror_gives_the_same_ids(load: Load) -> None:
    lines = [META, shown("user", "a"), line("response_item", said("user", "a"))]
    (short,), _ = load(lines=lines[:2])
    (long,), _ = load(lines=lines)
    assert [m.uid for m in short.messages] == [m.uid for m in long.messages]


def test_compactions_and_turns_rolled_back_become_states(load: Load) -> None:
    (batch,), _ = load(
        lines=[
            META,
            line("response_item", said("user", "one")),
            line("compacted", {"message": "the summary"}),
            line("response_item", said("user", "two")),
            line("response_item", said("assistant", "wrong")),
            line("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
            line("response_item", said("user", "three")),
        ]
    )
    assert [m.content for m in batch.messages] == ["one", "three"]
    assert [m.content for m in batch.left] == ["two", "wrong"]
    assert batch.states == {batch.messages[0].uid: "compacted"}


def test_a_forked_rollout_names_its_origin(load: Load) -> None:
    origin = line("session_meta", {"id": "01-aa"})
    words = line("response_item", said("user", "a"))
    (batch,), _ = load(lines=[line("session_meta", {"id": "02-bb"}), origin, words])
    assert (batch.session.id, batch.session.parent) == ("02-bb", "01-aa")
    named = {"id": "02-bb", "forked_from_id": "01-aa"}
    (batch,), _ = load(lines=[line("session_meta", named), words])
    assert batch.session.parent == "01-aa"
    agent = {"id": "03", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "01-aa"}}}}
    (batch,), _ = load(lines=[line("session_meta", agent), words])
    assert (batch.session.source, batch.session.parent) == ("subagent", "01-aa")


def test_a_long_rollout_comes_in_pieces_and_a_broken_line_leaves_the_rest(load: Load) -> None:
    lines: list[Any] = [META, {"type": "response_item"}, {"type": "response_item", "payload": {}}]
    lines += [line("response_item", said("user", f"line {i}")) for i in range(11_000)]
    batches, report = load(lines=lines)
    assert len(batches) > 1
    assert sum(len(each.messages) for each in batches) == 11_000
    assert {each.session.id for each in batches} == {"01-aa"}
    assert report.problem_count == 2
