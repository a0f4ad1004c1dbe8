# SPDX-License-Identifier: MIT
"""The tables of a memory file. The full-text table is made in ``index``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mnemogram.memory.models import TRUST_RANK
from mnemogram.sqlite.database import Connection, Schema

__all__ = [
    "BY_HAND",
    "IN_SUBTREE",
    "PIN_ALL_SIDES",
    "SCHEMA",
    "TRUST_RANK_OF",
    "WITH_RELATION",
    "last_merging_scene",
]

_APPLICATION_ID: Final = 0x6D6E6773  # "mngs"

_TABLES: Final = (
    # What belongs to the file as a whole: the state of the full-text index.
    """
    CREATE TABLE meta (
        key   TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # One named thing. `folded` is what names match by, `name` how it was first told,
    # `names` all it is called by: what the full-text index sees of it.
    """
    CREATE TABLE entities (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        folded     TEXT NOT NULL UNIQUE,
        name       TEXT NOT NULL,
        names      TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT
    """,
    # Other names of an entity, left by merges: what is told under them goes to it.
    """
    CREATE TABLE aliases (
        folded    TEXT PRIMARY KEY,
        name      TEXT NOT NULL,
        entity_id INTEGER NOT NULL REFERENCES entities (id)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX aliases_by_entity ON aliases (entity_id)",
    # Original sentences, each once.
    """
    CREATE TABLE sentences (
        id     INTEGER PRIMARY KEY AUTOINCREMENT,
        digest BLOB NOT NULL UNIQUE,
        text   TEXT NOT NULL
    ) STRICT
    """,
    # A triple, once, however often it is told. A retired one is history: it was
    # replaced (retired_by) or taken back. `told_at` is its recency.
    """
    CREATE TABLE relations (
        id          INTEGER PRIMARY KEY AUTOINCREMENT,
        subject_id  INTEGER NOT NULL REFERENCES entities (id),
        type        TEXT NOT NULL,
        type_folded TEXT NOT NULL,
        object_id   INTEGER NOT NULL REFERENCES entities (id),
        kind        TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'rule')),
        trust       TEXT NOT NULL CHECK (trust IN ('confirmed', 'observed', 'document')),
        confidence  REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
        status      TEXT NOT NULL CHECK (status IN ('active', 'retired')),
        created_at  INTEGER NOT NULL,
        told_at     INTEGER NOT NULL,
        retired_at  INTEGER CHECK ((retired_at IS NULL) = (status = 'active')),
        retired_by  INTEGER,
        sentence_id INTEGER REFERENCES sentences (id),
        UNIQUE (subject_id, type_folded, object_id)
    ) STRICT
    """,
    "CREATE INDEX relations_by_object ON relations (object_id)",
    """
    CREATE INDEX relations_by_sentence ON relations (sentence_id)
        WHERE sentence_id IS NOT NULL
    """,
    """
    CREATE INDEX relations_by_replacement ON relations (retired_by)
        WHERE retired_by IS NOT NULL
    """,
    # Who told a relation: one row for each session ('' where none was named) and
    # trust. It is what lets one session be forgotten without what others told as
    # well, and what keeps the words of a document apart from those of a person.
    """
    CREATE TABLE mentions (
        relation_id INTEGER NOT NULL REFERENCES relations (id),
        session_id  TEXT NOT NULL,
        trust       TEXT NOT NULL CHECK (trust IN ('confirmed', 'observed', 'document')),
        told_at     INTEGER NOT NULL,
        sentence_id INTEGER REFERENCES sentences (id),
        PRIMARY KEY (relation_id, session_id, trust)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX mentions_by_session ON mentions (session_id)",
    """
    CREATE INDEX mentions_by_sentence ON mentions (sentence_id)
        WHERE sentence_id IS NOT NULL
    """,
    # Situations, by normalised key. BINARY order makes a subtree one range.
    """
    CREATE TABLE scenes (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        key        TEXT NOT NULL UNIQUE,
        created_at INTEGER NOT NULL
    ) STRICT
    """,
    # Pins. No foreign keys, on purpose: cleaning must not cascade from table to
    # table. Reading joins with the target, so that a dangling pin shows nothing.
    # Of a relation, `precedence` (2: confirmed rule, 1: rule, 0: the rest; the lower
    # trust of pin and relation counts) and `told_at` repeat what the relation says, so
    # that the best of a scene, in either order, is the head of an index. Of an entity,
    # `precedence` is 1 where it is pinned for its own sake, 0 where with a relation.
    """
    CREATE TABLE scene_refs (
        scene_id   INTEGER NOT NULL,
        kind       TEXT NOT NULL CHECK (kind IN ('relation', 'entity')),
        ref_id     INTEGER NOT NULL,
        weight     REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
        trust      TEXT NOT NULL CHECK (trust IN ('confirmed', 'observed', 'document')),
        precedence INTEGER NOT NULL DEFAULT 0,
        told_at    INTEGER NOT NULL,
        PRIMARY KEY (scene_id, kind, ref_id)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE INDEX scene_refs_by_weight ON scene_refs
        (scene_id, kind, weight DESC, told_at DESC, ref_id DESC, precedence, trust)
    """,
    """
    CREATE INDEX scene_refs_by_precedence ON scene_refs
        (scene_id, kind, precedence DESC, weight DESC, told_at DESC, ref_id DESC, trust)
    """,
    "CREATE INDEX scene_refs_by_target ON scene_refs (kind, ref_id)",
    # Relation types that hold one object at a time.
    """
    CREATE TABLE single_valued (
        type_folded TEXT PRIMARY KEY,
        type        TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    # Embedding models that vectors were made with; the newest row is in use.
    """
    CREATE TABLE embedding_models (
        id         INTEGER PRIMARY KEY AUTOINCREMENT,
        name       TEXT NOT NULL,
        dimension  INTEGER NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT
    """,
    # One vector for each relation: little-endian float32, normalised to length 1.
    # An ordinary table, so that a process without sqlite-vec can delete from it.
    """
    CREATE TABLE vectors (
        relation_id INTEGER PRIMARY KEY,
        model_id    INTEGER NOT NULL,
        embedding   BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX vectors_by_model ON vectors (model_id, relation_id)",
    # What a reader wants of a relation.
    """
    CREATE VIEW relations_whole AS
    SELECT r.id, s.name AS subject, r.type AS relation, o.name AS object, r.kind, r.trust,
           r.confidence, t.text AS sentence, r.status, r.created_at, r.told_at, r.retired_at,
           r.retired_by, r.subject_id, r.object_id
      FROM relations AS r
      JOIN entities AS s ON s.id = r.subject_id
      JOIN entities AS o ON o.id = r.object_id
      LEFT JOIN sentences AS t ON t.id = r.sentence_id
    """,
    # The projection: the exact text that the full-text index sees of a relation.
    """
    CREATE VIEW relations_projection (id, subject, type, object, sentence) AS
    SELECT r.id, s.names, r.type, o.names, t.text
      FROM relations AS r
      JOIN entities AS s ON s.id = r.subject_id
      JOIN entities AS o ON o.id = r.object_id
      LEFT JOIN sentences AS t ON t.id = r.sentence_id
    """,
)


# Up to version 1 a key lost its symbols without a trace: 'topic:c++' and 'topic:c' were one
# scene. The names themselves were never kept, so that which of them a scene was made for
# cannot be told from the file; which scenes were made that way can.
_LAST_MERGING_SCENE: Final = "last_merging_scene"
_MARK_SCENES: Final = """
INSERT INTO meta (key, value) SELECT ?, CAST(max(id) AS TEXT) FROM scenes HAVING max(id) > 0
"""


# Relations whose text an embedder refused, by the model's name: without it each upkeep would
# offer them again. `reason` may quote the text, so it goes where the text goes.
_REFUSALS: Final = """
CREATE {temporary} TABLE IF NOT EXISTS refusals (
    relation_id INTEGER PRIMARY KEY,
    model       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    tries       INTEGER NOT NULL,
    retry_at    INTEGER
) STRICT
"""


#: Whether a scene lies below a key, and whether it is that one or below: '0' is the character
#: after '/'. Not one range from the key on: 'chan:qq-x' lies between 'chan:qq' and 'chan:qq/'.
BELOW: Final = "{scene}.key >= :key || '/' AND {scene}.key < :key || '0'"
IN_SUBTREE: Final = f"({{scene}}.key = :key OR ({BELOW}))"
#: Precedence of an entity that is pinned for its own sake, and of one that is pinned with
#: what was told of it: this goes with the last such relation.
BY_HAND: Final = 1
WITH_RELATION: Final = 0
#: The rank of a trust in SQL, and the trust of a rank: see ``models.TRUST_RANK``.
TRUST_RANK_OF: Final = (
    "CASE {trust} "
    + " ".join(f"WHEN '{each}' THEN {rank}" for each, rank in TRUST_RANK.items())
    + " END"
)
_TRUST_OF_RANK: Final = (
    "CASE {rank} "
    + " ".join(f"WHEN {rank} THEN '{each}'" for each, rank in TRUST_RANK.items())
    + " END"
)
#: Pins both entities of every relation where the relation is pinned.
PIN_ALL_SIDES: Final = f"""
INSERT INTO scene_refs (scene_id, kind, ref_id, weight, trust, precedence, told_at)
SELECT p.scene_id, 'entity', e.id, max(p.weight),
       {_TRUST_OF_RANK.format(rank=f"max({TRUST_RANK_OF.format(trust='p.trust')})")},
       {WITH_RELATION}, max(p.told_at)
  FROM scene_refs AS p
  JOIN relations AS r ON r.id = p.ref_id
  JOIN entities AS e ON e.id IN (r.subject_id, r.object_id)
 WHERE p.kind = 'relation'
 GROUP BY p.scene_id, e.id
    ON CONFLICT (scene_id, kind, ref_id) DO NOTHING
"""
_MARK_BY_HAND: Final = f"""
UPDATE scene_refs SET precedence = {BY_HAND}
 WHERE kind = 'entity'
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS q JOIN relations AS r ON r.id = q.ref_id
                    WHERE q.scene_id = scene_refs.scene_id AND q.kind = 'relation'
                      AND scene_refs.ref_id IN (r.subject_id, r.object_id)
                      AND q.told_at = scene_refs.told_at)
"""


def _first(connection: Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


def _one_to_one_keys(connection: Connection) -> None:
    connection.execute(_MARK_SCENES, (_LAST_MERGING_SCENE,))


def _remembered_refusals(connection: Connection) -> None:
    connection.execute(_REFUSALS.format(temporary=""))


def _pinned_sides(connection: Connection) -> None:
    """Pin the entities of what is pinned.

    Those that are pinned already were so by hand, at a time of their own.
    """
    connection.execute("CREATE INDEX IF NOT EXISTS relations_by_subject ON relations (subject_id)")
    connection.execute(_MARK_BY_HAND)
    connection.execute(PIN_ALL_SIDES)


#: Each brings a file from the version of its place to the next; a new file climbs them all.
STEPS: Final[tuple[Callable[[Connection], None], ...]] = (
    _first,
    _one_to_one_keys,
    _remembered_refusals,
    _pinned_sides,
)


def _upgrade(connection: Connection, version: int) -> None:
    for step in STEPS[version:]:
        step(connection)


def _adapt(connection: Connection, version: int) -> None:
    """Make up, for a connection that may only read, what an older file lacks."""
    if 0 < version < 3:
        connection.execute(_REFUSALS.format(temporary="TEMPORARY"))


def last_merging_scene(connection: Connection) -> int:
    """Return the largest id of a scene whose key may stand for several names, or 0."""
    if int(connection.one("PRAGMA user_version")) < 2:  # read-only, so not upgraded
        return int(connection.one("SELECT coalesce(max(id), 0) FROM scenes"))
    return int(connection.one("SELECT value FROM meta WHERE key = ?", (_LAST_MERGING_SCENE,)) or 0)


SCHEMA: Final = Schema(
    application_id=_APPLICATION_ID, version=len(STEPS), upgrade=_upgrade, adapt=_adapt
)
