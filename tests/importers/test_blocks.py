# SPDX-License-Identifier: MIT
"""What one message holds: nothing is lost, and nothing is made up."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram.importers.blocks import result_text, split

from .conftest import Load

PICTURE = base64.b64encode(random.Random(7).randbytes(3_000)).decode()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([text("博物馆周一"), text("闭馆。")], "博物馆周一闭馆。"),
        (
            [text("The museum is "), text("closed", citations=[{"url": "u"}])],
            "The museum is closed",
        ),
        (["one ", "sentence"], "one sentence"),
        ([text("for you."), {"type": "tool_use", "name": "f"}, text("Now")], "for you.\nNow"),
        ([text("a"), {"type": "thinking", "thinking": "hm"}, text("b")], "a\nb"),
        ([text("a\n"), {"type": "image"}, text("\nb")], "a\n[image]\nb"),
        ([{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}], "ab"),
        ([text("")], ""),
        ([], ""),
        (None, ""),
    ],
    ids=str,
)
def test_texts_that_follow_each_other_are_one(content: Any, said: str) -> None:
    assert split(content).text == said


@given(st.lists(st.text()))
def test_text_cut_anywhere_is_whole_again(pieces: list[str]) -> None:
    assert split([text(each) for each in pieces]).text == "".join(pieces)


@pytest.mark.parametrize(
    "answer",
    [
        {"rows": ["porcelain"]},
        {"rows": ["porcelain"], "text": "3 rows", "ok": True},
        {"output": "porcelain", "exit": 0},
        {"type": "record", "name": "porcelain"},
        ["porcelain", 3],
        [{"id": 1, "name": "porcelain"}],
        [[{"deep": {"porcelain": None}}]],
        {"名": "瓷器 porcelain"},
        "porcelain",
    ],
    ids=str,
)
def test_what_a_tool_answers_in_json_is_kept_as_its_json(load: Load, answer: Any) -> None:
    (batch,), report = load(
        {"messages": [{"role": "tool", "tool_call_id": "1", "content": answer}]}
    )
    (message,) = batch.messages
    assert message.content == (
        answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    )
    assert report.problem_count == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("abc"), inner),
    )
)
def test_any_json_answer_comes_back(answer: Any) -> None:
    found = result_text(answer)
    if answer is None or isinstance(answer, str):
        assert found == (answer or "")
    else:
        assert json.loads(found) == answer


@pytest.mark.parametrize(
    "block",
    [
        {"type": "weather_card", "city": "Porto"},
        {"type": "quote", "text": "said", "source": "Porto"},
        {"city": "Porto"},
        {"type": "data-map", "data": {"city": "Porto"}},
        {"type": "source-url", "url": "https://example.org/Porto", "sourceId": "1"},
    ],
    ids=str,
)
def test_an_unknown_block_is_kept_as_its_json(block: Any) -> None:
    assert split([text("a"), block]).text == "a\n" + json.dumps(block)


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}],
        [{"type": "custom", "blob": PICTURE}],
        [{"type": "tool_result", "content": [{"type": "image", "source": {"data": PICTURE}}]}],
        [{"type": "tool_result", "content": f'{{"png": "{PICTURE}"}}'}],
        [{"type": "tool-shot", "toolCallId": "1", "output": {"png": PICTURE}}],
        f"look: ![it](data:image/png;base64,{PICTURE})",
        [{"inlineData": {"mimeType": "image/png", "data": PICTURE}}],
    ],
    ids=lambda content: str(content)[:40],
)
def test_bytes_written_as_text_reach_no_index(content: Any) -> None:
    found = split(content)
    assert PICTURE[:100] not in found.text + "".join(each.text for each in found.results)
    assert "[" in found.text + "".join(each.text for each in found.results)


@pytest.mark.parametrize("long", ["a" * 5_000, "ACGT" * 500, "0123456789" * 90, "词" * 5_000])
def test_long_words_are_no_bytes(long: str) -> None:
    assert split(long).text == long
    assert result_text(long) == long


def sdk(*parts: Any) -> Any:
    return [{"role": "user", "content": "q"}, {"id": "m", "role": "assistant", "parts": parts}]


@pytest.mark.parametrize(
    "part",
    [
        {
            "type": "tool-weather",
            "toolCallId": "k",
            "state": "output-available",
            "input": {"city": "Porto"},
            "output": {"rain": "drizzle"},
        },
        {
            "type": "dynamic-tool",
            "toolName": "weather",
            "toolCallId": "k",
            "input": {"city": "Porto"},
            "output": {"rain": "drizzle"},
        },
        {
            "type": "tool-invocation",
            "toolInvocation": {
                "toolName": "weather",
                "toolCallId": "k",
                "state": "result",
                "args": {"city": "Porto"},
                "result": {"rain": "drizzle"},
            },
        },
    ],
    ids=lambda part: part["type"],
)
def test_a_tool_part_of_the_ai_sdk_is_a_call_and_its_result(load: Load, part: Any) -> None:
    (batch,), report = load(sdk({"type": "step-start"}, part, text("A.")))
    assert report.problem_count == 0
    asked, answered = batch.messages[1:]
    assert (asked.role, asked.content) == ("assistant", "A.")
    assert asked.tool_calls == [{"id": "k", "name": "weather", "arguments": {"city": "Porto"}}]
    assert (answered.role, answered.content) == ("tool", '{"rain": "drizzle"}')
    assert (answered.tool_call_id, answered.tool_name) == ("k", "weather")


def test_a_tool_part_that_failed_or_waits_says_so(load: Load) -> None:
    failed = {"type": "tool-w", "toolCallId": "1", "input": {}, "errorText": "no such city"}
    waiting = {"type": "tool-w", "toolCallId": "2", "state": "input-available", "input": {"a": 1}}
    (batch,), _ = load(sdk(failed, waiting))
    asked, answered = batch.messages[1:]
    assert asked.tool_calls is not None
    assert len(asked.tool_calls) == 2
    assert (answered.content, answered.tool_status) == ("no such city", "error")


def test_results_of_several_calls_in_one_message_are_several_messages(load: Load) -> None:
    results = [
        {"type": "tool-result", "toolCallId": str(i), "toolName": "f", "output": {"n": i}}
        for i in range(2)
    ]
    (batch,), _ = load([{"role": "user", "content": "q"}, {"role": "tool", "content": results}])
    assert [(m.role, m.content, m.tool_call_id) for m in batch.messages[1:]] == [
        ("tool", '{"n": 0}', "0"),
        ("tool", '{"n": 1}', "1"),
    ]


def test_files_are_marks_with_name_type_and_size_and_text_files_are_text() -> None:
    file = {"type": "file", "filename": "plan.pdf", "mediaType": "application/pdf", "size": 1200}
    assert split([file]).text == "[file: plan.pdf, application/pdf, 1,200 bytes]"
    source = {"type": "text", "media_type": "text/plain", "data": "the plan"}
    document = {"type": "document", "title": "plan.txt", "source": source}
    assert split([document]).text == "[file: plan.txt, text/plain]\nthe plan"
