# SPDX-License-Identifier: MIT
"""A real agent with a scripted model: all that is said is kept, what matters comes back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain", reason="the extra `langchain` is not installed (needs 3.11)")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
)
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import PrivateAttr

import mnemogram
from mnemogram import History, InvalidArgument, StorageUnavailable, Triple
from mnemogram.integrations.langchain import MemoryMiddleware
from mnemogram.learning import Evidence, Learner, Lesson
from mnemogram.memory import scene_keys_for


class Scripted(BaseChatModel):
    """A model that says what it was told to, and keeps what it was asked."""

    script: list[Any]
    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _at: int = PrivateAttr(default=0)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def asked(self) -> list[list[BaseMessage]]:
        return self._asked

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
        self._asked.append(list(messages))
        said = self.script[self._at]
        self._at += 1
        if isinstance(said, Exception):
            raise said
        message = AIMessage(said) if isinstance(said, str) else said.model_copy()
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def look(place: str) -> str:
    """Look into a place."""
    return f"in the {place} there is a {place}-lamp"


def calls(*places: str, name: str = "look") -> AIMessage:
    made = [{"name": name, "args": {"place": each}, "id": f"call-{each}"} for each in places]
    return AIMessage("", tool_calls=made)


def thread(name: str, **more: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": name, **more}}


def said(history: History, session: str) -> list[tuple[str, str, str]]:
    read = history.read(session)
    assert read.message_count == len(read.messages)
    return [(each.role, each.content, each.state) for each in read.messages]


def contents(history: History, session: str) -> list[str]:
    return [content for _, content, _ in said(history, session)]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[mnemogram.Mnemogram]:
    with mnemogram.open(tmp_path / "root") as home:
        yield home


@pytest.fixture
def history(home: mnemogram.Mnemogram) -> History:
    return home.history("ann")


Run = Callable[[Any, Any, Any], Any]


def invoked(agent: Any, given: Any, config: Any) -> Any:
    return agent.invoke(given, config)


def ainvoked(agent: Any, given: Any, config: Any) -> Any:
    return asyncio.run(agent.ainvoke(given, config))


def streamed(agent: Any, given: Any, config: Any) -> Any:
    list(agent.stream(given, config, stream_mode="messages"))
    return agent.get_state(config).values


def astreamed(agent: Any, given: Any, config: Any) -> Any:
    async def run() -> None:
        async for _ in agent.astream(given, config):
            pass

    asyncio.run(run())
    return agent.get_state(config).values


RUNS = pytest.mark.parametrize("run", [invoked, ainvoked, streamed, astreamed])


def asks(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, **more)]}


@RUNS
def test_nothing_is_lost_where_summaries_come_in_the_middle_of_a_turn(
    home: mnemogram.Mnemogram, history: History, run: Run
) -> None:
    places = ["attic", "barn", "cellar", "den", "estate", "foyer", "garage", "hall"]
    summaries = Scripted(script=["the gist of the cobalt"] * 20)
    model = Scripted(script=[*(calls(each) for each in places), "the lamp is in the hall"])
    agent = create_agent(
        model,
        [look],
        middleware=[
            SummarizationMiddleware(summaries, trigger=("messages", 4), keep=("messages", 2)),
            MemoryMiddleware(history, home.memory("ann")),
        ],
        checkpointer=InMemorySaver(),
    )
    state = run(agent, asks("Where did I leave the zirconium lamp?"), thread("t"))
    assert summaries.asked, "the scenario is one with summaries"
    assert not any("zirconium" in each.text for each in state["messages"])

    stored = said(history, "t")
    assert [role for role, _, _ in stored] == ["user", *["assistant", "tool"] * 8, "assistant"]
    for place in places:
        assert sum(f"{place}-lamp" in content for _, content, _ in stored) == 1
    assert not any("gist" in content for _, content, _ in stored)
    assert history.search("gist", roles=("user", "assistant", "tool")).count == 0

    live = {each.text for each in state["messages"]}
    for role, content, kept in stored:
        if role != "assistant":
            assert kept == ("active" if content in live else "compacted")
    # What left the context is found where it was said, what is in it is not.
    assert history.search("zirconium", current_session="t").count == 1
    assert history.search("barn-lamp", roles=("tool",), current_session="t").count == 1
    assert history.search("hall", roles=("tool",), current_session="t").count == 0
    # The next day, in another conversation: the original.
    (found,) = history.search("zirconium", current_session="other").results
    assert "Where did I leave" in found.snippet


def test_results_carry_their_call_and_their_tool(history: History) -> None:
    model = Scripted(script=[calls("attic", "barn"), "done"])
    agent = create_agent(model, [look], middleware=[MemoryMiddleware(history, session="s")])
    agent.invoke(asks("look around"))
    asked, attic, barn = history.read("s").messages[1:4]
    assert [each["id"] for each in asked.tool_calls] == ["call-attic", "call-barn"]
    assert {attic.tool_call_id, barn.tool_call_id} == {"call-attic", "call-barn"}
    assert (attic.tool_name, attic.tool_status) == ("look", "success")


@RUNS
def test_the_question_is_kept_where_the_model_fails(history: History, run: Run) -> None:
    model = Scripted(script=[RuntimeError("no model today"), "here I am"])
    agent = create_agent(
        model, middleware=[MemoryMiddleware(history)], checkpointer=InMemorySaver()
    )
    with pytest.raises(RuntimeError, match="no model"):
        run(agent, asks("is anybody there?"), thread("t"))
    assert said(history, "t") == [("user", "is anybody there?", "active")]
    run(agent, asks("hello?"), thread("t"))
    assert said(history, "t") == [
        ("user", "is anybody there?", "active"),
        ("user", "hello?", "active"),
        ("assistant", "here I am", "active"),
    ]


def test_nothing_is_marked_where_the_model_fails_on_a_shortened_context(history: History) -> None:
    model = Scripted(script=["one", RuntimeError("no model today"), "three"])
    agent = create_agent(
        model,
        middleware=[
            MemoryMiddleware(history),
            SummarizationMiddleware(
                Scripted(script=["gist"] * 9), trigger=("messages", 3), keep=("messages", 1)
            ),
        ],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(asks("first"), thread("t"))
    with pytest.raises(RuntimeError):
        agent.invoke(asks("second"), thread("t"))
    assert [state for _, _, state in said(history, "t")] == ["active"] * 3
    agent.invoke(asks("third"), thread("t"))
    assert [state for _, _, state in said(history, "t")][:2] == ["compacted", "compacted"]
    assert contents(history, "t") == ["first", "one", "second", "third", "three"]


class Failing:
    """A history's append that fails a number of times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.real = History.append

    def __get__(self, instance: History, owner: Any = None) -> Any:
        def append(*args: Any) -> Any:
            if self.left:
                self.left -= 1
                raise StorageUnavailable("the disk is full")
            return self.real(instance, *args)

        return append


