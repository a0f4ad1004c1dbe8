# SPDX-License-Identifier: MIT
"""Reading without a query: scroll around a message, read a session."""

from __future__ import annotations

from dataclasses import replace
from reprlib import repr as shown
from typing import Any, Final

from mnemogram.errors import AnchorNotInHistory, AnchorNotInSession, InvalidArgument, NotFound
from mnemogram.history import display, labels
from mnemogram.history.models import EvidenceMessage, ReadResult, ScrollResult
from mnemogram.moments import format_time
from mnemogram.sqlite.database import Connection

__all__ = [
    "BEGINNING",
    "END",
    "checked_int",
    "counts_around",
    "message_row",
    "outline",
    "read",
    "rows_after",
    "rows_before",
    "scroll",
    "shown_count",
    "window_around",
]

READ_FIRST: Final = 20
READ_LAST: Final = 10
MAX_WINDOW: Final = 20
MAX_LIMIT: Final = 10
#: Most messages of one page of a session.
MAX_READ: Final = 200

#: Where a message stands in its session: its time and its id.
Place = tuple[int, int]
BEGINNING: Final[Place] = (-(2**63), -1)
END: Final[Place] = (2**63 - 1, 2**63 - 1)

_SHOWN: Final = "m.state <> 'rewound'"
# What has the same time comes first: asked for as one range, (time, id), SQLite would walk
# over all that has the time of the place to find it.
_NEAREST: Final = f"""
SELECT {display.MESSAGE_COLUMNS} FROM (
    SELECT * FROM (
        SELECT m.id FROM messages AS m
         WHERE m.session_id = :session AND m.timestamp = :time AND m.id {{beyond}} :id
           AND {_SHOWN} ORDER BY m.id {{order}} LIMIT :limit)
    UNION ALL
    SELECT * FROM (
        SELECT m.id FROM messages AS m
         WHERE m.session_id = :session AND m.timestamp {{beyond}} :time
           AND {_SHOWN} ORDER BY m.timestamp {{order}}, m.id {{order}} LIMIT :limit)
    LIMIT :limit
) AS near CROSS JOIN messages AS m ON m.id = near.id
"""
_BEFORE: Final = _NEAREST.format(beyond="<", order="DESC")
_AFTER: Final = _NEAREST.format(beyond=">", order="ASC")
_ONE: Final = f"SELECT {display.MESSAGE_COLUMNS} FROM messages AS m WHERE m.id = ?"
_BEYOND: Final = f"""
SELECT (SELECT count(*) FROM messages AS m
         WHERE m.session_id = :session AND m.timestamp = :time AND m.id {{beyond}} :id AND {_SHOWN})
     + (SELECT count(*) FROM messages AS m
         WHERE m.session_id = :session AND m.timestamp {{beyond}} :time AND {_SHOWN})
"""
_COUNT_BEFORE: Final = _BEYOND.format(beyond="<")
_COUNT_AFTER: Final = _BEYOND.format(beyond=">")
_SHOWN_COUNT: Final = """
SELECT s.message_count - (
    SELECT count(*) FROM messages AS m WHERE m.session_id = s.id AND m.state = 'rewound')
  FROM sessions AS s WHERE s.id = ?
"""
_SPAN: Final = """
SELECT (SELECT m.timestamp FROM messages AS m
         WHERE m.session_id = :session ORDER BY m.timestamp LIMIT 1),
       (SELECT m.timestamp FROM messages AS m
         WHERE m.session_id = :session ORDER BY m.timestamp DESC LIMIT 1)
"""
_SESSION: Final = f"""
SELECT s.id, s.key, s.title, s.source, s.model, s.started_at, s.last_active_at,
       s.id IN (SELECT id FROM undated), {labels.SESSION_TAGS}, {labels.SESSION_METADATA}
  FROM sessions AS s WHERE s.key = ?
"""


