# SPDX-License-Identifier: MIT
"""Fetching the messages that match by looking at their text, where no index can be asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mnemogram._native import query as q
from mnemogram.bm25 import idf
from mnemogram.errors import QueryTimeout
from mnemogram.history.display import MATCHED_COLUMNS
from mnemogram.history.search.fetch import CANDIDATE_LIMIT, Found, lineages_of
from mnemogram.history.search.visibility import SESSION_COLUMNS, Candidate, SessionInfo, Visibility
from mnemogram.sqlite.database import Connection, share_of_deadline

__all__ = ["NO_END", "Partial", "from_scan", "parts_from_scan"]

#: The end of a range that ends with the last message.
NO_END: Final = 2**63 - 1
#: Rows read before phrases that stand in more than this share of them are left out.
_ROWS_TO_JUDGE: Final = 1_000
_FREQUENT_SHARE: Final = 0.2


def _rows(
    connection: Connection,
    visibility: Visibility,
    ranges: Sequence[tuple[int, int]],
    *,
    oldest_first: bool = False,
    only: str = "1",
) -> Iterator[Sequence[Any]]:
    """Read the visible messages of some ranges: three columns of text, then a candidate's.

    All messages are read in the order of time, which is that of ids unless older ones came
    later; those of ranges, and where there is a further condition, in the order of ids.
    """
    where, bindings = visibility.predicate()
    order = "ASC" if oldest_first else "DESC"
    everything = only == "1" and any(high == NO_END for _, high in ranges)
    source = "messages AS m INDEXED BY messages_by_time" if everything else "messages AS m"
    by = f"m.timestamp {order}, m.id {order}" if everything else f"m.id {order}"
    for low, high in sorted(ranges, reverse=not oldest_first):
        for row in connection.execute(
            f"SELECT {MATCHED_COLUMNS},"
            f" m.id, m.role, {visibility.moment}, {SESSION_COLUMNS}"
            f" FROM {source} CROSS JOIN sessions AS s ON s.id = m.session_id"
            f" WHERE m.id > :low AND m.id <= :high AND {only} AND {where}"
            f" ORDER BY {by}",
            {**bindings, "low": low, "high": high},
        ):
            connection.check_deadline()  # SQLite looks every few dozen rows only
            yield row


def _read(row: Sequence[Any], session: SessionInfo) -> Candidate:
    return Candidate(row[3], session, row[4], row[5], 0.0, found_by="like")


def _leads(edges: dict[int, int | None], root: int, moment: int | None, sort: str) -> bool:
    """Whether a match is the first met of its lineage, or would be shown before those met."""
    if root in edges:
        edge = edges[root]
        if moment is None or sort == "relevance":
            return False
        if edge is not None and (moment <= edge if sort == "newest" else moment >= edge):
            return False
    edges[root] = moment
    return True


def from_scan(
    connection: Connection,
    visibility: Visibility,
    matcher: q.Matcher,
    ranges: Sequence[tuple[int, int]],
    *,
    wanted: int,
    sort: str,
    only: str = "1",
    share: float = 1.0,
) -> Found:
    """Return visible messages with low < id <= high that match, by reading their text.

    Newest first (oldest first where they are asked for), so that a scan that runs out of
    time has seen what matters most.

    Args:
        ranges: pairs of (low, high].
        only: further SQL condition on ``m``.
        share: part of the remaining time that the scan may take.
    """
    found = Found()
    edges: dict[int, int | None] = {}
    oldest_first = sort == "oldest"
    try:
        with share_of_deadline(connection, share):
            for row in _rows(connection, visibility, ranges, oldest_first=oldest_first, only=only):
                if not matcher.matches(*row[:3], deadline=connection.deadline_at):
                    continue
                info = visibility.session(row[6:])
                enough = len(found.candidates) >= CANDIDATE_LIMIT
                leads = _leads(edges, info.root, row[5], sort)
                if enough and not leads:
                    continue  # one talkative session is not to fill the memory
                found.candidates.append(_read(row, info))
                if enough and lineages_of(found.candidates) >= wanted:
                    found.exhausted = found.complete = False
                    return found
    except QueryTimeout:
        connection.check_deadline()
        found.exhausted = found.complete = False
    return found


# --- parts of a query ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Partial:
    """Messages that hold parts of a query, and how frequent the parts turned out to be.

    Attributes:
        rows: messages that were read.
        average: average length of those that hold anything, in tokens.
        holding: how many of them hold each phrase; of one that was left out for being
            frequent, about how many.
    """

    found: Found
    rows: int
    average: float
    holding: dict[q.Phrase, int]


class _Best:
    """The best of the messages met so far, by the rarity of what they hold."""

    def __init__(self, weights: dict[q.Phrase, float], lone: Collection[q.Phrase]) -> None:
        self._weights = weights
        self._lone = lone
        self._holding = dict.fromkeys(weights, 0)
        self._shares: dict[q.Phrase, float] = {}
        self._kept: list[tuple[list[q.Phrase], Candidate]] = []
        self.rows = 0
        self.all_kept = True

    def add(self, held: list[q.Phrase], candidate: Candidate) -> None:
        for each in held:
            self._holding[each] += 1
        self._kept.append((held, candidate))
        if len(self._kept) >= 4 * CANDIDATE_LIMIT:
            self.best()

    def distinctive_phrases(self) -> list[q.Phrase]:
        """Return the phrases that distinguish messages, all of them where none does."""
        most = self.rows * _FREQUENT_SHARE
        rare = [each for each, count in self._holding.items() if count <= most]
        if rare:
            self._shares = {
                each: count / self.rows for each, count in self._holding.items() if count > most
            }
        return rare or list(self._weights)

    def holding(self) -> dict[q.Phrase, int]:
        """Return how many rows hold each phrase; about, where it is not looked for."""
        about = {each: int(share * self.rows) for each, share in self._shares.items()}
        return self._holding | about

    def best(self) -> list[Candidate]:
        """Keep the best, and the best one of as many lineages; the score is its rarity."""
        holding = self.holding()
        weights = {
            each: weight * idf(self.rows, holding[each]) for each, weight in self._weights.items()
        }
        for held, candidate in self._kept:
            candidate.score = sum(weights[each] for each in held)
        # A lone character is asked for where nothing holds more than that.
        distinctive = [
            kept for kept in self._kept if any(each not in self._lone for each in kept[0])
        ]
        self._kept = distinctive or self._kept
        self._kept.sort(key=lambda each: (-each[1].score, *each[1].age, -each[1].id))
        heads: dict[int, int] = {}
        for place, (_, candidate) in enumerate(self._kept):
            heads.setdefault(candidate.session.root, place)
        places = {*range(CANDIDATE_LIMIT), *list(heads.values())[:CANDIDATE_LIMIT]}
        kept = [each for place, each in enumerate(self._kept) if place in places]
        self.all_kept &= len(kept) == len(self._kept)
        self._kept = kept
        return [candidate for _, candidate in kept]


def parts_from_scan(
    connection: Connection,
    visibility: Visibility,
    weights: dict[q.Phrase, float],
    ranges: Sequence[tuple[int, int]],
    *,
    share: float,
    lone: Collection[q.Phrase] = (),
) -> Partial:
    """Return the visible messages that hold the rarest of some phrases, by reading them.

    How rare a phrase is, the messages read so far say; one that stands in a fifth of the
    first thousand is not looked for in the others.

    Args:
        weights: phrases, and how much each counts beside its rarity.
        ranges: pairs of (low, high], read newest first.
        share: part of the remaining time that it may take.
        lone: those that say too lone, where any message holds another.

    Raises:
        QueryTimeout: the deadline passed, not only the share of it.
    """
    best = _Best(weights, lone)
    found = Found()
    matcher = q.compile(q.Or(list(weights)))
    hits = tokens = 0
    try:
        with share_of_deadline(connection, share):
            for row in _rows(connection, visibility, ranges):
                if best.rows == _ROWS_TO_JUDGE:
                    matcher = q.compile(q.Or(best.distinctive_phrases()))
                best.rows += 1
                if not matcher.matches(*row[:3], deadline=connection.deadline_at):
                    continue
                counted = [
                    matcher.count(column, deadline=connection.deadline_at)
                    for column in row[:3]
                    if column is not None
                ]
                hits += 1
                tokens += sum(length for _, length in counted)
                held = [
                    phrase
                    for phrase, *times in zip(
                        matcher.phrases, *(counts for counts, _ in counted), strict=True
                    )
                    if any(times)
                ]
                info = visibility.session(row[6:])
                best.add(held, _read(row, info))
    except QueryTimeout:
        connection.check_deadline()
        found.exhausted = found.complete = False
    found.candidates = best.best()
    found.exhausted &= best.all_kept
    return Partial(found, best.rows, max(1.0, tokens / max(1, hits)), best.holding())
