# SPDX-License-Identifier: MIT
"""Fetching the messages that match, from an index.

What is found, here and by scan (``scan``), is already visible to the reader: the one
predicate of ``Visibility`` is part of every statement that fetches candidates.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from mnemogram._native.query import Matcher
from mnemogram.errors import QueryTimeout
from mnemogram.history.display import MATCHED_COLUMNS
from mnemogram.history.index import state as indexes
from mnemogram.history.schema import UNATTENDED_SOURCES
from mnemogram.history.search.visibility import SESSION_COLUMNS, Candidate, Visibility
from mnemogram.sqlite.database import Connection, share_of_deadline

__all__ = [
    "CANDIDATE_LIMIT",
    "COLUMN_WEIGHTS",
    "MATCHED_TEXTS",
    "Found",
    "IndexQuery",
    "from_index",
    "from_sessions",
    "lineages_of",
    "newest_from_index",
]

#: The texts of one message for a matcher.
MATCHED_TEXTS: Final = f"SELECT {MATCHED_COLUMNS} FROM messages AS m WHERE m.id = ?"
#: Candidates that are ranked before grouping; more only while lineages are missing.
CANDIDATE_LIMIT: Final = 300
#: How much a match in each column counts: text, tool name, tool calls.
COLUMN_WEIGHTS: Final = (1.0, 0.6, 0.35)
#: Share of the remaining time that ranking may take before the newest are returned.
_RANKING_SHARE: Final = 0.6
#: Share of the remaining time for sorting by time, before what was found by id is returned.
_SORTING_SHARE: Final = 0.8
_MOST_ROUNDS: Final = 40
#: Matches looked at in the order of ids before all of them are sorted by time.
_MOST_BY_ID: Final = 5_000


@dataclass(slots=True)
class Found:
    """Candidates so far, and how they were come by.

    Attributes:
        exhausted: no match is left unexamined.
        complete: every message was looked at, by an index or by its text.
        ranked: False where ranking ran out of time and the newest were taken.
        scored: False where the exact scores ran out of time and the index's were kept.
    """

    candidates: list[Candidate] = field(default_factory=list)
    exhausted: bool = True
    complete: bool = True
    ranked: bool = True
    scored: bool = True

    def add(self, other: Found) -> None:
        """Take over another's candidates, each message once."""
        known = {each.id for each in self.candidates}
        self.candidates += [each for each in other.candidates if each.id not in known]
        self.exhausted &= other.exhausted
        self.complete &= other.complete
        self.ranked &= other.ranked
        self.scored &= other.scored

    def prefer(self, others: Iterable[Candidate]) -> None:
        """Take over other candidates, ahead of all that are there; exact scores decide then."""
        known = {each.id: each for each in self.candidates}
        ahead = 1.0 + max((each.score for each in self.candidates), default=0.0)
        for each in others:
            if each.id in known:
                known[each.id].score += ahead
            else:
                each.score = ahead + each.score
                self.candidates.append(each)


def lineages_of(candidates: Iterable[Candidate]) -> int:
    """Return how many lineages with a person in them the candidates come from."""
    alone = UNATTENDED_SOURCES
    return len({each.session.root for each in candidates if each.session.source not in alone})


# --- by index --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """What an index is asked.

    Attributes:
        table: name of the FTS table.
        expression: FTS5 MATCH expression.
        check: keeps only rows whose text it matches, where the index gives a superset.
        weights: weight of each phrase of the expression, the last one for the rest.
    """

    table: str
    expression: str
    check: Matcher | None = None
    weights: Sequence[float] = (1.0,)

    def score(self, connection: Connection) -> str:
        """Return the SQL of a row's score, which is smaller when better."""
        if self.table == indexes.TRIGRAM.name:
            return "0.0"  # detail=none: the check of the text ranks
        columns = len(next(each for each in indexes.INDEXES if each.name == self.table).columns)
        of_columns = ", ".join(str(weight) for weight in COLUMN_WEIGHTS[:columns])
        if not connection.has_tokenizer:
            return f"bm25({self.table}, {of_columns})"
        # As bindings, so that SQLite compiles one statement for all queries of so many phrases.
        phrases = "".join(f", :weight{place}" for place in range(len(self.weights)))
        return f"recall_rank({self.table}, {of_columns}{phrases})"

    def bindings(self) -> dict[str, Any]:
        """Return what the SQL of :meth:`score` and ``MATCH :expression`` are bound to."""
        bound: dict[str, Any] = {
            f"weight{place}": round(weight, 4) for place, weight in enumerate(self.weights)
        }
        bound["expression"] = self.expression
        return bound


