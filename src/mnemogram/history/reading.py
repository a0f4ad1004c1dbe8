# SPDX-License-Identifier: MIT
"""Reading without a query: scroll around a message, read a session."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from mnemogram.database import Connection
from mnemogram.errors import AnchorNotInHistory, AnchorNotInSession, InvalidArgument, NotFound
from mnemogram.history import display
from mnemogram.history.models import (
    EvidenceMessage,
    ReadResult,
    ScrollResult,
    format_time,
)

__all__ = [
    "AFTER",
    "BEFORE",
    "ONE",
    "checked_int",
    "counts_around",
    "read",
    "scroll",
    "window_around",
]

READ_FIRST: Final = 20
READ_LAST: Final = 10
MAX_WINDOW: Final = 20
MAX_LIMIT: Final = 10

_SHOWN: Final = "m.state <> 'rewound'"
BEFORE: Final = f"""
SELECT {display.MESSAGE_COLUMNS} FROM messages AS m
 WHERE m.session_id = :session AND m.id < :id AND {_SHOWN} ORDER BY m.id DESC LIMIT :limit
"""
AFTER: Final = f"""
SELECT {display.MESSAGE_COLUMNS} FROM messages AS m
 WHERE m.session_id = :session AND m.id > :id AND {_SHOWN} ORDER BY m.id LIMIT :limit
"""
ONE: Final = f"SELECT {display.MESSAGE_COLUMNS} FROM messages AS m WHERE m.id = ?"
COUNTS: Final = f"""
SELECT count(*) FILTER (WHERE m.id < :id), count(*) FILTER (WHERE m.id > :id)
  FROM messages AS m WHERE m.session_id = :session AND {_SHOWN}
"""
_SESSION: Final = """
SELECT s.id, s.key, s.title, s.source, s.model, s.started_at, s.last_active_at
  FROM sessions AS s WHERE s.key = ?
"""


def checked_int(value: Any, name: str, low: int, high: int) -> int:
    """Return ``value`` where it is a whole number in range.

    Raises:
        InvalidArgument: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(
            f"{name} must be a whole number, not {value!r}",
            hint=f"Use a number from {low} to {high}.",
        )
    if not low <= value <= high:
        raise InvalidArgument(
            f"{name} must be from {low} to {high}, not {value}",
            hint=f"Use a number from {low} to {high}.",
        )
    return value


def message_row(connection: Connection, message_id: int) -> tuple[Any, ...]:
    """Return the columns of one message, as ``display.evidence`` takes them.

    Raises:
        AnchorNotInHistory: there is no such message.
    """
    row: tuple[Any, ...]
    for row in connection.execute(ONE, (message_id,)):
        return row
    raise AnchorNotInHistory(f"no message {message_id} in this history")


def counts_around(connection: Connection, session_id: int, message_id: int) -> tuple[int, int]:
    """Return how many messages of a session stand before and after one of them."""
    ((before, after),) = connection.execute(COUNTS, {"session": session_id, "id": message_id})
    return int(before), int(after)


def window_around(
    connection: Connection,
    session_id: int,
    anchor: tuple[Any, ...],
    window: int,
    *,
    span: tuple[int, int] | None = None,
) -> tuple[tuple[EvidenceMessage, ...], int, int]:
    """Return the messages around an anchor row, and how many more stand on each side."""
    bindings = {"session": session_id, "id": anchor[0], "limit": window}
    before = list(connection.execute(BEFORE, bindings))[::-1]
    after = list(connection.execute(AFTER, bindings))
    left, right = counts_around(connection, session_id, anchor[0])
    cap = display.WINDOW_CHARS
    messages = (
        *(display.evidence(row, cap) for row in before),
        display.evidence(anchor, cap, anchor=True, span=span),
        *(display.evidence(row, cap) for row in after),
    )
    return messages, left - len(before), right - len(after)


def scroll(
    connection: Connection, session: str, around: int, *, window: int, budget: int
) -> ScrollResult:
    """Return the messages of a session around one of them.

    Raises:
        NotFound: no such session.
        AnchorNotInHistory, AnchorNotInSession: no such message, or not there.
    """
    window = checked_int(window, "window", 1, MAX_WINDOW)
    around = checked_int(around, "around", 0, 2**63 - 1)
    found = connection.execute(_SESSION, (session,)).fetchone()
    if found is None:
        raise NotFound(f"no session {session!r}")
    place = connection.execute(
        f"SELECT m.session_id FROM messages AS m WHERE m.id = ? AND {_SHOWN}", (around,)
    ).fetchone()
    if place is None:
        raise AnchorNotInHistory(f"no message {around} in this history")
    if place[0] != found[0]:
        raise AnchorNotInSession(f"message {around} is not in session {session!r}")
    anchor = message_row(connection, around)
    messages, before, after = window_around(connection, found[0], anchor, window)
    result = ScrollResult(
        success=True,
        mode="scroll",
        session_id=found[1],
        title=found[2],
        source=found[3],
        around=around,
        messages=(),
        messages_before=before,
        messages_after=after,
    )
    fitted, shortened = display.fit_messages(messages, budget, display.json_bytes(result) + 200)
    return replace(result, messages=fitted, hint=_budget_hint(shortened))


def read(connection: Connection, session: str, *, budget: int) -> ReadResult:
    """Return the first 20 and the last 10 messages of a session.

    Raises:
        NotFound: no such session.
    """
    found = connection.execute(_SESSION, (session,)).fetchone()
    if found is None:
        raise NotFound(f"no session {session!r}")
    row_id = found[0]
    first = list(connection.execute(AFTER, {"session": row_id, "id": -1, "limit": READ_FIRST}))
    edge = first[-1][0] if first else -1
    last = [
        row
        for row in connection.execute(
            BEFORE, {"session": row_id, "id": 2**63 - 1, "limit": READ_LAST}
        )
        if row[0] > edge
    ][::-1]
    total = connection.one(
        f"SELECT count(*) FROM messages AS m WHERE m.session_id = ? AND {_SHOWN}", (row_id,)
    )
    omitted = total - len(first) - len(last)
    result = ReadResult(
        success=True,
        mode="read",
        session_id=found[1],
        title=found[2],
        source=found[3],
        model=found[4],
        started_at=format_time(found[5]),
        last_active_at=format_time(found[6]),
        message_count=total,
        messages=(),
        omitted=omitted,
    )
    messages = tuple(display.evidence(row, display.READ_CHARS) for row in (*first, *last))
    fitted, shortened = display.fit_messages(messages, budget, display.json_bytes(result) + 200)
    hint = _budget_hint(shortened)
    if omitted:
        middle = f"{omitted} messages in the middle are left out: scroll from message {edge}."
        hint = middle if hint is None else f"{middle} {hint}"
    return replace(result, messages=fitted, hint=hint)


def _budget_hint(shortened: bool) -> str | None:
    return "Messages were shortened to fit the size of one answer." if shortened else None
