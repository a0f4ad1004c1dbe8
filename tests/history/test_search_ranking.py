# SPDX-License-Identifier: MIT
"""Which of what matches comes first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, InvalidArgument, Message, Session

START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


# --- time ------------------------------------------------------------------------------


def _imported_newest_first(history: History, count: int, text: str) -> None:
    history.append_many(
        (
            Session(f"s{place}"),
            [Message("user", text, uid="m", timestamp=START - timedelta(hours=place))],
        )
        for place in range(count)
    )


@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the wifi password changed again", "wifi password"),
        ("the wifi password changed again", "wifi"),
        ("the misconfiguration again", "configurat"),
        ("明天的牙医预约改了", "牙医预约"),
        ("내일 치과 예약", "치과"),
    ],
)
@pytest.mark.parametrize("count", [120, 700])
def test_of_equal_matches_the_newest_by_message_time_come_first(
    tmp_path: Path, text: str, query: str, load: bool, count: int
) -> None:
    with History.open(tmp_path / "a.db", load_extension=load, synchronous="normal") as history:
        history.append("other", [Message("user", "別 something else", timestamp=START)])
        _imported_newest_first(history, count, text)
        result = history.search(query, limit=3)
        assert [hit.session_id for hit in result.results] == ["s0", "s1", "s2"]


def test_ties_are_broken_by_time_after_those_who_may_not_match_are_left_out(
    history: History,
) -> None:
    history.append_many(
        (
            Session(f"s{place}"),
            [
                Message("tool", "disk full", uid="t", timestamp=START),
                Message("user", "disk full", uid="m", timestamp=START - timedelta(hours=place)),
            ],
        )
        for place in range(400)
    )
    result = history.search("disk full", limit=2)
    assert [hit.session_id for hit in result.results] == ["s0", "s1"]


def test_a_session_is_shown_by_its_newest_of_equal_messages(history: History) -> None:
    history.append(
        "one",
        [
            Message("user", "the wifi password changed", uid=str(i), timestamp=START - timedelta(i))
            for i in range(400)
        ],
    )
    shown = history.search("wifi password").results[0]
    assert shown.messages[0].uid == "0" or [m.uid for m in shown.messages if m.anchor] == ["0"]


@given(st.permutations(range(6)), st.sampled_from(["wifi password", "wifi", "wifi OR cedar"]))
@settings(max_examples=20, deadline=None)
def test_whatever_the_order_of_writing_equals_stand_newest_first(
    order: list[int], query: str
) -> None:
    with TemporaryDirectory() as directory, History.open(Path(directory) / "a.db") as history:
        for place in order:
            moment = START + timedelta(days=place)
            text = "wifi password, told once more"
            history.append(f"s{place}", [Message("user", text, timestamp=moment)])
        hits = history.search(query, limit=6).results
        assert [hit.session_id for hit in hits] == ["s5", "s4", "s3", "s2", "s1", "s0"]


@pytest.mark.parametrize(
    ("old", "new", "query"),
    [
        ("wifi password is maple", "our wifi password is now cedar", "wifi password"),
        ("Olga lives in Riga", "these days Olga lives in Turku", "Olga lives"),
        ("WiFi密码是枫树", "现在家里的WiFi密码是雪松", "WiFi密码"),
        ("鍵は棚の上", "鍵はいま机の中", "鍵は"),
    ],
)
def test_of_two_statements_of_one_thing_the_newer_comes_first(
    history: History, old: str, new: str, query: str
) -> None:
    history.append("old", [Message("user", old, timestamp="2020-05-01T00:00:00Z")])
    history.append("new", [Message("user", new, timestamp="2026-05-01T00:00:00Z")])
    assert history.search(query).results[0].session_id == "new"


def test_a_much_better_match_stays_above_a_newer_one(history: History) -> None:
    history.append("old", [Message("user", "wifi password", timestamp="2020-05-01T00:00:00Z")])
    filler = " ".join(f"word{place}" for place in range(25))
    history.append(
        "new", [Message("user", f"wifi password {filler}", timestamp="2026-05-01T00:00:00Z")]
    )
    assert history.search("wifi password").results[0].session_id == "old"


def test_a_half_life_lets_what_is_old_count_less(history: History) -> None:
    history.append("old", [Message("user", "wifi wifi wifi", timestamp="2026-01-01T00:00:00Z")])
    history.append(
        "new", [Message("user", "so, about the wifi here", timestamp="2026-05-01T00:00:00Z")]
    )
    plain = history.search("wifi").results
    aged = history.search("wifi", recency=30).results
    assert [hit.session_id for hit in plain] == ["old", "new"]
    assert [hit.session_id for hit in aged] == ["new", "old"]
    assert aged == history.search("wifi", recency=timedelta(days=30)).results
    assert aged[1].score == pytest.approx(plain[0].score / 16)


def test_a_half_life_brings_the_newest_before_the_cut_of_candidates(history: History) -> None:
    history.append_many(
        (
            Session(f"s{place}"),
            [Message("user", "wifi wifi wifi", timestamp=START - timedelta(days=1000 - place))],
        )
        for place in range(400)
    )
    history.append("new", [Message("user", "the wifi, then", timestamp=START)])
    assert history.search("wifi").results[0].session_id != "new"
    assert history.search("wifi", recency=10.0).results[0].session_id == "new"


@pytest.mark.parametrize("recency", [0, -1, timedelta(0), float("nan"), float("inf"), "30", True])
def test_a_half_life_is_a_time(history: History, recency: Any) -> None:
    with pytest.raises(InvalidArgument, match="half-life"):
        history.search("wifi", recency=recency)


@pytest.mark.parametrize(
    ("query", "right", "wrong"),
    [
        ("서울에서는 무엇을 했나요", "서울 여행 이야기", "부산에서는 운동을 했나요"),
        ("김치는 어떻게 담그나요", "김치 담그는 법을 배웠어", "고양이는 귀엽나요? 강아지는요?"),
    ],
)
def test_korean_words_count_more_than_what_is_joined_to_them(
    history: History, query: str, right: str, wrong: str
) -> None:
    history.append("right", [Message("user", right)])
    history.append_many((f"w{n}", [Message("user", wrong)]) for n in range(3))
    assert history.search(query).results[0].session_id == "right"


def test_long_messages_among_short_ones_are_scored_as_they_are(history: History) -> None:
    # Short texts are read at once, long ones after a look at their sizes.
    for number in range(10):
        padding = "filler " * (4_000 if number % 3 == 0 else 5)
        near = "copper kettle" if number == 6 else "copper " + "and " * 40 + "kettle"
        history.append(Session(id=f"s{number}"), [Message("user", f"{near} {number}. {padding}")])
    found = history.search("copper kettle", limit=10).results
    assert len(found) == 10
    assert found[0].session_id == "s6"
