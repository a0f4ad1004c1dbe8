# SPDX-License-Identifier: MIT
"""Whatever is done, in whatever order, the memory keeps its promises."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mnemogram.errors import MnemogramError
from mnemogram.memory import SceneMemory, Triple
from mnemogram.memory import graph as graph_module

NAMES = ("Ana", "ana", "ＡＮＡ", "Bob", "団地", "카페", "café", "cafe\u0301", "10²", "102")
TYPES = ("likes", "lives in", "格式")
KEYS = ("a", "a/peer:x", "a/peer:y", "a/peer:x/t", "b", "A", "")
SESSIONS = (None, "s1", "s2")

triples = st.builds(
    Triple,
    st.sampled_from(NAMES),
    st.sampled_from(TYPES),
    st.sampled_from(NAMES),
    confidence=st.sampled_from((0.1, 0.5, 1.0)),
    sentence=st.sampled_from((None, "one told", "two told", "three told")),
    scene=st.sampled_from((None, *KEYS)),
    kind=st.sampled_from(("fact", "preference", "rule")),
    trust=st.sampled_from(("confirmed", "observed", "document")),
)


class Memory(RuleBasedStateMachine):
    """Every writing method, at random, with and without the tokenizer."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "memory.db"
        self.clock = itertools.count(1_000)
        self.memory = self.opened(tokenizer=True)

    def opened(self, *, tokenizer: bool) -> SceneMemory:
        return SceneMemory.open(
            self.path,
            load_extension=tokenizer,
            synchronous="normal",
            clock=lambda: float(next(self.clock)),
        )

    def ids(self) -> list[int]:
        return [each.id for each in self.memory.relations(retired=True, limit=1_000)]

    def entities(self) -> list[str]:
        return [line["name"] for line in self.memory.export_lines() if line["type"] == "entity"]

    def pinned(self) -> set[int]:
        with self.memory._database.read() as connection:
            rows = connection.execute("SELECT ref_id FROM scene_refs WHERE kind = 'relation'")
            return {row[0] for row in rows}

    @initialize()
    def single_valued(self) -> None:
        self.memory.set_single_valued("lives in")

    @rule(
        batch=st.lists(triples, max_size=4),
        scene=st.sampled_from(KEYS),
        session=st.sampled_from(SESSIONS),
    )
    def commit(self, batch: list[Triple], scene: str, session: str | None) -> None:
        self.memory.commit(batch, scene=scene, session_id=session)

    @rule(data=st.data())
    @precondition(lambda self: self.ids())
    def retire(self, data: st.DataObject) -> None:
        self.memory.retire([data.draw(st.sampled_from(self.ids()))])

    @rule(data=st.data(), key=st.sampled_from(KEYS[:5]))
    @precondition(lambda self: self.ids())
    def tag(self, data: st.DataObject, key: str) -> None:
        entity = data.draw(st.sampled_from(self.entities()))
        relation = data.draw(st.sampled_from(self.ids()))
        self.memory.tag_scene(key, [relation, 9_999], entities=[entity], weight=0.5, backup=False)

    @rule(data=st.data(), key=st.sampled_from(KEYS[:5]))
    @precondition(lambda self: self.ids())
    def untag(self, data: st.DataObject, key: str) -> None:
        which = data.draw(st.sampled_from((None, [data.draw(st.sampled_from(self.ids()))])))
        self.memory.untag_scene(key, which, backup=False)

    @rule(glob=st.sampled_from(("A*", "*", "[Bb]ob", "nobody")), key=st.sampled_from(KEYS[:5]))
    def glob(self, glob: str, key: str) -> None:
        self.memory.tag_scene_by_entity_glob(key, glob, dry_run=False, backup=False)

    @rule(data=st.data())
    @precondition(lambda self: len(self.entities()) > 1)
    def merge(self, data: st.DataObject) -> None:
        source, target = data.draw(
            st.lists(st.sampled_from(self.entities()), min_size=2, max_size=2, unique=True)
        )
        self.memory.merge_entities(source, target, backup=False)

    @rule(data=st.data(), how=st.sampled_from(("relation", "entity", "session", "scene")))
    @precondition(lambda self: self.ids())
    def forget(self, data: st.DataObject, how: str) -> None:
        self.memory.forget(
            relation_ids=[data.draw(st.sampled_from(self.ids()))] if how == "relation" else (),
            entity=data.draw(st.sampled_from(self.entities())) if how == "entity" else None,
            session_id="s1" if how == "session" else None,
            scene=data.draw(st.sampled_from(KEYS[:5])) if how == "scene" else None,
        )

    @rule()
    def purge(self) -> None:
        self.memory.purge_noise(dry_run=False, backup=False)

    @rule()
    def export_and_import_again(self) -> None:
        lines = list(self.memory.export_lines())
        self.memory.import_lines(lines)
        assert list(self.memory.export_lines()) == lines

    @rule(tokenizer=st.booleans())
    def reopen(self, tokenizer: bool) -> None:
        self.memory.close()
        self.memory = self.opened(tokenizer=tokenizer)

    @invariant()
    def check(self) -> None:
        problems = [each for each in self.memory.check().problems if each.code != "index_not_ready"]
        assert not problems, problems

    @invariant()
    def counts_are_those_of_a_slow_look(self) -> None:
        stats = self.memory.scene_stats(top=100)
        seen: set[int] = set()
        for each in stats.top:
            shown = self.memory.recall_by_scene(each.key, limit=1_000, match="inherit")
            assert len({relation.id for relation in shown}) == len(shown)
            through = [relation.id for relation in shown if relation.via is not None]
            assert not self.pinned().intersection(through)
            shown = tuple(relation for relation in shown if relation.via is None)
            here = [relation.id for relation in shown if relation.match == "exact"]
            assert each.relations >= len(here) == len(set(here))
            assert each.entities == len(self.sides(each.key) | self.tagged(each.key))
            below = self.memory.recall_by_scene(each.key, limit=1_000)
            assert {relation.id for relation in below} >= set(here)
            seen.update(relation.id for relation in shown)
        assert stats.pinned_relations == len(seen)
        assert stats.pinned_relations + stats.unpinned_relations == self.memory.status().relations

    def sides(self, key: str) -> set[int]:
        """The entities of what is pinned to a scene, retired or not."""
        with self.memory._database.read() as connection:
            rows = connection.execute(
                "SELECT r.subject_id, r.object_id FROM scenes AS s"
                " JOIN scene_refs AS p ON p.scene_id = s.id AND p.kind = 'relation'"
                " JOIN relations AS r ON r.id = p.ref_id WHERE s.key = ?",
                (key,),
            )
            return {each for row in rows for each in row}

    def tagged(self, key: str) -> set[int]:
        """The entities that were pinned to a scene by hand."""
        with self.memory._database.read() as connection:
            rows = connection.execute(
                "SELECT p.ref_id FROM scenes AS s JOIN scene_refs AS p ON p.scene_id = s.id"
                " WHERE s.key = ? AND p.kind = 'entity' AND p.precedence = 1",
                (key,),
            )
            return {row[0] for row in rows}

    @invariant()
    def what_is_pinned_to_a_peer_reaches_no_other(self) -> None:
        for relation in self.memory.recall_by_scene("a/peer:x", limit=1_000, match="both"):
            keys = self.memory.recall(relation.subject, limit=1_000)
            (scenes,) = {each.scenes for each in keys if each.id == relation.id} or {()}
            assert not scenes or {"a", "a/peer:x", "a/peer:x/t"} & set(scenes)

    @invariant()
    def a_peer_sees_nothing_of_another(self) -> None:
        for relation in self.memory.build_context("", scenes="a/peer:x", max_items=100).relations:
            assert relation.scene in ("a", "a/peer:x", "a/peer:x/t")

    def teardown(self) -> None:
        self.memory.close()
        self.directory.cleanup()


