# SPDX-License-Identifier: MIT
"""Recall by likeness: words, by index or scan; meaning; both joined; and neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import apsw

from mnemogram._native import text_core
from mnemogram.bm25 import idf
from mnemogram.memory import index, keys, pins, scenes
from mnemogram.memory.file import MemoryFile
from mnemogram.memory.models import Recall, Relation
from mnemogram.memory.stopwords import carries_topic
from mnemogram.memory.vectors import Vectors
from mnemogram.sqlite.database import Connection
from mnemogram.text import STORE_OPTIONS, config

__all__ = ["Hits", "Terms", "expand", "fuse", "lexical", "query_terms", "recall"]

MAX_QUERY_CHARS: Final = 4_096
MAX_TERMS: Final = 48
#: Terms that a query is searched by; the rarest of them.
_KEPT_TERMS: Final = 20
#: Matches that are ranked at most. Past it the newest ones are.
MAX_RANKED: Final = 20_000
#: Neighbours taken from one entity, and entities a step goes out from.
FAN_OUT: Final = 24
FRONTIER: Final = 64
MAX_DEPTH: Final = 4
#: Relations that an answer holds at most.
MAX_LIMIT: Final = 1_000
#: How much better a relation ranks for a topic, by what it is.
_BOOST: Final = {"rule": 1.15, "preference": 1.05, "fact": 1.0}
#: Constant of reciprocal rank fusion (Cormack, Clarke, Buettcher: SIGIR 2009).
RRF_K: Final = 60

# Weights of subject, type, object, sentence: a name says more than a sentence.
_WEIGHTS: Final = (4.0, 2.0, 3.0, 1.5)
# The rarities of the terms are counted already; given to the ranking function they save
# it a pass over the postings. Newer wins where scores are equal.
_BEST: Final = """
SELECT rowid, -recall_rank(relations_fts, {weights}) AS score
  FROM relations_fts WHERE relations_fts MATCH :query
 ORDER BY score DESC, rowid DESC LIMIT :most
"""
_NEWEST: Final = """
SELECT * FROM (SELECT rowid, -recall_rank(relations_fts, {weights}) AS score
                 FROM relations_fts WHERE relations_fts MATCH :query
                ORDER BY rowid DESC LIMIT :ranked)
 ORDER BY score DESC LIMIT :most
"""
_FREQUENCY: Final = "SELECT doc FROM relations_terms WHERE term = ?"
_SCAN: Final = """
SELECT p.id, p.subject, p.type, p.object, p.sentence
  FROM relations_projection AS p
  JOIN relations AS r ON r.id = p.id
 WHERE r.status = 'active' AND p.id < :before
 ORDER BY p.id DESC LIMIT 500
"""
#: Relations scanned between two looks at the clock, and seconds kept for the answer.
_LOOK: Final = 100
_RESERVE: Final = 0.1
_NEIGHBOURS: Final = """
SELECT id, subject_id, object_id FROM relations
 WHERE subject_id = :id AND status = 'active'
UNION
SELECT id, subject_id, object_id FROM relations
 WHERE object_id = :id AND status = 'active'
 ORDER BY 1 DESC LIMIT :most
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """A query as terms: what to look up, and which of it is a beginning."""

    words: tuple[str, ...]
    prefixes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hits:
    """Relation ids with their scores, best first, and how they were found."""

    scores: Mapping[int, float]
    path: str
    complete: bool = True
    notes: tuple[str, ...] = ()


def query_terms(text: str, *, topical: bool = False) -> Terms:
    """Return the terms of a message or query, cut exactly as the index was.

    Args:
        text: any text; the first 4,096 characters count.
        topical: drop what carries no topic even where nothing else is left.
    """
    words: dict[str, None] = {}
    prefixes = set()
    cut = text_core.tokens(config(**STORE_OPTIONS), text[:MAX_QUERY_CHARS], text_core.QUERY)
    for word, _, _, flags in cut:
        words[word] = None
        if flags & text_core.SINGLE:
            prefixes.add(word)
    carrying = [each for each in words if carries_topic(each)]
    kept = carrying if carrying or topical else list(words)
    return Terms(tuple(kept[:MAX_TERMS]), frozenset(prefixes))


def _phrase(term: str, prefixes: frozenset[str]) -> str:
    quoted = term.replace('"', '""')
    return f'"{quoted}"*' if term in prefixes else f'"{quoted}"'


