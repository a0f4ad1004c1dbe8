# SPDX-License-Identifier: MIT
"""Pins of relations and entities to scenes: made, raised, moved and taken off."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final, Literal

from mnemogram.memory.schema import BY_HAND, WITH_RELATION, last_merging_scene
from mnemogram.sqlite.database import Connection

__all__ = ["pin_entity", "pin_relation", "pinned_keys", "unpin_entity", "unpin_relation"]

# What the pin's place in its scene depends on; the lower of both trusts counts.
PRECEDENCE: Final = """
CASE WHEN r.kind <> 'rule' OR r.trust = 'document' OR {trust} = 'document' THEN 0
     WHEN r.trust = 'confirmed' AND {trust} = 'confirmed' THEN 2
     ELSE 1 END
"""
_PIN_RELATION: Final = f"""
INSERT INTO scene_refs (scene_id, kind, ref_id, weight, trust, precedence, told_at)
SELECT :scene_id, 'relation', r.id, :weight, :trust, {PRECEDENCE.format(trust=":trust")},
       r.told_at
  FROM relations AS r WHERE r.id = :ref_id
"""
_REFRESH: Final = f"""
UPDATE scene_refs
   SET told_at = r.told_at, precedence = {PRECEDENCE.format(trust="scene_refs.trust")}
  FROM relations AS r
 WHERE scene_refs.kind = 'relation' AND scene_refs.ref_id = :id AND r.id = :id
"""
_HIGHER_TRUST: Final = """
CASE WHEN 'confirmed' IN (trust, :trust) THEN 'confirmed'
     WHEN 'observed' IN (trust, :trust) THEN 'observed'
     ELSE 'document' END
"""
_RAISE: Final = f"""
UPDATE scene_refs SET weight = max(weight, :weight), trust = {_HIGHER_TRUST}
 WHERE scene_id = :scene_id AND kind = :kind AND ref_id = :ref_id
"""
_RAISE_ENTITY: Final = """
UPDATE scene_refs SET precedence = max(precedence, :precedence), told_at = max(told_at, :told_at)
 WHERE scene_id = :scene_id AND kind = 'entity' AND ref_id = :ref_id
"""
# Both sides of a relation, wherever it is pinned. What was pinned by hand stays as it is.
_PIN_SIDES: Final = f"""
INSERT INTO scene_refs (scene_id, kind, ref_id, weight, trust, precedence, told_at)
SELECT :scene_id, 'entity', e.id, :weight, :trust, {WITH_RELATION}, r.told_at
  FROM relations AS r JOIN entities AS e ON e.id IN (r.subject_id, r.object_id)
 WHERE r.id = :ref_id
    ON CONFLICT (scene_id, kind, ref_id) DO UPDATE
   SET weight = max(weight, excluded.weight), told_at = max(told_at, excluded.told_at),
       trust = {_HIGHER_TRUST}
 WHERE precedence = {WITH_RELATION}
"""
#: Whether no relation that is pinned to the scene of the pin ``p`` names its entity.
NO_SIDE: Final = """
NOT EXISTS (SELECT 1 FROM relations AS r CROSS JOIN scene_refs AS q
                ON q.scene_id = p.scene_id AND q.kind = 'relation' AND q.ref_id = r.id
             WHERE r.subject_id = p.ref_id)
AND NOT EXISTS (SELECT 1 FROM relations AS r CROSS JOIN scene_refs AS q
                    ON q.scene_id = p.scene_id AND q.kind = 'relation' AND q.ref_id = r.id
                 WHERE r.object_id = p.ref_id)
"""
_DROP_SIDE: Final = f"""
DELETE FROM scene_refs AS p
 WHERE p.scene_id = ? AND p.kind = 'entity' AND p.ref_id = ?
   AND p.precedence = {WITH_RELATION} AND {NO_SIDE}
"""
_FIND_PIN: Final = """
SELECT weight FROM scene_refs WHERE scene_id = :scene_id AND kind = :kind AND ref_id = :ref_id
"""
_PIN_ENTITY: Final = """
INSERT INTO scene_refs (scene_id, kind, ref_id, weight, trust, precedence, told_at)
SELECT :scene_id, 'entity', id, :weight, :trust, :precedence, :told_at
  FROM entities WHERE id = :ref_id
