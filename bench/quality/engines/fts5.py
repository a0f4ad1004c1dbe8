# SPDX-License-Identifier: MIT
"""FTS5 with its own bm25: over unicode61, over trigram, and over our tokenizer.

A query is cut by the tokenizer itself and its distinct tokens are joined with OR, which
is the most that these indexes can do for a question in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import apsw

from bench.data import LabelledSet
from bench.quality.engines import Found

_TOKENIZERS = {
    "unicode61": ["unicode61", "remove_diacritics", "2"],
    "trigram": ["trigram"],
    "cjk_unicode61": ["cjk_unicode61", "remove_diacritics", "2", "variants", "1"],
}
_SEARCH = """
    SELECT rowid FROM messages WHERE messages MATCH ? ORDER BY rank LIMIT ?
"""


def _our_tokens(text: str) -> list[str]:
    # Not through the connection: apsw frees a tokenizer after its library is gone.
    from mnemogram.text import tokenize

    return [each.text for each in tokenize(text, query=True, remove_diacritics=2, variants=1)]


class Fts5:
    """One FTS5 table in memory."""

    def __init__(self, labelled: LabelledSet, variant: str) -> None:
        self._connection = apsw.Connection(":memory:")
        if variant == "cjk_unicode61":
            from mnemogram import extension

            extension.load(self._connection)
        arguments = _TOKENIZERS[variant]
        self._connection.execute(
            f'CREATE VIRTUAL TABLE messages USING fts5(text, tokenize = "{" ".join(arguments)}")'
        )
        self._cut = _our_tokens if variant == "cjk_unicode61" else self._cutter(arguments)
        self._variant = variant
        self._found = [
            Found(dialogue.id, each.id)
            for dialogue in labelled.dialogues
            for each in dialogue.messages
        ]
        with self._connection:
            self._connection.executemany(
                "INSERT INTO messages (rowid, text) VALUES (?, ?)",
                (
                    (number, each.searchable())
                    for number, each in enumerate(
                        each for dialogue in labelled.dialogues for each in dialogue.messages
                    )
                ),
            )

    def _cutter(self, arguments: list[str]) -> Callable[[str], list[str]]:
        tokenizer = self._connection.fts5_tokenizer(arguments[0], arguments[1:])

        def cut(text: str) -> list[str]:
            return cast(
                list[str],
                tokenizer(
                    text.encode(),
                    apsw.FTS5_TOKENIZE_QUERY,
                    None,
                    include_offsets=False,
                    include_colocated=False,
                ),
            )

        return cut

    def search(self, text: str, limit: int) -> tuple[list[Found], str]:
        """Return the best messages by bm25."""
        distinct = dict.fromkeys(self._cut(text))
        if not distinct:
            return [], "empty"
        query = " OR ".join('"' + each.replace('"', '""') + '"' for each in distinct)
        rows = self._connection.execute(_SEARCH, (query, limit))
        return [self._found[rowid] for (rowid,) in rows], self._variant

    def versions(self) -> dict[str, str]:
        """Return the version of SQLite."""
        return {"sqlite": apsw.sqlite_lib_version()}


def build(labelled: LabelledSet, variant: str) -> Fts5:
    """Index a set."""
    return Fts5(labelled, variant)
