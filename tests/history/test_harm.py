# SPDX-License-Identifier: MIT
"""A little of what ``python -m bench.harm`` does for as long as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench.harm.__main__ import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks processes")

CASES = {"arguments": 4, "damage": 16, "full": 8, "kills": 16}


@pytest.mark.parametrize("kind", sorted(CASES))
def test_no_harm_makes_a_history_lose_what_it_has_or_raise_anothers_error(
    tmp_path: Path, kind: str
) -> None:
    reports = run([kind], minutes=10.0, seed=7_000, jobs=2, folder=tmp_path, most=CASES[kind])
    assert reports[kind].cases >= CASES[kind]
    assert not reports[kind].findings
