# SPDX-License-Identifier: MIT
"""Two users, of whom one must never hear of the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemogram
from mnemogram import Message


@pytest.fixture
def home(tmp_path: Path) -> Iterator[mnemogram.Mnemogram]:
    with mnemogram.open(tmp_path / "root") as home:
        home.history("ann").append("s1", [Message("user", "我上次预约牙医是星期三")])
        home.history("bob").append("s1", [Message("user", "bob's own secret, 牙医")])
        yield home
