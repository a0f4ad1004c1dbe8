# SPDX-License-Identifier: MIT
"""list, read, tail, names of conversations, times, hints: all of one's data at the terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemogram
from mnemogram import Message, Session

from .conftest import Run
from .terminal import COMMAND


@pytest.fixture
def many(run: Run, tmp_path: Path) -> Run:
    """Thirty-five conversations of one to three messages, one of them background work."""
    with mnemogram.open(tmp_path / "home") as home:
        history = home.history("me")
        for number in range(35):
            session = Session(
                f"talk-{number:02}-{'ab'[number % 2]}",
                title=f"Trip to Lisbon {number}" if number % 5 == 0 else None,
                source="telegram" if number % 7 == 0 else "chat",
            )
            when = f"2026-03-{number % 28 + 1:02}T10:00:00Z"
            texts = [f"message {place} of talk {number}" for place in range(number % 3 + 1)]
            history.append(
                session,
                [
                    Message("user", text, uid=str(place), timestamp=when)
                    for place, text in enumerate(texts)
                ],
            )
        history.append(
            Session("job", source="subagent"),
            [Message("user", "in the background", uid="1", timestamp="2026-04-01T00:00:00Z")],
        )
    return run


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


# --- list ------------------------------------------------------------------------------


def test_a_list_says_how_many_there_are_and_has_no_end(many: Run) -> None:
    done = many("list")
    assert done.code == 0
    assert "20 of 35 conversations" in done.err
    assert "1 conversation of background work left out: --all-sources" in done.err
    found = lines(many("list", "--all", "--json").out)
    assert len(found) == len({each["session_id"] for each in found}) == 35
    active = [str(each["last_active_at"]) for each in found]
    assert active == sorted(active, reverse=True)
    assert lines(many("list", "--oldest", "--all", "--json").out)[0]["last_active_at"] == active[-1]
    assert len(lines(many("list", "--all", "--all-sources", "--json").out)) == 36
    assert len(lines(many("list", "-n", "3", "--json").out)) == 3


def test_a_list_is_narrowed_by_title_source_and_period(many: Run) -> None:
    assert "7 conversations" in many("list", "--title", "ＬＩＳＢＯＮ").err
    assert "5 conversations" in many("list", "--source", "telegram").err
    day = ("--after", "2026-03-03", "--before", "2026-03-03")
    found = lines(many("list", *day, "--json").out)
    assert {each["session_id"] for each in found} == {"talk-02-a", "talk-30-a"}
    done = many("list", "--title", "Oslo")
    assert (done.code, done.out) == (3, "")
    assert "no conversation is like that" in done.err


# --- names -----------------------------------------------------------------------------


def test_a_conversation_is_named_by_a_beginning_a_number_or_a_title(many: Run) -> None:
    number = many("search", "message 0 of talk 31", "--json").json["results"][0]["match_message_id"]
    for name in ("talk-31-b", "talk-31", str(number), f"#{number}"):
        done = many("read", name)
        assert done.code == 0, name
        assert "message 0 of talk 31" in done.out
    assert "message 0 of talk 10" in many("read", "trip to LISBON 10").out
    assert f"#{number}" in many("scroll", f"#{number}").out
    assert f"#{number}" in many("scroll", "talk-31", str(number)).out


def test_a_name_of_several_is_asked_about_and_one_of_none_is_not_found(many: Run) -> None:
    done = many("read", "talk-1")
    assert (done.code, done.out) == (2, "")
    assert "talk-10-a, talk-11-b" in done.err
    assert many("read", "nothing").code == 3
    assert many("read", "#99999").code == 3
    assert many("scroll", "talk-31").code == 2


def test_a_deletion_takes_no_beginning_for_a_name(many: Run) -> None:
    assert "not there" in many("delete", "talk-31", "--apply").out
    assert many("read", "talk-31-b").code == 0
    number = many("search", "message 0 of talk 31", "--json").json["results"][0]["match_message_id"]
    assert "talk-31-b" in many("delete", f"#{number}", "--apply").out
    assert many("read", "talk-31-b").code == 3


# --- read and tail ---------------------------------------------------------------------


def test_all_of_a_conversation_is_read_whole(run: Run, tmp_path: Path) -> None:
    texts = [f"{number} " + "long text " * 900 for number in range(45)]
    with mnemogram.open(tmp_path / "home") as home:
        home.history("me").append(
            "long", [Message("user", text, uid=str(place)) for place, text in enumerate(texts)]
        )
    found = lines(run("read", "long", "--all", "--json").out)
    assert [each["content"] for each in found] == texts
    last = lines(run("read", "long", "--last", "4", "--json").out)
    assert [each["content"] for each in last] == texts[-4:]
    shown = run("read", "long", "--all").out
    assert shown.count("long text") == 45 * 900
    assert "cut here" not in shown
    assert "cut here" in run("read", "long").out


def test_the_tail_is_what_was_said_last_anywhere(many: Run) -> None:
    many("append", "--session", "talk-00-a", "the very last words")
    done = many("tail", "-n", "2")
    assert done.code == 0
    assert "the very last words" in done.out
    assert "talk-00-a" in done.out
    (last,) = lines(many("tail", "-n", "1", "--json").out)
    assert (last["session_id"], last["content"]) == ("talk-00-a", "the very last words")


def test_a_tail_goes_on_with_what_is_said(subprocess_env: dict[str, str]) -> None:
    def append(text: str) -> None:
        arguments = ("append", "--session", "s", text)
        subprocess.run([*COMMAND, *arguments], env=subprocess_env, capture_output=True, check=True)

    append("before")
    with subprocess.Popen(
        [*COMMAND, "tail", "--follow", "--json"], env=subprocess_env, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        try:
            assert json.loads(child.stdout.readline())["content"] == "before"
            append("after")
            assert json.loads(child.stdout.readline())["content"] == "after"
        finally:
            child.kill()


# --- times -----------------------------------------------------------------------------


@pytest.fixture
def shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_what_is_printed_can_be_typed_back(talk: Run, shanghai: None) -> None:
    done = talk("search", "牙医")
    (shown,) = re.findall(r"2026-03-01 \d\d:\d\d", done.out)
    assert shown == "2026-03-01 17:00"
    assert "times in +08:00" in done.err
    assert talk("search", "牙医", "--after", shown).code == 0
    assert talk("search", "牙医", "--before", shown).code == 3
    assert talk("search", "牙医", "--after", "2026-03-01 17:01").code == 3
    assert talk("search", "牙医", "--json").json["results"][0]["when"] == "2026-03-01T09:00:00.000Z"
    done = talk("search", "牙医", "--utc", "--after", "2026-03-01 09:00")
    assert "2026-03-01 09:00" in done.out
    assert "times in UTC" in done.err
    assert talk("search", "牙医", "--utc", "--after", "2026-03-01 09:01").code == 3


def test_a_day_is_one_of_the_reader(talk: Run, shanghai: None) -> None:
    talk("append", "--session", "late", "--timestamp", "2026-03-02 00:30", "after midnight")
    for verb in (("list",), ("browse",), ("search", "midnight"), ("tail",)):
        for day, code in (("2026-03-02", 0), ("2026-03-03", 3)):
            assert talk(*verb, "--after", day, "--before", day).code == code, (verb, day)
    assert "late" not in talk("list", "--after", "2026-03-01", "--before", "2026-03-01").out
    assert "late" in talk("list", "--utc", "--after", "2026-03-01", "--before", "2026-03-01").out


# --- what comes next -------------------------------------------------------------------


def test_the_command_alone_says_what_is_there_and_what_to_do(run: Run) -> None:
    done = run()
    assert (done.code, done.out) == (0, "")
    assert "Nothing is stored for me" in done.err
    assert "mnemogram import FILE" in done.err
    run("append", "--session", "s", "dentist on friday")
    done = run()
    assert done.code == 0
    assert "1 conversation, 1 message" in done.out
    assert "mnemogram search WORDS" in done.err


def test_options_may_stand_before_the_verb(talk: Run, tmp_path: Path) -> None:
    assert talk("--json", "search", "牙医").json["count"] == 1
    assert talk("--user", "other", "search", "牙医").code == 3
    assert talk("--root", tmp_path / "elsewhere", "list").code == 3


def test_a_mistyped_verb_is_named(run: Run) -> None:
    done = run("serch", "x")
    assert (done.code, done.out) == (2, "")
    assert "Did you mean search?" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "qqqzzz"),
        ("search", "qqqzzz", "-r"),
        ("search", "预约", "-x"),
        ("list", "--title", "qqqzzz"),
        ("list", "--after", "2027-01-01"),
        ("browse", "--after", "2027-01-01"),
        ("read", "qqqzzz"),
        ("read", "s1", "-x"),
        ("scroll", "999"),
        ("tail", "--after", "2027-01-01"),
        ("delete", "qqqzzz"),
        ("expire", "--before", "1999-01-01"),
        ("memory", "recall", "qqqzzz"),
        ("scene", "list"),
        ("search", "x", "--user", "nobody"),
    ],
    ids=" ".join,
)
def test_where_nothing_is_found_words_say_so(talk: Run, arguments: tuple[str, ...]) -> None:
    done = talk(*arguments)
    assert done.code == 3
    assert (done.out + done.err).strip()


_PYTHON = re.compile(r"\w+\(\)|\b[a-z]+_[a-z_]+\b|=True|\bPass\b|None")


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "牙医", "--cursor", "junk"),
        ("search", "牙医", "--after", "2026-03-02 10:00", "--before", "2026-03-01 10:00"),
        ("search", "后台"),
        ("search", "只在工具里"),
        ("browse", "--after", "2026-03-01", "--before", "2026-03-02"),
        ("browse", "--cursor", "junk"),
        ("scroll", "s1", "99"),
        ("read", "long"),
        ("backup", "HERE"),
        ("export", "HERE"),
        ("import", "HERE"),
        ("append", "--session", " ", "x"),
    ],
    ids=" ".join,
)
def test_hints_speak_of_commands_and_not_of_python(
    talk: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    here = tmp_path / "here"
    here.write_text("no conversation")
    talk("append", "--session", "b", "--source", "subagent", "后台的工作")
    talk("append", "--session", "s1", "--role", "tool", "--tool-name", "look", "只在工具里")
    with mnemogram.open(tmp_path / "home") as home:
        home.history("me").append(
            "long", [Message("user", f"line {n} " * 900, uid=str(n)) for n in range(40)]
        )
    done = talk(*(str(here) if each == "HERE" else each for each in arguments))
    words = done.err.replace(str(here), "")
    assert words
    assert not _PYTHON.search(words), words


def test_following_a_hint_finds_what_was_left_out(talk: Run) -> None:
    talk("append", "--session", "b", "--source", "subagent", "后台的工作")
    talk("append", "--session", "s1", "--role", "tool", "--tool-name", "look", "只在工具里")
    done = talk("search", "后台")
    assert (done.code, "add --source subagent" in done.err) == (3, True)
    assert talk("search", "后台", "--source", "subagent").code == 0
    done = talk("search", "只在工具里")
    assert "add --tools" in done.err
    assert "只在工具里" in talk("search", "只在工具里", "--tools").out.replace("⟦", "").replace(
        "⟧", ""
    )


# --- completion ------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(run: Run, shell: str) -> None:
    done = run("completion", shell)
    assert done.code == 0
    assert "_MNEMOGRAM_COMPLETE" in done.out


def test_verbs_and_conversations_are_completed(many: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MNEMOGRAM_COMPLETE", "bash_complete")

    def completed(*words: str) -> set[str]:
        monkeypatch.setenv("COMP_WORDS", " ".join(("mnemogram", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        return {line.partition(",")[2] for line in many().out.splitlines()}

    assert completed("sea") == {"search"}
    assert completed("read", "talk-31") == {"talk-31-b"}
    assert "--before" in completed("list", "--be")
    monkeypatch.setenv("MNEMOGRAM_USER", "nobody")
    assert completed("read", "talk-31") <= {""}


def test_completion_without_a_name_is_that_of_the_shell_in_use(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", f"{os.sep}usr{os.sep}bin{os.sep}zsh")
    assert "compdef" in run("completion").out
    monkeypatch.setenv("SHELL", "/bin/false")
    assert run("completion").code == 2


# --- tags ------------------------------------------------------------------------------


def test_conversations_are_tagged_and_found_by_their_tags(many: Run) -> None:
    assert many("tag", "talk-03-b", "Work", "税金").out.split() == ["Work", "税金"]
    assert many("tag", "talk-04-a", "work").code == 0
    assert many("tag", "talk-04-a", "--remove", "WORK", "old").out.split() == ["old"]
    assert many("tag", "talk-04-a", "--json").json == {"session_id": "talk-04-a", "tags": ["old"]}
    done = many("list", "--tag", "work")
    assert "1 conversation" in done.err
    assert "[Work, 税金]" in done.out
    found = many("search", "--tag", "work", "message", "--json").json
    assert [hit["session_id"] for hit in found["results"]] == ["talk-03-b"]
    (hit,) = many("search", "税金", "--json").json["results"]
    assert (hit["session_id"], hit["found_by"]) == ("talk-03-b", "tag")
    assert many("browse", "--tag", "nowhere").code == 3
    assert "tags" in many("read", "talk-03-b").out
    assert many("tag", "talk-04-a", "x" * 101).code == 2
    assert many("tag", "nobody", "x").code == 3
