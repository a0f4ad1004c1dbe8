# SPDX-License-Identifier: MIT
"""Conversations that bring no id are known again when they have grown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemogram import History
from mnemogram.importers import base, read

from .conftest import Write
from .samples import CONTENTS, ITEMS, LANGCHAIN


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        yield opened


@pytest.fixture
def bring(history: History, write: Write) -> Callable[[Any], None]:
    def bring(value: Any) -> None:
        found = read(write(value))
        history.import_conversations(each.conversation() for each in found)

    return bring


def talk(*texts: str) -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def texts(history: History) -> dict[str, list[str]]:
    return {
        each.session_id: [str(m.content) for m in history.read(each.session_id).messages]
        for each in history.browse().results
    }


@pytest.mark.parametrize("whole", [talk("a", "b", "c"), list(ITEMS), CONTENTS, LANGCHAIN])
def test_a_list_that_has_grown_is_the_same_conversation(
    bring: Any, history: History, whole: list[Any]
) -> None:
    first = 2 if whole[0] is ITEMS[0] else 1  # one alone is a plain message
    bring(whole[:first])
    (before,) = texts(history)
    for end in range(first, len(whole) + 1):
        bring(whole[:end])
    assert list(texts(history)) == [before]
    longest = texts(history)
    for end in (len(whole), 2, first):  # older copies
        bring(whole[:end])
        assert texts(history) == longest


def test_conversations_that_only_begin_alike_are_two(bring: Any, history: History) -> None:
    bring(talk("hello", "hi", "what is rain"))
    bring(talk("hello", "hi", "what is snow"))
    bring(talk("hello", "good day"))
    assert len(texts(history)) == 3


def test_equal_conversations_of_one_file_stay_apart(bring: Any, history: History) -> None:
    for _ in range(2):
        bring([{"messages": talk("a", "b")}, {"messages": talk("a", "b")}])
        assert list(texts(history).values()) == [["a", "b"], ["a", "b"]]


def test_pieces_of_a_long_conversation_follow_each_other(
    bring: Any, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH_MESSAGES", 3)
    whole = talk(*map(str, range(10)))
    for end in (2, 5, 10, 7):
        bring(whole[:end])
    assert list(texts(history).values()) == [[str(n) for n in range(10)]]


def test_an_id_of_the_hosts_own_is_never_another_conversation(history: History) -> None:
    from mnemogram import Message, Session
    from mnemogram.history.models import Conversation

    for key in ("openai-" + "0" * 20, "openai-" + "0" * 10 + "1" * 10):
        one = Conversation(Session(key), [Message("user", "a", uid="1")])
        history.import_conversations([one])
    assert len(texts(history)) == 2
    assert json.dumps(list(texts(history).values())) == '[["a"], ["a"]]'
