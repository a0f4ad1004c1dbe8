# SPDX-License-Identifier: MIT
"""Scenes: their keys, the pins of relations and entities to them, and recall by scene."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from mnemogram._native.scene_key import IDENTITY_LEVELS, scene_level
from mnemogram.memory.arguments import scene_keys, within_key
from mnemogram.memory.models import Recall, Relation, Trust
from mnemogram.memory.rows import all_rows, each_row
from mnemogram.memory.schema import BY_HAND, WITH_RELATION
from mnemogram.sqlite.database import Connection
from mnemogram.text import normalize_scene_key

__all__ = [
    "IDENTITY_LEVELS",
    "channel_scene",
    "pin_entity",
    "pin_relation",
    "recall",
    "scene_keys_for",
    "tool_scene",
    "whole",
]

# --- keys ------------------------------------------------------------------------------

# What is pinned below one of IDENTITY_LEVELS is that one's own, and is never taken from a
# key that does not name it.


def _level(prefix: str, name: object) -> str:
    """Return one level of a key; a slash in the name does not make two of it."""
    bare = str(name).strip()
    return scene_level(f"{prefix}:{within_key(bare, prefix)}") if bare else ""


def channel_scene(name: str) -> str:
    """Return the scene key of a channel: ``chan:<name>``, or ``""`` for a blank name."""
    return normalize_scene_key(_level("chan", name))


def tool_scene(name: str) -> str:
    """Return the scene key of a tool: ``tool:<name>``, or ``""`` for a blank name."""
    return normalize_scene_key(_level("tool", name))


def scene_keys_for(
    payload: Any = None,
    *,
    channel: str | None = None,
    peer: str | None = None,
    tool: str | None = None,
) -> list[str]:
    """Return the keys of the present situation, all of which apply together.

    Args:
        payload: a mapping or object whose ``scene`` (a string or several) is taken
            first; a bare string or list of strings counts as that.
        channel: where the conversation happens.
        peer: with whom, inside the channel; without a channel it stands alone.
        tool: the tool about to be called.

    Returns:
        Normalised keys without repeats: the payload's, the channel's
        (``chan:<channel>/peer:<peer>``), the tool's.

    Raises:
        InvalidArgument: the payload's scene is not a string nor strings.
    """
    own: Any
    if payload is None or isinstance(payload, (str, list, tuple)):
        own = payload
    elif isinstance(payload, Mapping):
        own = payload.get("scene")
    else:
        own = getattr(payload, "scene", None)
    keys = list(scene_keys(own))
    levels = [
        _level(prefix, value)
        for prefix, value in (("chan", channel), ("peer", peer))
        if value is not None
    ]
    keys.append(normalize_scene_key("/".join(levels)))
    if tool is not None:
        keys.append(tool_scene(tool))
    return [each for each in dict.fromkeys(keys) if each]


# --- pins ------------------------------------------------------------------------------

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
    return {
        row[0]
        for row in each_row(
            connection,
            "SELECT scene_id FROM scene_refs WHERE kind = 'relation' AND ref_id = ?",
            (relation_id,),
        )
    }


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
    return {each for row in each_row(connection, query, (relation_id,)) for each in row}


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
    for scene_id, weight, trust, precedence, told_at in all_rows(
        connection,
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
    for relation_id, key in each_row(connection, _PINNED_KEYS, (ids,)):
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


def _owner(key: str) -> str | None:
    """Return a key up to its last level that names somebody, None where none does."""
    levels = key.split("/")
    for last in range(len(levels), 0, -1):
        if levels[last - 1].startswith(IDENTITY_LEVELS):
            return "/".join(levels[:last])
    return None


def elsewhere(pinned: Iterable[str], keys: Iterable[str], kind: str) -> bool:
    """Return whether something pinned to these keys has no place in a situation.

    That is so where each of its pins names somebody whom the situation does not name;
    for a rule also where none of its pins is to one of the situation's keys, to what is
    above it, or to what is below it.
    """
    present = [f"{key}/" for key in keys]

    def foreign(key: str) -> bool:
        owner = _owner(key)
        if owner is not None and not any(each.startswith(f"{owner}/") for each in present):
            return True
        below = f"{key}/"
        return kind == "rule" and not any(
            each.startswith(below) or below.startswith(each) for each in present
        )

    pins = list(pinned)
    return bool(pins) and all(map(foreign, pins))


# --- recall by scene -------------------------------------------------------------------

#: A subtree is the key itself and one range: '0' is the character after '/'. Not
#: one range from the key on: 'chan:qq-x' lies between 'chan:qq' and 'chan:qq/'.
SUBTREE: Final = """
SELECT id, key FROM scenes WHERE key = :key
UNION ALL
SELECT id, key FROM scenes WHERE key >= :key || '/' AND key < :key || '0'
"""
EXACT: Final = "SELECT id, key FROM scenes WHERE key = :key"
RANGE: Final = "SELECT id, key FROM scenes WHERE key >= :low AND key < :high ORDER BY key"
# The best pins of one scene with their relations, in index order; retired and missing
# ones fall out.
_WHOLE_COLUMNS: Final = """
r.id, s.name, r.type, o.name, r.kind, r.trust, r.confidence, t.text, r.status, r.created_at,
r.told_at, r.retired_at, r.retired_by, r.subject_id, r.object_id
"""
_HEADS: Final = f"""
SELECT p.ref_id, p.weight, p.told_at, p.precedence, p.trust, {_WHOLE_COLUMNS}
  FROM scene_refs AS p INDEXED BY {{index}}
 CROSS JOIN relations AS r ON r.id = p.ref_id
 CROSS JOIN entities AS s ON s.id = r.subject_id
 CROSS JOIN entities AS o ON o.id = r.object_id
  LEFT JOIN sentences AS t ON t.id = r.sentence_id
 WHERE p.scene_id = ? AND p.kind = 'relation' AND r.status = 'active'
 ORDER BY {{order}} p.weight DESC, p.told_at DESC, p.ref_id DESC
 LIMIT ?
