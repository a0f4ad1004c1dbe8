# SPDX-License-Identifier: MIT
"""The options that a host gives for all of its users' stores, for type checkers and people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from mnemogram.history.legacy import LegacySource

__all__ = ["HistoryOptions", "HostOptions", "MemoryOptions"]


class HistoryOptions(TypedDict, total=False):
    """Keyword arguments of ``History.open`` that hold for all users."""

    policy: Literal["auto", "portable", "all"] | None
    trigram: bool | None
    redactor: Callable[[str], str] | None
    answer_budget: int
    busy_timeout: float
    load_extension: bool
    synchronous: Literal["full", "normal"]
    read_only: bool
    retention: timedelta | None
    legacy: LegacySource | None


class MemoryOptions(TypedDict, total=False):
    """Keyword arguments of ``SceneMemory.open`` that hold for all users."""

    embedder: Callable[[Sequence[str]], Sequence[Sequence[float]]] | None
    embedder_name: str | None
    min_similarity: float
    background: bool
    busy_timeout: float
    load_extension: bool
    read_only: bool
    synchronous: str
    clock: Callable[[], float]


class HostOptions(HistoryOptions, total=False):
    """Keyword arguments of ``mnemogram.open``."""

    key_secret: bytes | str | None
    max_open: int
    memory_options: MemoryOptions | None
