# SPDX-License-Identifier: MIT
"""Indexes are built, left behind, caught up, damaged and replaced; messages never suffer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mnemogram import History, InvalidArgument, Message, StorageUnavailable, extension
from mnemogram._native import text_core
from mnemogram.history import file as base
from mnemogram.history.index import build as building
from mnemogram.history.index import state as indexes
from tests.history.support import (
    assert_sound,
    fill,
    finish,
    message,
    outcome,
    raw,
    start,
    states,
)

CJK = "messages_fts_cjk"
WORDS = "messages_fts"
TRIGRAM = "messages_fts_trigram"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History.open(path) as opened:
        yield opened


def make_building(history: History, count: int = 50) -> None:
    """Give the file messages that were stored before its indexes existed."""
    with raw(history) as connection:
        for name in (CJK, WORDS, TRIGRAM):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            for event in ("insert", "delete", "update"):
                connection.execute(f"DROP TRIGGER IF EXISTS {name}_{event}")
        connection.execute("DELETE FROM indexes")
    fill_unindexed(history, count)


def fill_unindexed(history: History, count: int) -> None:
    with raw(history) as connection:
        connection.execute(
            "INSERT INTO sessions (key, source, root_id, started_at, last_active_at,"
            " message_count) VALUES ('old', 'chat', 1, 0, 0, ?)",
            (count,),
        )
        row_id = connection.last_insert_rowid()
        connection.executemany(
            "INSERT INTO messages (session_id, role, timestamp, substring, uid, provenance,"
            " content) VALUES (?, ?, 0, ?, ?, 'observed', ?)",
            [
                (row_id, each.role, int(each.role != "tool"), each.uid, each.content)
                for each in map(message, range(count))
            ],
        )


# --- which are kept --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "trigram", "kept"),
    [
        ("auto", True, {CJK, TRIGRAM}),
        ("auto", False, {CJK}),
        ("portable", True, {CJK, WORDS, TRIGRAM}),
        ("all", True, {CJK, WORDS, TRIGRAM}),
        ("all", False, {CJK, WORDS}),
    ],
)
def test_a_policy_keeps_its_indexes_and_no_others(
    path: Path, policy: indexes.Policy, trigram: bool, kept: set[str]
) -> None:
    with History.open(path, policy=policy, trigram=trigram) as history:
        fill(history, 30)
        assert states(history) == dict.fromkeys(kept, "ready")
        assert_sound(history)


def test_without_the_tokenizer_the_stock_ones_serve(path: Path) -> None:
    with History.open(path, load_extension=False) as history:
        fill(history, 30)
        assert states(history) == {WORDS: "ready", TRIGRAM: "ready"}
        assert history.status().policy == "auto"
        assert_sound(history)


def test_a_policy_is_remembered_until_another_is_chosen(path: Path) -> None:
    with History.open(path, policy="all") as history:
        fill(history, 5)
    with History.open(path) as history:
        fill(history, 5, start=5)
        assert set(states(history)) == {CJK, WORDS, TRIGRAM}
    with History.open(path, policy="auto", trigram=False) as history:
        fill(history, 5, start=10)
        finish(history)
        assert states(history) == {CJK: "ready"}
    with History.open(path, policy="all", trigram=True) as history:
        finish(history)
        assert states(history) == {}.fromkeys((CJK, WORDS, TRIGRAM), "ready")
        assert_sound(history)


def test_an_unknown_policy_is_refused_before_anything_is_written(path: Path) -> None:
    with pytest.raises(InvalidArgument, match="index policy"):
        History.open(path, policy="everything")  # type: ignore[arg-type]


# --- building --------------------------------------------------------------------------


def test_building_goes_on_where_it_stopped_and_new_rows_are_indexed_at_once(
    history: History,
) -> None:
    make_building(history, 50)
    fill(history, 10, start=100)
    assert states(history) == {CJK: "building", TRIGRAM: "building"}
    assert_sound(history)
    steps = 0
    while True:
        result = history.maintain(batch_size=7)
        assert not result.failed
        assert_sound(history)
        steps += 1
        if not result.more:
            break
        fill(history, 1, start=200 + steps)
    assert states(history) == {CJK: "ready", TRIGRAM: "ready"}
    assert steps >= 14
    assert history.status().indexes[0].indexed == 59 + steps


def test_old_rows_that_change_while_an_index_is_half_built_leave_it_sound(
    history: History,
) -> None:
    make_building(history, 40)
    history.maintain(batch_size=10)
    for number in (3, 35):  # indexed already, and not yet
        history.amend("old", f"u{number}", content=f"改过的内容 {number}")
    with raw(history) as connection:
        connection.execute("DELETE FROM messages WHERE uid IN ('u4', 'u36')")
    assert_sound(history)
    finish(history, batch_size=10)
    assert_sound(history)


def test_a_batch_is_bounded_by_bytes_as_well_as_by_rows(history: History) -> None:
    make_building(history, 0)
    with raw(history) as connection:
        connection.execute(
            "INSERT INTO sessions (key, source, root_id, started_at, last_active_at)"
            " VALUES ('s', 'chat', 1, 0, 0)"
        )
        connection.executemany(
            "INSERT INTO messages (session_id, role, timestamp, substring, uid, provenance,"
            " content) VALUES (1, 'user', 0, 1, ?, 'observed', ?)",
            [(str(number), "长" * 10_000) for number in range(10)],
        )
    history._file.write(lambda connection: None)
    step = history._file.write(
        lambda connection: building.step(connection, CJK, max_rows=500, max_bytes=60_000)
    )
    assert step.rows == 2
    assert not step.done


def test_rows_an_index_does_not_see_are_walked_in_pieces_too(history: History) -> None:
    make_building(history, 30)
    with raw(history) as connection:
        connection.execute("UPDATE messages SET substring = 0")
    history._file.write(lambda connection: None)
    step = history._file.write(lambda connection: building.step(connection, TRIGRAM, max_rows=10))
    assert (step.rows, step.done) == (0, False)


def test_an_empty_history_has_nothing_to_build(history: History) -> None:
    fill(history, 0)
    assert finish(history) == 1
    assert states(history) == {CJK: "ready", TRIGRAM: "ready"}


def test_maintenance_alone_brings_a_file_up_to_date(path: Path) -> None:
    with History.open(path, load_extension=False) as plain:
        fill(plain, 30)
    with History.open(path) as history:
        finish(history, batch_size=10)
        assert states(history)[CJK] == "ready"
        assert_sound(history)


def test_appends_alone_bring_an_index_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with History.open(path, load_extension=False) as plain:
        fill(plain, 3 * base._HELP_ROWS)
    monkeypatch.setattr(base, "HELP_INTERVAL", 0.0)
    monkeypatch.setattr(base, "_HELP_SHARE", 0.0)
    with History.open(path) as history:
        for number in range(30):
            history.append("t", [message(number)])
        assert states(history)[CJK] == "ready"
        assert_sound(history)
        assert not history._file.index_work_due


def test_appends_help_no_more_often_than_they_may(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with History.open(path, load_extension=False) as plain:
        fill(plain, 10)
    steps = []
    monkeypatch.setattr(base, "HELP_INTERVAL", 3_600.0)
    monkeypatch.setattr(base, "_help", lambda connection: steps.append(1))
    with History.open(path) as history:
        history._file.next_help = 0.0
        for number in range(10):
            history.append("t", [message(number)])
    assert len(steps) == 1


# --- with and without the tokenizer ----------------------------------------------------


def test_a_process_without_the_tokenizer_writes_and_only_the_gap_is_filled_later(
    path: Path, history: History
) -> None:
    fill(history, 20)
    with History.open(path, load_extension=False) as plain:
        fill(plain, 5, start=20)
        plain.amend("s", "u3", content="没有分词器时改的")
        with raw(plain) as connection:
            connection.execute("DELETE FROM messages WHERE uid IN ('u4', 'u22')")
        assert states(plain)[CJK] == "detached"
        report = plain.status().indexes[0]
        assert report.reason is not None
        assert "without the tokenizer" in report.reason
    fill(history, 1, start=30)
    assert states(history)[CJK] == "building"
    assert_sound(history)
    result = history.maintain()
    assert result.parts[0].done == 4
    finish(history)
    assert states(history)[CJK] == "ready"
    assert_sound(history)


def test_a_writer_that_was_open_before_the_tokenizer_came_keeps_writing(path: Path) -> None:
    # Case 37: opened first, writes last, and never had the tokenizer.
    plain = History.open(path, load_extension=False)
    fill(plain, 10)
    with History.open(path) as history:
        fill(history, 10, start=10)
        finish(history)
        fill(plain, 10, start=20)
        assert states(history)[CJK] == "detached"
        finish(history)
        assert states(history)[CJK] == "ready"
        assert history.status().messages == 30
        assert_sound(history)
    plain.close()


def test_an_index_that_is_detached_while_it_is_built_goes_on_where_it_was(
    path: Path, history: History
) -> None:
    make_building(history, 40)
    history.maintain(batch_size=10)
    for _ in range(2):
        with History.open(path, load_extension=False) as plain:
            plain.end_session("old", "idle")  # a write that adds no message
        assert states(history)[CJK] == "detached"
        history.maintain(batch_size=5)
        assert states(history)[CJK] == "building"
        assert_sound(history)
    finish(history)
    assert_sound(history)


def test_many_changes_made_without_the_tokenizer_are_made_good_in_pieces(
    path: Path, history: History
) -> None:
    count = indexes.PAID_AT_ONCE * 3
    fill(history, count)
    with History.open(path, load_extension=False) as plain:
        for number in range(count):
            plain.amend("s", f"u{number}", content=f"改 {number}")
    fill(history, 1, start=count)
    assert states(history)[CJK] == "detached"
    with raw(history) as connection:
        before = connection.one("SELECT count(*) FROM index_debts WHERE name = ?", (CJK,))
        assert before == count
    history.maintain(batch_size=20)
    with raw(history) as connection:
        after = connection.one("SELECT count(*) FROM index_debts WHERE name = ?", (CJK,))
        assert after == count - 20
    finish(history)
    assert states(history)[CJK] == "ready"
    assert_sound(history)


def test_too_many_changes_make_a_detached_index_worthless_rather_than_large(
    path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "MOST_DEBTS", 10)
    fill(history, 30)
    with History.open(path, load_extension=False) as plain:
        for number in range(12):
            plain.amend("s", f"u{number}", content="x")
        with raw(plain) as connection:
            assert connection.one("SELECT count(*) FROM index_debts") <= 12
            assert connection.one("SELECT count(*) FROM index_debts WHERE name = ?", (CJK,)) == 0
        finish(plain)
    finish(history)
    assert_sound(history)


def test_two_kinds_of_process_do_not_drop_each_others_indexes(path: Path) -> None:
    with History.open(path) as history, History.open(path, load_extension=False) as plain:
        for round_ in range(4):
            fill(history, 3, start=round_ * 10)
            finish(history)
            assert states(history)[CJK] == "ready"
            fill(plain, 3, start=round_ * 10 + 5)
            finish(plain)
            assert states(plain)[WORDS] == "ready"
            assert_sound(plain)
        finish(history)
        assert states(history)[WORDS] == "ready"
        assert_sound(history)


def test_the_stock_index_goes_once_nobody_needs_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with History.open(path, load_extension=False) as plain:
        fill(plain, 10)
    monkeypatch.setattr(indexes, "_GRACE_US", 0)
    with History.open(path) as history:
        finish(history)
        assert states(history) == {CJK: "ready", TRIGRAM: "ready"}
        assert_sound(history)


def test_a_tokenizer_that_never_comes_back_leaves_its_place_to_the_stock_one(
    path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(history, 10)
    history.close()
    with History.open(path, load_extension=False) as plain:
        fill(plain, 1, start=10)
        monkeypatch.setattr(indexes, "_GRACE_US", 0)
        fill(plain, 1, start=11)
        finish(plain)
        assert states(plain)[TRIGRAM] == "ready"
        assert states(plain)[WORDS] == "ready"
        assert_sound(plain)
        with raw(plain) as connection:
            (tokenizer,) = connection.execute(
                "SELECT tokenizer FROM indexes WHERE name = ?", (TRIGRAM,)
            ).fetchone()
        assert tokenizer == "trigram"


@pytest.mark.parametrize("library", ["missing", "empty", "text", "truncated", "foreign"])
def test_a_library_that_cannot_be_used_is_named_and_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    # Case 41.
    real = Path(extension.path())
    file = tmp_path / real.name
    contents = {
        "empty": b"",
        "text": b"not a library",
        "truncated": real.read_bytes()[:2_000],
        "foreign": Path(text_core.__file__).read_bytes(),
    }
    if library in contents:
        file.write_bytes(contents[library])
    monkeypatch.setenv(extension.ENVIRONMENT_VARIABLE, str(file))
    with History.open(tmp_path / "state.db") as history:
        fill(history, 30)
        status = history.status()
        assert status.tokenizer is None
        assert str(file) in (status.tokenizer_error or "")
        assert states(history) == {WORDS: "ready", TRIGRAM: "ready"}
        for word in ("牙医", "job_new1", "東京都"):
            assert history.search(word, roles=("user", "assistant", "tool")).count == 1
        assert not finish(history) > 2
        assert_sound(history)


# --- other versions --------------------------------------------------------------------


@pytest.mark.parametrize("column", ["token_version", "projection_version"])
def test_an_index_made_by_older_rules_is_built_anew(history: History, column: str) -> None:
    fill(history, 20)
    with raw(history) as connection:
        connection.execute(f"UPDATE indexes SET {column} = {column} - 1 WHERE name = ?", (CJK,))
    fill(history, 1, start=20)
    assert states(history)[CJK] == "detached"
    finish(history)
    assert states(history)[CJK] == "ready"
    assert_sound(history)
    with raw(history) as connection:
        found = connection.one("SELECT min(token_version) FROM indexes WHERE name = ?", (CJK,))
        assert found == text_core.RULES_VERSION


@pytest.mark.parametrize("column", ["token_version", "projection_version"])
def test_an_index_of_a_newer_release_is_neither_used_nor_taken_down(
    history: History, column: str
) -> None:
    fill(history, 20)
    with raw(history) as connection:
        ours = connection.one(f"SELECT {column} FROM indexes WHERE name = ?", (CJK,))
        connection.execute(f"UPDATE indexes SET {column} = 99 WHERE name = ?", (CJK,))
    fill(history, 5, start=20)
    history.amend("s", "u1", content="改过")
    finish(history)
    with raw(history) as connection:
        assert connection.one("SELECT count(*) FROM messages_fts_cjk_data") > 0
        row = connection.execute(
            f"SELECT state, {column}, reason FROM indexes WHERE name = ?", (CJK,)
        ).fetchone()
        assert row is not None
        assert row[:2] == ("detached", 99)
        assert "newer release" in str(row[2])
        # Then the newer release comes back, which makes good only what it missed.
        connection.execute(f"UPDATE indexes SET {column} = ? WHERE name = ?", (ours, CJK))
    result = history.maintain()
    assert result.parts[0].done == 5
    finish(history)
    assert states(history)[CJK] == "ready"
    assert_sound(history)


# --- damage ----------------------------------------------------------------------------


def damage(history: History, table: str) -> None:
    """Overwrite an index's leaves: what FTS5 itself must notice."""
    with raw(history) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.execute(
            f"UPDATE {table}_data SET block = randomblob(length(block)) WHERE id > 10"
        )
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def damage_structure(history: History, table: str) -> None:
    with raw(history) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        connection.execute(f"UPDATE {table}_data SET block = x'00' WHERE id = 10")
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