"""
BY_WEIGHT: Final = _HEADS.format(index="scene_refs_by_weight", order="")
RULES_FIRST: Final = _HEADS.format(index="scene_refs_by_precedence", order="p.precedence DESC,")
# The best pins of a whole subtree that has many scenes. Their targets are looked up
# after: a look-up for each pin would cost more than all else.
SWEEP: Final = """
SELECT p.ref_id, p.weight, p.told_at, p.precedence, p.trust, s.key
  FROM scenes AS s
 CROSS JOIN scene_refs AS p INDEXED BY scene_refs_by_weight
    ON p.scene_id = s.id AND p.kind = 'relation'
 WHERE s.key >= :key || '/' AND s.key < :key || '0'
 ORDER BY p.weight DESC, p.told_at DESC, p.ref_id DESC
 LIMIT :most
"""
_ACTIVE: Final = """
SELECT id, kind, told_at FROM relations
 WHERE id IN (SELECT value FROM json_each(?)) AND status = 'active'
"""
_WHOLE: Final = f"""
SELECT {_WHOLE_COLUMNS}
  FROM relations AS r
  JOIN entities AS s ON s.id = r.subject_id
  JOIN entities AS o ON o.id = r.object_id
  LEFT JOIN sentences AS t ON t.id = r.sentence_id
 WHERE r.id IN (SELECT value FROM json_each(?))
"""
#: Relations read by one statement.
_AT_ONCE: Final = 500
#: Scenes of a subtree that are read one by one; past it the subtree is swept.
_FEW: Final = 12
_COUNT: Final = """
SELECT count(*) FROM relations
 WHERE status = 'active'
   AND id IN (SELECT p.ref_id FROM json_each(:scenes) AS j
               CROSS JOIN scene_refs AS p ON p.scene_id = j.value AND p.kind = 'relation')
"""
# The entities of some scenes, those first that are pinned for their own sake.
_ENTITIES: Final = """
SELECT p.ref_id, p.weight, p.precedence, p.trust, p.scene_id, e.name
  FROM json_each(:scenes) AS j
 CROSS JOIN scene_refs AS p ON p.scene_id = j.value AND p.kind = 'entity'
 CROSS JOIN entities AS e ON e.id = p.ref_id
 ORDER BY p.precedence DESC, p.weight DESC, p.told_at DESC, p.ref_id DESC
 LIMIT :most
