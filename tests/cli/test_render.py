# SPDX-License-Identifier: MIT
"""Stored text is data: a terminal never obeys it."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from mnemogram.cli.render import Page, calls_of, clean, json_text, marked
from mnemogram.cli.zone import Zone
from mnemogram.errors import InvalidArgument
from mnemogram.history.models import SearchHit

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
    Page(console, Zone()).line(text, 4)
    lines = out.getvalue().splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(line[4:] for line in lines).replace(" ", "") == text.replace(" ", "")


def test_lines_stay_whole_where_nobody_watches() -> None:
    out = io.StringIO()
    Page(Console(file=out, width=40), Zone()).line("把缓存节点扩容" * 50, 2)
    assert out.getvalue() == "  " + "把缓存节点扩容" * 50 + "\n"


def hit(snippet: str, title: str | None = None) -> SearchHit:
    return SearchHit(
        **dict.fromkeys(("model", "matched_role", "parent_session_id")),
        session_id="s",
        title=title,
        source="chat",
        when="2026-03-01T09:00:00Z",
        match_message_id=1234567,
        snippet=snippet,
        score=1.0,
        messages=(),
        bookend_start=(),
        bookend_end=(),
        messages_before=0,
        messages_after=0,
        detail="anchor",
    )


_WORDS = st.text(alphabet=st.sampled_from("ab 把节点 한강 ｶﾞ é👩‍👩‍👧\u0301\n\t"), max_size=150)


@given(_WORDS, st.text(alphabet="把ab点", min_size=1, max_size=9), _WORDS, st.integers(30, 90))
def test_an_excerpt_is_two_lines_that_fit_and_hold_the_match(
    before: str, match: str, after: str, width: int
) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None)
    Page(console, Zone()).hit(1, hit(f"{before}⟦{match}⟧{after}", "标题" * 40))
    lines = out.getvalue().splitlines()
    assert len(lines) <= 3
    assert all(cell_len(line) <= width for line in lines)
    assert "#1234567" in lines[0]
    assert match in "".join(line.strip() for line in lines[1:])


def test_an_excerpt_never_shows_half_a_mark() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=40, color_system=None)
    Page(console, Zone()).hit(1, hit("⟦a⟧ " * 200))
    assert "⟦" not in out.getvalue()
    assert "⟧" not in out.getvalue()


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ([{"name": "add", "arguments": {"title": "牙医", "n": 2}}], ['add(title="牙医", n=2)']),
        ([{"function": {"name": "add", "arguments": '{"n": [1]}'}}], ["add(n=[1])"]),
        ([{"type": "tool_use", "name": "add", "input": {}}], ["add()"]),
        ([{"name": "a", "args": {"x": None}}, {"name": "b"}], ["a(x=null)", "b()"]),
        ([{"name": "a", "arguments": "free text"}], ["a(free text)"]),
        ({"truncated": True, "text": '[{"name": "a', "original_chars": 9}, ['[{"name": "a …']),
        ("kept as it is", ["kept as it is"]),
        ([3], ["3"]),
    ],
)
def test_calls_are_read_as_calls(calls: object, shown: list[str]) -> None:
    assert calls_of(calls) == shown


# --- times -----------------------------------------------------------------------------


@pytest.fixture(params=["Asia/Shanghai", "America/New_York", "UTC", "Asia/Kathmandu"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield Zone()
    monkeypatch.undo()
    time.tzset()


def test_times_are_shown_in_the_zone_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert Zone().show("2026-03-01T01:00:00.000Z") == "2026-03-01 09:00"
        assert Zone().name == "+08:00"
        assert Zone().show(None) == "no time"
        assert Zone(utc=True).show("2026-03-01T01:00:00.000Z") == "2026-03-01 01:00"
        assert Zone(utc=True).name == "UTC"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("utc", [False, True])
def test_what_is_shown_can_be_typed_back(zone: Zone, utc: bool) -> None:
    zone = Zone(utc=True) if utc else zone
    for hours in range(0, 24 * 365, 5):
        when = datetime(2026, 1, 1, 0, 7, tzinfo=timezone.utc) + timedelta(hours=hours)
        shown = zone.show(when.isoformat())
        # In the hour that comes twice a year, it may be the other one.
        apart = zone.moment(shown) - when
        assert apart in (timedelta(0), timedelta(hours=-1)), shown


def test_a_time_may_bring_its_zone(zone: Zone) -> None:
    expected = datetime(2026, 3, 1, 1, tzinfo=timezone.utc)
    for text in (
        "2026-03-01T09:00+08:00",
        "2026-03-01 09:00 +08:00",
        "2026-03-01T01:00:00Z",
        " 2026-03-01T01:00:00.000Z ",
    ):
        assert zone.moment(text) == expected
    with pytest.raises(InvalidArgument):
        zone.moment("someday")


@given(st.datetimes())
def test_every_stored_time_can_be_shown(when: datetime) -> None:
    for zone in (Zone(), Zone(utc=True)):
        assert len(zone.show(f"{when.isoformat()}Z")) == 16
