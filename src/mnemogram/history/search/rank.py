# SPDX-License-Identifier: MIT
"""Exact scores for the few hundred best candidates, from their text.

The index ranks all matches by their postings alone (``recall_rank``); here the
best are scored again with what postings do not tell cheaply: the length of the
text (BM25, Robertson and Zaragoza 2009), words that stand side by side as in the
query, trigrams inside words, and hits in neighbouring messages of the same session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from mnemogram._native.query import (
    UNIT_NONE,
    UNIT_TYPED,
    Matcher,
    Node,
    Or,
    Phrase,
    Scorer,
    compile,
    tokenizer_for,
)
from mnemogram.bm25 import B, K, part
from mnemogram.history.index import records
from mnemogram.history.index import state as indexes
from mnemogram.history.search.fetch import COLUMN_WEIGHTS
from mnemogram.history.search.visibility import Candidate
from mnemogram.sqlite.database import Connection
from mnemogram.text import PLAIN_OPTIONS

__all__ = [
    "MOST_SCORED",
    "Evidence",
    "Statistics",
    "Trace",
    "count_rows",
    "rerank",
    "statistics",
]

#: Candidates, and best ones of lineages, that are scored exactly. Twice as many gained nothing
#: (XQuAD in five languages, whole passages and single sentences; CMRC).
MOST_SCORED: Final = 150
#: Tokens of a passage: of a longer message the best one is scored.
_PASSAGE: Final = 512
#: Bytes of a message that are always read, and of all of them together that are read whole.
_LEAST_READ: Final = 16_384
_MOST_READ: Final = 48 * 1024 * 1024
#: SQL: bytes of a message.
_SIZE: Final = "octet_length(m.content) + ifnull(octet_length(m.tool_calls), 0)"
#: Counting a term's matches stops here: beyond it, about how many is enough.
_MOST_COUNTED: Final = 2_000
#: Share of a score down to which another is nearly the same, and tokens of a short text.
_NEAR: Final = 0.8
_SHORT: Final = 30
#: What a word in the title of a session counts beside one in a message.
_TITLE: Final = 0.7
#: Tokens between the nearest of a query's units, of which more is another class.
_WIDTHS: Final = (4, 16, 64)
#: What an equal score is multiplied with that has to be the smaller one.
_BARELY: Final = 1.0 - 1e-9
#: How much a hit one and two messages away counts for its neighbour.
_NEIGHBOUR: Final = (0.0, 0.25, 0.12)


#: The step of scoring that phrases of a kind belong to.
_STEPS: Final = {"word": "words", "prefix": "prefixes", "phrase": "phrases", "query": "phrases"}

#: What a time that the query names adds to the score of what was said then.
_TIMELY: Final = 0.3


@dataclass(frozen=True, slots=True)
class Statistics:
    """Size of an index: rows, and average tokens of a row."""

    rows: int
    average: float


def statistics(connection: Connection, table: str) -> Statistics:
    """Return an index's size, as FTS5 counts it."""
    numbers = records.sizes(connection, table)
    if len(numbers) < 2 or numbers[0] <= 0:
        return Statistics(0, 1.0)
    return Statistics(numbers[0], max(1.0, numbers[1] / numbers[0]))


def count_rows(connection: Connection, table: str, expression: str) -> int:
    """Return how many rows of an index match: exactly up to 2,000, about how many beyond.

    Where that many stand in the oldest part of a store, they are taken to be as frequent in
    the rest of it.
    """
    for counted, last in connection.execute(
        "SELECT count(*), max(id) FROM"
        f" (SELECT rowid AS id FROM {table} WHERE {table} MATCH ? LIMIT ?)",
        (expression, _MOST_COUNTED),
    ):
        if counted == _MOST_COUNTED:
            first, newest = indexes.id_span(connection)
            share = (newest - first + 1) / max(1, int(last) - first + 1)
            return max(int(counted), int(counted * share))
        return int(counted)
    return 0


