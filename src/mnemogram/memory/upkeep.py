# SPDX-License-Identifier: MIT
"""The part of ``SceneMemory`` that keeps it right: tagging, sweeping, forgetting."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mnemogram.database import Database
from mnemogram.errors import InvalidArgument
from mnemogram.memory import exchange, graph, index, maintenance, scenes, selection
from mnemogram.memory.arguments import (
    checked_ids,
    checked_key,
    checked_trust,
    unit_interval,
    whole_number,
)
from mnemogram.memory.models import (
    CheckReport,
    MergeReport,
    SceneCount,
    SceneStats,
    SweepReport,
    TagReport,
    Trust,
)
from mnemogram.memory.readonly import ReadOnly
from mnemogram.memory.rows import all_rows

__all__ = ["Upkeep"]


class Upkeep:
    """What is done to a memory from outside a conversation."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._last = 0
        self._clock_lock = threading.Lock()

    def _now(self) -> int:
        """Microseconds UTC, later at each call: two commits never have one time."""
        with self._clock_lock:
            self._last = max(int(self._clock() * 1_000_000), self._last + 1)
            return self._last

    def _read_only(self) -> ReadOnly:
        return ReadOnly(self._database)

    # -- scenes

    def tag_scene(
        self,
        key: str,
        relation_ids: Iterable[int] = (),
        *,
        entities: Iterable[str | int] = (),
        weight: float = 1.0,
        trust: Trust = "confirmed",
        backup: bool = True,
    ) -> TagReport:
        """Pin relations and entities to a scene, after the fact.

        Args:
            key: the scene.
            relation_ids: the relations.
            entities: names or ids; they head the index line in that scene.
            weight: 0 to 1; a larger one that is there stays.
            trust: of the pin: a rule is worded as to be followed only where the
                rule and its pin are confirmed.
            backup: copy the file first.

        Raises:
            InvalidArgument: nothing is left of the key.
            NotFound: an entity does not exist. Relations that do not are reported.
        """
        normal = checked_key(key)
        ids = checked_ids(relation_ids)
        weight = unit_interval(weight, "weight")
        checked_trust(trust)
        named = list(entities)
        made = self._backup(backup)
        now = self._now()
        missing = []
        changed = 0
        with self._database.write() as connection:
            scene_id = scenes.scene_row(connection, normal, now)
            for each in ids:
                change = scenes.pin_relation(connection, scene_id, each, weight, trust)
                changed += change in ("created", "raised")
                if change == "missing":
                    missing.append(each)
            for name in named:
                entity = graph.entity_id(connection, name)
                change = scenes.pin_entity(connection, scene_id, entity, weight, trust, now)
                changed += change in ("created", "raised")
            scenes.drop_empty_scenes(connection, (scene_id,))
            relations = tuple(scenes.whole(connection, ids))
        return TagReport(normal, relations, changed, False, made, tuple(missing))

    def untag_scene(
        self,
        key: str,
        relation_ids: Iterable[int] | None = None,
        *,
        entities: Iterable[str | int] = (),
        backup: bool = True,
    ) -> TagReport:
        """Take pins to exactly this scene off; the relations stay.

        Args:
            key: the scene; narrower ones keep their pins.
            relation_ids: the relations, None (and no entities) for all its pins.
            entities: names or ids.
            backup: copy the file first.
        """
        normal = checked_key(key)
        ids = None if relation_ids is None else checked_ids(relation_ids)
        named = list(entities)
        made = self._backup(backup)
        with self._database.write() as connection:
            scene_id = connection.one("SELECT id FROM scenes WHERE key = ?", (normal,))
            if scene_id is None:
                return TagReport(normal, backup=made, missing=tuple(ids or ()))
            pins = all_rows(
                connection, "SELECT kind, ref_id FROM scene_refs WHERE scene_id = ?", (scene_id,)
            )
            if ids is not None or named:
                wanted = {("relation", each) for each in ids or ()}
                wanted |= {("entity", graph.entity_id(connection, each)) for each in named}
                missing = tuple(
                    ref_id for kind, ref_id in sorted(wanted - set(pins)) if kind == "relation"
                )
                pins = [each for each in pins if each in wanted]
            else:
                missing = ()
            changed = sum(
                scenes.unpin(connection, (scene_id,), kind, ref_id) for kind, ref_id in pins
            )
            unpinned = (ref_id for kind, ref_id in pins if kind == "entity")
            graph.drop_unused_entities(connection, unpinned)
            relations = tuple(
                scenes.whole(connection, (ref_id for kind, ref_id in pins if kind == "relation"))
            )
        return TagReport(normal, relations, changed, False, made, missing)

    def tag_scene_by_entity_glob(
        self,
        key: str,
        glob: str,
        *,
        dry_run: bool = True,
        weight: float = 1.0,
        trust: Trust = "confirmed",
        backup: bool = True,
    ) -> TagReport:
        """Pin every active relation of the entities whose name matches a GLOB pattern.

        ``*`` stands for anything, ``?`` for one character, ``[...]`` for one of
        several; case counts, so that ``QQ*`` does not sweep up ``qq``.

        Args:
            key: the scene.
            glob: the pattern, over display names and other names of subject and object.
            dry_run: only return which relations match, from a read-only connection.
            weight, trust, backup: as for :meth:`tag_scene`.
        """
        normal = checked_key(key)
        if not isinstance(glob, str) or not glob:
            raise InvalidArgument("glob must be a pattern, not blank", hint="Use for example QQ*.")
        weight = unit_interval(weight, "weight")
        checked_trust(trust)
        if dry_run:
            with self._read_only() as connection:
                relations = tuple(selection.by_entity_glob(connection, glob))
                pinned = selection.pinned_to(connection, normal)
            changed = sum(each.id not in pinned for each in relations)
            return TagReport(normal, relations, changed, True)
        made = self._backup(backup)
        now = self._now()
        changed = 0
        with self._database.write() as connection:
            relations = tuple(selection.by_entity_glob(connection, glob))
            if relations:
                scene_id = scenes.scene_row(connection, normal, now)
                for each in relations:
                    change = scenes.pin_relation(connection, scene_id, each.id, weight, trust)
                    changed += change in ("created", "raised")
        return TagReport(normal, relations, changed, False, made)

    def scene_stats(self, *, top: int = 20) -> SceneStats:
        """Count scenes and pins; ``top`` of the scenes are listed, the fullest first."""
        whole_number(top, "top", 0, 100_000)
        with self._database.read() as connection:
            return maintenance.scene_stats(connection, top=top)

    def scenes(self, key: str = "", *, limit: int = 100) -> tuple[SceneCount, ...]:
        """Return the scenes at and below a key, by key; all of them without one."""
        whole_number(limit, "limit", 1, 100_000)
        normal = checked_key(key) if key else ""
        with self._database.read() as connection:
            return tuple(maintenance.list_scenes(connection, normal, limit=limit))

    # -- upkeep

    def purge_noise(
        self, dry_run: bool = True, *, min_confidence: float = 0.3, backup: bool = True
    ) -> SweepReport:
        """Delete facts that say nothing; never rules, confirmed or pinned ones.

        They are: told with less confidence than ``min_confidence``, relating a thing to
        itself, with a name of nothing but punctuation, or with no name that says anything.
        """
        least = unit_interval(min_confidence, "min_confidence")
        if dry_run:
            with self._read_only() as connection:
                found = list(maintenance.noise(connection, least))
            return maintenance.report(found, dry_run=True, counts={"relations": len(found)})
        made = self._backup(backup)
        with self._database.write() as connection:
            found = list(maintenance.noise(connection, least))
            counts = graph.delete_relations(connection, (each.id for each, _ in found))
        return replace(maintenance.report(found, dry_run=False, counts=counts), backup=made)

    def purge_orphans(self, dry_run: bool = True, *, backup: bool = True) -> SweepReport:
        """Delete entities, sentences, scenes and vectors that nothing refers to."""
        if dry_run:
            with self._read_only() as connection:
                found = maintenance.orphans(connection)
            return SweepReport({table: len(ids) for table, ids in found.items()}, dry_run=True)
        made = self._backup(backup)
        with self._database.write() as connection:
            counts = maintenance.sweep_orphans(connection)
        return SweepReport(counts, backup=made)

    def purge_stale_scene_refs(self, dry_run: bool = False, *, backup: bool = True) -> SweepReport:
        """Delete pins to relations and entities that are gone.

        No answer ever shows them; pins to retired relations stay for their return.
        """
        if dry_run:
            with self._read_only() as connection:
                stale = len(maintenance.stale_pins(connection))
            return SweepReport({"pins": stale}, dry_run=True)
        made = self._backup(backup)
        with self._database.write() as connection:
            counts = maintenance.sweep_stale_pins(connection)
        return SweepReport(counts, backup=made)

    def merge_entities(
        self, source: str | int, target: str | int, *, backup: bool = True
    ) -> MergeReport:
        """Make two entities one: ``target`` takes over relations, pins and names.

        What both had becomes one relation, with the larger weights and every
        sentence; what is told of ``source`` later goes to ``target``.

        Raises:
            NotFound: there is no such entity.
            InvalidArgument: both are the same.
        """
        made = self._backup(backup)
        with self._database.write() as connection:
            from_id, to_id = (graph.entity_id(connection, each) for each in (source, target))
            if from_id == to_id:
                raise InvalidArgument(
                    "source and target are the same entity", hint="Name two entities."
                )
            names = [
                connection.one("SELECT name FROM entities WHERE id = ?", (each,))
                for each in (from_id, to_id)
            ]
            moved, joined = graph.merge(connection, from_id, to_id)
        return MergeReport(names[0], names[1], moved, joined, made)

    def forget(
        self,
        *,
        relation_ids: Iterable[int] = (),
        entity: str | int | None = None,
        session_id: str | None = None,
        scene: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        keep_backups: bool = False,
    ) -> SweepReport:
        """Delete what was remembered so that nothing of it stays: not in an answer,
        not in the index, not in the file, not in the copies beside it.

        Args:
            relation_ids: these relations.
            entity: every relation of this entity, and its names.
            session_id: what this session told; what others told as well stays, with
                their words.
            scene: what is pinned at or below this key and nowhere else; other
                relations lose their pins there.
            everything: all of it.
            dry_run: only return what would go.
            keep_backups: leave the automatic copies, which hold what is forgotten.

        Raises:
            InvalidArgument: nothing to forget was named.
            NotFound: there is no such entity.
        """
        ids = checked_ids(relation_ids)
        if not (ids or entity is not None or session_id is not None or scene or everything):
            raise InvalidArgument(
                "forget needs to know what",
                hint="Name relation_ids, entity, session_id, scene, or everything=True.",
            )
        key = checked_key(scene) if scene else None
        if dry_run:
            with self._read_only() as connection:
                doomed = selection.doomed(connection, ids, entity, session_id, key, everything)
                relations = tuple(scenes.whole(connection, doomed[: maintenance.LISTED]))
            return SweepReport({"relations": len(doomed)}, relations, dry_run=True)
        with self._database.write() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            doomed = selection.doomed(connection, ids, entity, session_id, key, everything)
            relations = tuple(scenes.whole(connection, doomed[: maintenance.LISTED]))
            counts = selection.forget(connection, doomed, entity, session_id, key, everything)
        notes = list(maintenance.scrub(self._database))
        copies = maintenance.backups(self._database)
        if not keep_backups:
            for each in copies:
                each.unlink(missing_ok=True)
            counts["backups"] = len(copies)
        elif copies:
            notes.append("copies made before still hold it: " + ", ".join(map(str, copies)))
        if not self._database.has_tokenizer and not everything:
            notes.append(
                "the full-text index keeps its words until a process with the tokenizer opens it"
            )
        return SweepReport(counts, relations, notes=tuple(notes))

    def check(self) -> CheckReport:
        """Prove what this memory promises; nothing is changed.

        No recall by scene shows anything retired, missing or twice; no pin is double;
        pins repeat what their relation says; every relation has its entities and
        tellings, and shows words that were told with it; the index holds exactly
        the relations' texts; the file is sound.
        """
        return maintenance.check(self._database)

    def repair(self) -> bool:
        """Make the full-text index anew; return False without the tokenizer."""
        with self._database.write() as connection:
            if not connection.has_tokenizer:
                return False
            index.rebuild(connection)
            return True

    # -- copies

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Copy the file, while it is in use, to a path that does not exist yet."""
        return maintenance.backup(self._database, path)

    def _backup(self, wanted: bool) -> str | None:
        return str(maintenance.automatic_backup(self._database)) if wanted else None

    def export_lines(self) -> Iterator[dict[str, Any]]:
        """Yield the memory as JSON-ready objects, one for each line, from one snapshot."""
        with self._database.read() as connection:
            yield from exchange.export_lines(connection)

    def import_lines(self, lines: Iterable[str | bytes | Mapping[str, Any]]) -> SweepReport:
        """Read an export, all or nothing; what is there already is joined with.

        Returns:
            A report whose counts are ``entities``, ``relations``, ``joined`` and ``pins``.

        Raises:
            InvalidArgument: which line is wrong, and how.
        """
        now = self._now()
        with self._database.write() as connection:
            counts, notes, new = exchange.import_lines(connection, lines, now)
        if new:
            self._vectors_wanted()
        return SweepReport(counts, notes=notes)

    def _vectors_wanted(self) -> None:
        """Called where many relations may lack a vector."""
