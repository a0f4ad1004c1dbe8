# SPDX-License-Identifier: MIT
"""A client of the protocol finds and remembers; the user is the one the server was started for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

import mnemogram
from mnemogram.integrations.mcp import ask_client, make_server, tools_of
from mnemogram.service import MnemogramService

COMMAND = [
    sys.executable,
    "-c",
    "import sys; from mnemogram.cli import main; sys.exit(main())",
    "mcp",
]


@pytest.fixture
def root(home: mnemogram.Mnemogram) -> Path:
    home.close()
    return home.root


def asked(root: Path, calls: list[tuple[str, dict[str, Any]]], **options: bool) -> list[Any]:
    """Ask a server over ann's memory in this process."""
    results: list[Any] = []

    async def run() -> None:
        with mnemogram.open(root) as home:
            tools = tools_of(home.history("ann"), home.memory("ann"), **options)
            async with Client(make_server(tools)) as client:
                results.append(await client.list_tools())
                results.extend([await client.call_tool(*call) for call in calls])

    anyio.run(run)
    return results


def test_the_tools_are_those_that_are_declared(root: Path) -> None:
    (listed,) = asked(root, [])
    names = {each.name: each for each in listed.tools}
    assert set(names) == {"session_search", "memory_commit", "memory_recall"}
    assert names["session_search"].annotations.read_only_hint is True
    assert names["memory_commit"].annotations.read_only_hint is False
    assert "query" in names["session_search"].input_schema["properties"]
    (listed,) = asked(root, [], read_only=True)
    assert {each.name for each in listed.tools} == {"session_search", "memory_recall"}


def test_what_was_said_is_found_and_what_is_committed_comes_back(root: Path) -> None:
    rule = {"subject": "mail", "relation": "rule", "object": "sign as Ann"}
    _, found, committed, recalled = asked(
        root,
        [
            ("session_search", {"query": "牙医"}),
            ("memory_commit", {"triples": [rule], "scene": "tool:send_mail"}),
            ("memory_recall", {"scenes": ["tool:send_mail"]}),
        ],
    )
    assert not found.is_error
    assert found.structured_content["count"] == 1
    assert "bob" not in found.content[0].text
    assert json.loads(found.content[0].text) == found.structured_content
    assert not committed.is_error
    assert "sign as Ann" in recalled.content[0].text


def test_wrong_arguments_are_an_answer_with_a_hint(root: Path) -> None:
    _, wrong, unknown = asked(
        root, [("session_search", {"query": "x", "limit": "many"}), ("format_disk", {})]
    )
    for answer, words in ((wrong, "limit"), (unknown, "session_search")):
        assert answer.is_error
        assert answer.structured_content["error"] == "invalid_argument"
        assert words in answer.content[0].text


def test_the_command_speaks_the_protocol_on_its_standard_streams(root: Path) -> None:
    started = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    call = {"name": "session_search", "arguments": {"query": "牙医"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": started},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call},
    ]
    with subprocess.Popen(
        [*COMMAND, "--root", str(root), "--user", "ann", "--read-only"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        answers: dict[int, Any] = {}
        for line in lines:
            server.stdin.write(json.dumps(line) + "\n")
            server.stdin.flush()
            if "id" in line:
                answer = json.loads(server.stdout.readline())
                answers[answer["id"]] = answer["result"]
        server.stdin.close()
        assert server.wait(timeout=30) == 0
        words = server.stderr.read()
    assert answers[1]["serverInfo"]["name"] == "mnemogram"
    assert len(answers[2]["tools"]) == 2
    assert answers[3]["structuredContent"]["count"] == 1
    assert "Serving session_search, memory_recall" in words


def test_a_server_of_one_person_needs_no_user(root: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--root", str(root)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0
    assert "of user 'me'" in done.stderr


RULE = {"subject": "mail", "relation": "rule", "object": "sign as Ann", "kind": "rule"}


@pytest.mark.parametrize(
    ("action", "trust"),
    [("accept", "confirmed"), ("decline", None), ("cancel", "observed"), (None, "observed")],
)
@pytest.mark.parametrize("awaited", [False, True])
def test_the_client_asks_its_user_about_a_rule(
    root: Path, action: Any, trust: str | None, awaited: bool
) -> None:
    questions: list[str] = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    async def run() -> None:
        async with MnemogramService(root, workers=1, upkeep=False) as service:
            home = service.home
            memory = home.memory("ann")
            tools: list[Any] = list(tools_of(home.history("ann"), memory, confirm=ask_client))
            if awaited:
                faces = service.history("ann"), service.memory("ann")
                tools = list(tools_of(*faces, confirm=ask_client))
            asking = {} if action is None else {"elicitation_callback": answer}
            async with Client(make_server(tools), mode="legacy", **asking) as client:
                given = {"triples": [RULE], "scene": "tool:mail"}
                result = await client.call_tool("memory_commit", given)
            stored = result.structured_content["relations"]
            assert [each["trust"] for each in stored] == ([] if trust is None else [trust])
            assert memory.status().relations == len(stored)

    anyio.run(run)
    if action is not None:
        (question,) = questions
        assert "sign as Ann" in question
        assert "tool:mail" in question


def test_outside_a_call_of_a_client_nobody_is_asked() -> None:
    assert ask_client(mnemogram.Triple("a", "b", "c", kind="rule")) is None
