# SPDX-License-Identifier: MIT
"""The rows of the graph: entities, relations and sentences, found, made and dropped.

Every function runs inside a write transaction that the caller holds, and leaves
the full-text index, the vectors and the pins right for the rows it touched.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from typing import Final, NamedTuple

from mnemogram.errors import NotFound
from mnemogram.memory import index, pins
from mnemogram.memory.arguments import shown
from mnemogram.memory.models import KIND_RANK, TRUST_RANK
from mnemogram.memory.names import MAX_NAME_CHARS, clean_name, fold_name
from mnemogram.memory.schema import BY_HAND, TRUST_RANK_OF
from mnemogram.sqlite.database import Connection

__all__ = ["delete_relations", "entity_id", "retire", "set_single_valued", "stronger"]

_FIND_ENTITY: Final = """
SELECT id FROM entities WHERE folded = :folded
UNION ALL SELECT entity_id FROM aliases WHERE folded = :folded LIMIT 1
"""
_NEW_ENTITY: Final = """
INSERT INTO entities (folded, name, names, created_at) VALUES (?1, ?2, ?2, ?3) RETURNING id
"""
_ALL_NAMES: Final = """
UPDATE entities
   SET names = name || coalesce((SELECT group_concat(' ' || a.name, '' ORDER BY a.folded)
                                   FROM aliases AS a WHERE a.entity_id = entities.id), '')
 WHERE id = ?
"""
_NEW_SENTENCE: Final = """
INSERT INTO sentences (digest, text) VALUES (?, ?)
ON CONFLICT (digest) DO UPDATE SET text = text RETURNING id
"""
_FIND_RELATION: Final = """
SELECT id, kind, trust, confidence, status, told_at, retired_at, retired_by FROM relations
 WHERE subject_id = ? AND type_folded = ? AND object_id = ?
"""
_NEW_RELATION: Final = """
INSERT INTO relations (subject_id, type, type_folded, object_id, kind, trust, confidence,
                       status, created_at, told_at, sentence_id)
VALUES (?, ?, ?, ?, ?, ?, ?, 'active', ?, ?, ?) RETURNING id
"""
MENTION: Final = """
INSERT INTO mentions (relation_id, session_id, trust, told_at, sentence_id)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (relation_id, session_id, trust) DO UPDATE SET
    told_at = max(told_at, excluded.told_at),
    sentence_id = CASE WHEN excluded.sentence_id IS NULL THEN sentence_id
                       WHEN sentence_id IS NULL OR excluded.told_at >= told_at
                       THEN excluded.sentence_id ELSE sentence_id END
"""
# The sentence shown: the newest of the most trusted telling that has one. Words of
# a document never stand under a relation that a person told.
BEST_SENTENCE: Final = f"""
SELECT sentence_id FROM mentions
 WHERE relation_id = :id AND sentence_id IS NOT NULL
   AND (trust <> 'document' OR :trust = 'document')
 ORDER BY {TRUST_RANK_OF.format(trust="trust")} DESC, told_at DESC, sentence_id DESC
 LIMIT 1
"""
_USED_SENTENCE: Final = """
SELECT 1 FROM relations WHERE sentence_id = :id
UNION ALL SELECT 1 FROM mentions WHERE sentence_id = :id LIMIT 1
"""


class Known(NamedTuple):
    """A relation that is there, as one that tells it again needs to know it."""

    id: int
    kind: str
    trust: str
    confidence: float
    status: str
    told_at: int
    retired_at: int | None
    retired_by: int | None


def find_relation(
    connection: Connection, subject_id: int, type_folded: str, object_id: int
) -> Known | None:
    """Return the relation of a triple; None where it was never told."""
    row = connection.first(_FIND_RELATION, (subject_id, type_folded, object_id))
    return None if row is None else Known(*row)


def new_relation(
    connection: Connection,
    triple: tuple[int, str, int],
    kind: str,
    trust: str,
    confidence: float,
    created_at: int,
    told_at: int,
    sentence_id: int | None,
) -> int:
    """Return the id of a relation that is made: of a subject, a type as told, an object."""
    subject_id, name, object_id = triple
    values = (subject_id, name, fold_name(name), object_id, kind, trust, confidence)
    return int(connection.one(_NEW_RELATION, (*values, created_at, told_at, sentence_id)))


def find_entity(connection: Connection, folded: str) -> int | None:
    """Return the id of an entity by a folded name; None where there is none."""
    found: int | None = connection.one(_FIND_ENTITY, {"folded": folded})
    return found


def new_entity(connection: Connection, folded: str, name: str, now: int) -> int:
    """Return the id of an entity that is made."""
    return int(connection.one(_NEW_ENTITY, (folded, name, now)))


def entity_id(connection: Connection, name: str | int) -> int:
    """Return the id of an entity by any of its names or by id.

    Raises:
        NotFound: there is none.
    """
    found = None
    if isinstance(name, int):
        found = connection.one("SELECT id FROM entities WHERE id = ?", (name,))
    elif len(name) <= MAX_NAME_CHARS:
        found = find_entity(connection, fold_name(name))
    if found is None:
        raise NotFound(
            f"no entity is called {shown(name)}",
            hint="Recall it first, and use the name shown there.",
        )
    return int(found)


def refresh_names(connection: Connection, entity: int) -> None:
    """Bring the text by which an entity is searched in line with its aliases.

    The caller has the entity's relations out of the full-text index.
    """
    connection.execute(_ALL_NAMES, (entity,))


def sentence_row(connection: Connection, text: str) -> int:
    """Return the id of a sentence, stored if it is new."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return int(connection.one(_NEW_SENTENCE, (digest, text)))


