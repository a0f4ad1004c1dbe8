# SPDX-License-Identifier: MIT
"""Check finds what is wrong and nothing else; repair mends it and keeps a copy first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mnemogram import History, InvalidArgument, Session, StorageUnavailable
from mnemogram.history.index import state as indexes
from mnemogram.history.upkeep import check as doctor
from tests.history.support import assert_sound, fill, finish, message, raw, states
from tests.history.test_index_life import damage, make_building

CJK = "messages_fts_cjk"
TRIGRAM = "messages_fts_trigram"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History.open(path) as opened:
        yield opened


def furnish(history: History) -> None:
    fill(history, 60)
    history.append(Session("child", parent="s"), [message(1)])
    history.delete_session("other")


def repaired(history: History) -> doctor.RepairReport:
    """Repair, and assert that all is well afterwards."""
    report = history.repair(dry_run=False)
    assert report.after is not None
    assert report.after.ok, report.after
    finish(history)
    assert_sound(history)
    assert history.status().messages == 61
    return report


def test_a_sound_store_passes_and_is_left_as_it_was(history: History) -> None:
    furnish(history)
    with raw(history) as connection:
        before = connection.one("PRAGMA data_version"), connection.total_changes()
    report = history.check()
    assert report.ok, report.findings
    assert f"{CJK}: compared with every message" in report.checked
    assert "a trial write, rolled back" in report.checked
    with raw(history) as connection:
        assert connection.one("PRAGMA data_version") == before[0]
        assert connection.one("SELECT count(*) FROM sessions") == 2
    assert history.repair(dry_run=False).actions == ()


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("wrong", ["one delete too many", "one row too many", "one row missing"])
def test_an_index_that_does_not_match_its_content_is_found(
    history: History, monkeypatch: pytest.MonkeyPatch, in_place: bool, wrong: str
) -> None:
    # Case 33: quick_check, integrity_check and FTS5's plain check all say ok.
    if not in_place:
        monkeypatch.setattr(doctor, "_IN_PLACE_BYTES", 0)
    furnish(history)
    with raw(history) as connection:
        text = connection.one("SELECT content FROM messages WHERE id = 1")
        if wrong == "one row too many":
            connection.execute(f"INSERT INTO {CJK} (rowid, content) VALUES (999, 'ghost')")
        else:
            again = 1 if wrong == "one row missing" else 2
            for _ in range(again):
                connection.execute(
                    f"INSERT INTO {CJK} ({CJK}, rowid, content) VALUES ('delete', 1, ?)", (text,)
                )
        connection.execute(f"INSERT INTO {CJK} ({CJK}) VALUES ('integrity-check')")
    report = history.check()
    assert [(each.kind, each.where, each.repair) for each in report.findings] == [
        ("index", CJK, "rebuild")
    ]
    assert sorted(each.name for each in Path(history.path).parent.glob(".*")) == []
    plan = history.repair()
    assert (plan.dry_run, plan.actions, plan.backup) == (True, (f"rebuild {CJK}",), None)
    done = repaired(history)
    assert done.backup is not None
    with History.open(done.backup) as before:
        assert not before.check().ok


def test_a_half_built_index_is_looked_into_by_samples(history: History) -> None:
    make_building(history, 60)
    history.append(Session("child", parent="old"), [message(1)])
    history.maintain(batch_size=20)
    report = history.check()
    assert report.ok, report.findings
    assert f"{CJK}: 40 messages looked up" in report.checked
    with raw(history) as connection:
        row = connection.execute("SELECT id, content FROM messages WHERE id = 1").fetchone()
        connection.execute(
            f"INSERT INTO {CJK} ({CJK}, rowid, content) VALUES ('delete', ?, ?)", row
        )
    assert [each.where for each in history.check().findings] == [CJK]
    repaired(history)


def test_a_detached_index_is_no_fault(path: Path, history: History) -> None:
    furnish(history)
    with History.open(path, load_extension=False) as plain:
        plain.amend("s", "u1", content="改")
        report = plain.check()
        assert report.ok, report.findings
        assert any(line.startswith(f"{CJK}: not looked into") for line in report.checked)


def test_damaged_leaves_of_an_index_are_told_from_damaged_messages(
    history: History,
) -> None:
    furnish(history)
    damage(history, CJK)
    assert [(each.kind, each.where) for each in history.check().findings] == [("index", CJK)]
    repaired(history)


def destroy_page(path: Path, table: str) -> None:
    """Overwrite a table's root page in a closed file."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    (page,) = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)
    ).fetchone() or (0,)
    (size,) = connection.execute("PRAGMA page_size").fetchone() or (0,)
    connection.close()
    with open(path, "r+b") as file:
        file.seek((int(str(page)) - 1) * int(str(size)))
        file.write(b"\xff" * int(str(size)))


@pytest.mark.parametrize("part", ["data", "idx"])
def test_a_destroyed_page_of_an_index_is_repaired_by_writing_the_file_anew(
    path: Path, part: str
) -> None:
    with History.open(path) as history:
        furnish(history)
    destroy_page(path, f"{CJK}_{part}")
    with History.open(path) as history:
        findings = history.check().findings
        assert {(each.kind, each.where, each.repair) for each in findings} == {
            ("index", CJK, "rebuild")
        }
        repaired(history)


