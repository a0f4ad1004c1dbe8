# SPDX-License-Identifier: MIT
"""Stored text is data: a terminal never obeys it."""

from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from mnemogram.cli.render import Page, clean, json_text, local_time, marked

HOSTILE = {
    "colour": ("a\x1b[31mred\x1b[0mb", "aredb"),
    "title of the window": ("a\x1b]0;owned\x07b", "ab"),
    "link": ("\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"),
    "clipboard": ("\x1b]52;c;aGk=\x07", ""),
    "clear": ("a\x1b[2J\x1b[Hb", "ab"),
    "one-byte CSI": ("a\x9b31mb", "ab"),
    "device control": ("a\x1bPq#0\x1b\\b", "ab"),
    "unfinished": ("a\x1b[", "a"),
    "lone escape": ("a\x1b", "a"),
    "bell": ("a\x07b", "a␇b"),
    "nul": ("a\x00b", "a␀b"),
    "carriage return": ("good\rbad", "good␍bad"),
    "crlf": ("a\r\nb", "a\nb"),
    "backspace": ("a\x08\x08b", "a␈␈b"),
    "delete": ("a\x7fb", "a␡b"),
    "right to left override": ("a\u202egnp.exe\u202c", "agnp.exe"),
    "isolate": ("\u2067x\u2069", "x"),
    "lone surrogate": ("a\ud83db", "a\ufffdb"),
    "line separator": ("a\u2028b", "ab"),
    "markup": ("[bold]x[/bold] [link=http://x]y", "[bold]x[/bold] [link=http://x]y"),
    "emoji": ("👩‍👩‍👧 :smile:", "👩‍👩‍👧 :smile:"),
    "arabic": ("مرحبا\u200f", "مرحبا\u200f"),
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_what_a_terminal_would_obey_is_taken_out(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b[]\x07\x9b\x9c;m\\P"), max_size=60))
@example("\x1b\x1b[[31m")
@example("\x1b[\x1b[31m31m")
def test_nothing_that_a_terminal_obeys_survives(text: str) -> None:
    shown = clean(text)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode("utf-8")
    assert clean(shown) == shown


@given(st.text(max_size=60))
def test_json_says_the_same_and_holds_no_controls(text: str) -> None:
    answer = json_text(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(answer) == {"text": text}
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", answer)
    answer.encode("utf-8")


def test_matches_are_coloured_or_stay_between_marks() -> None:
    coloured = marked("预约⟦牙医⟧复诊", keep_marks=False)
    assert coloured.plain == "预约牙医复诊"
    (span,) = coloured.spans
    assert coloured.plain[span.start : span.end] == "牙医"
    assert marked("预约⟦牙医⟧复诊", keep_marks=True).plain == "预约⟦牙医⟧复诊"


@pytest.mark.parametrize("width", [20, 33, 80])
@pytest.mark.parametrize(
    "text", ["把缓存节点扩容" * 20, "word " * 60, "서버장애가한강" * 9, "x" * 300]
)
def test_lines_fit_a_terminal_whatever_the_width_of_their_characters(text: str, width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None)
    Page(console).line(text, 4)
    lines = out.getvalue().splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(line[4:] for line in lines).replace(" ", "") == text.replace(" ", "")


def test_lines_stay_whole_where_nobody_watches() -> None:
    out = io.StringIO()
    Page(Console(file=out, width=40)).line("把缓存节点扩容" * 50, 2)
    assert out.getvalue() == "  " + "把缓存节点扩容" * 50 + "\n"


def test_times_are_shown_in_the_zone_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert local_time("2026-03-01T01:00:00.000Z") == "2026-03-01 09:00"
        assert local_time(None) == "no time"
    finally:
        monkeypatch.undo()
        time.tzset()
