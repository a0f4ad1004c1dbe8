# SPDX-License-Identifier: MIT
"""The reference names every public name, once, and every page has its place."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import mnemogram

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text("utf-8")
NAMED = re.findall(r"^::: (\S+)$", REFERENCE, flags=re.M)
#: Rooms that people import from.
PUBLIC = (
    *("mnemogram", "mnemogram.extension", "mnemogram.importers", "mnemogram.learning"),
    *("mnemogram.memory", "mnemogram.service", "mnemogram.text", "mnemogram.tools"),
)


def resolved(name: str) -> object:
    room, _, last = name.rpartition(".")
    return getattr(importlib.import_module(room), last)


@pytest.mark.parametrize("room", PUBLIC)
def test_every_public_name_has_its_place_in_the_reference(room: str) -> None:
    module = importlib.import_module(room)
    shown = [resolved(name) for name in NAMED]
    for name in module.__all__:
        meant = getattr(module, name)
        if name != "__version__" and not isinstance(meant, ModuleType):
            assert any(each is meant for each in shown), f"{room}.{name}"


def test_the_reference_names_what_there_is_and_nothing_twice() -> None:
    assert len(NAMED) == len(set(NAMED))
    assert all(resolved(name) is not None for name in NAMED)
    assert resolved("mnemogram.History") is mnemogram.History


def test_every_page_has_its_place_in_the_navigation() -> None:
    listed = re.findall(
        r"^      - (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), flags=re.M
    )
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))
