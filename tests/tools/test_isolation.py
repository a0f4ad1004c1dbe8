# SPDX-License-Identifier: MIT
"""Many users with the same words: no argument of any tool brings another's."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mnemogram
from mnemogram import Message, Session, Triple
from mnemogram.tools import Tool, tools_of

WORDS = ("dentist", "harbour", "invoice", "牙医", "预约", "예약", "会議", "release", "tram", "茶")
SOURCES = ("chat", "subagent", "cron", "tool", "kanban")
_MARK = re.compile(r"mk[0-9a-f]{12}")


def mark(user: str) -> str:
    """A word that only this user ever said; no argument holds it."""
    return "mk" + hashlib.sha256(user.encode()).hexdigest()[:12]


def fill(home: mnemogram.Mnemogram, users: list[str]) -> None:
    """Give everybody the same conversations, ids and scenes, each with the user's own mark."""
    for user in users:
        history, memory = home.history(user), home.memory(user)
        for number, source in enumerate(SOURCES):
            said = [
                Message("user", f"{' '.join(WORDS)} {mark(user)}", uid="1"),
                Message(
                    "assistant",
                    f"tram {mark(user)}",
                    uid="2",
                    tool_calls=[{"id": "c", "name": "look", "arguments": {"x": mark(user)}}],
                ),
                Message("tool", f"invoice {mark(user)}", uid="3", tool_name="look"),
            ]
            history.append(Session(f"s{number}", source=source, title=f"T {mark(user)}"), said)
        memory.commit(
            [
                Triple("reply", "style", mark(user), sentence=f"牙医 {mark(user)}", kind="rule"),
                Triple(mark(user), "near", "harbour"),
            ],
            scene="chan:qq/peer:g1",
        )


class Caller:
    """Makes up calls: sound ones, wrong ones, and such as reach for what is another's."""

    def __init__(self, seed: int, users: list[str], tools: dict[str, list[Tool]]) -> None:
        self._random = random.Random(seed)
        self._users = users
        self._tools = tools
        self._cursors: list[str] = ["", "x"]
        self._names = [
            name
            for tool in next(iter(tools.values()))
            for each in tool.declaration.parameters
            for name in (each.name, *each.aliases)
        ]
        self._names += [
            "user",
            "user_id",
            "path",
            "db",
            "root",
            "key",
            "sql",
            "tenant",
            "__class__",
        ]

    def value(self, depth: int = 0) -> Any:
        chance = self._random
        user = chance.choice(self._users)
        words = " ".join(chance.choices(WORDS, k=chance.randint(1, 3)))
        path = f"../../users/{hashlib.sha256(user.encode()).hexdigest()}/state.db"
        made = [
            lambda: words,
            lambda: f'"{words}" OR NOT {words}*',
            lambda: user,
            lambda: f"s{chance.randrange(6)}",
            lambda: chance.choice(["here", "chan:qq", "chan:qq/peer:g1", f"chan:{user}", "*", "%"]),
            lambda: path,
            lambda: f"x' UNION SELECT content FROM messages; ATTACH '{path}' AS y --",
            lambda: chance.choice([0, 1, 3, 20, -1, 2**63, 10**30, 1.5, True, None, float("inf")]),
            lambda: chance.choice(["user", "tool,assistant", "newest", "full", "2020-01-01", "3d"]),
            lambda: chance.choice(self._cursors),
            lambda: chance.choice(SOURCES),
            lambda: [self.value(depth + 1) for _ in range(chance.randrange(3))],
            lambda: {
                chance.choice(["subject", "relation", "object", "scene", "kind", "x"]): self.value(
                    depth + 1
                )
                for _ in range(chance.randrange(4))
            },
        ]
        return chance.choice(made[: -2 if depth > 2 else None])()

    def call(self) -> tuple[str, dict[str, Any]]:
        """Make a call and return whose it was, and the answer."""
        chance = self._random
        user = chance.choice(self._users)
        tools = self._tools[user]
        # Writing makes the memory grow; most of what may leak is read.
        tool = chance.choices(tools, (60, 3, 35, 1, 1))[0]
        own = [each.name for each in tool.declaration.parameters]
        arguments: Any = {}
        for _ in range(chance.randrange(5)):
            name = chance.choice(own if chance.random() < 0.8 else self._names)
            arguments[name] = self.value()
        if tool.name == "memory_commit" and chance.random() < 0.7:
            triple = {name: str(self.value()) for name in ("subject", "relation", "object")}
            arguments["triples"] = [triple]
        if tool.name == "history_append" and chance.random() < 0.7:
            arguments["messages"] = [{"role": "user", "content": str(self.value())}]
        if chance.random() < 0.1:
            arguments = json.dumps(arguments) if chance.random() < 0.7 else str(arguments)
        answer = tool(arguments)
        if answer.get("cursor"):
            self._cursors[chance.randrange(len(self._cursors))] = answer["cursor"]
            if len(self._cursors) < 500:
                self._cursors.append(answer["cursor"])
        return user, answer


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mnemogram.Mnemogram]:
    root = tmp_path_factory.mktemp("users")
    with mnemogram.open(
        root, synchronous="normal", max_open=250, memory_options={"synchronous": "normal"}
    ) as home:
        yield home


def _fuzz(home: mnemogram.Mnemogram, users: int, calls: int, seed: int) -> int:
    names = [f"u{number}" for number in range(users)]
    fill(home, names)
    tools = {
        name: tools_of(
            home.history(name),
            home.memory(name),
            current_scenes=["chan:qq/peer:g1"],
            allow_write=True,
        )
        for name in names
    }
    caller = Caller(seed, names, tools)
    seen = 0
    for _ in range(calls):
        user, answer = caller.call()
        found = set(_MARK.findall(json.dumps(answer, ensure_ascii=False)))
        assert found <= {mark(user)}
        seen += bool(found)
    return seen


def test_no_argument_of_any_tool_brings_what_is_anothers(homes: mnemogram.Mnemogram) -> None:
    calls = 2_000
    assert _fuzz(homes, 12, calls, seed=1) > calls / 20  # what is one's own is found


@pytest.mark.long
def test_no_argument_brings_what_is_anothers_in_a_million_calls(tmp_path: Path) -> None:
    calls = int(os.environ.get("MNEMOGRAM_FUZZ_CALLS", "1000000"))
    seed = random.SystemRandom().randrange(2**32)
    options = {"synchronous": "normal"}
    with mnemogram.open(tmp_path, max_open=250, memory_options=options, **options) as home:
        found = _fuzz(home, 200, calls, seed)
    assert found > calls / 20, f"seed {seed}"
