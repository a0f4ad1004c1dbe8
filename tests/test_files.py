# SPDX-License-Identifier: MIT
"""What is opened is a regular file of ours; what is not ours keeps its mode."""

from __future__ import annotations

import os
import socket
import stat
import sys
import urllib.parse
from pathlib import Path, PureWindowsPath
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemogram import History, StorageUnavailable
from mnemogram.sqlite.files import uri
from tests.history.support import fill, mode

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")


def make(kind: str, path: Path) -> None:
    if kind == "fifo":
        os.mkfifo(path, 0o644)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "directory":
        path.mkdir(mode=0o755)
    elif kind == "link to a fifo":
        os.mkfifo(path.with_name("fifo"), 0o644)
        path.symlink_to(path.with_name("fifo"))
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("kind", ["fifo", "socket", "directory", "link to a fifo", "device"])
def test_what_is_no_regular_file_is_refused_at_once_and_left_alone(
    tmp_path: Path, kind: str, read_only: bool
) -> None:
    path = tmp_path / "s"
    make(kind, path)
    before = os.stat(path)
    with pytest.raises(StorageUnavailable, match=r"a directory|not a regular file"):
        History.open(path, read_only=read_only)
    assert os.stat(path).st_mode == before.st_mode


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_nor_is_one_opened_beside_a_store(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "state.db"
    with History.open(path) as history:
        fill(history, 3)
    os.mkfifo(f"{path}{suffix}")
    for read_only in (False, True):
        with pytest.raises(StorageUnavailable, match="not a regular file"):
            History.open(path, read_only=read_only)


@pytest.mark.parametrize("content", [b"a text of somebody's\n" * 100, b"\0" * 5000, None])
def test_a_wrong_path_changes_nothing(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "other"
    if content is None:
        connection = apsw.Connection(str(path))
        connection.execute("CREATE TABLE theirs (a)")
        connection.close()
    else:
        path.write_bytes(content)
    os.chmod(path, 0o664)
    before = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
    with pytest.raises(StorageUnavailable):
        History.open(path)
    assert (path.read_bytes(), mode(path)) == before


def test_a_file_that_is_put_in_the_place_of_the_one_that_was_looked_at_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.db"
    for name in ("state.db", "second.db"):
        History.open(tmp_path / name).close()
    looked = os.stat(path)
    history = History.open(path)
    assert history._database._identity == (looked.st_dev, looked.st_ino)
    os.replace(tmp_path / "second.db", path)
    with pytest.raises(StorageUnavailable, match="replaced"):
        fill(history, 1)
    history.close()


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_the_uri_of_a_path_is_its_bytes_without_a_character_of_a_query(name: str) -> None:
    path = Path("/") / name.lstrip("/")
    made = uri(path)
    assert made.isascii()
    assert not set(made) & set("?#& ")
    assert urllib.parse.unquote_to_bytes(made) == b"file://" + os.fsencode(path.as_posix())


def test_a_path_of_windows_has_an_empty_host_in_its_uri() -> None:
    path: Any = PureWindowsPath(r"C:\some one\state.db")
    assert uri(path) == "file:///C:/some%20one/state.db"