def test_a_turn_is_not_lost_for_its_record(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Exception] = []
    model = Scripted(script=[calls("attic"), "done", "again"])
    agent = create_agent(
        model,
        [look],
        middleware=[MemoryMiddleware(history, report=told.append, attempts=1)],
        checkpointer=InMemorySaver(),
    )
    monkeypatch.setattr(History, "append", Failing(10**6))
    state = agent.invoke(asks("look there"), thread("t"))
    assert state["messages"][-1].text == "done"
    assert told
    assert all(isinstance(each, StorageUnavailable) for each in told)
    monkeypatch.undo()
    agent.invoke(asks("and now?"), thread("t"))
    stored = contents(history, "t")
    assert [stored[0], *stored[2:]] == [
        "look there",
        "in the attic there is a attic-lamp",
        "done",
        "and now?",
        "again",
    ]


def test_a_failure_that_passes_is_not_even_reported(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Exception] = []
    monkeypatch.setattr(History, "append", Failing(2))
    memory = MemoryMiddleware(history, session="s", report=told.append)
    create_agent(Scripted(script=["done"]), middleware=[memory]).invoke(asks("hi"))
    assert not told
    assert contents(history, "s") == ["hi", "done"]


def test_a_report_that_fails_and_a_memory_that_fails_hold_nobody_up(
    home: mnemogram.Mnemogram, history: History
) -> None:
    def report(error: Exception) -> None:
        raise ValueError("no ears")

    def memory_of(runtime: Any) -> Any:
        raise StorageUnavailable("gone")

    memory = MemoryMiddleware(history, memory_of, session="s", report=report)
    agent = create_agent(Scripted(script=["done"]), middleware=[memory])
    assert agent.invoke(asks("hi"))["messages"][-1].text == "done"
    assert contents(history, "s") == ["hi", "done"]


