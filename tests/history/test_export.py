# SPDX-License-Identifier: MIT
"""Backup and export carry everything: states, lineage, times, tombstones."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemogram import History, InvalidArgument, Message, Session, StorageUnavailable
from mnemogram.history.upkeep import export
from tests.history.support import assert_sound, fill, mode, outcome, raw, start


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        yield opened


def furnish(history: History) -> None:
    """Store one of everything."""
    history.append(Session("c", parent="p", source="telegram", title="下订 #2"), [])
    history.append(
        Session("p", title="下订", model="m-1", started_at="2026-01-02T03:04:05.678901Z"),
        [
            Message(
                "user", '嗨\0\n"quoted" \u2028', uid="1", timestamp="2026-01-02T03:04:05.000001Z"
            ),
            Message(
                "assistant",
                None,
                uid="2",
                tool_calls=[{"id": "k", "function": {"name": "f", "arguments": '{"城": "大连"}'}}],
                timestamp="1970-01-01T00:00:00Z",
            ),
            Message(
                "tool", "结果" * 9_000, uid="3", tool_call_id="k", tool_name="f", tool_status="ok"
            ),
            Message("assistant", "x", uid="4", tool_calls="not json"),
            Message("assistant", "x", uid="5", tool_calls='"a string"'),
            Message("user", "old", uid="6", provenance="legacy_snapshot"),
        ],
    )
    fill(history, 5, session="c")
    history.mark_compacted("c", ["u0", "u1"])
    history.rewind("c", ["u1", "u2"])
    history.end_session("p", "compression")
    fill(history, 2, session="deleted")
    history.delete_session("deleted")
    fill(history, 2, session="last")


def everything(history: History) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows, with the store's own numbers replaced by the host's ids."""
    with raw(history) as connection:
        return {
            "sessions": connection.execute(
                "SELECT s.key, s.source, s.title, s.title_key, s.model, s.parent_key, p.key,"
                " r.key, s.end_reason, s.started_at, s.last_active_at, s.message_count"
                " FROM sessions AS s JOIN sessions AS r ON r.id = s.root_id"
                " LEFT JOIN sessions AS p ON p.id = s.parent_id ORDER BY s.key"
            ).fetchall(),
            "messages": connection.execute(
                "SELECT s.key, m.uid, m.role, m.state, m.timestamp, m.substring, m.index_bytes,"
                " m.provenance, m.tool_call_id, m.tool_name, m.tool_status, m.tool_calls,"
                " m.content FROM messages AS m JOIN sessions AS s ON s.id = m.session_id"
                " ORDER BY s.key, m.id"
            ).fetchall(),
            "tombstones": connection.execute(
                "SELECT key, deleted_at FROM tombstones ORDER BY key"
            ).fetchall(),
        }


def exported(history: History) -> str:
    stream = io.StringIO()
    history.export(stream)
    return stream.getvalue()


def test_an_export_that_is_imported_elsewhere_gives_the_same_history(
    history: History, tmp_path: Path
) -> None:
    furnish(history)
    text = exported(history)
    with History.open(tmp_path / "other.db") as other:
        result = other.import_export(io.StringIO(text))
        assert (result.sessions, result.inserted, result.tombstones) == (3, 13, 1)
        assert everything(other) == everything(history)
        assert_sound(other)
        assert exported(other) == text
        again = other.import_export(text.splitlines())
        assert (again.inserted, again.repeated, again.tombstones) == (0, 13, 0)
        assert everything(other) == everything(history)


def test_an_import_in_many_batches_is_the_same_as_in_one(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    furnish(history)
    text = exported(history)
    for size in (1, 2, 3, 5):
        monkeypatch.setattr(export, "_IMPORT_BATCH", size)
        with History.open(tmp_path / f"other-{size}.db") as other:
            assert other.import_export(text.splitlines()).inserted == 13
            assert everything(other) == everything(history)


def test_an_import_changes_nothing_that_is_there(history: History, tmp_path: Path) -> None:
    furnish(history)
    text = exported(history)
    with History.open(tmp_path / "other.db") as other:
        other.append(Session("p", title="my own title"), [Message("user", "mine", uid="1")])
        fill(other, 1, session="deleted")
        other.delete_session("last")
        result = other.import_export(text.splitlines())
        assert result.refused == 2
        assert any("kept here" in note for note in result.notes)
        assert other.read("p").title == "my own title"
        assert {each.uid: each.content for each in other.read("p").messages}["1"] == "mine"
        assert other.read("deleted").message_count == 1


def test_each_line_is_one_json_object_and_the_header_is_first(history: History) -> None:
    furnish(history)
    lines = [json.loads(line) for line in exported(history).split("\n")[:-1]]
    assert lines[0] == {"type": "header", "format": "mnemogram", "version": 1}
    assert [each["type"] for each in lines[1:3]] == ["tombstone", "session"]
    assert {each["type"] for each in lines} == {"header", "tombstone", "session", "message"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: not an object"),
        ('{"type": "picture"}', "line 2: record of unknown type 'picture'"),
        ('{"type": "header", "format": "other"}', "line 2: not an export"),
        ('{"type": "header", "format": "mnemogram", "version": 9}', "line 2: version 9"),
        ('{"type": "message", "role": "user"}', "line 2: session must be"),
        ('{"type": "tombstone", "session": "s", "deleted_at": "never"}', "line 2: time"),
    ],
)
def test_a_line_that_is_not_of_the_format_is_named(history: History, line: str, said: str) -> None:
    header = '{"type": "header", "format": "mnemogram", "version": 1}'
    with pytest.raises(InvalidArgument, match=said):
        history.import_export([header, line])


