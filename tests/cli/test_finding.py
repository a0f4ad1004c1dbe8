# SPDX-License-Identifier: MIT
"""What programs on this machine hold: shown, chosen, and followed."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemogram.cli.finding import Follower
from mnemogram.cli.importing import import_
from tests.importers.samples import AGENT, event
from tests.importers.test_places import PLACES, put

from .conftest import Run
from .test_process import running

#: Variables that would lead out of the home that a test makes.
LEADING = (
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "LLM_USER_PATH", "HERMES_HOME"),
    *("DATA_DIR", "XDG_CONFIG_HOME"),
)
LOG = PLACES["claude-code"][1]
ROLLOUT = PLACES["codex"][1]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a person who uses two of the programs."""
    home = tmp_path / "person"
    for name in ("claude-code", "codex"):
        put(PLACES[name][0], home / PLACES[name][1])
    monkeypatch.setenv("HOME", str(home))
    for name in LEADING:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return home


@pytest.fixture
def env(person: Path, subprocess_env: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in subprocess_env.items() if name not in LEADING}
    return {**kept, "HOME": str(person)}


def titles(run: Run) -> list[Any]:
    done = run("list", "--json")
    return [json.loads(line)["title"] for line in done.out.splitlines()]


def test_what_is_there_is_shown_and_nothing_is_imported(run: Run, person: Path) -> None:
    done = run("import", "--find")
    assert done.code == 0
    head, claude, codex = done.out.splitlines()
    assert head.split() == ["program", "conversations", "from", "to", "size", "in"]
    assert claude.split()[:4] == ["claude-code", "1", "2026-03-01", "2026-03-01"]
    assert claude.endswith(str(person / ".claude"))
    assert codex.startswith("codex")
    assert "import --find claude-code codex" in done.err
    assert not (person.parent / "home").exists()


def test_json_has_the_same(run: Run, person: Path) -> None:
    answer = run("import", "--find", "--json").json
    claude, codex = answer["programs"]
    assert (claude["name"], claude["title"]) == ("claude-code", "Claude Code")
    assert (claude["conversations"], claude["files"], claude["files_unread"]) == (1, 1, 0)
    assert claude["bytes"] == (person / LOG).stat().st_size
    assert claude["first"] == "2026-03-01T09:00:01+00:00"
    assert claude["last"] == "2026-03-01T09:00:04+00:00"
    assert codex["folder"] == str(person / ".codex")
    assert set(answer["looked_for"]) == set(PLACES)


def test_nothing_on_a_machine_is_nothing_found(
    run: Run, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(person / "empty"))
    done = run("import", "--find")
    assert (done.code, done.out) == (3, "")
    assert "Claude Code" in done.err
    assert run("import", "--find", "--all", "--json").code == 3


