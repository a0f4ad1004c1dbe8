# SPDX-License-Identifier: MIT
"""Tags and metadata: kept as given, found by, carried along, and bounded."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemogram import (
    History,
    InvalidArgument,
    Message,
    NotFound,
    Session,
)
from mnemogram.history import labels
from mnemogram.history.models import Conversation
from mnemogram.history.redact import redact_secrets
from mnemogram.history.schema import SCHEMA, STEPS
from mnemogram.importers import own_store
from mnemogram.importers.base import Record, Report
from mnemogram.importers.sqlite import SQLiteFile
from mnemogram.sqlite.database import Connection, Database, Schema
from mnemogram.tools import session_search_tool
from tests.history.support import raw

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | FLOATS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
METADATA = st.dictionaries(st.text(max_size=8), JSON, max_size=5)
TAGS = st.lists(
    st.from_regex(r"[a-zA-Zäöß牙醫医ｗ0-9 _-]{0,8}[a-zäß牙醫]", fullmatch=True), max_size=6
)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        yield opened


@contextmanager
def new_history() -> Iterator[History]:
    with TemporaryDirectory() as folder, History.open(Path(folder) / "state.db") as history:
        yield history


def furnish(history: History) -> None:
    history.append(
        Session("dentist", title="牙医", tags=["Health", "家"], metadata={"project": "teeth"}),
        [
            Message("user", "明早九点预约", uid="1", metadata={"lang": "zh", "stars": 5}),
            Message("assistant", "约好了", uid="2"),
        ],
    )
    history.append(
        Session("taxes", title="Tax return", tags=["money", "work"], metadata={"year": 2026}),
        [Message("user", "where are the receipts", uid="1", metadata={"lang": "en"})],
    )
    history.append("plain", [Message("user", "where is the cat", uid="1")])


def found(history: History, query: str, **options: Any) -> set[str]:
    return {hit.session_id for hit in history.search(query, limit=10, **options).results}


# --- kept ------------------------------------------------------------------------------


@settings(max_examples=20)
@given(METADATA, METADATA, TAGS)
def test_what_a_host_gives_is_what_it_gets_back_also_from_an_export(
    about: dict[str, Any], said: dict[str, Any], tags: list[str]
) -> None:
    with new_history() as one, new_history() as other:
        message = Message("user", "hello there", uid="1", metadata=said)
        one.append(Session("s", tags=tags, metadata=about), [message])
        stream = io.StringIO()
        one.export(stream)
        other.import_export(stream.getvalue().splitlines(keepends=True))
        for each in (one, other):
            (summary,) = each.sessions()
            (stored,) = each.messages("s")
            assert json.loads(json.dumps(summary.metadata)) == about
            assert json.loads(json.dumps(stored.metadata)) == said
            keys = {labels.tag_key(" ".join(tag.split())) for tag in tags}
            assert {labels.tag_key(tag) for tag in summary.tags} == keys
            assert len(summary.tags) == len(keys)
            assert each.read("s").messages[0].metadata == stored.metadata


@settings(max_examples=20)
@given(METADATA)
def test_every_plain_value_at_the_top_and_in_a_list_there_is_found(about: dict[str, Any]) -> None:
    with new_history() as history:
        history.append(Session("a", metadata=about), [Message("user", "hello")])
        history.append("b", [Message("user", "hello", metadata=about)])
        history.append("c", [Message("user", "hello")])
        for name, value in about.items():
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, (dict, list)):
                    continue
                assert found(history, "hello", metadata={name: each}) == {"a", "b"}
                (summary,) = history.sessions(metadata={name: each})
                assert summary.session_id == "a"


def test_none_leaves_what_is_there_and_anything_else_takes_its_place(history: History) -> None:
    furnish(history)
    history.append(Session("dentist", title="牙医 2"), [])
    summary = next(each for each in history.sessions() if each.session_id == "dentist")
    assert (set(summary.tags), summary.metadata) == ({"Health", "家"}, {"project": "teeth"})
    history.append(Session("dentist", tags=[], metadata={"n": 1}), [])
    summary = next(each for each in history.sessions() if each.session_id == "dentist")
    assert (summary.tags, summary.metadata) == ((), {"n": 1})
    assert not list(history.sessions(tag="health"))
    assert not list(history.sessions(metadata={"project": "teeth"}))


def test_tags_are_given_and_taken_off_one_by_one(history: History) -> None:
    furnish(history)
    assert history.tag("taxes", add=["2026"], remove=["ＷＯＲＫ", "nowhere"]) == ("2026", "money")
    assert history.tag("taxes", add=["MONEY"]) == ("2026", "MONEY")
    with pytest.raises(NotFound):
        history.tag("nobody", add=["x"])


def test_the_first_metadata_of_a_message_stays_until_it_is_amended(history: History) -> None:
    furnish(history)
    again = Message("user", "明早九点预约", uid="1", metadata={"lang": "ja"})
    result = history.append("dentist", [again])
    assert (result.inserted, result.repeated, result.changed) == (0, 1, 1)
    assert "metadata" in result.notes[0]
    assert next(history.messages("dentist")).metadata == {"lang": "zh", "stars": 5}
    history.amend("dentist", "1", metadata={"lang": "ja"})
    assert next(history.messages("dentist")).metadata == {"lang": "ja"}
    assert next(history.messages("dentist")).content == "明早九点预约"
    history.amend("dentist", "1", content="明晚九点预约")
    assert next(history.messages("dentist")).metadata == {"lang": "ja"}
    history.amend("dentist", "1", metadata={})
    assert next(history.messages("dentist")).metadata == {}


def test_a_conversation_of_another_program_brings_its_metadata_up_to_date(
    history: History,
) -> None:
    def held(**metadata: Any) -> Conversation:
        message = Message("user", "hello", uid="1", metadata=metadata)
        return Conversation(Session("s", tags=["web"], metadata=metadata), [message])

    history.import_conversations([held(stars=1)])
    (updated,) = history.import_conversations([held(stars=2)])
    assert updated.amended == 1
    assert next(history.messages("s")).metadata == {"stars": 2}
    assert next(history.sessions()).metadata == {"stars": 2}
    (updated,) = history.import_conversations([held(stars=2)])
    assert (updated.amended, updated.repeated) == (0, 1)


def test_dicts_of_model_apis_bring_metadata_too(history: History) -> None:
    history.append("s", [{"role": "user", "content": "hello", "metadata": {"user": "7"}}])
    assert next(history.messages("s")).metadata == {"user": "7"}
    history.append("t", [{"role": "user", "content": "hello", "metadata": "no object"}])
    assert next(history.messages("t")).metadata == {}


def test_a_redactor_sees_tags_and_metadata(tmp_path: Path) -> None:
    key = "sk-" + "a1B2c3D4" * 5
    with History.open(tmp_path / "state.db", redactor=redact_secrets) as history:
        session = Session("s", tags=[f"key {key}"], metadata={"note": key})
        history.append(session, [Message("user", "x", metadata={"api_key": key})])
        history.tag("s", add=[f"other {key}"])
    assert key.encode() not in (tmp_path / "state.db").read_bytes()


def test_a_backup_and_an_import_of_the_file_have_all_of_it(
    history: History, tmp_path: Path
) -> None:
    furnish(history)
    copy = history.backup(tmp_path / "copy.db")
    with History.open(copy, read_only=True) as copied:
        assert found(copied, "where", tag="work") == {"taxes"}
    report = Report("copy.db")
    (store,) = [Record("", SQLiteFile(str(copy), "copy.db"))]
    batches = {each.session.id: each for each in own_store.read([store], report)}
    assert set(batches["dentist"].session.tags or ()) == {"Health", "家"}
    assert batches["dentist"].session.metadata == {"project": "teeth"}
    assert batches["dentist"].messages[0].metadata == {"lang": "zh", "stars": 5}
    assert batches["plain"].session.tags is None


def test_deletion_leaves_nothing_of_them(history: History) -> None:
    furnish(history)
    for session in ("dentist", "taxes"):
        history.delete_session(session)
    with raw(history) as connection:
        for table in (
            *("session_tags", "session_metadata", "session_fields"),
            *("message_metadata", "message_fields"),
        ):
            assert connection.one(f"SELECT count(*) FROM {table}") == 0
    assert history.check().ok


# --- found -----------------------------------------------------------------------------


def test_a_filter_narrows_every_way_of_looking(history: History) -> None:
    furnish(history)
    assert found(history, "where") == {"taxes", "plain"}
    assert found(history, "where", tag="Work") == {"taxes"}
    assert found(history, "where", tag=["work", "money"]) == {"taxes"}
    assert found(history, "where", tag=["work", "health"]) == set()
    assert found(history, "where", metadata={"lang": "en"}) == {"taxes"}
    assert found(history, "where", metadata={"lang": "en", "year": 2026.0}) == {"taxes"}
    assert found(history, "where", metadata={"lang": "zh"}) == set()
    for listed in (history.sessions, lambda **how: history.browse(**how).results):
        assert [each.session_id for each in listed(tag="health")] == ["dentist"]
        assert [each.session_id for each in listed(metadata={"year": 2026})] == ["taxes"]
        assert [each.session_id for each in listed(metadata={"lang": "en"})] == []
        dated = listed(metadata={"year": 2026}, after="2020-01-01")
        assert [each.session_id for each in dated] == ["taxes"]
    assert history.count_sessions(tag="家") == 1
    assert [each.uid for each in history.messages(metadata={"lang": "zh"})] == ["1"]
    assert {each.session_id for each in history.messages(tag="health")} == {"dentist"}


def test_the_hint_names_the_filter_that_left_nothing(history: History) -> None:
    furnish(history)
    hint = history.search("receipts", tag="nowhere").hint
    assert hint is not None
    assert "tags" in hint
    hint = history.browse(tag="nowhere").hint
    assert hint is not None
    assert "tags" in hint


def test_a_cursor_goes_on_with_the_same_filter_only(history: History) -> None:
    for number in range(4):
        history.append(
            Session(f"s{number}", tags=["even"] if number % 2 == 0 else []),
            [Message("user", "hello")],
        )
    page = history.search("hello", limit=1, tag="even")
    assert page.cursor is not None
    more = history.search("hello", limit=1, tag="even", cursor=page.cursor)
    shown = {page.results[0].session_id, more.results[0].session_id}
    assert shown == {"s0", "s2"}
    with pytest.raises(InvalidArgument):
        history.search("hello", limit=1, cursor=page.cursor)


def test_a_search_finds_a_session_by_a_tag(history: History) -> None:
    furnish(history)
    (hit,) = history.search("health").results
    assert (hit.session_id, hit.found_by) == ("dentist", "tag")
    assert set(hit.tags) == {"Health", "家"}
    assert "Health" in hit.snippet
    assert found(history, "health", tag="work") == set()


def test_title_tags_and_text_are_one_document(history: History) -> None:
    furnish(history)
    (hit,) = history.search("牙医 health").results
    assert hit.session_id == "dentist"
    result = history.search("receipts money")
    assert result.results[0].session_id == "taxes"
    assert not result.results[0].partial
    assert result.results[0].match_message_id is not None


def test_the_tool_narrows_by_tags_and_shows_them_but_no_metadata(history: History) -> None:
    furnish(history)
    answer = session_search_tool(history)({"query": "where", "tags": ["work"]})
    (hit,) = answer["results"]
    assert (hit["session_id"], hit["tags"]) == ("taxes", ["money", "work"])
    text = json.dumps(answer)
    assert '"metadata"' not in text
    assert hit["metadata"] == {"year": 2026}
    listed = session_search_tool(history)({"tag": "health"})
    assert [each["session_id"] for each in listed["results"]] == ["dentist"]


# --- bounds ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "session",
    [
        Session("s", tags="work"),
        Session("s", tags=[""]),
        Session("s", tags=["a\x00b"]),
        Session("s", tags=["x" * 101]),
        Session("s", tags=[f"t{n}" for n in range(65)]),
        Session("s", tags=[1]),  # type: ignore[list-item]
        Session("s", metadata=["x"]),  # type: ignore[arg-type]
        Session("s", metadata={1: "x"}),  # type: ignore[dict-item]
        Session("s", metadata={"x": float("nan")}),
        Session("s", metadata={"x": {1, 2}}),
        Session("s", metadata={"x": "y" * 17_000}),
        Session("s", metadata={f"f{n}": n for n in range(101)}),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words_and_stores_nothing(
    history: History, session: Session
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        history.append(session, [Message("user", "hello")])
    assert refused.value.hint
    assert history.status().messages == 0


@pytest.mark.parametrize("filters", [{"metadata": {"x": [1]}}, {"metadata": "x"}, {"tag": 3}])
def test_a_filter_of_another_kind_is_refused(history: History, filters: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        history.search("x", **filters)
    with pytest.raises(InvalidArgument):
        history.sessions(**filters)


def test_the_largest_metadata_and_tags_do_not_break_the_budget_of_an_answer(
    history: History,
) -> None:
    tags = [f"{'字' * 90}{n:02}" for n in range(64)]
    about = {"x": "汉" * 5_000}
    for number in range(10):
        history.append(
            Session(f"s{number}", tags=tags, metadata=about),
            [Message("user", f"hello {n}", metadata=about) for n in range(12)],
        )
    for answer in (
        history.search("hello", limit=10, detail="full"),
        history.browse(),
        history.read("s1"),
    ):
        assert len(json.dumps(answer.to_dict(), ensure_ascii=False).encode()) <= 64 * 1024
    assert next(history.sessions()).metadata == about


# --- older files -----------------------------------------------------------------------


def third_version(path: Path) -> None:
    def create(connection: Connection, version: int) -> None:
        for step in STEPS[:3]:
            step(connection)

    schema = Schema(SCHEMA.application_id, 3, create)
    with Database(path, schema) as database, database.write() as connection:
        connection.execute(
            "INSERT INTO sessions (id, key, source, root_id, started_at, last_active_at,"
            " message_count) VALUES (1, 's', 'chat', 1, 5, 5, 1)"
        )
        connection.execute(
            "INSERT INTO messages (session_id, role, timestamp, substring, uid, provenance,"
            " content) VALUES (1, 'user', 5, 1, 'u', 'observed', 'an old word')"
        )


def test_a_file_without_them_is_read_as_it_is_and_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    third_version(path)
    before = path.read_bytes()
    with History.open(path, read_only=True) as history:
        (hit,) = history.search("word").results
        assert (hit.tags, hit.metadata) == ((), {})
        assert found(history, "word", tag="x", metadata={"y": 1}) == set()
        assert history.read("s").tags == ()
        assert next(history.messages("s")).metadata == {}
        assert not list(history.sessions(tag="x"))
        history.export(io.StringIO())
    assert path.read_bytes() == before
    with History.open(path) as history:
        history.tag("s", add=["old"])
        assert found(history, "word", tag="old") == {"s"}
        assert history.status().schema_version == len(STEPS)
        assert history.check().ok


def test_the_filters_are_answered_by_indexes(history: History) -> None:
    furnish(history)
    path = history.path
    with sqlite3.connect(path) as connection:
        for statement, index in (
            ("SELECT session_id FROM session_tags WHERE tag_key = ?", "session_tags_by_tag"),
            (
                "SELECT id FROM message_fields WHERE name = ? AND value = 'x'",
                "message_fields_by_value",
            ),
            (
                "SELECT id FROM session_fields WHERE name = ? AND value = 'x'",
                "session_fields_by_value",
            ),
        ):
            plan = str(connection.execute(f"EXPLAIN QUERY PLAN {statement}", ("x",)).fetchall())
            assert index in plan
    connection.close()
