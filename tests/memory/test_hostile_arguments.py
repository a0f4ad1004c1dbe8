# SPDX-License-Identifier: MIT
"""Whatever is passed to the scene memory: an answer or one of our errors, and a sound file."""

from __future__ import annotations

import enum
import inspect
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemogram.errors import InvalidArgument, MnemogramError
from mnemogram.memory import (
    Document,
    SceneMemory,
    Triple,
    channel_scene,
    normalize_scene_key,
    scene_keys_for,
    tool_scene,
    triples_from_document,
)

LONG = "x" * 1_000_000
#: A run of marks, which some ways of normalizing take a square of time for.
MARKS = "\u0e38\u0e48" * 100_000


class Word(str, enum.Enum):
    """A string that is one of a host's own."""

    KEY = "k"


class Unprintable:
    """Fails when it is to be shown."""

    def __str__(self) -> str:
        raise RuntimeError("not to be shown")

    __repr__ = __str__


def loop() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found


HOSTILE: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 5,
    "negative": lambda: -1,
    "enormous": lambda: 10**30,
    "beyond printing": lambda: 10**5_000,
    "fraction": lambda: 1.5,
    "not a number": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "true": lambda: True,
    "bytes": lambda: b"abc",
    "word": lambda: "abc",
    "empty": lambda: "",
    "blank": lambda: " \u3000\n",
    "half a surrogate": lambda: "\ud83d",
    "surrogates inside": lambda: "a\ud83d/b\udc00",
    "null": lambda: "a\0b",
    "long": lambda: LONG,
    "slashes": lambda: "a/" * 500_000,
    "marks": lambda: MARKS,
    "a word of its own": lambda: Word.KEY,
    "numbers": lambda: [1],
    "negative numbers": lambda: [-5],
    "enormous numbers": lambda: [10**30],
    "fractions": lambda: [1.5, float("nan")],
    "words": lambda: ["a", "b"],
    "surrogates": lambda: ["\ud83d"],
    "nothings": lambda: [None],
    "nested": lambda: [[["a"]]],
    "a loop": loop,
    "mapping": lambda: {"a": 1},
    "mappings": lambda: [{}],
    "set": lambda: {1, 2},
    "three words": lambda: ("a", "b", "c"),
    "iterator": lambda: iter(range(3)),
    "many words": lambda: [f"k{n}" for n in range(1_000)],
    "many numbers": lambda: list(range(1_000)),
    "object": object,
    "type": lambda: int,
    "time": lambda: datetime(2026, 1, 1, tzinfo=timezone.utc),
    "unprintable": Unprintable,
    "unprintables": lambda: [Unprintable()],
    "half a triple": lambda: [Triple("\ud83d", "\udc00", "x")],
    "a long triple": lambda: [Triple(LONG, "a", "b")],
    "a marked triple": lambda: [Triple(MARKS, "a", "b")],
    "a marked sentence": lambda: [Triple("a", "b", "c", sentence=MARKS, scene=MARKS[:50])],
    "a wrong triple": lambda: [Triple(1, [], {}, kind=[], trust={}, confidence="1")],  # type: ignore[arg-type]
    "an uncertain triple": lambda: [Triple("a", "b", "c", confidence=float("nan"))],
    "fields": lambda: [{Unprintable(): 1, "subject": 2}],
}

#: What stands in the other arguments.
FITTING: dict[str, Any] = {
    "triples": [("a", "is", "b")],
    "relation_id": 1,
    "relation_ids": [1],
    "types": ["is"],
    "keys": "k",
    "scenes": "k",
    "query": "a",
    "input": "a",
    "key": "k",
    "source": "a",
    "target": "b",
    "lines": [],
    "glob": "a*",
    "backup": False,
    "path": "not/there/copy.db",
}
METHODS = sorted(
    name
    for name, _ in inspect.getmembers(SceneMemory, callable)
    if not name.startswith("_") and name not in ("open", "close")
)
ARGUMENTS = [
    (name, argument)
    for name in METHODS
    for argument in inspect.signature(getattr(SceneMemory, name)).parameters
    if argument != "self"
]


def told(value: Any) -> None:
    """Look at an answer as a host would."""
    if isinstance(value, Iterator):
        value = list(value)
    plain = value.to_dict() if hasattr(value, "to_dict") else value
    json.dumps(plain, default=str, ensure_ascii=False).encode()
    if hasattr(value, "format") and not isinstance(value, str):
        value.format().encode()


def refused(error: MnemogramError) -> None:
    """Look at an error as a host would: short, printable, and of use."""
    text = f"{error} {error.hint}"
    assert len(text) < 1_000, text[:100]
    text.encode()
    if isinstance(error, InvalidArgument):
        assert error.hint


