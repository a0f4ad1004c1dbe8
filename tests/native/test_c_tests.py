# SPDX-License-Identifier: MIT
"""The C tests, built and run from here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="needs a C compiler")
def test_the_c_tests_pass(tmp_path: Path) -> None:
    configure = ["cmake", "-S", str(ROOT), "-B", str(tmp_path)]
    configure += ["-DMNEMOGRAM_PYTHON=OFF", "-DMNEMOGRAM_WERROR=ON", "-DCMAKE_BUILD_TYPE=Release"]
    for command in (
        configure,
        ["cmake", "--build", str(tmp_path)],
        ["ctest", "--test-dir", str(tmp_path), "--output-on-failure", "--no-tests=error"],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-4000:]
