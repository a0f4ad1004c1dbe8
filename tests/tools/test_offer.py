# SPDX-License-Identifier: MIT
"""All tools over one user's stores at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemogram
from mnemogram import Message
from mnemogram.tools import tools_of


@pytest.fixture
def home(tmp_path: Path) -> Iterator[mnemogram.Mnemogram]:
    with mnemogram.open(tmp_path / "root") as home:
        home.history("ann").append("s1", [Message("user", "dentist on Wednesday")])
        yield home


def test_what_writes_can_be_left_out(home: mnemogram.Mnemogram) -> None:
    stores = home.history("ann"), home.memory("ann")
    every = [each.name for each in tools_of(*stores)]
    assert every == ["session_search", "memory_commit", "memory_recall"]
    reading = [each.name for each in tools_of(*stores, read_only=True)]
    assert reading == ["session_search", "memory_recall"]


def test_the_running_session_and_its_scenes_reach_every_tool(home: mnemogram.Mnemogram) -> None:
    history, memory = home.history("ann"), home.memory("ann")
    search, commit, recall = tools_of(
        history, memory, current_session=lambda: "s1", current_scenes=["chan:qq"]
    )
    assert search({"query": "dentist"})["count"] == 0
    rule = {"subject": "reply", "relation": "style", "object": "plain", "scene": "here"}
    assert commit({"triples": [rule]})["success"]
    assert recall({"scenes": ["here"]})["count"] == 1
    assert memory.forget(session_id="s1").counts["relations"] == 1


def test_how_far_a_model_is_trusted_reaches_the_tool_that_remembers(
    home: mnemogram.Mnemogram,
) -> None:
    stores = home.history("ann"), home.memory("ann")
    rule = {"subject": "reply", "relation": "style", "object": "plain", "kind": "rule"}
    _, sure, _ = tools_of(*stores, trust="confirmed")
    assert sure({"triples": [rule]})["relations"][0]["trust"] == "confirmed"
    _, asking, _ = tools_of(*stores, confirm=lambda triple: False)
    assert asking({"triples": [{**rule, "object": "loud"}]})["declined"]
