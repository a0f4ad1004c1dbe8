# SPDX-License-Identifier: MIT
"""Forgetting for good: what would go, and that nothing of it stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mnemogram.memory import copies, graph, index, pins, scenes
from mnemogram.memory.file import MemoryFile
from mnemogram.memory.models import TRUST_RANK, Relation, SweepReport
from mnemogram.memory.schema import IN_SUBTREE
from mnemogram.memory.sweep import LISTED
from mnemogram.sqlite.database import Connection, Database

__all__ = ["Choice", "forget", "preview"]

_OF_ENTITY: Final = "SELECT id FROM relations WHERE subject_id = :id OR object_id = :id"
# Told by this session and by nobody else.
_OF_SESSION: Final = """
SELECT DISTINCT relation_id FROM mentions AS m
 WHERE session_id = :session
   AND NOT EXISTS (SELECT 1 FROM mentions
                    WHERE relation_id = m.relation_id AND session_id <> :session)
"""
_IN_SUBTREE: Final = IN_SUBTREE.format(scene="s")
# Pinned at or below the key and nowhere else.
_OF_SCENE: Final = f"""
SELECT DISTINCT p.ref_id FROM scenes AS s JOIN scene_refs AS p ON p.scene_id = s.id
 WHERE {_IN_SUBTREE} AND p.kind = 'relation'
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS o JOIN scenes AS t ON t.id = o.scene_id
                    WHERE o.kind = 'relation' AND o.ref_id = p.ref_id
                      AND NOT {IN_SUBTREE.format(scene="t")})
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


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be forgotten; see ``SceneMemory.forget``.

    Attributes:
        relation_ids: these relations.
        entity: a name or an id.
        session_id: of the conversation that told it.
        key: a normalised scene key.
        everything: all there is.
    """

    relation_ids: Sequence[int] = ()
    entity: str | int | None = None
    session_id: str | None = None
    key: str | None = None
    everything: bool = False

    def __bool__(self) -> bool:
        named = (self.entity, self.session_id, self.key)
        return bool(self.relation_ids or self.everything or any(each is not None for each in named))


def preview(connection: Connection, choice: Choice) -> SweepReport:
    """Return what forgetting would delete."""
    doomed, relations, warning = _doomed(connection, choice)
    return SweepReport({"relations": len(doomed)}, relations, dry_run=True, notes=warning)


def forget(file: MemoryFile, choice: Choice, *, keep_backups: bool) -> SweepReport:
    """Delete what was chosen so that nothing of it stays."""
    database = file.database

    def work(connection: Connection) -> tuple[dict[str, int], tuple[Relation, ...], list[str]]:
        connection.execute("PRAGMA secure_delete = ON")
        doomed, relations, warning = _doomed(connection, choice)
        counts = _delete(connection, doomed, choice)
        index.ensure(connection)  # a stale one still holds the words
        return counts, relations, list(warning)

    counts, relations, notes = file.write(work)
    notes += _scrub(database)
    if not keep_backups:
        counts["backups"] = copies.remove_copies(database)
    elif held := copies.backups(database):
        notes.append("copies made before still hold it: " + ", ".join(map(str, held)))
    if not database.has_tokenizer and not choice.everything:
        notes.append(
            "the full-text index keeps its words until a process with the tokenizer opens it"
        )
    return SweepReport(counts, relations, notes=tuple(notes))


def _doomed(
    connection: Connection, choice: Choice
) -> tuple[list[int], tuple[Relation, ...], tuple[str, ...]]:
    """Return the relations that go, the first of them whole, and what to say before."""
    ids = _chosen(connection, choice)
    relations = tuple(scenes.whole(connection, ids[:LISTED]))
    return ids, relations, _warning_of_two(connection, choice.key)


def _chosen(connection: Connection, choice: Choice) -> list[int]:
    if choice.everything:
        return connection.column("SELECT id FROM relations ORDER BY id")
    found = {
        each
        for each in choice.relation_ids
        if connection.one("SELECT 1 FROM relations WHERE id = ?", (each,)) is not None
    }
    if choice.entity is not None:
        values = {"id": graph.entity_id(connection, choice.entity)}
        found.update(connection.column(_OF_ENTITY, values))
    if choice.session_id is not None:
        found.update(connection.column(_OF_SESSION, {"session": choice.session_id}))
    if choice.key is not None:
        found.update(connection.column(_OF_SCENE, {"key": choice.key}))
    return sorted(found)


def _warning_of_two(connection: Connection, key: str | None) -> tuple[str, ...]:
    """Return what to say before what is pinned at or below a key is forgotten."""
    within = [
        each
        for each in (pins.scenes_of_two(connection) if key is not None else ())
        if f"{each}/".startswith(f"{key}/")
    ]
    if not within:
        return ()
    listed = ", ".join(within[:20])
    return (f"may hold what was told of other names without their symbols, see check(): {listed}",)


def _delete(connection: Connection, relation_ids: Sequence[int], choice: Choice) -> dict[str, int]:
    """Delete the relations and whatever else the choice concerns; return rows by table."""
    if choice.everything:
        return _forget_everything(connection)
    entity_id = None if choice.entity is None else graph.entity_id(connection, choice.entity)
    counts = graph.delete_relations(connection, relation_ids)
    if choice.session_id is not None:
        counts["mentions"] = _forget_session(connection, choice.session_id)
    if choice.key is not None:
        counts["pins"] += _forget_scene(connection, choice.key)
    if entity_id is not None:
        touched = set(
            connection.column(
                "DELETE FROM scene_refs WHERE kind = 'entity' AND ref_id = ? RETURNING scene_id",
                (entity_id,),
            )
        )
        counts["pins"] += len(touched)
        counts["scenes"] += pins.drop_empty_scenes(connection, touched)
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
    told = connection.column(
        "SELECT DISTINCT relation_id FROM mentions WHERE session_id = ?",
        (session_id,),
    )
    for each in told:
        rows = connection.all_rows(
            "DELETE FROM mentions WHERE relation_id = ? AND session_id = ? RETURNING sentence_id",
            (each, session_id),
        )
        _settle(connection, each)
        graph.drop_unused_sentences(connection, (row[0] for row in rows))
    return len(told)


def _settle(connection: Connection, relation_id: int) -> None:
    """Make trust and sentence of a relation what its remaining tellings say."""
    trusts = connection.column("SELECT trust FROM mentions WHERE relation_id = ?", (relation_id,))
    held = connection.one("SELECT trust FROM relations WHERE id = ?", (relation_id,))
    best = max(trusts, key=TRUST_RANK.__getitem__)
    if TRUST_RANK[best] < TRUST_RANK[held]:
        connection.execute("UPDATE relations SET trust = ? WHERE id = ?", (best, relation_id))
    graph.refresh_sentence(connection, relation_id)
    pins.refresh_pins(connection, relation_id)


def _forget_scene(connection: Connection, key: str) -> int:
    """Take every pin at or below a key off, and the scenes away."""
    scene_ids = connection.column(f"SELECT s.id FROM scenes AS s WHERE {_IN_SUBTREE}", {"key": key})
    removed = 0
    for scene_id in scene_ids:
        taken = connection.all_rows(
            "DELETE FROM scene_refs WHERE scene_id = ? RETURNING kind, ref_id",
            (scene_id,),
        )
        removed += len(taken)
        entities = (ref_id for kind, ref_id in taken if kind == "entity")
        graph.drop_unused_entities(connection, entities)
        connection.execute("DELETE FROM scenes WHERE id = ?", (scene_id,))
    return removed


def _scrub(database: Database) -> tuple[str, ...]:
    """Give freed pages back and empty the WAL, so that no deleted text stays.

    The writer's ``secure_delete`` has overwritten the text in the pages already.
    """
    with database.exclusive() as connection:
        connection.all_rows("PRAGMA incremental_vacuum")
        row = connection.first("PRAGMA wal_checkpoint(TRUNCATE)")
        if row is not None and row[0]:
            return ("a reader kept the WAL in use: run forget or maintain again to empty it",)
    return ()
