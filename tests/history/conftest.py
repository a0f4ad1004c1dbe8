# SPDX-License-Identifier: MIT
"""Appends help indexes along once a second; tests of exact states do without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemogram.history import file as base


@pytest.fixture(autouse=True, scope="package")
def appends_do_not_help() -> Iterator[None]:
    """Let nothing happen to an index that a test does not ask for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "HELP_INTERVAL", float("inf"))
        yield
