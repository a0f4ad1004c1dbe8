# SPDX-License-Identifier: MIT
"""On a full disk what frees room still goes; ids are not used up by what is not stored."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.harm.disk import Disk, Shim

from mnemogram import History, Message, StorageUnavailable
from mnemogram.history.index import state as indexes
from mnemogram.history.search.rank import count_rows
from tests.history.support import assert_sound, fill, finish


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    shim = Shim(disk)
    yield disk
    disk.room = None
    shim.unregister()


def large(path: Path) -> History:
    """A store of a few megabytes, all of it written into the file, with a WAL of its own."""
    history = History.open(path)
    chance = random.Random(1)
    for start in range(0, 900, 60):
        history.append(
            f"s{start % 180}",
            [
                Message(
                    "user", " ".join(f"w{chance.randrange(9_000)}" for _ in range(300)), uid=f"u{n}"
                )
                for n in range(start, start + 60)
            ],
        )
    finish(history)
    history.append("keep", [Message("user", "紫藤花架", uid="k")])
    assert history._database.make_room()
    return history


def test_writes_go_on_over_what_a_checkpoint_frees(tmp_path: Path, disk: Disk) -> None:
    with large(tmp_path / "state.db") as history:
        os.truncate(f"{history.path}-wal", 32 + 24 + 4096)
        disk.room = 300_000
        for number in range(300):
            history.end_session("s0", f"reason {number}")
        assert disk.refused
        disk.room = None
        assert history.check().ok
        assert_sound(history)


def test_a_session_is_deleted_where_hardly_a_byte_is_free(tmp_path: Path, disk: Disk) -> None:
    with large(tmp_path / "state.db") as history:
        os.truncate(f"{history.path}-wal", 32 + 24 + 4096)
        disk.room = 400_000
        done = history.delete_session("s0")
        assert done.existed
        assert done.messages == 300
        assert disk.refused > 2  # so it went piece by piece
        disk.room = None
        assert history.append("s0", [Message("user", "too late", uid="l")]).refused == 1
        assert history.search("紫藤花架").count == 1
        finish(history)
        assert history.check().ok
        assert_sound(history)
        assert history.search("紫藤花架").count == 1


def test_one_that_is_interrupted_is_finished_by_another_deletion(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with large(tmp_path / "state.db") as history:
        os.truncate(f"{history.path}-wal", 32 + 24 + 4096)
        disk.room = 100_000
        monkeypatch.setattr(history._database, "make_room", lambda: False)
        with pytest.raises(StorageUnavailable, match="full"):
            history.delete_session("s0")
        monkeypatch.undo()
        disk.room = 400_000
        assert history.delete_session("s0").existed
        disk.room = None
        assert history.check().ok
        assert not history.delete_session("s0").existed


def test_a_purge_gives_room_back_where_there_is_none_to_write_the_file_anew(
    tmp_path: Path, disk: Disk
) -> None:
    path = tmp_path / "state.db"
    with large(path) as history:
        history.append("secret", [Message("user", f"forgetmexq {n}", uid=str(n)) for n in range(9)])
        history._database.make_room()
        os.truncate(f"{history.path}-wal", 32 + 24 + 4096)
        disk.room = 400_000
        history.delete_session("secret")
        assert history.delete_session("s0").messages == 300
        done = history.purge()
        assert not done.complete
        assert "no room" in (done.hint or "")
        assert done.bytes_after < done.bytes_before
        assert disk.room > 400_000
        assert b"forgetmexq" not in path.read_bytes()
        disk.room = None
        assert history.purge().complete
        finish(history)
        assert history.check().ok
        assert_sound(history)


def test_a_replay_uses_up_no_ids(tmp_path: Path) -> None:
    with History.open(tmp_path / "state.db") as history:
        messages: list[Message] = []
        for number in range(120):
            messages.append(Message("user", f"text {number}", uid=f"u{number}"))
            ids = history.append("s", messages).ids
        assert ids == tuple(range(1, 121))
        history.append_many([("s", messages)] * 3)
        assert history.append("t", [Message("user", "the next", uid="n")]).ids == (121,)


def test_counts_are_of_messages_and_not_of_ids(tmp_path: Path) -> None:
    with History.open(tmp_path / "state.db") as history:
        fill(history, 10)
        with history._database.exclusive() as connection:
            connection.execute("UPDATE sqlite_sequence SET seq = 9000000 WHERE name = 'messages'")
        history.append("s", [Message("user", f"wort{n} hier", uid=f"w{n}") for n in range(40)])
        with history._database.read() as connection:
            assert indexes.count_about(connection) == 50
            assert indexes.id_span(connection) == (1, 9_000_040)
        history.delete_session("s")
        history.append("t", [Message("user", "gleiches wort", uid=f"w{n}") for n in range(2_500)])
        finish(history)
        with history._database.read() as connection:
            assert indexes.count_about(connection) == 2_500
            assert count_rows(connection, "messages_fts_cjk", "wort") == 2_500
            progress = history.maintain().progress
        assert progress == {}
        assert history.search("wor*", timeout=3.0).complete


def test_the_share_that_is_built_is_of_messages_and_not_of_ids(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with History.open(path, load_extension=False) as plain:
        fill(plain, 10)
        with plain._database.exclusive() as connection:
            connection.execute("UPDATE sqlite_sequence SET seq = 9000000 WHERE name = 'messages'")
        plain.append("s", [Message("user", f"wort{n} hier", uid=f"w{n}") for n in range(30)])
    with History.open(path) as history:
        history.maintain(batch_size=30)
        built = history.search("hier").index_status["building"]
        assert set(built.values()) <= {0.0, 0.75}
        assert built["messages_fts_cjk"] == 0.75
        finish(history)
        assert "building" not in history.search("hier").index_status
