# SPDX-License-Identifier: MIT
"""All of a history, one after another: whole messages and sessions, in bounded memory.

Rows are read a batch at a time, each in a snapshot of its own, so that a reader who takes
hours holds nothing back. What is stored meanwhile may appear; nothing comes twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.history import display
from mnemogram.history.browsing import SPOKE, SUMMARY, summary
from mnemogram.history.labels import ANY, Labels, metadata_of
from mnemogram.history.models import ROLES, SessionSummary, StoredMessage
from mnemogram.history.period import WHENEVER, Period
from mnemogram.history.reading import BEGINNING, END, Place, session_of
from mnemogram.history.schema import title_key
from mnemogram.history.search.visibility import Visibility
from mnemogram.moments import format_time
from mnemogram.sqlite.database import Connection, Database

__all__ = ["Located", "Selection", "count_sessions", "locate", "messages", "sessions"]

#: Rows read in one snapshot, and characters of text after which it ends early.
_BATCH: Final = 200
_BATCH_CHARS: Final = 2_000_000
_SESSION: Final = "SELECT id FROM sessions WHERE key = ?"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sessions and messages are wanted, with every argument checked.

    Attributes:
        sources: as for a search: None for all but the hidden, empty for all.
        title: words that the title holds, folded as titles are searched.
    """

    period: Period = WHENEVER
    sources: tuple[str, ...] | None = ()
    exclude_sessions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ROLES
    title: str | None = None
    labels: Labels = ANY

    def visibility(self, connection: Connection) -> Visibility:
        """Return the selection as a predicate."""
        return Visibility(
            connection,
            roles=self.roles,
            sources=self.sources,
            exclude=self.exclude_sessions,
            after=self.period.after,
            before=self.period.before,
            labels=self.labels,
        )


# --- messages --------------------------------------------------------------------------


def messages(
    database: Database,
    selection: Selection,
    *,
    session: str | None,
    start: int | None,
    newest_first: bool,
) -> Iterator[StoredMessage]:
    """Give stored messages whole, in the order of their time.

    Args:
        session: only those of this one.
        start: id of the message to begin with.

    Raises:
        NotFound: no such session, or no such message in it.
    """
    with database.read() as connection:
        row_id = None if session is None else session_of(connection, session)
        place = END if newest_first else BEGINNING
        if start is not None:
            place = _place(connection, row_id, start)
    inclusive = start is not None
    while True:
        batch, place, more = _batch(
            database, selection, row_id, place, newest_first=newest_first, inclusive=inclusive
        )
        inclusive = False
        yield from batch
        if not more:
            return


def _place(connection: Connection, session: int | None, message: int) -> Place:
    row = connection.execute(
        "SELECT timestamp, id FROM messages WHERE id = ? AND state <> 'rewound'"
        " AND (session_id = ? OR ? IS NULL)",
        (message, session, session),
    ).fetchone()
    if row is None:
        raise NotFound(f"no message {message} here", hint="Use ids from an earlier answer.")
    return int(row[0]), int(row[1])


def _batch(
    database: Database,
    selection: Selection,
    session: int | None,
    place: Place,
    *,
    newest_first: bool,
    inclusive: bool,
) -> tuple[list[StoredMessage], Place, bool]:
    """Return the next messages after a place, where they end, and whether there may be more."""
    order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
    found: list[StoredMessage] = []
    size = 0
    with database.read() as connection:
        where, bindings = selection.visibility(connection).predicate()
        index, only = "messages_by_time", ""
        if session is not None:
            index, only = "messages_in_order", " AND m.session_id = :session"
            bindings["session"] = session
        rows = connection.execute(
            f"SELECT {display.MESSAGE_COLUMNS}, s.key"
            f" FROM messages AS m INDEXED BY {index} CROSS JOIN sessions AS s"
            f" ON s.id = m.session_id WHERE {where}{only}"
            f" AND (m.timestamp, m.id) {beyond}{'=' if inclusive else ''} (:time, :id)"
            f" ORDER BY m.timestamp {order}, m.id {order} LIMIT {_BATCH}",
            {**bindings, "time": place[0], "id": place[1]},
        )
        for row in rows:
            message = display.MessageRow(*row[:-1])
            found.append(_stored(message, row[-1]))
            place = (message.timestamp, message.id)
            size += len(message.content) + len(message.tool_calls or "")
            if size >= _BATCH_CHARS:
                return found, place, True
    return found, place, len(found) == _BATCH


def _stored(row: display.MessageRow, session: str) -> StoredMessage:
    return StoredMessage(
        id=row.id,
        session_id=session,
        uid=row.uid,
        role=row.role,
        timestamp=None if row.is_untimed else format_time(row.timestamp),
        state=row.state,
        provenance=row.provenance,
        content=row.content,
        tool_name=row.tool_name,
        tool_call_id=row.tool_call_id,
        tool_calls=display.whole_calls(row.tool_calls),
        tool_status=row.tool_status,
        metadata=metadata_of(row.metadata),
    )