@pytest.mark.parametrize("table", [CJK, TRIGRAM, WORDS])
def test_a_write_into_a_damaged_index_succeeds_and_detaches_that_one_alone(
    path: Path, table: str
) -> None:
    with History.open(path, policy="all") as history:
        fill(history, 30)
    with History.open(path) as history:
        damage_structure(history, table)
    with History.open(path) as history:
        result = history.append("s", [message(100)])
        assert result.inserted == 1
        others = {CJK, TRIGRAM, WORDS} - {table}
        assert states(history) == {table: "detached", **dict.fromkeys(others, "ready")}
        reasons = {each.name: each.reason for each in history.status().indexes}
        assert reasons[table] == "found damaged"
        assert history.status().messages == 31
        finish(history)
        assert states(history) == dict.fromkeys({CJK, TRIGRAM, WORDS}, "ready")
        assert_sound(history)


@pytest.mark.parametrize("table", [CJK, TRIGRAM])
def test_a_write_succeeds_though_an_index_is_gone(history: History, table: str) -> None:
    fill(history, 30)
    with raw(history) as connection:
        connection.execute(f"DROP TABLE {table}")
    assert history.append("s", [message(100)]).inserted == 1
    assert states(history)[table] == "detached"
    finish(history)
    assert states(history) == {CJK: "ready", TRIGRAM: "ready"}
    assert_sound(history)


