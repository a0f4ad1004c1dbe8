# SPDX-License-Identifier: MIT
"""The compiled query, for texts that no index covers and for marks."""

from typing import final

from mnemogram._native.query_tree import Node, Phrase, Query

@final
class Matcher:
    phrases: tuple[Phrase, ...]
    substring: bool
    adjacent: bool
    def matches(self, *columns: str | bytes | None, deadline: float | None = None) -> bool: ...
    def occurrences(
        self, text: str | bytes, *, limit: int = 10_000, deadline: float | None = None
    ) -> list[tuple[int, int, int]]: ...
    def count(
        self, text: str | bytes, *, deadline: float | None = None
    ) -> tuple[list[int], int]: ...

def compile(
    query: Query | Node | None, *, substring: bool = False, adjacent: bool = False
) -> Matcher: ...
