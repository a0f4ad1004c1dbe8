# SPDX-License-Identifier: MIT
"""Who may see a match, and one result for each lineage."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.history.labels import ANY, Labels, of_session
from mnemogram.history.models import ROLES
from mnemogram.history.period import WHENEVER, Period
from mnemogram.history.schema import HIDDEN_SOURCES, UNATTENDED_SOURCES
from mnemogram.sqlite.database import Connection

__all__ = [
    "SESSION_COLUMNS",
    "Candidate",
    "SessionInfo",
    "Visibility",
    "decode_cursor",
    "encode_cursor",
    "resumed_period",
]

#: End reasons after which a session's messages are out of the model's context.
OUT_OF_CONTEXT: Final = frozenset(
    {
        "compression",
        "new_session",
        "session_reset",
        "session_switch",
        "idle",
        "daily",
        "suspended",
        "resume_pending_expired",
    }
)
_TIMED: Final = "m.id NOT IN (SELECT id FROM untimed)"
#: Lineages a cursor remembers, 500 pages of ten; an answer beyond them gives none.
MAX_SEEN: Final = 5_000
_MAX_CURSOR_BYTES: Final = 64 * 1024
#: Microseconds by which a bound may have moved between two pages.
_MOST_MOVED: Final = 3_600_000_000
_CURSOR_HINT: Final = (
    "Leave the cursor out, or repeat the query or period that it came with, unchanged."
)


#: What a :class:`SessionInfo` is made of, from ``sessions AS s``.
SESSION_COLUMNS: Final = (
    "s.id, s.key, s.source, s.root_id, s.end_reason, s.title, s.model, s.parent_key"
)


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What grouping and display need of a session."""

    id: int
    key: str
    source: str
    root: int
    end_reason: str | None
    title: str | None
    model: str | None
    parent_key: str | None
    tags: tuple[str, ...] = ()

    @property
    def heading(self) -> str | None:
        """What stands over its messages, to be searched with them: the title and the tags."""
        return "\n".join(filter(None, (self.title, *self.tags))) or None

    @property
    def unattended(self) -> bool:
        """Whether it ran without a person (``cron``), and so ranks last."""
        return self.source in UNATTENDED_SOURCES


@dataclass(slots=True)
class Candidate:
    """A message that matched.

    Attributes:
        timestamp: None where nobody knows it.
        score: larger is better.
        partial: it holds parts of the query only.
        parts: what each phrase of the evidence gave, by place; empty where not scored.
        units: the query's units that it holds, by number; empty where not scored.
        apart: how far what it holds is from the query as typed: units that are spelled
            otherwise, whether the query does not stand there as it is, and how far its units
            stand apart.
        found_by: the route that found it: an index, or ``like`` where its text was read.
        trace: how its score came about (``rank.Trace``), where that was asked for.
    """

    id: int
    session: SessionInfo
    role: str
    timestamp: int | None
    score: float
    partial: bool = False
    parts: Mapping[int, float] = field(default_factory=dict)
    units: frozenset[int] = frozenset()
    apart: tuple[int, bool, int] = (0, False, 0)
    found_by: str = ""
    trace: object = None

    @property
    def age(self) -> tuple[bool, int]:
        """Sorts the newest first, and last what has no time."""
        return self.timestamp is None, -(self.timestamp or 0)


