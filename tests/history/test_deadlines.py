# SPDX-License-Identifier: MIT
"""What runs out of time gives way to what can still be had, and says so."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mnemogram import History, Message, QueryTimeout, Session
from mnemogram._native import query as q
from mnemogram.history import display
from mnemogram.history.search import discover as search
from mnemogram.history.search import fetch as candidates
from mnemogram.history.search import prefix_cost as costs
from mnemogram.history.search import relax as relaxing
from mnemogram.history.search import results, searcher
from mnemogram.history.search import scan as scanning
from mnemogram.history.search.rank import count_rows
from mnemogram.history.search.routes import relaxed, words
from mnemogram.history.search.visibility import Visibility
from mnemogram.sqlite.database import Connection

SENTENCE = "when did we move the billing cache to another region"


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        for day in range(1, 29):
            time_ = f"2026-03-{day:02d}T10:00:00Z"
            said = f"entry {day}: the billing cache moved, 我们在东京" + (
                " with amber" if day % 7 == 0 else ""
            )
            opened.append(
                Session(f"s{day:02d}", title=f"Log {day}"),
                [Message("user", said, timestamp=time_, uid="a")],
            )
        yield opened


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every frequent prefix look as if it could not be merged in time."""
    monkeypatch.setattr(costs, "_SECONDS_PER_ROW", 1.0)


def runs_out(monkeypatch: pytest.MonkeyPatch, name: str, module: ModuleType | type) -> None:
    """Make one step of a search outlast its share of the deadline."""

    def slow(*_: Any, **__: Any) -> None:
        raise QueryTimeout("the share passed")

    monkeypatch.setattr(module, name, slow)


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize(
    ("asked", "sort", "route", "sessions"),
    [
        ("在", "newest", "like", ["s28", "s27", "s26"]),
        ("在", "oldest", "like", ["s01", "s02", "s03"]),
        ("在", "relevance", "like", ["s28", "s27", "s26"]),
        ("b* OR m*", "newest", "like", ["s28", "s27", "s26"]),
        # What is left of the query is asked of the index, and the text decides.
        ("amber AND b*", "newest", "cjk", ["s28", "s21", "s14"]),
        ("amber AND b*", "oldest", "cjk", ["s07", "s14", "s21"]),
        ("amber NOT z*", "newest", "cjk", ["s28", "s21", "s14"]),
        ("with-a*", "oldest", "cjk", ["s07", "s14", "s21"]),
    ],
)
def test_a_prefix_that_takes_too_long_is_looked_for_by_eye(
    history: History, asked: str, sort: str, route: str, sessions: list[str]
) -> None:
    answer = history.search(asked, sort=sort, limit=3)
    assert [hit.session_id for hit in answer.results] == sessions
    assert answer.search_path == route
    assert all("⟦" in hit.snippet for hit in answer.results)


@pytest.mark.usefixtures("dear")
def test_what_a_dear_prefix_excludes_stays_out(history: History) -> None:
    assert history.search("amber NOT b*").count == 0
    assert history.search("在 NOT amb*", limit=10).count == 10
    found = {hit.session_id for hit in history.search("在 NOT amb*", limit=10).results}
    assert not found & {"s07", "s14", "s21", "s28"}


@pytest.mark.usefixtures("dear")
def test_an_answer_by_eye_goes_on_to_its_end(history: History) -> None:
    seen: list[str] = []
    cursor = None
    while True:
        answer = history.search("b*", sort="newest", limit=10, cursor=cursor)
        seen += [hit.session_id for hit in answer.results]
        cursor = answer.cursor
        if cursor is None:
            break
    assert seen == [f"s{day:02d}" for day in range(28, 0, -1)]


def test_sorting_by_time_that_takes_too_long_leaves_the_last_by_id(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "_MOST_BY_ID", 4)
    expected = [f"s{day:02d}" for day in range(28, 18, -1)]
    answer = history.search("billing", sort="newest", limit=10)
    assert [hit.session_id for hit in answer.results] == expected
    assert answer.complete
    runs_out(monkeypatch, "_by_time", candidates._Fetching)
    answer = history.search("billing", sort="newest", limit=10)
    assert [hit.session_id for hit in answer.results] == expected[:5]
    assert not answer.complete
    assert answer.candidate_limit_reached
    with pytest.raises(QueryTimeout):  # nothing at all was found in time
        history.search("cache NOT billing", sort="newest")


