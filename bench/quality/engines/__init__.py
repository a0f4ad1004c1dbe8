# SPDX-License-Identifier: MIT
"""The searches that are compared: one module for each, all with the same face.

A module's ``build(labelled, variant)`` indexes a set and returns an ``Engine``. Modules are
imported by name in a process of their own, so that none pays for another.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Final, Protocol, cast

from bench.data import LabelledSet

__all__ = ["ENGINES", "Engine", "Found", "build"]


@dataclass(frozen=True, slots=True)
class Found:
    """One answer: a message and its session; ``message`` is None where only the session is."""

    session: str
    message: str | None


class Engine(Protocol):
    """A search over one labelled set."""

    def search(self, text: str, limit: int) -> tuple[list[Found], str]:
        """Return the best messages, best first, and the route that answered."""
        ...

    def versions(self) -> dict[str, str]:
        """Return the versions of what answers."""
        ...


#: Name: module, variant, and what it is.
ENGINES: Final = {
    "mnemogram": ("ours", "cascade", "History.search, every route"),
    "mnemogram-strict": ("ours", "strict", "History.search without relaxing"),
    "fts5-unicode61": ("fts5", "unicode61", "FTS5 bm25, OR of the words"),
    "fts5-trigram": ("fts5", "trigram", "FTS5 bm25, OR of the trigrams"),
    "fts5-cjk": ("fts5", "cjk_unicode61", "FTS5 bm25 over our tokenizer, OR of its tokens"),
    "bm25s": ("bm25", "words", "bm25s; jieba for Chinese, else the usual words of the language"),
    "tantivy": ("tantivy_bigrams", "bigrams", "tantivy; bigrams for CJK and Thai, else stems"),
}


def build(name: str, labelled: LabelledSet) -> Engine:
    """Index a set with the engine of that name."""
    module, variant, _ = ENGINES[name]
    loaded = importlib.import_module(f"bench.quality.engines.{module}")
    return cast(Engine, loaded.build(labelled, variant))