def told_sentences(connection: Connection, relation_id: int) -> set[int | None]:
    """Return the ids of all sentences that a relation was told with."""
    query = "SELECT sentence_id FROM mentions WHERE relation_id = ?"
    return set(connection.column(query, (relation_id,)))


def drop_unused_sentences(connection: Connection, ids: Iterable[int | None]) -> int:
    """Delete those of the sentences that nothing refers to any more."""
    dropped = 0
    for each in set(ids):
        if each is not None and connection.one(_USED_SENTENCE, {"id": each}) is None:
            connection.execute("DELETE FROM sentences WHERE id = ?", (each,))
            dropped += 1
    return dropped


def drop_unused_entities(connection: Connection, ids: Iterable[int]) -> int:
    """Delete those of the entities that no relation and no pin names any more."""
    dropped = 0
    for each in set(ids):
        used = connection.one(
            "SELECT 1 FROM relations WHERE subject_id = :id OR object_id = :id"
            " UNION ALL SELECT 1 FROM scene_refs"
            " WHERE kind = 'entity' AND ref_id = :id AND precedence = :by_hand LIMIT 1",
            {"id": each, "by_hand": BY_HAND},
        )
        if used is None:
            connection.execute(
                "DELETE FROM scene_refs WHERE kind = 'entity' AND ref_id = ?", (each,)
            )
            connection.execute("DELETE FROM aliases WHERE entity_id = ?", (each,))
            connection.execute("DELETE FROM entities WHERE id = ?", (each,))
            dropped += 1
    return dropped


def refresh_sentence(connection: Connection, relation_id: int, *, indexed: bool = True) -> None:
    """Show the right sentence of a relation, and keep index, vector and table right.

    Args:
        connection: to the file.
        relation_id: the relation.
        indexed: False for one that is new, and put into the index when all of it is told.
    """
    trust, shown = connection.first(
        "SELECT trust, sentence_id FROM relations WHERE id = ?", (relation_id,)
    )
    best = connection.one(BEST_SENTENCE, {"id": relation_id, "trust": trust})
    if best == shown:
        return
    with index.reindexed(connection, (relation_id,) if indexed else ()):
        connection.execute("UPDATE relations SET sentence_id = ? WHERE id = ?", (best, relation_id))
    drop_unused_sentences(connection, (shown,))


def stronger(held: tuple[str, str], told: tuple[str, str]) -> tuple[str, str]:
    """Return kind and trust of a relation that is told again.

    Each is the higher of both, with one exception: what a document called a rule
    becomes one only if a person says so too, else a file could have its own words
    confirmed as an order by anyone who agrees with the fact.
    """
    (held_kind, held_trust), (told_kind, told_trust) = held, told
    trust = max(held_trust, told_trust, key=TRUST_RANK.__getitem__)
    if held_trust == told_trust or "document" not in (held_trust, told_trust):
        kind = max(held_kind, told_kind, key=KIND_RANK.__getitem__)
    else:
        kind = told_kind if held_trust == "document" else held_kind
    return kind, trust


def set_single_valued(connection: Connection, types: Iterable[str], *, on: bool) -> None:
    """Mark relation types as holding one object at a time, or take the mark back."""
    for each in types:
        name = clean_name(each, "relation type", [])
        if on:
            connection.execute(
                "INSERT OR IGNORE INTO single_valued (type_folded, type) VALUES (?, ?)",
                (fold_name(name), name),
            )
        else:
            connection.execute(
                "DELETE FROM single_valued WHERE type_folded = ?", (fold_name(name),)
            )


def retire(
    connection: Connection, relation_ids: Iterable[int], now: int, *, by: int | None = None
) -> int:
    """Make relations history; their pins stay for when they are told again."""
    retired = 0
    for each in relation_ids:
        connection.execute(
            "UPDATE relations SET status = 'retired', retired_at = ?, retired_by = ?"
            " WHERE id = ? AND status = 'active'",
            (now, by, each),
        )
        retired += connection.changes()
    return retired


def delete_relations(connection: Connection, relation_ids: Iterable[int]) -> dict[str, int]:
    """Delete relations and all that hangs on them alone; return the rows by table."""
    counts = {"relations": 0, "entities": 0, "sentences": 0, "pins": 0}
    ids = list(dict.fromkeys(relation_ids))
    index.unindex(connection, ids)
    entities: set[int] = set()
    sentences: set[int | None] = set()
    touched: set[int] = set()
    sides: set[tuple[int, int]] = set()
    for each in ids:
        for row in connection.each_row(
            "SELECT subject_id, object_id, sentence_id FROM relations WHERE id = ?",
            (each,),
        ):
            entities.update(row[:2])
            sentences.add(row[2])
        sentences.update(
            connection.column(
                "DELETE FROM mentions WHERE relation_id = ? RETURNING sentence_id",
                (each,),
            )
        )
        held = pins.pinned_scenes(connection, each)
        touched |= held
        sides.update(itertools.product(held, pins.sides_of(connection, each)))
        counts["pins"] += pins.unpin_everywhere(connection, each)
        connection.execute("DELETE FROM vectors WHERE relation_id = ?", (each,))
        connection.execute("DELETE FROM refusals WHERE relation_id = ?", (each,))
        connection.execute("UPDATE relations SET retired_by = NULL WHERE retired_by = ?", (each,))
        connection.execute("DELETE FROM relations WHERE id = ?", (each,))
        counts["relations"] += connection.changes()
    counts["pins"] += pins.drop_sides(connection, sides)
    counts["sentences"] = drop_unused_sentences(connection, sentences)
    counts["entities"] = drop_unused_entities(connection, entities)
    counts["scenes"] = pins.drop_empty_scenes(connection, touched)
    return counts