@pytest.mark.usefixtures("dear")
def test_the_newest_are_looked_at_until_enough_pass(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_out(monkeypatch, "_by_rank", candidates._Fetching)
    monkeypatch.setattr(candidates, "CANDIDATE_LIMIT", 2)
    # What am* begins is not asked for, so that the newest three matches fail the check.
    answer = history.search("billing AND am*", limit=3)
    assert [hit.session_id for hit in answer.results] == ["s28", "s21"]
    assert "these are the newest" in (answer.hint or "")
    answer = history.search("billing AND am* AND 7", limit=3)
    assert [hit.session_id for hit in answer.results] == ["s07"]


def test_beginnings_that_take_too_long_are_looked_for_by_eye(
    history: History, request: pytest.FixtureRequest
) -> None:
    history.append("tool", [Message("tool", "the billing of Monday", tool_name="ledger")])
    answer = history.search("billi", roles=("tool",))
    assert (answer.search_path, answer.count) == ("cjk", 1)
    request.getfixturevalue("dear")
    answer = history.search("billi", roles=("tool",))
    assert (answer.search_path, answer.count) == ("like", 1)
    assert "⟦billi⟧ng" in answer.results[0].snippet
    assert "begin with" in (answer.hint or "")


@pytest.mark.usefixtures("dear")
def test_without_a_deadline_nothing_is_dear(history: History) -> None:
    asked = q.parse("b*").phrases
    with history._database.read(timeout=None) as connection:
        assert costs.expensive_prefixes(connection, asked) == {}
    with history._database.read(timeout=5.0) as connection:
        assert costs.expensive_prefixes(connection, asked) == {asked[0]: 28}


class _Slow:
    """A matcher of long texts, at the third of which the time is over."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.looked = 0

    def matches(self, *_: object, **__: object) -> bool:
        self.looked += 1
        if self.looked == 3:
            self._connection.clock.deadline_at = time.monotonic()
        return True


def test_a_scan_of_long_texts_looks_at_the_clock_between_them(history: History) -> None:
    with history._database.read(timeout=600) as connection:
        matcher = _Slow(connection)
        found = scanning.from_scan(
            connection,
            Visibility(connection, roles=("user",)),
            matcher,  # type: ignore[arg-type]
            [(0, 1_000)],
            wanted=100,
            sort="newest",
            share=0.5,
        )
    assert len(found.candidates) == matcher.looked == 3
    assert not found.complete


@pytest.mark.usefixtures("dear")
def test_a_sample_of_long_messages_is_a_small_one(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = q.parse("amb*").phrases
    with history._database.read(timeout=10.0) as connection:
        assert costs.expensive_prefixes(connection, asked) == {asked[0]: 4}
    clock = itertools.count()
    monkeypatch.setattr(costs.time, "monotonic", lambda: next(clock))
    with history._database.read(timeout=10.0) as connection:
        # The newest message holds it, and hardly another one was looked at.
        assert costs.expensive_prefixes(connection, asked)[asked[0]] > 4


def test_what_begins_too_much_is_estimated_and_not_counted(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "_LEAST_SAMPLED_ROWS", 1)
    monkeypatch.setattr(costs, "_SAMPLE_SECONDS", 60.0)  # on a slow day, too
    monkeypatch.setattr(relaxing, "_FEWEST_POSTINGS", 4)
    counted: list[str] = []

    def count(connection: Connection, table: str, expression: str) -> int:
        counted.append(expression)
        return count_rows(connection, table, expression)

    monkeypatch.setattr(searcher, "count_rows", count)
    # 京 stands in every message, but 京的 in none: it is asked for as a lone character.
    answer = history.search("what was in 京的 ambers billings", limit=10)
    assert {hit.session_id for hit in answer.results[:4]} == {"s07", "s14", "s21", "s28"}
    assert '"amb" *' not in counted
    assert '"amber" *' in counted
    assert '"bill" *' not in counted
    assert '"京" *' not in counted


def test_a_store_of_few_messages_is_not_sampled(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "_SAMPLE_SECONDS", 60.0)  # on a slow day, too
    begun = q.parse("b* amb* z*").phrases
    with history._database.read() as connection:
        assert costs.frequent_prefixes(connection, 49_999, begun, 3) == {}
        found = costs.frequent_prefixes(connection, 50_000, begun, 3)
        assert found == {begun[0]: 50_000}  # too few hold amb*, in the sample, to be sure
        assert costs.frequent_prefixes(connection, 50_000, begun, 25_000) == {}
        assert costs.frequent_prefixes(connection, 50_000, (), 3) == {}


def test_scores_that_run_out_of_time_leave_the_order_of_the_index(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_out(monkeypatch, "rerank", searcher)
    answer = history.search("amber cache")
    assert answer.count == 3
    assert "Scoring ran out of time" in (answer.hint or "")
    assert history.search(SENTENCE).count == 3


def test_parts_of_a_sentence_that_run_out_of_time_leave_the_whole_ones(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.append("whole", [Message("user", SENTENCE)])
    runs_out(monkeypatch, "relax", relaxed)
    answer = history.search(SENTENCE)
    assert [hit.session_id for hit in answer.results] == ["whole"]
    assert "not looked for in time" in (answer.hint or "")
    assert answer.candidate_limit_reached


def test_titles_that_run_out_of_time_are_told(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_out(monkeypatch, "title_hits", search)
    answer = history.search("amber")
    assert answer.count == 3
    assert not answer.complete
    with pytest.raises(QueryTimeout):
        history.search("nothing like it")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("ば", "は" + "\ufe00" * 100_000 + "\u3099かき"),
        ("👩", "👩\u200d" * 100_000),
        ("\u1100", "\u1100" * 200_000),
        ("\u11a8", "\u11a8" * 200_000),
        ("🇯🇵", "🇯🇵" * 100_000),
        ("needle", "e\u0301" * 100_000 + " needle"),
    ],
)
def test_a_message_of_one_endless_character_is_found_and_shown(
    history: History, asked: str, text: str
) -> None:
    history.append(Session("odd"), [Message("user", text, uid="a")])
    answer = history.search(asked, timeout=30.0)
    assert [hit.session_id for hit in answer.results] == ["odd"]


def test_a_match_that_is_not_reached_in_time_is_shown_by_the_beginning(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "It begins here. " + "filling " * 5_000 + "and ends with a needle"
    history.append(Session("long"), [Message("user", text, uid="a")])
    assert "⟦needle⟧" in history.search("needle", timeout=60).results[0].snippet
    monkeypatch.setattr(results, "_MARKING_SHARE", 0.0)
    assert history.search("needle", timeout=60).results[0].snippet.startswith("It begins here.")


def test_reading_long_texts_ends_at_the_deadline_and_reads_each_once(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    class Slow(display.MessageRow):
        def __new__(cls, *columns: Any) -> Slow:
            nonlocal read
            read += 1
            time.sleep(pause)
            return super().__new__(cls, *columns)

    history.append(Session("some"), [Message("user", f"text {n}", uid=f"{n}") for n in range(9)])
    monkeypatch.setattr(display, "MessageRow", Slow)
    pause = 0.0
    assert len(history.read("some", timeout=60).messages) == read == 9
    read, pause = 0, 0.2
    with pytest.raises(QueryTimeout):
        history.read("some", timeout=0.3)
    assert read < 9


@pytest.mark.parametrize(
    ("module", "step"),
    [
        (relaxed, "rerank"),
        (relaxed, "relax"),
        (search, "title_hits"),
        (words, "expensive_prefixes"),
    ],
)
def test_a_deadline_that_has_passed_is_a_timeout(
    history: History, monkeypatch: pytest.MonkeyPatch, module: ModuleType, step: str
) -> None:
    original: Callable[..., Any] = getattr(module, step)

    def late(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.25)
        connection = next((each for each in arguments if isinstance(each, Connection)), None)
        if connection is not None:
            connection.check_deadline()
        else:
            raise QueryTimeout("the deadline passed")
        return original(*arguments, **named)

    monkeypatch.setattr(module, step, late)
    with pytest.raises(QueryTimeout):
        history.search(SENTENCE, timeout=0.2)


def test_a_long_text_goes_to_the_matcher_as_the_bytes_it_is(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: set[type] = set()

    def compiled(node: q.Query, compile: Callable[..., q.Matcher] = q.compile) -> Any:
        matcher = compile(node)

        class Watched:
            phrases = matcher.phrases
            count = matcher.count

            def matches(self, *columns: Any, **options: Any) -> bool:
                kinds.add(type(columns[0]))
                return matcher.matches(*columns, **options)

        return Watched()

    long = "预约牙医 café " * 20_000 + "needle"
    history.append(Session("long"), [Message("user", long, uid="a")])
    asked = q.parse("needle")
    with history._database.read(timeout=600) as connection:
        found = scanning.from_scan(
            connection,
            Visibility(connection, roles=("user",)),
            compiled(asked),
            [(0, 1_000)],
            wanted=100,
            sort="newest",
        )
    assert len(found.candidates) == 1
    assert kinds == {str, bytes}
    (listed,) = [each for each in history.browse().results if each.session_id == "long"]
    assert listed.preview.startswith("预约牙医 café 预约牙医")