class Evidence:
    """What speaks for a text: weighted phrases, and the trigrams of a query's words.

    Args:
        weighted: phrases with their weights; a phrase named twice keeps the larger.
        average: average length of a text in tokens.
        substring: phrases may begin and end inside words.
        grams_of: a query whose words also count by their trigrams.
        grams_by: options of the tokenizer that the trigrams are cut with.
        grams_weight: what all trigrams of the query count together; 0 for none.
        units: of phrases that are forms of a unit of the query, its number.
        typed: the query as it was typed, as phrases.
        spellings: of phrases that are units of the query, how they were typed.
    """

    def __init__(
        self,
        weighted: Iterable[tuple[Node, float]],
        average: float,
        *,
        substring: bool = False,
        grams_of: str,
        grams_by: Mapping[str, str],
        grams_weight: float,
        units: Mapping[Phrase, int] | None = None,
        typed: Iterable[Phrase] = (),
        spellings: Mapping[Phrase, str] | None = None,
    ) -> None:
        weights: dict[Node, float] = {}
        for node, weight in weighted:
            weights[node] = max(weight, weights.get(node, 0.0))
        as_typed = frozenset(typed)
        for node in as_typed:
            weights.setdefault(node, 0.0)
        self.matcher: Matcher = compile(Or(list(weights)), substring=substring)
        #: What each phrase can give, by place.
        self.weights = [weights[each] for each in self.matcher.phrases]
        self._average = average
        self._grams = (grams_of, grams_by, grams_weight)
        units, spelled = units or {}, spellings or {}
        self._units = [
            units.get(each, UNIT_TYPED if each in as_typed else UNIT_NONE) for each in self.phrases
        ]
        self._spellings = [spelled.get(each) for each in self.phrases]

    @property
    def units(self) -> frozenset[int]:
        """The numbers of all units that phrases are forms of."""
        return frozenset(each for each in self._units if each >= 0)

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """The phrases by the places that :attr:`Candidate.parts` names."""
        return self.matcher.phrases

    def holding(self, candidates: list[Candidate], wanted: frozenset[Phrase]) -> list[Candidate]:
        """Leave out the scored candidates that hold none of some phrases, if others do."""
        places = {place for place, each in enumerate(self.phrases) if each in wanted}
        left = [each for each in candidates if not each.parts or not places.isdisjoint(each.parts)]
        return left if any(each.parts for each in left) else candidates

    def of_title(self, title: str) -> dict[int, float]:
        """Return what each phrase gives a session by its title, by place."""
        counts, _ = self.matcher.count(title)
        return {
            place: part(_TITLE * self.weights[place], count, K)
            for place, count in enumerate(counts)
            if count and self.weights[place] > 0.0
        }

    def units_at(self, places: Iterable[int]) -> frozenset[int]:
        """Return the numbers of the units that phrases are forms of."""
        return frozenset(self._units[place] for place in places if self._units[place] >= 0)

    def kind_at(self, place: int) -> str:
        """Return what a phrase is of the query: see ``ExplainedTerm.kind``."""
        if self._units[place] >= 0:
            single = len(self.phrases[place].text) == 1
            return "prefix" if self.phrases[place].prefix and not single else "word"
        return "query" if self._units[place] == UNIT_TYPED else "phrase"

    def scorer(self) -> Scorer:
        """Return what scores the rows of one search, given all of them."""
        text, options, weight = self._grams
        return Scorer(
            self.matcher,
            self.weights,
            COLUMN_WEIGHTS,
            self._average,
            k=K,
            b=B,
            grams_of=text,
            grams_by=tokenizer_for(options),
            grams_weight=weight,
            passage=_PASSAGE,
            units=self._units,
            spellings=self._spellings,
            plain=tokenizer_for(PLAIN_OPTIONS),
        )


