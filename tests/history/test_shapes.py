# SPDX-License-Identifier: MIT
"""Appending what model APIs take, and times as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram import History, InvalidArgument, Message
from mnemogram.history.shapes import messages_of


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


COMPLETION: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": [{"type": "text", "text": "Is there porcelain"},
                                 {"type": "text", "text": " in Porto?"},
                                 {"type": "image_url", "image_url": {"url": "data:..."}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "look_up", "arguments": '{"city": "Porto"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"found": "azulejos"}'},
    {"role": "assistant", "content": "Yes: azulejos."},
]  # fmt: skip
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Is there porcelain in Porto?"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I look it up."},
        {"type": "tool_use", "id": "t1", "name": "look_up", "input": {"city": "Porto"}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "is_error": True,
         "content": [{"type": "text", "text": "no network"}]},
        {"type": "text", "text": "Try again."}]},
]  # fmt: skip


def test_a_chat_completion_is_appended_as_it_is(history: History) -> None:
    assert history.append("s", COMPLETION).inserted == 4
    found = list(history.messages("s"))
    assert [(each.role, each.content) for each in found] == [
        ("user", "Is there porcelain in Porto?\n[image_url]"),
        ("assistant", ""),
        ("tool", '{"found": "azulejos"}'),
        ("assistant", "Yes: azulejos."),
    ]
    assert found[1].tool_calls == COMPLETION[2]["tool_calls"]
    assert (found[2].tool_name, found[2].tool_call_id) == ("look_up", "c1")
    assert history.append("s", COMPLETION).inserted == 0
    assert history.search("azulejos", roles=("tool",)).count == 1


def test_messages_of_anthropic_are_appended_as_they_are(history: History) -> None:
    assert history.append("s", ANTHROPIC).inserted == 4
    found = list(history.messages("s"))
    assert [(each.role, each.content) for each in found] == [
        ("user", "Is there porcelain in Porto?"),
        ("assistant", "I look it up."),
        ("tool", "no network"),
        ("user", "Try again."),
    ]
    assert found[1].tool_calls == [{"id": "t1", "name": "look_up", "arguments": {"city": "Porto"}}]
    assert (found[2].tool_name, found[2].tool_status) == ("look_up", "error")


def test_ids_and_times_of_dicts_are_kept(history: History) -> None:
    said = {"role": "user", "content": "hello", "id": 7, "timestamp": 1_767_225_600}
    assert history.append("s", [said, Message("assistant", "hi", uid="8")]).inserted == 2
    assert history.append("s", [said]).repeated == 1
    first = next(history.messages("s"))
    assert (first.uid, first.timestamp) == ("7", "2026-01-01T00:00:00.000Z")


def test_a_redactor_sees_what_dicts_hold(tmp_path: Path) -> None:
    with History.open(
        tmp_path / "r.db", redactor=lambda text: text.replace("Porto", "[city]")
    ) as history:
        history.append("s", COMPLETION)
        assert "Porto" not in "".join(each.content for each in history.messages("s"))
        assert history.search("Porto").count == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "narrator", "content": "x"},
        {"content": "x"},
        {"role": 3, "content": "x"},
        {"role": "user", "content": [3]},
        "text",
        None,
        3,
    ],
)
def test_what_is_no_message_is_refused_and_nothing_is_stored(history: History, wrong: Any) -> None:
    with pytest.raises(InvalidArgument):
        history.append("s", [{"role": "user", "content": "before"}, wrong])
    assert list(history.messages()) == []


@given(
    st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
            optional={
                "content": st.none()
                | st.text(max_size=5)
                | st.lists(
                    st.dictionaries(
                        st.sampled_from(["type", "text", "content", "input", "name", "id"]),
                        st.sampled_from(["text", "tool_use", "tool_result", "image", "odd"])
                        | st.none()
                        | st.integers(),
                    ),
                    max_size=3,
                ),
                "tool_calls": st.none() | st.lists(st.dictionaries(st.just("name"), st.text())),
            },
        ),
        max_size=4,
    )
)
def test_no_word_of_a_dict_is_lost(values: list[dict[str, Any]]) -> None:
    shown = list(messages_of(values))
    assert all(isinstance(each, Message) for each in shown)
    said = [each for each in values if each["role"] != "system"]
    for value in said:
        content = value.get("content")
        if isinstance(content, str):
            assert any(each.content == content for each in shown)


@pytest.mark.parametrize("name", ["timestamp", "created_at", "createdAt"])
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1_767_225_600, "2026-01-01T00:00:00.000Z"),
        (1_767_225_600.25, "2026-01-01T00:00:00.250Z"),
        (1_767_225_600_250, "2026-01-01T00:00:00.250Z"),
        ("2026-01-01T08:00:00+08:00", "2026-01-01T00:00:00.000Z"),
    ],
)
def test_the_time_of_a_dict_is_known_in_the_usual_forms(
    history: History, name: str, number: float | str, expected: str
) -> None:
    history.append("s", [{"role": "user", "content": "x", name: number}])
    assert next(history.messages("s")).timestamp == expected