"""
_HELD_BY_HAND: Final = f"""
SELECT precedence = {BY_HAND} FROM scene_refs
 WHERE scene_id = :scene_id AND kind = 'entity' AND ref_id = :ref_id
"""

Change = Literal["created", "raised", "same", "missing"]


def scene_row(connection: Connection, key: str, now: int) -> int:
    """Return the id of a scene by its normalised key, made if it is new."""
    found = connection.one("SELECT id FROM scenes WHERE key = ?", (key,))
    if found is None:
        found = connection.one(
            "INSERT INTO scenes (key, created_at) VALUES (?, ?) RETURNING id", (key, now)
        )
    return int(found)


def pin_relation(
    connection: Connection, scene_id: int, relation_id: int, weight: float, trust: str
) -> Change:
    """Pin a relation and both its entities to a scene.

    Of two weights and two trusts the larger stays.
    """
    values: dict[str, Any] = {
        "scene_id": scene_id,
        "kind": "relation",
        "ref_id": relation_id,
        "weight": weight,
        "trust": trust,
    }
    held = connection.one(_FIND_PIN, values)
    if held is not None:
        connection.execute(_RAISE, values)
        refresh_pins(connection, relation_id)
    del values["kind"]
    if held is None:
        connection.execute(_PIN_RELATION, values)
        if not connection.changes():
            return "missing"
    connection.execute(_PIN_SIDES, values)
    if held is None:
        return "created"
    return "raised" if weight > held else "same"


def pin_entity(
    connection: Connection, scene_id: int, entity_id: int, weight: float, trust: str, now: int
) -> Change:
    """Pin an entity to a scene for its own sake.

    Of two weights and two trusts the larger stays.
    """
    values: dict[str, Any] = {
        "scene_id": scene_id,
        "kind": "entity",
        "ref_id": entity_id,
        "weight": weight,
        "trust": trust,
        "precedence": BY_HAND,
        "told_at": now,
    }
    held = connection.one(_FIND_PIN, values)
    if held is not None:
        by_hand = bool(connection.one(_HELD_BY_HAND, values))
        connection.execute(_RAISE, values)
        connection.execute(_RAISE_ENTITY, values)
        return "created" if not by_hand else "raised" if weight > held else "same"
    connection.execute(_PIN_ENTITY, values)
    return "created" if connection.changes() else "missing"


def refresh_pins(connection: Connection, relation_id: int) -> None:
    """Bring the pins of a relation in line with its kind, trust and time."""
    connection.execute(_REFRESH, {"id": relation_id})


def pinned_scenes(connection: Connection, relation_id: int) -> set[int]:
    """Return the ids of the scenes a relation is pinned to."""
    return set(
        connection.column(
            "SELECT scene_id FROM scene_refs WHERE kind = 'relation' AND ref_id = ?",
            (relation_id,),
        )
    )


def unpin_relation(connection: Connection, scene_ids: Iterable[int], relation_id: int) -> int:
    """Take the pins of a relation to some scenes off; return how many there were.

    Its entities stay pinned where another relation there names them, or by hand.
    """
    removed = 0
    sides = sides_of(connection, relation_id)
    for each in list(scene_ids):
        connection.execute(
            "DELETE FROM scene_refs WHERE scene_id = ? AND kind = 'relation' AND ref_id = ?",
            (each, relation_id),
        )
        removed += connection.changes()
        drop_sides(connection, ((each, side) for side in sides))
        drop_empty_scenes(connection, (each,))
    return removed


def unpin_entity(connection: Connection, scene_id: int, entity_id: int) -> int:
    """Take the pin off that an entity has for its own sake; return how many there were."""
    connection.execute(
        "UPDATE scene_refs SET precedence = ? WHERE scene_id = ? AND kind = 'entity'"
        " AND ref_id = ? AND precedence = ?",
        (WITH_RELATION, scene_id, entity_id, BY_HAND),
    )
    removed = connection.changes()
    drop_sides(connection, ((scene_id, entity_id),))
    drop_empty_scenes(connection, (scene_id,))
    return removed


def unpin_everywhere(connection: Connection, relation_id: int) -> int:
    """Take every pin of a relation off; return how many there were.

    The caller drops the pins of its entities: see :func:`drop_sides`.
    """
    connection.execute(
        "DELETE FROM scene_refs WHERE kind = 'relation' AND ref_id = ?", (relation_id,)
    )
    return connection.changes()


def sides_of(connection: Connection, relation_id: int) -> set[int]:
    """Return the ids of the one or two entities of a relation."""
    query = "SELECT subject_id, object_id FROM relations WHERE id = ?"
    return {each for row in connection.each_row(query, (relation_id,)) for each in row}


def drop_sides(connection: Connection, pins: Iterable[tuple[int, int]]) -> int:
    """Take entities off scenes where nothing holds them any more; return how many.

    Args:
        connection: to the file.
        pins: pairs of scene and entity.
    """
    dropped = 0
    for each in pins:
        connection.execute(_DROP_SIDE, each)
        dropped += connection.changes()
    return dropped


def move_pins(connection: Connection, kind: str, source: int, target: int) -> None:
    """Give the pins of one row to another; where both have one the larger stays."""
    for scene_id, weight, trust, precedence, told_at in connection.all_rows(
        "DELETE FROM scene_refs WHERE kind = ? AND ref_id = ?"
        " RETURNING scene_id, weight, trust, precedence, told_at",
        (kind, source),
    ):
        values = {
            "scene_id": scene_id,
            "kind": kind,
            "ref_id": target,
            "weight": weight,
            "trust": trust,
            "precedence": precedence,
            "told_at": told_at,
        }
        connection.execute(_RAISE, values)
        if connection.changes():
            if kind == "entity":
                connection.execute(_RAISE_ENTITY, values)
        else:
            connection.execute(
                "INSERT INTO scene_refs VALUES (?, ?, ?, ?, ?, ?, ?)",
                (scene_id, kind, target, weight, trust, precedence, told_at),
            )


def drop_empty_scenes(connection: Connection, scene_ids: Iterable[int]) -> int:
    """Delete those of the scenes that nothing is pinned to any more."""
    dropped = 0
    for each in scene_ids:
        connection.execute(
            "DELETE FROM scenes WHERE id = :id"
            " AND NOT EXISTS (SELECT 1 FROM scene_refs WHERE scene_id = :id)",
            {"id": each},
        )
        dropped += connection.changes()
    return dropped


_PINNED_KEYS: Final = """
SELECT p.ref_id, s.key FROM scene_refs AS p JOIN scenes AS s ON s.id = p.scene_id
 WHERE p.kind = 'relation' AND p.ref_id IN (SELECT value FROM json_each(?))
 ORDER BY s.key