def from_index(
    connection: Connection,
    visibility: Visibility,
    asked: IndexQuery,
    *,
    wanted: int,
    sort: str,
    first: int = CANDIDATE_LIMIT,
    recent: bool = False,
) -> Found:
    """Return the visible messages that an FTS table finds, the best of them at least.

    Args:
        wanted: stop once this many lineages are found.
        sort: ``relevance``, ``newest`` or ``oldest``.
        first: how many of the best ranked are enough, if they hold the lineages wanted.
        recent: the newest matches belong to the best.

    Raises:
        QueryTimeout: not even the newest matches could be had in time.
    """
    fetching = _Fetching(connection, visibility, asked, wanted)
    if sort == "relevance":
        return fetching.best(first, recent=recent)
    return fetching.sorted(newest=sort == "newest")


def newest_from_index(
    connection: Connection, visibility: Visibility, asked: IndexQuery, *, wanted: int
) -> Found:
    """Return the newest visible messages that an FTS table finds.

    Raises:
        QueryTimeout: none was found in time.
    """
    return _Fetching(connection, visibility, asked, wanted).newest(wanted)


def from_sessions(
    connection: Connection, visibility: Visibility, asked: IndexQuery, sessions: Collection[int]
) -> list[Candidate]:
    """Return the best visible messages of some sessions that an FTS table finds."""
    fetching = _Fetching(connection, visibility, asked, CANDIDATE_LIMIT)
    return fetching.of_sessions(sessions)


