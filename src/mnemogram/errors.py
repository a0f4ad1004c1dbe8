# SPDX-License-Identifier: MIT
"""Every exception of mnemogram: one base, each with a stable code and a hint."""

from __future__ import annotations

from typing import ClassVar, Final

__all__ = [
    "AnchorNotInHistory",
    "AnchorNotInSession",
    "Busy",
    "ExtensionUnavailable",
    "InvalidArgument",
    "MnemogramError",
    "NotFound",
    "QueryTimeout",
    "QueryUnavailable",
    "SchemaTooNew",
    "SessionDeleted",
    "StorageUnavailable",
    "StoreClosed",
]


#: Characters of a message of an error.
_MOST_CHARACTERS: Final = 1_000


class MnemogramError(Exception):
    """Base of all errors raised by mnemogram.

    Attributes:
        code: stable identifier, the ``error`` field of a tool's answer.
        hint: what the caller can do about it, in one sentence.
    """

    code: ClassVar[str] = "error"
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        if len(message) > _MOST_CHARACTERS:  # it may name what somebody passed
            half = _MOST_CHARACTERS // 2
            message = f"{message[:half]}…{message[-half:]}"
        super().__init__(message)
        self.hint = self.default_hint if hint is None else hint

    def to_dict(self) -> dict[str, object]:
        """Return the error in the form a tool answers with."""
        return {
            "success": False,
            "error": self.code,
            "message": str(self),
            "complete": False,
            "hint": self.hint,
        }


class StoreClosed(MnemogramError):
    """The store, or the object that owns it, was closed."""

    code = "store_closed"
    default_hint = "Open the store again."


class InvalidArgument(MnemogramError, ValueError):
    """An argument is of the wrong type, out of range or contradicts another."""

    code = "invalid_argument"


class NotFound(MnemogramError, LookupError):
    """The session or message that was asked for is not in this user's store."""

    code = "session_not_found"
    default_hint = "Search or browse to get the ids that exist."


class AnchorNotInHistory(NotFound):
    """No message of this user's history has the anchor's id."""

    code = "anchor_not_in_history"
    default_hint = "Use a match_message_id or message id from an earlier answer."


class AnchorNotInSession(NotFound):
    """The anchor exists, but in another session than the one named."""

    code = "anchor_not_in_session"
    default_hint = "Use the session_id that came with the message."


class QueryTimeout(MnemogramError):
    """The deadline passed before the answer was complete."""

    code = "query_timeout"
    default_hint = "Use rarer words, a narrower time range, or a longer timeout."


class QueryUnavailable(MnemogramError):
    """No index and no scan can serve this query at present."""

    code = "query_unavailable"
    default_hint = "Look at status() for the state of each index."


class StorageUnavailable(MnemogramError):
    """SQLite cannot read or write the store."""

    code = "storage_unavailable"
    default_hint = "Run check() on the store; nothing was deleted or reset."


class SchemaTooNew(StorageUnavailable):
    """The store was written by a newer mnemogram and is not touched."""

    code = "schema_too_new"
    default_hint = "Upgrade mnemogram to open this store."


class Busy(StorageUnavailable):
    """Another process held the write lock for longer than the busy wait."""

    code = "busy"
    default_hint = "Try again, or raise busy_timeout."


class ExtensionUnavailable(MnemogramError):
    """The tokenizer extension is missing, foreign or cannot be loaded."""

    code = "extension_unavailable"
    default_hint = "Run `mnemogram tokenizer check`; search goes on without it."


class SessionDeleted(MnemogramError):
    """The session was deleted on purpose and takes no new messages."""

    code = "session_deleted"
    default_hint = "Use a new session id."