def lexical(connection: Connection, terms: Terms, *, most: int) -> Hits:
    """Return the relations that share terms with a query, the likest first."""
    if not terms.words:
        return Hits({}, "empty")
    why = "no full-text index could be used"
    if connection.has_tokenizer and index.state(connection) == "ready":
        try:
            return _by_index(connection, terms, most)
        except apsw.CorruptError as error:
            if not index.is_damaged(error):
                raise
            why = "the full-text index is damaged (repair() mends it)"
    return _by_scan(connection, terms, most, why)


def _by_index(connection: Connection, terms: Terms, most: int) -> Hits:
    frequency = {
        each: int(connection.one(_FREQUENCY, (each,)) or 0)
        for each in terms.words
        if each not in terms.prefixes
    }
    total = int(connection.one("SELECT count(*) FROM relations"))
    for each in terms.prefixes:  # a beginning has no row of its own in the vocabulary
        frequency[each] = max(1, total // 50)
    present = sorted((each for each in terms.words if frequency[each]), key=frequency.__getitem__)
    if not present:
        return Hits({}, "cjk")
    kept: list[str] = []
    matches = 0
    for each in present[:_KEPT_TERMS]:
        # A term of most relations adds cost and no order once rarer ones are there.
        if kept and matches + frequency[each] > MAX_RANKED:
            break
        kept.append(each)
        matches += frequency[each]
    rarity = (idf(total, frequency[each]) for each in kept)
    weights = ", ".join(f"{each:.4f}" for each in (*_WEIGHTS, *rarity))
    query = " OR ".join(_phrase(each, terms.prefixes) for each in kept)
    bounded = matches > MAX_RANKED or not terms.prefixes.isdisjoint(kept)
    statement = (_NEWEST if bounded else _BEST).format(weights=weights)
    fetch = most
    while True:
        values = {"query": query, "most": fetch}
        if bounded:
            values["ranked"] = MAX_RANKED
        scores = dict(connection.each_row(statement, values))
        active = scenes.active(connection, scores)
        if len(scores) < fetch or len(active) >= most // 2:
            break
        fetch *= 4  # history crowds out what holds now
    scores = {each: score for each, score in scores.items() if each in active}
    if matches > MAX_RANKED:
        note = f"only the newest {MAX_RANKED} matches of a very common word were ranked"
        return Hits(scores, "cjk", complete=False, notes=(note,))
    return Hits(scores, "cjk")


def _newest_first(connection: Connection) -> Iterator[tuple[int, list[str | None]]]:
    """Yield ids and texts of the active relations, a few hundred read at a time."""
    before = 1 << 62
    while rows := connection.all_rows(_SCAN, {"before": before}):
        for relation_id, *columns in rows:
            yield relation_id, columns
        before = rows[-1][0]


def _short(connection: Connection) -> bool:
    """Return whether what is left of the deadline is needed to hand the answer over."""
    remaining = connection.remaining()
    return remaining is not None and remaining < _RESERVE


def _by_scan(connection: Connection, terms: Terms, most: int, why: str) -> Hits:
    """Cut every relation as the index would, newest first, until the deadline is near."""
    wanted = set(terms.words)
    exact = wanted - terms.prefixes
    found: dict[int, set[str]] = {}
    seen: dict[str, int] = dict.fromkeys(wanted, 0)
    weight: dict[int, float] = {}
    rows_read = 0
    complete = True
    for relation_id, columns in _newest_first(connection):
        if rows_read % _LOOK == 0 and _short(connection):
            complete = False
            break
        rows_read += 1
        matched: dict[str, float] = {}
        for column, column_weight in zip(columns, _WEIGHTS, strict=True):
            if column is None:
                continue
            for word in index.words_of(column):
                if word in exact:
                    matched[word] = max(matched.get(word, 0), column_weight)
                for prefix in terms.prefixes:
                    if word.startswith(prefix):
                        matched[prefix] = column_weight
        if matched:
            found[relation_id] = set(matched)
            weight[relation_id] = sum(matched.values()) / len(matched)
            for each in matched:
                seen[each] += 1
    rarity = {each: math.log(1 + rows_read / (1 + count)) for each, count in seen.items()}
    scores = {
        each: weight[each] * sum(rarity[term] for term in matched)
        for each, matched in found.items()
    }
    best = sorted(scores, key=lambda each: (scores[each], each), reverse=True)[:most]
    notes = [f"{why}: the relations were scanned"]
    if not complete:
        notes.append("the deadline passed before all relations were scanned")
    return Hits({each: scores[each] for each in best}, "scan", complete, tuple(notes))


# --- joining and going on --------------------------------------------------------------


def fuse(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Join rankings by reciprocal rank fusion; return scores, best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, each in enumerate(ranking, 1):
            scores[each] = scores.get(each, 0.0) + 1.0 / (RRF_K + place)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], -item[0])))