def test_the_redactor_of_a_host_that_fails_holds_nobody_up(tmp_path: Path) -> None:
    def redactor(text: str) -> str:
        raise RuntimeError("cannot redact")

    told: list[Exception] = []
    with History.open(tmp_path / "h.db", redactor=redactor) as history:
        memory = MemoryMiddleware(history, session="s", report=told.append, attempts=1)
        agent = create_agent(Scripted(script=["done"]), middleware=[memory])
        assert agent.invoke(asks("hi"))["messages"][-1].text == "done"
    assert told


def rule(home: mnemogram.Mnemogram, text: str, scene: str) -> None:
    told = Triple("reply", "style", text, sentence=text, kind="rule", trust="confirmed")
    home.memory("ann").commit([told], scene=scene)


def system_of(messages: Sequence[BaseMessage]) -> str:
    return "".join(str(each.text) for each in messages if each.type == "system")


@RUNS
def test_a_rule_comes_back_in_its_channel_and_in_no_other(
    home: mnemogram.Mnemogram, history: History, run: Run
) -> None:
    rule(home, "always sign as Captain Nemo", "chan:qq/peer:group_1")
    channel = {"now": "qq"}
    model = Scripted(script=["ok"] * 3)
    agent = create_agent(
        model,
        middleware=[
            MemoryMiddleware(
                history,
                home.memory("ann"),
                scenes=lambda runtime: scene_keys_for(channel=channel["now"], peer="group_1"),
            )
        ],
        system_prompt="You are kind.",
        checkpointer=InMemorySaver(),
    )
    run(agent, asks("write a letter"), thread("a"))
    channel["now"] = "mail"
    run(agent, asks("write a letter"), thread("b"))
    shown, other = (system_of(each) for each in model.asked)
    assert shown.startswith("You are kind.")
    assert "Captain Nemo" in shown
    assert other == "You are kind."
    assert "Captain" not in str(model.asked[1])
    # The block is the system's: neither the state nor the record has it.
    assert contents(history, "a") == ["write a letter", "ok"]


def test_rules_of_a_tool_are_shown_while_it_is_at_hand(
    home: mnemogram.Mnemogram, history: History
) -> None:
    rule(home, "never look at night", "tool:look")
    rule(home, "mail only in English", "tool:send_mail")
    model = Scripted(script=["ok"])
    memory = MemoryMiddleware(history, home.memory("ann"), session="s")
    create_agent(model, [look], middleware=[memory]).invoke(asks("hi"))
    shown = system_of(model.asked[0])
    assert shown.index("tool look") < shown.index("never look at night")
    assert "English" not in shown


@pytest.mark.parametrize("most", [0, 150, 400, 1_000])
def test_the_block_stays_inside_its_budget(
    home: mnemogram.Mnemogram, history: History, most: int
) -> None:
    for number in range(30):
        rule(home, f"rule number {number} of the house, worded at length", "chan:qq")
        rule(home, f"tool rule number {number}", "tool:look")
    model = Scripted(script=["ok"])
    memory = MemoryMiddleware(
        history, home.memory("ann"), session="s", scenes=["chan:qq"], max_chars=most
    )
    create_agent(model, [look], middleware=[memory]).invoke(asks("hi"))
    assert len(system_of(model.asked[0])) <= most


