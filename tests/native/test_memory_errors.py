# SPDX-License-Identifier: MIT
"""Memory runs out inside the compiled modules: MemoryError, and nothing else is different."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = shutil.which(os.environ.get("CC", "cc"))


def run(*arguments: str, **environment: str) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, str(HERE / "memory_errors.py"), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="preloads a library")
@pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
def test_each_allocation_of_the_modules_may_fail(tmp_path: Path) -> None:
    assert COMPILER is not None
    library = tmp_path / "failing_malloc.so"
    source = HERE / "failing_malloc.c"
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True
    )
    found = run("malloc", "10000", LD_PRELOAD=str(library))
    assert all(found[name] > 0 for name in ("config", "tokens", "compile", "match", "score"))


@pytest.mark.skipif(importlib.util.find_spec("_testcapi") is None, reason="needs CPython's tests")
def test_each_allocation_of_pythons_for_the_modules_may_fail() -> None:
    found = run("python", "300")
    if not found:
        pytest.skip("compiled by a Cython that frees twice")
    assert all(found[name] > 0 for name in ("config", "tokens", "parse", "match", "excerpt", "key"))
