# SPDX-License-Identifier: MIT
"""docs/scenes.md and its example say what really happens."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from mnemogram.memory import SceneMemory

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "scenes.md").read_text(encoding="utf-8")


def test_the_three_situations_are_shown_as_they_come_out(tmp_path: Path) -> None:
    example = runpy.run_path(str(DOCS / "examples" / "scenes.py"))
    with SceneMemory.open(tmp_path / "memory.db") as memory:
        example["remember"](memory)
        found = example["situations"](memory)
    shown = dict(re.findall(r"<!-- output (\w+) -->\n```text\n(.*?)\n```", PAGE, flags=re.S))
    assert found == shown


def test_the_example_runs_as_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(DOCS / "examples" / "scenes.py"), run_name="__main__")
    assert capsys.readouterr().out.count("---") == 4


def test_the_first_lines_print_what_stands_below_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, output = re.findall(r"```(?:python|text)\n(.*?)```", PAGE, flags=re.S)[:2]
    exec(compile(code, "scenes.md", "exec"), {"__name__": "scenes"})
    assert capsys.readouterr().out == output


def test_every_method_named_on_the_page_exists() -> None:
    named = set(re.findall(r"`([a-z_]+)\(", PAGE)) | set(re.findall(r"^\| `([a-z_]+)", PAGE, re.M))
    functions = {"triples_from_document", "scene_keys_for", "normalize_scene_key"}
    fields = {"kind", "trust", "confidence", "sentence", "scene", "subtree", "inherit", "both"}
    assert named - functions - fields - {"match"} <= set(dir(SceneMemory))
