# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mnemogram.cli import main


class Outcome(NamedTuple):
    """What a command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    """Run the command line for user ``me`` in a home of the test's own."""
    monkeypatch.setenv("MNEMOGRAM_ROOT", str(tmp_path / "home"))
    monkeypatch.setenv("MNEMOGRAM_USER", "me")
    monkeypatch.setenv("TZ", "UTC")
    for name in ("MNEMOGRAM_KEY_SECRET", "FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path, stdin: bytes | None = None) -> Outcome:
        if stdin is not None:
            source = tmp_path / "stdin"
            source.write_bytes(stdin)
            monkeypatch.setattr(sys, "stdin", source.open(encoding="utf-8"))
        code = main([str(each) for each in arguments])
        if stdin is not None:
            sys.stdin.close()
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Outcome(code, out.decode(), err.decode())

    return call


@pytest.fixture
def talk(run: Run) -> Run:
    """The same, with a conversation about a dentist stored."""
    for number, (role, text) in enumerate(
        [
            ("user", "明早九点预约牙医复诊"),
            ("assistant", "约好了，要提醒吗？"),
            ("user", "要"),
        ]
    ):
        run(
            *("append", "--session", "s1", "--title", "复诊", "--role", role),
            *("--uid", f"m{number}", "--timestamp", f"2026-03-01T09:0{number}:00Z", text),
        )
    return run


@pytest.fixture
def subprocess_env(tmp_path: Path) -> dict[str, str]:
    """Environment for command lines that run in a process of their own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MNEMOGRAM_") and name not in ("NO_COLOR", "FORCE_COLOR")
    }
    return kept | {
        "MNEMOGRAM_ROOT": str(tmp_path / "home"),
        "MNEMOGRAM_USER": "me",
        "TZ": "UTC",
        "PYTHONIOENCODING": "utf-8",
    }
