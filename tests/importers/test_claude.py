# SPDX-License-Identifier: MIT
"""The export of conversations with `chat_messages`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from mnemogram.importers import read

from .conftest import Load


def message(uuid: str, sender: str, said: Any, parent: str | None = None, **more: Any) -> Any:
    blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
    return {
        "uuid": uuid,
        "sender": sender,
        "text": "",
        "content": blocks,
        "created_at": f"2026-02-01T10:00:{len(uuid):02}.123456Z",
        "attachments": [],
        "files": [],
        **({"parent_message_uuid": parent} if parent else {}),
        **more,
    }


def chat(*messages: Any, **more: Any) -> Any:
    return {
        "uuid": "c-1",
        "name": "Bread",
        "created_at": "2026-02-01T10:00:00Z",
        "account": {"uuid": "me"},
        "chat_messages": list(messages),
        **more,
    }


def test_what_was_said_comes_in_with_ids_titles_and_times(load: Load) -> None:
    (batch,), report = load(
        [chat(message("1", "human", "how long?"), message("2", "assistant", "overnight"))]
    )
    assert report.format == "claude"
    assert (batch.session.id, batch.session.title) == ("c-1", "Bread")
    assert [(m.uid, m.role, m.content) for m in batch.messages] == [
        ("1", "user", "how long?"),
        ("2", "assistant", "overnight"),
    ]
    assert str(batch.messages[0].timestamp) == "2026-02-01 10:00:01.123456+00:00"


def test_calls_results_thinking_and_attachments_are_told_apart(load: Load) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "t", "name": "search", "input": {"q": "面团"}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "12 h"}]},
        {"type": "text", "text": "Twelve hours."},
    ]
    attached: Any = {"file_name": "notes.txt", "file_type": "txt", "file_size": 12}
    attached |= {"extracted_content": "salt"}
    (batch,), report = load(
        [
            chat(
                message("1", "human", "read", attachments=[attached]),
                message("2", "assistant", blocks),
                message("3", "human", None, text="plain words", files=[{"file_name": "a.png"}]),
                message("4", "human", []),
            )
        ]
    )
    assert [(m.role, m.content, m.tool_name) for m in batch.messages] == [
        ("user", "read\n[file: notes.txt, txt, 12 bytes]\nsalt", None),
        ("assistant", "Twelve hours.", None),
        ("tool", "12 h", "search"),
        ("user", "plain words\n[file: a.png]", None),
    ]
    assert report.skipped == {"reasoning blocks": 1, "messages without any content": 1}


def test_branches_that_were_left_are_kept_as_such(load: Load) -> None:
    nodes = (
        message("1", "human", "which bakery", "root"),
        message("2a", "assistant", "Elm Street", "1"),
        message("2b", "assistant", "Oak Street", "1"),
    )
    (batch,), report = load([chat(*nodes)])
    assert [m.uid for m in batch.messages] == ["1", "2b"]
    assert [m.uid for m in batch.left] == ["2a"]
    assert report.skipped == {"messages on branches that were left": 1}
    (batch,), _ = load([chat(*nodes, current_leaf_message_uuid="2a")])
    assert [m.uid for m in batch.messages] == ["1", "2a"]


def test_its_archive_is_opened_and_one_bad_conversation_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    bad = chat(message("1", "narrator", "?"), "text", message("2", "human", "fine"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", json.dumps([{"uuid": "me"}]))
        archive.writestr("conversations.json", json.dumps([{"uuid": "x"}, bad]))
    (batch,) = read(path)
    assert [m.content for m in batch.messages] == ["fine"]
