# SPDX-License-Identifier: MIT
"""Append and amend: idempotent, all or nothing, and any text that Python can hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from mnemogram import History, InvalidArgument, Message, NotFound, Session
from tests.history.support import (
    assert_sound,
    fill,
    message,
    outcome,
    raw,
    start,
    wait_until_ready,
)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        yield opened


def stored(history: History, column: str = "content") -> list[object]:
    with raw(history) as connection:
        return [row[0] for row in connection.execute(f"SELECT {column} FROM messages ORDER BY id")]


def matches(history: History, expression: str) -> list[int]:
    with raw(history) as connection:
        return [
            int(str(row[0]))
            for row in connection.execute(
                "SELECT rowid FROM messages_fts_cjk WHERE messages_fts_cjk MATCH ? ORDER BY rowid",
                (expression,),
            )
        ]


def test_a_repeat_changes_nothing(history: History) -> None:
    first = history.append("s", [message(1, content="first words")])
    again = history.append("s", [message(1, content="other words")])
    assert (first.inserted, first.repeated) == (1, 0)
    assert (again.inserted, again.repeated, again.ids) == (0, 1, first.ids)
    assert stored(history) == ["first words"]
    assert_sound(history)


def test_a_replay_of_a_list_without_uids_adds_nothing(history: History) -> None:
    talk = [Message("user", "ok"), Message("assistant", "ok"), Message("user", "ok")]
    assert history.append("s", talk).inserted == 3
    assert history.append("s", talk).inserted == 0


def test_equal_words_at_different_times_are_different_messages(history: History) -> None:
    for hour in (9, 10):
        moment = datetime(2026, 3, 1, hour, tzinfo=timezone.utc)
        history.append("s", [Message("user", "ok", timestamp=moment)])
    assert stored(history) == ["ok", "ok"]


def test_a_repeat_that_may_be_a_new_message_is_said(history: History) -> None:
    history.append("s", [Message("user", "ok")])
    (note,) = history.append("s", [Message("user", "ok")]).notes
    assert "give uids or timestamps" in note


def test_a_changed_text_is_told_from_a_repeat(history: History) -> None:
    history.append("s", [message(1, content="half"), message(2, content="same")])
    said = history.append(
        "s", [message(1, content="half and the rest"), message(2, content="same")]
    )
    assert (said.inserted, said.repeated, said.changed) == (0, 2, 1)
    (note,) = said.notes
    assert note.startswith("message 0")
    assert "amend" in note
    assert (
        history.append("s", [message(1, content="half"), message(2, content="same")]).changed == 0
    )


@pytest.mark.parametrize(
    ("first", "second", "changed"),
    [
        ({"tool_calls": [{"name": "f"}]}, {"tool_calls": [{"name": "g"}]}, 1),
        ({"tool_calls": [{"name": "f"}]}, {"tool_calls": None}, 0),
        ({"tool_status": None}, {"tool_status": "ok"}, 1),
        ({"content": "a\0b"}, {"content": "a\0c"}, 1),
        ({"content": None}, {"content": ""}, 0),
    ],
)
def test_every_part_that_a_reader_sees_is_compared(
    history: History, first: dict[str, Any], second: dict[str, Any], changed: int
) -> None:
    history.append("s", [message(1, **first)])
    assert history.append("s", [message(1, **second)]).changed == changed


# --- without uids ----------------------------------------------------------------------


def said(history: History, *words: str) -> int:
    return history.append("s", [Message("user", each) for each in words]).inserted


def test_the_same_words_later_are_said_again(history: History) -> None:
    said(history, "shall we?")
    assert said(history, "yes") == 1
    said(history, "and now?")
    assert said(history, "yes") == 1
    assert said(history, "yes") == 0  # the call may have been made again
    said(history, "sure?")
    assert said(history, "yes") == 1
    assert stored(history) == ["shall we?", "yes", "and now?", "yes", "sure?", "yes"]


def test_a_turn_that_comes_again_is_said_again(history: History) -> None:
    said(history, "hi")
    assert said(history, "yes", "done") == 2
    assert said(history, "yes", "done") == 0
    said(history, "next")
    assert said(history, "yes", "done") == 2
    assert said(history, "yes", "done") == 0


def test_a_list_from_its_beginning_is_a_replay_however_short(history: History) -> None:
    talk = ["ok", "ok", "go", "ok"]
    said(history, *talk)
    for end in range(2, 5):
        assert said(history, *talk[:end]) == 0
    assert said(history, *talk, "more") == 1
    assert stored(history) == [*talk, "more"]


def test_a_turn_id_leaves_no_doubt(history: History) -> None:
    for turn in ("t1", "t2", "t2"):
        history.append("s", [Message("user", "yes"), Message("assistant", "ok")], turn=turn)
    assert stored(history) == ["yes", "ok", "yes", "ok"]
    with pytest.raises(InvalidArgument, match="turn"):
        history.append("s", [Message("user", "yes")], turn="")


def test_a_call_that_is_made_again_after_damage_gives_the_same(history: History) -> None:
    from mnemogram.history import writing

    for word in ("yes", "go"):
        said(history, word)
    prepared = writing.prepare("s", [Message("user", "yes")])
    with raw(history) as connection:
        connection.execute("BEGIN")
        assert writing.append(connection, prepared).inserted == 1
        connection.execute("ROLLBACK")
    assert (
        history._file.write(lambda connection: writing.append(connection, prepared)).inserted == 1
    )
    assert stored(history) == ["yes", "go", "yes"]


# --- times -----------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [1772355600, 1772355600.0])
def test_a_time_may_be_unix_seconds(history: History, moment: float) -> None:
    history.append(Session("s", started_at=moment), [Message("user", "a", timestamp=moment)])
    assert history.read("s").messages[0].timestamp == "2026-03-01T09:00:00.000Z"
    assert history.search("a", after=moment, before=moment + 1).count == 1


@pytest.mark.parametrize("moment", [True, float("nan"), float("inf"), 1.7e12 * 1000, [], b"1"])
def test_what_is_no_time_is_refused(history: History, moment: Any) -> None:
    with pytest.raises(InvalidArgument, match="timestamp"):
        history.append("s", [Message("user", "a", timestamp=moment)])


def test_a_session_starts_with_its_earliest_message(history: History) -> None:
    for hour in (10, 9, 11):
        history.append("s", [Message("user", str(hour), timestamp=f"2026-03-01T{hour:02}:00:00Z")])
    shown = history.browse().results[0]
    assert shown.started_at == "2026-03-01T09:00:00.000Z"
    assert shown.last_active_at == "2026-03-01T11:00:00.000Z"


def test_a_message_without_a_time_moves_no_beginning(history: History) -> None:
    history.append("s", [Message("user", "a", timestamp="2026-03-01T09:00:00Z")])
    history.append("s", [Message("user", "b", provenance="legacy_snapshot")])
    assert history.browse().results[0].started_at == "2026-03-01T09:00:00.000Z"


def test_the_same_uid_in_another_session_is_another_message(history: History) -> None:
    assert history.append("a", [message(1)]).inserted == 1
    assert history.append("b", [message(1)]).inserted == 1


def test_one_bad_message_leaves_the_whole_call_unstored(history: History) -> None:
    with pytest.raises(InvalidArgument, match="message 1: role"):
        history.append("s", [message(1), Message("system", "no")])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="message 1 timestamp"):
        history.append("s", [message(1), message(2, timestamp="NaT")])
    assert stored(history) == []
    assert history.browse().count == 0


def test_a_failure_in_the_middle_of_storing_leaves_nothing(history: History) -> None:
    with raw(history) as connection:
        connection.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON messages WHEN new.uid = 'u2'"
            " BEGIN SELECT raise(ABORT, 'refused'); END"
        )
    with pytest.raises(Exception, match="refused"):
        fill(history, 4)
    assert stored(history) == []
    assert history.status().sessions == 0


def test_text_behind_a_nul_is_kept_and_found(history: History) -> None:
    history.append("s", [Message("user", "alpha\0bravo")])
    assert stored(history) == ["alpha\0bravo"]
    assert matches(history, "bravo") == [1]


def test_lone_surrogates_are_made_storable_and_reported(history: History) -> None:
    result = history.append(
        "s",
        [
            Message("user", "bad \ud83d end", uid="\udfff"),
            Message("assistant", "good 🎉"),
            Message("assistant", "", tool_calls={"city\ud800": "a\udc00b"}),
        ],
    )
    assert stored(history)[:2] == ["bad � end", "good 🎉"]
    assert "a�b" in str(stored(history, "tool_calls")[2])
    assert len(result.notes) == 3
    assert matches(history, "end") == [1]


@pytest.mark.parametrize(
    "calls",
    [
        [{"function": {"name": "weather", "arguments": '{"city": "\\u5927\\u8fde"}'}}],
        '[{"function": {"arguments": "{\\"city\\": \\"\\\\u5927\\\\u8fde\\"}"}}]',
        '{"city": "\\u5927\\u8fde"}',
        {"city": "大连"},
        [{"function": {"arguments": json.dumps(json.dumps({"city": "大连"}))}}],
    ],
)
def test_tool_arguments_are_found_however_the_host_wrote_them(
    history: History, calls: object
) -> None:
    history.append("s", [Message("assistant", "", tool_calls=calls)])
    assert matches(history, '"大连"') == [1]
    assert "大连" in str(stored(history, "tool_calls")[0])


def test_a_tool_result_of_six_megabytes_is_kept_whole_and_indexed_by_its_head(
    history: History,
) -> None:
    long = "头部牙医 " + "填充" * 1_000_000 + " 尾部复诊"
    history.append("s", [Message("tool", long, tool_name="web"), Message("user", long)])
    assert stored(history) == [long, long]
    assert matches(history, '"牙医"') == [1, 2]
    assert matches(history, '"复诊"') == [2]
    history.amend("s", str(stored(history, "uid")[0]), content="短的 复诊")
    assert matches(history, '"复诊"') == [1, 2]
    assert matches(history, '"牙医"') == [2]


def test_amend_replaces_the_text_in_the_store_and_in_every_index(history: History) -> None:
    history.append("s", [message(0, content="旧的内容"), message(1, content="another")])
    history.amend("s", "u0", content="新的内容", tool_status="ok", tool_calls=[{"name": "f"}])
    assert matches(history, '"旧的"') == []
    assert matches(history, '"新的"') == [1]
    assert_sound(history)
    with pytest.raises(NotFound):
        history.amend("s", "nobody", content="x")


def test_the_same_uids_from_two_processes_are_stored_once(tmp_path: Path) -> None:
    code = """
        import sys
        from mnemogram import (History, Message)
        with History.open(sys.argv[1]) as history:
            print("ready", flush=True)
            sys.stdin.readline()
            added = 0
            for number in range(30):
                words = Message("user", f"w{number}", uid=str(number))
                added += history.append("s", [words]).inserted
            print(added)
    """
    path = tmp_path / "state.db"
    processes = [start(code, path) for _ in range(2)]
    for process in processes:
        wait_until_ready(process)
    added = 0
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        added += int(outcome(process))
    assert added == 30
    with History.open(path) as history:
        assert history.status().messages == 30
        assert history.browse().results[0].message_count == 30
        assert_sound(history)


def test_imported_messages_without_a_time_claim_none(history: History) -> None:
    history.append("s", [Message("user", "old words", provenance="legacy_snapshot")])
    (shown,) = history.read("s").messages
    assert shown.timestamp is None
    (listed,) = history.browse().results
    assert (listed.started_at, listed.last_active_at, listed.when) == (None, None, None)


# --- lineage ---------------------------------------------------------------------------


def roots(history: History) -> dict[str, str]:
    with raw(history) as connection:
        return dict(
            connection.execute(
                "SELECT s.key, r.key FROM sessions AS s JOIN sessions AS r ON r.id = s.root_id"
            )
        )


def test_a_parent_that_arrives_late_gathers_its_children(history: History) -> None:
    history.append(Session("c", parent="b"), [message(1)])
    history.append(Session("b", parent="a"), [message(1)])
    assert roots(history) == {"b": "b", "c": "b"}
    history.append("a", [message(1)])
    assert roots(history) == {"a": "a", "b": "a", "c": "a"}


def test_a_session_that_moves_takes_its_descendants_along(history: History) -> None:
    for key, parent in (("a", None), ("x", None), ("b", "a"), ("c", "b")):
        history.append(Session(key, parent=parent), [message(1)])
    history.append(Session("b", parent="x"), [])
    assert roots(history) == {"a": "a", "x": "x", "b": "x", "c": "x"}


def test_a_circle_of_parents_is_left_open_and_reported(history: History) -> None:
    history.append(Session("a", parent="c"), [message(1)])
    history.append(Session("b", parent="a"), [message(1)])
    result = history.append(Session("c", parent="b"), [message(1)])
    assert any("ancestor" in note for note in result.notes)
    assert len(set(roots(history).values())) == 1
    own = history.append(Session("d", parent="d"), [message(1)])
    assert any("ancestor" in note for note in own.notes)


def test_a_link_left_out_of_a_circle_is_made_once_the_circle_is_gone(history: History) -> None:
    history.append(Session("a", parent="b"), [message(1)])
    history.append(Session("b", parent="a"), [message(1)])
    history.append("top", [message(1)])
    kept, left_out = ("a", "b") if roots(history)["a"] == "b" else ("b", "a")
    history.append(Session(kept, parent="top"), [])
    assert roots(history) == {"top": "top", kept: "top", left_out: "top"}


def test_a_chain_of_a_thousand_sessions_has_one_root(history: History) -> None:
    history.append_many(
        (Session(f"s{number}", parent=f"s{number - 1}" if number else None), [message(number)])
        for number in range(1_000)
    )
    assert set(roots(history).values()) == {"s0"}
