# SPDX-License-Identifier: MIT
"""import and append: what they store, report and refuse."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mnemogram.demo import conversations

from .conftest import Run

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "明早九点预约牙医复诊"},
    {"role": "assistant", "content": "好"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"messages": TALK}, {"messages": TALK}]), encoding="utf-8")
    return path


def test_what_was_imported_is_found(run: Run, file: Path) -> None:
    done = run("import", file)
    assert (done.code, done.out) == (0, "")
    assert "2 conversations, 4 new" in done.err
    assert "2 system messages" in done.err
    assert run("search", "牙医", "--json").json["count"] == 2


def test_importing_twice_adds_nothing(run: Run, file: Path, tmp_path: Path) -> None:
    run("import", file)
    moved = tmp_path / "elsewhere.json.gz"
    moved.write_bytes(gzip.compress(file.read_bytes()))
    answer = run("import", moved, "--json").json
    assert (answer["inserted"], answer["repeated"], answer["conversations"]) == (0, 4, 2)
    assert run("status", "--json").json["messages"] == 4


def test_a_dry_run_stores_nothing(run: Run, file: Path, tmp_path: Path) -> None:
    done = run("import", file, "--dry-run")
    assert done.code == 0
    assert "4 messages would be read" in done.err
    assert not (tmp_path / "home").exists()


def test_a_broken_file_stops_and_the_others_are_imported(
    run: Run, file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('[{"role": "user",\n "content": oops}]')
    done = run("import", broken, file)
    assert done.code == 1
    assert f"{broken}, line 2: not JSON" in done.err
    assert run("status", "--json").json["messages"] == 4
    answer = run("import", broken, "--json")
    assert answer.code == 1
    error = answer.json["files"][0]["error"]
    assert (error["file"], error["line"]) == (str(broken), 2)
    assert answer.json["success"] is False


def test_a_broken_record_is_reported_and_the_rest_is_imported(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "好"}]}\n{"messages": [\n')
    done = run("import", path)
    assert done.code == 1
    assert "not imported: line 2: not JSON" in done.err
    assert "1 new" in done.err


def test_a_directory_stands_for_the_files_in_it(run: Run, file: Path, tmp_path: Path) -> None:
    inside = tmp_path / "logs" / "deep"
    inside.mkdir(parents=True)
    (inside / "a.jsonl").write_bytes(file.read_bytes())
    (inside / "notes.txt").write_text("not a conversation")
    answer = run("import", tmp_path / "logs", "--json").json
    assert [Path(each["file"]).name for each in answer["files"]] == ["a.jsonl"]
    assert answer["inserted"] == 4


def test_files_of_a_directory_without_a_conversation_are_passed_over(
    run: Run, file: Path, tmp_path: Path
) -> None:
    inside = tmp_path / "export"
    inside.mkdir()
    (inside / "conversations-000.json").write_bytes(file.read_bytes())
    (inside / "user.json").write_text('{"id": "x"}')
    (inside / "message_feedback.json").write_text("[]")
    done = run("import", inside)
    assert done.code == 0
    assert "2 files without a conversation passed over" in done.err
    answer = run("import", inside, "--json")
    assert answer.code == 0
    assert (answer.json["files_passed_over"], answer.json["success"]) == (2, True)
    assert [each["passed_over"] for each in answer.json["files"]] == [False, True, True]
    named = run("import", inside / "user.json")
    assert named.code == 1
    assert "Looked for" in named.err


def test_a_directory_of_nothing_is_nothing_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.json").write_text("{}")
    assert run("import", tmp_path / "empty").code == 3


def test_messages_without_a_time_are_counted(run: Run, file: Path) -> None:
    assert "without a time: 4 messages" in run("import", file).err
    assert run("import", file, "--json").json["untimed"] == 4


def test_standard_input_is_imported(run: Run, file: Path) -> None:
    done = run("import", "-", stdin=file.read_bytes())
    assert done.code == 0
    assert "standard input" in done.err


def test_a_growing_log_stays_one_session_when_it_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [json.dumps({"role": "user", "content": f"line {i}"}) for i in range(5)]
    path.write_text("\n".join(lines[:3]))
    run("import", path, "--session", "log")
    path.write_text("\n".join(lines))
    answer = run("import", path, "--session", "log", "--json").json
    assert (answer["inserted"], answer["repeated"]) == (2, 3)
    assert run("browse", "--json").json["results"][0]["session_id"] == "log"


def test_one_name_does_not_fit_two_conversations(run: Run, file: Path, tmp_path: Path) -> None:
    two = tmp_path / "two.json"
    two.write_text(json.dumps([{"messages": TALK}, {"messages": TALK[1:2]}]))
    done = run("import", two, "--session", "one")
    assert done.code == 1
    assert "more than one conversation" in done.err


def test_a_source_can_be_given(run: Run, file: Path) -> None:
    run("import", file, "--source", "telegram")
    assert run("search", "牙医", "--source", "telegram").code == 0


def test_a_file_without_conversations_is_nothing_found(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert run("import", empty).code == 3


def test_a_missing_file_is_a_failure(run: Run, tmp_path: Path) -> None:
    done = run("import", tmp_path / "gone.json")
    assert done.code == 1
    assert "No such file" in done.err


def test_states_and_endings_come_back_from_an_export(run: Run, tmp_path: Path) -> None:
    message = {"type": "message", "session": "s", "role": "user"}
    lines = [
        {"type": "header", "format": "mnemogram", "version": 1},
        {"type": "session", "id": "s", "title": "T", "end_reason": "daily"},
        {**message, "uid": "1", "content": "牙医一", "state": "compacted"},
        {**message, "uid": "2", "content": "飞机二", "state": "rewound"},
        {**message, "uid": "3", "content": "电影三", "state": "active"},
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    assert run("import", path).code == 0
    assert run("search", "飞机").code == 3
    shown = run("read", "s", "--json").json["messages"]
    assert [(m["uid"], m["state"]) for m in shown] == [("1", "compacted"), ("3", "active")]
    assert run("browse", "--json").json["results"][0]["end_reason"] == "daily"


def test_every_shipped_conversation_can_be_stored(run: Run) -> None:
    from mnemogram import demo

    assert run("import", Path(demo.__file__).parent / "conversations.jsonl").code == 0
    assert run("status", "--json").json["messages"] == sum(len(b.messages) for b in conversations())


def test_append_stores_once_by_uid(run: Run) -> None:
    first = run("append", "--session", "s", "--uid", "m", "牙医", "--json").json
    again = run("append", "--session", "s", "--uid", "m", "牙医", "--json").json
    assert (first["inserted"], again["inserted"], again["repeated"]) == (1, 0, 1)
    assert first["ids"] == again["ids"]


def test_equal_words_appended_twice_are_two_messages(run: Run) -> None:
    run("append", "--session", "s", "好")
    run("append", "--session", "s", "好")
    assert run("status", "--json").json["messages"] == 2


def test_append_reads_standard_input(run: Run) -> None:
    run("append", "--session", "s", "-", stdin="第一行\n第二行\n".encode())
    assert run("read", "s", "--json").json["messages"][0]["content"] == "第一行\n第二行"


def test_nothing_is_not_stored(run: Run) -> None:
    assert run("append", "--session", "s", stdin=b"").code == 2
    assert run("append", "--session", "s", "").code == 2
    assert run("append", "--session", "s", "--role", "tool", stdin=b"").code == 0


def test_bytes_that_are_no_text_are_stored_as_far_as_they_are(run: Run) -> None:
    done = run("append", "--session", "s", stdin=b"good \xff bytes")
    assert done.code == 0
    assert "note" in done.err
    assert run("search", "bytes").code == 0


def test_a_tool_result_keeps_its_tool(run: Run) -> None:
    run(
        *("append", "--session", "s", "--role", "tool", "--tool-name", "calendar"),
        *("--tool-call-id", "c1", "--model", "m", "--parent", "p", "{}"),
    )
    (message,) = run("read", "s", "--json").json["messages"]
    assert (message["tool_name"], message["tool_call_id"]) == ("calendar", "c1")
