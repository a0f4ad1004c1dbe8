# SPDX-License-Identifier: MIT
"""After some turns with tools the host looks at them again, and no turn is lost on the way."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemogram
from mnemogram import History, InvalidArgument, Message, SceneMemory, Session, Triple
from mnemogram.learning import Evidence, Learner, Lesson, Note

LESSON = Lesson(
    [Triple("deploy", "needs", "the VPN", scene="tool:deploy", trust="confirmed")],
    ["Ann wants short answers"],
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[mnemogram.Mnemogram]:
    with mnemogram.open(tmp_path / "root") as home:
        yield home


@pytest.fixture
def history(home: mnemogram.Mnemogram) -> History:
    return home.history("ann")


@pytest.fixture
def memory(home: mnemogram.Mnemogram) -> SceneMemory:
    return home.memory("ann")


def turn(history: History, session: str, name: str, *, tools: int = 1, **more: Any) -> None:
    call = [{"id": f"{name}-{n}", "name": "look"} for n in range(tools)]
    history.append(
        Session(session, **more),
        [
            Message("user", f"do {name}", uid=f"{name}-u"),
            *([Message("assistant", None, uid=f"{name}-c", tool_calls=call)] if tools else []),
            *(Message("tool", f"{name} {n}", uid=f"{name}-r{n}") for n in range(tools)),
            Message("assistant", f"{name} is done", uid=f"{name}-a"),
        ],
    )


def test_the_evidence_comes_after_ten_turns_with_tools_of_any_conversation(
    history: History, memory: SceneMemory
) -> None:
    seen: list[Evidence] = []

    def learn(evidence: Evidence) -> Lesson:
        seen.append(evidence)
        return LESSON

    learner = Learner(history, memory, learn)
    for number in range(9):
        turn(history, f"s{number % 3}", f"t{number}")
        turn(history, "chat", f"n{number}", tools=0)
        assert learner.turn_ended() is None
    assert not seen
    turn(history, "s0", "t9", tools=3)
    result = learner.turn_ended()
    (evidence,) = seen
    assert [each.session_id for each in evidence.turns] == [f"s{n % 3}" for n in range(10)]
    assert [each.role for each in evidence.turns[-1].messages] == (
        ["user", "assistant", "tool", "tool", "tool", "assistant"]
    )
    assert "do t3" in evidence.text()
    assert result is not None
    assert result.created == 2
    stored = {each.object: each for each in memory.relations()}
    assert {each.trust for each in stored.values()} == {"observed"}
    assert stored["Ann wants short answers"].sentence == "Ann wants short answers"
    # In the next session's context, as information.
    (line,) = memory.build_context("", scenes=["tool:deploy"]).lines
    assert line.relation.object == "the VPN"
    assert line.authority == "memory"
    assert learner.count() == 0
    assert learner.turn_ended() is None


@pytest.mark.parametrize("failure", [RuntimeError("no model"), KeyboardInterrupt()])
def test_a_callback_that_fails_loses_no_turn_and_stores_nothing(
    history: History, memory: SceneMemory, failure: BaseException
) -> None:
    seen: list[int] = []

    def learn(evidence: Evidence) -> Lesson:
        seen.append(len(evidence.turns))
        if len(seen) == 1:
            raise failure
        return LESSON

    learner = Learner(history, memory, learn, every=2)
    turn(history, "s", "a")
    turn(history, "s", "b")
    with pytest.raises(type(failure)):
        learner.turn_ended()
    assert memory.status().relations == 0
    assert learner.count() == 2
    turn(history, "s", "c")
    assert learner.turn_ended() is not None
    assert seen == [2, 3]


@pytest.mark.parametrize(
    "wrong", [[Triple("", "b", "c")], [{"subject": "a"}], [LESSON.triples, 5], [7]]
)
def test_what_cannot_be_remembered_is_refused_as_a_whole(
    history: History, memory: SceneMemory, wrong: Any
) -> None:
    good = Triple("a", "b", "c")
    learner = Learner(history, memory, lambda evidence: [good, *wrong], every=1)
    turn(history, "s", "a")
    with pytest.raises(InvalidArgument):
        learner.turn_ended()
    assert memory.status().relations == 0
    assert learner.count() == 1


def test_the_count_outlives_the_process(tmp_path: Path) -> None:
    seen: list[Evidence] = []
    for number in range(4):
        with mnemogram.open(tmp_path / "root") as home:
            history = home.history("ann")
            learner = Learner(
                history, home.memory("ann"), lambda evidence: seen.append(evidence), every=4
            )
            turn(history, f"s{number}", f"t{number}")
            if number % 2:
                learner.turn_ended()
    assert [len(each.turns) for each in seen] == [4]


def test_the_lesson_of_one_user_is_not_anothers(home: mnemogram.Mnemogram) -> None:
    learner = Learner(home.history("ann"), home.memory("ann"), lambda evidence: LESSON, every=1)
    turn(home.history("bob"), "s", "a")
    assert learner.turn_ended() is None
    turn(home.history("ann"), "s", "a")
    assert learner.turn_ended() is not None
    assert home.memory("bob").status().relations == 0


def test_what_was_there_before_and_what_is_imported_is_not_counted(
    history: History, memory: SceneMemory
) -> None:
    turn(history, "old", "a")
    learner = Learner(history, memory, lambda evidence: LESSON, every=1)
    assert learner.count() == 0
    past = datetime.now(timezone.utc) - timedelta(days=400)
    history.append(
        "imported",
        [
            Message("user", "do it", uid="1", timestamp=past),
            Message("tool", "it", uid="2", timestamp=past),
            Message("assistant", "done", uid="3", timestamp=past),
        ],
    )
    turn(history, "hidden", "b", source="subagent")
    assert learner.count() == 0
    turn(history, "s", "c")
    assert learner.count() == 1


def test_a_turn_counts_when_it_has_ended(history: History, memory: SceneMemory) -> None:
    learner = Learner(history, memory, lambda evidence: LESSON, every=9)
    history.append("s", [Message("user", "do a", uid="u")])
    assert learner.count() == 0
    history.append("s", [Message("assistant", None, uid="c", tool_calls=[{"id": "1"}])])
    history.append("s", [Message("tool", "a", uid="r")])
    turn(history, "other", "b")
    assert learner.count() == 1
    history.append("s", [Message("assistant", "done", uid="a")])
    assert learner.count() == 2
    # One that broke off counts with the next question.
    history.append("t", [Message("user", "do c", uid="u"), Message("tool", "c", uid="r")])
    assert learner.count() == 2
    history.append("t", [Message("user", "well?", uid="v")])
    assert learner.count() == 3


def test_what_is_deleted_or_undone_is_not_learned_from(
    history: History, memory: SceneMemory
) -> None:
    seen: list[Evidence] = []
    learner = Learner(history, memory, lambda evidence: seen.append(evidence), every=3)
    for name in ("a", "b", "c"):
        turn(history, f"s-{name}", name)
    assert learner.count() == 3
    history.delete_session("s-a")
    history.rewind("s-b", ["b-u", "b-c", "b-r0", "b-a"])
    learner.turn_ended()
    assert [each.session_id for each in seen[0].turns] == ["s-c"]


def test_the_async_face_takes_both_kinds_of_callback(history: History, memory: SceneMemory) -> None:
    threads: list[threading.Thread] = []

    def plain(evidence: Evidence) -> Lesson:
        threads.append(threading.current_thread())
        return LESSON

    async def coroutine(evidence: Evidence) -> Lesson:
        await asyncio.sleep(0)
        return Lesson(notes=[Note("from a coroutine", scene="chan:qq")])

    for learn in (plain, coroutine):
        turn(history, "s", learn.__name__)
        learner = Learner(history, memory, learn, every=1)
        turn(history, "s", f"{learn.__name__} again")
        assert asyncio.run(learner.turn_ended_async()) is not None
    assert threads[0] is not threading.main_thread()
    assert len(memory.build_context("", scenes=["chan:qq"]).lines) == 1
    with pytest.raises(InvalidArgument, match="coroutine function"):
        Learner(history, memory, coroutine).turn_ended()


def test_a_cancelled_callback_loses_nothing(history: History, memory: SceneMemory) -> None:
    async def never(evidence: Evidence) -> Lesson:
        await asyncio.sleep(3600)
        return LESSON

    learner = Learner(history, memory, never, every=1)
    turn(history, "s", "a")

    async def run() -> None:
        task = asyncio.ensure_future(learner.turn_ended_async())
        while not learner._busy.locked():
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        assert await learner.turn_ended_async() is None  # one is at it
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert learner.count() == 1
    assert memory.status().relations == 0


def test_evidence_that_piled_up_comes_in_bounded_parts(
    history: History, memory: SceneMemory
) -> None:
    seen: list[int] = []
    learner = Learner(history, memory, lambda evidence: seen.append(len(evidence.turns)), every=2)
    for number in range(23):
        turn(history, "s", f"t{number}")
    learner.turn_ended()
    learner.turn_ended()
    learner.turn_ended()
    assert seen == [10, 10, 3]


def test_a_number_of_turns_is_needed(history: History, memory: SceneMemory) -> None:
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(InvalidArgument):
            Learner(history, memory, lambda evidence: None, every=wrong)  # type: ignore[arg-type]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.booleans()), max_size=30),
    st.integers(1, 4),
)
def test_every_turn_with_tools_is_seen_exactly_once(
    turns: list[tuple[str, int, bool]], every: int
) -> None:
    with (
        tempfile.TemporaryDirectory() as root,
        History.open(f"{root}/h.db", synchronous="normal") as history,
        SceneMemory.open(f"{root}/m.db", synchronous="normal") as memory,
    ):
        seen: list[str] = []
        fails = iter([True, False] * 50)

        def learn(evidence: Evidence) -> None:
            if next(fails):
                raise RuntimeError
            seen.extend(each.messages[0].uid for each in evidence.turns)

        learner = Learner(history, memory, learn, every=every)
        for number, (session, tools, look) in enumerate(turns):
            turn(history, session, f"t{number}", tools=tools)
            if look:
                try:
                    learner.turn_ended()
                except RuntimeError:
                    assert learner.count() >= every
        wanted = [f"t{n}-u" for n, (_, tools, _) in enumerate(turns) if tools]
        assert len(seen) == len(set(seen))
        assert sorted(seen) == sorted(wanted[: len(wanted)])[:0] or set(seen) <= set(wanted)
        assert len(seen) + learner.count() == len(wanted)