class _Fetching:
    """One question to one index."""

    def __init__(
        self, connection: Connection, visibility: Visibility, asked: IndexQuery, wanted: int
    ) -> None:
        self._connection = connection
        self._visibility = visibility
        self._asked = asked
        self._wanted = wanted

    def best(self, first: int, *, recent: bool) -> Found:
        found = Found()
        try:
            with share_of_deadline(self._connection, _RANKING_SHARE):
                score = self._asked.score(self._connection)
                self._by_rank(score, first, found)
                if recent and not found.exhausted:
                    found.add(self.newest(CANDIDATE_LIMIT, score))
        except QueryTimeout:
            self._connection.check_deadline()
            if found.candidates:
                found.exhausted = False
            else:
                found = self.newest(self._wanted)
                found.ranked = False
        return found

    def sorted(self, *, newest: bool) -> Found:
        found = Found()
        try:
            with share_of_deadline(self._connection, _SORTING_SHARE):
                if self._by_id(found, newest=newest):
                    return found
                return self._by_time(newest=newest)
        except QueryTimeout:
            self._connection.check_deadline()
            if not found.candidates:
                raise
            found.exhausted = found.complete = False
            return found

    # -- rows

    def _select(self, end: str, *, score: str = "0.0", moment: str = "", more: str = "") -> str:
        """Return the statement for the visible matches: what a candidate is made of.

        Args:
            end: how they are grouped, ordered and limited.
            moment: SQL of the time; the message's own by default.
            more: further conditions.
        """
        table = self._asked.table
        where, _ = self._visibility.predicate()
        return (
            f"SELECT m.id, m.role, {moment or self._visibility.moment} AS moment,"
            f" {score} AS score, {SESSION_COLUMNS}"
            f" FROM {table} CROSS JOIN messages AS m ON m.id = {table}.rowid"
            " CROSS JOIN sessions AS s ON s.id = m.session_id"
            f" WHERE {table} MATCH :expression AND {where}{more} {end}"
        )

    def _rows(self, statement: str, **others: Any) -> apsw.Cursor:
        _, bindings = self._visibility.predicate()
        return self._connection.execute(statement, {**bindings, **self._asked.bindings(), **others})

    def _admitted(self, rows: Iterable[Sequence[Any]]) -> list[Candidate]:
        """Turn rows of :meth:`_select` into candidates, those whose text passes the check."""
        admitted = []
        for row_id, role, timestamp, score, *session in rows:
            if self._asked.check is not None and not self._passes(self._asked.check, row_id):
                continue
            info = self._visibility.session(session)
            admitted.append(Candidate(row_id, info, role, timestamp, -score))
        return admitted

    def _passes(self, check: Matcher, row_id: int) -> bool:
        self._connection.check_deadline()
        for columns in self._connection.execute(MATCHED_TEXTS, (row_id,)):
            return bool(check.matches(*columns, deadline=self._connection.deadline_at))
        return False

    # -- by relevance

    def _by_rank(self, score: str, first: int, found: Found) -> None:
        """Rank all matches by their postings, then filter the best; go on while too few are left.

        The first round ranks without looking at a single message. Later rounds filter
        first and leave out the sessions already found, so that each round brings new
        lineages, however talkative one session is.
        """
        table = self._asked.table
        # Newest first, so that of equal scores the newest stay and the sorter keeps what it
        # has; sorting by (score, rowid DESC) would make it take in nearly every row.
        best: list[tuple[int, float]] = list(
            self._connection.execute(
                f"SELECT id, score FROM (SELECT rowid AS id, {score} AS score FROM {table}"
                f" WHERE {table} MATCH :expression ORDER BY rowid DESC LIMIT -1)"
                " ORDER BY score LIMIT :limit",
                {**self._asked.bindings(), "limit": CANDIDATE_LIMIT},
            )
        )
        if len(best) > first or len(best) == CANDIDATE_LIMIT:
            best = _newest_of_ties(self._connection, self._asked, score, best)
        where, bindings = self._visibility.predicate()
        failed: set[int] = set()
        looked = 0
        for part in (best[:first], best[first:]):
            if looked and lineages_of(found.candidates) >= self._wanted:
                break
            looked += len(part)
            shown = list(
                self._connection.execute(
                    f"SELECT m.id, m.role, {self._visibility.moment}, best.value ->> 1,"
                    f" {SESSION_COLUMNS} FROM json_each(:best) AS best"
                    " CROSS JOIN messages AS m ON m.id = best.value ->> 0"
                    f" CROSS JOIN sessions AS s ON s.id = m.session_id WHERE {where}",
                    {**bindings, "best": json.dumps(part)},
                )
            )
            admitted = self._admitted(shown)
            found.candidates += admitted
            failed |= {row[0] for row in shown} - {each.id for each in admitted}
        if looked == len(best) < CANDIDATE_LIMIT:
            return
        found.exhausted = False
        statement = self._select(
            "ORDER BY score, moment DESC, m.id DESC LIMIT :limit",
            score=score,
            more=" AND m.session_id NOT IN (SELECT value FROM json_each(:known))"
            " AND m.id NOT IN (SELECT value FROM json_each(:failed))",
        )
        for _ in range(_MOST_ROUNDS):
            if lineages_of(found.candidates) >= self._wanted:
                return
            more = list(
                self._rows(
                    statement,
                    known=json.dumps(sorted({c.session.id for c in found.candidates})),
                    failed=json.dumps(sorted(failed)),
                    limit=CANDIDATE_LIMIT,
                )
            )
            admitted = self._admitted(more)
            found.candidates += admitted
            failed |= {row[0] for row in more} - {each.id for each in admitted}
            if len(more) < CANDIDATE_LIMIT:
                found.exhausted = True
                return

    def of_sessions(self, sessions: Collection[int]) -> list[Candidate]:
        statement = self._select(
            "ORDER BY score, moment DESC, m.id DESC LIMIT :limit",
            score=self._asked.score(self._connection),
            more=" AND m.session_id IN (SELECT value FROM json_each(:sessions))",
        )
        sought = json.dumps(sorted(sessions))
        return self._admitted(self._rows(statement, sessions=sought, limit=CANDIDATE_LIMIT))

    def newest(self, wanted: int, score: str = "0.0") -> Found:
        """The last matches by id, which FTS5 gives one by one without ranking them."""
        found = Found()
        cursor = self._rows(self._select(f"ORDER BY {self._asked.table}.rowid DESC", score=score))
        try:
            for row in cursor:
                admitted = self._admitted([row])
                found.candidates += admitted
                enough = len(found.candidates) >= CANDIDATE_LIMIT
                if admitted and (enough or lineages_of(found.candidates) >= wanted):
                    found.exhausted = False
                    break
        except (QueryTimeout, apsw.InterruptError):
            if not found.candidates:
                raise
            found.exhausted = False
        return found

    # -- by time

    def _by_id(self, found: Found, *, newest: bool) -> bool:
        """The last (or first) matches by id, where ids run with time as far as they matter.

        FTS5 gives matches in the order of ids one by one, so common words cost nothing.
        False where a message not looked at may have a time that would bring it forward, as
        after an import of older conversations, or where one session holds too many of them.
        """
        order = "DESC" if newest else "ASC"
        edges: dict[int, int] = {}
        last = 0
        matches = self._rows(self._select(f"ORDER BY {self._asked.table}.rowid {order}"))
        for looked, row in enumerate(matches):
            last = row[0]
            for candidate in self._admitted([row]):
                found.candidates.append(candidate)
                root, moment = candidate.session.root, candidate.timestamp
                if not candidate.session.unattended and moment is not None:
                    edge = edges.get(root, moment)
                    edges[root] = max(edge, moment) if newest else min(edge, moment)
            if len(edges) >= self._wanted:
                break
            if looked >= _MOST_BY_ID:
                return False
        else:
            return True
        found.exhausted = False
        worst = min(edges.values()) if newest else max(edges.values())
        return not _out_of_order(self._connection, worst, last, newest=newest)

    def _by_time(self, *, newest: bool) -> Found:
        """The latest (or earliest) match of every session: one pass over the matches."""
        edge, order = ("max", "DESC") if newest else ("min", "ASC")
        found = Found()
        if self._asked.check is None:
            statement = self._select(
                f"GROUP BY m.session_id ORDER BY moment {order} NULLS LAST",
                moment=f"{edge}({self._visibility.moment})",
            )
        else:
            statement = self._select(f"ORDER BY moment {order} NULLS LAST, m.id {order}")
        for row in self._rows(statement):
            found.candidates += self._admitted([row])
            if lineages_of(found.candidates) >= self._wanted:
                found.exhausted = False
                break
        return found


