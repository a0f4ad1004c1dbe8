# SPDX-License-Identifier: MIT
"""Chat-completion style files, in every shape people keep them."""

from __future__ import annotations

from typing import Any

import pytest

from mnemogram.moments import to_microseconds

from .conftest import Load

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "明早几点去看牙医？"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "calendar", "arguments": '{"day": "明天"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": '{"at": "09:00"}'},
    {"role": "assistant", "content": "九点。"},
]
SHORT = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]


def said(batches: list[Any]) -> list[list[tuple[str, str | None]]]:
    return [[(m.role, m.content) for m in batch.messages] for batch in batches]


@pytest.mark.parametrize(
    "shape",
    [
        {"value": TALK},
        {"value": {"messages": TALK}},
        {"value": {"traj": TALK, "reward": 1.0}},
        {"value": {"request": {"body": {"messages": TALK}}}},
        {"value": {"anything": TALK}},
        {"value": [{"messages": TALK}]},
        {"value": [TALK]},
        {"lines": TALK},
        {"lines": [{"messages": TALK}]},
        {"lines": [TALK]},
    ],
    ids=lambda shape: str(shape)[:40],
)
def test_the_same_conversation_is_found_in_every_shape(load: Load, shape: dict[str, Any]) -> None:
    batches, report = load(**shape)
    assert report.format == "openai"
    assert said(batches) == [
        [
            ("user", "明早几点去看牙医？"),
            ("assistant", ""),
            ("tool", '{"at": "09:00"}'),
            ("assistant", "九点。"),
        ]
    ]
    assert report.skipped == {"system messages": 1}
    assert report.problem_count == 0


def test_a_conversation_has_one_id_whatever_file_it_comes_in(load: Load) -> None:
    as_list, _ = load(TALK)
    as_lines, _ = load(lines=TALK)
    inside, _ = load([{"messages": SHORT}, {"messages": TALK}])
    assert as_list[0].session.id == as_lines[0].session.id == inside[1].session.id
    assert as_list[0].messages == as_lines[0].messages == inside[1].messages


def test_tool_calls_are_kept_and_name_the_result_they_get(load: Load) -> None:
    (batch,), _ = load(TALK)
    call, answer = batch.messages[1], batch.messages[2]
    assert call.tool_calls == TALK[2]["tool_calls"]
    assert (answer.tool_call_id, answer.tool_name) == ("call_1", "calendar")


def test_equal_conversations_stay_apart_in_a_file_and_equal_at_the_next_import(load: Load) -> None:
    first, _ = load([{"messages": SHORT}] * 3)
    second, _ = load([{"messages": SHORT}] * 3)
    ids = [batch.session.id for batch in first]
    assert len(set(ids)) == 3
    assert ids == [batch.session.id for batch in second]


def test_equal_utterances_of_one_conversation_stay_apart(load: Load) -> None:
    (batch,), _ = load([{"role": "user", "content": "ok"}] * 3)
    assert len({message.uid for message in batch.messages}) == 3


def test_the_ids_of_the_file_are_used(load: Load) -> None:
    (batch,), _ = load(
        {
            "session_id": "s-1",
            "title": "Trip",
            "model": "m-1",
            "messages": [{"role": "user", "content": "hello", "id": "m1"}],
        }
    )
    assert (batch.session.id, batch.session.title, batch.session.model) == ("s-1", "Trip", "m-1")
    assert batch.messages[0].uid == "m1"


def test_an_id_used_twice_for_different_words_loses_none_of_them(load: Load) -> None:
    (batch,), _ = load(
        [
            {"role": "user", "content": "one", "id": "m"},
            {"role": "user", "content": "two", "id": "m"},
            {"role": "user", "content": "one", "id": "m"},
        ]
    )
    uids = [message.uid for message in batch.messages]
    assert uids[0] == uids[2] == "m"
    assert uids[1] != "m"


