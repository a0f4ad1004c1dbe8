# SPDX-License-Identifier: MIT
"""Each recipe runs as it is written; where the program is not here, the test says so."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mnemogram
from mnemogram import Message

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "recipes.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a copy of a history in it."""
    with mnemogram.open(tmp_path / "memory") as home:
        history = home.history("alice")
        history.append("s1", [Message("user", "明早九点预约牙医复诊", uid="1")])
        history.backup(tmp_path / "alice.db")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What other programs take back of their own is theirs to say, and no fault of a recipe.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("block", blocks("python"), ids=["sqlite-utils", "SQLAlchemy", "FastAPI"])
def test_the_python_of_a_recipe_runs(block: str, folder: Path) -> None:
    for module in re.findall(r"^import (sqlite_utils|sqlalchemy|fastapi)", block, flags=re.M):
        pytest.importorskip(module)
    exec(compile(block, "recipes.md", "exec"), {"__name__": "recipes"})


@pytest.mark.parametrize("block", blocks("sh"), ids=["read", "search", "Datasette"])
def test_the_commands_of_a_recipe_run(block: str, folder: Path) -> None:
    program = block.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not here")
    command = folder / "bin" / "mnemogram"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mnemogram "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["sh", "-ec", block],
        cwd=folder,
        env={**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    refusals = ("unknown command", "not authorized", "ability to load SQLite extensions")
    if any(each in done.stderr for each in refusals):
        pytest.skip(f"this {program} loads no extensions")
    assert done.returncode == 0, done.stderr
    assert "牙医" in done.stdout or json.dumps("牙医")[1:-1] in done.stdout
