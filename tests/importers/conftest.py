# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemogram.importers import Batch, Report, read

Write = Callable[..., Path]
Load = Callable[..., tuple[list[Batch], Report]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a document, or a list of lines, as a file."""

    def make(
        value: Any = None, *, lines: Sequence[Any] | None = None, name: str = "f.json"
    ) -> Path:
        if lines is None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        else:
            text = "\n".join(
                each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
                for each in lines
            )
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture
def load(write: Write) -> Load:
    """Write a file and read it back as conversations."""

    def make(
        value: Any = None, *, lines: Sequence[Any] | None = None, format: str = "auto"
    ) -> tuple[list[Batch], Report]:
        report = Report()
        path = write(value, lines=lines)
        return list(read(path, format=format, report=report)), report

    return make
