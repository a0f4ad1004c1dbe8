# SPDX-License-Identifier: MIT
"""What an answer says of itself: how each result was found, and what was left out of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, Message, SearchResult, Session
from mnemogram._native import query as q
from mnemogram.history.schema import HIDDEN_SOURCES
from mnemogram.history.search.fetch import Found
from mnemogram.history.search.searcher import Searcher
from tests.history.support import finish

ALL = ("user", "assistant", "tool")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History.open(path, synchronous="normal") as opened:
        yield opened


def say(history: History, session: str, text: str, *, role: Any = "user", **about: Any) -> None:
    history.append(Session(session, **about), [Message(role, text, uid=text[:40])])


def found(answer: SearchResult) -> dict[str, str]:
    return {hit.session_id: hit.found_by for hit in answer.results}


# --- how it was found --------------------------------------------------------------------


def test_what_lies_in_the_gap_of_an_index_was_found_by_reading(path: Path) -> None:
    with History.open(path, load_extension=False) as plain:
        say(plain, "gap", "the amber quay")
    with History.open(path) as history:
        say(history, "indexed", "the amber pond")
        answer = history.search("amber", limit=10)
        assert found(answer) == {"indexed": "cjk", "gap": "like"}
        assert (answer.search_path, set(answer.found_by)) == ("cjk", {"cjk", "like"})
        assert answer.complete
        answer = history.search("quay")
        assert found(answer) == {"gap": "like"}
        assert (answer.search_path, answer.found_by) == ("like", ("like",))
        finish(history)
        answer = history.search("amber", limit=10)
        assert found(answer) == {"indexed": "cjk", "gap": "cjk"}


def test_the_end_of_a_long_tool_result_was_found_by_reading(history: History) -> None:
    say(history, "s", "word " * 3_000 + "needle", role="tool")
    answer = history.search("needle", roles=("tool",))
    assert found(answer) == {"s": "like"}
    assert answer.search_path == "like"
    answer = history.search("word", roles=("tool",))
    assert (found(answer), answer.search_path) == ({"s": "cjk"}, "cjk")


@pytest.mark.parametrize(
    ("query", "route"),
    [("quay", "cjk"), ("mber", "trigram"), ("amber nowhere", "cjk_or"), ("牙医", "cjk")],
)
def test_each_result_names_the_route_it_came_by(history: History, query: str, route: str) -> None:
    say(history, "s", "the amber quay 牙医")
    answer = history.search(query)
    assert (found(answer), answer.search_path) == ({"s": route}, route)


def test_what_holds_all_and_what_holds_parts_came_by_different_routes(history: History) -> None:
    say(history, "all", "the amber quay")
    say(history, "part", "an amber pond")
    assert found(history.search("amber quay", limit=10)) == {"all": "cjk", "part": "cjk_or"}


def test_a_title_is_said_to_be_one(history: History) -> None:
    say(history, "s", "nothing of it", title="the amber quay")
    assert found(history.search("quay")) == {"s": "title"}


def test_without_the_extension_the_text_was_read(path: Path) -> None:
    with History.open(path, load_extension=False) as history:
        say(history, "s", "牙医 at nine")
        assert found(history.search("nine")) == {"s": "fts5"}
        answer = history.search("医")
        assert (found(answer), answer.search_path) == ({"s": "like"}, "like")


# --- what was left out -------------------------------------------------------------------


def furnish(history: History) -> None:
    say(history, "chat", "the amber quay")
    say(history, "sub", "amber in the background", source="subagent")
    say(history, "sub2", "amber again", source="subagent")
    say(history, "kan", "amber on a card", source="kanban")
    say(history, "tool", "only here: cart.py:88", role="tool")


def test_an_answer_counts_what_it_leaves_out_and_says_how_to_see_it(history: History) -> None:
    furnish(history)
    for answer in (history.search("amber"), history.search("amber", sort="newest")):
        assert list(found(answer)) == ["chat"]
        assert answer.left_out == {"kanban": 1, "subagent": 2}
        assert "3 conversations of background work are left out" in (answer.hint or "")
        assert "kanban, subagent" in (answer.hint or "")
    shown = history.search("amber", sources=["kanban", "subagent"], limit=10)
    assert set(found(shown)) == {"sub", "sub2", "kan"}
    assert (shown.left_out, shown.hint) == ({}, None)
    assert len(found(history.search("amber", all_sources=True, limit=10))) == 4
    assert history.search("quay").left_out == {}


def test_a_list_counts_what_it_leaves_out(history: History) -> None:
    furnish(history)
    for bounds in ({}, {"after": "2020-01-01"}):
        answer = history.browse(**bounds)  # type: ignore[arg-type]
        assert answer.left_out == {"kanban": 1, "subagent": 2}
        assert "name the sources kanban, subagent" in (answer.hint or "")
    assert history.browse(before="2020-01-01").left_out == {}
    assert history.browse(sources=["kanban"]).left_out == {}


def test_a_word_that_stands_only_in_results_of_tools_is_said_to(history: History) -> None:
    furnish(history)
    for query in ("cart.py:88", "only here cart", "88 here"):
        answer = history.search(query)
        assert "results of tools only (1 conversation)" in (answer.hint or "")
        assert "search the role tool as well" in (answer.hint or "")
        assert "No message holds all" not in (answer.hint or "")
        assert "Nothing matches:" not in (answer.hint or "")
        assert "tool" in found(history.search(query, roles=ALL))
    say(history, "chat", "look at cart.py:88 please")
    answer = history.search("cart.py:88")
    assert (list(found(answer)), answer.hint) == (["chat"], None)


def test_a_word_in_a_result_of_a_tool_of_background_work_is_said_to_be_there(
    history: History,
) -> None:
    say(history, "sub", "the amber quay", role="tool", source="subagent")
    answer = history.search("quay")
    assert (answer.count, answer.left_out) == (0, {})
    assert "name the source subagent and the role tool to see it" in (answer.hint or "")
    assert history.search("quay", sources=["subagent"], roles=("tool",)).count == 1


def test_a_word_of_another_role_is_said_to_be_there(history: History) -> None:
    say(history, "s", "the amber quay", role="assistant")
    answer = history.search("quay", roles=("user",))
    assert answer.count == 0
    assert "messages of the assistant only" in (answer.hint or "")


def test_nothing_is_said_to_match_where_that_was_not_looked_at(history: History) -> None:
    say(history, "s", "the amber quay")
    assert history.search("nowhere").hint == "Nothing matches: try fewer or other words."
    narrowed: list[dict[str, Any]] = [
        {"after": "2100-01-01"},
        {"sources": ["cli"]},
        {"exclude_sessions": ["s"]},
        {"current_session": "s"},
    ]
    for options in narrowed:
        hint = history.search("quay", **options).hint or ""
        assert hint.startswith(("Nothing matches in th", "Nothing matches outside of"))
        assert "widen" in hint


def test_no_message_is_said_to_hold_all_where_not_all_were_read(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(history, "s", "the amber quay")

    def hurried(self: Any, found: Found, matcher: q.Matcher) -> None:
        found.complete = False

    monkeypatch.setattr(Searcher, "add_tails", hurried)
    answer = history.search("amber nowhere")
    assert list(found(answer)) == ["s"]
    assert not answer.complete
    assert "No message" not in (answer.hint or "")
    assert "Not every message was looked at" in (answer.hint or "")


WORDS = ("amber", "quay", "pond", "牙医", "cart.py:88")
TALK = st.lists(
    st.tuples(
        st.sampled_from(ALL),
        st.sampled_from(("chat", "cli", "cron", *HIDDEN_SOURCES)),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(
    talk=TALK,
    asked=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True),
    roles=st.sets(st.sampled_from(ALL), min_size=1),
    sources=st.none() | st.just(["chat"]),
    load_extension=st.booleans(),
)
def test_what_is_said_to_be_nowhere_is_nowhere(
    talk: list[tuple[Any, str, list[str]]],
    asked: list[str],
    roles: set[Any],
    sources: list[str] | None,
    load_extension: bool,
) -> None:
    query = " ".join(asked)
    matcher = q.compile(q.parse(query), adjacent=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with History.open(path, load_extension=load_extension, synchronous="normal") as history:
            history.append_many(
                (Session(f"s{n}", source=source), [Message(role, " ".join(words), uid="1")])
                for n, (role, source, words) in enumerate(talk)
            )
            answer = history.search(query, roles=tuple(roles), sources=sources)
            hint = answer.hint or ""
            if answer.left_out:
                assert history.search(
                    query, roles=tuple(roles), sources=list(answer.left_out)
                ).count
    matching = [each for each in talk if matcher.matches(" ".join(each[2]))]
    hidden = [each for each in matching if each[1] in HIDDEN_SOURCES and sources is None]
    asked_for = [each for each in matching if each[1] in (sources or [each[1]])]
    if "Nothing matches:" in hint or "No message holds all" in hint:
        assert not matching
    shown = [each for each in asked_for if each[0] in roles and each not in hidden]
    if not shown:
        assert ("to see" in hint) == bool(hidden or asked_for)
        assert answer.left_out.keys() == {each[1] for each in hidden if each[0] in roles}
    else:
        of_roles = [each for each in hidden if each[0] in roles]
        assert sum(answer.left_out.values()) == len(of_roles)
