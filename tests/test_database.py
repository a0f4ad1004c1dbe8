# SPDX-License-Identifier: MIT
"""Opening files: private, patient, bounded in time, and clear about what is wrong."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import mnemogram
from mnemogram import (
    Busy,
    History,
    InvalidArgument,
    Message,
    QueryTimeout,
    SchemaTooNew,
    StorageUnavailable,
    StoreClosed,
)
from mnemogram.history.schema import STEPS
from mnemogram.sqlite import database as databases
from mnemogram.sqlite.database import (
    Connection,
    Database,
    Schema,
    deadline,
    user_directory,
    user_key,
)
from mnemogram.sqlite.files import private_directory
from tests.history.support import fill, mode, outcome, raw, start, wait_until_ready

SLOW = "WITH RECURSIVE c (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


def _create(connection: Connection, version: int) -> None:
    connection.execute("CREATE TABLE t (x)")


SCHEMA = Schema(application_id=77, version=3, upgrade=_create)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    with Database(path, SCHEMA, load_extension=False) as opened:
        yield opened


# --- users -----------------------------------------------------------------------------


def test_a_user_key_is_a_hash_of_the_trimmed_id() -> None:
    assert user_key(" u1 ") == user_key("u1")
    assert len({user_key(each) for each in ("u1", "u10", "an_a", "anxa", "../u2", "U1")}) == 6
    assert all(set(user_key(each)) <= set("0123456789abcdef") for each in ("../u2", "用户"))
    assert user_key("u1", key_secret="a") != user_key("u1", key_secret="b") != user_key("u1")
    assert user_key("u1", key_secret="a") == user_key("u1", key_secret=b"a")


@pytest.mark.parametrize("bad", ["", "  \n", "system", " System ", None, 7, b"u1"])
def test_blank_missing_and_reserved_ids_are_refused(bad: object) -> None:
    with pytest.raises(InvalidArgument):
        user_key(bad)  # type: ignore[arg-type]


def test_an_empty_secret_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="key_secret"):
        user_key("u1", key_secret="")


# --- permissions -----------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o177, 0o777])
def test_all_directories_and_files_are_private_under_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with mnemogram.open(tmp_path / "root") as home:
            history = home.history("u1")
            fill(history, 3)
            found = [tmp_path / "root", *(tmp_path / "root").rglob("*")]
            assert {each.suffix for each in found} >= {".db", ".db-wal", ".db-shm"}
            for each in found:
                assert mode(each) == (0o700 if each.is_dir() else 0o600), each
    finally:
        os.umask(before)


def test_the_file_is_private_before_anything_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    connect = Database._connect

    def watched(self: Database, *, prepare: bool) -> Connection:
        seen.append((mode(path), path.stat().st_size))
        return connect(self, prepare=prepare)

    monkeypatch.setattr(Database, "_connect", watched)
    before = os.umask(0)
    try:
        History.open(path).close()
    finally:
        os.umask(before)
    assert seen[0] == (0o600, 0)


def test_files_that_were_open_to_others_are_closed_to_them(tmp_path: Path) -> None:
    directory = user_directory(tmp_path / "root", user_key("u1"))
    file = directory / "state.db"
    History.open(file).close()
    for each in (file, directory, directory.parent):
        os.chmod(each, each.stat().st_mode | 0o077)
    History.open(user_directory(tmp_path / "root", user_key("u1")) / "state.db").close()
    assert mode(file) == 0o600
    assert {mode(each) for each in (directory, directory.parent, tmp_path / "root")} == {0o700}


@pytest.mark.parametrize("before", [0o755, 0o1777, 0o500 | 0o200, 0o2775])
def test_a_root_that_was_there_keeps_its_mode(tmp_path: Path, before: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    os.chmod(root, before)
    with mnemogram.open(root) as home:
        fill(home.history("u1"), 1)
    assert stat.S_IMODE(root.stat().st_mode) == before
    assert {mode(each) for each in root.rglob("*") if each.is_dir()} == {0o700}


@pytest.mark.parametrize("before", [0o600, 0o400, 0o444, 0o640])
def test_opening_never_makes_a_file_more_open(path: Path, before: int) -> None:
    with History.open(path) as history:
        fill(history, 1)
    for read_only in (True, False):
        os.chmod(path, before)
        History.open(path, read_only=read_only).close()
        assert mode(path) == (before if read_only else before & 0o600)


def test_a_file_of_another_program_keeps_its_mode(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    os.chmod(path, 0o664)
    with pytest.raises(StorageUnavailable, match="another program"):
        History.open(path)
    assert mode(path) == 0o664


def test_reading_leaves_nothing_beside_the_file(path: Path) -> None:
    with History.open(path) as history:
        fill(history, 3)
    before = {each: each.stat().st_mtime_ns for each in path.parent.iterdir()}
    with History.open(path, read_only=True) as history:
        assert history.search("no0").count == 1
    assert {each: each.stat().st_mtime_ns for each in path.parent.iterdir()} == before


def test_reading_keeps_what_a_killed_writer_left_in_the_wal(path: Path) -> None:
    code = """
        import os, sys
        from mnemogram import History, Message
        history = History.open(sys.argv[1])
        history.append("s", [Message("user", "written last", uid="1")])
        os._exit(0)
    """
    outcome(start(code, path))
    assert Path(f"{path}-wal").stat().st_size
    for _ in range(2):
        with History.open(path, read_only=True) as history:
            assert history.search("written last").count == 1


# --- opening ---------------------------------------------------------------------------


def test_importing_touches_no_file_of_the_user_and_opens_no_database(tmp_path: Path) -> None:
    code = """
        import sys
        opened = []
        def watch(event, arguments):
            if event in ("open", "os.mkdir", "socket.connect", "sqlite3.connect"):
                opened.append((event, arguments[0], arguments[1] if len(arguments) > 1 else None))
        import apsw
        sys.addaudithook(watch)
        import mnemogram
        for event, name, how in opened:
            if event != "open" or (isinstance(how, str) and set(how) & set("wax+")):
                print(event, name, how)
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(line[8:] for line in code.splitlines())],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_opening_a_ready_file_writes_nothing_to_it(path: Path) -> None:
    with History.open(path) as history:
        fill(history, 3)
    before = path.read_bytes()
    with History.open(path) as history:
        assert history.read("s").message_count == 3
        assert history.status().wal_bytes == 0
    assert path.read_bytes() == before


