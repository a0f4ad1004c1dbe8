# SPDX-License-Identifier: MIT
"""A root with one user's conversations, and a browser at its page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mnemogram
from mnemogram.demo import conversations

if TYPE_CHECKING:
    from tests.view.client import Client

#: What the page is made with; without it there is nothing to try.
NEEDED = ("starlette", "uvicorn", "jinja2", "markdown_it")


@pytest.fixture(scope="package", autouse=True)
def _extra() -> None:
    for name in NEEDED:
        pytest.importorskip(name, reason=f"the extra 'view' is not installed: no {name}")


@pytest.fixture(scope="package")
def _filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("view")
    with mnemogram.open(made) as home:
        home.history("alice").append_many(
            [(each.session, each.messages) for each in conversations()]
        )
    return made


@pytest.fixture
def root(_filled: Path, tmp_path: Path) -> Path:
    """A root where alice has the conversations of the demo."""
    return shutil.copytree(_filled, tmp_path / "root")


@pytest.fixture
def client(root: Path) -> Iterator[Client]:
    from tests.view.client import Client

    made = Client(root)
    yield made
    made.close()