def checked_int(value: Any, name: str, low: int, high: int) -> int:
    """Return ``value`` where it is a whole number in range.

    Raises:
        InvalidArgument: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(
            f"{name} must be a whole number, not {shown(value)}",
            hint=f"Use a number from {low} to {high}.",
        )
    if not low <= value <= high:
        raise InvalidArgument(
            f"{name} must be from {low} to {high}, not {value}",
            hint=f"Use a number from {low} to {high}.",
        )
    return value


def message_row(connection: Connection, message_id: int) -> display.MessageRow:
    """Return the columns of one message, as evidence needs them.

    Raises:
        AnchorNotInHistory: there is no such message.
    """
    for row in connection.execute(_ONE, (message_id,)):
        return display.MessageRow(*row)
    raise AnchorNotInHistory(f"no message {message_id} in this history")


def place_of(row: display.MessageRow) -> Place:
    """Return where the message of a row stands."""
    return row.timestamp, row.id


def rows_before(
    connection: Connection, session: int, place: Place, limit: int
) -> list[display.MessageRow]:
    """Return the last messages of a session before a place, in their order."""
    return _rows(connection, _BEFORE, session, place, limit)


def rows_after(
    connection: Connection, session: int, place: Place, limit: int
) -> list[display.MessageRow]:
    """Return the first messages of a session after a place, in their order."""
    return _rows(connection, _AFTER, session, place, limit)


def _rows(
    connection: Connection, statement: str, session: int, place: Place, limit: int
) -> list[display.MessageRow]:
    bindings = {"session": session, "time": place[0], "id": place[1], "limit": limit}
    rows = []
    for row in connection.execute(statement, bindings):
        rows.append(display.MessageRow(*row))
        connection.check_deadline()  # to read one long text is one step of SQLite's
    return sorted(rows, key=place_of)


def session_of(connection: Connection, key: str) -> int:
    """Return the store's id of a session.

    Raises:
        NotFound: no such session.
    """
    row_id = connection.one("SELECT id FROM sessions WHERE key = ?", (key,))
    if row_id is None:
        raise NotFound(f"no session {key!r}")
    return int(row_id)


def source_of(connection: Connection, key: str) -> str | None:
    """Return the source of a session; None where there is no such session."""
    source = connection.one("SELECT source FROM sessions WHERE key = ?", (key,))
    return None if source is None else str(source)


def shown_count(connection: Connection, session: int) -> int:
    """Return how many messages of a session can be shown, without walking over them."""
    return int(connection.one(_SHOWN_COUNT, (session,)) or 0)


def counts_around(connection: Connection, session: int, row: display.MessageRow) -> tuple[int, int]:
    """Return how many messages of a session stand before and after the one of a row.

    Of a long session only the side that seems shorter is walked over.
    """
    others = max(0, shown_count(connection, session) - 1)
    if not others:
        return 0, 0
    ((first, last),) = connection.execute(_SPAN, {"session": session})
    time, row_id = place_of(row)
    bindings = {"session": session, "time": time, "id": row_id}
    if time - first > last - time:
        after = int(connection.one(_COUNT_AFTER, bindings))
        return max(0, others - after), after
    before = int(connection.one(_COUNT_BEFORE, bindings))
    return before, max(0, others - before)


def window_around(
    connection: Connection,
    session_id: int,
    anchor: display.MessageRow,
    window: int,
    *,
    span: tuple[int, int] | None = None,
) -> tuple[tuple[EvidenceMessage, ...], int, int]:
    """Return the messages around an anchor row, and how many more stand on each side."""
    before = rows_before(connection, session_id, place_of(anchor), window)
    after = rows_after(connection, session_id, place_of(anchor), window)
    left, right = counts_around(connection, session_id, anchor)
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


def read(
    connection: Connection,
    session: str,
    *,
    budget: int,
    limit: int | None = None,
    cursor: str | None = None,
) -> ReadResult:
    """Return the first 20 and the last 10 messages of a session, or some after a cursor.

    Args:
        limit: so many messages from the beginning, or from the cursor on.
        cursor: goes on after an earlier answer.

    Raises:
        NotFound: no such session.
        InvalidArgument: not a cursor of a read.
    """
    if limit is not None:
        limit = checked_int(limit, "limit", 1, MAX_READ)
    start = BEGINNING if cursor is None else _place_of_cursor(cursor)
    found = connection.execute(_SESSION, (session,)).fetchone()
    if found is None:
        raise NotFound(f"no session {session!r}")
    row_id = found[0]
    first = rows_after(connection, row_id, start, limit or READ_FIRST)
    edge = place_of(first[-1]) if first else start
    whole = limit is None and cursor is None
    total = shown_count(connection, row_id)
    last = rows_before(connection, row_id, END, READ_LAST) if whole and total > len(first) else []
    last = [row for row in last if place_of(row) > edge]
    omitted = total - len(first) - len(last)
    more = bool(rows_after(connection, row_id, edge, 1)) if not whole else omitted > 0
    result = ReadResult(
        success=True,
        mode="read",
        session_id=found[1],
        title=found[2],
        source=found[3],
        model=found[4],
        started_at=None if found[7] else format_time(found[5]),
        last_active_at=None if found[7] else format_time(found[6]),
        message_count=total,
        messages=(),
        omitted=omitted,
        cursor=f"{edge[0]}.{edge[1]}" if more else None,
        tags=labels.tags_of(found[8]),
        metadata=display.shown_metadata(found[9]),
    )
    messages = tuple(display.evidence(row, display.READ_CHARS) for row in (*first, *last))
    fitted, shortened = display.fit_messages(messages, budget, display.json_bytes(result) + 200)
    hint = _budget_hint(shortened)
    if omitted and whole:
        middle = f"{omitted} messages in the middle are left out: scroll from message {edge[1]}."
        hint = middle if hint is None else f"{middle} {hint}"
    return replace(result, messages=fitted, hint=hint)


def _place_of_cursor(cursor: str) -> Place:
    try:
        time, _, row_id = cursor.partition(".")
        place = int(time), int(row_id)
        if place >= BEGINNING and max(place) < 2**63 and place[1] >= BEGINNING[1]:
            return place
    except (ValueError, AttributeError):
        pass
    raise InvalidArgument(
        "cursor is not one of a read", hint="Leave the cursor out, or repeat that of a read."
    )


def _budget_hint(shortened: bool) -> str | None:
    return "Messages were shortened to fit the size of one answer." if shortened else None


_OUTLINE: Final = f"""
SELECT m.uid, m.role, m.tool_call_id, m.state FROM messages AS m
  JOIN sessions AS s ON s.id = m.session_id WHERE s.key = ? AND {_SHOWN} ORDER BY m.id
"""


def outline(connection: Connection, session: str) -> list[tuple[str, str, str | None, str]]:
    """Return uid, role, call id and state of a session's messages, without their text."""
    return [
        (str(uid), str(role), None if call is None else str(call), str(state))
        for uid, role, call, state in connection.execute(_OUTLINE, (session,))
    ]
