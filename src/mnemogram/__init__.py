# SPDX-License-Identifier: MIT
"""Memory that AI agents can trust: whole conversations and scene rules.

``mnemogram.open(root)`` gives the stores of all users below a directory;
``History.open(path)`` and ``SceneMemory.open(path)`` open a single file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mnemogram import extension, text
from mnemogram.errors import (
    AnchorNotInHistory,
    AnchorNotInSession,
    Busy,
    ExtensionUnavailable,
    InvalidArgument,
    MnemogramError,
    NotFound,
    QueryTimeout,
    QueryUnavailable,
    SchemaTooNew,
    SessionDeleted,
    StorageUnavailable,
    StoreClosed,
)
from mnemogram.history.history import History
from mnemogram.history.models import (
    AppendResult,
    BrowseResult,
    EvidenceMessage,
    ExplainedTerm,
    Explanation,
    Message,
    ReadResult,
    ScrollResult,
    SearchHit,
    SearchResult,
    Session,
    SessionSummary,
    SourceCount,
    Status,
    StoredMessage,
)
from mnemogram.host import Mnemogram, open

if TYPE_CHECKING:
    from mnemogram.memory import SceneMemory, Triple

__version__ = "0.1.0"

__all__ = [
    "AnchorNotInHistory",
    "AnchorNotInSession",
    "AppendResult",
    "BrowseResult",
    "Busy",
    "EvidenceMessage",
    "ExplainedTerm",
    "Explanation",
    "ExtensionUnavailable",
    "History",
    "InvalidArgument",
    "Message",
    "Mnemogram",
    "MnemogramError",
    "NotFound",
    "QueryTimeout",
    "QueryUnavailable",
    "ReadResult",
    "SceneMemory",
    "SchemaTooNew",
    "ScrollResult",
    "SearchHit",
    "SearchResult",
    "Session",
    "SessionDeleted",
    "SessionSummary",
    "SourceCount",
    "Status",
    "StorageUnavailable",
    "StoreClosed",
    "StoredMessage",
    "Triple",
    "__version__",
    "extension",
    "open",
    "text",
]


def __getattr__(name: str) -> Any:
    # The scene memory is imported when first used: histories do not need it.
    if name in ("SceneMemory", "Triple"):
        from mnemogram import memory

        return getattr(memory, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