@RUNS
def test_the_tools_are_those_of_the_user_whose_run_it_is(
    home: mnemogram.Mnemogram, history: History, run: Run
) -> None:
    home.history("ann").append("old", [mnemogram.Message("user", "the dentist is on friday")])
    home.history("bob").append("old", [mnemogram.Message("user", "bob's dentist is on monday")])
    search = AIMessage(
        "", tool_calls=[{"name": "session_search", "args": {"query": "dentist"}, "id": "c"}]
    )
    told = {"subject": "Ann", "relation": "likes", "object": "tea", "scene": "here"}
    commit = AIMessage(
        "", tool_calls=[{"name": "memory_commit", "args": {"triples": [told]}, "id": "d"}]
    )
    who = {"user": "ann"}
    memory = MemoryMiddleware(
        lambda runtime: home.history(who["user"]),
        lambda runtime: home.memory(who["user"]),
        scenes=["chan:qq"],
    )
    model = Scripted(script=[search, commit, "ok", search, "ok"])
    agent = create_agent(model, middleware=[memory], checkpointer=InMemorySaver())
    first = run(agent, asks("when is it?"), thread("t"))
    who["user"] = "bob"
    second = run(agent, asks("when is it?"), thread("u"))
    results = [each for each in first["messages"] if isinstance(each, ToolMessage)]
    assert "friday" in results[0].text
    assert "monday" not in results[0].text
    assert "when is it" not in results[0].text  # the running conversation
    assert [each.object for each in home.memory("ann").recall_by_scene(["chan:qq"])] == ["tea"]
    (result,) = (each for each in second["messages"] if isinstance(each, ToolMessage))
    assert "monday" in result.text
    assert home.history("bob").read("u").message_count == 4
    assert "u" not in {each.session_id for each in history.browse().results}


def test_a_thread_that_goes_back_takes_its_record_along(history: History) -> None:
    model = Scripted(script=["one", calls("attic"), "two", "three", "four"])
    agent = create_agent(
        model, [look], middleware=[MemoryMiddleware(history)], checkpointer=InMemorySaver()
    )
    agent.invoke(asks("first"), thread("t"))
    earlier = agent.get_state(thread("t")).config
    agent.invoke(asks("second"), thread("t"))
    assert len(said(history, "t")) == 6
    agent.invoke(asks("instead"), earlier)
    assert contents(history, "t") == ["first", "one", "instead", "three"]
    assert history.search("second", current_session="x").count == 0
    # Undoing by hand is the same.
    last = agent.get_state(thread("t")).values["messages"][-2:]
    agent.update_state(thread("t"), {"messages": [RemoveMessage(each.id) for each in last]})
    agent.invoke(asks("finally"), thread("t"))
    assert contents(history, "t") == ["first", "one", "finally", "four"]


def test_a_thread_goes_back_in_a_new_process(history: History) -> None:
    saver = InMemorySaver()

    def agent(*script: Any) -> Any:
        return create_agent(
            Scripted(script=list(script)),
            middleware=[
                MemoryMiddleware(history),
                SummarizationMiddleware(
                    Scripted(script=["gist"] * 9), trigger=("messages", 5), keep=("messages", 1)
                ),
            ],
            checkpointer=saver,
        )

    agent("one").invoke(asks("first"), thread("t"))
    earlier = agent().get_state(thread("t")).config
    agent("two").invoke(asks("second"), thread("t"))
    agent("three").invoke(asks("third"), thread("t"))
    assert [state for _, _, state in said(history, "t")] == ["compacted"] * 4 + ["active"] * 2
    agent("four").invoke(asks("instead"), earlier)
    assert contents(history, "t") == ["first", "one", "instead", "four"]


