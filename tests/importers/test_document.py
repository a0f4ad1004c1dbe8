# SPDX-License-Identifier: MIT
"""Documents that are read a piece at a time say what they say when read whole."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram.importers import ImportFailed, Report, document, read, source
from mnemogram.importers.document import Broken, Document

from .samples import COMPLETION, SAMPLES, Sample, at

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def parsed(data: bytes, piece: int) -> tuple[list[Any], bool, bytes]:
    stream = io.BytesIO(data)
    found = Document(stream.read(piece), lambda size: stream.read(piece))
    return list(found.values()), found.is_list, found.rest() + stream.read()


@given(JSON, st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_any_document_gives_its_value_or_its_elements(
    value: Any, piece: int, indent: int | None, ascii: bool
) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    if b"\xed" in data:
        return  # a lone surrogate is no UTF-8
    values, is_list, rest = parsed(data, piece)
    assert values == (value if is_list else [value])
    assert is_list == isinstance(value, list)
    assert rest.strip() == b""


@given(JSON, st.integers(1, 40), st.data())
def test_a_document_that_is_cut_off_is_broken(value: Any, piece: int, data: st.DataObject) -> None:
    text = json.dumps({"k": value}).encode()
    end = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(Broken):
        parsed(text[:end], piece)


@pytest.mark.parametrize(
    "text", ["[1, 2", "[1 2]", "[1],", "[,]", '{"a" 1}', "[1]]", "tru", "[\\]"]
)
def test_a_fault_is_named_by_its_line(text: str) -> None:
    with pytest.raises(Broken) as raised:
        parsed(f"\n\n{text}".encode(), 1)
    assert raised.value.line == 3
    assert "not JSON" in raised.value.reason


def test_a_fault_in_the_middle_is_found_without_reading_on() -> None:
    class Endless(io.RawIOBase):
        read_so_far = 0

        def read(self, size: int = -1) -> bytes:
            self.read_so_far += size
            assert self.read_so_far < 1 << 28
            return b" " * size

    stream = Endless()
    with pytest.raises(Broken):
        list(Document(b'[{"a": 1 "b": 2}' + b" " * 100, stream.read).values())


@pytest.mark.parametrize("field", ["conversations", "history", "data"])
def test_conversations_in_an_object_come_one_by_one(field: str) -> None:
    several = [{**COMPLETION, "id": f"c-{number}"} for number in range(3)]
    value = {"version": 4, "folders": [{"id": 1}], field: several, "prompts": [{"id": 2}]}
    values, is_list, _ = parsed(json.dumps(value).encode(), 7)
    assert (values, is_list) == (several, True)


def test_an_object_of_messages_stays_whole() -> None:
    values, is_list, _ = parsed(json.dumps(COMPLETION).encode(), 7)
    assert (values, is_list) == ([COMPLETION], False)


def test_lines_after_a_long_first_one_are_the_rest() -> None:
    values, _, rest = parsed(b'{"a": 1}\n{"b": "\xc3\xa9"}\n', 3)
    assert values == [{"a": 1}]
    assert rest == b'{"b": "\xc3\xa9"}\n'


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_reads_the_same_in_pieces(
    sample: Sample, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample.write(tmp_path)
    if packed and path.suffix != ".zip":
        data = gzip.compress(path.read_bytes())
        path = tmp_path / "packed.gz"
        path.write_bytes(data)
    whole = list(read(path))
    monkeypatch.setattr(source, "BLOCK", 64)
    monkeypatch.setattr(document, "_PIECE", 16)
    report = Report()
    assert list(read(path, report=report)) == whole
    assert report.format == sample.format
    assert report.problems == []


def test_broken_lines_of_a_large_file_are_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "BLOCK", 64)
    lines = [
        json.dumps({"session": "s", "role": "user", "content": f"text {n}", "timestamp": at(n)})
        for n in range(6)
    ]
    lines[3] = "{broken"
    path = tmp_path / "f.jsonl"
    path.write_text("\n".join(lines))
    report = Report()
    (batch,) = read(path, report=report)
    assert [each.content for each in batch.messages] == [f"text {n}" for n in (0, 1, 2, 4, 5)]
    assert [each.where for each in report.problems] == ["line 4"]


def test_a_large_document_that_breaks_keeps_what_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "BLOCK", 64)
    monkeypatch.setattr(document, "_PIECE", 16)
    path = tmp_path / "f.json"
    several = [{**COMPLETION, "id": f"c-{number}"} for number in range(3)]
    path.write_text(json.dumps(several, indent=1)[:-200])
    found = read(path)
    assert [next(found).session.id for _ in range(2)] == ["c-0", "c-1"]
    with pytest.raises(ImportFailed, match="not JSON"):
        next(found)
