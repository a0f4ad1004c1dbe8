# SPDX-License-Identifier: MIT
"""A damaged part of an index costs that index, for a while; a repair always ends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mnemogram import History, Message, MnemogramError, StorageUnavailable
from mnemogram.history.index import build as building
from mnemogram.sqlite.database import Connection
from tests.history.support import assert_sound, fill, finish, message, raw, states

CJK = "messages_fts_cjk"
TRIGRAM = "messages_fts_trigram"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History.open(path) as opened:
        fill(opened, 60)
        opened.append("gone", [message(number) for number in range(60, 70)])
        opened.delete_session("gone")
        yield opened


def made_at(history: History, name: str) -> int:
    with raw(history) as connection:
        return int(connection.one("SELECT changed_at FROM indexes WHERE name = ?", (name,)))


def harm(path: Path, statement: str) -> None:
    """Do to an index what nobody should, past SQLite's own defences."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(statement)
    connection.close()


HARMS = (
    f"UPDATE {CJK}_config SET v = 99 WHERE k = 'version'",
    f"UPDATE {CJK}_config SET v = 'x' WHERE k = 'version'",
    f"DELETE FROM {CJK}_config",
    f"DROP TABLE {CJK}_config",
    f"DROP TABLE {CJK}_data",
    f"DROP TABLE {CJK}_idx",
    f"DELETE FROM {CJK}_data",
    f"DELETE FROM {CJK}_data WHERE id = 10",
    f"UPDATE {CJK}_data SET block = NULL",
    f"UPDATE {CJK}_idx SET pgno = 0",
    f"UPDATE sqlite_schema SET sql = replace(sql, 'cjk_unicode61', 'nosuch') WHERE name = '{CJK}'",
    f"DELETE FROM sqlite_schema WHERE name = '{CJK}'",
    f"DELETE FROM sqlite_schema WHERE name = '{CJK}_data'",
)
#: What looks like an index that holds nothing: only a check can tell.
SILENT = f"UPDATE {CJK}_data SET block = x'ffff' WHERE id = 10"


def mended(history: History) -> None:
    done = history.repair(dry_run=False)
    assert not done.failed
    assert done.after is not None
    assert done.after.ok, done.after


@pytest.mark.parametrize("statement", HARMS)
def test_every_call_goes_on_without_it_and_upkeep_builds_it_anew(
    history: History, path: Path, statement: str
) -> None:
    other = made_at(history, TRIGRAM)
    history.close()
    harm(path, statement)
    with History.open(path) as again:
        assert again.search("牙医").count == 1
        again.append("s", [message(100, content="紫藤花架")])
        assert again.search("紫藤花架").count == 1
        finish(again)
        assert_sound(again)
        # Pages that nobody could give back are lost until the file is written anew.
        assert {each.repair for each in again.check().findings} <= {"VACUUM"}
        assert again.search("牙医").count == 1
        assert states(again) == {CJK: "ready", TRIGRAM: "ready"}
        assert made_at(again, TRIGRAM) == other


def test_what_no_search_can_tell_is_found_by_a_check(history: History, path: Path) -> None:
    history.close()
    harm(path, SILENT)
    with History.open(path) as again:
        assert not again.check().ok
        mended(again)
        assert again.search("牙医").count == 1
        assert_sound(again)


@pytest.mark.parametrize("statement", HARMS)
@pytest.mark.parametrize("way", ["repair", "purge", "maintain"])
def test_upkeep_mends_it_where_nobody_searched_and_leaves_the_good_one(
    history: History, path: Path, statement: str, way: str
) -> None:
    other = made_at(history, TRIGRAM)
    history.close()
    harm(path, statement)
    with History.open(path) as again:
        if way == "repair":
            mended(again)
        elif way == "purge":
            assert again.purge().complete
        finish(again)
        assert again.search("牙医").count == 1
        again.append("s", [message(101)])
        finish(again)
        assert made_at(again, TRIGRAM) == other
        if not again.check().ok:
            # What nothing that was done needed is found by the check.
            assert way != "repair"
            mended(again)
        assert_sound(again)


def pages(path: Path) -> int:
    return path.stat().st_size // 4096


