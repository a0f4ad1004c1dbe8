# SPDX-License-Identifier: MIT
"""What a killed check, backup or export leaves of a copy goes, and is counted until then."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemogram import History, Message
from mnemogram.history.upkeep import check as checks
from mnemogram.sqlite import backup as copying
from tests.history.support import fill, finish, start, wait_until_ready

WORKER = """
    import os, sys
    from pathlib import Path
    from mnemogram.sqlite.backup import unfinished
    with unfinished(Path(sys.argv[1])) as partial:
        partial.write_bytes(b"forgetmexq" * 1000)
        Path(f"{partial}-wal").write_bytes(b"forgetmexq")
        print("ready", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db") as opened:
        fill(opened, 20)
        opened.append("secret", [Message("user", "forgetmexq words", uid="x")])
        opened.delete_session("secret")
        yield opened


def hidden(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name.startswith("."))


@pytest.mark.parametrize("way", ["purge", "maintain", "backup", "check"])
@pytest.mark.parametrize("target", ["state.db", "copy.db", "export.jsonl"])
def test_a_copy_whose_writer_was_killed_goes(
    history: History,
    tmp_path: Path,
    way: str,
    target: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = start(WORKER, tmp_path / target)
    wait_until_ready(process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(hidden(tmp_path)) == 2
    if way == "purge":
        done = history.purge()
        assert done.complete
        assert done.bytes_before >= 10_000 + done.bytes_after - 4096 * 20
    elif way == "maintain":
        finish(history)
    elif way == "backup":
        history.backup(tmp_path / "elsewhere.db")
    else:
        monkeypatch.setattr(checks, "_IN_PLACE_BYTES", 0)
        assert history.check().ok
    assert hidden(tmp_path) == []


def test_one_that_is_being_written_stays_and_keeps_a_purge_from_being_complete(
    history: History, tmp_path: Path
) -> None:
    process = start(WORKER, tmp_path / "state.db")
    wait_until_ready(process)
    done = history.purge()
    assert not done.complete
    assert "is being written" in (done.hint or "")
    finish(history)
    assert len(hidden(tmp_path)) == 2
    process.communicate("")
    assert hidden(tmp_path) == []
    assert history.purge().complete


def test_a_journal_whose_file_is_gone_goes_too_and_nothing_foreign(
    history: History, tmp_path: Path
) -> None:
    ours = tmp_path / ".copy.db.0123456789ab.mnemogram.partial-journal"
    foreign = [".copy.db.0123456789ab.partial", ".new-x", "a.0123456789ab.mnemogram.partial"]
    for name in (ours.name, *foreign):
        (tmp_path / name).write_text("x")
    assert copying.sweep(tmp_path) == 1
    assert not ours.exists()
    assert all((tmp_path / name).exists() for name in foreign)


def test_backups_from_before_a_repair_are_told_of(history: History, tmp_path: Path) -> None:
    with history._database.exclusive() as connection:
        connection.execute("UPDATE sessions SET message_count = 7")
    backup = history.repair(dry_run=False).backup
    done = history.purge()
    assert done.complete
    assert done.copies == (backup,)
    assert "Backups" in (done.hint or "")
