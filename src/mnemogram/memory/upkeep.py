# SPDX-License-Identifier: MIT
"""The part of ``SceneMemory`` that keeps it right: tagging, sweeping, forgetting."""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from mnemogram.errors import (
    ExtensionUnavailable,
    InvalidArgument,
    MnemogramError,
    StorageUnavailable,
)
from mnemogram.memory import exchange, graph, index, maintenance, merging, scenes, selection
from mnemogram.memory.arguments import (
    checked_entities,
    checked_entity,
    checked_ids,
    checked_key,
    checked_session,
    checked_trust,
    flag,
    several,
    text,
    unit_interval,
    whole_number,
)
from mnemogram.memory.arguments import seconds as span
from mnemogram.memory.models import (
    CheckReport,
    MemoryStatus,
    MergeReport,
    SceneCount,
    SceneStats,
    SweepReport,
    TagReport,
    Trust,
)
from mnemogram.memory.readonly import ReadOnly
from mnemogram.memory.rows import all_rows
from mnemogram.memory.schema import BY_HAND, PIN_ALL_SIDES
from mnemogram.memory.vectors import (
    BATCH,
    Vectors,
    VectorStatus,
    drop_old_models,
    recorded,
    refusal,
)
from mnemogram.sqlite.backup import backup
from mnemogram.sqlite.database import Database

__all__ = ["Upkeep"]

#: Characters of a GLOB pattern, each of whose stars may look at a whole name.
_MAX_GLOB_CHARS: Final = 200


_P = ParamSpec("_P")
_R = TypeVar("_R")


