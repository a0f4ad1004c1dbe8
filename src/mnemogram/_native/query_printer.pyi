# SPDX-License-Identifier: MIT
"""From the tree to FTS5 expressions."""

from collections.abc import Iterable
from typing import Literal

from mnemogram._native.query_tree import Node, Phrase, Query

def to_fts5(
    query: Query | Node | None,
    route: Literal["cjk", "fts5"] = "cjk",
    *,
    superset: bool = False,
    unasked: Iterable[Phrase] = (),
) -> str | None: ...
def to_trigram(query: Query | Node | None, *, stock: bool = False) -> str | None: ...