def test_damage_met_while_building_does_not_stop_the_other_index(history: History) -> None:
    make_building(history, 30)
    history._file.write(lambda connection: None)
    damage_structure(history, CJK)
    for _ in range(40):
        if not history.maintain(batch_size=10).more:
            break
    assert states(history) == {CJK: "ready", TRIGRAM: "ready"}
    assert_sound(history)


def test_a_reader_that_finds_damage_goes_on_and_takes_the_index_out_of_use(
    history: History,
) -> None:
    fill(history, 30)
    damage(history, CJK)
    result = history.search("牙医", roles=("user", "assistant", "tool"))
    assert result.count == 1
    assert result.search_path != "cjk"
    assert result.index_status == {CJK: False, WORDS: False, TRIGRAM: True}
    assert states(history) == {CJK: "detached", TRIGRAM: "ready"}
    finish(history)
    assert history.search("牙医", roles=("user", "assistant", "tool")).search_path == "cjk"
    assert_sound(history)


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("amber quay", "s7"),  # strict, then scored
        ("in the harbour we painted the amber quay", "s7"),  # a sentence that one message holds
        ("who painted the amber quay of word123 green", "s7"),  # one that none holds
        ("word12 word34 nowhere", None),
    ],
)
def test_a_leaf_that_is_damaged_is_met_at_any_step_and_stops_no_search(
    path: Path, asked: str, first: str | None
) -> None:
    with History.open(path, synchronous="normal") as history:
        history.append_many(
            (f"f{number}", [Message("user", " ".join(f"word{number * 7 + n}" for n in range(12)))])
            for number in range(300)
        )
        history.append("s7", [Message("user", "In the harbour we painted the amber quay.")])
        with raw(history) as connection:
            leaves = connection.execute(f"SELECT id FROM {CJK}_data WHERE id > 10").fetchall()
    whole = path.read_bytes()
    met = 0
    for (leaf,) in leaves:
        path.write_bytes(whole)
        with History.open(path) as history:
            with raw(history) as connection:
                connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
                connection.execute(f"UPDATE {CJK}_data SET block = x'00' WHERE id = ?", (leaf,))
            answer = history.search(asked, limit=10)
            assert answer.count > 0
            if first is not None:
                assert answer.results[0].session_id == first
            if states(history)[CJK] == "detached":
                met += 1
                assert answer.search_path not in ("cjk", "cjk_or")
                assert answer.index_status[CJK] is False
                assert f"{CJK} was found damaged" in (answer.hint or "")
            else:
                assert answer.index_status[CJK] is True
    assert met > 0


