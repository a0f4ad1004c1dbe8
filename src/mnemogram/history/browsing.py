# SPDX-License-Identifier: MIT
"""Lists of sessions: those that were active last, or in a period."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final

from mnemogram.history import display
from mnemogram.history.elsewhere import left_out_hint
from mnemogram.history.labels import (
    ANY,
    SESSION_METADATA,
    SESSION_TAGS,
    Labels,
    checked_labels,
    metadata_of,
    tags_of,
)
from mnemogram.history.models import ROLES, BrowseResult, SessionSummary
from mnemogram.history.period import DAY, Period, checked_period
from mnemogram.history.reading import checked_int
from mnemogram.history.schema import HIDDEN_SOURCES
from mnemogram.history.search.request import checked_sources, excluded_sessions, fingerprint_of
from mnemogram.history.search.visibility import (
    MAX_SEEN,
    Visibility,
    decode_cursor,
    encode_cursor,
    resumed_period,
)
from mnemogram.moments import Time, format_time
from mnemogram.sqlite.database import Connection
from mnemogram.text import cut

__all__ = ["SPOKE", "SUMMARY", "Listing", "browse", "checked_listing", "missed_day", "summary"]

MAX_LIMIT: Final = 10

#: What :func:`summary` needs of ``sessions AS s``.
SUMMARY: Final = (
    "s.id, s.key, s.title, s.source, s.model, s.started_at, s.last_active_at,"
    " s.message_count, s.parent_key, s.end_reason, s.id IN (SELECT id FROM undated),"
    f" {SESSION_TAGS}, {SESSION_METADATA}"
)
_FIRST: Final = f"""
SELECT m.id,
       CASE WHEN octet_length(m.content) > {display.LONG_BYTES} THEN substr(m.content, 1, 2000)
            ELSE m.content END
  FROM messages AS m
 WHERE m.session_id = :session AND m.state <> 'rewound' AND {{condition}}
 ORDER BY m.timestamp, m.id LIMIT 1
"""
#: SQL: whether anything was said in a session between :after and :before.
SPOKE: Final = f"""
EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id AND m.state <> 'rewound'
   AND m.timestamp >= coalesce(:after, {-(2**63)})
   AND m.timestamp < coalesce(:before, {2**63 - 1}) AND {{timed}})
