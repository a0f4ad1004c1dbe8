# SPDX-License-Identifier: MIT
"""Chats of Open WebUI."""

from __future__ import annotations

from typing import Any

from .conftest import Load


def message(key: str, parent: str | None, role: str, content: Any, **more: Any) -> Any:
    return {"id": key, "parentId": parent, "role": role, "content": content, **more}


def chat(current: str, *messages: Any) -> Any:
    history = {"currentId": current, "messages": {each["id"]: each for each in messages}}
    return [{"id": "c", "title": "t", "chat": {"history": history}, "created_at": 1_772_355_600}]


def test_the_current_branch_stands_and_others_were_left(load: Load) -> None:
    (batch,), report = load(
        chat(
            "b2",
            message("a", None, "user", "which bakery"),
            message("b1", "a", "assistant", "on Elm Street"),
            message("b2", "a", "assistant", "on Oak Street"),
        )
    )
    assert [each.content for each in batch.messages] == ["which bakery", "on Oak Street"]
    assert [each.content for each in batch.left] == ["on Elm Street"]
    assert batch.whole is not None
    assert batch.whole.live == {"a", "b2"}
    assert report.format == "open-webui"


def test_answers_that_models_gave_side_by_side_all_stand(load: Load) -> None:
    (batch,), _ = load(
        chat(
            "b1",
            message("a", None, "user", "q", models=["x", "y"]),
            message("b0", "a", "assistant", "rejected", modelIdx=1),
            message("b1", "a", "assistant", "from x", modelIdx=0),
            message("b2", "a", "assistant", "from y", modelIdx=1),
        )
    )
    assert [each.content for each in batch.messages] == ["q", "from x", "from y"]
    assert [each.content for each in batch.left] == ["rejected"]


def test_thoughts_and_calls_in_a_text_are_no_words(load: Load) -> None:
    said = (
        '<details type="reasoning" done="true" duration="3"><summary>Thought</summary>\n'
        "&gt; hm</details>\n"
        '<details type="tool_calls" done="true" id="k" name="rain" arguments="{&quot;a&quot;: 1}"'
        ' result="&quot;drizzle&quot;"><summary>Tool Executed</summary></details>\n'
        "It rains.\n<details><summary>more</summary>kept</details>"
    )
    (batch,), report = load(
        chat("b", message("a", None, "user", "q"), message("b", "a", "assistant", said))
    )
    _, answer, result = batch.messages
    assert answer.content == "It rains.\n<details><summary>more</summary>kept</details>"
    assert answer.tool_calls == [{"id": "k", "name": "rain", "arguments": '{"a": 1}'}]
    assert (result.role, result.content, result.tool_name) == ("tool", '"drizzle"', "rain")
    assert report.skipped["reasoning blocks"] == 1


def test_a_piece_of_details_that_never_ends_is_text(load: Load) -> None:
    said = '<details type="reasoning">' * 3 + "cut off"
    (batch,), _ = load(
        chat("b", message("a", None, "user", "q"), message("b", "a", "assistant", said))
    )
    assert batch.messages[1].content == said


def test_what_a_model_put_out_goes_before_the_text_made_of_it(load: Load) -> None:
    output = [
        {"type": "reasoning", "id": "r", "content": [{"type": "output_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "k", "name": "rain", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "k",
            "output": [{"type": "input_text", "text": "drizzle"}],
        },
        {"type": "message", "content": [{"type": "output_text", "text": "It rains."}]},
    ]
    (batch,), _ = load(
        chat(
            "b",
            message("a", None, "user", "q"),
            message("b", "a", "assistant", "<details>It rains.", output=output),
        )
    )
    assert [(m.role, m.content) for m in batch.messages[1:]] == [
        ("assistant", "It rains."),
        ("tool", "drizzle"),
    ]


def test_files_are_marks_and_their_texts_text(load: Load) -> None:
    files = [
        {"type": "image", "url": "data:image/png;base64," + "QUJD" * 500},
        {
            "type": "file",
            "name": "plan.txt",
            "file": {
                "filename": "plan.txt",
                "meta": {"content_type": "text/plain", "size": 12},
                "data": {"content": "board at nine"},
            },
        },
    ]
    (batch,), _ = load(chat("a", message("a", None, "user", "see", files=files)))
    assert batch.messages[0].content == (
        "see\n[image]\n[file: plan.txt, text/plain, 12 bytes]\nboard at nine"
    )
