# SPDX-License-Identifier: MIT
"""Export and import as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemogram.errors import InvalidArgument
from mnemogram.memory import SceneMemory, Triple


def filled(memory: SceneMemory) -> None:
    memory.set_single_valued("lives in")
    memory.commit(
        [
            Triple("QQ回复", "格式", "纯文本", kind="rule", trust="confirmed", sentence="别用标记"),
            Triple("Ana", "lives in", "Lisbon", confidence=0.7),
        ],
        scene="chan:qq/peer:g1",
        session_id="s1",
    )
    memory.commit([Triple("Ana", "lives in", "Porto", sentence="moved")], session_id="s2")
    memory.commit([Triple("Ana", "lives in", "Porto", sentence="said a file", trust="document")])
    memory.commit([("Anna", "likes", "tea")])
    memory.merge_entities("Anna", "Ana", backup=False)
    memory.tag_scene("chan:qq", entities=["Ana"], weight=0.5, backup=False)


def test_a_time_beyond_the_calendar_is_refused_by_name(tmp_path: Path) -> None:
    with SceneMemory.open(tmp_path / "m.db") as memory:
        filled(memory)
        lines = list(memory.export_lines())
    (line,) = [each for each in lines if each.get("created_at")][:1]
    line["created_at"] = "0001-01-01T00:00:00+14:00"
    with (
        SceneMemory.open(tmp_path / "n.db") as other,
        pytest.raises(InvalidArgument, match="created_at is not a time"),
    ):
        other.import_lines(lines)


def test_an_export_read_into_an_empty_file_is_the_same_memory(
    memory: SceneMemory, tmp_path: Path
) -> None:
    filled(memory)
    lines = [json.dumps(each, ensure_ascii=False) for each in memory.export_lines()]
    with SceneMemory.open(tmp_path / "copy.db") as copy:
        report = copy.import_lines(lines)
        assert report.counts["relations"] == 4
        assert report.notes == ()
        assert [json.dumps(each, ensure_ascii=False) for each in copy.export_lines()] == lines
        assert copy.check().problems == ()
        assert copy.recall("anna")
        again = copy.import_lines(line.encode() for line in lines)
        assert (again.counts["relations"], again.counts["joined"]) == (0, 4)
        assert [json.dumps(each, ensure_ascii=False) for each in copy.export_lines()] == lines
        copy.forget(session_id="s2")
        assert not copy.recall("moved")


def test_an_import_joins_with_what_is_there(memory: SceneMemory, tmp_path: Path) -> None:
    filled(memory)
    with SceneMemory.open(tmp_path / "copy.db") as copy:
        copy.commit([Triple("ANA", "LIVES IN", "porto", sentence="own words")], scene="chan:x")
        copy.import_lines(memory.export_lines())
        assert [each.object for each in copy.relations(subject="Ana", relation="lives in")] == [
            "porto"
        ]
        assert copy.recall_by_scene("chan:x")
        assert copy.recall_by_scene("chan:qq")
        assert copy.check().problems == ()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["{}"], "line 1: the header is missing"),
        (["not json"], "line 1 is not JSON"),
        (["[1]"], "line 1 is not an object"),
        (['{"type": "header", "format": "other"}'], "format is 'other'"),
        (['{"type": "header", "format": "mnemogram-memory", "version": 99}'], "version 99"),
        (["H", "", '{"type": "relation", "subject": "a"}'], "line 3 lacks object"),
        (["H", '{"type": "mood"}'], "line 2: unknown type"),
        (
            ["H", "R", '{"subject": "a", "relation": "b", "object": "c", "kind": "x"}'],
            "line 3.kind",
        ),
        (["H", '{"subject": "a", "relation": "b", "object": "c", "told_at": "x"}'], "told_at"),
        (["H", '{"subject": "a", "relation": "b", "object": "c", "confidence": 7}'], "from 0 to 1"),
        (["H", '{"subject": "a", "relation": "b", "object": "c", "scenes": [3]}'], "scenes.0."),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_kept(
    memory: SceneMemory, lines: list[str], words: str
) -> None:
    known: dict[str, Any] = {
        "H": '{"type": "header", "format": "mnemogram-memory", "version": 1}',
        "R": '{"type": "relation", "subject": "x", "relation": "y", "object": "z"}',
    }
    with pytest.raises(InvalidArgument, match=words):
        memory.import_lines([known.get(each, each) for each in lines])
    assert memory.status().relations == 0
