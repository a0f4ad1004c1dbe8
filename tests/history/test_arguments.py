# SPDX-License-Identifier: MIT
"""Whatever is passed, errors are ours and answers are JSON that fits."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram import History, InvalidArgument, Message, NotFound, Session
from mnemogram.values import MOST_DEPTH, depth_of, parsed
from tests.history.support import fill

HALF = "s\ud800"


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", answer_budget=8_000) as opened:
        fill(opened, 12)
        yield opened


def strict(value: Any) -> int:
    """Assert that a result is RFC 8259 JSON in UTF-8, and return its size."""
    text = json.dumps(value.to_dict(), ensure_ascii=False, allow_nan=False)
    return len(text.encode())


def nested(depth: int) -> Any:
    value: Any = "熊本 deep"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [1, 59, 60, 63, 64, 65, 200, 900, 100_000])
@pytest.mark.parametrize("as_text", [True, False])
def test_tool_calls_of_any_depth_are_stored_or_refused_and_read(
    history: History, depth: int, as_text: bool
) -> None:
    calls: Any = "[" * depth + '"熊本 deep"' + "]" * depth if as_text else nested(depth)
    message = Message("assistant", "with calls", uid="c", tool_calls=calls)
    if not as_text and depth > MOST_DEPTH:
        with pytest.raises(InvalidArgument, match="nested deeper"):
            history.append("deep", [message])
        return
    history.append("deep", [message])
    strict(history.read("deep"))
    strict(history.search("熊本", roles=("assistant",)))
    stream = io.StringIO()
    history.export(stream)
    with History.open(Path(history.path).with_name("other.db")) as other:
        assert other.import_export(stream.getvalue().splitlines()).inserted == 13


@pytest.mark.parametrize(
    "calls",
    [
        {"a": float("nan")},
        [float("inf"), -float("inf")],
        '{"a": NaN}',
        "[1e999]",
        "[-Infinity]",
        {"k": {"v": [float("nan"), 1.5]}},
    ],
)
def test_numbers_that_json_has_not_are_kept_as_text(history: History, calls: Any) -> None:
    done = history.append("nan", [Message("tool", "x", uid="n", tool_calls=calls)])
    assert bool(done.notes) == (not isinstance(calls, str))
    strict(history.read("nan"))
    stream = io.StringIO()
    history.export(stream)
    for line in stream.getvalue().splitlines():
        parsed(line, most=1_000)


def test_half_a_surrogate_in_an_id_is_the_id_that_was_stored(history: History) -> None:
    history.append(HALF, [Message("user", "halved", uid=HALF)])
    assert history.read(HALF).message_count == 1
    (message,) = history.read(HALF).messages
    history.scroll(HALF, message.id)
    history.amend(HALF, HALF, content="halved words")
    assert history.mark_compacted(HALF, [HALF]) == 1
    history.end_session(HALF, HALF)
    assert history.search("halved", current_session="other", exclude_sessions=["x\udfff"]).count
    assert history.search("halved \ud800", exclude_sessions=[HALF]).count == 0
    assert history.rewind(HALF, [HALF]) == 1
    strict(history.search(HALF))
    strict(history.browse())
    assert history.delete_session(HALF).existed
    with pytest.raises(NotFound) as caught:
        history.read(HALF)
    str(caught.value).encode()


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"session","id":' + "[" * 100_000,
        '{"type":"session","id":"i","end_reason":{"a":1}}',
        '{"type":"session","id":"i","last_active_at":"never"}',
        '{"type":"message","session":"i","role":"user","state":"compacted","uid":7}',
        '{"type":"message","session":"i","role":"user","tool_calls":NaN}',
        '{"type":"tombstone","session":"i","deleted_at":"never"}',
        '{"type":["message"]}',
    ],
)
def test_a_broken_line_of_an_export_is_named(history: History, line: str) -> None:
    with pytest.raises(InvalidArgument, match="line 2"):
        history.import_export(['{"type":"header","format":"mnemogram","version":1}', line])


def test_a_halved_id_in_an_export_is_stored_whole(history: History) -> None:
    history.import_export(
        [
            '{"type":"session","id":"i\\ud800","end_reason":"\\udfff"}',
            '{"type":"message","session":"i\\ud800","uid":"\\ud800","role":"user","state":"rewound"}',
        ]
    )
    assert history.read("i\ufffd").message_count == 0


@pytest.mark.parametrize("budget", [4_096, 8_000, 64 * 1024])
def test_names_and_ids_count_in_the_size_of_an_answer(tmp_path: Path, budget: int) -> None:
    with History.open(tmp_path / "large.db", answer_budget=budget) as history:
        for number in range(12):
            history.append(
                Session(
                    f"{number}" + "i" * 30_000,
                    title="題" * 60_000,
                    source="q" * 9_000,
                    model="m" * 9_000,
                ),
                [
                    Message(
                        ("user", "tool", "assistant")[place % 3],
                        f"harbour {place} " + "words " * 400,
                        uid=f"{place}" + "u" * 9_000,
                        tool_name="n" * 9_000,
                        tool_call_id="c" * 9_000,
                        tool_status="s" * 9_000,
                        provenance="p" * 9_000,
                        tool_calls=[{"k": "v" * 5_000}],
                    )
                    for place in range(24)
                ],
            )
        answers: list[Any] = [
            history.search("harbour", limit=10, detail="full", window=20, timeout=60.0),
            history.search("harbour " + "x" * 60_000, timeout=60.0),
            history.search("題" * 20, timeout=60.0),
            history.browse(timeout=60.0),
            history.browse(after="2020-01-01", timeout=60.0),
            history.read("0" + "i" * 30_000, timeout=60.0),
            history.scroll("0" + "i" * 30_000, 12, window=20, timeout=60.0),
        ]
        for answer in answers:
            assert strict(answer) <= budget, type(answer)
        assert answers[3].results
        assert answers[5].messages
        assert any(each.anchor for each in answers[6].messages)
        with pytest.raises(NotFound) as caught:
            history.read("x" * 300_000)
        assert len(str(caught.value)) < 2_000


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=20,
    ),
    st.integers(0, 6),
)
def test_the_depth_of_a_value_is_that_of_its_deepest_part(value: Any, most: int) -> None:
    def depth(each: Any) -> int:
        inner = list(each.values()) if isinstance(each, dict) else each
        return 1 + max(map(depth, inner)) if isinstance(inner, list) and inner else 0

    assert depth_of(value, most) == min(depth(value), most + 1)
    if depth(value) <= most:
        assert parsed(json.dumps(value), most=most) == value


@pytest.mark.parametrize(
    "cursor", ["9" * 30 + ".1", "1." + "9" * 30, "-" + "9" * 30 + ".1", "1.-7", f"{2**63}.1", "1"]
)
def test_a_cursor_that_no_read_gave_is_refused(history: History, cursor: str) -> None:
    fill(history, 3)
    with pytest.raises(InvalidArgument, match="cursor"):
        history.read("s", cursor=cursor)


def test_a_number_of_more_than_64_bits_is_refused_wherever_it_reaches_the_file(
    history: History,
) -> None:
    with history._database.read() as connection:
        for number in (2**63, -(2**63) - 1, 10**40):
            with pytest.raises(InvalidArgument, match="out of range"):
                connection.one("SELECT ?", (number,))
    with (
        pytest.raises(InvalidArgument, match="out of range"),
        history._database.write() as connection,
    ):
        connection.executemany("INSERT INTO untimed (id) VALUES (?)", [(2**63,)])
