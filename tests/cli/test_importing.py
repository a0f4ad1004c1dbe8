# SPDX-License-Identifier: MIT
"""import and append: what they store, report and refuse."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
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


# --- what became of a conversation since -----------------------------------------------


def node(key: str, parent: str | None, role: str, text: str, at: float) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    message = {"id": key, "author": {"role": role}, "create_time": at, "content": content}
    return {"id": key, "parent": parent, "message": message}


QUESTION = node("n1", None, "user", "which bakery", 1.7e9)
REJECTED = node("n2", "n1", "assistant", "the one on Elm Street", 1.7e9 + 1)
BETTER = node("n3", "n1", "assistant", "the one on Oak Street", 1.7e9 + 9)
THANKS = node("n4", "n3", "user", "thanks a lot", 1.7e9 + 20)


@pytest.fixture
def chat(run: Run, tmp_path: Path) -> Any:
    """Import the export of one conversation; return what the command said."""

    def bring(current: str, *nodes: dict[str, Any]) -> Any:
        path = tmp_path / "conversations.json"
        talk = {"title": "t", "conversation_id": "c1", "current_node": current}
        path.write_text(json.dumps([talk | {"mapping": {each["id"]: each for each in nodes}}]))
        done = run("import", path, "--json")
        assert done.code == 0
        return done.json

    return bring


def found(run: Run, word: str) -> int:
    return int(run("search", word, "--json").json["count"])


@pytest.mark.parametrize("still_there", [True, False])
def test_what_was_regenerated_is_rewound(run: Run, chat: Any, still_there: bool) -> None:
    chat("n2", QUESTION, REJECTED)
    assert found(run, "Elm") == 1
    nodes = [QUESTION, REJECTED, BETTER] if still_there else [QUESTION, BETTER]
    answer = chat("n3", *nodes)
    assert (answer["inserted"], answer["rewound"]) == (1, 1)
    assert (found(run, "Elm"), found(run, "Oak")) == (0, 1)
    assert chat("n3", *nodes)["rewound"] == 0


def test_a_left_branch_is_kept_and_hidden_and_may_come_back(run: Run, chat: Any) -> None:
    assert chat("n3", QUESTION, REJECTED, BETTER)["inserted"] == 3
    assert (found(run, "Elm"), found(run, "Oak")) == (0, 1)
    chat("n2", QUESTION, REJECTED, BETTER)
    assert (found(run, "Elm"), found(run, "Oak")) == (1, 0)


def test_an_older_export_takes_nothing_back(run: Run, chat: Any) -> None:
    longer = node("n3", "n1", "assistant", "the one on Oak Street, behind the harbour", 1.7e9 + 9)
    chat("n4", QUESTION, REJECTED, longer, THANKS)
    answer = chat("n2", QUESTION, REJECTED)
    assert (answer["inserted"], answer["rewound"], answer["amended"]) == (0, 0, 0)
    assert (found(run, "Elm"), found(run, "harbour"), found(run, "thanks")) == (0, 1, 1)
    answer = chat("n3", QUESTION, REJECTED, BETTER)
    assert (answer["amended"], answer["changed"]) == (0, 1)
    assert found(run, "harbour") == 1


def test_a_message_that_has_grown_or_was_edited_is_amended(run: Run, chat: Any) -> None:
    def text(words: str) -> Any:
        return chat("n2", QUESTION, node("n2", "n1", "assistant", words, 1.7e9 + 1))

    text("the one")
    assert text("the one behind the old harbour")["amended"] == 1
    assert found(run, "harbour") == 1
    assert text("the one behind the mill")["amended"] == 1
    assert (found(run, "harbour"), found(run, "mill")) == (0, 1)
    answer = text("the one behind")
    assert (answer["amended"], answer["changed"], answer["repeated"]) == (0, 1, 2)
    assert found(run, "mill") == 1


def event(session: str, uuid: str, parent: str | None, text: str, minute: int) -> dict[str, Any]:
    return {
        "type": "user",
        "sessionId": session,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": f"2026-03-01T09:{minute:02}:00Z",
        "message": {"role": "user", "content": text},
    }


KILN = [
    event("AA", "u1", None, "fix the kiln thermostat", 0),
    event("AA", "u2", "u1", "replace the sensor", 1),
]
FORK = [{**each, "sessionId": "BB"} for each in KILN] + [
    event("BB", "u3", "u2", "now the fan too", 5)
]
SECOND = [{**each, "sessionId": "CC"} for each in FORK] + [
    event("CC", "u4", "u3", "and the chimney", 7)
]
GONE_ON = [*KILN, event("AA", "v3", "u2", "paint the door", 9)]


@pytest.fixture
def logs(run: Run, tmp_path: Path) -> Any:
    """Import session logs, each a list of events, one after the other."""

    def bring(*several: list[dict[str, Any]], at_once: bool = True) -> None:
        paths = []
        for number, lines in enumerate(several):
            paths.append(tmp_path / f"{number}.jsonl")
            paths[-1].write_text("\n".join(map(json.dumps, lines)))
        for call in [paths] if at_once else [[each] for each in paths]:
            assert run("import", *call).code == 0

    return bring


def parents(run: Run) -> dict[str, str | None]:
    listed = run("browse", "--json").json["results"]
    return {each["session_id"]: each["parent_session_id"] for each in listed}


@pytest.mark.parametrize("at_once", [True, False])
def test_forks_continue_what_they_copied_and_copies_are_one_result(
    run: Run, logs: Any, at_once: bool
) -> None:
    logs(KILN, FORK, SECOND, at_once=at_once)
    assert parents(run) == {"AA": None, "BB": "AA", "CC": "BB"}
    assert found(run, "kiln thermostat") == 1
    assert run("status", "--json").json["messages"] == 4
    logs(SECOND, FORK, KILN)
    assert run("status", "--json").json["messages"] == 4


def test_the_first_session_is_found_also_when_it_comes_last(run: Run, logs: Any) -> None:
    logs(FORK, KILN)
    assert parents(run) == {"AA": None, "BB": "AA"}
    assert found(run, "kiln thermostat") == 1


def test_the_one_that_went_on_first_is_the_first(run: Run, logs: Any) -> None:
    logs(GONE_ON, FORK)
    assert parents(run) == {"BB": None, "AA": "BB"}
    assert found(run, "kiln thermostat") == 1
    assert found(run, "chimney OR door OR fan") == 1


def test_a_branch_that_was_left_in_a_log_is_not_found(run: Run, logs: Any) -> None:
    turned = event("AA", "u9", "u1", "leave it broken", 30)
    logs([*KILN, turned])
    assert (found(run, "sensor"), found(run, "broken")) == (0, 1)
    logs([*KILN, turned, event("AA", "u10", "u1", "call the electrician", 40)])
    assert (found(run, "broken"), found(run, "electrician")) == (0, 1)


@pytest.mark.parametrize("sequel_first", [True, False])
def test_a_sequel_that_shares_no_message_is_linked_by_name(
    run: Run, logs: Any, sequel_first: bool
) -> None:
    continued = {"type": "continued-in", "sessionId": "AA", "continuedInSessionId": "ZZ"}
    both = [[*KILN, continued], [event("ZZ", "z1", None, "on we go", 20)]]
    logs(*(both[::-1] if sequel_first else both))
    assert parents(run) == {"AA": None, "ZZ": "AA"}


def test_a_session_store_is_imported_with_its_states(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "their.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, end_reason TEXT);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT,"
            " content TEXT, timestamp REAL, active INTEGER, compacted INTEGER);"
            "INSERT INTO sessions VALUES ('S', 'chat', 'daily');"
            "INSERT INTO messages VALUES (1, 'S', 'user', 'a teapot', 1767225600, 0, 1),"
            " (2, 'S', 'user', 'a samovar', 1767225600, 0, 0),"
            " (3, 'S', 'user', 'a kettle', 1767225600, 1, 0)"
        )
    for _ in range(2):
        assert run("import", path).code == 0
    shown = run("read", "S", "--json").json["messages"]
    assert [(m["content"], m["state"]) for m in shown] == [
        ("a teapot", "compacted"),
        ("a kettle", "active"),
    ]
    assert run("browse", "--json").json["results"][0]["end_reason"] == "daily"
    assert found(run, "samovar") == 0


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
