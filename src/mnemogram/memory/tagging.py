# SPDX-License-Identifier: MIT
"""Pinning to a scene, and taking off it, after the fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mnemogram.memory import graph, listing, pins, scenes
from mnemogram.memory.models import TagReport, Trust
from mnemogram.memory.schema import BY_HAND
from mnemogram.sqlite.database import Connection

__all__ = ["matching", "tag", "tag_matching", "untag"]

_PINS: Final = f"""
SELECT kind, ref_id FROM scene_refs
 WHERE scene_id = ? AND (kind = 'relation' OR precedence = {BY_HAND})
"""


def tag(
    connection: Connection,
    key: str,
    relation_ids: Sequence[int],
    entities: Iterable[str | int],
    weight: float,
    trust: Trust,
    now: int,
) -> TagReport:
    """Pin relations and entities to a scene; see ``SceneMemory.tag_scene``."""
    missing = []
    changed = 0
    scene_id = pins.scene_row(connection, key, now)
    for each in relation_ids:
        change = pins.pin_relation(connection, scene_id, each, weight, trust)
        changed += change in ("created", "raised")
        if change == "missing":
            missing.append(each)
    for name in entities:
        entity = graph.entity_id(connection, name)
        change = pins.pin_entity(connection, scene_id, entity, weight, trust, now)
        changed += change in ("created", "raised")
    pins.drop_empty_scenes(connection, (scene_id,))
    relations = tuple(scenes.whole(connection, relation_ids))
    return TagReport(key, relations, changed, missing=tuple(missing))


def untag(
    connection: Connection,
    key: str,
    relation_ids: Sequence[int] | None,
    entities: Sequence[str | int],
) -> TagReport:
    """Take pins to exactly this scene off; see ``SceneMemory.untag_scene``."""
    scene_id = connection.one("SELECT id FROM scenes WHERE key = ?", (key,))
    if scene_id is None:
        return TagReport(key, missing=tuple(relation_ids or ()))
    held = connection.all_rows(_PINS, (scene_id,))
    missing: tuple[int, ...] = ()
    if relation_ids is not None or entities:
        wanted = {("relation", each) for each in relation_ids or ()}
        wanted |= {("entity", graph.entity_id(connection, each)) for each in entities}
        missing = tuple(ref_id for kind, ref_id in sorted(wanted - set(held)) if kind == "relation")
        held = [each for each in held if each in wanted]
    changed = sum(
        pins.unpin_relation(connection, (scene_id,), ref_id)
        if kind == "relation"
        else pins.unpin_entity(connection, scene_id, ref_id)
        for kind, ref_id in held
    )
    unpinned = (ref_id for kind, ref_id in held if kind == "entity")
    graph.drop_unused_entities(connection, unpinned)
    relations = tuple(
        scenes.whole(connection, (ref_id for kind, ref_id in held if kind == "relation"))
    )
    return TagReport(key, relations, changed, missing=missing)


def matching(connection: Connection, key: str, glob: str) -> TagReport:
    """Return what :func:`tag_matching` would pin."""
    relations = tuple(listing.by_entity_glob(connection, glob))
    held = listing.pinned_to(connection, key)
    return TagReport(key, relations, sum(each.id not in held for each in relations), True)


def tag_matching(
    connection: Connection, key: str, glob: str, weight: float, trust: Trust, now: int
) -> TagReport:
    """Pin the active relations of entities of which a name matches a GLOB pattern."""
    relations = tuple(listing.by_entity_glob(connection, glob))
    changed = 0
    if relations:
        scene_id = pins.scene_row(connection, key, now)
        for each in relations:
            change = pins.pin_relation(connection, scene_id, each.id, weight, trust)
            changed += change in ("created", "raised")
    return TagReport(key, relations, changed)
