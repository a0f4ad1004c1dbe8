# SPDX-License-Identifier: MIT
"""Where programs keep their conversations, in homes made for it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemogram.importers import read
from mnemogram.importers.places import PROGRAMS, Found, Machine, find

from .samples import SAMPLES

#: Where a program has which sample, below the home.
PLACES = {
    "claude-code": ("agent log", ".claude/projects/-w-ferry/c-1.jsonl"),
    "codex": ("rollout", ".codex/sessions/2026/03/01/rollout-2026-03-01T09-00-00-c-1.jsonl"),
    "gemini-cli": ("Gemini CLI", ".gemini/tmp/0f6a/chats/session-2026-03-01T09-00-c1.json"),
    "llm": ("llm", ".config/io.datasette.llm/logs.db"),
    "hermes": ("hermes", ".hermes/state.db"),
    "open-webui": ("Open WebUI database", ".open-webui/webui.db"),
}


def put(sample: str, path: Path) -> Path:
    """Write a sample where a program would have it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = SAMPLES[sample].write(path.parent)
    shutil.move(made, path)
    return path


def found(home: Path, environ: Mapping[str, str] | None = None, **more: Any) -> dict[str, Found]:
    machine = Machine(home, environ or {}, **{"platform": "linux", **more})
    return {each.program.name: each for each in find(machine)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with each of the programs."""
    for sample, path in PLACES.values():
        put(sample, tmp_path / "me" / path)
    return tmp_path / "me"


def test_each_program_has_a_place_here() -> None:
    assert {each.name for each in PROGRAMS} == set(PLACES)


def test_what_is_there_is_counted_with_its_period_and_size(home: Path) -> None:
    seen = found(home)
    assert list(seen) == [each.name for each in PROGRAMS]
    for name, (sample, path) in PLACES.items():
        one = seen[name]
        assert one.files == (home / path,)
        assert one.size == (home / path).stat().st_size
        assert one.conversations == 1
        assert str(one.first).startswith("2026-03-01 09:00")
        assert str(one.last).startswith("2026-03-01 09:00")
        assert [batch.session.id for batch in read(one.files[0])] == ["c-1"], sample


def test_a_home_without_them_has_nothing(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    assert found(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "variable", "inside"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "projects/p/c-1.jsonl"),
        ("codex", "CODEX_HOME", "archived_sessions/rollout-x.jsonl"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/tmp/p/chats/session-x.json"),
        ("llm", "LLM_USER_PATH", "logs.db"),
        ("llm", "XDG_CONFIG_HOME", "io.datasette.llm/logs.db"),
        ("hermes", "HERMES_HOME", "profiles/coder/state.db"),
        ("open-webui", "DATA_DIR", "webui.db"),
    ],
)
def test_a_variable_moves_a_program(
    home: Path, tmp_path: Path, name: str, variable: str, inside: str
) -> None:
    path = put(PLACES[name][0], tmp_path / "elsewhere" / inside)
    assert found(home, {variable: str(tmp_path / "elsewhere")})[name].files == (path,)
    # Empty it says nothing, and a tilde is the home.
    assert found(home, {variable: ""})[name].files == (home / PLACES[name][1],)
    shutil.move(tmp_path / "elsewhere", home / "elsewhere")
    assert found(home, {variable: "~/elsewhere"})[name].files == (home / "elsewhere" / inside,)


def test_other_systems_have_places_of_their_own(tmp_path: Path) -> None:
    mac = put("llm", tmp_path / "Library" / "Application Support" / "io.datasette.llm" / "logs.db")
    assert found(tmp_path, platform="darwin")["llm"].files == (mac,)
    roaming = put("llm", tmp_path / "R" / "io.datasette.llm" / "logs.db")
    local = put("hermes", tmp_path / "L" / "hermes" / "state.db")
    windows = {"APPDATA": str(tmp_path / "R"), "LOCALAPPDATA": str(tmp_path / "L")}
    seen = found(tmp_path, windows, platform="win32")
    assert (seen["llm"].files, seen["hermes"].files) == ((roaming,), (local,))


def test_what_cannot_be_read_is_shown_and_not_passed_over_silently(tmp_path: Path) -> None:
    packed = tmp_path / ".codex/sessions/2026/01/02/rollout-x.jsonl.zst"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(b"\x28\xb5\x2f\xfd")
    one = found(tmp_path)["codex"]
    assert (one.files, one.unread, one.size) == ((), (packed,), 4)


def test_damaged_files_stop_nobody(home: Path) -> None:
    (home / PLACES["llm"][1]).write_bytes(b"SQLite format 3\0" + b"\xff" * 4_000)
    (home / PLACES["hermes"][1]).write_bytes(b"")
    (home / PLACES["codex"][1]).write_bytes(b"\xff\x00" * 9)
    seen = found(home)
    assert [seen[name].conversations for name in ("llm", "hermes", "codex")] == [0, 0, 0]
    assert seen["claude-code"].conversations == 1


def test_a_long_log_is_told_by_its_ends(home: Path) -> None:
    path = home / PLACES["claude-code"][1]
    event = {"type": "user", "sessionId": "c-1", "message": {"role": "user", "content": "x" * 999}}
    with path.open("a", encoding="utf-8") as file:
        for number in range(400):
            line = {**event, "uuid": f"u{number}", "timestamp": f"2026-04-{1 + number // 20:02}"}
            file.write("\n" + json.dumps(line))
    one = found(home)["claude-code"]
    assert one.conversations == 1
    assert str(one.first).startswith("2026-03-01")
    assert str(one.last).startswith("2026-04-20")