# --- sessions --------------------------------------------------------------------------


def _predicate(connection: Connection, selection: Selection) -> tuple[str, dict[str, Any]]:
    visibility = selection.visibility(connection)
    where, bindings = visibility.session_predicate()
    where = f"s.message_count > 0 AND {where}"
    bindings |= {"after": selection.period.after, "before": selection.period.before}
    if selection.period.bounded:
        where += f" AND {SPOKE.format(timed=visibility.timed)}"
    if selection.title is not None:
        where += " AND instr(s.title_key, :title)"
        bindings["title"] = title_key(selection.title)
    return where, bindings


def count_sessions(database: Database, selection: Selection) -> int:
    """Return how many sessions :func:`sessions` would give."""
    with database.read() as connection:
        where, bindings = _predicate(connection, selection)
        statement = f"SELECT count(*) FROM sessions AS s WHERE {where}"
        ((found,),) = connection.execute(statement, bindings)
        return int(found)


def sessions(
    database: Database, selection: Selection, *, newest_first: bool
) -> Iterator[SessionSummary]:
    """Give sessions by their last activity; those of which no time is known come last."""
    for undated in (False, True):
        place = END if newest_first else BEGINNING
        while True:
            batch, place = _sessions(
                database, selection, place, undated=undated, newest_first=newest_first
            )
            yield from batch
            if len(batch) < _BATCH:
                break


def _sessions(
    database: Database, selection: Selection, place: Place, *, undated: bool, newest_first: bool
) -> tuple[list[SessionSummary], Place]:
    order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
    found = []
    with database.read() as connection:
        where, bindings = _predicate(connection, selection)
        rows = list(
            connection.execute(
                f"SELECT s.last_active_at, {SUMMARY} FROM sessions AS s"
                f" WHERE {where} AND s.id {'IN' if undated else 'NOT IN'}"
                " (SELECT id FROM undated)"
                f" AND (s.last_active_at, s.id) {beyond} (:time, :row)"
                f" ORDER BY s.last_active_at {order}, s.id {order} LIMIT {_BATCH}",
                {**bindings, "time": place[0], "row": place[1]},
            )
        )
        for row in rows:
            place = (row[0], row[1])
            found.append(summary(connection, selection.period, *row, most=None))
    return found, place


# --- names -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Located:
    """What somebody meant by a name.

    Attributes:
        session_id: the session's id.
        message_id: the message that was named, if one was.
    """

    session_id: str
    message_id: int | None


#: Sessions named where a beginning fits several.
_MOST_NAMED: Final = 5


def locate(database: Database, name: str) -> Located:
    """Return the session that is meant: by its id, ``#message``, a beginning, its title.

    Raises:
        NotFound: nothing is called so.
        InvalidArgument: several are.
    """
    wanted = name.strip()
    number = wanted.removeprefix("#")
    with database.read() as connection:
        if connection.one(_SESSION, (name,)) is not None:
            return Located(name, None)
        if number.isascii() and number.isdigit() and len(number) < 19:
            owner = connection.one(
                "SELECT s.key FROM messages AS m JOIN sessions AS s ON s.id = m.session_id"
                " WHERE m.id = ? AND m.state <> 'rewound'",
                (int(number),),
            )
            if owner is not None:
                return Located(str(owner), int(number))
        for keys in (_beginning(connection, wanted), _titled(connection, wanted)):
            if len(keys) == 1:
                return Located(keys[0], None)
            if keys:
                raise _ambiguous(name, keys)
    raise NotFound(f"no session {name!r}")


def _beginning(connection: Connection, wanted: str) -> list[str]:
    if not wanted:
        return []
    rows = connection.execute(
        "SELECT key FROM sessions WHERE key BETWEEN :wanted AND :wanted || char(1114111)"
        " ORDER BY key LIMIT :most",
        {"wanted": wanted, "most": _MOST_NAMED + 1},
    )
    return [str(key) for (key,) in rows]


def _titled(connection: Connection, wanted: str) -> list[str]:
    rows = connection.execute(
        "SELECT key FROM sessions WHERE title_key = ? ORDER BY last_active_at DESC LIMIT ?",
        (title_key(wanted) or None, _MOST_NAMED + 1),
    )
    return [str(key) for (key,) in rows]


def _ambiguous(name: str, keys: Collection[str]) -> InvalidArgument:
    listed = list(keys)
    named = ", ".join(listed[:_MOST_NAMED])
    if len(listed) > _MOST_NAMED:
        named += ", ..."
    return InvalidArgument(
        f"several sessions are called {name!r}: {named}", hint="Write more of the id."
    )
