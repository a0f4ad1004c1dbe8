# SPDX-License-Identifier: MIT
"""What a person sees: in 80 and 50 columns, in a pipe, without colour, through a pager."""

from __future__ import annotations

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len

import mnemogram
from mnemogram import Message, Session

from .terminal import COMMAND, on_a_terminal, plain

VERBS = (
    (),
    ("search", "牙医"),
    ("search", "牙医", "-v"),
    ("search", "牙医", "-s"),
    ("search", "牙医", "--open"),
    ("search", "dentist", "--explain"),
    ("search", "qqqzzz"),
    ("list",),
    ("list", "-s"),
    ("browse",),
    ("read", "talk-1"),
    ("read", "talk-1", "--all"),
    ("scroll", "5", "-w", "2"),
    ("tail",),
    ("status",),
    ("expire", "--before", "2027-01-01"),
    ("delete", "talk-1"),
)


@pytest.fixture
def env(subprocess_env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A home with twelve conversations, long and wide."""
    with mnemogram.open(tmp_path / "home") as home:
        history = home.history("me")
        for number in range(12):
            session = Session(
                f"talk-{number}",
                title=f"复诊安排 第{number}次 " + "一个很长的标题" * (number % 3 * 4),
            )
            history.append(
                session,
                [
                    Message("user", "明早九点预约牙医复诊，在解放路那家。" * 9, uid="1"),
                    Message(
                        "assistant",
                        "",
                        uid="2",
                        tool_calls=[{"name": "add", "arguments": {"title": "牙医", "at": "9:00"}}],
                    ),
                    Message("tool", '{"ok": true}', uid="3", tool_name="add", tool_status="ok"),
                    Message("assistant", "The dentist is booked: " + "well, " * 60, uid="4"),
                ],
            )
    return subprocess_env


@pytest.mark.parametrize("columns", [80, 50])
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(
    env: dict[str, str], tmp_path: Path, verb: tuple[str, ...], columns: int
) -> None:
    code, shown = on_a_terminal(env, *verb, columns=columns)
    assert code == (3 if "qqqzzz" in verb else 0)
    for line in plain(shown).splitlines():
        assert cell_len(line) <= columns or str(tmp_path) in line, line


@pytest.mark.parametrize("columns", [80, 50])
def test_ten_results_take_three_lines_each(env: dict[str, str], columns: int) -> None:
    _, shown = on_a_terminal(env, "search", "牙医", columns=columns)
    lines = plain(shown).splitlines()
    heads = [place for place, line in enumerate(lines) if re.match(r"\d+\. ", line)]
    assert len(heads) == 10
    assert all(later - place <= 3 for place, later in pairwise(heads))
    assert all(re.search(r"  #\d+  2\d{3}-\d\d-\d\d", lines[place]) for place in heads)
    assert "10 of 12 conversations" in plain(shown)
    assert "times in UTC" in plain(shown)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_pipe_gets_no_colour_and_no_broken_line(
    env: dict[str, str], verb: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [*COMMAND, *verb], env=env, capture_output=True, encoding="utf-8", check=False
    )
    assert "\x1b" not in done.stdout + done.stderr
    if verb == ("read", "talk-1", "--all"):
        assert "    " + "明早九点预约牙医复诊，在解放路那家。" * 9 in done.stdout.splitlines()


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_without_colour_matches_stay_between_marks(
    env: dict[str, str], verb: tuple[str, ...]
) -> None:
    _, shown = on_a_terminal({**env, "NO_COLOR": "1"}, *verb, columns=80)
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|4[0-7]|38|48)[;m]", shown)
    if verb == ("search", "牙医"):
        assert "⟦牙医⟧" in shown


def test_a_person_reads_through_a_pager_and_nobody_else_does(env: dict[str, str]) -> None:
    paged = {**env, "MNEMOGRAM_PAGER": "sed s/^/PAGED:/"}
    for verb in (("search", "牙医"), ("list",), ("read", "talk-1"), ("browse",), ("scroll", "5")):
        code, shown = on_a_terminal(paged, *verb, watched=True)
        assert code == 0
        assert "PAGED:" in shown, verb
        for arguments, options in (
            ((*verb, "--no-pager"), {"watched": True}),
            ((*verb, "--json"), {"watched": True}),
            (verb, {"watched": False}),
        ):
            code, shown = on_a_terminal(paged, *arguments, **options)
            assert "PAGED:" not in shown, arguments


def test_what_comes_after_a_pager_says_how_much_there_is(env: dict[str, str]) -> None:
    _, shown = on_a_terminal({**env, "PAGER": "cat -u"}, "search", "牙医", watched=True)
    assert "10 of 12 conversations" in shown


def test_a_pager_that_is_left_ends_the_command_quietly(env: dict[str, str]) -> None:
    quitting = {**env, "MNEMOGRAM_PAGER": "head -n 1"}
    code, shown = on_a_terminal(quitting, "list", "--all", watched=True)
    assert code == 0
    assert "Traceback" not in shown


def test_an_answer_or_its_code_goes_alone_to_a_file(env: dict[str, str], tmp_path: Path) -> None:
    text = "Like this:\n```python\nprint('牙医')\n\tif x:  # \x1b[31m\n```\nand so on"
    with mnemogram.open(tmp_path / "home") as home:
        home.history("me").append(
            "code",
            [
                Message("user", "how do I print the porcelain?", uid="1"),
                Message("assistant", text, uid="2"),
            ],
        )

    def output(*arguments: str) -> str:
        done = subprocess.run([*COMMAND, *arguments], env=env, capture_output=True, check=True)
        return done.stdout.decode()

    assert output("search", "porcelain", "-r") == text + "\n"
    assert output("search", "porcelain", "-x") == "print('牙医')\n\tif x:  # \x1b[31m\n"
    assert output("read", "code", "-r") == text + "\n"
    assert output("read", "code", "-x") == "print('牙医')\n\tif x:  # \x1b[31m\n"
    code, shown = on_a_terminal(env, "read", "code", "-x")
    assert code == 0
    assert "\x1b[31m" not in shown


def test_a_usage_error_is_json_where_json_was_asked_for(env: dict[str, str]) -> None:
    for arguments in (("search", "--json"), ("serch", "--json"), ("read", "x", "y", "--json")):
        done = subprocess.run([*COMMAND, *arguments], env=env, capture_output=True, check=False)
        assert done.returncode == 2
        answer = json.loads(done.stdout)
        assert (answer["success"], answer["error"]) == (False, "invalid_argument")
        assert answer["message"]
