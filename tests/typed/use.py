# SPDX-License-Identifier: MIT
"""How a program uses mnemogram, for type checkers: never run. See tests/test_compiled_types.py."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import apsw

import mnemogram
from mnemogram import extension, text
from mnemogram._native.scene_key import normalize_scene_key
from mnemogram._native.snippet import cut

if TYPE_CHECKING:
    from typing_extensions import assert_type

with mnemogram.open("memory", key_secret="secret") as home:
    assert_type(home, mnemogram.Mnemogram)
    history = home.history("alice")
    assert_type(history, mnemogram.History)
    stored = history.append(
        mnemogram.Session("s", title="plans"), [mnemogram.Message("user", "hello")]
    )
    assert_type(stored, mnemogram.AppendResult)
    found = history.search("hello", limit=3)
    assert_type(found, mnemogram.SearchResult)
    assert_type(found.count, int)
    for hit in found.results:
        assert_type(hit, mnemogram.SearchHit)
        assert_type(hit.session_id, str)
    assert_type(history.status(), mnemogram.Status)
    history.append(mnemogram.Session("s"), [mnemogram.Message("nobody", "x")])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    history.search(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    memory = home.memory("alice")
    assert_type(memory, mnemogram.SceneMemory)
    memory.commit([mnemogram.Triple("alice", "likes", "tea")], scene="chan:qq")

assert_type(extension.path(), str)
assert_type(extension.check().ok, bool)
extension.load(apsw.Connection(":memory:"))
extension.load(sqlite3.connect(":memory:"))
extension.load("a path")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
assert_type(text.tokenize("hello"), list[text.Token])
assert_type(normalize_scene_key("chan:qq"), str)
assert_type(cut("hello", 3), tuple[str, bool, int])