"""
_ON_THE_DAY: Final = """
SELECT 1 FROM messages INDEXED BY messages_by_time WHERE timestamp >= ? AND timestamp < ? LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is to be listed, with every argument checked."""

    limit: int
    period: Period
    sources: tuple[str, ...] | None
    exclude_sessions: tuple[str, ...]
    seen: frozenset[int]
    fingerprint: str
    labels: Labels = ANY


def checked_listing(
    *,
    limit: int,
    after: Time | None,
    before: Time | None,
    sources: Sequence[str] | None,
    all_sources: bool,
    exclude_sessions: Sequence[str],
    cursor: str | None,
    timezone: tzinfo | None = None,
    tag: str | Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Listing:
    """Return the arguments of a list of sessions, checked.

    Raises:
        InvalidArgument: one of them is out of range or of the wrong type.
    """
    period = checked_period(after, before, timezone)
    wanted = checked_sources(sources, all_sources)
    having = checked_labels(tag, metadata)
    fingerprint = fingerprint_of("browse", wanted, *([having] if having else ()))
    seen: frozenset[int] = frozenset()
    if cursor is not None:
        seen = decode_cursor(cursor, fingerprint)
        period = resumed_period(cursor, period)
    return Listing(
        limit=checked_int(limit, "limit", 1, MAX_LIMIT),
        period=period,
        sources=wanted,
        exclude_sessions=excluded_sessions(exclude_sessions),
        seen=seen,
        fingerprint=fingerprint,
        labels=having,
    )


def browse(connection: Connection, listing: Listing) -> BrowseResult:
    """Return the sessions that were active last, or in a period, the newest first."""
    visibility = Visibility(
        connection,
        roles=ROLES,
        sources=listing.sources,
        exclude=listing.exclude_sessions,
        after=listing.period.after,
        before=listing.period.before,
        labels=listing.labels,
    )
    found = _active if listing.period.bounded else _recent
    rows: list[tuple[Any, ...]] = []
    for row in found(connection, visibility, listing.seen):
        if len(rows) > listing.limit:
            break
        rows.append(row)
    shown = rows[: listing.limit]
    hints = []
    cursor = None
    if len(rows) > len(shown):
        seen = listing.seen | {row[1] for row in shown}
        cursor = encode_cursor(listing.fingerprint, seen, listing.period)
        if cursor is None:
            hints.append(f"More than {MAX_SEEN} conversations: narrow the period to go on.")
    if not shown and listing.seen:
        hints.append("There are no more conversations.")
    elif not shown:
        hints.append(
            "No conversation that was listed has these tags and this metadata."
            if listing.labels
            else "No conversation was active in this period."
            if listing.period.bounded
            else "This history holds no conversation yet."
        )
    left_out = _left_out(connection, listing)
    hints += left_out_hint(left_out)
    hints += missed_day(connection, listing.period)
    results = tuple(summary(connection, listing.period, *row) for row in shown)
    return BrowseResult(
        success=True,
        mode="browse",
        results=results,
        count=len(results),
        hint=" ".join(hints) or None,
        cursor=cursor,
        after=format_time(listing.period.after),
        before=format_time(listing.period.before),
        left_out=left_out,
    )


def _left_out(connection: Connection, listing: Listing) -> dict[str, int]:
    """Count the sessions of hidden sources that would be listed by name."""
    if listing.sources is not None:
        return {}
    visibility = Visibility(
        connection,
        roles=ROLES,
        sources=HIDDEN_SOURCES,
        exclude=listing.exclude_sessions,
        labels=listing.labels,
    )
    where, bindings = visibility.session_predicate()
    bindings |= {"after": listing.period.after, "before": listing.period.before}
    active = "s.message_count > 0"
    if listing.period.bounded:
        active = SPOKE.format(timed=visibility.timed)
    counts: dict[str, int] = dict(
        connection.execute(
            f"SELECT s.source, count(*) FROM sessions AS s"
            f" WHERE s.source IN {HIDDEN_SOURCES} AND {where} AND {active}"
            " GROUP BY s.source ORDER BY s.source",
            bindings,
        )
    )
    return counts


def missed_day(connection: Connection, period: Period) -> list[str]:
    """Say that a day named as the end is not in the period, if anything was said on it."""
    if period.next_day is None or period.before is None:
        return []
    if connection.one(_ON_THE_DAY, (period.before, period.before + DAY)) is None:
        return []
    return [
        f"The period ends where {format_time(period.before)} begins;"
        f" to take that day in, let before be {period.next_day}."
    ]


def _recent(
    connection: Connection, visibility: Visibility, seen: frozenset[int]
) -> Iterator[tuple[Any, ...]]:
    """Sessions by their last activity: its time, then their summary."""
    where, bindings = visibility.session_predicate()
    bindings["listed"] = json.dumps(sorted(seen))
    for dated in ("NOT IN", "IN"):  # those that have no time come last
        yield from connection.execute(
            f"SELECT s.last_active_at, {SUMMARY} FROM sessions AS s"
            f" WHERE s.message_count > 0 AND {where}"
            " AND s.id NOT IN (SELECT value FROM json_each(:listed))"
            f" AND s.id {dated} (SELECT id FROM undated)"
            " ORDER BY s.last_active_at DESC, s.id DESC",
            bindings,
        )


def _active(
    connection: Connection, visibility: Visibility, seen: frozenset[int]
) -> Iterator[tuple[Any, ...]]:
    """Sessions by their last message in the period: its time, then their summary.

    One pass over the times from the newest on, which goes on where the session before was
    found and passes over the messages of those that were.
    """
    where, bindings = visibility.predicate(whole=True)
    known = set(seen)
    at = (2**63 - 1, 2**63 - 1)
    bindings.setdefault("after", -(2**63))
    statement = (
        f"SELECT m.id, m.timestamp, {SUMMARY} FROM ("
        # A query of its own, with a limit: what is passed over is not looked up.
        "  SELECT id FROM messages INDEXED BY messages_by_time"
        "  WHERE timestamp >= :after AND (timestamp, id) < (:time, :id)"
        "  AND session_id NOT IN (SELECT value FROM json_each(:listed))"
        "  ORDER BY timestamp DESC, id DESC LIMIT -1"
        " ) AS near CROSS JOIN messages AS m ON m.id = near.id"
        " CROSS JOIN sessions AS s ON s.id = m.session_id"
        f" WHERE {where} LIMIT 1"
    )
    if "before" in bindings:
        at = (bindings["before"], -1)
    while True:
        listed = json.dumps(sorted(known))
        row = connection.execute(
            statement, {**bindings, "time": at[0], "id": at[1], "listed": listed}
        ).fetchone()
        if row is None:
            return
        at = (row[1], row[0])
        known.add(row[2])
        yield row[1:]


def summary(
    connection: Connection,
    period: Period,
    moment: int,
    session: int,
    *columns: Any,
    most: int | None = display.METADATA_CHARS,
) -> SessionSummary:
    """Return one session of a list, from a moment and the columns of :data:`SUMMARY`.

    Args:
        most: characters of its metadata that are shown; None for all of it.
    """
    key, title, source, model, started, active, count, parent, reason, undated = columns[:-2]
    tags, metadata = columns[-2:]
    opening = _opening(connection, session, period)
    return SessionSummary(
        session_id=key,
        title=title,
        source=source,
        model=model,
        started_at=None if undated else format_time(started),
        last_active_at=None if undated else format_time(active),
        message_count=count,
        parent_session_id=parent,
        end_reason=reason,
        preview=" ".join(cut(opening[1][:2_000], display.PREVIEW_CHARS)[0].split()),
        when=None if undated else format_time(moment),
        match_message_id=opening[0],
        tags=tags_of(tags),
        metadata=metadata_of(metadata) if most is None else display.shown_metadata(metadata, most),
    )


def _opening(connection: Connection, session: int, period: Period) -> tuple[int | None, str]:
    """Return the first message of a session, of a period's if there is one: a user's if any."""
    conditions = ["1"]
    if period.after is not None:
        conditions.append("m.timestamp >= :after")
    if period.before is not None:
        conditions.append("m.timestamp < :before")
    bindings = {"session": session, "after": period.after, "before": period.before}
    for role in ("m.role = 'user'", "1"):
        condition = " AND ".join((*conditions, role))
        for row_id, content in connection.execute(_FIRST.format(condition=condition), bindings):
            return int(row_id), str(content)
    return None, ""
