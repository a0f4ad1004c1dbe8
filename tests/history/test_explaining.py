# SPDX-License-Identifier: MIT
"""Why a result stands where it does: parts, places, weights, and a sum that is the score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import Explanation, History, Message, SearchHit, Session

START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


def told(hit: SearchHit) -> Explanation:
    assert hit.explanation is not None
    return hit.explanation


def assert_adds_up(hit: SearchHit) -> None:
    assert sum(told(hit).points.values()) == pytest.approx(hit.score, abs=1e-4)


def test_nothing_is_explained_unasked(history: History) -> None:
    history.append("s", [Message("user", "the dentist is in")])
    assert history.search("dentist").results[0].explanation is None


def test_words_say_where_they_stand_and_what_they_gave(history: History) -> None:
    calls = [{"name": "book", "arguments": {"who": "dentist"}}]
    history.append(
        Session("s", title="Dentist in Malmö"),
        [Message("assistant", "The dentist has moved. Dentist!", tool_calls=calls)],
    )
    history.append("t", [Message("user", "malmo by train")])
    first, second = history.search("dentist malmo", explain=True).results
    terms = {each.text: each for each in told(first).terms if each.kind == "word"}
    assert terms["dentist"].where == {"content": 2, "tool_calls": 1, "title": 1}
    assert terms["malmo"].where == {"title": 1}
    assert all(each.weight and each.points for each in terms.values())
    assert told(first).by == told(second).by == "score"
    assert_adds_up(first)
    assert_adds_up(second)
    assert json.loads(json.dumps(first.to_dict()))["explanation"]["points"]


def test_spelling_phrase_and_distance_are_named(history: History) -> None:
    history.append("a", [Message("user", "the año nuevo is here")])
    history.append("b", [Message("user", "nuevo libro for this ano")])
    first, second = history.search("año nuevo", explain=True).results
    assert first.session_id == "a"
    assert (told(first).as_typed, told(first).otherwise_spelled) == (True, 0)
    assert (told(second).as_typed, told(second).otherwise_spelled) == (False, 1)
    assert (told(first).tokens_between, told(second).tokens_between) == (0, 3)
    assert any(each.kind == "query" for each in told(first).terms)


def test_what_is_nearer_to_the_query_as_typed_says_what_it_gained(history: History) -> None:
    history.append("a", [Message("user", "este año fue bueno para toda la familia de la casa")])
    history.append("b", [Message("user", "ano ano ano")])
    first, second = history.search("año", explain=True).results
    assert first.session_id == "a"
    assert told(first).points["nearness"] > 0 > told(second).points["nearness"]
    assert_adds_up(first)
    assert_adds_up(second)


def test_other_forms_of_a_word_are_prefixes(history: History) -> None:
    history.append("a", [Message("user", "we deployed all of the services")])
    (hit,) = history.search("deploying service", explain=True).results
    assert {each.kind for each in told(hit).terms} >= {"prefix"}
    assert "prefixes" in told(hit).points
    assert_adds_up(hit)


def test_recency_is_shown_with_what_it_leaves(history: History) -> None:
    for days in (0, 30):
        moment = START + timedelta(days=days)
        history.append(f"s{days}", [Message("user", "the dentist called", timestamp=moment)])
    new, old = history.search("dentist", explain=True, recency=30).results
    assert told(new).recency == 1.0
    assert told(old).recency == pytest.approx(0.5)
    assert told(old).points["recency"] < 0
    assert_adds_up(old)
    assert told(history.search("dentist", explain=True).results[0]).recency is None


def test_neighbours_and_what_holds_everything_are_named(history: History) -> None:
    history.append("a", [Message("user", "the dentist"), Message("user", "the dentist again")])
    history.append("b", [Message("user", "the dentist and the parcel")])
    results = history.search("dentist parcel", explain=True).results
    assert told(results[0]).points["above_parts"] > 0
    assert told(results[1]).points["neighbours"] > 0
    for hit in results:
        assert_adds_up(hit)


def test_titles_and_times_are_reasons_too(history: History) -> None:
    history.append(Session("a", title="Holiday plans"), [Message("user", "nothing")])
    history.append("b", [Message("user", "the holiday plans of the office")])
    titled, said = history.search("holiday plans", explain=True).results
    assert told(titled).by == "exact_title"
    assert told(said).by == "score"
    (newest,) = (
        hit
        for hit in history.search("holiday plans", explain=True, sort="newest").results
        if hit.session_id == "b"
    )
    assert told(newest).by == "time"
    assert told(newest).terms[0].where == {"content": 1}
    assert not told(newest).points


def test_an_explained_answer_keeps_its_budget(tmp_path: Path) -> None:
    with History.open(tmp_path / "state.db", answer_budget=20_000) as history:
        words = [f"word{number}" for number in range(400)]
        history.append_many((f"s{n}", [Message("user", " ".join(words))]) for n in range(10))
        result = history.search(" ".join(words[:200]), explain=True, limit=10)
        assert len(json.dumps(result.to_dict(), ensure_ascii=False).encode()) <= 20_000


WORDS = ("dentist", "parcel", "malmö", "malmo", "telephone", "telephones", "牙医", "预约", "the")


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=8),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.sampled_from((None, 0.5)),
)
def test_points_add_up_to_the_score_and_change_nothing(
    texts: list[list[str]], query: list[str], recency: float | None
) -> None:
    with TemporaryDirectory() as folder, History.open(Path(folder) / "state.db") as history:
        history.append_many(
            (
                Session(f"s{place // 2}", title=" ".join(words[:1]) if place % 3 else None),
                [
                    Message(
                        "user",
                        " ".join(words),
                        uid=str(place),
                        timestamp=START + timedelta(hours=place),
                    )
                ],
            )
            for place, words in enumerate(texts)
        )
        wanted = " ".join(query)
        plain = history.search(wanted, limit=10, recency=recency, timeout=60)
        asked = history.search(wanted, limit=10, recency=recency, timeout=60, explain=True)
        assert plain.results == tuple(replace(each, explanation=None) for each in asked.results)
        for hit in asked.results:
            if told(hit).by == "score":
                assert_adds_up(hit)