# --- times and ids ---------------------------------------------------------------------


def _out_of_order(connection: Connection, moment: int, row_id: int, *, newest: bool) -> bool:
    """Whether a message beyond an id, on the way from the newest or oldest, has a better time."""
    later, beyond = (">", "<") if newest else ("<", ">")
    return bool(
        connection.one(
            "SELECT 1 FROM messages INDEXED BY messages_by_time"
            f" WHERE timestamp {later} ? AND id {beyond} ?"
            " AND id NOT IN (SELECT id FROM untimed) LIMIT 1",
            (moment, row_id),
        )
    )


def _moments(connection: Connection, ids: Iterable[int]) -> dict[int, int]:
    return dict(
        connection.execute(
            "SELECT m.id, m.timestamp FROM json_each(?) AS wanted"
            " CROSS JOIN messages AS m ON m.id = wanted.value",
            (json.dumps(list(ids)),),
        )
    )


def _newest_of_ties(
    connection: Connection, asked: IndexQuery, score: str, best: list[tuple[int, float]]
) -> list[tuple[int, float]]:
    """Order equal scores by time, newest first; so also those that the cut goes through.

    The best come in the order of ids, which is that of time where messages were stored as
    they were said. Where others of the last score may be newer, as after an import that
    began with the newest, all of that score are looked at.
    """
    worst = best[-1][1]
    tied = [each for each, value in best if value == worst]
    cut = len(best) == CANDIDATE_LIMIT
    alike = Counter(value for _, value in best)
    moments = _moments(
        connection,
        (each for each, value in best if alike[value] > 1 or (cut and value == worst)),
    )
    if cut and _out_of_order(
        connection, min(moments.get(each, 0) for each in tied), min(tied), newest=True
    ):
        every = {
            row_id
            for (row_id,) in connection.execute(
                f"SELECT id FROM (SELECT rowid AS id, {score} AS score FROM {asked.table}"
                f" WHERE {asked.table} MATCH :expression LIMIT -1) WHERE score = :worst",
                {**asked.bindings(), "worst": worst},
            )
        }
        newest = _newest_among(connection, every, len(tied))
        moments |= newest
        best = [pair for pair in best if pair[1] != worst] + [(each, worst) for each in newest]
    return sorted(best, key=lambda pair: (pair[1], -moments.get(pair[0], 0), -pair[0]))


def _newest_among(connection: Connection, ids: set[int], wanted: int) -> dict[int, int]:
    """Return the newest of some messages, with their times."""
    rows = indexes.count_about(connection)
    if len(ids) * len(ids) > wanted * rows:
        # So many that the newest messages of all soon hold enough of them.
        found: dict[int, int] = {}
        for row_id, moment in connection.execute(
            "SELECT id, timestamp FROM messages INDEXED BY messages_by_time"
            " ORDER BY timestamp DESC, id DESC"
        ):
            if row_id in ids:
                found[row_id] = moment
                if len(found) >= wanted:
                    break
        return found
    moments = _moments(connection, ids)
    return dict(sorted(moments.items(), key=lambda pair: (-pair[1], -pair[0]))[:wanted])
