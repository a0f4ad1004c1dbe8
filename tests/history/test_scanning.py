# SPDX-License-Identifier: MIT
"""Where no index can be asked, questions are answered from the texts, as well and in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from mnemogram import History, Message, QueryTimeout
from mnemogram._native import query as q
from mnemogram.history.search import scan as scanning
from mnemogram.history.search.scan import Partial, parts_from_scan
from mnemogram.history.search.visibility import Visibility
from mnemogram.sqlite.database import Connection

QUESTIONS = [
    ("我上次预约牙医是什么时候？", "dentist"),
    ("which harbour did we paint in the evening light?", "harbour"),
    ("ตลาดน้ำอยู่ที่ไหนครับ", "market"),
    ("언제 예약을 취소했어요?", "booking"),
]
MESSAGES = {
    "dentist": "牙医约在星期四上午，记得预约单。",
    "harbour": "In the evening we painted the harbour.",
    "market": "พรุ่งนี้ไปตลาดน้ำกัน",
    "booking": "예약을 취소하고 싶어요",
}


def fill(history: History) -> None:
    history.append_many((key, [Message("user", text)]) for key, text in MESSAGES.items())
    history.append_many(
        (
            f"chat{number}",
            [Message("user", f"我上次说是什么时候 {number}, which of the two did we say?")],
        )
        for number in range(60)
    )


@pytest.mark.parametrize(("asked", "expected"), QUESTIONS)
def test_a_question_is_answered_without_the_tokenizer(
    tmp_path: Path, asked: str, expected: str
) -> None:
    path = tmp_path / "state.db"
    with History.open(path, load_extension=False, trigram=False) as history:
        fill(history)
        answer = history.search(asked)
        assert answer.results[0].session_id == expected
        assert answer.complete
    # Its indexes are there, but this process cannot ask them.
    with History.open(path) as history:
        while history.maintain().more:
            pass
    with History.open(path, load_extension=False, read_only=True) as history:
        answer = history.search(asked)
        assert answer.results[0].session_id == expected
        assert "⟦" in answer.results[0].snippet


@pytest.mark.parametrize(("asked", "expected"), QUESTIONS)
def test_a_question_is_answered_while_its_index_is_built(
    tmp_path: Path, asked: str, expected: str
) -> None:
    with History.open(tmp_path / "state.db", load_extension=False, trigram=False) as plain:
        fill(plain)
    with History.open(tmp_path / "state.db") as history:
        for _ in range(10):
            answer = history.search(asked)
            assert answer.results[0].session_id == expected
            assert answer.complete
            history.maintain(batch_size=20)
        assert answer.index_status["messages_fts_cjk"] is True
        assert answer.search_path == "cjk_or"


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", load_extension=False, trigram=False) as history:
        yield history


def parts(history: History, words: dict[str, float], *, timeout: float | None = None) -> Partial:
    worths = {}
    for word, worth in words.items():
        phrase = q.phrase(word)
        assert phrase is not None
        worths[phrase] = worth
    with history._database.read(timeout=timeout) as connection:
        visibility = Visibility(connection, roles=("user", "assistant"))
        return parts_from_scan(connection, visibility, worths, [(0, 2**62)], share=0.5)


def texts_of(history: History, found: Partial) -> list[str]:
    with history._database.read() as connection:
        return [
            connection.one("SELECT content FROM messages WHERE id = ?", (each.id,))
            for each in found.found.candidates
        ]


def test_what_is_rare_counts_most_and_what_is_frequent_is_no_longer_looked_for(
    plain: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_ROWS_TO_JUDGE", 50)
    said = [f"the entry {number}" + " amber" * (number % 10 == 3) for number in range(200)]
    said[7] += " quay"
    plain.append_many((f"s{n}", [Message("user", text)]) for n, text in enumerate(said))
    found = parts(plain, {"the": 1.0, "amber": 1.0, "quay": 1.0})
    assert found.rows == 200
    assert found.found.complete
    by_word = {phrase.text: count for phrase, count in found.holding.items()}
    assert by_word == {"the": 200, "amber": 20, "quay": 1}
    texts = texts_of(plain, found)
    assert texts[0] == said[7]
    assert all("amber" in text for text in texts[1:21])
    # After the first 50 rows, the oldest 150, those that only hold "the" were passed over.
    assert len(texts) == 50 + 15 + 1
    # Where nothing is rarer, the frequent word is looked for to the end.
    assert parts(plain, {"the": 1.0}).holding.popitem()[1] == 200


def test_a_worth_counts_beside_the_rarity(plain: History) -> None:
    plain.append_many((f"s{n}", [Message("user", f"w{n} amber")]) for n in range(3))
    plain.append("other", [Message("user", "quay"), Message("user", "quay"), Message("user", "x")])
    found = parts(plain, {"amber": 0.1, "quay": 1.0})
    assert texts_of(plain, found)[:2] == ["quay", "quay"]


def test_one_talkative_session_leaves_room_for_the_others(
    plain: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "CANDIDATE_LIMIT", 10)
    plain.append_many((f"s{n}", [Message("user", "amber")]) for n in range(5))
    plain.append("loud", [Message("user", "amber quay")] * 200)
    found = parts(plain, {"amber": 1.0, "quay": 1.0}).found
    assert len({each.session.key for each in found.candidates}) == 6
    assert len(found.candidates) < 100
    assert not found.exhausted


def test_texts_that_were_not_looked_at_in_time_are_told(
    plain: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.append_many((f"s{n}", [Message("user", f"amber {n}")]) for n in range(60))

    at_work: list[Connection] = []

    def shared(connection: Connection, share: float) -> AbstractContextManager[None]:
        at_work.append(connection)
        return share_of_deadline(connection, share)

    class Slow:
        """At the third text the time is over."""

        def __init__(self, matcher: q.Matcher) -> None:
            self.phrases = matcher.phrases
            self.count = matcher.count
            self.looked = 0

        def matches(self, *_: object, **__: object) -> bool:
            self.looked += 1
            if self.looked == 3:
                at_work[-1].clock.deadline_at = time.monotonic()
            return True

    share_of_deadline = scanning.share_of_deadline
    monkeypatch.setattr(scanning, "share_of_deadline", shared)
    monkeypatch.setattr(scanning.q, "compile", lambda node, compile=q.compile: Slow(compile(node)))
    found = parts(plain, {"amber": 1.0}, timeout=600)
    assert not found.found.complete
    assert not found.found.exhausted
    texts = texts_of(plain, found)
    assert texts == ["amber 59", "amber 58", "amber 57"]
    with pytest.raises(QueryTimeout):
        parts(plain, {"amber": 1.0}, timeout=1e-9)
