# SPDX-License-Identifier: MIT
"""All of a history, one after another; names of sessions; zones; pages; how many match."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import History, InvalidArgument, Message, NotFound, Session
from mnemogram.history import walking
from tests.history.support import fill, raw

START = datetime(2026, 3, 1, tzinfo=timezone.utc)
SHANGHAI = timezone(timedelta(hours=8))


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_BATCH", 3)


def told(history: History, session: Session | str, *hours: float, **fields: Any) -> None:
    """Append one message at each hour after the start."""
    history.append(
        session,
        [
            Message(
                "user", f"said at {hour}", uid=f"{hour}", timestamp=START + timedelta(hours=hour)
            )
            for hour in hours
        ],
        **fields,
    )


# --- messages --------------------------------------------------------------------------


def test_messages_come_whole_and_in_order(history: History) -> None:
    texts = [f"{n} " + "很长的文字" * 3_000 for n in range(10)]
    history.append(
        "s",
        [
            Message(
                "assistant",
                text,
                uid=str(n),
                tool_calls=[{"name": "f", "arguments": {"text": "x" * 5_000}}],
            )
            for n, text in enumerate(texts)
        ],
    )
    found = list(history.messages("s"))
    assert [each.content for each in found] == texts
    assert found[0].tool_calls == [{"name": "f", "arguments": {"text": "x" * 5_000}}]
    assert [each.content for each in history.messages("s", newest_first=True)] == texts[::-1]
    assert found[0].to_dict()["session_id"] == "s"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.sampled_from(["user", "tool"])),
        max_size=25,
    ),
    st.booleans(),
    st.integers(0, 6) | st.none(),
    st.integers(0, 7) | st.none(),
    st.sampled_from([("user",), ("user", "tool")]),
)
def test_messages_are_those_of_the_selection_however_they_are_cut_into_batches(
    said: list[tuple[str, int, str]],
    newest_first: bool,
    first: int | None,
    last: int | None,
    roles: tuple[Any, ...],
) -> None:
    import tempfile

    if first is not None and last is not None and first >= last:
        last = first + 1
    with tempfile.TemporaryDirectory() as folder, History.open(Path(folder) / "x.db") as history:
        expected = []
        for n, (session, hour, role) in enumerate(said):
            when = START + timedelta(hours=hour)
            history.append(session, [Message(role, str(n), uid=str(n), timestamp=when)])  # type: ignore[arg-type]
            if role in roles and (first is None or hour >= first) and (last is None or hour < last):
                expected.append((hour, n, session))
        expected.sort(reverse=newest_first)
        period: dict[str, Any] = {
            "after": None if first is None else START + timedelta(hours=first),
            "before": None if last is None else START + timedelta(hours=last),
        }
        chosen = {"roles": roles, "newest_first": newest_first, **period}
        found = [(each.content, each.session_id) for each in history.messages(**chosen)]
        assert found == [(str(n), session) for _, n, session in expected]
        for wanted in "abc":
            alone = [(str(n), session) for _, n, session in expected if session == wanted]
            if any(session == wanted for session, _, _ in said):
                some = history.messages(wanted, **chosen)
                assert [(each.content, each.session_id) for each in some] == alone
        assert len(list(history.sessions(**period))) == history.count_sessions(**period)


def test_messages_begin_where_they_are_told_to(history: History) -> None:
    told(history, "s", *range(8))
    ids = [each.id for each in history.messages("s")]
    assert [each.id for each in history.messages("s", start=ids[4])] == ids[4:]
    assert [each.id for each in history.messages("s", start=ids[4], newest_first=True)] == ids[
        4::-1
    ]
    told(history, "other", 3)
    with pytest.raises(NotFound):
        next(history.messages("other", start=ids[4]))
    with pytest.raises(NotFound):
        next(history.messages("nowhere"))


def test_what_was_undone_is_left_out_and_background_work_is_asked_for(history: History) -> None:
    told(history, "s", 1, 2, 3)
    told(history, Session("job", source="subagent"), 4)
    history.rewind("s", ["2"])
    assert [each.uid for each in history.messages()] == ["1", "3"]
    assert [each.uid for each in history.messages(all_sources=True)] == ["1", "3", "4"]
    assert [each.uid for each in history.messages("job")] == ["4"]
    with pytest.raises(NotFound):
        next(history.messages("s", start=2))


def test_nothing_is_held_open_between_two_messages(history: History) -> None:
    told(history, "s", *range(10))
    found = history.messages("s")
    seen = [next(found).uid]
    told(history, "s", 20)
    with raw(history) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert connection.one("PRAGMA wal_checkpoint") == 0
    seen += [each.uid for each in found]
    assert seen == [*map(str, range(10)), "20"]


def test_a_long_text_ends_a_batch(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "_BATCH", 100)
    monkeypatch.setattr(walking, "_BATCH_CHARS", 1_000)
    history.append("s", [Message("user", f"{n}" * 600, uid=str(n)) for n in range(9)])
    assert [each.uid for each in history.messages("s")] == list("012345678")


@pytest.mark.parametrize("options", [{"roles": ()}, {"roles": ["narrator"]}, {"sources": []}])
def test_wrong_arguments_are_refused_at_once(history: History, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        history.messages(**options)


# --- sessions --------------------------------------------------------------------------


def test_sessions_are_those_that_browsing_pages_through(history: History) -> None:
    for number in range(25):
        told(history, Session(f"s{number}", title=f"Trip {number % 2}"), number % 7, 30 - number)
    told(history, Session("job", source="subagent"), 99)
    paged: list[Any] = []
    cursor = None
    while True:
        page = history.browse(cursor=cursor)
        paged += page.results
        cursor = page.cursor
        if cursor is None:
            break
    assert list(history.sessions()) == paged
    assert history.count_sessions() == 25
    assert list(history.sessions(newest_first=False)) == paged[::-1]
    assert history.count_sessions(title="ｔｒｉｐ １") == 12
    assert history.count_sessions(title="nowhere") == 0
    assert history.count_sessions(all_sources=True) == 26
    assert [each.session_id for each in history.sessions(sources=["subagent"])] == ["job"]
    assert history.count_sessions(exclude_sessions=["s1"]) == 24


# --- names -----------------------------------------------------------------------------


def test_a_name_is_an_id_before_it_is_anything_else(history: History) -> None:
    told(history, Session("1", title="first"), 1)
    told(history, Session("abc", title="Über-Titel"), 2)
    told(history, Session("abcd", title="first"), 3)
    located = {
        name: (found.session_id, found.message_id)
        for name in ("1", "#1", "2", " #3 ", "abc", "abcd", "uber-titel")
        for found in [history.locate(name)]
    }
    assert located == {
        "1": ("1", None),
        "#1": ("1", 1),
        "2": ("abc", 2),
        " #3 ": ("abcd", 3),
        "abc": ("abc", None),
        "abcd": ("abcd", None),
        "uber-titel": ("abc", None),
    }
    for several in ("ab", "first"):
        with pytest.raises(InvalidArgument, match="several sessions"):
            history.locate(several)
    for nothing in ("", "#", "#99", "9" * 40, "abcde", "%", "_", "a*"):
        with pytest.raises(NotFound):
            history.locate(nothing)


@given(st.text(max_size=8))
@settings(max_examples=50, deadline=None)
def test_every_id_finds_itself(name: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, History.open(Path(folder) / "x.db") as history:
        told(history, "other", 1)
        session = f"x{name}\U0010fffd".encode("utf-8", "replace").decode()
        told(history, session, 2)
        assert history.locate(session).session_id == session
        assert history.locate(session[:-1]).session_id == session


# --- zones -----------------------------------------------------------------------------


def test_a_day_is_one_of_the_zone_that_is_given(history: History) -> None:
    told(history, "evening", 15)  # 23:00 in Shanghai
    told(history, "night", 17)  # 01:00 of the next day there
    day = {"after": "2026-03-01", "before": "2026-03-01"}
    for zone, expected in ((None, {"evening", "night"}), (SHANGHAI, {"evening"})):
        options: dict[str, Any] = {**day, "timezone": zone}
        assert {each.session_id for each in history.browse(**options).results} == expected
        assert {each.session_id for each in history.search("said", **options).results} == expected
        assert {each.session_id for each in history.sessions(**options)} == expected
        assert {each.session_id for each in history.messages(**options)} == expected
    found = history.search("said", after="2026-03-02T00:30", timezone=SHANGHAI)
    assert [each.session_id for each in found.results] == ["night"]


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)]
)
def test_a_day_ends_at_midnight_also_where_clocks_are_set(
    history: History, day: str, hours: int
) -> None:
    found = history.browse(after=day, before=day, timezone=ZoneInfo("Europe/Berlin"))
    bounds = [datetime.fromisoformat(str(each)[:-1]) for each in (found.after, found.before)]
    assert bounds[1] - bounds[0] == timedelta(hours=hours)


# --- pages of a session ----------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 1, 7, 40, 200])
def test_pages_of_a_session_hold_all_of_it_once(history: History, limit: int | None) -> None:
    fill(history, 45)
    page = history.read("s", limit=limit)
    taken = 20 if limit is None else limit
    ids = [each.id for each in page.messages[:taken]]
    while page.cursor is not None:
        page = history.read("s", limit=limit, cursor=page.cursor)
        ids += [each.id for each in page.messages]
    assert ids == [each.id for each in history.messages("s")]


def test_a_read_says_where_it_goes_on_only_where_it_does(history: History) -> None:
    fill(history, 25)
    assert history.read("s").omitted == 0
    assert history.read("s").cursor is None
    assert history.read("s", limit=25).cursor is None
    assert history.read("s", limit=24).omitted == 1
    for cursor in ("", "junk", "1", "1.x", "a.b"):
        with pytest.raises(InvalidArgument):
            history.read("s", cursor=cursor)
    for limit in (0, 201):
        with pytest.raises(InvalidArgument):
            history.read("s", limit=limit)


# --- how many match --------------------------------------------------------------------


def test_an_answer_says_how_many_conversations_match(history: History) -> None:
    for number in range(40):
        told(history, f"s{number}", number)
    found = history.search("said", limit=3)
    assert (found.count, found.about, found.about_exact) == (3, 40, True)
    rest = history.search("said", limit=3, cursor=found.cursor)
    assert rest.about == 37
    assert history.search("nowhere").about == 0


def test_beyond_the_candidates_it_is_counted_where_that_is_asked_for(history: History) -> None:
    history.append_many(
        (f"s{number}", [Message("user", f"said {number}", uid="1")]) for number in range(700)
    )
    assert history.search("said").about is None
    found = history.search("said", estimate=True)
    assert (found.about, found.about_exact) == (700, True)
    narrowed = history.search("said", estimate=True, exclude_sessions=["s3"])
    assert narrowed.about == 699
