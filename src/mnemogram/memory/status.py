# SPDX-License-Identifier: MIT
"""What a memory holds, counted, and what of it does not work."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mnemogram.memory import index, vectors
from mnemogram.memory.file import MemoryFile
from mnemogram.memory.models import MemoryStatus, SceneCount, SceneStats
from mnemogram.memory.schema import IN_SUBTREE
from mnemogram.memory.sweep import STALE_PINS
from mnemogram.memory.vectors import Vectors, VectorStatus
from mnemogram.sqlite.database import Connection

__all__ = ["list_scenes", "scene_stats", "status"]

_PIN_COUNTS: Final = """
SELECT coalesce(sum(p.kind = 'relation' AND r.status = 'active'), 0),
       coalesce(sum(p.kind = 'entity' AND e.id IS NOT NULL), 0),
       coalesce(sum(p.kind = 'relation' AND r.status = 'retired'), 0)
  FROM scene_refs AS p
  JOIN scenes AS s ON s.id = p.scene_id
  LEFT JOIN relations AS r ON p.kind = 'relation' AND r.id = p.ref_id
  LEFT JOIN entities AS e ON p.kind = 'entity' AND e.id = p.ref_id
"""
_UNPINNED_COUNT: Final = """
SELECT count(*) FROM relations AS r
 WHERE status = 'active'
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN scenes AS s ON s.id = p.scene_id
                    WHERE p.kind = 'relation' AND p.ref_id = r.id)
"""
_SCENE_COUNTS: Final = f"""
SELECT s.key,
       coalesce(sum(p.kind = 'relation' AND r.status = 'active'), 0) AS relations,
       coalesce(sum(p.kind = 'entity' AND e.id IS NOT NULL), 0) AS entities,
       coalesce(sum((p.kind = 'relation' AND r.id IS NULL)
                    OR (p.kind = 'entity' AND e.id IS NULL)), 0)
  FROM scenes AS s
  LEFT JOIN scene_refs AS p ON p.scene_id = s.id
  LEFT JOIN relations AS r ON p.kind = 'relation' AND r.id = p.ref_id
  LEFT JOIN entities AS e ON p.kind = 'entity' AND e.id = p.ref_id
 WHERE :key = '' OR {IN_SUBTREE.format(scene="s")}
 GROUP BY s.id ORDER BY {{order}} LIMIT :most
"""


def scene_stats(connection: Connection, *, top: int) -> SceneStats:
    """Count scenes and pins."""
    relations, entities, retired = connection.first(_PIN_COUNTS)
    active = int(connection.one("SELECT count(*) FROM relations WHERE status = 'active'"))
    unpinned = int(connection.one(_UNPINNED_COUNT))
    busiest = _SCENE_COUNTS.format(order="relations + entities DESC, s.key")
    return SceneStats(
        scenes=int(connection.one("SELECT count(*) FROM scenes")),
        relation_pins=relations,
        entity_pins=entities,
        retired_pins=retired,
        stale_pins=int(connection.one(f"SELECT count(*) FROM ({STALE_PINS})")),
        pinned_relations=active - unpinned,
        unpinned_relations=unpinned,
        top=tuple(
            SceneCount(*row) for row in connection.each_row(busiest, {"key": "", "most": top})
        ),
    )


def list_scenes(connection: Connection, key: str, *, limit: int) -> list[SceneCount]:
    """Return the scenes at and below a key (all, for ``""``), by key."""
    query = _SCENE_COUNTS.format(order="s.key")
    return [SceneCount(*row) for row in connection.each_row(query, {"key": key, "most": limit})]


def status(file: MemoryFile, embedded: Vectors | None) -> MemoryStatus:
    """Return counts, the state of index and vectors, and what does not work.

    Args:
        file: the file.
        embedded: its vectors, None without an embedder.
    """
    database = file.database
    notes = []
    state: VectorStatus | None = None
    with database.read() as connection:
        entities, active, retired, kept = (
            int(connection.one(query))
            for query in (
                "SELECT count(*) FROM entities",
                "SELECT count(*) FROM relations WHERE status = 'active'",
                "SELECT count(*) FROM relations WHERE status = 'retired'",
                "SELECT count(*) FROM scenes",
            )
        )
        index_state = index.state(connection)
        kept_model = vectors.recorded(connection)
        if embedded is not None:
            state = embedded.status(connection)
            if embedded.error is not None:
                notes.append(embedded.error)
            if embedded.last_failure is not None:
                notes.append(f"the embedder failed: {embedded.last_failure}")
            if state.refused:
                notes.append(vectors.refusal(state.refused, state.reason))
    model = state.model if state and state.model else kept_model
    if not database.has_tokenizer:
        notes.append("the tokenizer is not loaded: recall scans the relations")
    elif index_state != "ready":
        notes.append("the full-text index is not ready: recall scans the relations")
    size = sum(
        each.stat().st_size
        for each in (database.path, Path(f"{database.path}-wal"))
        if each.exists()
    )
    return MemoryStatus(
        path=str(database.path),
        bytes=size,
        entities=entities,
        relations=active,
        retired=retired,
        scenes=kept,
        index=index_state,
        tokenizer=database.has_tokenizer,
        tokenizer_error=database.tokenizer_error,
        vectors=state.state if state else "off",
        vector_model=model.name if model else None,
        vector_dimension=model.dimension if model else None,
        vectors_ready=state.ready if state else 0,
        vectors_pending=state.pending if state else 0,
        vectors_refused=state.refused if state else 0,
        notes=tuple(notes),
    )