# --- backup ----------------------------------------------------------------------------


def test_a_backup_is_a_whole_store_with_private_permissions(
    history: History, tmp_path: Path
) -> None:
    furnish(history)
    seen = []
    target = history.backup(tmp_path / "copy.db", progress=lambda *done: seen.append(done))
    assert mode(target) == 0o600
    assert seen[-1][0] == seen[-1][1] > 0
    assert not (tmp_path / "copy.db-wal").exists()
    with History.open(target) as copy:
        assert everything(copy) == everything(history)
        assert_sound(copy)


def test_a_backup_replaces_only_what_it_is_told_to(history: History, tmp_path: Path) -> None:
    fill(history, 3)
    target = tmp_path / "copy.db"
    history.backup(target)
    fill(history, 3, start=3)
    with pytest.raises(InvalidArgument, match="exists already"):
        history.backup(target)
    history.backup(target, overwrite=True)
    with History.open(target) as copy:
        assert copy.status().messages == 6
    for same in (history.path, tmp_path / "link.db"):
        if same != history.path:
            (tmp_path / "link.db").symlink_to(history.path)
        with pytest.raises(InvalidArgument, match="store itself"):
            history.backup(same, overwrite=True)


def test_a_backup_that_cannot_be_written_leaves_nothing_behind(
    history: History, tmp_path: Path
) -> None:
    fill(history, 3)
    with pytest.raises(StorageUnavailable):
        history.backup(tmp_path / "missing" / "copy.db")

    def fail(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        history.backup(tmp_path / "copy.db", progress=fail)
    assert [each.name for each in tmp_path.iterdir() if "copy" in each.name] == []


def test_a_backup_ends_while_another_process_keeps_writing(
    history: History, tmp_path: Path
) -> None:
    history.append("big", [Message("user", "w" * 9_000, uid=str(n)) for n in range(600)])
    code = """
        import sys
        from mnemogram import (History, Message)
        with History.open(sys.argv[1]) as history:
            number = 0
            while not sys.stdin.closed and number < 40:
                history.append("w", [Message("user", f"w{number}", uid=str(number))])
                number += 1
                print(number, flush=True)
    """
    process = start(code, history.path)
    assert process.stdout is not None
    process.stdout.readline()
    rounds = []
    history.backup(tmp_path / "copy.db", progress=lambda *done: rounds.append(done))
    outcome(process)
    assert len(rounds) == -(-rounds[0][1] // 1_000)
    with sqlite3.connect(tmp_path / "copy.db") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
    with History.open(tmp_path / "copy.db") as opened:
        assert_sound(opened)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"type": "message", "session": "s", "role": "user", "content": "x", "tool_calls": '
        + "[" * 5_000
        + "]" * 5_000
        + "}",
        '{"type": "message", "session": "s", "role": "user", "content": "x", "state": "gone"}',
        '{"type": "message", "session": "s", "role": "user", "content": "x", "state": [1]}',
        '{"type": "message", "session": "s", "role": "user", "content": "x", "uid": {}}',
        '{"type": "session", "id": "s", "end_reason": {"why": 1}}',
        '{"type": "session", "id": "s", "last_active_at": {"why": 1}}',
        '{"type": "session", "id": "s", "parent": ["p"]}',
    ],
    ids=["deep", "deep calls", "state", "list as state", "uid", "end", "time", "parent"],
)
def test_a_line_of_another_shape_is_refused_in_our_own_words(history: History, line: str) -> None:
    with pytest.raises(InvalidArgument):
        history.import_export([line])


def test_a_state_needs_no_uid_and_ids_no_utf8(history: History) -> None:
    lines = [
        '{"type": "tombstone", "session": "gone\\ud800", "deleted_at": "2026-03-01T00:00:00Z"}',
        '{"type": "session", "id": "s\\ud800", "end_reason": "daily"}',
        '{"type": "message", "session": "s\\ud800", "role": "user", "content": "a",'
        ' "state": "rewound", "timestamp": "2026-03-01T00:00:00Z"}',
        '{"type": "message", "session": "s\\ud800", "role": "user", "content": "b",'
        ' "uid": "u\\ud800", "state": "compacted"}',
    ]
    for _ in range(2):
        history.import_export(lines)
    stream = io.StringIO()
    history.export(stream)
    found = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [each["session"] for each in found if each["type"] == "tombstone"] == ["gone\ufffd"]
    assert [each["end_reason"] for each in found if each["type"] == "session"] == ["daily"]
    messages = [each for each in found if each["type"] == "message"]
    assert [each["state"] for each in messages] == ["rewound", "compacted"]
