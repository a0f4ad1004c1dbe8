# SPDX-License-Identifier: MIT
"""Over standard input and output every request is answered, in one line for every reader."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemogram
from mnemogram import Message
from mnemogram.integrations import mcp_wire
from mnemogram.integrations.mcp_wire import Wire, ids_of, mend
from mnemogram.values import map_strings, storable

COMMAND = [
    sys.executable,
    "-c",
    "import sys; from mnemogram.cli import main; sys.exit(main())",
    "mcp",
]
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def spoken(root: Path, *lines: bytes) -> list[dict[str, Any]]:
    """Return what a server over ann's memory writes, each line read by itself."""
    opening = [
        {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    done = subprocess.run(
        [*COMMAND, "--root", str(root), "--user", "ann"],
        input=b"\n".join([*(json.dumps(each).encode() for each in opening), *lines]) + b"\n",
        capture_output=True,
        check=True,
        timeout=60,
    )
    written = done.stdout.decode("utf-8").removesuffix("\n").split("\n")
    assert all(len(line.splitlines()) == 1 for line in written)
    return [json.loads(line) for line in written]


def heard(lines: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the messages that the SDK gets of some lines, and what is refused."""
    outgoing = io.BytesIO()
    wire = Wire(io.BytesIO(lines), outgoing)
    taken = []
    while text := wire.readline():
        taken.append(json.loads(text))
        if "id" in taken[-1]:
            wire.write(json.dumps({"id": taken[-1]["id"], "result": {}}))
    answers = [json.loads(line) for line in outgoing.getvalue().splitlines()]
    return taken, [each for each in answers if "error" in each]


def search(number: bytes, arguments: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":' + number + b',"method":"tools/call","params":'
        b'{"name":"session_search","arguments":' + arguments + b"}}"
    )


@pytest.fixture
def root(home: mnemogram.Mnemogram) -> Path:
    text = "dentist on friday\u2028the line\x85goes\u2029on"
    home.history("ann").append("s2", [Message("user", text)])
    home.close()
    return home.root


QUERIES = [
    rb'"\ud83d dentist"',
    rb'"dentist \uDE00"',
    rb'"\udc00\ud83d dentist"',
    b'"\xff dentist"',
    b'"dentist \xed\xa0\xbd"',
    rb'"dentist\u2028\u0085"',
    rb'"\ud83d\ude00 dentist"',
]


def test_broken_characters_are_read_as_unknown_ones_and_answered(root: Path) -> None:
    lines = [search(b"%d" % n, b'{"query":' + each + b"}") for n, each in enumerate(QUERIES)]
    lines += [b'{"jsonrpc":', search(b"99", b'{"query":"dentist"')]
    answers = {each["id"]: each for each in spoken(root, *lines)}
    assert set(answers) == {"hello", None, 99, *range(len(QUERIES))}
    assert "error" in answers[99]
    for number in range(len(QUERIES)):
        result = answers[number]["result"]
        assert result["structuredContent"]["count"] == 1
        (content,) = result["content"]
        assert len(content["text"].splitlines()) == 1
        assert json.loads(content["text"]) == result["structuredContent"]


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        (search(b"7", b'{"query":"dentist"'), [7]),
        (search(b'"a"', rb'{"query":"dentist\x"}'), ["a"]),
        (search(b"7", b'{"query":"dentist\tx"}'), [7]),
        (search(b"7", b'{"query":"say "hi" now"}'), [7]),
        (search(b"7", b'{"id":9,"query":}'), [7]),
        (search(b"7", b'{"query":"dentist'), [7]),
        (search(b"7", b"[" * 300 + b"]" * 300), [7]),
        (search(b"7", b"[" * 5_000 + b"]" * 5_000), [7]),
        (search(b"7.5", b"{}"), [7.5]),
        (search(b"true", b"{}"), [None]),
        (search(b"null", b"{}"), [None]),
        (search(b"7", b"{}") + search(b"8", b"{}"), [7, 8]),
        (b'{"jsonrpc":"2.0","id":7}', [7]),
        (b'{"jsonrpc":"1.0","id":7,"method":"tools/list"}', [7]),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[1]}', [7]),
        (b'{"params":{"a":"\\x"},"method":"tools/list","id":7}', [7]),
        (b"[]", [None]),
        (b"17", [None]),
        (b"\xfe\xff garbage", [None]),
        (b"  ", []),
        (b'{"jsonrpc":"2.0","method":5}', []),
        (b'{"jsonrpc":"2.0","id":7,"result":5}', []),
    ],
)
def test_a_line_that_is_no_message_is_refused_under_its_id(line: bytes, ids: list[Any]) -> None:
    taken, refused = heard(line + b"\n" + search(b"99", b'{"query":"dentist"}'))
    assert [each["id"] for each in refused] == ids
    assert all(each["error"]["code"] in (-32700, -32600) for each in refused)
    assert taken[-1]["id"] == 99


def test_each_request_of_a_batch_is_taken_or_refused() -> None:
    batch = b"[" + search(b"2", b'{"query":"dentist"}') + b',{"jsonrpc":"2.0","id":3},5]'
    taken, refused = heard(batch)
    assert [each["id"] for each in taken] == [2]
    assert [each["id"] for each in refused] == [3, None]


def test_the_end_of_the_input_waits_for_answers_on_their_way() -> None:
    outgoing = io.BytesIO()
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    wire = Wire(io.BytesIO(asked), outgoing)
    assert json.loads(wire.readline())["id"] == 1
    ended = threading.Event()
    reader = threading.Thread(target=lambda: (wire.readline(), ended.set()))
    reader.start()
    assert not ended.is_set()
    wire.write('{"jsonrpc":"2.0","id":1,"result":{"text":"a\u2028b"}}\n')
    assert ended.wait(mcp_wire.LAST_ANSWERS / 2)
    reader.join()
    assert outgoing.getvalue() == b'{"jsonrpc":"2.0","id":1,"result":{"text":"a\\u2028b"}}\n'


def test_a_cancelled_request_holds_nobody_up() -> None:
    lines = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
    )
    wire = Wire(io.BytesIO(lines), io.BytesIO())
    assert [bool(wire.readline()) for _ in range(3)] == [True, True, False]


def test_a_client_that_went_away_is_no_error() -> None:
    class Gone(io.BytesIO):
        def write(self, data: Any) -> int:
            raise BrokenPipeError

    wire = Wire(io.BytesIO(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'), Gone())
    wire.readline()
    wire.write('{"jsonrpc":"2.0","method":"notifications/message"}\n')
    assert wire.readline() == ""


@given(JSON)
def test_a_mended_line_means_what_it_meant_with_halves_as_unknown_characters(value: Any) -> None:
    line = json.dumps(value).encode()
    assert json.loads(mend(line)) == map_strings(value, storable)


@given(st.integers() | st.text(max_size=8), JSON, st.integers(0, 40))
def test_the_id_before_a_break_is_seen(number: Any, value: Any, lost: int) -> None:
    text = json.dumps({"id": number, "method": "x", "params": {"id": value}})
    kept = text[: max(len(text) - lost, len(json.dumps({"id": number})))]
    assert ids_of(kept)[0] == number