def accepted(call: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    """Return whether a call gave an answer, and not one of our errors."""
    try:
        told(call(*arguments, **named))
    except MnemogramError as error:
        refused(error)
        return False
    return True


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_every_argument_of_every_method_is_taken_or_refused_in_our_words(
    memory: SceneMemory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, argument: str
) -> None:
    monkeypatch.chdir(tmp_path)
    memory.commit([("a", "is", "b"), ("c", "is", "d")], scene="k")
    for value in HOSTILE.values():
        given = {
            each.name: FITTING[each.name]
            for each in inspect.signature(getattr(memory, name)).parameters.values()
            if each.name in FITTING
            and (each.default is inspect.Parameter.empty or each.name in ("backup", "scenes"))
        }
        accepted(getattr(memory, name), **{**given, argument: value()})
    assert memory.check().ok


OPENING = [
    each for each in inspect.signature(SceneMemory.open).parameters if each not in ("self", "clock")
]


@pytest.mark.parametrize("argument", OPENING)
def test_every_argument_of_opening_is_taken_or_refused_in_our_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, argument: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for value in HOSTILE.values():
        given: dict[str, Any] = {"path": "m.db", "background": False, argument: value()}
        try:
            SceneMemory.open(**given).close()
        except MnemogramError as error:
            refused(error)


@pytest.mark.parametrize("value", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize(
    "call",
    [
        normalize_scene_key,
        scene_keys_for,
        lambda value: scene_keys_for({"scene": value}),
        triples_from_document,
        lambda value: triples_from_document({"source": value, "title": "t"}),
        lambda value: triples_from_document({"source": "s", "title": value}),
        lambda value: triples_from_document(Document("s", "t", facts=value)),
        lambda value: triples_from_document(Document("s", "t", text=value)),
    ],
)
def test_scene_keys_and_documents_are_taken_or_refused_in_our_words(
    call: Callable[[Any], Any], value: Callable[[], Any]
) -> None:
    accepted(call, value())


@pytest.mark.parametrize("name", ["long", "marks", "slashes", "surrogates inside", "null", "blank"])
def test_the_names_of_channels_and_tools_may_be_any_string(name: str) -> None:
    value = HOSTILE[name]()
    for call in (channel_scene, tool_scene, lambda each: scene_keys_for(peer=each)):
        accepted(call, value)


def test_a_word_in_place_of_a_switch_deletes_nothing(memory: SceneMemory) -> None:
    memory.commit([("a", "is", "b")])
    for word in ("false", "no", "", None, 2, [True]):
        for call in (
            lambda word: memory.forget(everything=word),
            lambda word: memory.purge_orphans(word, backup=False),
            lambda word: memory.purge_noise(word, backup=False),
            lambda word: memory.tag_scene_by_entity_glob("k", "*", dry_run=word, backup=False),
        ):
            with pytest.raises(InvalidArgument, match="True or False"):
                call(word)
    assert memory.status().relations == 1
    assert memory.status().scenes == 0


def test_strings_of_a_hosts_own_type_are_strings(memory: SceneMemory) -> None:
    memory.commit([Triple(Word.KEY, Word.KEY, Word.KEY, scene=Word.KEY)], session_id=Word.KEY)
    assert memory.recall_by_scene(Word.KEY)[0].subject == "k"
    assert memory.recall(Word.KEY)
    assert memory.build_context(Word.KEY, scenes=[Word.KEY]).lines
    assert memory.relations(subject=Word.KEY, relation=Word.KEY)
    assert memory.forget(session_id="k").counts["relations"] == 1


def test_names_that_utf8_cannot_hold_are_found_as_they_were_stored(memory: SceneMemory) -> None:
    memory.commit([Triple("bad \ud83d", "is", "b", sentence="s \udc00")], session_id="\ud83d")
    assert memory.relations(subject="bad \ud83d")
    assert memory.recall("bad \ud83d")
    assert memory.tag_scene_by_entity_glob("k", "bad \ud83d").changed == 1
    assert memory.tag_scene("k", entities=["bad \ud83d"], backup=False).changed == 1
    assert memory.forget(session_id="\ud83d").counts["relations"] == 1


# --- fuzzed ----------------------------------------------------------------------------

texts = st.text(
    st.characters(codec=None) | st.sampled_from("\ud800\udfff\0/:_ 團\u0301\u200d🌙"), max_size=12
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("subject", "relation", "object", "confidence", "sentence", "scene", "kind", "trust")
LINE = {
    "type": st.sampled_from(("header", "single_valued", "entity", "relation", "other")),
    "format": st.just("mnemogram-memory"),
    "version": st.just(1),
    "name": texts,
    "subject": texts,
    "relation": texts,
    "object": texts,
    "created_at": st.sampled_from(
        ("2026-01-01T00:00:00+00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")
    ),
    "aliases": st.lists(texts, max_size=2),
    "status": st.sampled_from(("active", "retired")),
    "replaced_by": st.lists(texts, max_size=4),
    "scenes": st.lists(
        st.fixed_dictionaries({"key": texts | values, "weight": st.floats() | values}), max_size=2
    ),
    "tellings": st.lists(
        st.fixed_dictionaries({}, optional={"session_id": values, "sentence": values}), max_size=2
    ),
}
lines = st.fixed_dictionaries(
    {}, optional={name: fitting | values for name, fitting in LINE.items()}
)
often = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@often
@given(fields=st.dictionaries(st.sampled_from(FIELDS), values, max_size=8), scene=values)
def test_any_triple_is_kept_or_refused_as_a_whole(
    memory: SceneMemory, fields: dict[str, Any], scene: Any
) -> None:
    before = memory.status().relations
    given = {"subject": "a", "relation": "b", "object": "c", **fields}
    done = accepted(memory.commit, [given], scene=scene)
    assert memory.status().relations - before in ((0, 1) if done else (0,))


@often
@given(given=st.lists(lines | values, max_size=4))
def test_any_lines_are_read_or_refused_as_a_whole(memory: SceneMemory, given: list[Any]) -> None:
    before = list(memory.export_lines())
    header = {"type": "header", "format": "mnemogram-memory", "version": 1}
    if not accepted(memory.import_lines, [header, *given]):
        assert list(memory.export_lines()) == before


@pytest.mark.parametrize(
    "line",
    ["[" * 100_000, '{"type":' * 100_000, b"\xff\xfe", "{", "7", '{"type": "relation"}', "\ud83d"],
)
def test_a_line_that_is_no_line_is_refused_in_our_words(memory: SceneMemory, line: Any) -> None:
    header = {"type": "header", "format": "mnemogram-memory", "version": 1}
    assert not accepted(memory.import_lines, [header, line])
