# SPDX-License-Identifier: MIT
"""Our own JSON lines: the exported form and the plain one."""

from __future__ import annotations

import pytest

from mnemogram.history.models import Message, Session
from mnemogram.importers import ImportFailed

from .conftest import Load

HEADER = {"type": "header", "format": "mnemogram", "version": 1}
SESSION = {
    "type": "session",
    "id": "s1",
    "source": "telegram",
    "title": "牙医",
    "model": "m",
    "parent": "s0",
    "started_at": "2026-03-01T01:00:00Z",
    "end_reason": "daily",
}
GONE = {"type": "tombstone", "session": "gone", "deleted_at": "2026-03-01T00:00:00Z"}
TOOL = {
    "type": "message",
    "session": "s1",
    "uid": "u2",
    "role": "tool",
    "state": "compacted",
    "timestamp": "2026-03-01T01:00:01Z",
    "provenance": "legacy_snapshot",
    "tool_call_id": "c1",
    "tool_name": "calendar",
    "tool_status": "ok",
    "tool_calls": None,
    "content": "{}",
}


def test_every_field_of_the_export_comes_back(load: Load) -> None:
    (batch,), report = load(lines=[HEADER, GONE, SESSION, TOOL])
    assert report.format == "jsonl"
    session = batch.session
    assert (session.id, session.source, session.title) == ("s1", "telegram", "牙医")
    assert (session.model, session.parent) == ("m", "s0")
    assert session.started_at is not None
    (message,) = batch.messages
    assert isinstance(message, Message)
    for name in (
        "uid",
        "role",
        "provenance",
        "tool_call_id",
        "tool_name",
        "tool_status",
        "content",
    ):
        assert getattr(message, name) == TOOL[name]
    about, record = batch.records
    assert (about["end_reason"], about["parent"]) == ("daily", "s0")
    assert record["state"] == "compacted"
    assert report.tombstones == [
        {"type": "tombstone", "session": "gone", "deleted_at": "2026-03-01T00:00:00+00:00"}
    ]


def test_a_session_without_messages_is_kept(load: Load) -> None:
    (batch,), _ = load(lines=[HEADER, SESSION])
    assert (batch.session.id, batch.messages) == ("s1", [])


def test_the_plain_form_needs_no_header_and_sessions_may_alternate(load: Load) -> None:
    batches, _ = load(
        lines=[
            {"session": "a", "role": "user", "content": "1"},
            {"session": "b", "role": "user", "content": "2"},
            {"session_id": "a", "role": "assistant", "content": "3", "uid": "x"},
        ]
    )
    assert [(b.session, [m.content for m in b.messages]) for b in batches] == [
        (Session("a"), ["1", "3"]),
        (Session("b"), ["2"]),
    ]
    assert batches[0].messages[1].uid == "x"


def test_equal_lines_without_uid_stay_apart_and_are_equal_at_the_next_import(load: Load) -> None:
    lines = [{"session": "a", "role": "user", "content": "ok"}] * 3
    (first,), _ = load(lines=lines)
    (second,), _ = load(lines=lines)
    assert len({m.uid for m in first.messages}) == 3
    assert first == second


def test_a_long_file_comes_in_pieces(load: Load) -> None:
    lines = [HEADER, SESSION] + [
        {"type": "message", "session": "s1", "role": "user", "content": f"{i}"}
        for i in range(7_000)
    ]
    batches, _ = load(lines=lines)
    assert [len(batch.messages) for batch in batches] == [5_000, 2_000]
    assert len({m.uid for batch in batches for m in batch.messages}) == 7_000
    assert {batch.session.title for batch in batches} == {"牙医"}


@pytest.mark.parametrize(
    "line",
    [
        {"session": "a", "role": "narrator", "content": "x"},
        {"session": "a", "role": "user", "content": "x", "state": "lost"},
        {"session": "a", "role": "user", "content": 4},
        {"session": " ", "role": "user", "content": "x"},
        {"type": "session"},
        {"type": "tombstone", "session": "s"},
        [1],
        3,
    ],
    ids=str,
)
def test_a_broken_record_is_reported_and_the_rest_is_imported(load: Load, line: object) -> None:
    good = {"session": "a", "role": "user", "content": "fine"}
    (batch,), report = load(lines=[good, line, {**good, "content": "too"}])
    assert [m.content for m in batch.messages] == ["fine", "too"]
    assert [each.where for each in report.problems] == ["line 2"]


def test_a_message_with_a_broken_time_is_kept_without_it(load: Load) -> None:
    line = {"session": "a", "role": "user", "content": "x", "timestamp": "NaT"}
    (batch,), report = load(lines=[line, {**line, "timestamp": "2026-03-01"}, line])
    first, second, third = (message.timestamp for message in batch.messages)
    assert first is None
    assert second == third is not None
    assert report.skipped == {"times that could not be read": 2}


def test_a_newer_version_of_the_format_is_refused(load: Load) -> None:
    with pytest.raises(ImportFailed, match="version 2") as caught:
        load(lines=[{**HEADER, "version": 2}, SESSION])
    assert "Upgrade" in caught.value.hint
