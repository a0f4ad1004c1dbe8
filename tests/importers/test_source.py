# SPDX-License-Identifier: MIT
"""From bytes to records: compression, encodings, damage."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemogram.errors import InvalidArgument
from mnemogram.importers import FORMATS, ImportFailed, NothingFound, Report, read

from .conftest import Load, Write

TALK = [{"role": "user", "content": "明早"}, {"role": "assistant", "content": "好"}]
LINES = "\n".join(json.dumps(each, ensure_ascii=False) for each in TALK)
INDENTED = json.dumps(TALK, ensure_ascii=False, indent=2)
ONE_EACH = "[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in TALK) + "\n]\n"


def contents(path: Path, **options: Any) -> list[str | None]:
    return [message.content for batch in read(path, **options) for message in batch.messages]


@pytest.mark.parametrize("text", [LINES, INDENTED, ONE_EACH, json.dumps(TALK)], ids=len)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_every_encoding_is_read(
    tmp_path: Path, text: str, encoding: str, ends: str, packed: bool
) -> None:
    data = text.replace("\n", ends).encode(encoding)
    if encoding in ("utf-16-le", "utf-16-be"):
        data = "\ufeff".encode(encoding) + data
    path = tmp_path / "talk"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert contents(path) == ["明早", "好"]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(LINES.encode())))
    monkeypatch.setattr(sys, "stdin", stream)
    report = Report()
    (batch,) = read("-", report=report)
    assert len(batch.messages) == 2
    assert report.file == "standard input"


def test_json_lines_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    line = json.dumps({"messages": TALK})
    path.write_text((line + "\n") * 50_000)
    seen: list[tuple[int, int | None]] = []
    batches = read(path, progress=lambda done, size: seen.append((done, size)))
    next(batches)
    next(batches)
    done, size = seen[0]
    assert size == path.stat().st_size
    assert done < size / 10


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b'[{"role": "user",\n "content": "x"},\n oops]', 3, "column 2"),
        (b"hello", 1, "not JSON"),
        (b"hello\nworld", 1, "not JSON"),
        (b'{"messages": [\n{"role": "user", "content": "x"}\n', 3, "not JSON"),
        (b'{"role": "user", "content": "\xff"}', 1, "not UTF-8"),
        (b"[" * 200_000, 1, "nested too deeply"),
        (b"[" + b"9" * 5_000 + b"]", 1, "digits"),
        (b'{"a": 1}', 1, "no conversation"),
        (b"[1, 2]", 1, "no conversation"),
        (b"7", 1, "no conversation"),
        (b"[]", 1, "no conversation"),
        (gzip.compress(INDENTED.encode(), mtime=0)[:-12], 1, "damaged"),
        (b"\x1f\x8b\x08nonsense", None, ""),
        (b"PK\x03\x04 no archive", None, "zip"),
    ],
)
def test_a_file_that_does_not_parse_stops_with_file_line_and_reason(
    tmp_path: Path, data: bytes, line: int | None, reason: str
) -> None:
    path = tmp_path / "talk.json"
    path.write_bytes(data)
    with pytest.raises(ImportFailed) as caught:
        list(read(path))
    error = caught.value
    assert (error.file, error.line) == (str(path), line)
    assert reason in error.reason
    assert str(path) in str(error)
    assert error.hint
    assert error.to_dict()["line"] == line


def test_damage_in_the_middle_keeps_what_came_before(tmp_path: Path) -> None:
    line = json.dumps({"messages": TALK}).encode()
    path = tmp_path / "talk.jsonl.gz"
    packed = gzip.compress(b"\n".join(line + b" " * (i % 97) for i in range(20_000)))
    path.write_bytes(packed[: len(packed) // 2])
    batches = read(path)
    came = 0
    with pytest.raises(ImportFailed, match="damaged") as caught:  # noqa: PT012
        while next(batches):
            came += 1
    assert came > 1_000
    assert caught.value.line == came + 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_broken_line_anywhere_is_reported_and_the_rest_is_imported(
    write: Write, place: int
) -> None:
    lines: list[Any] = [{"messages": TALK}, {"messages": TALK}]
    lines.insert(place, '{"messages": [{"role": "user", "content": "cut off he')
    report = Report()
    assert len(list(read(write(lines=lines), report=report))) == 2
    assert [each.where for each in report.problems] == [f"line {place + 1}"]


def test_bad_bytes_spoil_their_own_line_only(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    line = json.dumps({"messages": TALK}).encode()
    path.write_bytes(line + b"\n" + line.replace(b"role", b"\xe4\xb8") + b"\n" + line)
    report = Report()
    assert len(list(read(path, report=report))) == 2
    assert "not UTF-8" in report.problems[0].reason


@pytest.mark.parametrize("text", ["", "\n\n", " ", "\ufeff"])
def test_an_empty_file_holds_no_conversation(write: Write, text: str) -> None:
    report = Report()
    assert list(read(write(text), report=report)) == []
    assert report.format is None


def export_of(word: str) -> str:
    message = {"id": "n", "author": {"role": "user"}, "content": {"parts": [word]}}
    return json.dumps([{"conversation_id": word, "mapping": {"n": {"message": message}}}])


def test_the_numbered_files_of_an_archive_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in (10, 2, 0):
            archive.writestr(f"x/conversations-{number:03}.json", export_of(f"word{number}"))
        archive.writestr("x/user.json", json.dumps(TALK))  # a part of the export, not of the talk
    report = Report()
    said = [m.content for batch in read(path, report=report) for m in batch.messages]
    assert said == ["word0", "word2", "word10"]
    assert report.skipped == {"other files of the archive": 1}


def test_an_archive_of_anything_is_read_file_by_file(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/talk.jsonl", "\ufeff" + LINES)
        archive.writestr("b/settings.json", '{"theme": "dark"}')
        archive.writestr("c/broken.json", "{oops")
        archive.writestr("d/export.json.gz", gzip.compress(export_of("second").encode()))
        archive.writestr("e/readme.txt", "no")
    report = Report()
    said = [m.content for batch in read(path, report=report) for m in batch.messages]
    assert said == ["明早", "好", "second"]
    assert report.skipped == {"files without a conversation": 1}
    assert [each.where for each in report.problems] == ["c/broken.json"]


@pytest.mark.parametrize("files", [{"a.txt": "x"}, {"a.json": "{}", "b.json": "[]"}])
def test_an_archive_without_a_conversation_says_so(tmp_path: Path, files: dict[str, str]) -> None:
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    with pytest.raises(NothingFound):
        list(read(path))


def test_what_is_not_known_says_what_was_looked_for_and_what_is_closest(write: Write) -> None:
    with pytest.raises(NothingFound) as caught:
        list(read(write([{"current_node": "x", "conversation_id": "y"}])))
    hint = caught.value.hint
    assert "Closest is chatgpt, by the fields conversation_id, current_node" in hint
    assert all(name in hint for name in FORMATS)
    with pytest.raises(NothingFound) as caught:
        list(read(write({"theme": "dark"})))
    assert "None of their fields" in caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="No such file"):
        list(read(tmp_path / "gone.json"))


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="directory"):
        list(read(tmp_path))


def test_an_unknown_format_is_refused(write: Write) -> None:
    with pytest.raises(InvalidArgument, match="'xml'"):
        list(read(write(TALK), format="xml"))


def test_only_the_first_hundred_problems_are_kept_and_all_are_counted(load: Load) -> None:
    _, report = load(lines=[*TALK, *["{broken"] * 250])
    assert len(report.problems) == 100
    assert report.problem_count == 250


def test_numbers_that_are_no_json_stay_readable(load: Load) -> None:
    text = '[{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "x": NaN}]}]'
    (batch,), _ = load(text)
    assert batch.messages[0].tool_calls == [{"id": "1", "x": "NaN"}]


KEYS = [
    "role",
    "content",
    "type",
    "messages",
    "mapping",
    "parent",
    "current_node",
    "message",
    "author",
    "uuid",
    "id",
    "sessionId",
    "session",
    "parts",
    "text",
    "tool_calls",
    "function",
    "timestamp",
    "from",
    "value",
    "version",
    "format",
    "state",
    "isSidechain",
    "create_time",
    "recipient",
    "metadata",
    "title",
    "leafUuid",
    "summary",
    "uid",
    "name",
    "input",
    "payload",
    "chat_messages",
    "sender",
    "parentUuid",
    "call_id",
    "output",
    "items",
    "$date",
    "parent_message_uuid",
    "createdAt",
]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["user", "tool", "header", "message", "mnemogram", "summary"])
    | st.sampled_from(["response_item", "event_msg", "function_call", "user_message"])
    | st.sampled_from(["tool_result", "tool-x", "text", "assistant", "system"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS) | st.text(max_size=3),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=st.lists(JSON, max_size=5), format=st.sampled_from(["auto", *FORMATS]))
def test_no_json_makes_an_importer_fail_in_an_unforeseen_way(
    tmp_path: Path, values: list[Any], format: str
) -> None:
    path = tmp_path / "any.jsonl"
    path.write_text("\n".join(json.dumps(value) for value in values))
    try:
        first = list(read(path, format=format))
    except ImportFailed:
        return
    assert first == list(read(path, format=format))
    for batch in first:
        assert batch.session.id.strip()
        for message in batch.messages:
            assert message.uid
            assert message.role in ("user", "assistant", "tool")
            assert isinstance(message.content, str)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200))
def test_no_bytes_make_an_importer_fail_in_an_unforeseen_way(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(data)
    with contextlib.suppress(ImportFailed):
        assert list(read(path)) == list(read(path))