def test_what_a_broken_turn_has_done_is_kept(history: History) -> None:
    done = threading.Event()

    @tool
    def work(place: str) -> str:
        """Work at a place."""
        if place == "broken":
            done.wait(30)
            raise RuntimeError("the turn breaks off")
        done.set()
        return f"{place} is done"

    model = Scripted(script=[calls("attic", "broken", name="work"), "sorry", "well"])
    agent = create_agent(
        model, [work], middleware=[MemoryMiddleware(history)], checkpointer=InMemorySaver()
    )
    config = {**thread("t"), "max_concurrency": 4}
    with pytest.raises(RuntimeError, match="breaks off"):
        agent.invoke(asks("work"), config)
    assert "attic is done" in contents(history, "t")
    agent.update_state(
        thread("t"),
        {
            "messages": [
                ToolMessage("broken off", tool_call_id=f"call-{each}", id=f"lost-{each}")
                for each in ("attic", "broken")
            ]
        },
        as_node="tools",
    )
    agent.invoke(asks("what now?"), thread("t"))
    states = {content: state for _, content, state in said(history, "t")}
    assert states["attic is done"] == "compacted"
    assert states["work"] == "active"


def test_a_person_in_the_loop_may_change_a_call(history: History) -> None:
    model = Scripted(script=[calls("attic"), "done"])
    agent = create_agent(
        model,
        [look],
        middleware=[MemoryMiddleware(history), HumanInTheLoopMiddleware({"look": True})],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(asks("look"), thread("t"))
    assert len(said(history, "t")) == 2
    edited = {"name": "look", "args": {"place": "barn"}}
    decision = {"decisions": [{"type": "edit", "edited_action": edited}]}
    agent.invoke(Command(resume=decision), thread("t"))
    stored = history.read("t").messages
    assert [each.role for each in stored] == ["user", "assistant", "tool", "assistant"]
    assert "attic" in str(stored[1].tool_calls)  # what the model asked for
    assert "barn-lamp" in stored[2].content  # and what was done


def test_a_call_that_the_state_has_otherwise_is_corrected(history: History) -> None:
    class Edits(AgentMiddleware[Any, Any, Any]):
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            last = state["messages"][-1]
            if not last.tool_calls:
                return None
            return {"messages": [calls("barn").model_copy(update={"id": last.id})]}

    model = Scripted(script=[calls("attic"), "done"])
    middleware = [Edits(), MemoryMiddleware(history, session="s")]
    create_agent(model, [look], middleware=middleware).invoke(asks("look"))
    stored = history.read("s").messages
    assert [each.role for each in stored] == ["user", "assistant", "tool", "assistant"]
    assert "attic" not in str(stored[1].tool_calls)
    assert "barn" in str(stored[1].tool_calls)


def test_an_agent_inside_a_graph_speaks_in_a_session_below_the_thread(history: History) -> None:
    memory = MemoryMiddleware(history)
    inner = create_agent(Scripted(script=["from inside"]), middleware=[memory])

    @tool
    def delegate(place: str) -> str:
        """Ask another agent."""
        agent = create_agent(Scripted(script=["a sub answer"]), middleware=[memory])
        return str(agent.invoke(asks("the sub question"))["messages"][-1].text)

    outer = create_agent(
        Scripted(script=[calls("x", name="delegate"), "all done"]),
        [delegate],
        middleware=[MemoryMiddleware(history)],
        checkpointer=InMemorySaver(),
    )
    outer.invoke(asks("the question"), thread("t"))
    assert contents(history, "t") == ["the question", "", "a sub answer", "all done"]
    assert {each.session_id for each in history.search("sub question").results} == {"t"}

    graph = StateGraph(MessagesState)
    graph.add_node("writer", inner)
    graph.add_edge(START, "writer")
    graph.compile(checkpointer=InMemorySaver()).invoke(asks("from outside"), thread("g"))
    assert contents(history, "g/writer") == ["from outside", "from inside"]
    (found,) = history.search("outside").results
    assert found.parent_session_id == "g"


def test_parallel_calls_each_leave_one_receipt(history: History) -> None:
    places = [f"room{n}" for n in range(12)]
    model = Scripted(script=[calls(*places), "done"])
    agent = create_agent(model, [look], middleware=[MemoryMiddleware(history, session="s")])
    agent.invoke(asks("look everywhere"))
    receipts = [content for role, content, _ in said(history, "s") if role == "tool"]
    assert len(receipts) == len(set(receipts)) == 12


def test_a_tool_that_changes_the_state_leaves_its_receipt(history: History) -> None:
    @tool
    def jump(place: str) -> Command[Any]:
        """Go somewhere."""
        return Command(update={"messages": [ToolMessage(f"at {place}", tool_call_id="call-x")]})

    model = Scripted(script=[calls("x", name="jump"), "done"])
    agent = create_agent(model, [jump], middleware=[MemoryMiddleware(history, session="s")])
    agent.invoke(asks("go"))
    assert contents(history, "s") == ["go", "", "at x", "done"]


def test_what_other_middleware_adds_and_what_nobody_knows_is_no_obstacle(history: History) -> None:
    from langchain_core.messages import ChatMessage

    class Adds(AgentMiddleware[Any, Any, Any]):
        def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [AIMessage("one thing more"), ChatMessage("hm", role="critic")]}

    told: list[Exception] = []
    agent = create_agent(
        Scripted(script=["done"]),
        middleware=[MemoryMiddleware(history, session="s", report=told.append), Adds()],
    )
    agent.invoke(asks("hi"))
    assert contents(history, "s") == ["hi", "done", "one thing more"]
    assert [type(each) for each in told] == [InvalidArgument]


