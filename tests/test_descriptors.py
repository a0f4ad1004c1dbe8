# SPDX-License-Identifier: MIT
"""A host with few file descriptors: idle stores give theirs back, errors name the limit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("resource")

HEAD = """
import gc, os, resource, sys, threading
import mnemogram
from mnemogram import (Message, StorageUnavailable, Triple)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
root = sys.argv[1]
def use(history, text="apple"):
    history.append("s", [Message("user", text, uid=text)])
    assert history.search(text).count == 1, text
def opened():
    return len(os.listdir("/dev/fd"))
"""


@pytest.fixture
def host(tmp_path: Path) -> Callable[[str], str]:
    def run(code: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", HEAD + code, str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def test_any_number_of_users_fit_into_256_descriptors(host: Callable[[str], str]) -> None:
    host("""
with mnemogram.open(root, synchronous="normal") as home:
    for number in range(70):
        use(home.history(f"u{number}"))
        assert opened() < 200
""")


def test_stores_that_the_host_keeps_are_parked_and_come_back(host: Callable[[str], str]) -> None:
    host("""
with mnemogram.open(root, synchronous="normal", max_open=1000) as home:
    held = [home.history(f"u{number}") for number in range(45)]
    kept = [home.memory(f"u{number}") for number in range(45)]
    for round in range(2):
        for history, memory in zip(held, kept):
            use(history, f"apple{round}")
            memory.commit([Triple("a", "is", f"b{round}")], scene="x")
            assert opened() < 200
    assert all(each.status().tokenizer for each in held)
    assert {each.status().messages for each in held} == {2}
    assert {each.status().relations for each in kept} == {2}
""")


def test_stores_opened_one_by_one_share_the_bound(host: Callable[[str], str]) -> None:
    host("""
held = [mnemogram.History.open(f"{root}/{number}.db", synchronous="normal") for number in range(70)]
for each in held:
    use(each)
    assert opened() < 200
for each in held:
    each.close()
assert opened() < 30
""")


def test_a_store_in_use_is_never_taken_away(host: Callable[[str], str]) -> None:
    host("""
with mnemogram.open(root, synchronous="normal", max_open=1000) as home:
    first = home.history("first")
    use(first)
    with first._database.read() as reader, first._database.write() as writer:
        writer.execute("UPDATE sessions SET title = 'in a transaction'")
        before = reader.one("SELECT count(*) FROM messages")
        for number in range(45):
            use(home.history(f"u{number}"))
        assert writer.in_transaction
        assert reader.one("SELECT count(*) FROM messages") == before
    assert first.read("s").title == "in a transaction"
""")


def test_threads_lose_nothing_while_stores_are_parked(host: Callable[[str], str]) -> None:
    host("""
with mnemogram.open(root, synchronous="normal", max_open=1000) as home:
    users = [f"u{number}" for number in range(45)]
    failures = []
    def work(name):
        try:
            for user in users:
                home.history(user).append("s", [Message("user", f"pear {name}", uid=name)])
                home.history(user).search("pear")
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(f"t{each}",)) for each in range(4)]
    for each in threads: each.start()
    for each in threads: each.join()
    assert not failures, failures
    assert {home.history(user).status().messages for user in users} == {4}
""")


def test_where_the_host_itself_has_none_left_the_error_names_limit_and_option(
    host: Callable[[str], str],
) -> None:
    host("""
home = mnemogram.open(root, synchronous="normal")
use(home.history("before"))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
held = home.history("before")
# What is idle is closed for it, and is opened again.
use(home.history("second"))
with held._database.read(), held._database.write():
    for ask in (lambda: home.history("new"), lambda: home.memory("new"),
                lambda: held.backup(root + "/b.db"), lambda: home.history("second").status()):
        try:
            ask()
        except StorageUnavailable as error:
            assert "256" in str(error), error
            assert "max_open" in error.hint, error.hint
        else:
            assert False, "nothing was raised"
for each in taken:
    os.close(each)
use(home.history("new"))
assert home.history("new").status().tokenizer
assert home.history("second").status().messages == 1
assert home.history("before").status().messages == 1
assert home.history("before").check().ok
""")
