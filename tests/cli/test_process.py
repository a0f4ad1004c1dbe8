# SPDX-License-Identifier: MIT
"""The command as a process: pipes, terminals, interrupts, and a missing extra."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import mnemogram.cli
from mnemogram.cli import main

from .terminal import COMMAND, on_a_terminal


def process(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=env,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )


@contextmanager
def running(
    env: dict[str, str], *arguments: str, command: Sequence[str] = COMMAND
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command that can be interrupted, even where these tests cannot be."""
    child = subprocess.Popen(
        [*command, *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with child:
        try:
            yield child
        finally:
            child.kill()


def test_the_demo_finds_everything_and_leaves_nothing(
    subprocess_env: dict[str, str], tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env = {**subprocess_env, "TMPDIR": str(temporary)}
    done = process(env, "demo", "--messages", "400")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    for shown in ("牙医", "route cjk", "หมอฟัน", "예약", "雪松机房", "scroll zh-dentist"):
        assert shown in done.stdout
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "home").exists()


def test_the_demo_answers_in_json(subprocess_env: dict[str, str]) -> None:
    done = process(subprocess_env, "demo", "--messages", "0", "--json")
    answer = json.loads(done.stdout)
    assert answer["success"] is True
    assert all(step["found"] for step in answer["steps"])
    assert {len(step["query"]) for step in answer["steps"]} >= {1, 2}


def test_a_terminal_gets_colour_and_no_marks(subprocess_env: dict[str, str]) -> None:
    process(subprocess_env, "append", "--session", "s", "明早九点预约牙医复诊" * 20)
    code, shown = on_a_terminal(subprocess_env, "search", "牙医")
    assert code == 0
    assert re.search(r"\x1b\[[0-9;]*m牙医\x1b\[0m", shown)
    assert "⟦" not in shown


def test_no_color_is_respected(subprocess_env: dict[str, str]) -> None:
    process(subprocess_env, "append", "--session", "s", "明早九点预约牙医复诊")
    code, shown = on_a_terminal({**subprocess_env, "NO_COLOR": "1"}, "search", "牙医")
    assert code == 0
    assert "⟦牙医⟧" in shown
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-7]|38|48)", shown)


def test_an_import_on_a_terminal_shows_how_far_it_is(
    subprocess_env: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    lines = (json.dumps({"session": f"s{i % 7}", "role": "user", "content": "x"}) for i in range(9))
    path.write_text("\n".join(lines))
    code, shown = on_a_terminal(subprocess_env, "import", str(path))
    assert code == 0
    assert "talk.jsonl" in shown
    assert "7 conversations, 9 new" in shown


def test_a_reader_that_leaves_ends_the_command_quietly(
    subprocess_env: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    lines = (
        json.dumps({"session": f"s{i % 3}", "role": "user", "content": "牙医 " * 2_000})
        for i in range(30)
    )
    path.write_text("\n".join(lines))
    assert process(subprocess_env, "import", str(path)).returncode == 0
    child = subprocess.Popen(
        [*COMMAND, "search", "牙医", "--json", "--detail", "full"],
        env=subprocess_env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    errors = child.stderr.read()
    child.stderr.close()
    assert child.wait() == 141
    assert errors == b""


def test_an_interrupt_ends_the_command_quietly(
    subprocess_env: dict[str, str], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The pipe opens once the command reads it; the command then waits for more.
    with running(subprocess_env, "import", "--format", "jsonl", str(pipe)) as child, pipe.open("w"):
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b"")
    assert b"interrupted" in errors
    assert b"Traceback" not in errors


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_one_line_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = mnemogram.cli.find_spec
    monkeypatch.setattr(
        mnemogram.cli, "find_spec", lambda name: None if name == missing else real(name)
    )
    assert main(["status"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install 'mnemogram[cli]'" in said


def test_importing_the_package_needs_no_extra() -> None:
    code = "import sys, mnemogram, mnemogram.cli; assert not {'click', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_root_that_is_a_file_is_an_error_in_words(subprocess_env: dict[str, str]) -> None:
    with tempfile.NamedTemporaryFile() as file:
        done = process(subprocess_env, "append", "--root", file.name, "--session", "s", "x")
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert done.stderr
