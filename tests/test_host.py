# SPDX-License-Identifier: MIT
"""One root, many users: kept apart, opened once, closed when nobody needs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemogram
from mnemogram import (
    History,
    InvalidArgument,
    Message,
    Mnemogram,
    NotFound,
    SceneMemory,
    StorageUnavailable,
    StoreClosed,
    Triple,
)
from mnemogram.history.models import Status
from tests.history.support import fill


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Mnemogram]:
    with mnemogram.open(tmp_path / "root") as opened:
        yield opened


def test_a_user_is_opened_once_and_the_same_id_gives_the_same_store(home: Mnemogram) -> None:
    assert home.history("u1") is home.history(" u1 ")
    assert home.history("u1") is not home.history("u2")


def test_users_never_see_each_other(home: Mnemogram) -> None:
    ids = ("u1", "u10", "an_a", "anxa", "../u2", "用户/一", "a\0b")
    for number, each in enumerate(ids):
        home.history(each).append(f"session-{number}", [Message("user", f"secretword{number}")])
    for number, each in enumerate(ids):
        history = home.history(each)
        assert history.search("secretword*").count == 1
        assert history.read(f"session-{number}").message_count == 1
        foreign = f"session-{(number + 1) % len(ids)}"
        with pytest.raises(NotFound) as caught:
            history.read(foreign)
        with pytest.raises(NotFound) as unknown:
            history.read("never-there")
        assert str(caught.value).replace(foreign, "X") == str(unknown.value).replace(
            "never-there", "X"
        )
    assert len(home.users()) == len(ids)
    assert {each.name for each in home.root.iterdir()} == {"users"}


def test_the_least_used_store_falls_out_and_comes_back_whole(tmp_path: Path) -> None:
    with mnemogram.open(tmp_path, max_open=2) as home:
        held = home.history("u0")
        for number in range(5):
            fill(home.history(f"u{number}"), 2)
        fill(held, 1, start=7)  # still usable for who holds it
        assert home.history("u0") is not held
        assert home.history("u0").status().messages == 3


def test_a_slow_opening_keeps_no_other_user_waiting(
    home: Mnemogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, go_on = threading.Event(), threading.Event()
    real = History.open.__func__  # type: ignore[attr-defined]

    def slow(cls: type[History], path: Path, **options: object) -> History:
        if path.parent.name == mnemogram.sqlite.database.user_key("slow"):
            opening.set()
            assert go_on.wait(30)
        return real(cls, path, **options)  # type: ignore[no-any-return]

    monkeypatch.setattr(History, "open", classmethod(slow))
    found: list[History] = []
    threads = [
        threading.Thread(target=lambda: found.append(home.history("slow"))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    assert opening.wait(30)
    fill(home.history("quick"), 1)
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_deleting_a_user_removes_everything_and_may_be_repeated(
    home: Mnemogram, tmp_path: Path
) -> None:
    fill(home.history("u1"), 3)
    fill(home.history("u2"), 3)
    assert home.delete_user("u1")
    assert not home.delete_user("u1")
    assert home.users() == (mnemogram.sqlite.database.user_key("u2"),)
    assert home.history("u2").status().messages == 3
    assert home.history("u1").status().messages == 0


def test_a_deletion_that_failed_half_way_is_finished_by_the_next(
    home: Mnemogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(home.history("u1"), 3)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda path: (_ for _ in ()).throw(OSError(5, "I/O error")))
        with pytest.raises(StorageUnavailable):
            home.delete_user("u1")
    assert home.users() == ()
    assert home.delete_user("u1")
    assert list((home.root / "users").iterdir()) == []


def test_a_store_of_a_deleted_user_that_is_still_held_writes_nowhere(
    home: Mnemogram, tmp_path: Path
) -> None:
    with mnemogram.open(home.root) as other:
        held = other.history("u1")
        fill(held, 3)
        home.delete_user("u1")
        with pytest.raises(StorageUnavailable, match="moved, deleted or replaced"):
            fill(held, 1, start=9)
    assert home.users() == ()


def test_a_closed_host_opens_nothing_and_has_closed_its_stores(tmp_path: Path) -> None:
    home = mnemogram.open(tmp_path)
    history = home.history("u1")
    home.close()
    home.close()
    assert history.closed
    for call in (home.history, home.delete_user):
        with pytest.raises(StoreClosed):
            call("u1")


def test_a_bound_of_no_stores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="max_open"):
        mnemogram.open(tmp_path, max_open=0)


def test_a_history_is_looked_after_by_its_key_alone(home: Mnemogram) -> None:
    fill(home.history("u1"), 3)
    (key,) = home.users()
    with home.history_of_key(key) as shared:
        assert shared is home.history("u1")
    assert not shared.closed
    with mnemogram.open(home.root) as other:
        with other.history_of_key(key) as opened:
            assert opened.status().messages == 3
        assert opened.closed
        for wrong in ("../../etc", "0" * 63, key.upper()):
            with pytest.raises(InvalidArgument), other.history_of_key(wrong):
                pass
        with pytest.raises(NotFound), other.history_of_key("0" * 64):
            pass
    assert home.users() == (key,)


@pytest.mark.parametrize("kind", ["history", "memory"])
def test_a_user_that_another_process_deleted_or_restored_is_opened_anew(
    tmp_path: Path, kind: str
) -> None:
    with mnemogram.open(tmp_path) as home, mnemogram.open(tmp_path) as other:

        def ask(host: Mnemogram) -> History | SceneMemory:
            return host.history("u1") if kind == "history" else host.memory("u1")

        def put(host: Mnemogram, text: str) -> None:
            if kind == "history":
                host.history("u1").append("s", [Message("user", text, uid=text)])
            else:
                host.memory("u1").commit([Triple(text, "is", text)])

        def count(host: Mnemogram) -> int:
            status = ask(host).status()
            return status.messages if isinstance(status, Status) else status.relations

        put(home, "apple")
        held = ask(home)
        copy = held.backup(tmp_path / "copy.db")
        other.delete_user("u1")
        with pytest.raises(StorageUnavailable):
            held.status()
        assert count(home) == 0
        put(home, "pear")
        put(home, "plum")
        assert count(home) == 2
        held = ask(home)
        other.delete_user("u1")
        assert count(other) == 0
        target = Path(ask(other).path)
        other.close()
        shutil.copy(copy, target.with_name("new"))
        os.replace(target.with_name("new"), target)
        assert count(home) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_host_opens_its_stores_anew(tmp_path: Path) -> None:
    code = """
import os, sys
import mnemogram
from mnemogram import Message
home = mnemogram.open(sys.argv[1])
home.history("u").append("s", [Message("user", "apple", uid="1")])
child = os.fork()
if child == 0:
    home.history("u").append("s", [Message("user", "pear", uid="2")])
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert home.history("u").status().messages == 2
assert home.history("u").check().ok
"""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