"""


def pinned_keys(connection: Connection, relation_ids: Iterable[int]) -> dict[int, list[str]]:
    """Return the keys of the scenes that relations are pinned to; unpinned ones are left out."""
    found: dict[int, list[str]] = {}
    ids = json.dumps(list(relation_ids))
    for relation_id, key in connection.each_row(_PINNED_KEYS, (ids,)):
        found.setdefault(relation_id, []).append(key)
    return found


def is_confirmed(connection: Connection, relation_id: int) -> bool:
    """Return whether a relation and all its pins are confirmed."""
    lower = connection.one(
        "SELECT count(*) FROM (SELECT trust FROM relations WHERE id = :id UNION ALL"
        " SELECT trust FROM scene_refs WHERE kind = 'relation' AND ref_id = :id)"
        " WHERE trust <> 'confirmed'",
        {"id": relation_id},
    )
    return not lower


_OF_TWO: Final = f"""
SELECT s.key FROM scenes AS s
 WHERE s.id <= ?
   AND (SELECT count(*) FROM scene_refs
         WHERE scene_id = s.id AND (kind = 'relation' OR precedence = {BY_HAND})) > 1
 ORDER BY s.key
"""


def scenes_of_two(connection: Connection) -> list[str]:
    """Return keys that may hold what was told in several situations.

    They were made when symbols were lost from keys without a trace, and more than one thing
    is pinned to them.
    """
    return connection.column(_OF_TWO, (last_merging_scene(connection),))
