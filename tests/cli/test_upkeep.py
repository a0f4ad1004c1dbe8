# SPDX-License-Identifier: MIT
"""maintain, backup, export, delete, expire: nothing is lost by accident, all by intent."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import time
from pathlib import Path

import apsw
import pytest

from mnemogram import History

from .conftest import Run
from .test_process import running


def stored(run: Run) -> list[str]:
    """Return the lines of an export, without the header."""
    return run("export").out.splitlines()[1:]


def test_maintain_ends_when_nothing_is_due(talk: Run) -> None:
    done = talk("maintain")
    assert done.code == 0
    answer = talk("maintain", "--json").json
    assert answer["success"] is True
    assert answer["failed"] == {}


def test_maintain_builds_an_index_that_is_not_ready(run: Run, tmp_path: Path) -> None:
    lines = [{"session": f"s{i % 9}", "role": "user", "content": f"牙医 {i}"} for i in range(300)]
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    run("import", path)
    (state,) = (tmp_path / "home").glob("users/*/state.db")
    with History.open(state, policy="all") as history:
        history.append("late", [])
    before = run("status", "--json").json["indexes"]
    assert "building" in {index["state"] for index in before}
    answer = run("maintain", "--no-pause", "--batch-size", "100", "--json").json
    assert answer["success"] is True
    indexes = run("status", "--json").json["indexes"]
    assert {index["state"] for index in indexes} == {"ready"}


def test_watching_ends_with_an_interrupt(
    talk: Run, subprocess_env: dict[str, str], tmp_path: Path
) -> None:
    (state,) = (tmp_path / "home").glob("users/*/state.db")
    opened = state.with_name("state.db-shm")
    assert not opened.exists()
    with running(subprocess_env, "maintain", "--watch") as child:
        while not opened.exists():
            assert child.poll() is None
            time.sleep(0.05)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=0.5)
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b"")
    assert b"Traceback" not in errors


def damage_the_index(home: Path) -> None:
    """Take the segments of an index away behind the back of everything."""
    (state,) = home.glob("users/*/state.db")
    connection = apsw.Connection(str(state))
    connection.execute("DELETE FROM messages_fts_cjk_data WHERE id > 10")
    connection.close()


def test_check_says_when_nothing_is_wrong(talk: Run) -> None:
    done = talk("check")
    assert done.code == 0
    assert "nothing is wrong" in done.err
    assert talk("check", "--json").json["ok"] is True
    assert talk("repair", "--apply").code == 0


def test_damage_is_found_shown_and_repaired_when_told_to(talk: Run, tmp_path: Path) -> None:
    damage_the_index(tmp_path / "home")
    found = talk("check")
    assert found.code == 1
    assert "messages_fts_cjk" in found.out
    shown = talk("repair")
    assert "dry run" in shown.err
    assert talk("check").code == 1
    copy = tmp_path / "before.db"
    done = talk("repair", "--apply", "--backup", copy, "--json")
    assert (done.code, done.json["dry_run"]) == (0, False)
    assert copy.exists()
    assert talk("check").code == 0
    assert talk("search", "牙医", "--json").json["search_path"] == "cjk"


def test_a_backup_is_a_history_of_its_own(talk: Run, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    assert talk("backup", target).code == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with History.open(target) as history:
        assert history.search("牙医").count == 1
    done = talk("backup", target)
    assert done.code == 2
    assert talk("backup", target, "--overwrite", "--json").json["success"] is True


def test_what_was_exported_comes_back_whole(talk: Run, tmp_path: Path) -> None:
    talk("append", "--session", "s2", "--parent", "s1", "--source", "telegram", "下雨了")
    talk("append", "--session", "gone", "x")
    talk("delete", "gone", "--apply")
    (state,) = (tmp_path / "home").glob("users/*/state.db")
    with History.open(state) as history:
        history.mark_compacted("s1", ["m0"])
        history.rewind("s1", ["m1"])
        history.end_session("s1", "daily")
    before = stored(talk)
    path = tmp_path / "out.jsonl"
    assert talk("export", path).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().splitlines()[1:] == before
    for _ in range(2):
        assert talk("import", path, "--user", "copy").code == 0
        assert talk("export", "--user", "copy").out.splitlines()[1:] == before
    refused = talk("append", "--user", "copy", "--session", "gone", "late")
    assert refused.code == 1


def test_an_export_replaces_a_file_only_when_told_to(talk: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("precious")
    assert talk("export", path).code == 2
    assert path.read_text() == "precious"
    assert talk("export", path, "--overwrite").code == 0
    assert talk("export", tmp_path / "nowhere" / "out.jsonl").code == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["home", "out.jsonl"]


def test_an_export_to_standard_output_has_no_room_for_json(talk: Run) -> None:
    assert talk("export", "--json").code == 2


def test_deleting_shows_first_and_deletes_when_told_to(talk: Run) -> None:
    done = talk("delete", "s1", "never")
    assert done.code == 0
    assert "3 messages" in done.out
    assert "not there" in done.out
    assert "dry run" in done.err
    assert talk("search", "牙医").code == 0
    answer = talk("delete", "s1", "--apply", "--json").json
    assert (answer["dry_run"], answer["sessions"][0]["messages"]) == (False, 3)
    assert talk("search", "牙医").code == 3
    assert talk("delete", "s1", "--apply").code == 0
    refused = talk("append", "--session", "s1", "late")
    assert refused.code == 1
    assert "deleted" in refused.err


def test_a_purge_leaves_no_byte_of_it(talk: Run, tmp_path: Path) -> None:
    talk("append", "--session", "s2", "canaryword 鸟鸟鸟")
    done = talk("delete", "s2", "--apply", "--purge")
    assert done.code == 0
    assert "purged" in done.err
    data = b"".join(each.read_bytes() for each in (tmp_path / "home").rglob("*") if each.is_file())
    assert b"canaryword" not in data
    assert "鸟鸟".encode() not in data
    assert talk("search", "牙医").code == 0


def test_everything_of_a_user_goes_only_when_told_to(talk: Run, tmp_path: Path) -> None:
    talk("append", "--user", "other", "--session", "s", "牙医")
    assert talk("delete", "--everything").code == 0
    assert talk("search", "牙医").code == 0
    assert talk("delete", "--everything", "--apply").code == 0
    assert talk("search", "牙医").code == 3
    assert talk("search", "牙医", "--user", "other").code == 0
    assert len(list((tmp_path / "home" / "users").iterdir())) == 1


def test_expiry_counts_first_and_deletes_when_told_to(talk: Run) -> None:
    talk("append", "--session", "new", "下雨了")
    done = talk("expire", "--before", "2026-06-01")
    assert done.code == 0
    assert "复诊" in done.out
    assert "1 conversation with 3 messages would be deleted" in done.out
    assert talk("search", "牙医").code == 0
    done = talk("expire", "--before", "2026-06-01", "--apply")
    assert done.code == 0
    assert "复诊" in done.out
    assert "1 conversation with 3 messages deleted" in done.out
    assert talk("search", "牙医").code == 3
    assert talk("search", "下雨").code == 0
    done = talk("expire", "--before", "2026-06-01")
    assert (done.code, "no conversation is that old" in done.out) == (3, True)
    assert talk("append", "--session", "s1", "again").code == 0


@pytest.mark.parametrize(
    "arguments",
    [("delete",), ("delete", "s1", "--everything"), ("expire",), ("backup",), ("maintain", "x")],
    ids=" ".join,
)
def test_wrong_usage_changes_nothing(talk: Run, arguments: tuple[str, ...]) -> None:
    before = stored(talk)
    assert talk(*arguments).code == 2
    assert stored(talk) == before
