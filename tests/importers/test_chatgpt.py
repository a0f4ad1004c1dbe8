# SPDX-License-Identifier: MIT
"""The tree of a ChatGPT export."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from mnemogram.importers import Report, read

from .conftest import Load


def node(
    key: str, parent: str | None, role: str, content: Any, *, at: float | None = None, **more: Any
) -> dict[str, Any]:
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    author = {"role": role, "name": more.pop("name", None)}
    message = {"id": key, "author": author, "create_time": at, "content": content, **more}
    return {"id": key, "message": message, "parent": parent, "children": []}


def conversation(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    root = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {each["id"]: each for each in (root, *nodes)}
    return {
        "title": "牙医",
        "create_time": 1772326800.0,
        "mapping": mapping,
        "conversation_id": "c-1",
        "default_model_slug": "model-a",
        **more,
    }


BRANCHED = conversation(
    node("s", "root", "system", "", at=None),
    node("u1", "s", "user", "约牙医", at=1772326801.25),
    node("a1", "u1", "assistant", "old answer", at=1772326802),
    node("a2", "u1", "assistant", "new answer", metadata={"model_slug": "model-b"}),
    node("u2", "a2", "user", "thanks", at=1772326900),
    current_node="u2",
)


def test_the_current_branch_is_followed_and_the_others_are_counted(load: Load) -> None:
    (batch,), report = load([BRANCHED])
    assert report.format == "chatgpt"
    assert [(m.uid, m.role, m.content) for m in batch.messages] == [
        ("u1", "user", "约牙医"),
        ("a2", "assistant", "new answer"),
        ("u2", "user", "thanks"),
    ]
    assert report.skipped == {"messages on branches that were left": 1, "system messages": 1}
    assert (batch.session.id, batch.session.title, batch.session.model) == (
        "c-1",
        "牙医",
        "model-b",
    )


def test_a_node_without_a_time_has_the_one_before_it(load: Load) -> None:
    (batch,), _ = load([BRANCHED])
    assert batch.messages[1].timestamp == batch.messages[0].timestamp


def test_without_a_current_node_the_longest_branch_is_taken(load: Load) -> None:
    for current in (None, "gone", 7):
        (batch,), _ = load([{**BRANCHED, "current_node": current}])
        assert [m.uid for m in batch.messages] == ["u1", "a2", "u2"]


def test_a_circle_of_parents_ends(load: Load) -> None:
    looped = conversation(
        node("a", "b", "user", "one"), node("b", "a", "user", "two"), current_node="a"
    )
    (batch,), _ = load([looped])
    assert [m.content for m in batch.messages] == ["two", "one"]


def test_tools_hidden_nodes_and_other_kinds_of_content_are_told_apart(load: Load) -> None:
    talk = conversation(
        node("h", "root", "user", "profile", metadata={"is_visually_hidden_from_conversation": 1}),
        node("c", "h", "user", {"content_type": "user_editable_context", "user_profile": "x"}),
        node(
            "p",
            "c",
            "user",
            {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "f"}, "what?"],
            },
        ),
        node("t", "p", "assistant", {"content_type": "thoughts", "thoughts": []}),
        node("q", "t", "assistant", {"content_type": "code", "text": "1+1"}, recipient="python"),
        node("r", "q", "tool", {"content_type": "execution_output", "text": "2"}, name="python"),
        node(
            "w",
            "r",
            "tool",
            {"content_type": "tether_quote", "title": "T", "url": "u", "text": "quote"},
            name="browser",
        ),
        node("a", "w", "assistant", "two"),
        current_node="a",
    )
    (batch,), report = load([talk])
    assert [(m.role, m.content, m.tool_name) for m in batch.messages] == [
        ("user", "[image]\nwhat?", None),
        ("assistant", "", None),
        ("tool", "2", "python"),
        ("tool", "T\nu\nquote", "browser"),
        ("assistant", "two", None),
    ]
    assert batch.messages[1].tool_calls == [{"name": "python", "arguments": "1+1"}]
    assert report.skipped == {"hidden messages": 2, "reasoning blocks": 1}


def test_one_broken_conversation_and_one_broken_node_leave_the_rest(load: Load) -> None:
    broken = conversation(
        node("x", "root", "oracle", "?"), node("y", "x", "user", "fine"), current_node="y"
    )
    broken["mapping"]["x"]["parent"] = None
    batches, report = load([{"mapping": 1}, BRANCHED, broken])
    assert [len(batch.messages) for batch in batches] == [3, 1]
    assert [each.where for each in report.problems] == [
        "line 1, conversation 1",
        "line 1, conversation 3, node x",
    ]


def test_the_archive_of_an_export_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("conversations.json", json.dumps([BRANCHED]))
    report = Report()
    (batch,) = read(path, report=report)
    assert len(batch.messages) == 3