def test_blocks_become_text_calls_and_results(load: Load) -> None:
    (batch,), report = load(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                    {"type": "input_audio", "input_audio": {"data": "AAAA"}},
                    {"type": "file", "file": {"filename": "plan.pdf"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "I look it up."},
                    {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": "城市"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": "gone",
                        "is_error": True,
                    },
                    {"type": "text", "text": "and now?"},
                ],
            },
        ]
    )
    assert said([batch]) == [
        [
            ("user", "look\n[image]\n[audio]\n[file: plan.pdf]"),
            ("assistant", "I look it up."),
            ("tool", "gone"),
            ("user", "and now?"),
        ]
    ]
    assert batch.messages[1].tool_calls == [
        {"id": "t1", "name": "find", "arguments": {"q": "城市"}}
    ]
    assert batch.messages[2].tool_name == "find"
    assert batch.messages[2].tool_status == "error"
    assert report.skipped == {"reasoning blocks": 1}


def test_from_and_value_pairs_are_read(load: Load) -> None:
    batches, _ = load(
        lines=[
            {
                "id": "g1",
                "conversations": [
                    {"from": "human", "value": "你好"},
                    {"from": "gpt", "value": "您好"},
                ],
            }
        ]
    )
    assert said(batches) == [[("user", "你好"), ("assistant", "您好")]]


def test_a_transcript_is_cut_at_its_speakers(load: Load) -> None:
    text = "user: first line\nsecond line\nassistant: None\ntool: 12\nassistant: twelve"
    batches, report = load(lines=[{"messages_display": text}])
    assert said(batches) == [
        [("user", "first line\nsecond line"), ("tool", "12"), ("assistant", "twelve")]
    ]
    assert report.skipped == {"tool calls that the transcript does not show": 1}


def test_a_broken_message_is_reported_and_the_rest_is_imported(load: Load) -> None:
    batches, report = load(
        [
            {"messages": SHORT},
            {
                "messages": [
                    {"role": "narrator", "content": "meanwhile"},
                    {"role": "user", "content": 7},
                    "words",
                    {"role": "user", "content": "fine"},
                ]
            },
            {"nothing": True},
        ]
    )
    assert said(batches)[1] == [("user", "fine")]
    assert [each.where for each in report.problems] == [
        "line 1, conversation 2, message 1",
        "line 1, conversation 2, message 2",
        "line 1, conversation 2, message 3",
        "line 1, conversation 3",
    ]
    assert "narrator" in report.problems[0].reason


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2026-03-01T09:00:00+08:00", "2026-03-01T01:00:00+00:00"),
        ("2026-03-01T01:00:00.1Z", "2026-03-01T01:00:00.100000+00:00"),
        ("2026-03-01T01:00:00.123456789Z", "2026-03-01T01:00:00.123456+00:00"),
        (1772326800, "2026-03-01T01:00:00+00:00"),
        (1772326800.5, "2026-03-01T01:00:00.500000+00:00"),
        (1772326800000, "2026-03-01T01:00:00+00:00"),
        (1772326800000000, "2026-03-01T01:00:00+00:00"),
        ("1772326800", "2026-03-01T01:00:00+00:00"),
    ],
)
def test_times_are_read_as_other_programs_write_them(load: Load, written: Any, iso: str) -> None:
    (batch,), _ = load([{"role": "user", "content": "x", "timestamp": written}])
    stamp = batch.messages[0].timestamp
    assert stamp is not None
    assert to_microseconds(stamp) == to_microseconds(iso)


@pytest.mark.parametrize("written", ["soon", True, 1e300, "9" * 400, [], -1e18])
def test_what_is_no_time_is_no_time(load: Load, written: Any) -> None:
    (batch,), _ = load([{"role": "user", "content": "x", "timestamp": written}])
    assert batch.messages[0].timestamp is None
    assert batch.messages[0].provenance == "legacy_snapshot"


def test_a_message_without_a_time_has_the_one_before_it(load: Load) -> None:
    (batch,), _ = load(
        [
            {"role": "user", "content": "a", "timestamp": 1772326800},
            {"role": "assistant", "content": "b"},
        ]
    )
    assert batch.messages[0].timestamp == batch.messages[1].timestamp is not None
    assert batch.messages[1].provenance == "observed"


def test_a_long_conversation_comes_in_pieces_of_one_session(load: Load) -> None:
    batches, _ = load([{"role": "user", "content": f"line {i}"} for i in range(12_001)])
    assert [len(batch.messages) for batch in batches] == [5_000, 5_000, 2_001]
    assert len({batch.session for batch in batches}) == 1
    assert len({m.uid for batch in batches for m in batch.messages}) == 12_001