@dataclass(slots=True)
class Trace:
    """How the score of a candidate came about.

    Attributes:
        between: tokens between the units that it holds, where they are nearest.
        points: what each step gave.
        recency: what its age left of the score; None without a half-life.
    """

    evidence: Evidence
    between: int
    points: dict[str, float] = field(default_factory=dict)
    recency: float | None = None


def _note(name: str, candidates: Iterable[Candidate]) -> None:
    """Note what a step changed in the scores of those that are traced."""
    for each in candidates:
        if isinstance(each.trace, Trace):
            points = each.trace.points
            points[name] = points.get(name, 0.0) + each.score - sum(points.values())


def rerank(
    connection: Connection,
    candidates: list[Candidate],
    evidence: Evidence,
    *,
    most: int = MOST_SCORED,
    half_life: int | None = None,
    times: Sequence[tuple[int, int]] = (),
    explain: bool = False,
) -> list[Candidate]:
    """Score the best candidates exactly; the others stay below them in their order.

    Args:
        most: how many candidates are read, and the best of how many lineages.
        half_life: microseconds by which an older message counts half; None for no matter.
        times: periods that the query names, [from, to) in microseconds.
        explain: whether candidates are traced.
    """
    _age(candidates, half_life)
    candidates.sort(key=_best_first)
    # Every lineage keeps its best candidate in, however many another one has.
    heads: dict[int, Candidate] = {}
    for each in candidates:
        heads.setdefault(each.session.root, each)
    chosen = {each.id: each for each in candidates[:most]}
    chosen |= {each.id: each for each in list(heads.values())[:most]}
    lengths = _score(connection, candidates, chosen, evidence, explain=explain)
    scored = [each for each in candidates if each.id in lengths]
    noted = scored if explain else ()
    _note("trigrams", noted)
    _add_titles(scored, evidence)
    _note("title", noted)
    _newer_first(scored, lengths)
    _note("newer", noted)
    sessions: dict[int, list[Candidate]] = {}
    for each in scored:
        sessions.setdefault(each.session.id, []).append(each)
    together = [members for members in sessions.values() if len(members) > 1]
    _add_neighbours(connection, together)
    _note("neighbours", noted)
    # The last of many has fewer neighbours than those before it.
    for members in together:
        _newer_first(members, lengths)
    _note("newer", noted)
    _prefer(scored, times)
    _note("date", noted)
    _settle(scored)
    _note("nearness", noted)
    _age(scored, half_life)
    _note("recency", noted)
    return candidates


def _score(
    connection: Connection,
    candidates: list[Candidate],
    chosen: Mapping[int, Candidate],
    evidence: Evidence,
    *,
    explain: bool,
) -> dict[int, int]:
    """Score the chosen candidates by their texts; return the lengths of these in tokens."""
    scorer, every = evidence.scorer(), evidence.units
    lengths: dict[int, int] = {}
    rows: list[int] = []
    deadline = connection.deadline_at
    for row_id, *columns in _texts(connection, list(chosen)):
        connection.check_deadline()
        lengths[row_id] = scorer.add(*columns, deadline=deadline)
        rows.append(row_id)
    scores = dict(zip(rows, scorer.scores(), strict=True))
    places = {each: place for place, each in enumerate(rows)}
    for each in candidates:
        if each.id in scores:
            place = places[each.id]
            each.score = scores[each.id]
            each.parts = scorer.parts(place)
            each.units, folded, typed, apart = scorer.about(place)
            # Of parts of a query, what is inside the other words tells more than distances.
            each.apart = (folded, not typed, _width(apart) if each.units >= every else 0)
            if explain:
                each.trace = trace = Trace(evidence, apart)
                for at, points in each.parts.items():
                    name = _STEPS[evidence.kind_at(at)]
                    trace.points[name] = trace.points.get(name, 0.0) + points
        else:
            each.trace = None
            each.score = -1.0 / (1.0 + max(0.0, each.score))  # below all scored, order kept
    return lengths