def test_what_is_named_comes_in_and_the_rest_does_not(run: Run, person: Path) -> None:
    journal = person / ".claude/projects/-w-ferry/c-1/subagents/journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text('{"started": 1}\n')
    done = run("import", "--find", "claude-code", "--json")
    assert done.code == 0
    assert (done.json["inserted"], done.json["conversations"]) == (4, 1)
    assert done.json["files_passed_over"] == 1
    assert titles(run) == ["Ferry"]
    again = run("import", "--find", "--all", "--json")
    assert (again.json["inserted"], again.json["repeated"]) == (4, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing argument"),
        (("--all",), "--all goes with --find"),
        (("--find", "claude-cod"), "Did you mean claude-code?"),
        (("--find", "--all", "codex"), "name programs, or say --all"),
        (("--watch",), "Missing argument"),
        (("--find", "--watch"), "--find with names or --all"),
        (("--watch", "x", "--session", "s"), "--watch goes with neither"),
        (("--watch", "-"), "standard input cannot be followed"),
    ],
)
def test_what_is_not_chosen_is_asked_for(
    run: Run, person: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = run("import", *arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())


def told(child: subprocess.Popen[bytes]) -> Iterator[Any]:
    assert child.stdout is not None
    for line in child.stdout:
        yield json.loads(line)


def turn(number: int) -> str:
    return json.dumps(event(f"f{number}", None, "user", f"and back, {number}", 10 + number))


WATCH = ("import", "--watch", "--interval", "0.05", "--json")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_what_changes_is_followed_until_it_is_told_to_stop(
    env: dict[str, str], person: Path, run: Run, ending: signal.Signals
) -> None:
    with running(env, *WATCH, "--find", "--all") as child:
        lines = told(child)
        assert [next(lines)["inserted"] for _ in range(2)] == [4, 4]
        assert next(lines) == {"following": 2, "interval": 0.05}
        with (person / LOG).open("a") as file:
            file.write("\n" + turn(1) + "\n" + turn(2) + "\n")
        grown = next(lines)
        assert grown["file"] == str(person / LOG)
        assert (grown["inserted"], grown["repeated"]) == (2, 4)
        fresh = person / LOG.replace("c-1", "c-2")
        fresh.write_text(json.dumps({**json.loads(turn(3)), "sessionId": "c-2"}))
        assert next(lines)["file"] == str(fresh)
        child.send_signal(ending)
        assert child.wait() == 0
        assert list(lines) == []
    assert run("status", "--json").json["messages"] == 11


def test_who_starts_again_reads_only_what_changed(env: dict[str, str], person: Path) -> None:
    def once(changes: str | None) -> list[Any]:
        said = []
        with running(env, *WATCH, "--find", "--all") as child:
            for line in told(child):
                said.append(line)
                if "following" in line:
                    break
            child.send_signal(signal.SIGTERM)
            assert child.wait() == 0
        return said[:-1]

    assert len(once(None)) == 2
    notes = next((person.parent / "home" / "users").glob("*/followed.json"))
    assert notes.stat().st_mode & 0o777 == 0o600
    before = os.stat(person / ROLLOUT).st_atime_ns
    assert once(None) == []
    with (person / LOG).open("a") as file:
        file.write("\n" + turn(1))
    (again,) = once(None)
    assert (again["file"], again["inserted"]) == (str(person / LOG), 1)
    assert os.stat(person / ROLLOUT).st_atime_ns == before
    # A history that was taken away is filled again.
    (notes.parent / "state.db").unlink()
    assert {each["inserted"] for each in once(None)} == {5, 4}


def test_files_and_folders_are_followed_too(env: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with running(env, *WATCH, str(folder)) as child:
        lines = told(child)
        assert next(lines)["following"] == 0
        (folder / "talk.jsonl").write_text("\n".join(map(json.dumps, AGENT)))
        assert next(lines)["inserted"] == 4
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 0


def test_only_a_changed_file_is_due_and_not_before_it_rested(tmp_path: Path) -> None:
    path, now = tmp_path / "f.jsonl", 100.0
    path.write_text("a")
    follower = Follower(clock=lambda: now)

    def due() -> list[str]:
        return [each for each, _ in follower.changed([str(path), str(tmp_path / "gone")])]

    ((_, mark),) = follower.changed([str(path)])
    began, now = now, now + 2
    follower.was_read(str(path), mark, began)
    assert due() == []
    path.write_text("ab")
    assert due() == []  # reading it took two seconds: eighteen to rest
    now += 17.9
    assert due() == []
    now += 0.2
    assert due() == [str(path)]


def test_a_database_changed_where_its_log_did(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_bytes(b"x")
    follower = Follower()
    ((_, mark),) = follower.changed([str(path)])
    follower.known[str(path)] = mark
    assert follower.changed([str(path)]) == []
    (tmp_path / "state.db-wal").write_bytes(b"more")
    assert len(follower.changed([str(path)])) == 1


def test_notes_of_another_version_or_of_none_are_not_believed(tmp_path: Path) -> None:
    notes = tmp_path / "followed.json"
    for text in ("", "[]", "{}", '{"version": "0", "files": {"a": [[1, 2, 3]]}}'):
        notes.write_text(text)
        follower = Follower(notes)
        follower.load()
        assert follower.known == {}
    follower.known = {"a": [[1, 2, 3]]}
    follower.save()
    other = Follower(notes)
    other.load()
    assert other.known == follower.known


PAGE = Path(__file__).parent.parent.parent / "docs" / "importing.md"


def test_the_services_of_the_page_start_commands_that_there_are() -> None:
    page = PAGE.read_text("utf-8")
    ((unit,), (plist,)) = (
        re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S) for language in ("ini", "xml")
    )
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    for words in (shlex.split(line), plistlib.loads(plist.encode())["ProgramArguments"]):
        assert (Path(words[0]).name, words[1]) == ("mnemogram", "import")
        values = import_.make_context("import", words[2:]).params
        assert all(values[name] for name in ("find", "watch", "everything", "redact"))


def test_the_page_names_each_place_and_what_moves_it() -> None:
    page = PAGE.read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (`[~].*) \|$", page, re.M))
    assert set(rows) == set(PLACES)
    assert set(re.findall(r"`([A-Z_]{4,})`", " ".join(rows.values()))) == set(LEADING)
