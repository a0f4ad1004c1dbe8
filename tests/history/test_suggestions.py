# SPDX-License-Identifier: MIT
"""Where nothing matches, the nearest indexed words are offered, and never searched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, Message, Session
from mnemogram.history.index import state as indexes
from mnemogram.history.search import suggest
from mnemogram.history.search.searcher import Searcher
from mnemogram.tools import session_search_tool

TEXTS = (
    "Kubernetes rollout failed",
    "I flew to Zürich with the dentist",
    "电影订阅成功",
    "看电影",
    "안녕하세요 반갑습니다",
    "Сегодня хорошая погода",
    "カメラを買った",
    "receive the parcel",
    "שלום עולם",
    "नमस्ते दुनिया",
)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        opened.append_many((f"s{n}", [Message("user", text)]) for n, text in enumerate(TEXTS))
        yield opened


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("kubernetse", "kubernetes"),  # two exchanged
        ("kxbernetes", "kubernetes"),  # another one
        ("xubernetes", "kubernetes"),  # the first one
        ("kubenetes", "kubernetes"),  # one less
        ("kuberrnetes", "kubernetes"),  # one more
        ("zurihc", "Zürich"),
        ("Zürihc", "Zürich"),
        ("recieve", "receive"),
        ("погдоа", "погода"),
        ("שלוום", "שלום"),
        ("नमसते", "नमस्ते"),
        ("안넝", "안녕"),  # another jamo
        ("阅订", "订阅"),
        ("订悦", "订阅"),
        ("电景", "电影"),
        ("カナ", "カメ"),
        ('"kubernetse rolout"', "kubernetes"),
        ("kubernetse AND rolout", "kubernetes"),
    ],
)
def test_a_word_one_edit_away_is_offered_and_not_searched(
    history: History, query: str, word: str
) -> None:
    result = history.search(query)
    assert not result.results
    assert result.did_you_mean[0] == word
    assert f"Did you mean {word}" in str(result.hint)
    assert history.search(word).results


def test_each_word_of_a_query_has_its_own(history: History) -> None:
    assert history.search("kubernetse zurihc").did_you_mean == ("kubernetes", "Zürich")


@pytest.mark.parametrize(
    "query", ["kubernetes", "dentist parcel", "xqzzyv", "NOT dentist", "", "9"]
)
def test_nothing_is_offered_where_something_matches_or_nothing_is_near(
    history: History, query: str
) -> None:
    assert history.search(query).did_you_mean == ()


def test_what_stands_more_often_is_offered_first(history: History) -> None:
    history.append_many((f"c{n}", [Message("user", "a house")]) for n in range(3))
    history.append("d", [Message("user", "a hoise")])
    assert history.search("hojse").did_you_mean == ("house", "hoise")


def test_words_of_hidden_and_undone_messages_are_not_offered(history: History) -> None:
    history.append(Session("h", source="subagent"), [Message("user", "hidden wombat")])
    history.append("r", [Message("user", "undone platypus", uid="1")])
    history.rewind("r", ["1"])
    assert history.search("wonbat").did_you_mean == ()
    assert history.search("platipus").did_you_mean == ()
    assert history.search("wonbat", all_sources=True).did_you_mean == ("wombat",)


def test_without_the_index_of_pairs_plain_words_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usable = Searcher.usable

    def without_pairs(searcher: Searcher, name: str) -> object:
        return None if name == indexes.CJK.name else usable(searcher, name)

    monkeypatch.setattr(Searcher, "usable", without_pairs)
    with History.open(tmp_path / "plain.db", policy="portable") as history:
        history.append("s", [Message("user", "the dentist is in")])
        assert history.search("dentits").did_you_mean == ("dentist",)
        assert history.search("牙医").did_you_mean == ()


def test_an_index_that_is_damaged_meanwhile_offers_nothing(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> bool:
        raise apsw.CorruptError("damaged")

    monkeypatch.setattr(suggest._Asking, "_holds", damaged)
    monkeypatch.setattr("mnemogram.history.search.searcher.is_index_damage", lambda *_: True)
    result = history.search("kubernetse")
    assert result.did_you_mean == ()
    assert "damaged" in str(result.hint)


def test_the_tool_offers_them_too(history: History) -> None:
    answer = session_search_tool(history)({"query": "dentits"})
    assert answer["did_you_mean"] == ["dentist"]
    assert "did_you_mean" not in session_search_tool(history)({"query": "dentist"})


LETTERS = {"latin": "abcdefghijklmnopqrstuvwxyz", "greek": "αβγδεζηθικλμνξοπρστυφχψω"}


@st.composite
def mistyped(draw: st.DrawFn) -> tuple[str, str]:
    """Return a word, and the same with one mistake."""
    letters = LETTERS[draw(st.sampled_from(sorted(LETTERS)))]
    word = draw(st.text(letters, min_size=4, max_size=9))
    place = draw(st.integers(0, len(word) - 1))
    letter = draw(st.sampled_from(letters))
    kind = draw(st.sampled_from(("less", "more", "other", "exchanged")))
    if kind == "exchanged":
        place = min(place, len(word) - 2)
        return word, word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    middle = {"less": "", "more": letter + word[place], "other": letter}[kind]
    return word, word[:place] + middle + word[place + 1 :]


@settings(max_examples=15, deadline=None)
@given(mistyped())
def test_whatever_the_mistake_the_word_is_offered_or_found(pair: tuple[str, str]) -> None:
    word, query = pair
    with TemporaryDirectory() as folder, History.open(Path(folder) / "state.db") as history:
        history.append("s", [Message("user", f"1 {word} 2")])
        result = history.search(query, timeout=60)
        assert result.results or word in result.did_you_mean