def _texts(connection: Connection, ids: list[int]) -> Iterable[tuple[Any, ...]]:
    """Return id, content, tool name and tool calls of messages, in the order of the ids.

    As bytes, which is what the scorer reads: the texts are never decoded. Short ones are read
    whole in any case, all at once; only of the others the sizes are looked at first.

    Args:
        ids: the messages, the best ones first.
    """
    short: list[tuple[Any, ...]] = connection.execute(
        f"SELECT m.id, CAST(m.content AS BLOB), m.tool_name, CAST(m.tool_calls AS BLOB), {_SIZE}"
        " FROM json_each(?) AS wanted CROSS JOIN messages AS m ON m.id = wanted.value"
        f" WHERE {_SIZE} <= ?",
        (json.dumps(sorted(ids)), _LEAST_READ),
    ).fetchall()
    texts = [row[:4] for row in short]
    if len(short) == len(ids):
        return texts
    long: Iterable[tuple[Any, ...]] = connection.execute(
        "SELECT m.id, substr(CAST(m.content AS BLOB), 1, wanted.value ->> 1), m.tool_name,"
        " substr(CAST(m.tool_calls AS BLOB), 1, wanted.value ->> 1)"
        " FROM json_each(?) AS wanted CROSS JOIN messages AS m ON m.id = wanted.value ->> 0",
        (json.dumps(_readable(connection, ids, {row[0]: row[4] for row in short})),),
    )
    return merge(texts, long, key=itemgetter(0))


def _readable(
    connection: Connection, ids: list[int], short: Mapping[int, int]
) -> list[tuple[int, int]]:
    """Return how many bytes of each longer message are read, in the order of the ids.

    Args:
        ids: all messages that are read, the best ones first.
        short: sizes of those that are read whole.
    """
    sizes = dict(
        connection.execute(
            f"SELECT m.id, {_SIZE}"
            " FROM json_each(?) AS wanted CROSS JOIN messages AS m ON m.id = wanted.value",
            (json.dumps([each for each in ids if each not in short]),),
        )
    )
    left = _MOST_READ
    read = []
    for each in ids:
        wanted = short[each] if each in short else sizes.get(each, 0)
        if wanted > left:
            wanted = min(wanted, _LEAST_READ)
        left -= wanted
        if each not in short:
            read.append((each, wanted))
    return sorted(read)


def _width(apart: int) -> int:
    """Return a class of distances: side by side, in one sentence, in one passage, beyond."""
    return sum(apart > each for each in _WIDTHS)


def _settle(candidates: list[Candidate]) -> None:
    """Of texts that hold the same of a query, put first what is nearest to it as typed.

    An exact spelling stands above a folded one, the query as typed above the same words apart,
    words near each other above words far apart. They exchange their scores, so that what
    stands between them keeps its place.
    """
    groups: dict[frozenset[int], list[Candidate]] = {}
    for each in candidates:
        if each.units:
            groups.setdefault(each.units, []).append(each)
    for members in groups.values():
        if len(members) < 2:
            continue
        members.sort(key=lambda each: (each.apart, *_best_first(each)))
        scores = sorted((each.score for each in members), reverse=True)
        ceiling = scores[0]
        for place, (each, score) in enumerate(zip(members, scores, strict=True)):
            if place and each.apart != members[place - 1].apart:
                ceiling = members[place - 1].score * _BARELY
            each.score = min(score, ceiling)


def _best_first(candidate: Candidate) -> tuple[float, bool, int, int]:
    moment = candidate.timestamp  # as Candidate.age, which is too slow for so many
    return (-candidate.score, moment is None, -(moment or 0), -candidate.id)


def _age(candidates: list[Candidate], half_life: int | None) -> None:
    """Let what is older than the newest count less: half after each half-life.

    What has no time counts like the oldest.
    """
    times = [each.timestamp for each in candidates if each.timestamp is not None]
    if half_life is None or not times:
        return
    newest, oldest = max(times), min(times)
    for each in candidates:
        moment = oldest if each.timestamp is None else each.timestamp
        left = 0.5 ** ((newest - moment) / half_life)
        each.score *= left
        if isinstance(each.trace, Trace):
            each.trace.recency = left