def test_damage_met_while_debts_are_paid_does_not_stop_the_write(
    path: Path, history: History
) -> None:
    fill(history, 30)
    with History.open(path, load_extension=False) as plain:
        plain.amend("s", "u1", content="changed")
    damage_structure(history, CJK)
    history.close()
    with History.open(path) as again:
        assert again.append("s", [message(100)]).inserted == 1
        assert states(again)[CJK] == "detached"
        finish(again)
        assert states(again)[CJK] == "ready"
        assert_sound(again)


def test_a_reader_that_finds_damage_waits_for_no_lock(path: Path) -> None:
    with History.open(path) as history:
        fill(history, 30)
        damage(history, CJK)
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        assert history.search("牙医", timeout=2.0).count == 1
        assert states(history)[CJK] == "ready"
        other.close()
        assert history.search("牙医").count == 1
        assert states(history)[CJK] == "detached"


def test_structural_damage_is_reported_and_nothing_is_reset(path: Path) -> None:
    with History.open(path) as history:
        fill(history, 300)
        with raw(history) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            page = connection.one("SELECT rootpage FROM sqlite_schema WHERE name = 'messages'")
            size = connection.one("PRAGMA page_size")
    with open(path, "r+b") as file:
        file.seek((int(page) - 1) * int(size))
        file.write(b"\xff" * int(size))
    before = path.read_bytes()
    with History.open(path) as history:
        with pytest.raises(StorageUnavailable) as caught:
            fill(history, 1, start=1_000)
        assert caught.value.code == "storage_unavailable"
        assert "backup" in caught.value.hint
        with pytest.raises(StorageUnavailable):
            history.read("s")
        assert states(history) == {CJK: "ready", TRIGRAM: "ready"}
    assert len(path.read_bytes()) == len(before)


