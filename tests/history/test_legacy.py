# SPDX-License-Identifier: MIT
"""An older store is taken over page by page, once, whatever is wrong with its records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemogram
from mnemogram import History, InvalidArgument, Message, Session
from mnemogram.history.legacy import LegacyRecord
from tests.history.support import assert_sound, fill, raw


class Old:
    """An older store in memory, that counts how often it is asked."""

    def __init__(self, records: list[LegacyRecord]) -> None:
        self.records = records
        self.asked: list[tuple[str, str | None, int]] = []
        self.failing = False

    def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
        self.asked.append((user_id, after, limit))
        if self.failing:
            raise ConnectionError("the server is away")
        cursors = [each.cursor for each in self.records]
        begin = 0 if after is None else cursors.index(after) + 1
        return self.records[begin : begin + limit]


def record(number: int, *messages: Message) -> LegacyRecord:
    said = messages or (Message("user", f"旧消息 {number}", uid=f"m{number}"),)
    return LegacyRecord(f"c{number}", Session(f"old-{number % 3}", title="旧"), said)


@pytest.fixture
def old() -> Old:
    return Old([record(number) for number in range(50)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def history(path: Path, old: Old) -> Iterator[History]:
    with History.open(path, legacy=old, user_id="u1") as opened:
        yield opened


def test_pages_are_taken_over_until_the_end_and_never_asked_for_again(
    history: History, old: Old, path: Path
) -> None:
    fill(history, 1)
    assert not history.search("旧消息").legacy_import.complete
    results = [history.maintain()]
    assert not history.search("旧消息").legacy_import.complete
    while results[-1].more:
        results.append(history.maintain())
    assert [each.parts[0].done for each in results] == [20, 20, 10, 0]
    assert [each[1:] for each in old.asked] == [
        (None, 20),
        ("c19", 20),
        ("c39", 20),
        ("c49", 20),
    ]
    answer = history.search("旧消息")
    assert answer.legacy_import.complete
    assert answer.legacy_import.imported == 50
    assert history.maintain().parts == ()
    with History.open(path, legacy=old, user_id="u1") as again:
        again.maintain()
    assert len(old.asked) == 4
    assert_sound(history)


def test_a_history_without_an_older_store_is_complete(tmp_path: Path) -> None:
    with History.open(tmp_path / "x.db") as history:
        fill(history, 1)
        assert history.status().legacy_import.complete


def test_imported_messages_are_snapshots_and_claim_no_time_they_do_not_have(
    history: History, old: Old
) -> None:
    old.records = [
        record(1, Message("user", "no time", uid="a", provenance="observed")),
        record(4, Message("user", "a time", uid="b", timestamp="2024-05-06T07:08:09Z")),
    ]
    history.maintain()
    shown = {each.uid: each for each in history.read("old-1").messages}
    assert {each.provenance for each in shown.values()} == {"legacy_snapshot"}
    assert shown["a"].timestamp is None
    assert shown["b"].timestamp == "2024-05-06T07:08:09.000Z"


def test_a_bad_record_is_set_aside_and_the_rest_go_on(history: History, old: Old) -> None:
    old.records[3] = record(3, Message("system", "bad role"))  # type: ignore[arg-type]
    old.records[4] = record(4, Message("user", "good", uid="g"), Message("user", 7))  # type: ignore[arg-type]
    old.records[5] = LegacyRecord("c5", problem="cannot be read")
    old.records[6] = LegacyRecord("c6", None, (Message("user", "of nobody"),))
    old.records[7] = LegacyRecord("c7", Session("x", parent=object()))  # type: ignore[arg-type]
    old.records[8] = LegacyRecord("c8")  # nothing to import, nothing wrong
    old.records[9] = LegacyRecord("c9", Session("y"), ("text",))  # type: ignore[arg-type]
    while history.maintain().more:
        pass
    aside = {each.record: each.reason for each in history.set_aside()}
    assert set(aside) == {"c3", "c4", "c5", "c6", "c7", "c9"}
    assert aside["c5"] == "cannot be read"
    imported = history.status().legacy_import
    assert (imported.complete, imported.imported, imported.set_aside) == (True, 43, 6)
    with raw(history) as connection:
        assert connection.one("SELECT count(*) FROM messages WHERE uid = 'g'") == 0
        assert connection.one("SELECT count(*) FROM sessions WHERE key IN ('x', 'y')") == 0


def test_states_are_taken_over(history: History, old: Old) -> None:
    said = [Message("user", f"word{number}", uid=f"w{number}") for number in range(3)]
    old.records = [
        LegacyRecord("1", Session("s"), said, states={"w0": "compacted", "w1": "rewound"}),
        LegacyRecord("2", Session("s"), states={"w2": "compacted", "nobody": "rewound"}),
        LegacyRecord("3", Session("s"), said, states={"w2": "lost"}),  # type: ignore[dict-item]
    ]
    while history.maintain().more:
        pass
    assert [(m.uid, m.state) for m in history.read("s").messages] == [
        ("w0", "compacted"),
        ("w2", "compacted"),
    ]
    assert [each.record for each in history.set_aside()] == ["3"]


def test_a_source_that_fails_stops_nothing_else_and_is_asked_again(
    path: Path, history: History, old: Old
) -> None:
    with History.open(path, load_extension=False) as plain:
        fill(plain, 30)  # an index to build
    history.maintain(batch_size=5)
    old.failing = True
    result = history.maintain(batch_size=10)
    assert result.failed == ("legacy",)
    (failed,) = [each for each in result.parts if each.part == "legacy"]
    assert failed.error is not None
    assert "the server is away" in failed.error
    assert any(each.part == "index" and each.error is None for each in result.parts)
    old.failing = False
    while history.maintain().more:
        pass
    assert history.status().legacy_import.imported == 50
    assert history.status().messages == 80


@pytest.mark.parametrize(
    "page",
    [
        [LegacyRecord("a"), LegacyRecord("a")],
        [LegacyRecord(str(number)) for number in range(100)],
        ["text"],
        [LegacyRecord(7)],  # type: ignore[arg-type]
        [LegacyRecord("\ud800")],
    ],
)
def test_a_source_that_breaks_its_promises_is_reported_and_not_followed(
    path: Path, page: list[LegacyRecord]
) -> None:
    class Odd:
        def page(self, user_id: str, after: str | None, limit: int) -> list[LegacyRecord]:
            return page

    with History.open(path, legacy=Odd(), user_id="u1") as history:
        result = history.maintain()
        assert result.failed == ("legacy",)
        assert not result.more
        assert history.status().messages == 0


def test_two_processes_that_import_at_once_import_once(
    path: Path, history: History, old: Old
) -> None:
    with History.open(path, legacy=old, user_id="u1") as other:
        more = True
        while more:
            more = history.maintain().more | other.maintain().more
    assert history.status().legacy_import.imported == 50
    assert history.status().messages == 50
    assert_sound(history)


def test_a_deleted_session_is_not_brought_back_by_the_import(history: History, old: Old) -> None:
    history.delete_session("old-1")
    while history.maintain().more:
        pass
    assert {each.session_id for each in history.browse().results} == {"old-0", "old-2"}


def test_the_redactor_sees_imported_messages_too(path: Path, old: Old) -> None:
    with History.open(
        path, legacy=old, user_id="u1", redactor=lambda text: text.replace("旧", "*")
    ) as history:
        history.maintain()
        assert history.read("old-0").messages[0].content == "*消息 0"


def test_the_host_names_the_user_to_the_source(tmp_path: Path, old: Old) -> None:
    with mnemogram.open(tmp_path, legacy=old) as home:
        home.history(" someone ").maintain()
    assert old.asked[0][0] == "someone"


def test_a_source_without_a_user_is_refused(path: Path, old: Old) -> None:
    with pytest.raises(InvalidArgument, match="user_id"):
        History.open(path, legacy=old)


def test_the_example_in_the_document_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = Path(__file__).parents[2] / "docs" / "storage.md"
    (block,) = re.findall(r"^```python\n(.*?)^```", document.read_text("utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, document, "exec"), {"__name__": "storage"})
    assert capsys.readouterr().out == "2\n"