def _newer_first(candidates: list[Candidate], lengths: Mapping[int, int]) -> None:
    """Of short texts that hold the same of a query and score nearly the same, put the newer first.

    What decides between them is mostly a word more or less. They exchange their scores, so
    that what stands between them keeps its place.
    """
    ranked = [each for each in sorted(candidates, key=_best_first) if lengths[each.id] <= _SHORT]
    done: set[int] = set()
    for place, leader in enumerate(ranked):
        if leader.id in done:
            continue
        near = [leader]
        for each in ranked[place + 1 :]:
            if each.score < _NEAR * leader.score:
                break
            if each.id not in done and _alike(each, leader):
                near.append(each)
        done.update(each.id for each in near)
        scores = [each.score for each in near]
        near.sort(key=lambda each: each.age)  # stable: of one time the better
        for each, score in zip(near, scores, strict=True):
            each.score = score


def _add_titles(candidates: list[Candidate], evidence: Evidence) -> None:
    """Let the title of a session count as a part of each of its messages."""
    titles: dict[int, dict[int, float]] = {}
    for each in candidates:
        session = each.session
        heading = session.heading
        if heading is None:
            continue
        if session.id not in titles:
            titles[session.id] = evidence.of_title(heading)
        said = {
            place: value
            for place, value in titles[session.id].items()
            if value > each.parts.get(place, 0.0)
        }
        if said:
            each.score += sum(value - each.parts.get(place, 0.0) for place, value in said.items())
            each.parts = {**each.parts, **said}
            each.units |= evidence.units_at(said)


def _prefer(candidates: list[Candidate], times: Sequence[tuple[int, int]]) -> None:
    """Let what was said at a time that the query names count more."""
    for each in candidates:
        moment = each.timestamp
        if moment is not None and any(first <= moment < after for first, after in times):
            each.score *= 1.0 + _TIMELY


def _alike(one: Candidate, other: Candidate) -> bool:
    """Whether two texts hold the same of a query in the same way."""
    return one.apart == other.apart and one.parts.keys() == other.parts.keys()


def _add_neighbours(connection: Connection, sessions: Iterable[list[Candidate]]) -> None:
    """Let hits that stand close together in a session support each other."""
    candidates = [
        each for members in sessions for each in sorted(members, key=lambda each: each.id)
    ]
    pairs = [
        (left.session.id, left.id, right.id)
        for left, right in pairwise(candidates)
        if left.session.id == right.session.id
    ]
    if not pairs:
        return
    # Distances in messages, exact as far as they matter.
    steps = {
        (left, right): int(step)
        for left, right, step in connection.execute(
            "SELECT pair.value ->> 1, pair.value ->> 2, (SELECT count(*) FROM ("
            " SELECT 1 FROM messages INDEXED BY messages_by_session"
            " WHERE session_id = pair.value ->> 0 AND id > pair.value ->> 1"
            " AND id <= pair.value ->> 2 LIMIT ?))"
            " FROM json_each(?) AS pair",
            (len(_NEIGHBOUR), json.dumps(pairs)),
        )
    }
    support = [0.0] * len(candidates)
    for place, left in enumerate(candidates):
        distance = 0
        for other in range(place + 1, len(candidates)):
            right = candidates[other]
            if right.session.id != left.session.id:
                break
            distance += steps[candidates[other - 1].id, right.id]
            if distance >= len(_NEIGHBOUR):
                break
            support[place] += _NEIGHBOUR[distance] * right.score
            support[other] += _NEIGHBOUR[distance] * left.score
    for each, extra in zip(candidates, support, strict=True):
        # Half as much again at most: many weak neighbours never beat a strong match.
        each.score += min(extra, 0.5 * each.score)
