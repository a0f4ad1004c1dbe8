# SPDX-License-Identifier: MIT
"""Every block of the page on integrations, and every example, runs as it is written."""

from __future__ import annotations

import asyncio
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = (DOCS / "integrations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^## (.*?)\n|^```python\n(.*?)^```", PAGE, flags=re.M | re.S)


def _blocks() -> list[Any]:
    found, heading = [], ""
    for title, block in BLOCKS:
        heading = title or heading
        if block:
            found.append(pytest.param(block, id=f"{heading} {len(found)}"))
    return found


def _model(block: str) -> Any:
    """A model of the framework that the block uses, which answers and calls nothing."""
    if "langchain" in block:
        pytest.importorskip("langchain", reason="the extra `langchain` is not installed")
        from langchain_core.messages import AIMessage

        from tests.integrations.test_langchain_agent import Scripted

        return Scripted(script=[AIMessage("On Wednesday.")])
    if "agents" in block:
        agents = pytest.importorskip("agents", reason="`openai-agents` is not installed")
        agents.set_tracing_disabled(True)
        from tests.integrations.test_openai_agents import Scripted as Agent
        from tests.integrations.test_openai_agents import says

        return Agent(says("On Wednesday."))
    return None


@pytest.mark.parametrize("block", _blocks())
def test_a_block_runs_as_it_is_written(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile(block, "integrations.md", "exec")
    exec(code, {"__name__": "block", "model": _model(block)})


def test_the_page_has_a_block_for_each_host() -> None:
    assert len(_blocks()) >= 5


def test_the_example_service_keeps_what_is_said_and_shows_rules_where_they_belong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = runpy.run_path(str(DOCS / "examples" / "service.py"))
    said = asyncio.run(example["main"](tmp_path))
    assert said == [
        "Noted, of course.",
        "I will.",
        "OK, shortly.",
        "Noted, of course.",
        "You said: The dentist is on Wednesday.",
        "I do not know.",
    ]
    runpy.run_path(str(DOCS / "examples" / "service.py"), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == said
