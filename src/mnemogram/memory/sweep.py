# SPDX-License-Identifier: MIT
"""What may be swept: relations that say nothing, rows that nothing refers to, stale pins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mnemogram.memory import graph, index, pins
from mnemogram.memory.models import Relation, SweepReport
from mnemogram.memory.schema import BY_HAND, WITH_RELATION
from mnemogram.memory.stopwords import names_nothing
from mnemogram.sqlite.database import Connection

__all__ = [
    "noise",
    "noise_found",
    "orphans",
    "stale_pins",
    "sweep_noise",
    "sweep_orphans",
    "sweep_stale_pins",
]

#: Relations listed in a report.
LISTED: Final = 1_000
_UNPINNED: Final = """
SELECT id, subject, relation, object, kind, trust, confidence, sentence, status, created_at,
       told_at, retired_at, retired_by, subject_id, object_id
  FROM relations_whole AS w
 WHERE kind = 'fact' AND trust <> 'confirmed'
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p WHERE p.kind = 'relation' AND p.ref_id = w.id)
 ORDER BY id
"""
STALE_PINS: Final = """
SELECT scene_id, kind, ref_id FROM scene_refs AS p
 WHERE NOT EXISTS (SELECT 1 FROM scenes AS s WHERE s.id = p.scene_id)
    OR (kind = 'relation' AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.id = p.ref_id))
    OR (kind = 'entity' AND NOT EXISTS (SELECT 1 FROM entities AS e WHERE e.id = p.ref_id))
"""
# Entities that were pinned with a relation which is not pinned there any more.
LOOSE_SIDES: Final = f"""
SELECT scene_id, kind, ref_id FROM scene_refs AS p
 WHERE kind = 'entity' AND precedence = {WITH_RELATION} AND {pins.NO_SIDE}
"""
# What is an orphan once the stale pins are gone, which are swept with it.
EMPTY_SCENES: Final = f"""
SELECT id FROM scenes AS s
 WHERE NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN relations AS r ON r.id = p.ref_id
                    WHERE p.scene_id = s.id AND p.kind = 'relation')
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN entities AS e ON e.id = p.ref_id
                    WHERE p.scene_id = s.id AND p.kind = 'entity'
                      AND p.precedence = {BY_HAND})
"""
UNUSED_ENTITIES: Final = f"""
SELECT id FROM entities AS e
 WHERE NOT EXISTS (SELECT 1 FROM relations WHERE subject_id = e.id)
   AND NOT EXISTS (SELECT 1 FROM relations WHERE object_id = e.id)
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN scenes AS s ON s.id = p.scene_id
                    WHERE p.kind = 'entity' AND p.ref_id = e.id
                      AND p.precedence = {BY_HAND})
"""
UNUSED_SENTENCES: Final = """
SELECT id FROM sentences AS t
 WHERE NOT EXISTS (SELECT 1 FROM relations WHERE sentence_id = t.id)
   AND NOT EXISTS (SELECT 1 FROM mentions WHERE sentence_id = t.id)
"""
UNUSED_VECTORS: Final = """
SELECT relation_id FROM vectors AS v
 WHERE NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.id = v.relation_id)
"""


def noise(connection: Connection, min_confidence: float) -> Iterator[tuple[Relation, str]]:
    """Yield relations that say nothing, each with the reason.

    Facts only, never confirmed, never pinned: told with less than
    ``min_confidence``; a thing related to itself; a name of nothing but
    punctuation; or names that are function words, where the relation is one too or
    confidence was not full.
    """
    for row in connection.all_rows(_UNPINNED):
        relation = Relation(*row)
        names = (relation.subject, relation.object)
        if relation.confidence < min_confidence:
            yield relation, f"confidence below {min_confidence:g}"
        elif relation.subject_id == relation.object_id:
            yield relation, "related to itself"
        elif not all(index.words_of(each) for each in names):
            yield relation, "a name without a letter or digit"
        elif all(map(names_nothing, names)) and (
            relation.confidence < 1 or names_nothing(relation.relation)
        ):
            yield relation, "neither name says anything"


def stale_pins(connection: Connection) -> list[tuple[int, str, int]]:
    """Return the pins whose scene, relation or entity is gone, or that went with one."""
    return connection.all_rows(f"{STALE_PINS} UNION {LOOSE_SIDES}")


_ORPHANS: Final = {
    "entities": UNUSED_ENTITIES,
    "sentences": UNUSED_SENTENCES,
    "scenes": EMPTY_SCENES,
    "vectors": UNUSED_VECTORS,
}


def orphans(connection: Connection) -> dict[str, int]:
    """Count the rows that nothing refers to, by table; stale pins where there are any."""
    counts = {
        table: int(connection.one(f"SELECT count(*) FROM ({query})"))
        for table, query in _ORPHANS.items()
    }
    return counts | _with_pins(len(stale_pins(connection)))


def _with_pins(stale: int) -> dict[str, int]:
    """Return the entry of a count of stale pins; none where there are none."""
    return {"pins": stale} if stale else {}


def sweep_stale_pins(connection: Connection) -> dict[str, int]:
    """Delete stale pins and the scenes they leave empty; return the rows by table."""
    stale = stale_pins(connection)
    for pin in stale:
        connection.execute(
            "DELETE FROM scene_refs WHERE scene_id = ? AND kind = ? AND ref_id = ?", pin
        )
    emptied = pins.drop_empty_scenes(connection, {pin[0] for pin in stale})
    return {"pins": len(stale), "scenes": emptied}


def sweep_orphans(connection: Connection) -> dict[str, int]:
    """Delete stale pins and what nothing refers to; return the rows by table."""
    stale = sweep_stale_pins(connection)
    found = {table: connection.column(query) for table, query in _ORPHANS.items()}
    counts = {
        "entities": graph.drop_unused_entities(connection, found["entities"]),
        "sentences": graph.drop_unused_sentences(connection, found["sentences"]),
        "scenes": stale["scenes"] + pins.drop_empty_scenes(connection, found["scenes"]),
    }
    for each in found["vectors"]:
        connection.execute("DELETE FROM vectors WHERE relation_id = ?", (each,))
    counts["vectors"] = len(found["vectors"])
    return counts | _with_pins(stale["pins"])


def noise_found(connection: Connection, min_confidence: float) -> SweepReport:
    """Return what :func:`sweep_noise` would delete, with the stale pins it finds."""
    found = list(noise(connection, min_confidence))
    counts = {"relations": len(found)} | _with_pins(len(stale_pins(connection)))
    return _report(found, counts, dry_run=True)


def sweep_noise(connection: Connection, min_confidence: float) -> SweepReport:
    """Delete relations that say nothing, and stale pins."""
    found = list(noise(connection, min_confidence))
    counts = graph.delete_relations(connection, (each.id for each, _ in found))
    for table, count in sweep_stale_pins(connection).items():
        counts[table] += count
    return _report(found, counts, dry_run=False)


def _report(
    found: Sequence[tuple[Relation, str]], counts: dict[str, int], *, dry_run: bool
) -> SweepReport:
    listed = found[:LISTED]
    return SweepReport(
        counts=counts,
        relations=tuple(each for each, _ in listed),
        reasons={each.id: reason for each, reason in listed},
        dry_run=dry_run,
    )
