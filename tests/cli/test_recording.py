# SPDX-License-Identifier: MIT
"""The recording in the documents is what the program prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import mnemogram
from mnemogram.demo import conversations

from .terminal import on_a_terminal, plain

PAGE = Path(__file__).resolve().parents[2] / "docs" / "terminal.md"
COLUMNS = 80


def recorded() -> list[tuple[str, str]]:
    """Commands of the page and what stands below each."""
    found = []
    for block in re.findall(
        r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
    ):
        command, _, output = block.partition("\n")
        found.append((command.removeprefix("$ "), output))
    return found


def printed(env: dict[str, str], command: str) -> str:
    """What a terminal of 80 columns shows for a command."""
    _, shown = on_a_terminal({**env, "NO_COLOR": "1"}, *shlex.split(command)[1:], columns=COLUMNS)
    return "".join(f"{line.rstrip()}\n" for line in plain(shown).splitlines())


@pytest.fixture
def env(subprocess_env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A home with the conversations of the demo."""
    with mnemogram.open(tmp_path / "home") as home:
        home.history("me").append_many((each.session, each.messages) for each in conversations())
    return subprocess_env


def test_ten_commands_are_recorded() -> None:
    assert len(recorded()) == 10


@pytest.mark.parametrize(("command", "output"), recorded(), ids=[each for each, _ in recorded()])
def test_a_recorded_command_prints_what_stands_there(
    env: dict[str, str], command: str, output: str
) -> None:
    assert printed(env, command) == output
