# SPDX-License-Identifier: MIT
"""A fresh memory with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemogram.memory import SceneMemory


class Clock:
    """Seconds since 1970, one more at each look."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[SceneMemory]:
    with SceneMemory.open(tmp_path / "memory.db", clock=Clock(), synchronous="normal") as opened:
        yield opened
        report = opened.check()
        assert not [each for each in report.problems if each.severity == "error"], report