def expand(
    connection: Connection, found: Iterable[Relation], *, depth: int, limit: int
) -> list[Relation]:
    """Add what hangs on the entities of the relations found, step by step.

    Each step goes out from the entities that the one before reached, at most 64 of
    them and 24 relations from each, nearest and best first.
    """
    result = list(found)
    taken = {each.id for each in result}
    visited: set[int] = set()
    frontier = list(
        dict.fromkeys(entity for each in result for entity in (each.subject_id, each.object_id))
    )
    for step in range(2, min(depth, MAX_DEPTH) + 1):
        reached: list[tuple[int, int]] = []
        following: dict[int, None] = {}
        for entity in frontier[:FRONTIER]:
            visited.add(entity)
            for row in connection.each_row(_NEIGHBOURS, {"id": entity, "most": FAN_OUT}):
                if row[0] in taken:
                    continue
                taken.add(row[0])
                reached.append((row[0], entity))
                following.update(dict.fromkeys(row[1:]))
            if len(result) + len(reached) >= limit:
                break
        for relation in scenes.whole(connection, (each for each, _ in reached)):
            result.append(replace(relation, depth=step, score=0.0, sources=("neighbour",)))
        frontier = [each for each in following if each not in visited]
        if len(result) >= limit or not frontier:
            break
    return result[:limit]


def recall(
    file: MemoryFile,
    vectors: Vectors | None,
    query: str,
    terms: Terms,
    *,
    depth: int,
    limit: int,
    timeout: float | None,
    situation: tuple[str, ...] = (),
) -> Recall:
    """Return what is like a query; see ``SceneMemory.recall``.

    Args:
        file: the file.
        vectors: its vectors, None for words alone.
        query: the text, for its meaning.
        terms: its words.
        depth: steps from the matches' entities to others, and one.
        limit: most relations to return.
        timeout: seconds for the storage, None for no bound.
        situation: normalised keys; what has no place there is left out.
    """
    notes: list[str] = []
    # Before the transaction: a slow model must not hold the snapshot.
    embedded = None if vectors is None else vectors.of_query(query[:MAX_QUERY_CHARS], notes)
    with file.database.read(timeout=timeout) as connection:
        hits = lexical(connection, terms, most=limit * 3 + 16)
        notes.extend(hits.notes)
        about = scenes.active(connection, hits.scores)
        scores = {each: hits.scores[each] * _BOOST[kind] for each, (kind, _) in about.items()}
        order = sorted(scores, key=lambda each: (scores[each], about[each][1], each), reverse=True)
        path = hits.path
        near: dict[int, float] = {}
        if embedded is not None and vectors is not None:
            rows, note = vectors.nearest(connection, embedded, most=limit * 3 + 16)
            near = dict(rows)
            if note is not None:
                notes.append(note)
            if near:
                scores = fuse([order, list(near)])
                order = list(scores)
            path = f"{'cjk' if path == 'empty' else path}+vector"
        chosen = _with_a_place(connection, order, situation, limit)
        by = (("lexical", hits.scores), ("vector", near))
        found = [
            replace(
                each,
                score=scores[each.id],
                depth=1,
                sources=tuple(name for name, held in by if each.id in held),
            )
            for each in scenes.whole(connection, chosen)
        ]
        if depth > 1:
            found = expand(connection, found, depth=depth, limit=MAX_LIMIT)
            kept = set(_with_a_place(connection, [each.id for each in found], situation, limit))
            found = [each for each in found if each.id in kept]
        pinned = pins.pinned_keys(connection, (each.id for each in found))
        found = [
            replace(each, scenes=tuple(pinned[each.id])) if each.id in pinned else each
            for each in found
        ]
    return Recall(tuple(found), path, hits.complete, tuple(dict.fromkeys(notes)))


def _with_a_place(
    connection: Connection, ids: Sequence[int], situation: tuple[str, ...], limit: int
) -> list[int]:
    """Return the first of some relations, without those that have no place in a situation."""
    if not situation:
        return list(ids[:limit])
    pinned = pins.pinned_keys(connection, ids)
    about = scenes.active(connection, pinned)
    found = (
        each
        for each in ids
        if each not in pinned or not keys.elsewhere(pinned[each], situation, about[each][0])
    )
    return list(itertools.islice(found, limit))
