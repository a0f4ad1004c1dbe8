# SPDX-License-Identifier: MIT
"""What there is of a history, counted: messages over time, sources, and a lineage."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from mnemogram.errors import AnchorNotInSession, InvalidArgument, NotFound
from mnemogram.history.browsing import SUMMARY, summary
from mnemogram.history.models import SessionSummary, SourceCount
from mnemogram.history.period import WHENEVER
from mnemogram.history.reading import session_of, shown_count
from mnemogram.history.schema import HIDDEN_SOURCES
from mnemogram.sqlite.database import Connection

__all__ = ["MAX_EDGES", "between", "checked_edges", "lineage", "message_at", "sources"]

MAX_EDGES: Final = 1_001

# The covering index alone is read; what was rewound is few, and has an index of its own.
_BETWEEN: Final = """
SELECT count(*) FROM messages AS m INDEXED BY messages_by_time
 WHERE m.timestamp >= :after AND m.timestamp < :before{only}
"""
_REWOUND: Final = """
SELECT m.timestamp FROM messages AS m INDEXED BY messages_rewound
 WHERE m.state = 'rewound' AND m.timestamp >= :after AND m.timestamp < :before{only}
"""
_UNTIMED: Final = " AND m.id NOT IN (SELECT id FROM untimed)"
_SOURCES: Final = """
SELECT source, count(*), sum(message_count) FROM sessions GROUP BY source
"""
# octet_length() reads the head of a row and not the text that lies beyond its page.
_BYTES: Final = """
SELECT s.source, sum(octet_length(m.content) + coalesce(octet_length(m.tool_calls), 0))
  FROM messages AS m CROSS JOIN sessions AS s ON s.id = m.session_id GROUP BY s.source
"""
_LINEAGE: Final = f"""
SELECT s.last_active_at, {SUMMARY} FROM sessions AS s
 WHERE s.root_id = (SELECT root_id FROM sessions WHERE key = :key)
 ORDER BY s.key <> :key, s.started_at, s.id LIMIT :limit
"""
_SHOWN: Final = "m.session_id = :session AND m.state <> 'rewound'"
_AT: Final = f"""
SELECT m.id FROM messages AS m INDEXED BY messages_in_order WHERE {_SHOWN}
 ORDER BY m.timestamp {{order}}, m.id {{order}} LIMIT 1 OFFSET :position
"""


def between(
    connection: Connection, edges: Sequence[int], chosen: tuple[str, ...] | None
) -> tuple[int, ...]:
    """Return how many messages were said between each two neighbouring times.

    Args:
        edges: microseconds, rising.
        chosen: only these sources; empty for all of them, None for all but the hidden.
    """
    only = ""
    bindings: dict[str, str] = {}
    if chosen is None:
        only = (
            " AND m.session_id NOT IN (SELECT id FROM sessions INDEXED BY sessions_hidden"
            f" WHERE source IN {HIDDEN_SOURCES})"
        )
    elif chosen:
        only = (
            " AND m.session_id IN (SELECT id FROM sessions"
            " WHERE source IN (SELECT value FROM json_each(:sources)))"
        )
        bindings["sources"] = json.dumps(chosen)
    if connection.one("SELECT 1 FROM untimed LIMIT 1") is not None:
        only += _UNTIMED
    counts = [
        int(
            connection.one(
                _BETWEEN.format(only=only), {**bindings, "after": after, "before": before}
            )
        )
        for after, before in pairwise(edges)
    ]
    whole = {**bindings, "after": edges[0], "before": edges[-1]}
    for (time,) in connection.execute(_REWOUND.format(only=only), whole):
        counts[bisect_right(edges, time) - 1] -= 1
    return tuple(counts)


def checked_edges(edges: Sequence[int]) -> Sequence[int]:
    """Return times that can be counted between.

    Raises:
        InvalidArgument: fewer than two, too many, or not rising.
    """
    if not 2 <= len(edges) <= MAX_EDGES:
        raise InvalidArgument(
            f"edges are {len(edges)} times", hint=f"Pass 2 to {MAX_EDGES}, the earliest first."
        )
    if any(after >= before for after, before in pairwise(edges)):
        raise InvalidArgument("edges do not rise", hint="Pass the earliest first, each once.")
    return edges


def sources(connection: Connection, *, sizes: bool) -> tuple[SourceCount, ...]:
    """Return what is stored of each source, that with most messages first."""
    sized: dict[str, int] = dict(connection.execute(_BYTES)) if sizes else {}
    found = [
        SourceCount(source, int(sessions), int(messages), sized.get(source, 0) if sizes else None)
        for source, sessions, messages in connection.execute(_SOURCES)
    ]
    return tuple(sorted(found, key=lambda each: (-each.messages, each.source)))


def lineage(connection: Connection, key: str, limit: int) -> tuple[SessionSummary, ...]:
    """Return a session and then those of its lineage, the oldest first.

    Raises:
        NotFound: no such session.
    """
    rows = list(connection.execute(_LINEAGE, {"key": key, "limit": limit}))
    if not rows:
        raise NotFound(f"no session {key!r}")
    return tuple(summary(connection, WHENEVER, *row) for row in rows)


def message_at(connection: Connection, key: str, position: int) -> int:
    """Return the id of the message at a place of a session, counted from 0.

    Raises:
        NotFound: no such session.
        AnchorNotInSession: it has not so many messages.
    """
    session = session_of(connection, key)
    total = shown_count(connection, session)
    # From the nearer end: what is passed over is walked over.
    order, offset = ("ASC", position) if position * 2 < total else ("DESC", total - 1 - position)
    found = None
    if 0 <= position < total:
        found = connection.one(_AT.format(order=order), {"session": session, "position": offset})
    if found is None:
        raise AnchorNotInSession(
            f"session {key!r} has no message {position}", hint=f"It has {total}, from 0 on."
        )
    return int(found)
