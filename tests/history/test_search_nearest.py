# SPDX-License-Identifier: MIT
"""What is nearest to a query as it was typed comes first: spelling, phrase, nearness, whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, Message, Session

START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)
FILLER = "filler words go here and there. " * 800


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


def store(history: History, *texts: str, title: str | None = None) -> None:
    """Store one conversation of each text, an hour apart; the first may have a title."""
    history.append_many(
        (
            Session(f"s{place}", title=None if place else title),
            [Message("user", text, uid="1", timestamp=START + timedelta(hours=place))],
        )
        for place, text in enumerate(texts)
    )


def first(history: History, query: str) -> str:
    return history.search(query).results[0].session_id


# --- spelling --------------------------------------------------------------------------


SPELLINGS = [
    ("año", "este año fue bueno para toda la familia de la casa", "ano ano ano"),
    ("ano", "an ano is a word with another meaning in that sentence", "año año año"),
    ("hổ", "con hổ ở trong rừng sâu", "hồ hồ"),
    ("résumé", "send the résumé to her by the end of this week", "resume resume"),
    ("資料", "請把資料放在桌上，謝謝你了", "资料资料"),
    ("资料", "请把资料放在桌上，谢谢你了", "資料資料"),
    ("髙橋", "髙橋さんに電話することを忘れないで", "高橋高橋"),
    ("всё", "всё хорошо и мы дома сегодня", "все все"),
    ("أحمد", "أحمد سافر إلى المدينة القديمة أمس", "احمد احمد"),
    ("फ़ोन", "फ़ोन करो कल सुबह को ज़रूर", "फोन फोन"),
    ("2026", "the year 2026 in numbers and other things", "٢٠٢٦ २०२६"),
    ("Straße", "Die Straße ist lang und wird heute gesperrt", "strasse strasse"),
    ("①", "see ① for the long explanation of it", "1 1 1"),
]


@pytest.mark.parametrize("rest", ["", " unheard"])
@pytest.mark.parametrize(("query", "exact", "folded"), SPELLINGS)
def test_an_exact_spelling_stands_above_folded_ones(
    history: History, query: str, exact: str, folded: str, rest: str
) -> None:
    store(history, exact, folded)
    assert first(history, query + rest) == "s0"


def test_case_width_and_normal_form_are_no_other_spelling(history: History) -> None:
    store(history, "we met in the cafe\u0301", "the CAF\u00c9 is the cafe\u0301")
    assert first(history, "caf\u00e9") == "s1"


@pytest.mark.parametrize(
    ("query", "other"), [("résumé", "resume"), ("resume", "résumé"), ("資料", "资料")]
)
def test_an_exact_spelling_is_found_behind_any_number_of_folded_ones(
    history: History, query: str, other: str
) -> None:
    store(history, f"send the {query} by friday, will you", *[f"{other} {other}"] * 400)
    assert first(history, query) == "s0"


words = st.lists(st.sampled_from(["año", "ano", "Ano", "ANO", "y", "otro", "."]), max_size=12)


@given(st.lists(words, min_size=2, max_size=5), st.sampled_from(["año", "ano"]))
@settings(max_examples=40, deadline=None)
def test_no_folded_spelling_stands_above_an_exact_one(texts: list[list[str]], query: str) -> None:
    with (
        TemporaryDirectory() as folder,
        History.open(Path(folder) / "a.db", synchronous="normal") as history,
    ):
        store(history, *map(" ".join, texts))
        hits = history.search(query, limit=10).results
        exact = [query in texts[int(hit.session_id[1:])] for hit in hits]
        lower = [query in [word.lower() for word in texts[int(hit.session_id[1:])]] for hit in hits]
        assert lower == sorted(lower, reverse=True), (exact, hits)


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("من می\u200cخواهم بروم", ("میخواهم", "می خواهم", "می\u200cخواهم")),
        ("این کتاب\u200cها خوب است", ("کتابها", "کتاب ها", "کتاب\u200cها")),
        ("من می خواهم بروم", ("می خواهم", "می\u200cخواهم")),
    ],
)
def test_persian_words_are_found_joined_and_apart(
    history: History, text: str, queries: Sequence[str]
) -> None:
    store(history, text, "other words")
    for query in queries:
        result = history.search(query)
        assert [hit.session_id for hit in result.results if not hit.partial] == ["s0"], query


# --- the phrase, and nearness ----------------------------------------------------------


PHRASES = [
    (
        "data model review",
        "we need a data model review before the release of the whole product next week",
        ["review data. model trains. review model data", "model review data"],
    ),
    (
        "data model review",
        "we need a data model review before the release of the whole product next week",
        ["this is the data model. Review it, review model data"],
    ),
    (
        "数据 模型 评审",
        "上线之前我们需要做一次数据模型评审，然后再安排测试和发布",
        ["评审数据 模型训练 评审模型", "模型 评审 数据"],
    ),
    ("大阪 旅行", "来月は家族みんなで大阪旅行に行く予定なので宿を探している", ["旅行は大阪"]),
    (
        "데이터 모델 검토",
        "출시 전에 우리는 반드시 데이터 모델 검토 를 해야 한다고 팀장이 말했다",
        ["검토 모델 데이터", "모델 데이터 검토 모델 데이터"],
    ),
    (
        "зелёный ключ двери",
        "Запомни пожалуйста что зелёный ключ двери лежит под третьим горшком у старого сарая",
        ["двери ключ зелёный", "ключ зелёный, двери ключ"],
    ),
    (
        "مفتاح الباب الأخضر",
        "تذكر من فضلك أن مفتاح الباب الأخضر تحت الإناء الثالث قرب المخزن القديم",
        ["الأخضر الباب مفتاح", "الباب مفتاح الأخضر الباب"],
    ),
    ("กุญแจ ประตู", "กรุณาจำไว้ว่ากุญแจประตูอยู่ใต้กระถางที่สามใกล้โรงเก็บของเก่า", ["ประตู กุญแจ"]),
    ("key door", "the key door is a thing that was mentioned in a longer talk", ["door key"]),
]


@pytest.mark.parametrize(("query", "typed", "scattered"), PHRASES)
def test_a_phrase_as_typed_stands_above_the_same_words_scattered(
    history: History, query: str, typed: str, scattered: list[str]
) -> None:
    store(history, typed, *scattered)
    assert first(history, query) == "s0"


def test_a_phrase_as_typed_is_found_behind_any_number_of_scattered_ones(history: History) -> None:
    text = "review data, model data. model data, review"
    store(history, "we need a data model review before the release", *[text] * 400)
    assert first(history, "data model review") == "s0"


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        (
            "blue kettle",
            "the kettle that is blue stands in the kitchen of my old house by the lake",
            "kettle was bought in a shop of the town where my uncle lives and has been there since"
            " many years now painted blue",
        ),
        (
            "Marta heater",
            "Marta fixed our heater",
            "Marta came by for tea and told us of her holidays and the long way home and that"
            " somebody should see about a heater",
        ),
        (
            "蓝色 水壶",
            "水壶是蓝色的，放在厨房里",
            "水壶是去年在镇上的商店里买的，一直放在厨房，后来叔叔来的时候把门刷成了蓝色",
        ),
    ],
)
def test_words_near_each_other_stand_above_words_far_apart(
    history: History, query: str, near: str, far: str
) -> None:
    store(history, near, far)
    assert first(history, query) == "s0"


# --- titles and texts ------------------------------------------------------------------


TITLED = [
    (
        "Letter to Marta",
        "draft a complaint about the broken heater",
        "broken heater",
        "Marta heater",
    ),
    ("大阪旅行", "宿の予約は三泊にして", "宿の予約、また宿の予約を変更", "大阪 宿の予約"),
    ("Müller contract", "the rent rises by ten percent", "rent rent rises", "muller rent"),
    ("护照续签", "周三上午去办，带两张照片", "照片照片", "护照 照片"),
    ("Договор с Ивановым", "аренда растёт на десять процентов", "аренда аренда", "Ивановым аренда"),
]


@pytest.mark.parametrize("others", [5, 400])
@pytest.mark.parametrize(("title", "text", "other", "query"), TITLED)
def test_a_query_may_be_spread_over_the_title_and_a_text(
    history: History, title: str, text: str, other: str, query: str, others: int
) -> None:
    store(history, text, *[f"{other} {place}" for place in range(others)], title=title)
    result = history.search(query)
    assert result.results[0].session_id == "s0"
    assert not result.results[0].partial
    assert all(hit.partial for hit in result.results[1:])
    assert "The first 1 of all results hold all of the query" in (result.hint or "")


def test_a_query_may_be_spread_over_the_messages_of_a_conversation(history: History) -> None:
    history.append(
        "s",
        [
            Message("user", "Marta called this morning", uid="1"),
            Message("assistant", "what did she want", uid="2"),
            Message("user", "ask about the broken heater", uid="3"),
        ],
    )
    store(history, *[f"broken heater part number {place} again heater" for place in range(5)])
    assert first(history, "Marta heater") == "s"


# --- long messages ---------------------------------------------------------------------


@pytest.mark.parametrize("short", [0, 100])
@pytest.mark.parametrize(
    ("query", "passage", "other"),
    [
        (
            "where was the blue heron nest by the quiet mill pond seen",
            "blue heron nest by the quiet mill pond",
            "the mill was closed",
        ),
        (
            "what is the code of the garage door",
            "the garage door code is 4711",
            "a code of honour",
        ),
        ("heron heron", "heron heron heron", "x " * 3_000 + "heron"),
    ],
)
def test_a_passage_deep_in_a_long_message_counts_like_any_other(
    history: History, query: str, passage: str, other: str, short: int
) -> None:
    filler = [f"short chat number {place}" for place in range(short)]
    store(history, f"{FILLER} {passage}. {FILLER[:3_000]}", other, *filler)
    assert first(history, query) == "s0"