def test_a_destroyed_page_of_an_index_does_not_stop_writes(path: Path) -> None:
    # Case 35, second half: only the index is out of use.
    with History.open(path) as history:
        furnish(history)
    destroy_page(path, f"{CJK}_data")
    with History.open(path) as history:
        assert history.append("s", [message(500)]).inserted == 1
        assert states(history) == {CJK: "detached", TRIGRAM: "ready"}


def test_a_search_that_meets_a_destroyed_page_tells_whose_it_is(path: Path) -> None:
    # Case 35: by the code where it tells, else by asking the index without the messages.
    with History.open(path) as history:
        furnish(history)
    destroy_page(path, f"{CJK}_data")
    with History.open(path) as history:
        answer = history.search("牙医")
        assert answer.count == 1
        assert answer.search_path != "cjk"
        assert states(history) == {CJK: "detached", TRIGRAM: "ready"}
        assert history.repair(dry_run=False).after is not None
    destroy_page(path, "messages")
    with History.open(path) as history:
        with pytest.raises(StorageUnavailable):
            history.search("牙医")
        assert states(history)[CJK] != "detached"


def test_damaged_messages_are_beyond_repair_and_left_alone(path: Path) -> None:
    with History.open(path) as history:
        furnish(history)
    destroy_page(path, "messages")
    before = path.read_bytes()
    with History.open(path) as history:
        report = history.check()
        assert [(each.kind, each.where, each.repair) for each in report.findings] == [
            ("file", "messages", None)
        ]
        done = history.repair(dry_run=False)
        assert done.actions == ()
        assert done.beyond_repair[0].startswith("messages:")
        assert done.backup is None
    assert path.read_bytes()[4096:] == before[4096:]  # the first page says which journal is used


def test_an_ordinary_index_that_lost_a_row_is_made_anew(history: History) -> None:
    furnish(history)
    with raw(history) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.execute("PRAGMA writable_schema = ON")
        # As a crash of a foreign tool would leave it: rows the index was not told of.
        row = connection.execute(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"
            " WHERE name = 'messages_by_time'"
        ).fetchone()
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'messages_by_time'")
        connection.execute("PRAGMA writable_schema = RESET")
    history.append("s", [message(900)])
    with raw(history) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("PRAGMA writable_schema = RESET")
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    (finding,) = history.check().findings
    assert (finding.where, finding.repair) == ("messages", "REINDEX")
    report = history.repair(dry_run=False)
    assert report.after is not None
    assert report.after.ok, report.after


def test_wrong_lineage_and_counters_are_found_and_set_right(history: History) -> None:
    furnish(history)
    history.append(Session("grandchild", parent="child"), [])
    with raw(history) as connection:
        connection.execute("UPDATE sessions SET root_id = id WHERE key = 'grandchild'")
        connection.execute("UPDATE sessions SET message_count = 7 WHERE key = 's'")
    kinds = [(each.kind, each.repair) for each in history.check().findings]
    assert kinds == [("lineage", "relink"), ("counts", "recount")]
    assert repaired(history).actions == ("relink sessions", "recount sessions")


def test_a_circle_of_sessions_is_found_and_opened(history: History) -> None:
    furnish(history)
    with raw(history) as connection:
        connection.execute(
            "UPDATE sessions SET parent_key = 'child', root_id = 99,"
            " parent_id = (SELECT id FROM sessions WHERE key = 'child') WHERE key = 's'"
        )
        connection.execute("UPDATE sessions SET root_id = 99")
    assert [each.kind for each in history.check().findings] == ["lineage"]
    repaired(history)


@pytest.mark.parametrize("change", ["trigger gone", "trigger changed", "table gone", "gaps"])
def test_an_index_whose_parts_are_not_as_they_should_be_is_built_anew(
    history: History, change: str
) -> None:
    furnish(history)
    with raw(history) as connection:
        if change == "table gone":
            connection.execute(f"DROP TABLE {CJK}")
        elif change == "gaps":
            connection.executemany(
                "INSERT INTO index_gaps VALUES (?, ?, ?)", [(CJK, 1, 5), (CJK, 3, 9)]
            )
        else:
            connection.execute(f"DROP TRIGGER {CJK}_insert")
            if change == "trigger changed":
                connection.execute(
                    f"CREATE TRIGGER {CJK}_insert AFTER INSERT ON messages BEGIN SELECT 1; END"
                )
    assert [(each.where, each.repair) for each in history.check().findings] == [(CJK, "rebuild")]
    repaired(history)


def test_a_repair_never_overwrites_a_file(history: History, tmp_path: Path) -> None:
    furnish(history)
    with raw(history) as connection:
        connection.execute("UPDATE sessions SET message_count = 7")
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(InvalidArgument, match="exists already"):
        history.repair(dry_run=False, backup=tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"
    assert not history.check().ok


def test_a_read_only_store_is_checked_and_not_repaired(path: Path) -> None:
    with History.open(path) as history:
        furnish(history)
        with raw(history) as connection:
            connection.execute("UPDATE sessions SET message_count = 7")
    with History.open(path, read_only=True) as history:
        assert [each.kind for each in history.check().findings] == ["counts"]
        assert history.repair().actions == ("recount sessions",)
        with pytest.raises(StorageUnavailable, match="read-only"):
            history.repair(dry_run=False)


def test_a_rebuilt_index_of_every_policy_is_sound(path: Path) -> None:
    with History.open(path, policy="all") as history:
        furnish(history)
        for definition in indexes.INDEXES:
            damage(history, definition.name)
        assert len(history.check().findings) == 3
        repaired(history)
