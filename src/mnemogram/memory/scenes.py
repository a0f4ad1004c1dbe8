# SPDX-License-Identifier: MIT
"""Recall by scene: what is pinned to the keys of a situation, whatever its words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from mnemogram.memory.models import Recall, Relation, Trust
from mnemogram.memory.schema import BELOW
from mnemogram.sqlite.database import Connection

__all__ = ["Pin", "active", "heads", "pinned", "recall", "whole"]

#: In two halves: an OR would be walked by no index.
SUBTREE: Final = f"""
SELECT id, key FROM scenes WHERE key = :key
UNION ALL
SELECT id, key FROM scenes WHERE {BELOW.format(scene="scenes")}
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
SWEEP: Final = f"""
SELECT p.ref_id, p.weight, p.told_at, p.precedence, p.trust, s.key
  FROM scenes AS s
 CROSS JOIN scene_refs AS p INDEXED BY scene_refs_by_weight
    ON p.scene_id = s.id AND p.kind = 'relation'
 WHERE {BELOW.format(scene="s")}
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
    found = connection.each_row(_ACTIVE, (json.dumps(list(ids)),))
    return {row[0]: (row[1], row[2]) for row in found}


def whole(connection: Connection, relation_ids: Iterable[int]) -> Iterator[Relation]:
    """Yield relations by id, whole, in the order asked for; missing ones are left out."""
    ids = list(relation_ids)
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        found = {row[0]: row for row in connection.each_row(_WHOLE, (json.dumps(part),))}
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
        for row in connection.each_row(query, (scene_id, most))
    ]


def _subtree(connection: Connection, key: str, most: int) -> Iterator[Pin]:
    rows = []
    for row in connection.each_row(SUBTREE, {"key": key}):
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
        swept = connection.all_rows(SWEEP, {"key": key, "most": fetch})
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
            for scene_id, each in connection.each_row(SUBTREE, {"key": key}):
                found.setdefault(scene_id, (each, key))
        if match in ("inherit", "both"):
            for each in (key, *above):
                for scene_id, _ in connection.each_row(EXACT, {"key": each}):
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
                for scene_id, _ in connection.each_row(EXACT, {"key": each}):
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
    entities = connection.all_rows(_ENTITIES, values)
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
            rows = connection.all_rows(query, (entity_id, FAN_OUT))
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
