# SPDX-License-Identifier: MIT
"""What holds for every format."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from mnemogram import History
from mnemogram.importers import FORMATS, Batch, Report, read

from .samples import SAMPLES, Sample

EACH = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def batches(sample: Sample, folder: Path, format: str = "auto") -> tuple[list[Batch], Report]:
    report = Report()
    return list(read(sample.write(folder), format=format, report=report)), report


def exported(history: History) -> list[Any]:
    stream = io.StringIO()
    history.export(stream)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def stored(history: History, found: list[Batch]) -> None:
    history.import_conversations(each.conversation() for each in found)


def test_every_format_has_a_sample() -> None:
    assert {each.format for each in SAMPLES.values()} == set(FORMATS)


@EACH
def test_a_file_is_recognised_and_all_that_was_said_comes_in(
    sample: Sample, tmp_path: Path
) -> None:
    found, report = batches(sample, tmp_path)
    assert report.format == sample.format
    assert report.problems == []
    messages = [each for batch in found for each in batch.messages]
    assert [(each.role, each.content) for each in messages] == list(sample.said)
    assert len({batch.session.id for batch in found}) == 1
    session = found[0].session
    assert sample.session in (None, session.id)
    assert session.title == sample.title
    assert all(each.uid for each in messages)
    if sample.timed:
        assert all(str(each.timestamp).startswith("2026-03-01 09:0") for each in messages)
        assert report.untimed == 0
    else:
        assert report.untimed == len(messages)


@EACH
def test_calls_and_results_belong_together(sample: Sample, tmp_path: Path) -> None:
    found, _ = batches(sample, tmp_path)
    messages = [each for batch in found for each in batch.messages]
    for call, result in itertools.pairwise(messages) if len(sample.said) > 2 else ():
        if result.role == "tool":
            (asked,) = call.tool_calls
            named = asked.get("function", asked)
            assert named["name"] == result.tool_name == "timetable"
            assert asked.get("id") == result.tool_call_id
            assert "island" in json.dumps(named) or sample.format == "llm"


@EACH
def test_what_comes_in_goes_out_again(sample: Sample, tmp_path: Path) -> None:
    found, _ = batches(sample, tmp_path)
    with History.open(tmp_path / "new.db") as history:
        stored(history, found)
        lines = exported(history)
    messages = [each for each in lines if each["type"] == "message"]
    assert [(each["role"], each["content"]) for each in messages] == list(sample.said)
    wanted = [each for batch in found for each in batch.messages]
    assert [each["uid"] for each in messages] == [each.uid for each in wanted]
    assert [each.get("tool_name") for each in messages] == [each.tool_name for each in wanted]


@EACH
def test_importing_again_adds_nothing(sample: Sample, tmp_path: Path) -> None:
    with History.open(tmp_path / "new.db") as history:
        stored(history, batches(sample, tmp_path)[0])
        before = exported(history)
        stored(history, batches(sample, tmp_path)[0])
        assert exported(history) == before


@EACH
def test_a_named_format_reads_the_same_as_a_found_one(sample: Sample, tmp_path: Path) -> None:
    assert batches(sample, tmp_path)[0] == batches(sample, tmp_path, sample.format)[0]
