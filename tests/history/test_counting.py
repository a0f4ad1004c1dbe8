# SPDX-License-Identifier: MIT
"""What there is, counted: the same as by walking over all of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemogram import History, InvalidArgument, Message, NotFound, Session

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
HOURS = st.integers(0, 200)
SAID = st.lists(
    st.tuples(st.sampled_from(["chat", "cli", "subagent"]), HOURS, st.booleans()), max_size=30
)


def hour(number: int) -> datetime:
    return START + timedelta(hours=number)


def filled(path: Path, said: list[tuple[str, int, bool]]) -> History:
    history = History.open(path)
    for number, (source, at, undone) in enumerate(said):
        session = Session(source, source=source)
        history.append(
            session, [Message("user", f"m{number}", uid=str(number), timestamp=hour(at))]
        )
        if undone:
            history.rewind(source, [str(number)])
    return history


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=SAID, edges=st.sets(HOURS, min_size=2, max_size=12).map(sorted))
def test_counts_over_time_are_those_of_a_walk(
    said: list[tuple[str, int, bool]], edges: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with filled(tmp_path_factory.mktemp("counting") / "state.db", said) as history:
        times = [hour(each) for each in edges]
        for choice in ({}, {"all_sources": True}, {"sources": ["cli"]}, {"sources": ["subagent"]}):
            walked = Counter(
                bisect_right(times, datetime.fromisoformat(each.timestamp.replace("Z", "+00:00")))
                for each in history.messages(after=times[0], before=times[-1], **choice)
                if each.timestamp is not None
            )
            counts = history.count_messages(times, **choice)
            assert counts == tuple(walked[place] for place in range(1, len(times)))


def test_what_has_no_time_is_not_counted_over_time(tmp_path: Path) -> None:
    with History.open(tmp_path / "state.db") as history:
        history.append("s", [Message("user", "a", timestamp=hour(1))])
        history.append("old", [Message("user", "b", provenance="legacy_snapshot", timestamp=0)])
        assert sum(history.count_messages([hour(0), hour(9)], all_sources=True)) == 1


@pytest.mark.parametrize(
    "edges", [[], [START], [START, START], [START, hour(-1)], "2026", [1] * 2_000]
)
def test_edges_that_do_not_rise_are_refused(tmp_path: Path, edges: list[datetime]) -> None:
    with History.open(tmp_path / "state.db") as history, pytest.raises(InvalidArgument):
        history.count_messages(edges)


def test_sources_are_counted_and_measured(tmp_path: Path) -> None:
    said = [("chat", 1, False), ("cli", 2, False), ("cli", 3, False)]
    with filled(tmp_path / "state.db", said) as history:
        history.append(Session("c2", source="cli"), [Message("user", "茶" * 10_000)])
        counted = [(each.source, each.sessions, each.messages) for each in history.sources()]
        assert counted == [("cli", 2, 3), ("chat", 1, 1)]
        assert all(each.bytes is None for each in history.sources())
        assert [each.bytes for each in history.sources(sizes=True)] == [30_004, 2]


def test_a_lineage_begins_with_the_session_and_goes_on_by_age(tmp_path: Path) -> None:
    with History.open(tmp_path / "state.db") as history:
        for key, parent, at in (("a", None, 1), ("b", "a", 2), ("c", "b", 3), ("d", None, 4)):
            history.append(Session(key, parent=parent), [Message("user", key, timestamp=hour(at))])
        assert [each.session_id for each in history.lineage("b")] == ["b", "a", "c"]
        assert [each.parent_session_id for each in history.lineage("b")] == ["a", None, "b"]
        assert [each.session_id for each in history.lineage("c", limit=2)] == ["c", "a"]
        with pytest.raises(NotFound):
            history.lineage("x")


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(undone=st.sets(st.integers(0, 19)))
def test_the_message_at_each_place_is_the_one_a_walk_comes_to(
    undone: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with History.open(tmp_path_factory.mktemp("places") / "state.db") as history:
        history.append(
            "s",
            [Message("user", str(n), uid=str(n), timestamp=hour(n * 7 % 20)) for n in range(20)],
        )
        history.append("t", [Message("user", "other", timestamp=hour(3))])
        history.rewind("s", [str(each) for each in undone])
        walked = [each.id for each in history.messages("s")]
        assert [history.message_at("s", place) for place in range(len(walked))] == walked
        with pytest.raises(NotFound):
            history.message_at("s", len(walked))
        with pytest.raises(NotFound):
            history.message_at("x", 0)