def test_a_deleted_conversation_takes_no_more_and_says_so(history: History) -> None:
    told: list[Exception] = []
    memory = MemoryMiddleware(history, session="s", report=told.append)
    agent = create_agent(Scripted(script=["one", "two"]), middleware=[memory])
    agent.invoke(asks("hi"))
    history.delete_session("s")
    agent.invoke(asks("again"))
    assert told
    assert history.browse().count == 0


def test_without_a_session_and_a_thread_nobody_knows_where_to_store(history: History) -> None:
    agent = create_agent(Scripted(script=["x"]), middleware=[MemoryMiddleware(history)])
    with pytest.raises(InvalidArgument, match="which conversation"):
        agent.invoke(asks("hi"))


@RUNS
def test_what_is_learned_after_some_turns_comes_back_in_the_next_conversation(
    home: mnemogram.Mnemogram, history: History, run: Run
) -> None:
    told: list[Exception] = []
    seen: list[Evidence] = []

    def learn(evidence: Evidence) -> Lesson:
        seen.append(evidence)
        if len(seen) == 1:
            raise RuntimeError("not now")
        return Lesson([Triple("lamps", "stand in", "the attic", scene="chan:qq")])

    learner = Learner(history, home.memory("ann"), learn, every=2)
    model = Scripted(script=[*([calls("attic"), "done"] * 3), "so it is"])
    memory = MemoryMiddleware(
        history, home.memory("ann"), scenes=["chan:qq"], learner=learner, report=told.append
    )
    agent = create_agent(model, [look], middleware=[memory], checkpointer=InMemorySaver())
    for number in range(3):
        run(agent, asks(f"look, {number}"), thread(f"t{number}"))
    assert [len(each.turns) for each in seen] == [2, 3]
    assert [str(each) for each in told] == ["not now"]
    run(agent, asks("where are they?"), thread("next"))
    assert "the attic" in system_of(model.asked[-1])
    assert "the attic" not in system_of(model.asked[-2])


def test_wrong_options_are_refused(history: History) -> None:
    with pytest.raises(InvalidArgument, match="tools"):
        MemoryMiddleware(history, tools="some")
    with pytest.raises(InvalidArgument, match="attempts"):
        MemoryMiddleware(history, attempts=0)


def test_only_the_tools_that_were_asked_for_are_offered(
    home: mnemogram.Mnemogram, history: History
) -> None:
    memory = home.memory("ann")

    def names(middleware: MemoryMiddleware) -> list[str]:
        return [each.name for each in middleware.tools]

    everything = ["session_search", "memory_commit", "memory_recall"]
    assert names(MemoryMiddleware(history, memory)) == everything
    assert names(MemoryMiddleware(history, memory, tools="read")) == [everything[0], everything[2]]
    assert names(MemoryMiddleware(history, tools="all")) == everything[:1]
    assert names(MemoryMiddleware(history, memory, tools="none")) == []