Memory.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestMemory = Memory.TestCase


class Failing:
    """Makes the n-th statement of a commit fail."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, *arguments: Any) -> bool:
        self.left -= 1
        return self.left >= 0


@pytest.mark.parametrize("after", range(0, 60, 3))
def test_a_commit_that_fails_anywhere_keeps_nothing(memory: SceneMemory, after: int) -> None:
    before = [Triple("a", "is", "b", sentence="kept"), Triple("a", "lives in", "c")]
    memory.commit(before, scene="k", single_valued=["lives in"])
    lines = list(memory.export_lines())
    failing = Failing(after)
    with memory._database.exclusive() as connection:
        connection.set_exec_trace(failing)
    batch = [
        Triple("a", "is", "b", sentence="new words", confidence=0.9),
        Triple("a", "lives in", "d", scene="l"),
        Triple("new", "is", "thing", sentence="more words"),
    ]
    try:
        memory.commit(batch)
    except (apsw.Error, MnemogramError):
        pass
    finally:
        with memory._database.exclusive() as connection:
            connection.set_exec_trace(None)
            if connection.in_transaction:  # the trace stopped the rollback as well
                connection.execute("ROLLBACK")
    if failing.left < 0:  # a statement was made to fail
        assert list(memory.export_lines()) == lines
    else:
        assert len(memory.relations(retired=True)) == 4


def _commit_forever(path: str, name: str, started: Any) -> None:
    with SceneMemory.open(path) as memory:
        started.set()
        for number in itertools.count():
            batch = [Triple(f"{name} {number}", "has", f"part {n}") for n in range(20)]
            memory.commit(batch, scene=f"k/{number % 5}", session_id=name)


def test_a_process_that_is_killed_leaves_whole_batches_only(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "memory.db"
    for attempt in range(3):
        started = context.Event()
        process = context.Process(target=_commit_forever, args=(str(path), f"p{attempt}", started))
        process.start()
        assert started.wait(60)
        time.sleep(0.2)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with SceneMemory.open(path) as memory:
            assert memory.check().problems == ()
            assert memory.status().relations % 20 == 0


def test_many_threads_tell_the_same_and_make_one_of_it(memory: SceneMemory) -> None:
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                memory.commit(
                    [("Ana", "likes", f"tea {turn}"), Triple("Ana", "is", "kind", scene="k")],
                    session_id=f"s{number}",
                )
                memory.recall("tea")
                memory.build_context("tea", scenes="k")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(memory.relations(limit=1_000)) == 11
    assert memory.scene_stats().relation_pins == 1


@pytest.mark.parametrize(
    "reading",
    [
        lambda m: m.recall_by_scene("k"),
        lambda m: m.recall("word"),
        lambda m: m.build_context("word", scenes="k"),
        lambda m: m.scene_stats(),
        lambda m: m.purge_noise(),
        lambda m: m.purge_orphans(),
        lambda m: m.tag_scene_by_entity_glob("k", "*"),
        lambda m: m.forget(everything=True, dry_run=True),
        lambda m: list(m.export_lines()),
    ],
)
def test_reading_changes_no_byte_of_the_file(
    tmp_path: Path, reading: Callable[[SceneMemory], object]
) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path) as memory:
        memory.commit([Triple("word", "is", "x", confidence=0.1)])
    before = path.read_bytes()
    with SceneMemory.open(path) as memory:
        reading(memory)
    assert path.read_bytes() == before
    with SceneMemory.open(path, read_only=True) as memory:
        reading(memory)
    assert path.read_bytes() == before


def test_stronger_never_lowers_and_a_document_never_makes_a_rule() -> None:
    kinds, trusts = ("fact", "preference", "rule"), ("document", "observed", "confirmed")
    rank = {each: n for n, each in enumerate(trusts)}
    for held_kind, told_kind in itertools.product(kinds, kinds):
        for held, told in itertools.product(trusts, trusts):
            kind, trust = graph_module.stronger((held_kind, held), (told_kind, told))
            assert rank[trust] == max(rank[held], rank[told])
            if kind == "rule" and trust != "document":
                assert (held_kind, held) != ("rule", "document") or told_kind == "rule"
                assert (told_kind, told) != ("rule", "document") or held_kind == "rule"