class Visibility:
    """Which matches the reader of one request may see, as one SQL predicate.

    Args:
        roles: whose messages count.
        sources: only these sources; empty for all of them, None for all but the hidden.
        exclude: keys of sessions to leave out, with all of their lineages.
        current: key of the running session, whose context the reader has.
        seen: roots of the lineages that earlier pages showed.
        after, before: bounds of message time, microseconds, [after, before).
        labels: tags and metadata that they are to have.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        roles: Collection[str],
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
        current: str | None = None,
        seen: Collection[int] = (),
        after: int | None = None,
        before: int | None = None,
        labels: Labels = ANY,
    ) -> None:
        self._sessions: dict[int, SessionInfo] = {}
        session: list[str] = []
        message = ["m.state <> 'rewound'"]
        bindings: dict[str, Any] = labels.bindings
        self._connection = connection
        self._tagged = connection.one("SELECT 1 FROM session_tags LIMIT 1") is not None

        def listed(name: str, values: Collection[Any]) -> str:
            bindings[name] = json.dumps(sorted(values))
            return f"(SELECT value FROM json_each(:{name}))"

        if sources is None:
            session.append(f"s.source NOT IN {HIDDEN_SOURCES}")
        elif sources:
            session.append(f"s.source IN {listed('sources', sources)}")
        if seen:
            session.append(f"s.root_id NOT IN {listed('seen', seen)}")
        if exclude:
            session.append(
                "s.root_id NOT IN (SELECT root_id FROM sessions"
                f" WHERE key IN {listed('exclude', exclude)})"
            )
        session += labels.of_session()
        message += labels.of_message()
        self._labelled = " AND ".join(labels.of_whole_session()) or "1"
        if set(roles) != set(ROLES):
            message.append(f"m.role IN {listed('roles', roles)}")
        untimed = connection.one("SELECT 1 FROM untimed LIMIT 1") is not None
        #: SQL: the time of a message, NULL where nobody knows it.
        self.moment = "m.timestamp"
        #: SQL: whether anybody knows it.
        self.timed = "1"
        if untimed:
            self.timed = _TIMED
            self.moment = f"CASE WHEN {_TIMED} THEN m.timestamp END"
            if after is not None or before is not None:
                message.append(_TIMED)
        if after is not None:
            message.append("m.timestamp >= :after")
            bindings["after"] = after
        if before is not None:
            message.append("m.timestamp < :before")
            bindings["before"] = before
        self._whole_session = "1"
        if current is not None:
            found = connection.execute(
                "SELECT id, root_id FROM sessions WHERE key = ?", (current,)
            ).fetchone()
            if found is not None:
                bindings["current"], bindings["current_root"] = found
                self._whole_session = (
                    "(s.root_id <> :current_root OR (s.id <> :current"
                    f" AND s.end_reason IN {listed('out_of_context', OUT_OF_CONTEXT)}))"
                )
                message.append(f"({self._whole_session} OR m.state = 'compacted')")
        self._session = " AND ".join(session) or "1"
        self._message = " AND ".join(message)
        self._bindings = bindings

    def predicate(self, *, whole: bool = False) -> tuple[str, dict[str, Any]]:
        """SQL over ``messages AS m`` and ``sessions AS s``, and its bindings.

        Args:
            whole: only messages of sessions that have the metadata themselves.
        """
        labelled = f" AND {self._labelled}" if whole else ""
        return f"{self._message} AND {self._session}{labelled}", dict(self._bindings)

    def session_predicate(self) -> tuple[str, dict[str, Any]]:
        """SQL over ``sessions AS s``: those that may be shown whole."""
        where = f"{self._session} AND {self._whole_session} AND {self._labelled}"
        return where, dict(self._bindings)

    def session(self, columns: Sequence[Any]) -> SessionInfo:
        """Return the session of a row of :data:`SESSION_COLUMNS`, one object for each."""
        info = self._sessions.get(columns[0])
        if info is None:
            tags = of_session(self._connection, columns[0])[0] if self._tagged else ()
            info = self._sessions[columns[0]] = SessionInfo(*(*columns, tags))
        return info


def best_of_lineages(
    candidates: list[Candidate], limit: int, *, key: str = "relevance"
) -> tuple[list[Candidate], bool]:
    """Return the best candidate of each lineage, best first, and whether more are left.

    What holds all of the query comes first; there and below, what ran unattended comes
    after everything a person took part in.
    """
    if key == "relevance":
        candidates.sort(key=lambda c: (-c.score, c.timestamp is None, -(c.timestamp or 0), -c.id))
    elif key == "newest":
        candidates.sort(key=lambda c: (*c.age, -c.id))
    else:
        candidates.sort(key=lambda c: (c.timestamp is None, c.timestamp or 0, c.id))
    alone = UNATTENDED_SOURCES
    candidates.sort(key=lambda c: (c.partial, c.session.source in alone))  # stable
    attended = {c.session.root for c in candidates if c.session.source not in alone}
    best: dict[int, Candidate] = {}
    for candidate in candidates:
        session = candidate.session
        if session.source not in alone or session.root not in attended:
            best.setdefault(session.root, candidate)
    chosen = list(best.values())
    return chosen[:limit], len(chosen) > limit


# --- cursors ---------------------------------------------------------------------------


def encode_cursor(fingerprint: str, seen: Collection[int], period: Period = WHENEVER) -> str | None:
    """Return an opaque cursor: what was asked, and what was already shown.

    Ids are written as differences and compressed: about two characters for each.
    None where there are more than a cursor remembers.
    """
    if len(seen) > MAX_SEEN:
        return None
    ordered = sorted(seen)
    steps = [right - left for left, right in pairwise([0, *ordered])]
    asked = [fingerprint, steps, period.after, period.before]
    data = zlib.compress(json.dumps(asked, separators=(",", ":")).encode())
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_cursor(cursor: str, fingerprint: str) -> frozenset[int]:
    """Return the ids that earlier pages showed.

    Raises:
        InvalidArgument: not a cursor of ours, or one of another question.
    """
    owner, steps, *_ = _unpacked(cursor)
    if owner != fingerprint:
        raise InvalidArgument("cursor belongs to another search", hint=_CURSOR_HINT)
    return frozenset(accumulate(steps))


def resumed_period(cursor: str, period: Period) -> Period:
    """Return the period that a cursor goes on in.

    Bounds such as "3 days ago" have moved since the first page was made; the first page's
    hold.

    Raises:
        InvalidArgument: not a cursor of ours, or one of another period.
    """
    _, _, after, before = _unpacked(cursor)
    for bound, other in ((after, period.after), (before, period.before)):
        moved = None not in (bound, other) and abs(bound - other) <= _MOST_MOVED
        if bound != other and not moved:
            raise InvalidArgument("cursor belongs to another period", hint=_CURSOR_HINT)
    return replace(period, after=after, before=before)


def _unpacked(cursor: str) -> tuple[str, list[int], Any, Any]:
    unknown = InvalidArgument("cursor is not one of an earlier answer", hint=_CURSOR_HINT)
    if not isinstance(cursor, str):
        raise unknown
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        packed = base64.b64decode(padded, altchars=b"-_", validate=True)
        data = zlib.decompressobj().decompress(packed, _MAX_CURSOR_BYTES)
        owner, steps, after, before = json.loads(data)
        sound = (
            isinstance(owner, str)
            and len(steps) <= MAX_SEEN
            and all(type(step) is int and abs(step) < 2**63 for step in steps)
            and all(each is None or type(each) is int for each in (after, before))
        )
    except (ValueError, TypeError, AttributeError, RecursionError, zlib.error) as error:
        raise unknown from error
    if not sound:
        raise unknown
    return owner, steps, after, before
