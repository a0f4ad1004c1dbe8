# SPDX-License-Identifier: MIT
"""The session_search tool: what models send, and what they get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemogram import History, Message, Session
from mnemogram.errors import InvalidArgument
from mnemogram.tools import Tool, session_search_tool
from mnemogram.tools.session_search import DECLARATION
from mnemogram.tools.times import moment

NOW = datetime(2026, 3, 10, tzinfo=timezone.utc)
BUDGET = 64 * 1024


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as history:
        for number in range(12):
            history.append(
                Session(
                    f"s{number}", title=f"talk {number}", source="cron" if number > 9 else "chat"
                ),
                [
                    Message(
                        "user" if turn % 2 == 0 else "assistant",
                        f"明早预约牙医 {number}-{turn}" if turn == 4 else f"line {number}-{turn}",
                        uid=f"{number}-{turn}",
                        timestamp=NOW - timedelta(days=number, minutes=10 - turn),
                    )
                    for turn in range(10)
                ],
            )
        history.append(
            "s0", [Message("tool", "牙医 result", uid="t", tool_name="calendar", timestamp=NOW)]
        )
        yield history


@pytest.fixture
def tool(history: History) -> Tool:
    return session_search_tool(history)


def sessions(answer: dict[str, Any]) -> list[str]:
    return [result["session_id"] for result in answer["results"]]


# --- modes -----------------------------------------------------------------------------


def test_a_query_discovers(tool: Tool) -> None:
    answer = tool({"query": "牙医"})
    assert (answer["success"], answer["mode"], answer["count"]) == (True, "discover", 3)
    assert answer["search_path"] == "cjk"


def test_an_anchor_scrolls(tool: Tool) -> None:
    hit = tool({"query": "牙医"})["results"][0]
    answer = tool(
        {
            "session_id": hit["session_id"],
            "around_message_id": hit["match_message_id"],
            "window": 2,
            "query": "牙医",
        }
    )
    assert (answer["mode"], len(answer["messages"])) == ("scroll", 5)


def test_a_session_alone_reads(tool: Tool) -> None:
    answer = tool({"session_id": "s3"})
    assert (answer["mode"], answer["session_id"], answer["message_count"]) == ("read", "s3", 10)


@pytest.mark.parametrize("nothing", [None, {}, "", "{}", " ", {"query": ""}, {"query": None}])
def test_nothing_browses(tool: Tool, nothing: Any) -> None:
    assert tool(nothing)["mode"] == "browse"


def test_browsing_takes_a_limit(tool: Tool) -> None:
    assert tool({"limit": 2})["count"] == 2


def test_a_query_with_a_session_searches_everything_and_says_so(tool: Tool) -> None:
    answer = tool({"query": "牙医", "session_id": "s3"})
    assert answer["count"] == 3
    assert "All conversations were searched" in answer["hint"]


def test_the_cursor_goes_on(tool: Tool) -> None:
    first = tool({"query": "牙医", "sort": "newest"})
    second = tool({"query": "牙医", "sort": "newest", "cursor": first["cursor"]})
    assert second["success"]
    assert not set(sessions(first)) & set(sessions(second))


# --- recall by time alone --------------------------------------------------------------


def test_a_period_without_a_query_lists_what_was_active_then(tool: Tool) -> None:
    answer = tool({"after": "2026-03-05", "before": "2026-03-08"})
    assert (answer["success"], answer["mode"]) == (True, "browse")
    assert sessions(answer) == ["s2", "s3", "s4"]
    assert [each["preview"] for each in answer["results"]] == ["line 2-0", "line 3-0", "line 4-0"]
    found = answer["results"][0]
    around = tool({"session_id": "s2", "around_message_id": found["match_message_id"]})
    assert around["messages"][0]["content"] == "line 2-0"
    assert (answer["after"], answer["before"]) == (
        "2026-03-05T00:00:00.000Z",
        "2026-03-08T00:00:00.000Z",
    )


@pytest.mark.parametrize("query", [None, "牙医"])
def test_one_day_as_both_bounds_is_that_day(tool: Tool, query: str | None) -> None:
    answer = tool({"query": query, "after": "2026-03-07", "before": "2026-03-07"})
    assert sessions(answer) == ["s2"]


@pytest.mark.parametrize("query", [None, "牙医"])
@pytest.mark.parametrize("after", [{}, {"after": "2026-03-06T12:00Z"}])
def test_a_date_alone_as_before_is_the_end_of_that_day(
    tool: Tool, query: str | None, after: dict[str, str]
) -> None:
    sent = {"query": query, "before": "2026-03-07", "sort": "newest", **after}
    assert sessions(tool(sent))[:1] == ["s2"]


def test_where_the_day_named_last_is_left_out_the_hint_brings_it_back(tool: Tool) -> None:
    answer = tool({"after": "2026-03-05", "before": "2026-03-07"})
    assert "s2" not in sessions(answer)
    assert "let before be 2026-03-08" in answer["hint"]
    assert "s2" in sessions(tool({"after": "2026-03-05", "before": "2026-03-08"}))
    silent = tool({"after": "2026-03-05", "before": "2027-01-01"})
    assert silent["hint"] is None


def test_bounds_in_the_wrong_order_are_right_when_exchanged_as_the_hint_says(tool: Tool) -> None:
    for after, before in (("2026-03-07", "2026-03-05"), ("1d", "2w"), ("now", "2026-03-05T08:00Z")):
        answer = tool({"after": after, "before": before})
        assert answer["error"] == "invalid_argument"
        words = answer["hint"].split("exchange them: after ")[1].rstrip(".")
        after, _, before = words.partition(", before ")
        assert tool({"after": after, "before": before})["success"]


def test_pages_of_a_period_show_each_session_once(tool: Tool) -> None:
    sent: dict[str, Any] = {"after": "2026-01-01", "limit": 5}
    shown: list[str] = []
    while True:
        answer = tool(sent)
        shown += sessions(answer)
        if answer["cursor"] is None:
            break
        sent["cursor"] = answer["cursor"]
    assert shown == [f"s{number}" for number in range(12)]


def test_arguments_that_go_with_a_query_are_not_left_out_in_silence(tool: Tool) -> None:
    answer = tool({"after": "2026-03-01", "role_filter": "user", "sort": "oldest"})
    assert answer["success"]
    assert "role_filter goes with a query" in answer["hint"]
    assert "newest come first" in answer["hint"]
    assert "after" in tool({"session_id": "s1", "after": "1d"})["hint"]
    assert "Leave the query out" in tool({"query": "*", "after": "1d"})["hint"]


# --- what models send ------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        {"query": "牙医", "limit": 2},
        '{"query": "牙医", "limit": 2}',
        json.dumps('{"query": "牙医", "limit": 2}'),
        {"query": " 牙医 ", "limit": "2"},
        {"query": ["牙医"], "limit": 2.0},
        {"q": "牙医", "max_results": " 2 "},
        {"Query": "牙医", "limit": 2, "cursor": None, "session_id": "null", "after": ""},
        {"query": "牙医", "limit": 2, "role_filter": "user, assistant"},
        {"query": "牙医", "limit": 2, "role_filter": '["user"]'},
        {"query": "牙医", "limit": 2, "role_filter": ["User", "Assistant"]},
        {"query": "牙医", "limit": 2, "roles": "[user, assistant]"},
        {"query": "牙医", "limit": 2, "exclude_session_ids": "s8,s9"},
        {"query": "牙医", "limit": 2, "sort": "Relevance", "detail": "ADAPTIVE"},
    ],
    ids=str,
)
def test_what_is_meant_clearly_is_understood(tool: Tool, sent: Any) -> None:
    answer = tool(sent)
    assert (answer["success"], answer.get("count")) == (True, 2)


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"limit": 50}, {"limit": 10}),
        ({"limit": 0}, {"limit": 1}),
        ({"window": "100"}, {"window": 20}),
        ({"limit": float("inf")}, {"limit": 10}),
        ({"around_message_id": "#42"}, {"around_message_id": 42}),
        ({"around_message_id": "9007199254740993"}, {"around_message_id": 9007199254740993}),
        ({"query": "null"}, {"query": "null"}),
        ({"query": 404}, {"query": "404"}),
        ({"sort": "latest"}, {"sort": "newest"}),
        ({"role_filter": "all"}, {"role_filter": ("user", "assistant", "tool")}),
        ({"role_filter": []}, {}),
        ({"exclude_session_ids": [7, "a", "a"]}, {"exclude_session_ids": ("7", "a")}),
    ],
    ids=str,
)
def test_arguments_are_read_as_they_were_meant(sent: Any, meant: dict[str, Any]) -> None:
    assert DECLARATION.read(sent) == meant


@pytest.mark.parametrize(
    ("sent", "hint"),
    [
        ({"query": "x", "limit": "many"}, "number"),
        ({"query": "x", "limit": True}, "number"),
        ({"query": "x", "limit": 2.5}, "whole"),
        ({"query": "x", "limit": "nan"}, "number"),
        ({"query": "x", "limit": [3]}, "number"),
        ({"query": {"text": "x"}}, "text"),
        ({"query": True}, "text"),
        ({"query": "x", "sort": "sideways"}, "relevance, newest, oldest"),
        ({"query": "x", "role_filter": "narrator"}, "user, assistant, tool"),
        ({"query": "x", "role_filter": [["user"]]}, "list"),
        ({"query": "x", "after": "someday"}, "3h"),
        ({"query": "x", "after": 17}, "3h"),
        ({"query": "x", "after": "1d", "before": "2d"}, "exchange"),
        ({"query": "x", "exclude_session_ids": [str(i) for i in range(21)]}, "20"),
        ({"query": "x", "windows": 3}, "window"),
        ({"query": "x", "user_id": "someone else"}, "The arguments are"),
        ({"query": "x", "path": "/etc/passwd"}, "The arguments are"),
        ({"around_message_id": 4}, "both"),
        ({"cursor": "abc"}, "query"),
        ({"after": "2026-03-07", "before": "2026-03-05"}, "after 2026-03-05, before 2026-03-07"),
        ({"after": "2026-03-07T09:00Z", "before": "2026-03-07T09:00Z"}, "03-08T09:00"),
        ({"after": "2d", "cursor": "abc"}, "period"),
        ({"query": "x", "cursor": "junk"}, ""),
        ("query: x", "JSON"),
        ("[" * 100_000, "JSON"),
        ([{"query": "x"}], "object"),
        (7, "object"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_not_clear_is_refused_with_a_hint(tool: Tool, sent: Any, hint: str) -> None:
    answer = tool(sent)
    assert (answer["success"], answer["error"], answer["complete"]) == (
        False,
        "invalid_argument",
        False,
    )
    assert answer["hint"]
    assert hint in answer["hint"]


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ({"session_id": "gone"}, "session_not_found"),
        ({"session_id": "s1", "around_message_id": 99999}, "anchor_not_in_history"),
        ({"session_id": "s1", "around_message_id": 1}, "anchor_not_in_session"),
    ],
    ids=str,
)
def test_errors_have_their_code(tool: Tool, sent: Any, error: str) -> None:
    answer = tool(sent)
    assert (answer["success"], answer["error"]) == (False, error)
    assert answer["hint"]


def test_a_closed_store_is_an_answer(history: History, tool: Tool) -> None:
    history.close()
    assert tool({"query": "x"})["error"] == "storage_unavailable"


# --- filters reach the search ------------------------------------------------------------


def test_roles_reach_the_search(tool: Tool) -> None:
    answer = tool({"query": "牙医", "role_filter": "tool"})
    assert [result["matched_role"] for result in answer["results"]] == ["tool"]


def test_times_reach_the_search(tool: Tool) -> None:
    answer = tool({"query": "牙医", "after": "2026-03-06", "before": "2026-03-08", "limit": 10})
    assert sorted(sessions(answer)) == ["s2", "s3"]


def test_excluded_sessions_and_the_current_one_are_left_out(history: History) -> None:
    current = "s1"
    tool = session_search_tool(history, current_session=lambda: current)
    sent = {"query": "牙医", "limit": 10, "exclude_session_ids": "s2"}
    assert not {"s1", "s2"} & set(sessions(tool(sent)))
    current = "s3"
    assert not {"s2", "s3"} & set(sessions(tool(sent)))
    fixed = session_search_tool(history, current_session="s4")
    assert "s4" not in sessions(fixed({"query": "牙医", "limit": 10}))


# --- answers ---------------------------------------------------------------------------


def test_an_answer_is_json_and_within_its_budget(tmp_path: Path) -> None:
    with History.open(tmp_path / "big.db") as history:
        for number in range(10):
            history.append(
                f"s{number}",
                [
                    Message("user", f"牙医 \x00 {turn} " + "很长" * 9_000, uid=str(turn))
                    for turn in range(60)
                ],
            )
        tool = session_search_tool(history)
        sent = {"query": "牙医", "limit": 10, "detail": "full", "window": 20}
        answers = [tool(sent), tool({"session_id": "s1"}), tool({})]
        hit = answers[0]["results"][0]
        answers.append(
            tool(
                {
                    "session_id": hit["session_id"],
                    "around_message_id": hit["match_message_id"],
                    "window": 20,
                }
            )
        )
    for answer in answers:
        assert answer["success"]
        assert len(json.dumps(answer, ensure_ascii=False).encode()) <= BUDGET


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
NAMES = st.sampled_from([each.name for each in DECLARATION.parameters])


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sent=st.dictionaries(NAMES | st.text(max_size=8), ANY, max_size=6) | ANY)
def test_nothing_that_a_model_sends_raises(tool: Tool, sent: Any) -> None:
    answer = tool(sent)
    assert isinstance(answer["success"], bool)
    if not answer["success"]:
        assert isinstance(answer["error"], str)
        assert isinstance(answer["hint"], str)
    json.dumps(answer)


@pytest.mark.parametrize("sent", ['{"query": "\\ud800"}', {"session_id": "\ud800"}, {"\ud800": 1}])
def test_half_a_surrogate_pair_is_answered_in_text_that_can_be_encoded(
    tool: Tool, sent: Any
) -> None:
    json.dumps(tool(sent), ensure_ascii=False).encode()


@pytest.mark.parametrize("depth", [900, 990, 5_000])
def test_what_is_nested_without_end_is_refused(tool: Tool, depth: int) -> None:
    nested: Any = "x"
    for _ in range(depth):
        nested = [nested]
    text = '{"sort": ' + "[" * depth + "]" * depth + "}"
    for sent in ({"sort": nested}, text):
        answer = tool(sent)
        assert (answer["success"], answer["error"]) == (False, "invalid_argument")


# --- schemas ---------------------------------------------------------------------------


def test_one_declaration_gives_every_schema(tool: Tool) -> None:
    openai = tool.schema("openai")
    anthropic = tool.schema("anthropic")
    mcp = tool.schema("mcp")
    parameters = openai["function"]["parameters"]
    assert openai["type"] == "function"
    assert parameters == anthropic["input_schema"] == mcp["inputSchema"]
    assert openai["function"]["name"] == anthropic["name"] == mcp["name"] == "session_search"
    assert mcp["annotations"]["readOnlyHint"] is True
    assert list(parameters["properties"]) == [
        "query",
        "session_id",
        "around_message_id",
        "window",
        "limit",
        "sort",
        "detail",
        "role_filter",
        "after",
        "before",
        "sources",
        "tags",
        "exclude_session_ids",
        "cursor",
    ]
    assert all(each["description"] for each in parameters["properties"].values())
    json.dumps([openai, anthropic, mcp])


def test_an_unknown_kind_of_schema_is_refused(tool: Tool) -> None:
    with pytest.raises(InvalidArgument, match="soap"):
        tool.schema("soap")  # type: ignore[arg-type]


# --- times -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3h", NOW - timedelta(hours=3)),
        ("2d", NOW - timedelta(days=2)),
        ("1w", NOW - timedelta(weeks=1)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2 days ago", NOW - timedelta(days=2)),
        ("1 Week", NOW - timedelta(weeks=1)),
        ("now", NOW),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=timezone.utc)),
        ("2026-03-01T09:00:00+08:00", datetime(2026, 3, 1, 1, tzinfo=timezone.utc)),
        ("2026-03-01T01:00:00Z", datetime(2026, 3, 1, 1, tzinfo=timezone.utc)),
        (" 2026-03-01 ", datetime(2026, 3, 1, tzinfo=timezone.utc)),
    ],
)
def test_times_are_iso_or_ago(text: str, meant: datetime) -> None:
    assert moment(text, now=NOW) == meant


@pytest.mark.parametrize("text", ["", "3", "h", "3y", "-3h", "999999w", "yesterday", "2026-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        moment(text, now=NOW)
    assert "3h" in caught.value.hint
