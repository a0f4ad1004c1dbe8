# SPDX-License-Identifier: MIT
"""What a type checker of a host knows: every face is typed, and a wrong option is an error."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from mnemogram import History, SceneMemory
from mnemogram.options import HistoryOptions, HostOptions, MemoryOptions

CLIENT = Path(__file__).with_name("typing_client.py")

#: Lines that a checker has to refuse.
WRONG = {
    "an option that there is not": 'mnemogram.open("x", retentoin=None)',
    "an option of the wrong type": 'mnemogram.open("x", max_open="8")',
    "a policy that there is not": 'mnemogram.open("x", policy="some")',
    "a memory option that there is not": 'mnemogram.open("x", memory_options={"backgruond": True})',
    "an option of the service": 'MnemogramService("x", wokers=1)',
    "an argument of a search": 'home.history("a").search("x", limits=3)',
    "a sort that there is not": 'home.history("a").search("x", sort="best")',
    "a field of an answer": 'home.history("a").search("x").hits',
    "an argument of an awaited search": 'service.history("a").search("x", limits=3)',
    "an awaited answer that is not awaited": 'service.history("a").search("x").results',
    "an argument of an awaited memory": 'service.memory("a").recall("x", limits=3)',
}
WRONG_CLIENT = (
    "import mnemogram\n"
    "from mnemogram.service import MnemogramService\n\n"
    "def use(home: mnemogram.Mnemogram, service: MnemogramService) -> None:\n"
)


def test_the_options_of_a_host_are_those_of_its_stores() -> None:
    def keywords(opening: object, *but: str) -> set[str]:
        return set(inspect.signature(opening).parameters) - {"path", *but}  # type: ignore[arg-type]

    assert set(HistoryOptions.__annotations__) == keywords(History.open, "user_id")
    assert set(MemoryOptions.__annotations__) == keywords(SceneMemory.open)
    assert set(HostOptions.__annotations__) >= {"key_secret", "max_open", "memory_options"}


def mypy(*files: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy")
    return subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull),
            *("--cache-dir", str(cwd / "cache"), *map(str, files)),
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_client_of_every_face_is_strictly_typed(tmp_path: Path) -> None:
    done = mypy(CLIENT, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_wrong_use_is_an_error_of_the_type_checker(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG_CLIENT + "".join(f"    {line}\n" for line in WRONG.values()))
    done = mypy(file, cwd=tmp_path)
    first = WRONG_CLIENT.count("\n") + 1
    missed = [
        what
        for place, what in enumerate(WRONG, first)
        if f"wrong.py:{place}: error" not in done.stdout
    ]
    assert not missed, done.stdout


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_nothing_in_the_client() -> None:
    done = subprocess.run(
        ["pyright", "--pythonpath", sys.executable, str(CLIENT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_hints_can_be_read_at_run_time() -> None:
    assert get_type_hints(History.search)["limit"] is int
