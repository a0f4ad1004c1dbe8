# SPDX-License-Identifier: MIT
"""One query means the same on every route, and no query text breaks any of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, Message, SearchResult
from mnemogram._native import query as q
from mnemogram.history import display
from mnemogram.history.search import discover as search
from mnemogram.history.search.request import checked_request
from mnemogram.history.search.routes import ROUTES, words
from mnemogram.text import STORE_OPTIONS

WORDS = (
    "牙医",
    "牙",
    "复诊",
    "cache",
    "cacheA",
    "node",
    "v2",
    "東京",
    "天気",
    "テスト",
    "예약",
    "예",
)
GLUE = ("", "", " ", "、", "-", "/", ": ", "。")

text = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GLUE)), max_size=6).map(
    lambda parts: "".join(word + glue for word, glue in parts)
)
term = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).map(lambda word: f"{word}*"),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(
        lambda words: '"' + " ".join(words) + '"'
    ),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=3).map("-".join),
)
query = st.recursive(
    term,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from((" ", " AND ", " OR ", " NOT ")), inner).map("".join),
        inner.map(lambda each: f"({each})"),
    ),
    max_leaves=5,
)


def strictly(history: History, asked: str) -> SearchResult:
    """Return what the first route finds."""
    request = checked_request(
        asked,
        limit=10,
        roles=("user",),
        sort="relevance",
        detail="adaptive",
        window=1,
        after=None,
        before=None,
        sources=None,
        exclude_sessions=(),
        current_session=None,
        timeout=10.0,
        cursor=None,
        budget=display.DEFAULT_BUDGET,
    )
    with history._database.read(timeout=10.0) as connection:
        return search.discover(connection, request, routes=ROUTES[:1])


def _assert_routes_agree(corpus: list[str], queries: list[str]) -> None:
    with TemporaryDirectory() as directory:
        options = {
            "extension": {},
            "none": {"load_extension": False},
            "no trigrams": {"load_extension": False, "trigram": False},
            "gap": {},
        }
        for name, option in options.items():
            path = Path(directory) / f"{name}.db"
            if name == "gap":  # everything was written before the index was there
                with History.open(path, load_extension=False, synchronous="normal") as writer:
                    _fill(writer, corpus)
            with History.open(path, synchronous="normal", **option) as history:
                if name == "gap":
                    history.append("later", [Message("user", "x")])
                else:
                    _fill(history, corpus)
                for asked in queries:
                    matcher = q.compile(q.parse(asked), adjacent=True)
                    expected = {
                        str(place) for place, each in enumerate(corpus) if matcher.matches(each)
                    }
                    result = strictly(history, asked)
                    found = {hit.session_id for hit in result.results}
                    if "no" in name and not result.complete:  # it says so
                        assert found <= expected, (name, result.search_path, asked)
                    else:
                        assert found == expected, (name, result.search_path, asked)


@settings(max_examples=25, deadline=None)
@given(st.lists(text, min_size=1, max_size=8), st.lists(query, min_size=1, max_size=4))
def test_every_route_finds_the_same(corpus: list[str], queries: list[str]) -> None:
    _assert_routes_agree(corpus, queries)


@settings(max_examples=25, deadline=None)
@given(st.lists(text, min_size=1, max_size=8), st.lists(query, min_size=1, max_size=4))
def test_a_sentence_whose_words_were_counted_first_finds_the_same(
    corpus: list[str], queries: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_SENTENCE_WORDS", 1)
        _assert_routes_agree(corpus, queries)


#: Whole messages of several kinds of script; any stretch of one is found in it.
TEXTS = (
    "明天下午三点去看牙医，记得带医保卡；cacheA节点要重启。",
    "東京の天気は晴れ、ﾃｽﾄは終わりました。テストﾃﾞｰﾀも。",
    "예약을 취소했어요, 그리고 내일 다시 전화할게요.",
    "พรุ่งนี้เราจะไปตลาดน้ำและซื้อผลไม้ครับ",
    "कल हम बाज़ार जाकर किताबें खरीदेंगे।",
    "Der Zähler src/cache_node.py:42 läuft über, ERR_TIMEOUT nach v2.3.",
    "سنذهب غدًا إلى السوق ونشتري الكتب",
    "Хорошо, встретимся у вокзала в пять — не опаздывай",
)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with History.open(tmp_path_factory.mktemp("texts") / "s.db", synchronous="normal") as history:
        _fill(history, list(TEXTS))
        yield history


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_stretch_of_a_message_of_any_length_finds_it(texts: History, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(TEXTS) - 1))
    start = data.draw(st.integers(0, len(TEXTS[place]) - 1))
    asked = TEXTS[place][start : data.draw(st.integers(start + 1, len(TEXTS[place])))]
    matcher = q.compile(q.parse(asked, config=STORE_OPTIONS), adjacent=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_SENTENCE_WORDS", 1)
        found = {hit.session_id for hit in strictly(texts, asked).results}
    assert found == {str(n) for n, each in enumerate(TEXTS) if matcher.matches(each)}, asked


def _fill(history: History, corpus: list[str]) -> None:
    history.append_many(
        [(str(place), [Message("user", each)]) for place, each in enumerate(corpus)]
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    path = tmp_path_factory.mktemp("fuzz") / "s.db"
    with History.open(path, synchronous="normal") as history:
        _fill(history, [word + glue for word in WORDS for glue in GLUE])
        yield history


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="\"*()-^:+{}[]\0 'ANDORT牙a1é\ud800", max_size=40))
def test_no_query_text_raises(store: History, asked: str) -> None:
    result = store.search(asked, roles=("user", "tool"))
    assert result.success
    assert (result.count > 0) or result.hint


@settings(max_examples=25, deadline=None)
@given(query, st.sampled_from(("newest", "oldest")))
def test_sorting_by_time_finds_what_relevance_finds(store: History, asked: str, sort: str) -> None:
    def everything(order: str) -> set[str]:
        seen: set[str] = set()
        cursor = None
        while True:
            result = store.search(asked, sort=order, limit=10, cursor=cursor)  # type: ignore[arg-type]
            seen |= {hit.session_id for hit in result.results}
            cursor = result.cursor
            if cursor is None:
                return seen

    assert everything(sort) == everything("relevance")