def mending(
    method: Callable[Concatenate[Any, _P], _R],
) -> Callable[Concatenate[Any, _P], _R]:
    """Let a writing method try again without the full-text index where that is damaged.

    The index is marked stale then, and filled again by the next :meth:`Upkeep.maintain`
    or opening. FTS5 writes late, so the damage may show in any statement after its own.
    """

    @functools.wraps(method)
    def wrapped(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(self, *args, **kwargs)
        except StorageUnavailable as error:
            if not index.is_damaged(error.__cause__):
                raise
        with self._database.write() as connection:
            index.mark_stale(connection)
        return method(self, *args, **kwargs)

    return wrapped


class Upkeep:
    """What is done to a memory from outside a conversation."""

    def __init__(
        self,
        database: Database,
        vectors: Vectors | None,
        *,
        background: bool,
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._background = background and not database.read_only
        self._stop = threading.Event()
        self._worker: threading.Thread | None = None
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def _now(self) -> int:
        """Microseconds UTC, later at each call: two commits never have one time."""
        with self._lock:
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
        """Pin relations, with both their entities, and entities to a scene, after the fact.

        Args:
            key: the scene.
            relation_ids: the relations.
            entities: names or ids; they head the index line in that scene, and recall by
                scene brings what is told of them and pinned nowhere.
            weight: 0 to 1; a larger one that is there stays.
            trust: of the pin: a rule is worded as to be followed only where the
                rule and its pin are confirmed.
            backup: copy the file first.

        Raises:
            InvalidArgument: nothing is left of the key.
            NotFound: an entity does not exist. Relations that do not are reported.
        """
        normal = checked_key(key)
        ids = checked_ids(relation_ids, "relation_ids")
        weight = unit_interval(weight, "weight")
        checked_trust(trust)
        named = checked_entities(entities, "entities")
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
        ids = None if relation_ids is None else checked_ids(relation_ids, "relation_ids")
        named = checked_entities(entities, "entities")
        made = self._backup(backup)
        with self._database.write() as connection:
            scene_id = connection.one("SELECT id FROM scenes WHERE key = ?", (normal,))
            if scene_id is None:
                return TagReport(normal, backup=made, missing=tuple(ids or ()))
            pins = all_rows(
                connection,
                "SELECT kind, ref_id FROM scene_refs WHERE scene_id = ?"
                " AND (kind = 'relation' OR precedence = ?)",
                (scene_id, BY_HAND),
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
                scenes.unpin_relation(connection, (scene_id,), ref_id)
                if kind == "relation"
                else scenes.unpin_entity(connection, scene_id, ref_id)
                for kind, ref_id in pins
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
        pattern = text(glob, "glob", "Use for example QQ*.", most=_MAX_GLOB_CHARS)
        if not pattern:
            raise InvalidArgument("glob must be a pattern, not blank", hint="Use for example QQ*.")
        weight = unit_interval(weight, "weight")
        checked_trust(trust)
        if flag(dry_run, "dry_run"):
            with self._read_only() as connection:
                relations = tuple(selection.by_entity_glob(connection, pattern))
                pinned = selection.pinned_to(connection, normal)
            changed = sum(each.id not in pinned for each in relations)
            return TagReport(normal, relations, changed, True)
        made = self._backup(backup)
        now = self._now()
        changed = 0
        with self._database.write() as connection:
            relations = tuple(selection.by_entity_glob(connection, pattern))
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
        normal = "" if isinstance(key, str) and not key else checked_key(key)
        with self._database.read() as connection:
            return tuple(maintenance.list_scenes(connection, normal, limit=limit))

    # -- upkeep

    @mending
    def purge_noise(
        self, dry_run: bool = True, *, min_confidence: float = 0.3, backup: bool = True
    ) -> SweepReport:
        """Delete facts that say nothing, never rules, confirmed or pinned ones; and stale pins.

        They are: told with less confidence than ``min_confidence``, relating a thing to
        itself, with a name of nothing but punctuation, or between function words (``it is
        that``). What was told with full confidence stays where the relation says something
        or a name may be one: ``IT``, ``May``, ``C++``, ``いずみ``.
        """
        least = unit_interval(min_confidence, "min_confidence")
        if flag(dry_run, "dry_run"):
            with self._read_only() as connection:
                found = list(maintenance.noise(connection, least))
                counts = maintenance.noise_counts(connection, len(found))
            return maintenance.report(found, dry_run=True, counts=counts)
        made = self._backup(backup)
        with self._database.write() as connection:
            found = list(maintenance.noise(connection, least))
            counts = maintenance.sweep_noise(connection, (each.id for each, _ in found))
        return replace(maintenance.report(found, dry_run=False, counts=counts), backup=made)

    @mending
    def purge_orphans(self, dry_run: bool = True, *, backup: bool = True) -> SweepReport:
        """Delete entities, sentences, scenes and vectors that nothing refers to; and stale pins."""
        if flag(dry_run, "dry_run"):
            with self._read_only() as connection:
                counts = maintenance.orphans(connection)
            return SweepReport(counts, dry_run=True)
        made = self._backup(backup)
        with self._database.write() as connection:
            counts = maintenance.sweep_orphans(connection)
        return SweepReport(counts, backup=made)

    def purge_stale_scene_refs(self, dry_run: bool = False, *, backup: bool = True) -> SweepReport:
        """Delete pins to relations and entities that are gone.

        No answer ever shows them; pins to retired relations stay for their return.
        """
        if flag(dry_run, "dry_run"):
            with self._read_only() as connection:
                stale = len(maintenance.stale_pins(connection))
            return SweepReport({"pins": stale}, dry_run=True)
        made = self._backup(backup)
        with self._database.write() as connection:
            counts = maintenance.sweep_stale_pins(connection)
        return SweepReport(counts, backup=made)

    @mending
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
        named = [checked_entity(source, "source"), checked_entity(target, "target")]
        made = self._backup(backup)
        with self._database.write() as connection:
            from_id, to_id = (graph.entity_id(connection, each) for each in named)
            if from_id == to_id:
                raise InvalidArgument(
                    "source and target are the same entity", hint="Name two entities."
                )
            names = [
                connection.one("SELECT name FROM entities WHERE id = ?", (each,))
                for each in (from_id, to_id)
            ]
            moved, joined = merging.merge(connection, from_id, to_id)
        return MergeReport(names[0], names[1], moved, joined, made)

    @mending
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
        ids = checked_ids(relation_ids, "relation_ids")
        everything = flag(everything, "everything")
        keep_backups = flag(keep_backups, "keep_backups")
        entity = None if entity is None else checked_entity(entity, "entity")
        session_id = None if session_id is None else checked_session(session_id)
        key = None if scene is None or scene == "" else checked_key(scene)
        if not (ids or entity is not None or session_id is not None or key or everything):
            raise InvalidArgument(
                "forget needs to know what",
                hint="Name relation_ids, entity, session_id, scene, or everything=True.",
            )
        if flag(dry_run, "dry_run"):
            with self._read_only() as connection:
                doomed = selection.doomed(connection, ids, entity, session_id, key, everything)
                relations = tuple(scenes.whole(connection, doomed[: maintenance.LISTED]))
                warning = maintenance.warning_of_two(connection, key)
            return SweepReport({"relations": len(doomed)}, relations, dry_run=True, notes=warning)
        with self._database.write() as connection:
            connection.execute("PRAGMA secure_delete = ON")
            doomed = selection.doomed(connection, ids, entity, session_id, key, everything)
            relations = tuple(scenes.whole(connection, doomed[: maintenance.LISTED]))
            warning = maintenance.warning_of_two(connection, key)
            counts = selection.forget(connection, doomed, entity, session_id, key, everything)
            index.ensure(connection)  # a stale one still holds the words
        notes = [*warning, *maintenance.scrub(self._database)]
        if not keep_backups:
            counts["backups"] = maintenance.remove_copies(self._database)
        elif copies := maintenance.backups(self._database):
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
        """Make anew what follows from the rest: the full-text index, the pins of entities that
        go with their relations; return False without the tokenizer, which the index needs.
        """
        with self._database.write() as connection:
            connection.execute(PIN_ALL_SIDES)
            if not connection.has_tokenizer:
                return False
            index.rebuild(connection)
            return True

    # -- copies

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Copy the file, while it is in use, to a path that does not exist yet."""
        return backup(self._database, path)

    def _backup(self, wanted: bool) -> str | None:
        if not flag(wanted, "backup"):
            return None
        return str(maintenance.automatic_backup(self._database))

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
        given = several(lines, "lines", "Pass the lines of an export.")
        counts, notes, new = self._import(given)
        if new:
            self._start_worker()
        return SweepReport(counts, notes=notes)

    @mending
    def _import(
        self, lines: Sequence[str | bytes | Mapping[str, Any]]
    ) -> tuple[dict[str, int], tuple[str, ...], list[int]]:
        now = self._now()
        with self._database.write() as connection:
            return exchange.import_lines(connection, lines, now)

    # -- upkeep of index, vectors

    def maintain(self, *, seconds: float = 10.0) -> dict[str, int]:
        """Do what is left to do, in bounded steps: fill the index, make vectors.

        Each step is kept when done; a call that ends early is gone on with by the next.

        Args:
            seconds: when to stop taking on new steps.

        Returns:
            ``indexed`` (1 where the index was filled), ``embedded`` and ``pending``. What
            the embedder raised, and what it refused, is in the notes of :meth:`status`.

        Raises:
            MnemogramError: the storage failed.
        """
        end = time.monotonic() + span(seconds, "seconds")
        with self._database.write() as connection:
            indexed = int(index.ensure(connection))
        embedded = 0
        pending: list[int] = []
        if self._vectors is not None and self._vectors.error is None:

            def going() -> bool:
                return not self._stop.is_set() and time.monotonic() < end

            while not self._stop.is_set():
                pending = self._vectors.pending(BATCH, self._now())
                if not pending or time.monotonic() >= end:
                    break
                try:
                    outcome = self._vectors.update(pending, self._now(), going)
                except ExtensionUnavailable:  # status() says so
                    break
                embedded += outcome.stored
                if outcome.failed or not (outcome.stored or outcome.refused):
                    break
            if not pending:
                with self._database.write() as connection:
                    drop_old_models(connection, self._vectors.name)
        return {"indexed": indexed, "embedded": embedded, "pending": len(pending)}

    def _start_worker(self) -> None:
        """Make missing vectors in a thread of their own, once for each need."""
        if not self._background or self._vectors is None or self._vectors.error is not None:
            return
        if self._stop.is_set():
            return
        with self._lock:
            if self._worker is not None and self._worker.is_alive():
                return
            self._worker = threading.Thread(
                target=self._work, name="mnemogram-vectors", daemon=True
            )
            self._worker.start()

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                done = self.maintain(seconds=1.0)
                if not done["pending"] or not done["embedded"]:
                    return
                self._stop.wait(0.05)  # let writers in
        except MnemogramError as error:  # nobody waits for this thread: status() says it
            if self._vectors is not None:
                self._vectors.last_failure = str(error)

    def status(self) -> MemoryStatus:
        """Return counts, the state of index and vectors, and what does not work."""
        notes = []
        vectors: VectorStatus | None = None
        with self._database.read() as connection:
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
            kept_model = recorded(connection)
            if self._vectors is not None:
                vectors = self._vectors.status(connection)
                if self._vectors.error is not None:
                    notes.append(self._vectors.error)
                if self._vectors.last_failure is not None:
                    notes.append(f"the embedder failed: {self._vectors.last_failure}")
                if vectors.refused:
                    notes.append(refusal(vectors.refused, vectors.reason))
        model = vectors.model if vectors and vectors.model else kept_model
        if not self._database.has_tokenizer:
            notes.append("the tokenizer is not loaded: recall scans the relations")
        elif index_state != "ready":
            notes.append("the full-text index is not ready: recall scans the relations")
        size = sum(
            each.stat().st_size for each in (self.path, Path(f"{self.path}-wal")) if each.exists()
        )
        return MemoryStatus(
            path=str(self.path),
            bytes=size,
            entities=entities,
            relations=active,
            retired=retired,
            scenes=kept,
            index=index_state,
            tokenizer=self._database.has_tokenizer,
            tokenizer_error=self._database.tokenizer_error,
            vectors=vectors.state if vectors else "off",
            vector_model=model.name if model else None,
            vector_dimension=model.dimension if model else None,
            vectors_ready=vectors.ready if vectors else 0,
            vectors_pending=vectors.pending if vectors else 0,
            vectors_refused=vectors.refused if vectors else 0,
            notes=tuple(notes),
        )