def test_eight_first_opens_wait_for_a_process_that_holds_the_lock(path: Path) -> None:
    # Case 38. The file exists, as an empty database that another process has locked.
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN IMMEDIATE")
    code = """
        import sys
        from mnemogram import (History, Message)
        print("ready", flush=True)
        with History.open(sys.argv[1], busy_timeout=60) as history:
            print(history.append(sys.argv[2], [Message("user", "hello", uid="1")]).inserted)
    """
    processes = [start(code, path, f"s{number}") for number in range(8)]
    for process in processes:
        wait_until_ready(process)
    time.sleep(5)
    holder.execute("ROLLBACK")
    holder.close()
    assert [outcome(each).strip() for each in processes] == ["1"] * 8
    with History.open(path) as history:
        assert history.status().messages == 8
        assert history.status().journal_mode == "wal"


def test_a_newer_schema_is_refused_and_left_untouched(path: Path) -> None:
    with History.open(path) as history:
        fill(history, 1)
    with apsw.Connection(str(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="version 99") as caught:
        History.open(path)
    assert "Upgrade" in caught.value.hint
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_untouched(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StorageUnavailable, match="another program"):
            History.open(path, read_only=read_only)
    assert path.read_bytes() == before


def test_each_kind_of_wrong_path_has_an_error_of_its_own(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database " * 100)
    cut = tmp_path / "cut.db"
    with History.open(cut) as history:
        fill(history, 200)
    with open(cut, "r+b") as file:
        file.truncate(file.seek(0, os.SEEK_END) // 8192 * 4096)
    (tmp_path / "blocked").write_text("")
    said = {}
    for name, wrong in {
        "missing directory": tmp_path / "no" / "state.db",
        "directory": tmp_path,
        "text": text,
        "file as directory": tmp_path / "blocked" / "state.db",
    }.items():
        with pytest.raises(StorageUnavailable) as caught:
            History.open(wrong)
        said[name] = f"{caught.value} {caught.value.hint}"
    more = [Message("user", "more", uid=str(number)) for number in range(300)]
    with pytest.raises(StorageUnavailable) as caught, History.open(cut) as history:
        history.append("s", more)
    said["cut short"] = f"{caught.value} {caught.value.hint}"
    assert len(set(said.values())) == len(said)
    assert "backup()" in said["cut short"]
    assert "not a SQLite database" in said["text"]
    for name in ("missing directory", "directory", "file as directory"):
        assert "director" in said[name].lower(), said[name]


def test_a_copy_without_its_wal_is_known_for_what_it_is(tmp_path: Path, path: Path) -> None:
    with History.open(path) as history:
        fill(history, 50)
        shutil.copy(path, tmp_path / "copy.db")
        with History.open(tmp_path / "copy.db", read_only=True) as copy:
            assert copy.status(sizes=False).schema_version == len(STEPS)


@pytest.fixture
def tmp_path_everybody_reaches() -> Iterator[Path]:
    """A folder outside pytest's own, whose modes a pytest that starts beside this one resets."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        yield Path(made)


def test_a_folder_without_permission_is_said_to_be_one(
    tmp_path_everybody_reaches: Path,
) -> None:
    folder = tmp_path_everybody_reaches / "store"
    folder.mkdir()
    with History.open(folder / "state.db") as history:
        fill(history, 1)
    code = """
        import os, sys
        from mnemogram import (History, StorageUnavailable)
        if os.geteuid() == 0:  # root may write everywhere
            os.setuid(65534)
        for read_only in (False, True):
            try:
                with History.open(sys.argv[1], read_only=read_only) as history:
                    print("found", history.search("no0").count, *history.status().notes)
            except StorageUnavailable as error:
                print(str(error), error.hint)
    """
    if os.geteuid() == 0:
        os.chmod(folder / "state.db", 0o644)
    os.chmod(folder, 0o555)
    try:
        writing, reading = outcome(start(code, folder / "state.db")).splitlines()
    finally:
        os.chmod(folder, 0o700)
    assert "permission" in writing
    assert "found 1" in reading
    assert "cannot be written here" in reading


def test_where_wal_cannot_work_a_rollback_journal_is_used_and_said(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with History.open(path) as history:
        fill(history, 3)
    monkeypatch.setattr(databases, "network_file_system", lambda directory: "nfs4")
    with History.open(path) as history:
        fill(history, 3, start=3)
        status = history.status()
        assert status.journal_mode == "truncate"
        assert any("nfs4" in note for note in status.notes)
        assert history.read("s").message_count == 6
    assert not Path(f"{path}-wal").exists()


def test_a_file_system_without_shared_memory_gets_a_rollback_journal(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Connection.one

    def without_wal(self: Connection, sql: str, bindings: Any = ()) -> Any:
        if sql == "PRAGMA journal_mode = WAL":
            raise apsw.IOError("disk I/O error")
        return one(self, sql, bindings)

    monkeypatch.setattr(Connection, "one", without_wal)
    with History.open(path) as history:
        fill(history, 3)
        assert history.status().journal_mode == "truncate"


def test_a_mount_point_is_found_by_its_longest_name(tmp_path: Path) -> None:
    private_directory(tmp_path / "a")
    assert databases.network_file_system(tmp_path / "a") is None
    assert databases.network_file_system(tmp_path / "missing") is None


# --- deadlines and locks ---------------------------------------------------------------


def test_a_deadline_stops_sqlite_and_is_gone_afterwards(database: Database) -> None:
    with database.read() as connection:
        with pytest.raises(QueryTimeout), deadline(connection, 0.05):
            connection.execute(SLOW).fetchall()
        assert connection.deadline_at is None
        counted = SLOW.replace("FROM c)", "FROM c WHERE x < 20000)")
        assert connection.one(counted) == 20_000


def test_deadlines_nest_and_the_outer_one_is_never_outlasted(database: Database) -> None:
    with database.read() as connection, deadline(connection, 30):
        outer = connection.deadline_at
        with deadline(connection, 1_000):
            assert connection.deadline_at == outer
        with pytest.raises(QueryTimeout), deadline(connection, 0.05):
            connection.execute(SLOW).fetchall()
        assert connection.deadline_at == outer
        with deadline(connection, None):
            assert connection.deadline_at == outer
        connection.check_deadline()
        with pytest.raises(QueryTimeout), deadline(connection, 0):
            connection.check_deadline()


def test_waiting_for_a_lock_counts_against_the_deadline(path: Path) -> None:
    # It would be waited for all day, but for the deadline.
    with Database(path, SCHEMA, load_extension=False, busy_timeout=86_400) as database:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(QueryTimeout), database.write(timeout=0.2):
            pass
        other.execute("ROLLBACK")
        other.close()
        with database.write(timeout=60) as connection:
            connection.execute("INSERT INTO t VALUES (1)")


def test_a_lock_that_is_never_let_go_is_busy_after_the_busy_wait(path: Path) -> None:
    with Database(path, SCHEMA, load_extension=False, busy_timeout=0.2) as database:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy) as caught, database.write():
            pass
        assert caught.value.code == "busy"
        other.close()


def test_a_write_waits_until_the_lock_is_free(path: Path, database: Database) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    timer.start()
    with database.write() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
    timer.join()
    other.close()


@pytest.mark.parametrize(("timeout", "error"), [(0.1, QueryTimeout), (None, Busy)])
def test_another_thread_that_writes_is_waited_for_in_bounds(
    path: Path, timeout: float | None, error: type[Exception]
) -> None:
    with Database(path, SCHEMA, load_extension=False, busy_timeout=0.3) as database:
        begun, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            with database.write():
                begun.set()
                assert go_on.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        assert begun.wait(30)
        with pytest.raises(error), database.write(timeout=timeout):
            pass
        go_on.set()
        thread.join()
        with database.write() as connection:
            connection.execute("INSERT INTO t VALUES (1)")


def test_an_error_rolls_the_transaction_back(database: Database) -> None:
    def fail() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO t VALUES (1)")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.read() as connection:
        assert connection.one("SELECT count(*) FROM t") == 0


def test_a_reader_sees_one_snapshot(database: Database) -> None:
    with database.read() as reader:
        assert reader.one("SELECT count(*) FROM t") == 0
        with database.write() as writer:
            writer.execute("INSERT INTO t VALUES (1)")
        assert reader.one("SELECT count(*) FROM t") == 0


def test_many_threads_read_and_write_one_store(path: Path) -> None:
    with History.open(path) as history:
        errors: list[Exception] = []

        def work(number: int) -> None:
            try:
                for place in range(10):
                    history.append(f"s{number}", [Message("user", "hello", uid=str(place))])
                    history.read(f"s{number}")
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert history.status().messages == 80


# --- what happens to an open store -----------------------------------------------------


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_is_replaced_while_open_is_not_written(path: Path, how: str) -> None:
    history = History.open(path)
    fill(history, 1)
    path.rename(path.with_suffix(".old"))
    if how == "replaced":
        shutil.copy(path.with_suffix(".old"), path)
        before = path.read_bytes()
    for call in (lambda: fill(history, 1, start=5), lambda: history.read("s")):
        with pytest.raises(StorageUnavailable, match="moved, deleted or replaced") as caught:
            call()
        assert "open it again" in caught.value.hint
    history.close()
    assert path.exists() == (how == "replaced")
    if how == "replaced":
        assert path.read_bytes() == before


def test_a_full_disk_is_said_and_nothing_is_lost(path: Path) -> None:
    with History.open(path) as history:
        fill(history, 5)
        with raw(history) as connection:
            pages = connection.one("PRAGMA page_count")
            connection.execute(f"PRAGMA max_page_count = {pages + 2}").fetchall()
        with pytest.raises(StorageUnavailable, match="Full") as caught:
            fill(history, 2_000, start=10)
        assert "free space" in caught.value.hint
        assert history.status().messages == 5
        with raw(history) as connection:
            connection.execute("PRAGMA max_page_count = 1000000").fetchall()
        fill(history, 5, start=5)
        assert history.status().messages == 10


def test_a_store_carried_over_a_fork_says_so(path: Path) -> None:
    code = """
        import os, sys
        from mnemogram import (History, StorageUnavailable)
        history = History.open(sys.argv[1])
        history.append("s", [])
        child = os.fork()
        if child == 0:
            try:
                history.append("s", [])
            except StorageUnavailable as error:
                os._exit(7 if "after the fork" in error.hint else 1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert outcome(start(code, path)) == "7\n"


def test_a_closed_store_says_so(path: Path) -> None:
    history = History.open(path)
    history.close()
    history.close()
    with pytest.raises(StoreClosed):
        fill(history, 1)
    with pytest.raises(StoreClosed):
        history.read("s")


def test_a_read_only_store_reads_and_never_writes(path: Path) -> None:
    with pytest.raises(StorageUnavailable):
        History.open(path, read_only=True)
    assert not path.exists()
    with History.open(path) as history:
        fill(history, 3)
    before = path.read_bytes()
    with History.open(path, read_only=True) as history:
        assert history.read("s").message_count == 3
        with pytest.raises(StorageUnavailable, match=r"read.?only"):
            fill(history, 1, start=9)
    assert path.read_bytes() == before
