# SPDX-License-Identifier: MIT
"""The documents say what the program does: every verb, every option, every example."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from mnemogram.cli.app import cli
from mnemogram.tools import GUIDE
from mnemogram.tools.memory import COMMIT, RECALL
from mnemogram.tools.session_search import DECLARATION

ROOT = Path(__file__).resolve().parent.parent
USAGE = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMON = {"--root", "--user", "--json", "--utc", "--help"}


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")


COMMANDS = dict(commands(cli, "mnemogram"))


def sections() -> dict[str, str]:
    parts = re.split(r"^#{2,3} (mnemogram .*)$", USAGE, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def long_options(command: click.Command) -> set[str]:
    return {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }


def test_every_verb_has_a_section_and_every_section_a_verb() -> None:
    assert set(sections()) == set(COMMANDS) - {"mnemogram"}


@pytest.mark.parametrize("path", [path for path in COMMANDS if path != "mnemogram"])
def test_a_section_names_exactly_the_options_of_its_verb(path: str) -> None:
    written = set(re.findall(r"`(?:[^`]*\s)?(--[a-z][a-z-]*)", sections()[path]))
    bullets = "\n".join(re.findall(r"^- (.*(?:\n  .*)*)", sections()[path], flags=re.M))
    described = set(re.findall(r"(--[a-z][a-z-]*)", bullets))
    real = long_options(COMMANDS[path])
    assert real - COMMON <= described
    assert described | written <= real | COMMON


@pytest.mark.parametrize("path", list(COMMANDS))
def test_the_help_of_a_verb_says_what_it_does_and_what_each_option_means(path: str) -> None:
    command = COMMANDS[path]
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            said = parameter.help or isinstance(parameter.type, click.Choice)
            assert said or parameter.show_default, parameter.opts
    context = click.Context(command, info_name=path)
    text = command.get_help(context)
    for name in long_options(command):
        assert name in text


def python_blocks(text: str) -> list[Any]:
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    return [pytest.param(block, id=block.splitlines()[0][:40]) for block in blocks]


@pytest.mark.parametrize("block", python_blocks(README))
def test_the_python_of_the_readme_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_the_commands_of_the_readme_exist() -> None:
    shown = re.findall(r"^(?:\$ )?(?:\S*/)?mnemogram ([a-z]+(?: [a-z]+)?)", README, flags=re.M)
    assert shown
    for words in shown:
        verb, _, second = words.partition(" ")
        assert f"mnemogram {verb}" in COMMANDS
        if isinstance(COMMANDS[f"mnemogram {verb}"], click.Group):
            assert f"mnemogram {verb} {second}" in COMMANDS


def test_the_options_of_the_readme_exist() -> None:
    every = set().union(*(long_options(command) for command in COMMANDS.values()))
    lines = re.findall(r"^(?:\$ )?(?:\S*/)?mnemogram .*$", README, flags=re.M)
    for line in lines:
        assert set(re.findall(r"(?<=\s)--[a-z][a-z-]*", line)) <= every, line


def test_two_commands_of_the_readme_set_everything_up() -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, flags=re.M | re.S)
    demo, tests = (block for block in blocks if "python3 -m venv" in block)
    assert demo.rstrip().endswith(".venv/bin/mnemogram demo")
    assert tests.rstrip().endswith(".venv/bin/python -m pytest")
    for block in (demo, tests):
        lines = block.rstrip().splitlines()
        assert all(line.endswith("\\") for line in lines[:-1])


def test_the_page_on_prompting_shows_the_text_that_hosts_get() -> None:
    page = (ROOT / "docs" / "prompting.md").read_text(encoding="utf-8")
    assert re.findall(r"^```text\n(.*?)^```", page, flags=re.M | re.S) == [GUIDE]


def test_the_guide_names_the_tools_and_arguments_there_are() -> None:
    declared = (DECLARATION, COMMIT, RECALL)
    for each in declared:
        assert each.name in GUIDE
    names = {each.name for each in DECLARATION.parameters}
    assert {"after", "before", "role_filter", "session_id", "around_message_id"} <= names
    assert len(GUIDE) < 3_000


@pytest.mark.parametrize("document", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"], ids=str)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (document.parent / target).exists(), target
