# SPDX-License-Identifier: MIT
"""An import that a person stops: whole conversations stay, and it says how to go on.

The file is a named pipe, so that the test decides how far the command has read: what fits
into no buffer between them was taken, and what stood before it is stored.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest

from .conftest import Run
from .test_process import running

#: More than a pipe, the reader's buffers and its look ahead hold together.
PADDING = (" " * 999 + "\n") * 1_000
PIECE = 100
#: The command, with shorter pieces and transactions.
COMMAND = [
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'mnemogram'\n"
    "from mnemogram.cli import intake, main\n"
    "from mnemogram.importers import jsonl\n"
    f"jsonl.BATCH_MESSAGES = intake._TRANSACTION = {PIECE}\n"
    "sys.exit(main())",
]


def line(session: str, number: int) -> str:
    value = {"session": session, "uid": f"{session}-{number}", "content": f"word {number}"}
    return json.dumps({**value, "role": "user"}) + "\n"


def talk(number: int) -> str:
    turns = [{"from": "human" if each % 2 else "gpt", "value": f"{each}"} for each in range(4)]
    return json.dumps({"id": f"c-{number}", "conversations": turns}) + "\n"


@contextmanager
def feeding(
    env: dict[str, str], pipe: Path
) -> Iterator[tuple[subprocess.Popen[bytes], IO[str], IO[bytes]]]:
    """Start an import from a named pipe, which is open until the end."""
    os.mkfifo(pipe)
    with (
        running(env, "import", str(pipe), command=COMMAND) as child,
        pipe.open("w", encoding="utf-8") as feed,
    ):
        assert child.stderr is not None
        yield child, feed, child.stderr
        with suppress(BrokenPipeError):
            feed.close()


def heard(stderr: IO[bytes], words: bytes) -> None:
    for each in stderr:
        if words in each:
            return
    raise AssertionError(f"it ended without saying {words!r}")


def stored(run: Run) -> Counter[str]:
    lines = [json.loads(each) for each in run("export").out.splitlines()]
    return Counter(each["session"] for each in lines if each["type"] == "message")


LONG = PIECE + 50


def test_a_long_conversation_is_read_to_its_end_and_no_other_one(
    subprocess_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    whole = [line("long", number) for number in range(LONG)]
    with feeding(subprocess_env, tmp_path / "pipe.jsonl") as (child, feed, stderr):
        feed.writelines(whole[:PIECE])
        feed.write(PADDING)
        feed.flush()
        child.send_signal(signal.SIGINT)
        heard(stderr, b"Stopping when the conversation is whole")
        feed.writelines(line("next", number) for number in range(9))
        feed.writelines(whole[PIECE:])
        feed.close()
        said = stderr.read().decode()
        assert child.wait() == 130
    assert "What is stored is whole conversations" in said
    assert "run the same command again" in said
    assert stored(run) == {"long": LONG}
    # And so it goes on.
    file = tmp_path / "pipe.jsonl"
    file.unlink()
    file.write_text("".join([*whole, *(line("next", number) for number in range(9))]))
    done = run("import", file, "--json")
    assert (done.code, done.json["inserted"], done.json["repeated"]) == (0, 9, LONG)


def test_of_many_conversations_the_one_at_hand_is_the_last(
    subprocess_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    with feeding(subprocess_env, tmp_path / "pipe.jsonl") as (child, feed, stderr):
        feed.writelines(map(talk, range(100)))
        feed.write(PADDING)
        feed.flush()
        child.send_signal(signal.SIGINT)
        heard(stderr, b"Stopping when the conversation is whole")
        with suppress(BrokenPipeError):  # it leaves as soon as it may
            for number in range(100, 60_000):
                feed.write(talk(number))
        assert child.wait() == 130
    there = stored(run)
    assert set(there.values()) == {4}
    assert 100 <= len(there) < 60_000


def test_who_asks_twice_is_told_what_may_be_in_part(
    subprocess_env: dict[str, str], run: Run, tmp_path: Path
) -> None:
    whole = [line("long", number) for number in range(LONG)]
    with feeding(subprocess_env, tmp_path / "pipe.jsonl") as (child, feed, stderr):
        feed.writelines(whole[:PIECE])
        feed.write(PADDING)
        feed.flush()
        child.send_signal(signal.SIGINT)
        heard(stderr, b"Stopping when the conversation is whole")
        child.send_signal(signal.SIGINT)
        said = stderr.read().decode()
        assert child.wait() == 130
    assert "Stored in part may be: long" in said
    assert "run the same command again" in said
    assert stored(run) == {"long": PIECE}
    file = tmp_path / "all.jsonl"
    file.write_text("".join(whole))
    done = run("import", file, "--json")
    assert (done.code, done.json["inserted"]) == (0, LONG - PIECE)
    assert stored(run) == {"long": LONG}


def test_files_after_the_stop_are_not_begun(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(line(name, 1))
    from mnemogram.cli.intake import Intake

    take = Intake.take

    def stopping(self: Intake, path: str) -> Any:
        result = take(self, path)
        signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(Intake, "take", stopping)
    done = run("import", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert done.code == 130
    assert "1 file not begun" in done.err
    assert stored(run) == {"a": 1}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