def swap(path: Path, one: int, other: int) -> None:
    data = bytearray(path.read_bytes())
    first, second = (slice((page - 1) * 4096, page * 4096) for page in (one, other))
    data[first], data[second] = data[second], data[first]
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(12))
def test_a_repair_of_swapped_pages_ends_with_a_result(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with History.open(path, policy="all") as history:
        for start in range(0, 200, 20):
            fill(history, 20, session=f"s{start % 60}", start=start)
    swap(path, *chance.sample(range(2, pages(path) + 1), 2))
    try:
        opened = History.open(path, policy="all")
    except StorageUnavailable:
        return  # the schema itself
    with opened as history:
        done = history.repair(dry_run=False)
        assert done.after is not None
        if not done.beyond_repair and not done.failed:
            assert done.after.ok, done.after
            finish(history)
            assert_sound(history)
        else:
            assert not done.after.ok


def test_an_index_that_fails_however_often_it_is_built_ends_with_an_error(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw(history) as connection:
        connection.execute(f"UPDATE indexes SET state = 'building' WHERE name = '{CJK}'")
        connection.execute("INSERT INTO index_gaps VALUES (?, 0, 60)", (CJK,))
    real = building._fill

    def fails(connection: Connection, definition: object, *rest: object) -> object:
        with building.blaming(CJK):
            raise apsw.CorruptError("free pages are damaged")
        return real

    monkeypatch.setattr(building, "_fill", fails)
    for _ in range(40):
        if not history.maintain().more:
            break
    assert history.maintain().failed == ("index",)
    done = history.repair(dry_run=False)
    assert done.after is not None
    history.purge()
    assert history.append("s", [message(200)]).inserted == 1


def test_pages_used_twice_are_given_back_by_nobody(history: History, path: Path) -> None:
    with raw(history) as connection:
        root = connection.one("SELECT rootpage FROM sqlite_schema WHERE name = 'messages_in_order'")
    history.close()
    harm(path, f"UPDATE sqlite_schema SET rootpage = {root} WHERE name = '{CJK}_idx'")
    with History.open(path) as again:
        done = again.repair(dry_run=False)
        assert done.actions == ()
        assert done.beyond_repair[0].startswith("pages used twice")
        # Nor where nobody checked: the index is forgotten, not walked.
        with again._database.write() as connection:
            building.indexes.mark_for_rebuild(connection, CJK, building.indexes.UNSOUND)
        finish(again)
        assert again.read("s").message_count == 60
        with raw(again) as connection:
            assert connection.one("PRAGMA integrity_check('messages')") == "ok"


def test_a_message_whose_session_is_lost_is_found_again(history: History, path: Path) -> None:
    history.close()
    harm(path, "DELETE FROM sessions WHERE key = 's'")
    with History.open(path) as again:
        (finding, *_) = again.check().findings
        assert finding.repair == "reattach"
        done = again.repair(dry_run=False)
        assert done.after is not None
        assert done.after.ok, done.after
        (hit,) = again.search("牙医").results
        assert hit.session_id.startswith("recovered-")


def test_numbers_that_are_none_cost_nothing(history: History, path: Path) -> None:
    history.close()
    harm(path, "UPDATE meta SET value = 'odd'")
    harm(path, "INSERT OR REPLACE INTO meta VALUES ('unmerged_deletions', 'odd')")
    harm(path, "INSERT OR REPLACE INTO meta VALUES ('plain_writer_at', 'odd')")
    harm(path, "INSERT OR REPLACE INTO meta VALUES ('legacy_imported', 'odd')")
    harm(path, "UPDATE sqlite_sequence SET seq = 'odd'")
    with History.open(path) as again:
        again.status()
        again.append("s", [message(100)])
        again.delete_session("s")
        finish(again)
        again.purge()
        assert again.check().ok


def test_a_value_that_cannot_be_is_damage_in_a_damaged_file_and_an_error_of_the_caller_else(
    history: History, path: Path
) -> None:
    with pytest.raises(TypeError), history._database.read():
        raise TypeError("the caller's")
    with raw(history) as connection:
        root = int(connection.one("SELECT rootpage FROM sqlite_schema WHERE name = 'messages'"))
    history.close()
    with open(path, "r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\0" * 4096)
    with History.open(path) as again:
        with pytest.raises(StorageUnavailable, match="damaged"), again._database.read():
            raise TypeError("'NoneType' is no number")
        with pytest.raises(MnemogramError):
            again.read("s")


def test_a_count_that_meets_damage_says_the_least_and_names_the_index(
    history: History, path: Path
) -> None:
    history.append_many((f"s{number}", [Message("user", "needle " * 600)]) for number in range(120))
    finish(history)
    # A part of the oldest matches, which a search for the newest never reads.
    harm(
        path,
        f"UPDATE {CJK}_data SET block = x'00000000' WHERE id = (SELECT id FROM {CJK}_data"
        f" WHERE length(block) > 3900 ORDER BY id LIMIT 1 OFFSET 2)",
    )
    newest = history.search("needle", sort="newest")
    assert newest.count == 3
    assert newest.index_status[CJK] is True
    counted = history.search("needle", sort="newest", estimate=True)
    assert counted.count == 3
    assert not counted.about_exact
    assert counted.about is not None
    assert counted.about >= 3
    assert counted.index_status[CJK] is not True
    assert f"The index {CJK} was found damaged" in str(counted.hint)
    mended(history)
    finish(history)
    assert history.search("needle", sort="newest", estimate=True).about == 120