"""
# The newest relations of an entity, and whether they are pinned somewhere themselves.
_OF_ENTITY: Final = """
SELECT id, told_at, EXISTS (SELECT 1 FROM scene_refs AS p JOIN scenes AS s ON s.id = p.scene_id
                             WHERE p.kind = 'relation' AND p.ref_id = n.id)
  FROM (SELECT id, told_at FROM relations
         WHERE {side} = ? AND status = 'active' ORDER BY id DESC LIMIT ?) AS n
"""
_AS_SUBJECT: Final = _OF_ENTITY.format(side="subject_id")
_AS_OBJECT: Final = _OF_ENTITY.format(side="object_id")
#: Entities that are gone out from, and relations that are looked at on each side of one.
MAX_ENTITIES: Final = 64
FAN_OUT: Final = 64


@dataclass(frozen=True, slots=True)
class Pin:
    """One pin that applies, and why."""

    relation_id: int
    weight: float
    told_at: int
    precedence: int
    trust: Trust
    key: str
    asked: str
    distance: int
    match: Literal["exact", "inherited", "narrower"]
    row: tuple[Any, ...] | None = None
    via: str | None = None


def active(connection: Connection, ids: Iterable[int]) -> dict[int, tuple[str, int]]:
    """Return kind and recency of those of the relations that are active."""
    found = each_row(connection, _ACTIVE, (json.dumps(list(ids)),))
    return {row[0]: (row[1], row[2]) for row in found}


def whole(connection: Connection, relation_ids: Iterable[int]) -> Iterator[Relation]:
    """Yield relations by id, whole, in the order asked for; missing ones are left out."""
    ids = list(relation_ids)
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        found = {row[0]: row for row in each_row(connection, _WHOLE, (json.dumps(part),))}
        for each in part:
            if each in found:
                yield Relation(*found[each])


def distance(asked: str, key: str) -> tuple[int, Literal["exact", "inherited", "narrower"]]:
    """Return how many levels lie between two keys, and how the second applies to the first."""
    if key == asked:
        return 0, "exact"
    levels = abs(asked.count("/") - key.count("/")) or 1
    return levels, "narrower" if key.startswith(asked + "/") else "inherited"


def heads(
    connection: Connection, scene_id: int, key: str, asked: str, most: int, query: str = BY_WEIGHT
) -> list[Pin]:
    """Return the best pins of one scene, with their relations, in the order of the query."""
    levels, match = distance(asked, key)
    return [
        Pin(row[0], row[1], row[2], row[3], row[4], key, asked, levels, match, row[5:])
        for row in each_row(connection, query, (scene_id, most))
    ]


def _subtree(connection: Connection, key: str, most: int) -> Iterator[Pin]:
    rows = []
    for row in each_row(connection, SUBTREE, {"key": key}):
        rows.append(row)
        if len(rows) > _FEW:
            break
    else:
        for scene_id, each in rows:
            yield from heads(connection, scene_id, each, key, most)
        return
    if rows[0][1] == key:
        yield from heads(connection, rows[0][0], key, key, most)
    fetch = most * 4
    while True:
        swept = all_rows(connection, SWEEP, {"key": key, "most": fetch})
        shown = active(connection, {row[0] for row in swept})
        if len(swept) < fetch or len(shown) >= most:
            break
        fetch *= 4
    for row in swept:
        if row[0] not in shown:
            continue
        levels, match = distance(key, row[5])
        yield Pin(row[0], row[1], row[2], row[3], row[4], row[5], key, levels, match)


def count_pinned(connection: Connection, scene_ids: Iterable[int]) -> int:
    """Count the active relations that are pinned to any of some scenes, each once."""
    return int(connection.one(_COUNT, {"scenes": json.dumps(list(scene_ids))}))


def _scope(
    connection: Connection, asked: Iterable[Sequence[str]], match: str
) -> dict[int, tuple[str, str]]:
    """Return the scenes that are asked about: their key, and the key it was asked by."""
    found: dict[int, tuple[str, str]] = {}
    for key, *above in asked:
        if match in ("subtree", "both"):
            for scene_id, each in each_row(connection, SUBTREE, {"key": key}):
                found.setdefault(scene_id, (each, key))
        if match in ("inherit", "both"):
            for each in (key, *above):
                for scene_id, _ in each_row(connection, EXACT, {"key": each}):
                    found.setdefault(scene_id, (each, key))
    return found


def recall(
    connection: Connection, asked: Iterable[Sequence[str]], *, limit: int, match: str
) -> Recall:
    """Return the relations pinned to any of the keys; see ``SceneMemory.recall_by_scene``.

    Args:
        connection: to the file.
        asked: each key with all above it, the nearest first.
        limit: most relations to return.
        match: ``subtree``, ``inherit`` or ``both``.
    """
    paths = list(asked)
    best: dict[int, Pin] = {}

    def offer(pins: Iterable[Pin]) -> None:
        for each in pins:
            held = best.get(each.relation_id)
            if held is None or (-each.weight, each.distance) < (-held.weight, held.distance):
                best[each.relation_id] = each

    for key, *above in paths:
        if match in ("subtree", "both"):
            offer(_subtree(connection, key, limit))
        if match in ("inherit", "both"):
            for each in above if match == "both" else (key, *above):
                for scene_id, _ in each_row(connection, EXACT, {"key": each}):
                    offer(heads(connection, scene_id, each, key, limit))
    order = sorted(best.values(), key=_by_weight, reverse=True)[:limit]
    if len(order) == limit:
        scope = _scope(connection, paths, match)
        found = pinned(connection, order)
        omitted = count_pinned(connection, scope) - len(found)
        return Recall(tuple(found), search_path="scene", omitted=omitted)
    through, whole_look = _through_entities(connection, _scope(connection, paths, match))
    order += sorted(through, key=_by_weight, reverse=True)[: limit - len(order)]
    notes = () if whole_look else (f"of each name only the newest {FAN_OUT} relations were seen",)
    return Recall(tuple(pinned(connection, order)), "scene", whole_look, notes, omitted=0)


def _by_weight(pin: Pin) -> tuple[float, int, int]:
    return pin.weight, pin.told_at, pin.relation_id


def _through_entities(
    connection: Connection, scope: Mapping[int, tuple[str, str]]
) -> tuple[list[Pin], bool]:
    """Return what the entities pinned to some scenes bring, and whether all of it was seen.

    Those are their relations that have no pin of their own. What is pinned elsewhere stays
    there: a name that two peers speak of hands nothing from one to the other.
    """
    best: dict[int, Pin] = {}
    whole_look = True
    values = {"scenes": json.dumps(list(scope)), "most": MAX_ENTITIES + 1}
    entities = all_rows(connection, _ENTITIES, values)
    if len(entities) > MAX_ENTITIES:
        whole_look = False
        entities.pop()
    seen: set[int] = set()
    for entity_id, weight, precedence, trust, scene_id, name in entities:
        if entity_id in seen:  # pinned to several scenes: the first pin is the best
            continue
        seen.add(entity_id)
        key, asked = scope[scene_id]
        levels, match = distance(asked, key)
        for query in (_AS_SUBJECT, _AS_OBJECT):
            rows = all_rows(connection, query, (entity_id, FAN_OUT))
            whole_look = whole_look and len(rows) < FAN_OUT
            for relation_id, told_at, is_pinned in rows:
                if not is_pinned:
                    best.setdefault(
                        relation_id,
                        Pin(
                            relation_id,
                            weight,
                            told_at,
                            precedence,
                            trust,
                            key,
                            asked,
                            levels,
                            match,
                            None,
                            name,
                        ),
                    )
    return list(best.values()), whole_look


def pinned(connection: Connection, pins: Iterable[Pin]) -> list[Relation]:
    """Return the relations of pins, whole, each with the pin that brought it."""
    asked = list(pins)
    bare = [pin.relation_id for pin in asked if pin.row is None]
    read = {each.id: each for each in whole(connection, bare)} if bare else {}
    found = []
    for pin in asked:
        relation = read.get(pin.relation_id) if pin.row is None else Relation(*pin.row)
        if relation is not None:
            found.append(
                replace(
                    relation,
                    scene=pin.key,
                    weight=pin.weight,
                    pin_trust=pin.trust,
                    asked=pin.asked,
                    match=pin.match,
                    via=pin.via,
                )
            )
    return found
