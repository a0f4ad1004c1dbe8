# SPDX-License-Identifier: MIT
"""Types as a program that uses the package sees them, and stubs against what was compiled."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mnemogram

USE = Path(__file__).parent / "typed" / "use.py"
NATIVE = Path(mnemogram.__file__).parent / "_native"
MODULES = sorted(stub.stem for stub in NATIVE.glob("*.pyi"))

pytestmark = pytest.mark.long


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy")
def test_every_stub_says_what_its_compiled_module_has(tmp_path: Path) -> None:
    # Cython's classes show their methods and no signatures of __init__ and __new__.
    run(tmp_path, "mypy.stubtest", *(f"mnemogram._native.{module}" for module in MODULES))


@pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy")
def test_mypy_sees_the_types_of_an_installed_package(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE.read_text("utf-8"))
    run(tmp_path, "mypy", "--strict", "--config-file=", "use.py")


@pytest.mark.skipif(find_spec("basedpyright") is None, reason="needs basedpyright")
def test_pyright_sees_the_types_of_an_installed_package(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE.read_text("utf-8"))
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    run(tmp_path, "basedpyright", "--pythonpath", sys.executable, "use.py")
