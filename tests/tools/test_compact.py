# SPDX-License-Identifier: MIT
"""What a model reads: mostly what was said, and no field that says nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram import History, Message, SceneMemory, Session, Triple
from mnemogram.demo import conversations, filler
from mnemogram.tools import memory_recall_tool, session_search_tool, tools_of
from mnemogram.tools.answers import answer_text
from mnemogram.tools.compact import Compact, compact

#: What is asked every day, of the conversations that come with the package.
USUAL: dict[str, dict[str, Any]] = {
    "two Chinese characters": {"query": "牙医"},
    "Chinese and Latin": {"query": "cacheA 扩容"},
    "two English words": {"query": "flight reservation"},
    "a phrase": {"query": "the report of the Berlin office"},
    "Korean": {"query": "예약"},
    "Japanese, many results": {"query": "バックアップ", "limit": 10},
    "with results of tools": {"query": "QX-417", "role_filter": "all"},
    "a session": {"session_id": "zh-dentist"},
    "around a message": {"session_id": "zh-cluster", "around_message_id": 15},
    "the last ones": {},
    "a day": {"after": "2026-03-02", "before": "2026-03-02"},
}
TEXTS = ("content", "snippet", "title", "preview")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with History.open(tmp_path_factory.mktemp("compact") / "state.db") as history:
        history.append_many([(each.session, each.messages) for each in conversations()])
        history.append_many(filler(1_500))
        yield history


def text_bytes(value: Any, name: str = "") -> int:
    """Bytes of an answer that somebody said, or called."""
    if name == "tool_calls" and value is not None:
        return len(json.dumps(value, ensure_ascii=False).encode())
    if isinstance(value, dict):
        return sum(text_bytes(each, key) for key, each in value.items())
    if isinstance(value, list):
        return sum(text_bytes(each, name) for each in value)
    return len(value.encode()) if name in TEXTS and isinstance(value, str) else 0


def share(answer: dict[str, Any]) -> tuple[int, int]:
    return text_bytes(answer), len(answer_text(answer).encode())


def test_at_least_two_fifths_of_what_a_model_reads_is_text(history: History) -> None:
    tool = session_search_tool(history)
    shares = {what: share(tool(arguments)) for what, arguments in USUAL.items()}
    assert all(text / size > 0.35 for text, size in shares.values()), shares
    searches = [each for what, each in shares.items() if "query" in USUAL[what]]
    assert sum(text / size for text, size in searches) / len(searches) >= 0.4
    assert sum(text for text, _ in shares.values()) / sum(size for _, size in shares.values()) > 0.5


def test_half_of_the_bytes_are_spared(history: History) -> None:
    before = session_search_tool(history, compact=False)
    after = session_search_tool(history)
    for what in ("two Chinese characters", "two English words", "Korean", "a session"):
        spared = share(after(USUAL[what]))[1] / share(before(USUAL[what]))[1]
        assert spared < 0.55, what


@pytest.mark.parametrize("arguments", USUAL.values(), ids=USUAL)
def test_what_is_left_out_is_there_for_a_program_that_asks(
    history: History, arguments: dict[str, Any]
) -> None:
    def same(short: Any, full: Any) -> None:
        if isinstance(full, dict) and isinstance(short, Compact):
            assert set(short) <= set(full)
            for name, value in full.items():
                same(short[name], value)
                assert short.get(name, "no") == short[name]
        elif isinstance(full, list):
            assert len(short) == len(full)
            for one, other in zip(short, full, strict=True):
                same(one, other)
        elif isinstance(full, str):
            assert short in (full, full.replace(".000Z", "Z"))
        else:
            assert short == full

    same(
        session_search_tool(history)(arguments),
        session_search_tool(history, compact=False)(arguments),
    )


@pytest.mark.parametrize("arguments", USUAL.values(), ids=USUAL)
def test_no_null_no_uid_and_no_default_is_shown(
    history: History, arguments: dict[str, Any]
) -> None:
    def look(value: Any) -> None:
        if isinstance(value, dict):
            assert not {"uid", "provenance", "score", "candidate_limit"} & value.keys()
            assert None not in value.values()
            assert value.get("state", "shown") != "active" or "state" not in value
            for name, each in value.items():
                if name != "tool_calls":
                    look(each)
        elif isinstance(value, list):
            for each in value:
                look(each)

    look(json.loads(answer_text(session_search_tool(history)(arguments))))


def test_what_says_something_stays(tmp_path: Path) -> None:
    with History.open(tmp_path / "state.db") as history:
        long = "porcelain " * 2_000
        history.append(
            Session("s", title="Cups", source="telegram"),
            [
                Message("user", long, uid="1"),
                Message("assistant", "", uid="2", tool_calls=[{"name": "look"}]),
                Message("tool", "", uid="3", tool_name="look", tool_status="failed"),
            ],
        )
        history.append(
            Session("hidden", source="subagent"), [Message("user", "porcelain", uid="1")]
        )
        history.mark_compacted("s", ["1"])
        answer = json.loads(answer_text(session_search_tool(history)({"query": "porcelain"})))
    (hit,) = answer["results"]
    assert hit["source"] == "telegram"
    assert "⟦porcelain⟧" in hit["snippet"]
    anchor, calls, result = hit["messages"]
    assert anchor["state"] == "compacted"
    assert anchor["content_truncated"] is True
    assert anchor["original_content_chars"] == len(long)
    assert anchor["anchor"] is True
    assert calls["tool_calls"] == [{"name": "look"}]
    assert "content" not in calls
    assert (result["content"], result["tool_status"]) == ("", "failed")
    assert answer["left_out"] == {"subagent": 1}
    assert answer["hint"]
    assert answer["complete"] is True


def test_recalled_facts_are_without_overhead_too(tmp_path: Path) -> None:
    with SceneMemory.open(tmp_path / "memory.db", background=False) as memory:
        memory.commit([Triple("Bob", "likes", "tea", sentence="Bob likes tea.")])
        short = memory_recall_tool(memory)({"query": "Bob"})
        full = memory_recall_tool(memory, compact=False)({"query": "Bob"})
    assert len(answer_text(short)) < 0.85 * len(answer_text(full))
    assert short["relations"][0]["score"] == full["relations"][0]["score"]
    assert short["notes"] == []


def test_a_mistyped_field_is_still_an_error() -> None:
    answer = compact({"success": True, "hint": None, "results": []})
    assert answer.get("hint", "none") is None
    assert answer.get("nonsense", "none") == "none"
    with pytest.raises(KeyError):
        answer["nonsense"]
    assert json.loads(json.dumps(answer)) == {"success": True, "results": []}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=10,
    )
)
def test_an_answer_of_any_shape_can_be_made_compact(value: Any) -> None:
    answer = compact({"success": True, "extra": value})
    assert answer["extra"] == value


def test_a_day_is_one_of_the_user_where_the_zone_is_known(tmp_path: Path) -> None:
    with (
        History.open(tmp_path / "state.db") as history,
        SceneMemory.open(tmp_path / "memory.db") as memory,
    ):
        history.append("s", [Message("user", "tea", uid="1", timestamp="2026-03-01T17:00:00Z")])
        day = {"after": "2026-03-02", "before": "2026-03-02"}
        shanghai = timezone(timedelta(hours=8))
        tool = session_search_tool(history, timezone=shanghai)
        for arguments in (day, {**day, "query": "tea"}):
            assert tool(arguments)["count"] == 1
            assert session_search_tool(history)(arguments)["count"] == 0
            assert tools_of(history, memory, timezone=shanghai)[0](arguments)["count"] == 1
        near = {"query": "tea", "after": "2026-03-02T00:59", "before": "2026-03-02T01:01"}
        assert tool(near)["count"] == 1


def test_a_session_is_read_on_from_a_cursor(history: History) -> None:
    tool = session_search_tool(history)
    page = tool({"session_id": "office-0"})
    assert page["omitted"] > 0
    ids = [each["id"] for each in page["messages"][:20]]
    while page.get("cursor"):
        page = tool({"session_id": "office-0", "cursor": page["cursor"]})
        ids += [each["id"] for each in page["messages"]]
    assert ids == [each.id for each in history.messages("office-0")]
