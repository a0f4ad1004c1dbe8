# SPDX-License-Identifier: MIT
"""The scene memory of one user: the face of this package."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

from mnemogram.errors import InvalidArgument, MnemogramError, NotFound, QueryTimeout
from mnemogram.memory import context as contexts
from mnemogram.memory import graph, index, recall, scenes, selection, vectors
from mnemogram.memory.arguments import (
    callable_or_none,
    checked_entity,
    checked_ids,
    checked_session,
    flag,
    one_of,
    plain,
    real_number,
    scene_keys,
    scene_paths,
    seconds,
    several,
    strings,
    text,
    whole_number,
)
from mnemogram.memory.context import Budget, Context, Language
from mnemogram.memory.models import MATCHES, CommitResult, Match, Recall, Relation, Triple
from mnemogram.memory.names import MAX_NAME_CHARS, fold_name
from mnemogram.memory.recall import Terms
from mnemogram.memory.schema import SCHEMA
from mnemogram.memory.upkeep import Upkeep, mending
from mnemogram.sqlite.database import DEFAULT_BUSY_TIMEOUT, Connection, Database

__all__ = ["SceneMemory"]

MAX_LIMIT: Final = 1_000
#: Relations whose vectors one commit makes itself; more are left to the upkeep.
_EMBED_AT_ONCE: Final = 256
#: How much better a relation ranks for a topic, by what it is.
_BOOST: Final = {"rule": 1.15, "preference": 1.05, "fact": 1.0}


class SceneMemory(Upkeep):
    """Facts and rules as triples, pinned to the situations in which they apply.

    Opened with :meth:`open`, on one file. A context manager; safe for threads:
    writers wait for each other, readers do not wait for writers.
    """

    def __init__(
        self,
        database: Database,
        *,
        embedder: vectors.Embedder | None = None,
        embedder_name: str | None = None,
        min_similarity: float = 0.0,
        background: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            database,
            None
            if embedder is None
            else vectors.Vectors(database, embedder, embedder_name, min_similarity),
            background=background,
            clock=clock,
        )
        if not database.read_only and database.has_tokenizer:
            with database.read() as connection:
                ready = index.state(connection) == "ready"
            if not ready:
                with database.write() as connection:
                    index.ensure(connection)
        self._start_worker()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        embedder: vectors.Embedder | None = None,
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
            busy_timeout=seconds(busy_timeout, "busy_timeout"),
            load_extension=flag(load_extension, "load_extension"),
            synchronous=plain(synchronous),
        )
        try:
            return cls(
                database,
                embedder=embedder,
                embedder_name=embedder_name,
                min_similarity=least,
                background=works,
                clock=clock,
            )
        except BaseException:
            database.close()
            raise

    # -- life

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._database.closed

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        self._stop.set()
        worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join()
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
        told = graph.prepare(triples, scene, notes)
        session = checked_session(session_id)
        types = strings(single_valued, "single_valued")
        return self._embedded(self._commit(told, session, types, notes))

    @mending
    def _commit(
        self, told: Sequence[graph.Told], session: str, types: list[str], notes: list[str]
    ) -> CommitResult:
        now = self._now()
        with self._database.write() as connection:
            if types:
                graph.set_single_valued(connection, types, on=True)
            return graph.commit(connection, told, session, now, notes)

    def _embedded(self, result: CommitResult) -> CommitResult:
        if self._vectors is None or not result.relation_ids:
            return result
        ids = list(dict.fromkeys(result.relation_ids))[:_EMBED_AT_ONCE]
        notes = list(result.notes)
        try:
            outcome = self._vectors.update(ids, self._now())
        except MnemogramError as error:  # what was told is kept
            notes.append(f"vectors are still to be made: {error}")
        else:
            if outcome.failed:
                notes.append(f"vectors are still to be made: {outcome.reason}")
            if outcome.refused:
                notes.append(vectors.refusal(outcome.refused, outcome.reason))
            if len(result.relation_ids) > _EMBED_AT_ONCE:
                self._start_worker()
        return replace(result, notes=tuple(notes))

    def set_single_valued(self, types: str | Iterable[str], *, on: bool = True) -> None:
        """Say that relation types hold one object at a time, or (``on=False``) many."""
        names = strings(types, "types")
        with self._database.write() as connection:
            graph.set_single_valued(connection, names, on=flag(on, "on"))

    def retire(self, relation_ids: Iterable[int]) -> int:
        """Take relations back: they are history until they are told again.

        Returns:
            How many were active.
        """
        ids = checked_ids(relation_ids, "relation_ids")
        now = self._now()
        with self._database.write() as connection:
            return graph.retire(connection, ids, now)

    def confirm(self, relation_ids: Iterable[int]) -> int:
        """Say that the user stands behind relations: rules among them are to be followed.

        It is as if the user told them again, in every scene that they are pinned to. What
        is retired stays so.

        Returns:
            How many were not confirmed until now.

        Raises:
            NotFound: there is no such relation; then nothing is changed.
        """
        return self._confirm(checked_ids(relation_ids, "relation_ids"))

    @mending
    def _confirm(self, ids: list[int]) -> int:
        now = self._now()
        with self._database.write() as connection:
            found = list(scenes.whole(connection, ids))
            if missing := set(ids) - {each.id for each in found}:
                raise NotFound(
                    f"no relation {min(missing)}", hint="Use ids from an earlier answer."
                )
            keys = scenes.pinned_keys(connection, ids)
            again = [
                Triple(
                    *(each.subject, each.relation, each.object),
                    confidence=0.0,  # of two the larger stays
                    sentence=each.sentence,
                    scene=tuple(keys.get(each.id, ())) or None,
                    kind=each.kind,
                    trust="confirmed",
                )
                for each in found
                if each.status == "active" and not scenes.is_confirmed(connection, each.id)
            ]
            graph.commit(connection, graph.prepare(again, None, []), "", now, [])
            return len(again)

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
        bound = None if timeout is None else seconds(timeout, "timeout")
        keys = scene_keys(scenes, "scenes")
        return self._recall(asked, recall.query_terms(asked), depth, limit, bound, keys)

    def _recall(
        self,
        query: str,
        terms: Terms,
        depth: int,
        limit: int,
        timeout: float | None,
        keys: tuple[str, ...] = (),
    ) -> Recall:
        notes: list[str] = []
        embedded = self._embedded_query(query, notes)
        with self._database.read(timeout=timeout) as connection:
            hits = recall.lexical(connection, terms, most=limit * 3 + 16)
            notes.extend(hits.notes)
            about = scenes.active(connection, hits.scores)
            scores = {each: hits.scores[each] * _BOOST[kind] for each, (kind, _) in about.items()}
            order = sorted(
                scores, key=lambda each: (scores[each], about[each][1], each), reverse=True
            )
            path = hits.path
            near: dict[int, float] = {}
            if embedded is not None and self._vectors is not None:
                rows, note = self._vectors.nearest(connection, embedded, most=limit * 3 + 16)
                near = dict(rows)
                if note is not None:
                    notes.append(note)
                if near:
                    scores = recall.fuse([order, list(near)])
                    order = list(scores)
                path = f"{'cjk' if path == 'empty' else path}+vector"
            chosen = self._own(connection, order, keys, limit)
            found = [
                replace(
                    each,
                    score=scores[each.id],
                    depth=1,
                    sources=tuple(
                        name
                        for name, held in (("lexical", hits.scores), ("vector", near))
                        if each.id in held
                    ),
                )
                for each in scenes.whole(connection, chosen)
            ]
            if depth > 1:
                found = recall.expand(connection, found, depth=depth, limit=MAX_LIMIT)
                own = set(self._own(connection, [each.id for each in found], keys, limit))
                found = [each for each in found if each.id in own]
            pins = scenes.pinned_keys(connection, (each.id for each in found))
            found = [
                replace(each, scenes=tuple(pins[each.id])) if each.id in pins else each
                for each in found
            ]
        return Recall(tuple(found), path, hits.complete, tuple(dict.fromkeys(notes)))

    @staticmethod
    def _own(
        connection: Connection, ids: Sequence[int], keys: tuple[str, ...], limit: int
    ) -> list[int]:
        """Return the first of some relations, without those that have no place here."""
        if not keys:
            return list(ids[:limit])
        pins = scenes.pinned_keys(connection, ids)
        about = scenes.active(connection, pins)
        found = (
            each
            for each in ids
            if each not in pins or not scenes.elsewhere(pins[each], keys, about[each][0])
        )
        return list(itertools.islice(found, limit))

    def _embedded_query(self, query: str, notes: list[str]) -> bytes | None:
        if self._vectors is None or not query.strip():
            return None
        if self._vectors.error is not None:
            notes.append(f"words only: {self._vectors.error}")
            return None
        try:
            return self._vectors.embed([query[: recall.MAX_QUERY_CHARS]])[0]
        except Exception as error:  # the host's model: what it raises is its own
            notes.append(f"words only: the embedder failed: {error}")
            return None

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
                found = selection.listing(
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
        bound = None if timeout is None else seconds(timeout, "timeout")
        budget = Budget(
            max_items, sentence_chars, max_index_names, max_chars, max_tokens, count_tokens
        )
        budget.check()
        names, ids = _seen(seen)
        asked = scene_paths(scenes, "scenes")
        keys = tuple(asked)
        lines: list[contexts.ContextLine] = []
        total = 0
        pinned: list[str] = []
        if keys:
            with self._database.read() as connection:
                lines, total = contexts.scene_lines(
                    connection, asked.values(), limit=max_items, seen=frozenset(ids)
                )
                pinned = contexts.pinned_names(connection, asked.values())
        context = Context(
            lines=tuple(lines),
            scenes=keys,
            omitted=total - len(lines),
            explained=flag(explain, "explain"),
            sentence_chars=min(sentence_chars, contexts.MOST),
            language=language,
        )
        topic, complete, notes = self._topic(message, ids, keys, bound)
        context = replace(context, complete=complete, notes=notes)
        hidden = {fold_name(each) for each in names if len(each) <= MAX_NAME_CHARS}
        return context.fitted(dict.fromkeys((*pinned, *topic)), budget, hidden)

    def _topic(
        self, text: str, seen: frozenset[int], keys: tuple[str, ...], timeout: float | None
    ) -> tuple[list[str], bool, tuple[str, ...]]:
        """Return names of the entities a text is about, the likeliest first."""
        terms = recall.query_terms(text, topical=True)
        if not terms.words:
            return [], True, ()
        try:
            found = self._recall(text, terms, 1, 20, timeout, keys)
        except QueryTimeout as error:
            return [], False, (f"the topic was not looked up: {error}",)
        shown = [each for each in found if each.id not in seen]
        return contexts.topic_names(shown, terms.words), found.complete, found.notes


def _seen(seen: Iterable[str | int]) -> tuple[list[str], frozenset[int]]:
    names: list[str] = []
    ids: set[int] = set()
    hint = "Pass what recall returned before, or its names."
    for each in (seen,) if isinstance(seen, str) else several(seen, "seen", hint):
        if isinstance(each, str):
            names.append(plain(each))
        elif isinstance(each, int) and not isinstance(each, bool):
            ids.update(checked_ids(each, "seen"))
        elif isinstance(each, Relation):
            ids.add(each.id)
        else:
            raise InvalidArgument(
                f"seen must hold names and relation ids, not {type(each).__name__}", hint=hint
            )
    return names, frozenset(ids)
