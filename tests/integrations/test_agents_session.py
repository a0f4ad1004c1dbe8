# SPDX-License-Identifier: MIT
"""A session of the OpenAI Agents SDK: what the SDK keeps comes back, what was said is found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="the extra `openai-agents` is not installed")

import agents
from agents.memory import Session as SdkSession
from agents.memory import SessionSettings
from hypothesis import given, settings
from hypothesis import strategies as st

import mnemogram
from mnemogram import History, Session, SessionDeleted, StorageUnavailable, Triple
from mnemogram.history.redact import redact_secrets
from mnemogram.integrations.openai_agents import (
    MemoryHooks,
    MemorySession,
    make_tools,
    remembering,
    tools_of,
)
from mnemogram.learning import Evidence, Learner, Lesson
from mnemogram.memory import scene_keys_for
from mnemogram.service import MnemogramService
from tests.integrations.test_openai_agents import Scripted, calls, says

USER = {"role": "user", "content": "which tram goes to 大连港?"}
CALL = {
    "type": "function_call",
    "call_id": "c1",
    "name": "timetable",
    "arguments": '{"to": "harbour"}',
    "id": "__fake_id__",
}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "tram 7, every ten minutes"}
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "secret thoughts of pears"}],
    "encrypted_content": "gAAAA==",
}
ANSWER = {
    "id": "__fake_id__",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Tram 7.", "annotations": [], "logprobs": []}],
}
TURN = [USER, REASONING, CALL, RESULT, ANSWER]
COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAB=="}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[mnemogram.Mnemogram]:
    with mnemogram.open(tmp_path / "root", synchronous="normal") as home:
        yield home


@pytest.fixture
def history(home: mnemogram.Mnemogram) -> History:
    return home.history("ann")


def did(work: Awaitable[Any]) -> Any:
    async def wait() -> Any:
        return await work

    return asyncio.run(wait())


def told(history: History, session: str = "s") -> list[tuple[str, str, str]]:
    return [(each.role, each.content, each.state) for each in history.read(session).messages]


def found(history: History, query: str, **options: Any) -> list[str]:
    return [
        each.session_id
        for each in history.search(query, roles=("user", "assistant", "tool"), **options).results
    ]


# --- the contract of the SDK ---------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
item_values = st.sampled_from([*TURN, COMPACTION, {"role": "system", "content": "be brief"}]) | (
    st.dictionaries(
        st.sampled_from(["type", "role", "content", "call_id", "output", "id", "x"]), json_values
    )
)
operations = st.lists(
    st.tuples(st.just("add"), st.lists(item_values, max_size=4))
    | st.tuples(st.just("pop"), st.none())
    | st.tuples(st.just("clear"), st.none())
    | st.tuples(st.just("get"), st.none() | st.integers(-2, 4)),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(operations=operations)
def test_it_keeps_items_as_the_session_of_the_sdk_does(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("session") / "state.db"

    async def main() -> None:
        theirs = agents.SQLiteSession("s")
        with History.open(path, synchronous="normal") as history:
            ours = MemorySession("s", history)
            for name, value in operations:
                if name == "add":
                    await ours.add_items(value)
                    await theirs.add_items(value)
                elif name == "pop":
                    assert _same(await ours.pop_item(), await theirs.pop_item())
                elif name == "clear":
                    await ours.clear_session()
                    await theirs.clear_session()
                else:
                    assert _same(await ours.get_items(value), await theirs.get_items(value))
            assert _same(await ours.get_items(), await theirs.get_items())
            again = MemorySession("s", history)
            assert _same(await again.get_items(), await theirs.get_items())
        theirs.close()

    asyncio.run(main())


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)


def test_it_is_a_session_of_the_sdk(history: History) -> None:
    session = MemorySession(Session("s", title="Trams"), history)
    assert isinstance(session, SdkSession)
    assert session.session_id == "s"
    did(session.add_items(TURN))
    limited = MemorySession("s", history, session_settings=SessionSettings(limit=2))
    assert did(limited.get_items()) == TURN[-2:]
    assert did(limited.get_items(limit=3)) == TURN[-3:]
    assert history.read("s").title == "Trams"


def test_what_is_no_json_is_refused_and_nothing_is_stored(history: History) -> None:
    session = MemorySession("s", history)
    with pytest.raises(TypeError):
        did(session.add_items([USER, {"role": "user", "content": object()}]))
    assert did(session.get_items()) == []
    assert found(history, "大连港") == []


def test_half_characters_come_back_as_they_were(history: History) -> None:
    session = MemorySession("s", history)
    broken = {"role": "user", "content": "a \ud83d boat", "x": "\x00"}
    did(session.add_items([broken]))
    assert did(session.get_items()) == [broken]
    assert found(history, "boat") == ["s"]


# --- what was said -------------------------------------------------------------------------


def test_what_items_say_is_stored_once_and_what_nobody_said_is_not(history: History) -> None:
    session = MemorySession("s", history)
    did(session.add_items(TURN[:1]))
    did(session.add_items(TURN[1:]))
    assert told(history) == [
        ("user", USER["content"], "active"),
        ("assistant", "", "active"),
        ("tool", RESULT["output"], "active"),
        ("assistant", "Tram 7.", "active"),
    ]
    _, call, result, _ = history.read("s").messages
    assert call.tool_calls == [
        {"id": "c1", "name": "timetable", "arguments": '{"to": "harbour"}'}
    ] or call.tool_calls == [{"id": "c1", "name": "timetable", "arguments": {"to": "harbour"}}]
    assert (result.tool_call_id, result.tool_name) == ("c1", "timetable")
    assert found(history, "大连港") == ["s"]
    assert found(history, "every ten minutes") == ["s"]
    assert found(history, "pears") == []


def test_the_same_id_on_every_item_loses_nothing(history: History) -> None:
    session = MemorySession("s", history)
    other = {**ANSWER, "content": [{"type": "output_text", "text": "At pier 3."}]}
    did(session.add_items([ANSWER, other, ANSWER]))
    assert [content for _, content, _ in told(history)] == ["Tram 7.", "At pier 3.", "Tram 7."]


def test_the_name_of_a_tool_is_known_after_a_restart(history: History) -> None:
    did(MemorySession("s", history).add_items(TURN[:3]))
    later = MemorySession("s", history)

    async def go_on() -> None:
        await later.get_items()
        await later.add_items([RESULT])

    did(go_on())
    assert history.read("s").messages[-1].tool_name == "timetable"


def test_an_item_that_is_taken_back_hides_what_it_said(history: History) -> None:
    session = MemorySession("s", history)
    did(session.add_items(TURN))
    assert did(session.pop_item()) == ANSWER
    assert did(session.pop_item()) == RESULT
    assert found(history, "every ten minutes") == []
    did(session.add_items([RESULT]))
    assert found(history, "every ten minutes") == ["s"]
    assert len(told(history)) == 3


def test_a_session_that_is_emptied_is_found_from_itself_too(history: History) -> None:
    session = MemorySession("s", history)
    did(session.add_items(TURN))
    assert found(history, "大连港", current_session="s") == []
    did(session.clear_session())
    assert did(session.get_items()) == []
    assert found(history, "大连港", current_session="s") == ["s"]
    did(session.add_items([{"role": "user", "content": "and now?"}]))
    assert {state for _, _, state in told(history)} == {"compacted", "active"}
    assert len(told(history)) == 5


def test_a_compaction_stores_nothing_twice_and_takes_back_what_it_keeps(history: History) -> None:
    session = MemorySession("s", history)
    did(session.add_items(TURN))
    kept = {"role": "user", "content": [{"type": "input_text", "text": USER["content"]}]}

    async def compact() -> None:
        await session.clear_session()
        await session.add_items([kept, COMPACTION])

    did(compact())
    assert did(session.get_items()) == [kept, COMPACTION]
    assert [(content, state) for _, content, state in told(history)] == [
        (USER["content"], "active"),
        ("", "compacted"),
        (RESULT["output"], "compacted"),
        ("Tram 7.", "compacted"),
    ]
    assert found(history, "every ten minutes", current_session="s") == ["s"]


def test_a_compaction_that_fails_puts_everything_back(history: History) -> None:
    session = MemorySession("s", history)

    async def fail() -> None:
        await session.add_items(TURN)
        await session.clear_session()
        await session.add_items(TURN)

    did(fail())
    assert [state for _, _, state in told(history)] == ["active"] * 4


def test_a_deleted_conversation_takes_no_items(history: History) -> None:
    session = MemorySession("s", history)
    did(session.add_items(TURN))
    history.delete_session("s")
    assert did(session.get_items()) == []
    for items in (TURN, [REASONING]):
        with pytest.raises(SessionDeleted):
            did(session.add_items(items))


def test_secrets_are_taken_out_of_items_too(tmp_path: Path) -> None:
    with mnemogram.open(tmp_path, redactor=redact_secrets) as home:
        history = home.history("ann")
        session = MemorySession("s", history)
        secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"
        did(session.add_items([{"role": "user", "content": f"my key is {secret}"}, REASONING]))
        path = Path(history.path)
        assert REASONING in did(session.get_items())
    assert secret.encode() not in path.read_bytes()


def test_it_works_on_the_workers_of_a_service(tmp_path: Path) -> None:
    async def main() -> None:
        async with MnemogramService(tmp_path) as service:
            session = MemorySession("s", service.history("ann"))
            await session.add_items(TURN)
            assert await session.get_items() == TURN
            assert await session.pop_item() == ANSWER
            await session.clear_session()
            assert (await service.history("ann").search("大连港")).count == 1

    asyncio.run(main())


def test_a_change_that_is_cancelled_is_finished_all_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with MnemogramService(tmp_path, upkeep=False) as service:
            history = service.history("ann")
            session = MemorySession("s", history)
            await session.add_items([USER])
            with service.home.history("ann")._database.write():
                adding = asyncio.ensure_future(session.add_items([ANSWER]))
                await asyncio.sleep(0.05)
                adding.cancel()
                await asyncio.sleep(0.05)
                assert not adding.done()
            with pytest.raises(asyncio.CancelledError):
                await adding
            assert await session.get_items() == [USER, ANSWER]

    asyncio.run(main())


# --- runs ----------------------------------------------------------------------------------

CONFIG = agents.RunConfig(tracing_disabled=True)


class Failing(Scripted):
    """A model that raises what it was given to raise."""

    async def get_response(self, *args: Any, **options: Any) -> agents.ModelResponse:
        said = self.outputs.pop(0)
        if isinstance(said, Exception):
            raise said
        self.inputs.append(options["input"] if "input" in options else args[1])
        self.told.append(options["system_instructions"] if not args else args[0])
        output = said if isinstance(said, list) else [said]  # several calls at once
        return agents.ModelResponse(output=output, usage=agents.Usage(), response_id=None)

    def __init__(self, *outputs: Any) -> None:
        super().__init__(*outputs)
        self.told: list[str | None] = []


@agents.function_tool
def weigh(parcel: str) -> str:
    """Weigh a parcel."""
    return f"{parcel}: 300 grams"


@agents.function_tool(failure_error_function=None)
async def explode() -> str:
    """Break the run."""
    await asyncio.sleep(0.05)
    raise RuntimeError("the scales are gone")


def test_a_run_is_recorded_once_with_the_hooks_and_without(history: History) -> None:
    for hooked in (False, True):
        name = f"s{hooked}"
        session = MemorySession(name, history)
        model = Failing(calls("weigh", '{"parcel": "box"}', 1), says("300 grams."), says("Yes."))
        agent = agents.Agent(name="assistant", model=model, tools=[weigh])
        hooks = MemoryHooks(session) if hooked else None

        async def talk(
            session: MemorySession = session, agent: Any = agent, hooks: Any = hooks
        ) -> None:
            for question in ("How heavy is the box?", "Really?"):
                await agents.Runner.run(
                    agent, question, session=session, hooks=hooks, run_config=CONFIG
                )

        did(talk())
        assert [(role, content) for role, content, _ in told(history, name)] == [
            ("user", "How heavy is the box?"),
            ("assistant", ""),
            ("tool", "box: 300 grams"),
            ("assistant", "300 grams."),
            ("user", "Really?"),
            ("assistant", "Yes."),
        ]
        assert len(did(session.get_items())) == 6
        assert not session._early


def test_the_users_words_stay_where_the_model_fails(history: History) -> None:
    session = MemorySession("s", history)
    agent = agents.Agent(name="assistant", model=Failing(RuntimeError("no model")))
    with pytest.raises(RuntimeError):
        did(agents.Runner.run(agent, "大连港 please", session=session, run_config=CONFIG))
    assert found(history, "大连港") == ["s"]


def test_the_receipt_of_a_tool_is_kept_where_the_run_breaks_off(history: History) -> None:
    session = MemorySession("s", history)
    both = [calls("weigh", '{"parcel": "box"}', 1), calls("explode", "{}", 2)]
    agent = agents.Agent(name="assistant", model=Failing(both), tools=[weigh, explode])
    run = agents.Runner.run(
        agent, "Weigh it.", session=session, hooks=MemoryHooks(session), run_config=CONFIG
    )
    with pytest.raises(Exception, match="scales"):
        did(run)
    assert ("tool", "box: 300 grams", "active") in told(history)
    assert [each.tool_name for each in history.read("s").messages if each.role == "tool"] == [
        "weigh"
    ]


def test_an_item_says_better_what_a_hook_could_only_guess(history: History) -> None:
    session = MemorySession("s", history)
    early = {**RESULT, "output": "{'minutes': 10}"}

    async def go() -> None:
        await session.record([CALL, early])
        await session.add_items([CALL, RESULT])

    did(go())
    assert [content for _, content, _ in told(history)] == ["", RESULT["output"]]


def test_a_run_never_fails_for_what_hooks_cannot_store(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = MemorySession("s", history)
    reports: list[Exception] = []

    def refuse(*args: Any, **options: Any) -> Any:
        raise StorageUnavailable("the disk is away")

    monkeypatch.setattr(History, "append", refuse)
    hooks = MemoryHooks(session, report=reports.append)
    model = Failing(calls("weigh", '{"parcel": "box"}', 1), says("300 grams."))
    agent = agents.Agent(name="assistant", model=model, tools=[weigh])
    result = did(agents.Runner.run(agent, "Weigh it.", hooks=hooks, run_config=CONFIG))
    assert result.final_output == "300 grams."
    assert len(reports) == 3


def test_a_rule_of_one_channel_is_shown_there_and_nowhere_else(home: mnemogram.Mnemogram) -> None:
    memory = home.memory("ann")
    rule = Triple(
        "reply",
        "style",
        "no markdown",
        sentence="No markdown here.",
        kind="rule",
        trust="confirmed",
    )
    memory.commit([rule], scene="chan:qq")
    memory.commit([Triple("weigh", "needs", "gloves")], scene="tool:weigh")
    model = Failing(says("a"), says("b"))

    def scenes(context: Any) -> list[str]:
        return scene_keys_for(channel=context.context)

    agent = agents.Agent(
        name="assistant",
        model=model,
        instructions=remembering("Be brief.", memory, scenes=scenes),
        tools=[weigh],
    )
    for channel in ("qq", "mail"):
        did(agents.Runner.run(agent, "Hello?", context=channel, run_config=CONFIG))
    there, elsewhere = model.told
    assert there is not None
    assert elsewhere is not None
    assert there.startswith("Be brief.\n\n[Memory]")
    assert "No markdown here." in there
    assert "markdown" not in elsewhere
    assert "gloves" in there
    assert "gloves" in elsewhere


@pytest.mark.parametrize("own", [None, lambda context, agent: "Be brief.", "async"])
def test_the_hosts_own_instructions_may_be_of_any_kind(home: mnemogram.Mnemogram, own: Any) -> None:
    async def later(context: Any, agent: Any) -> str:
        return "Be brief."

    model = Failing(says("a"))
    agent = agents.Agent(
        name="assistant",
        model=model,
        instructions=remembering(later if own == "async" else own, home.memory("ann")),
    )
    did(agents.Runner.run(agent, "Hello?", run_config=CONFIG))
    assert model.told == ["" if own is None else "Be brief."]


def test_a_memory_that_cannot_be_read_fails_no_run(home: mnemogram.Mnemogram) -> None:
    reports: list[Exception] = []

    def gone(context: Any) -> Any:
        raise StorageUnavailable("the disk is away")

    model = Failing(says("a"))
    agent = agents.Agent(
        name="assistant",
        model=model,
        instructions=remembering("Be brief.", gone, report=reports.append),
    )
    did(agents.Runner.run(agent, "Hello?", run_config=CONFIG))
    assert model.told == ["Be brief."]
    assert len(reports) == 1


def test_what_is_learned_after_some_turns_comes_back_in_the_next_conversation(
    home: mnemogram.Mnemogram,
) -> None:
    history, memory = home.history("ann"), home.memory("ann")
    seen: list[Evidence] = []

    async def lessons(evidence: Evidence) -> Lesson:
        seen.append(evidence)
        return Lesson([Triple("weigh", "needs", "gloves", scene="tool:weigh")])

    learner = Learner(history, memory, lessons, every=2)
    for number in range(2):
        session = MemorySession(f"s{number}", history)
        model = Failing(calls("weigh", '{"parcel": "box"}', number), says("300 grams."))
        agent = agents.Agent(name="assistant", model=model, tools=[weigh])
        hooks = MemoryHooks(session, learner=learner)
        did(agents.Runner.run(agent, "Weigh it.", session=session, hooks=hooks, run_config=CONFIG))
    (evidence,) = seen
    assert [each.session_id for each in evidence.turns] == ["s0", "s1"]
    assert "box: 300 grams" in evidence.text()
    model = Failing(says("a"))
    told_so = remembering(None, memory)
    agent = agents.Agent(name="assistant", model=model, instructions=told_so, tools=[weigh])
    did(agents.Runner.run(agent, "Hello?", run_config=CONFIG))
    assert "gloves" in str(model.told[0])


def test_what_left_the_session_is_found_by_its_own_agent(home: mnemogram.Mnemogram) -> None:
    history, memory = home.history("ann"), home.memory("ann")
    session = MemorySession("s", history)
    did(session.add_items(TURN))
    did(session.clear_session())
    model = Failing(calls("session_search", '{"query": "大连港"}', 1), says("Tram 7."))
    tools = make_tools(tools_of(history, memory, current_session="s", read_only=True))
    agent = agents.Agent(name="assistant", model=model, tools=tools)
    did(agents.Runner.run(agent, "The tram?", session=session, run_config=CONFIG))
    outputs = [each["output"] for each in model.inputs[-1] if "output" in each]
    assert json.loads(outputs[0])["count"] == 1


def test_a_file_of_the_version_before_takes_items(tmp_path: Path) -> None:
    from mnemogram.history import schema
    from mnemogram.sqlite.database import Database, Schema

    path = tmp_path / "state.db"
    old = Schema(
        application_id=schema.SCHEMA.application_id,
        version=2,
        upgrade=lambda connection, version: [step(connection) for step in schema.STEPS[:2]],
        adapt=lambda connection, version: None,
    )
    Database(path, old).close()
    with History.open(path, read_only=True) as history:
        assert did(MemorySession("s", history).get_items()) == []
    with History.open(path) as history:
        session = MemorySession("s", history)
        did(session.add_items(TURN))
        assert did(session.get_items()) == TURN