# --- taking down, merging --------------------------------------------------------------


def test_a_worthless_table_is_taken_down_in_pieces(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_SHADOW_ROWS", 3)
    for number in range(12):
        fill(history, 20, start=number * 20)
    history._file.write(lambda connection: indexes.mark_for_rebuild(connection, CJK, "test"))
    pieces = 0
    while True:
        step = history._file.write(lambda connection: building.step(connection, CJK))
        if step.work != "take down":
            break
        assert step.rows <= 3
        pieces += 1
        fill(history, 1, start=1_000 + pieces)
    assert pieces > 2
    finish(history)
    assert_sound(history)


def test_merging_is_done_in_bounded_steps_until_nothing_is_left(history: History) -> None:
    fill(history, 1, start=10_000)
    with raw(history) as connection:  # as a writer that left merging to others
        connection.execute(f"INSERT INTO {CJK} ({CJK}, rank) VALUES ('automerge', 0)")
    for number in range(60):
        fill(history, 20, start=number * 20)
    parts = []
    for _ in range(50):
        result = history.maintain()
        parts += [each.part for each in result.parts]
        if not result.more:
            break
    assert "merge" in parts
    assert history.maintain().parts == ()
    assert_sound(history)


def test_indexing_one_session_over_and_over_leaves_the_index_bounded(history: History) -> None:
    fill(history, 10)
    finish(history)
    sizes = []
    for round_ in range(500):
        history.amend("s", f"u{round_ % 10}", content=f"明早九点预约牙医复诊 {round_}")
        if round_ % 50 == 49:
            finish(history)
            sizes.append(history.status().indexes[0].bytes or 0)
    assert max(sizes) < 400_000
    assert_sound(history)


# --- several maintainers ---------------------------------------------------------------


def test_two_processes_share_the_building_of_an_index(path: Path, history: History) -> None:
    make_building(history, 400)
    code = """
        import sys
        from mnemogram import History
        with History.open(sys.argv[1]) as history:
            print(history.upkeep(batch_size=20, shortest_pause=0.0))
    """
    steps = [int(outcome(each)) for each in [start(code, path) for _ in range(2)]]
    assert sum(steps) >= 40
    assert states(history) == {CJK: "ready", TRIGRAM: "ready"}
    assert_sound(history)
