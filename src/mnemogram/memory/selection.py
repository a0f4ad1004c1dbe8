# SPDX-License-Identifier: MIT
"""Choosing relations by what they are about, and forgetting them for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mnemogram.memory import graph, index, scenes
from mnemogram.memory.models import TRUST_RANK, Relation
from mnemogram.memory.names import MAX_NAME_CHARS, fold_name
from mnemogram.memory.rows import all_rows, each_row
from mnemogram.sqlite.database import Connection

__all__ = ["by_entity_glob", "doomed", "forget", "listing", "pinned_to"]

_LISTING: Final = """
SELECT r.id FROM relations AS r
 WHERE (:subject IS NULL OR r.subject_id = :subject)
   AND (:type IS NULL OR r.type_folded = :type)
   AND (:retired OR r.status = 'active')
 ORDER BY r.told_at DESC, r.id DESC LIMIT :most
"""
_BY_GLOB: Final = """
WITH named (id) AS (
    SELECT id FROM entities WHERE name GLOB :glob
    UNION SELECT entity_id FROM aliases WHERE name GLOB :glob
)
SELECT id FROM relations
 WHERE status = 'active' AND (subject_id IN (SELECT id FROM named)
                              OR object_id IN (SELECT id FROM named))
 ORDER BY id
"""
_PINNED_TO: Final = """
SELECT p.ref_id FROM scenes AS s JOIN scene_refs AS p ON p.scene_id = s.id
 WHERE s.key = ? AND p.kind = 'relation'
"""
_OF_ENTITY: Final = "SELECT id FROM relations WHERE subject_id = :id OR object_id = :id"
# Told by this session and by nobody else.
_OF_SESSION: Final = """
SELECT DISTINCT relation_id FROM mentions AS m
 WHERE session_id = :session
   AND NOT EXISTS (SELECT 1 FROM mentions
                    WHERE relation_id = m.relation_id AND session_id <> :session)
"""
_IN_SUBTREE: Final = "(s.key = :key OR (s.key >= :key || '/' AND s.key < :key || '0'))"
# Pinned at or below the key and nowhere else.
_OF_SCENE: Final = f"""
SELECT DISTINCT p.ref_id FROM scenes AS s JOIN scene_refs AS p ON p.scene_id = s.id
 WHERE {_IN_SUBTREE} AND p.kind = 'relation'
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS o JOIN scenes AS t ON t.id = o.scene_id
                    WHERE o.kind = 'relation' AND o.ref_id = p.ref_id
                      AND NOT (t.key = :key OR (t.key >= :key || '/' AND t.key < :key || '0')))
