# SPDX-License-Identifier: MIT
"""What the other modules of this folder share: running programs, failing in words."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input", "--retries=10")


class BuildFailed(Exception):
    """The build went wrong; the message is for people."""


class NotHere(Exception):
    """This machine lacks what a step needs; the message says what."""


def say(words: str) -> None:
    """Tell what begins now."""
    print(f"==> {words}", flush=True)


def run(
    *command: str | Path,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    may_fail: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run a command; where it fails, stop with all that it said.

    Args:
        *command: the program and its arguments.
        cwd: where it runs.
        env: variables in addition to those of this process.
        may_fail: return its status instead of stopping.
    """
    line = [str(each) for each in command]
    done = subprocess.run(
        line,
        cwd=cwd,
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode and not may_fail:
        raise BuildFailed(
            f"failed with status {done.returncode}: {' '.join(line)}\n{done.stdout}{done.stderr}"
        )
    return done


def environment(directory: Path, *packages: str, python: str | Path = sys.executable) -> Path:
    """Make an empty environment with packages; return its Python."""
    run(python, "-m", "venv", directory)
    made = directory / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if packages:
        run(made, *PIP, "install", *packages)
    return made


def only(directory: Path, pattern: str) -> Path:
    """Return the one file that matches."""
    found = sorted(directory.glob(pattern))
    if len(found) != 1:
        raise BuildFailed(f"expected one {pattern} in {directory}, found {len(found)}")
    return found[0]
