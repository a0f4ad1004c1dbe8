# SPDX-License-Identifier: MIT
"""The scene memory of one user: the face of everything in this package."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.memory import (
    check,
    commit,
    copies,
    export,
    forget,
    graph,
    index,
    listing,
    merging,
    recall,
    revising,
    scenes,
    status,
    sweep,
    tagging,
)
from mnemogram.memory import context as contexts
from mnemogram.memory.arguments import (
    callable_or_none,
    checked_entities,
    checked_entity,
    checked_ids,
    checked_key,
    checked_session,
    checked_trust,
    flag,
    one_of,
    plain,
    real_number,
    scene_keys,
    scene_paths,
    several,
    strings,
    text,
    unit_interval,
    whole_number,
)
from mnemogram.memory.arguments import seconds as span
from mnemogram.memory.context import Budget, Context, Language, Seen
from mnemogram.memory.file import MemoryFile
from mnemogram.memory.models import (
    KINDS,
    MATCHES,
    CheckReport,
    CommitResult,
    Kind,
    Match,
    MemoryStatus,
    MergeReport,
    Recall,
    Relation,
    SceneCount,
    SceneStats,
    SweepReport,
    TagReport,
    Triple,
    Trust,
)
from mnemogram.memory.names import MAX_NAME_CHARS
from mnemogram.memory.recall import MAX_LIMIT
from mnemogram.memory.schema import PIN_ALL_SIDES, SCHEMA
from mnemogram.memory.upkeep import Upkeep
from mnemogram.memory.vectors import Embedder, Vectors
from mnemogram.sqlite.backup import backup
from mnemogram.sqlite.database import DEFAULT_BUSY_TIMEOUT, Database

__all__ = ["SceneMemory"]

#: Characters of a GLOB pattern, each of whose stars may look at a whole name.
_MAX_GLOB_CHARS: Final = 200
#: Scenes that one answer lists at most.
_MAX_SCENES: Final = 100_000


class SceneMemory:
    """Facts and rules as triples, pinned to the situations in which they apply.

    Opened with :meth:`open`, on one file. A context manager; safe for threads:
    writers wait for each other, readers do not wait for writers.
    """

    def __init__(
        self, file: MemoryFile, *, vectors: Vectors | None = None, background: bool = True
    ) -> None:
        self._file = file
        self._database = file.database
        self._vectors = vectors
        self._upkeep = Upkeep(file, vectors, background=background)
        self._upkeep.start()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        embedder: Embedder | None = None,
        embedder_name: str | None = None,
        min_similarity: float = 0.0,
        background: bool = True,
        busy_timeout: float = DEFAULT_BUSY_TIMEOUT,
        load_extension: bool = True,
        read_only: bool = False,
        synchronous: str = "full",
        clock: Callable[[], float] = time.time,
    ) -> SceneMemory:
        """Open the memory in a file, made (0600) if it does not exist.

        Args:
            path: the file.
            embedder: texts to vectors, for recall by meaning; needs the extra
                ``vector``. It may be called from any thread.
            embedder_name: recorded with the vectors; another name means that all
                are made anew. Taken from the embedder where it has one.
            min_similarity: least cosine similarity, -1 to 1, that counts as a
                match by meaning; a good value depends on the model.
            background: make vectors that are missing, or of another model, in a
                thread of its own. Without it :meth:`maintain` does.
            busy_timeout: seconds to wait for another process's lock.
            load_extension: False leaves the tokenizer out; recall then scans.
            read_only: never write to the file.
            synchronous: ``full`` survives a power cut, ``normal`` a process kill.
            clock: seconds since 1970, for tests.

        Raises:
            SchemaTooNew: a newer release wrote the file; it is left untouched.
            StorageUnavailable: the file is not ours, unreadable or damaged.
            InvalidArgument: an argument is of no use; nothing is opened.
        """
        callable_or_none(embedder, "embedder")
        callable_or_none(clock, "clock")
        if embedder_name is not None:
            embedder_name = text(
                embedder_name, "embedder_name", "Name the model.", most=MAX_NAME_CHARS
            )
        one_of(synchronous, ("full", "normal"), "synchronous")
        least = real_number(min_similarity, "min_similarity", -1.0, 1.0)
        works = flag(background, "background")
        database = Database(
            path,
            SCHEMA,
            read_only=flag(read_only, "read_only"),
            busy_timeout=span(busy_timeout, "busy_timeout"),
            load_extension=flag(load_extension, "load_extension"),
            synchronous=plain(synchronous),
        )
        try:
            vectors = (
                None if embedder is None else Vectors(database, embedder, embedder_name, least)
            )
            return cls(MemoryFile(database, clock=clock), vectors=vectors, background=works)
        except BaseException:
            database.close()
            raise

    # -- life

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._database.closed

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        self._upkeep.stop()
        self._database.close()

    def __enter__(self) -> SceneMemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- writing

    def commit(
        self,
        triples: Iterable[Triple | Mapping[str, Any] | Sequence[str]],
        *,
        scene: str | Sequence[str] | None = None,
        session_id: str | None = None,
        single_valued: Iterable[str] = (),
    ) -> CommitResult:
        """Remember triples: all of them, or none where one is wrong.

        A triple that is known, under whatever case, width or normal form of its
        names, is told again: its newest sentence shows, larger confidence, trust
        and pin weight stay, and a retired one is visible again.

        Args:
            triples: what to remember.
            scene: key or keys of the situation it was told in, for those that name
                none themselves. No scene means no pin, never a guess.
            session_id: the conversation it was told in; see :meth:`forget`.
            single_valued: relation types that hold one object at a time, now and
                from now on. A new object retires the old relation, which is kept
                as history. Rules and preferences do so only within their scene.

        Raises:
            InvalidArgument: which triple is wrong, and how.
        """
        notes: list[str] = []
        told = commit.prepare(triples, scene, notes)
        session = checked_session(session_id)
        types = strings(single_valued, "single_valued")
        now = self._file.now()
        result = self._file.write(
            lambda connection: commit.commit(connection, told, session, now, notes, types)
        )
        return self._upkeep.embedded(result)

    def set_single_valued(self, types: str | Iterable[str], *, on: bool = True) -> None:
        """Say that relation types hold one object at a time, or (``on=False``) many."""
        names = strings(types, "types")
        is_on = flag(on, "on")
        self._file.write(lambda connection: graph.set_single_valued(connection, names, on=is_on))

    def retire(self, relation_ids: Iterable[int]) -> int:
        """Take relations back: they are history until they are told again.

        Returns:
            How many were active.
        """
        ids = checked_ids(relation_ids, "relation_ids")
        now = self._file.now()
        return self._file.write(lambda connection: graph.retire(connection, ids, now))

    def confirm(self, relation_ids: Iterable[int]) -> int:
        """Say that the user stands behind relations: rules among them are to be followed.

        It is as if the user told them again, in every scene that they are pinned to. What
        is retired stays so.

        Returns:
            How many were not confirmed until now.

        Raises:
            NotFound: there is no such relation; then nothing is changed.
        """
        ids = checked_ids(relation_ids, "relation_ids")
        now = self._file.now()
        return self._file.write(lambda connection: commit.confirm(connection, ids, now))

    def revise(
        self,
        relation_id: int,
        *,
        kind: Kind | None = None,
        trust: Trust | None = None,
        weight: float | None = None,
        scene: str | None = None,
    ) -> Relation:
        """Say what a relation is, in place of what was told of it, for who looks after it.

        Unlike telling it again, this takes back as well: a rule becomes a fact, what was
        confirmed only observed, a pin lighter.

        Args:
            relation_id: the relation.
            kind, trust: what it is from now on; trust is that of its pins too.
            weight: 0 to 1, of its pins.
            scene: only of its pin to this key.

        Returns:
            The relation as it is now.

        Raises:
            NotFound: there is no such relation, or no such pin; then nothing is changed.
            InvalidArgument: an argument is out of range.
        """
        (number,) = checked_ids((relation_id,), "relation_id")
        if kind is not None:
            one_of(kind, KINDS, "kind")
        if trust is not None:
            checked_trust(trust)
        weight = None if weight is None else unit_interval(weight, "weight")
        key = None if scene is None else checked_key(scene)
        return self._file.write(
            lambda connection: revising.revise(connection, number, kind, trust, weight, key)
        )

    # -- reading

    def recall_by_scene(
        self, keys: str | Iterable[str], *, limit: int = 8, match: Match = "subtree"
    ) -> Recall:
        """Return what is pinned to scenes, whatever the words of the message.

        Args:
            keys: one key or several, all of which apply.
            limit: most relations to return, 1 to 1,000.
            match: ``subtree``: the key and everything narrower; ``inherit``: the
                key and everything broader; ``both``.

        Returns:
            Active relations, each once: first those that are pinned themselves, by weight,
            then recency, then id; where the limit leaves room, then those without a pin of
            their own that an entity pinned there is a side of (``via``), in the same order.
            ``omitted`` counts those that are pinned and beyond the limit.
        """
        whole_number(limit, "limit", 1, MAX_LIMIT)
        one_of(match, MATCHES, "match")
        asked = scene_paths(keys, "keys")
        with self._database.read() as connection:
            return scenes.recall(connection, asked.values(), limit=limit, match=match)

    def recall(
        self,
        query: str,
        *,
        depth: int = 1,
        limit: int = 20,
        scenes: str | Iterable[str] = (),
        timeout: float | None = 3.0,
    ) -> Recall:
        """Return what is like a query, by words and, with an embedder, by meaning.

        Args:
            query: any text.
            depth: 1 for the matches themselves; up to 4 for what hangs on their
                entities, step by step, after them.
            limit: most relations to return, 1 to 1,000.
            scenes: keys of the present situation. Then rules of other situations are left
                out, and whatever is pinned only to peers (groups, rooms, ...) that the
                keys do not name. Nothing is left out by default.
            timeout: seconds for the storage; None for no bound. The embedder's own
                time cannot be bounded and is not counted.

        Raises:
            QueryTimeout: the time passed before there was an answer.
        """
        asked = text(query, "query", "Pass any text.")
        whole_number(depth, "depth", 0, recall.MAX_DEPTH)
        whole_number(limit, "limit", 1, MAX_LIMIT)
        return recall.recall(
            self._file,
            self._vectors,
            asked,
            recall.query_terms(asked),
            depth=depth,
            limit=limit,
            timeout=None if timeout is None else span(timeout, "timeout"),
            situation=scene_keys(scenes, "scenes"),
        )

    def relations(
        self,
        *,
        subject: str | None = None,
        relation: str | None = None,
        ids: Iterable[int] | None = None,
        retired: bool = False,
        limit: int = 100,
    ) -> Recall:
        """Return relations by what they are about, the newest first.

        Args:
            subject: name of the subject; by any of its names.
            relation: relation type.
            ids: these relations, in this order, whatever their state.
            retired: history as well as what holds now.
            limit: most relations to return, 1 to 1,000.
        """
        whole_number(limit, "limit", 1, MAX_LIMIT)
        wanted = None if ids is None else checked_ids(ids)
        about = None if subject is None else checked_entity(subject, "subject")
        name = None if relation is None else text(relation, "relation", "Name a relation type.")
        history = flag(retired, "retired")
        with self._database.read() as connection:
            if wanted is not None:
                found = list(scenes.whole(connection, wanted))
            else:
                found = listing.listing(
                    connection, subject=about, relation=name, retired=history, limit=limit
                )
        return Recall(tuple(found[:limit]), search_path="listing")

    # -- context

    def build_context(
        self,
        input: str,
        *,
        scenes: str | Iterable[str] = (),
        seen: Iterable[str | int] = (),
        max_items: int = 8,
        sentence_chars: int = 60,
        max_index_names: int = 5,
        max_chars: int | None = None,
        max_tokens: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        language: Language = "en",
        explain: bool = False,
        timeout: float | None = 3.0,
    ) -> Context:
        """Choose what a model should see with a message: rules first, then the topic.

        The scene block holds what is pinned to the scenes and to all broader ones;
        last and marked as such, what is pinned to narrower ones, never below a
        level that names somebody the scene does not name. The index line names
        what the memory holds on the topic of ``input``, without rules of other situations
        and without what is pinned only to peers that the scenes do not name.

        Without ``scenes`` there is no scene block, and no pin has any influence.

        Args:
            input: the message.
            scenes: keys of the present situation, see :func:`scene_keys_for`.
            seen: what the model has in view already: names are left out of the
                index line, ids of relations also out of the scene block, unless
                they are confirmed rules.
            max_items: relations of the scene block.
            sentence_chars: characters shown of an original sentence.
            max_index_names: names of the index line.
            max_chars: characters of the whole formatted text.
            max_tokens: tokens of it, as ``count_tokens`` counts them.
            count_tokens: the model's own count of a text.
            language: of the words around the memories: ``en``, ``zh``, ``ja``, ``ko``.
            explain: say in each line which key, pin and weight brought it.
            timeout: seconds for the topic. When they pass, the scene block stands
                and the context says ``complete: False``.
        """
        message = text(input, "input", "Pass the message.")
        contexts.labels_of(language)
        bound = None if timeout is None else span(timeout, "timeout")
        budget = Budget(
            max_items, sentence_chars, max_index_names, max_chars, max_tokens, count_tokens
        )
        budget.check()
        return contexts.build(
            self._file,
            self._vectors,
            message,
            scene_paths(scenes, "scenes"),
            Seen.of(seen),
            budget,
            language=language,
            explain=flag(explain, "explain"),
            timeout=bound,
        )

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
        now = self._file.now()
        report = self._file.write(
            lambda connection: tagging.tag(connection, normal, ids, named, weight, trust, now)
        )
        return replace(report, backup=made)

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
        report = self._file.write(lambda connection: tagging.untag(connection, normal, ids, named))
        return replace(report, backup=made)

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
            with self._file.read_only() as connection:
                return tagging.matching(connection, normal, pattern)
        made = self._backup(backup)
        now = self._file.now()
        report = self._file.write(
            lambda connection: tagging.tag_matching(connection, normal, pattern, weight, trust, now)
        )
        return replace(report, backup=made)

    def scene_stats(self, *, top: int = 20) -> SceneStats:
        """Count scenes and pins; ``top`` of the scenes are listed, the fullest first."""
        whole_number(top, "top", 0, _MAX_SCENES)
        with self._database.read() as connection:
            return status.scene_stats(connection, top=top)

    def scenes(self, key: str = "", *, limit: int = 100) -> tuple[SceneCount, ...]:
        """Return the scenes at and below a key, by key; all of them without one."""
        whole_number(limit, "limit", 1, _MAX_SCENES)
        normal = "" if isinstance(key, str) and not key else checked_key(key)
        with self._database.read() as connection:
            return tuple(status.list_scenes(connection, normal, limit=limit))

    # -- upkeep

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
            with self._file.read_only() as connection:
                return sweep.noise_found(connection, least)
        made = self._backup(backup)
        report = self._file.write(lambda connection: sweep.sweep_noise(connection, least))
        return replace(report, backup=made)

    def purge_orphans(self, dry_run: bool = True, *, backup: bool = True) -> SweepReport:
        """Delete entities, sentences, scenes and vectors that nothing refers to; and stale pins."""
        if flag(dry_run, "dry_run"):
            with self._file.read_only() as connection:
                return SweepReport(sweep.orphans(connection), dry_run=True)
        made = self._backup(backup)
        return SweepReport(self._file.write(sweep.sweep_orphans), backup=made)

    def purge_stale_scene_refs(self, dry_run: bool = False, *, backup: bool = True) -> SweepReport:
        """Delete pins to relations and entities that are gone.

        No answer ever shows them; pins to retired relations stay for their return.
        """
        if flag(dry_run, "dry_run"):
            with self._file.read_only() as connection:
                stale = len(sweep.stale_pins(connection))
            return SweepReport({"pins": stale}, dry_run=True)
        made = self._backup(backup)
        return SweepReport(self._file.write(sweep.sweep_stale_pins), backup=made)

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
        from_, to = checked_entity(source, "source"), checked_entity(target, "target")
        made = self._backup(backup)
        report = self._file.write(lambda connection: merging.merge(connection, from_, to))
        return replace(report, backup=made)

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
        choice = forget.Choice(
            relation_ids=checked_ids(relation_ids, "relation_ids"),
            everything=flag(everything, "everything"),
            entity=None if entity is None else checked_entity(entity, "entity"),
            session_id=None if session_id is None else checked_session(session_id),
            key=None if scene is None or scene == "" else checked_key(scene),
        )
        keeps = flag(keep_backups, "keep_backups")
        if not choice:
            raise InvalidArgument(
                "forget needs to know what",
                hint="Name relation_ids, entity, session_id, scene, or everything=True.",
            )
        if flag(dry_run, "dry_run"):
            with self._file.read_only() as connection:
                return forget.preview(connection, choice)
        return forget.forget(self._file, choice, keep_backups=keeps)

    def check(self) -> CheckReport:
        """Prove what this memory promises; nothing is changed.

        No recall by scene shows anything retired, missing or twice; no pin is double;
        pins repeat what their relation says; every relation has its entities and
        tellings, and shows words that were told with it; the index holds exactly
        the relations' texts; the file is sound.
        """
        return check.check(self._file)

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
        return self._upkeep.maintain(span(seconds, "seconds"))

    def status(self) -> MemoryStatus:
        """Return counts, the state of index and vectors, and what does not work."""
        return status.status(self._file, self._vectors)

    # -- copies

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Copy the file, while it is in use, to a path that does not exist yet."""
        return backup(self._database, path)

    def _backup(self, wanted: bool) -> str | None:
        if not flag(wanted, "backup"):
            return None
        return str(copies.automatic_backup(self._database))

    def export_lines(self) -> Iterator[dict[str, Any]]:
        """Yield the memory as JSON-ready objects, one for each line, from one snapshot."""
        with self._database.read() as connection:
            yield from export.export_lines(connection)

    def import_lines(self, lines: Iterable[str | bytes | Mapping[str, Any]]) -> SweepReport:
        """Read an export, all or nothing; what is there already is joined with.

        Returns:
            A report whose counts are ``entities``, ``relations``, ``joined`` and ``pins``.

        Raises:
            InvalidArgument: which line is wrong, and how.
        """
        given = several(lines, "lines", "Pass the lines of an export.")
        now = self._file.now()
        counts, notes, new = self._file.write(
            lambda connection: export.import_lines(connection, given, now)
        )
        if new:
            self._upkeep.start()
        return SweepReport(counts, notes=notes)
