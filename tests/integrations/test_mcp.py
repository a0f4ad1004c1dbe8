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
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, PromptReference, ResourceTemplateReference

import mnemogram
from mnemogram.integrations.mcp import ask_client, make_server, tools_of
from mnemogram.service import MnemogramService
from mnemogram.tools import GUIDE

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


def test_a_client_writes_only_where_that_is_allowed(root: Path) -> None:
    said = {"session_id": "x", "messages": [{"role": "user", "content": "written down"}]}
    _, refused = asked(root, [("history_append", said)])
    assert refused.is_error
    listed, done, found = asked(
        root,
        [("history_append", said), ("session_search", {"query": "written"})],
        allow_write=True,
    )
    hints = {each.name: each.annotations for each in listed.tools}
    assert hints["memory_forget"].destructive_hint is True
    assert hints["history_append"].destructive_hint is False
    assert all(each.idempotent_hint for each in hints.values())
    assert done.structured_content["stored"] == 1
    assert found.structured_content["count"] == 1


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


# --- what a client without our code gets ---------------------------------------------------


def with_context(root: Path, body: Any, *, awaited: bool = False, **options: Any) -> None:
    """Run a client against a server over ann's memory, of two scenes, in this process."""

    async def run() -> None:
        async with MnemogramService(root, workers=1, upkeep=False) as service:
            plain = service.home.memory("ann")
            for text, scene in (("No markdown here.", "chan:qq/peer:g1"), ("Sign as Ann.", "工具")):
                rule = mnemogram.Triple(
                    *("reply", "style", text), sentence=text, kind="rule", trust="confirmed"
                )
                plain.commit([rule], scene=scene)
            service.home.memory("bob").commit([mnemogram.Triple("b", "c", "d")], scene="chan:bob")
            memory: Any = service.memory("ann") if awaited else plain
            async with Client(make_server([], memory=memory, **options)) as client:
                await body(client)

    anyio.run(run)


def text_of(result: Any) -> str:
    (message,) = result.messages if hasattr(result, "messages") else result.contents
    return str(message.content.text if hasattr(message, "content") else message.text)


@pytest.mark.parametrize("awaited", [False, True])
def test_a_prompt_brings_what_is_remembered_of_a_situation(root: Path, awaited: bool) -> None:
    async def body(client: Client) -> None:
        (prompt,) = (await client.list_prompts()).prompts
        assert [each.name for each in prompt.arguments or ()] == ["scenes", "topic"]
        there = await client.get_prompt(prompt.name, {"scenes": "chan:mail, chan:qq/peer:g1"})
        assert "No markdown here." in text_of(there)
        assert "Sign as Ann." not in text_of(there)
        assert text_of(there).startswith("[Memory]")
        nowhere = await client.get_prompt(prompt.name, {"scenes": "chan:bob"})
        assert "Nothing is remembered" in text_of(nowhere)
        assert "reply" in text_of(await client.get_prompt(prompt.name, {"topic": "reply style"}))

    with_context(root, body, awaited=awaited)


def test_resources_are_the_guide_and_the_scenes_of_the_user_alone(root: Path) -> None:
    async def body(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert {each.name for each in listed} == {"guide", "chan:qq/peer:g1", "工具"}
        texts = {each.name: text_of(await client.read_resource(each.uri)) for each in listed}
        assert texts["guide"] == GUIDE
        assert "No markdown here." in texts["chan:qq/peer:g1"]
        assert "Sign as Ann." in texts["工具"]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://scene/{+key}"
        unknown = await client.read_resource("memory://scene/chan:bob")
        assert "Nothing is remembered" in text_of(unknown)

    with_context(root, body)


def test_the_present_situation_is_the_one_that_the_server_was_given(root: Path) -> None:
    async def body(client: Client) -> None:
        assert "No markdown here." in text_of(await client.read_resource("memory://context"))
        assert "No markdown here." in text_of(await client.get_prompt("memory_context"))
        assert "memory://context" in {
            each.uri for each in (await client.list_resources()).resources
        }

    with_context(root, body, scenes=lambda: ["chan:qq/peer:g1"])


def test_what_there_is_none_of_is_an_error_with_words(root: Path) -> None:
    async def body(client: Client) -> None:
        for asked in (
            client.get_prompt("format_disk"),
            client.get_prompt("memory_context", {"user": "bob"}),
            client.read_resource("file:///etc/passwd"),
            client.read_resource("memory://scene/"),
        ):
            with pytest.raises(MCPError):
                await asked
        assert "Nothing" in text_of(await client.read_resource("memory://scene/%00%ff/../x"))

    with_context(root, body)


def test_keys_of_scenes_are_completed(root: Path) -> None:
    async def body(client: Client) -> None:
        prompt = PromptReference(name="memory_context")
        result = await client.complete(prompt, {"name": "scenes", "value": "工具,chan:Q"})
        assert result.completion.values == ["工具,chan:qq/peer:g1"]
        template = ResourceTemplateReference(uri="memory://scene/{+key}")
        result = await client.complete(template, {"name": "key", "value": "chan:"})
        assert result.completion.values == ["chan:qq/peer:g1"]
        result = await client.complete(prompt, {"name": "topic", "value": "re"})
        assert result.completion.values == []

    with_context(root, body)


def test_a_memory_that_cannot_be_read_is_an_error_with_words(root: Path) -> None:
    class Gone:
        async def run(self, work: Any, *, write: bool = False) -> Any:
            raise mnemogram.StorageUnavailable("the disk is away", hint="Mount it.")

    async def run() -> None:
        memory: Any = Gone()
        async with Client(make_server([], memory=memory)) as client:
            with pytest.raises(MCPError, match="Mount it"):
                await client.list_resources()

    anyio.run(run)