"""
_EVERYTHING: Final = (
    "DELETE FROM scene_refs",
    "DELETE FROM scenes",
    "DELETE FROM mentions",
    "DELETE FROM vectors",
    "DELETE FROM refusals",
    "DELETE FROM relations",
    "DELETE FROM aliases",
    "DELETE FROM entities",
    "DELETE FROM sentences",
    "DELETE FROM single_valued",
)


def listing(
    connection: Connection,
    *,
    subject: str | int | None,
    relation: str | None,
    retired: bool,
    limit: int,
) -> list[Relation]:
    """Return relations by subject and type, the newest first."""
    values = {
        "subject": None if subject is None else graph.entity_id(connection, subject),
        "type": None if relation is None else fold_name(relation[: MAX_NAME_CHARS + 1]),
        "retired": retired,
        "most": limit,
    }
    ids = [row[0] for row in each_row(connection, _LISTING, values)]
    return list(scenes.whole(connection, ids))


def by_entity_glob(connection: Connection, glob: str) -> list[Relation]:
    """Return the active relations of entities of which a name matches a GLOB pattern."""
    ids = [row[0] for row in each_row(connection, _BY_GLOB, {"glob": glob})]
    return list(scenes.whole(connection, ids))


def pinned_to(connection: Connection, key: str) -> set[int]:
    """Return ids of the relations pinned to exactly this scene."""
    return {row[0] for row in each_row(connection, _PINNED_TO, (key,))}


# --- forgetting ------------------------------------------------------------------------


def doomed(
    connection: Connection,
    ids: Iterable[int],
    entity: str | int | None,
    session_id: str | None,
    key: str | None,
    everything: bool,
) -> list[int]:
    """Return the relations that forgetting would delete; see ``SceneMemory.forget``."""
    if everything:
        return [row[0] for row in each_row(connection, "SELECT id FROM relations ORDER BY id")]
    found = {
        each
        for each in ids
        if connection.one("SELECT 1 FROM relations WHERE id = ?", (each,)) is not None
    }
    if entity is not None:
        values = {"id": graph.entity_id(connection, entity)}
        found.update(row[0] for row in each_row(connection, _OF_ENTITY, values))
    if session_id is not None:
        found.update(row[0] for row in each_row(connection, _OF_SESSION, {"session": session_id}))
    if key is not None:
        found.update(row[0] for row in each_row(connection, _OF_SCENE, {"key": key}))
    return sorted(found)


def forget(
    connection: Connection,
    relation_ids: Sequence[int],
    entity: str | int | None,
    session_id: str | None,
    key: str | None,
    everything: bool,
) -> dict[str, int]:
    """Delete the relations and whatever else the choice concerns; return rows by table."""
    if everything:
        return _forget_everything(connection)
    entity_id = None if entity is None else graph.entity_id(connection, entity)
    counts = graph.delete_relations(connection, relation_ids)
    if session_id is not None:
        counts["mentions"] = _forget_session(connection, session_id)
    if key is not None:
        counts["pins"] += _forget_scene(connection, key)
    if entity_id is not None:
        touched = {
            row[0]
            for row in each_row(
                connection,
                "DELETE FROM scene_refs WHERE kind = 'entity' AND ref_id = ? RETURNING scene_id",
                (entity_id,),
            )
        }
        counts["pins"] += len(touched)
        counts["scenes"] += scenes.drop_empty_scenes(connection, touched)
        counts["entities"] += graph.drop_unused_entities(connection, (entity_id,))
    return counts


def _forget_everything(connection: Connection) -> dict[str, int]:
    counts = {}
    for statement in _EVERYTHING:
        connection.execute(statement)
        counts[statement.removeprefix("DELETE FROM ")] = connection.changes()
    counts["pins"] = counts.pop("scene_refs")
    if connection.has_tokenizer:
        index.rebuild(connection)
    else:
        index.mark_stale(connection)
    return counts


def _forget_session(connection: Connection, session_id: str) -> int:
    """Take the tellings of a session from relations that others told as well."""
    told = [
        row[0]
        for row in each_row(
            connection,
            "SELECT DISTINCT relation_id FROM mentions WHERE session_id = ?",
            (session_id,),
        )
    ]
    for each in told:
        rows = all_rows(
            connection,
            "DELETE FROM mentions WHERE relation_id = ? AND session_id = ? RETURNING sentence_id",
            (each, session_id),
        )
        _settle(connection, each)
        graph.drop_unused_sentences(connection, (row[0] for row in rows))
    return len(told)


def _settle(connection: Connection, relation_id: int) -> None:
    """Make trust and sentence of a relation what its remaining tellings say."""
    trusts = all_rows(
        connection, "SELECT trust FROM mentions WHERE relation_id = ?", (relation_id,)
    )
    held = connection.one("SELECT trust FROM relations WHERE id = ?", (relation_id,))
    best = max((row[0] for row in trusts), key=TRUST_RANK.__getitem__)
    if TRUST_RANK[best] < TRUST_RANK[held]:
        connection.execute("UPDATE relations SET trust = ? WHERE id = ?", (best, relation_id))
    graph.refresh_sentence(connection, relation_id)
    scenes.refresh_pins(connection, relation_id)


def _forget_scene(connection: Connection, key: str) -> int:
    """Take every pin at or below a key off, and the scenes away."""
    rows = all_rows(connection, f"SELECT s.id FROM scenes AS s WHERE {_IN_SUBTREE}", {"key": key})
    removed = 0
    for (scene_id,) in rows:
        pins = all_rows(
            connection,
            "DELETE FROM scene_refs WHERE scene_id = ? RETURNING kind, ref_id",
            (scene_id,),
        )
        removed += len(pins)
        entities = (ref_id for kind, ref_id in pins if kind == "entity")
        graph.drop_unused_entities(connection, entities)
        connection.execute("DELETE FROM scenes WHERE id = ?", (scene_id,))
    return removed
