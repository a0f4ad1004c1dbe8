# SPDX-License-Identifier: MIT
"""Relations by what they are about: a subject, a type, a pattern of names, one scene."""

from __future__ import annotations

from typing import Final

from mnemogram.memory import graph, scenes
from mnemogram.memory.models import Relation
from mnemogram.memory.names import MAX_NAME_CHARS, fold_name
from mnemogram.sqlite.database import Connection

__all__ = ["by_entity_glob", "listing", "pinned_to"]

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
    ids = connection.column(_LISTING, values)
    return list(scenes.whole(connection, ids))


def by_entity_glob(connection: Connection, glob: str) -> list[Relation]:
    """Return the active relations of entities of which a name matches a GLOB pattern."""
    ids = connection.column(_BY_GLOB, {"glob": glob})
    return list(scenes.whole(connection, ids))


def pinned_to(connection: Connection, key: str) -> set[int]:
    """Return ids of the relations pinned to exactly this scene."""
    return set(connection.column(_PINNED_TO, (key,)))
