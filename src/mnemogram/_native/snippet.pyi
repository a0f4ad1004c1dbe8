# SPDX-License-Identifier: MIT
"""Text cut for display, and excerpts around the matches of a query."""

from collections.abc import Iterable
from typing import Protocol

class _SupportsOccurrences(Protocol):
    def occurrences(
        self, text: str, *, limit: int = ..., deadline: float | None = ...
    ) -> list[tuple[int, int, int]]: ...

def cut(text: str, limit: int) -> tuple[str, bool, int]: ...
def cut_around(text: str, limit: int, start: int, end: int) -> tuple[str, bool, int, int]: ...
def merge_spans(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]: ...
def excerpt(
    text: str,
    matcher: _SupportsOccurrences,
    *,
    width: int = 120,
    mark_open: str = "⟦",
    mark_close: str = "⟧",
    ellipsis: str = "…",
    deadline: float | None = None,
) -> str: ...
