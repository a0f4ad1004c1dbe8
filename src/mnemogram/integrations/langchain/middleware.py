# SPDX-License-Identifier: MIT
"""Middleware for ``create_agent``: what is said is kept whole, and what matters comes back."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import get_runtime
from langgraph.types import Command

from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.history.models import Session
from mnemogram.integrations.langchain.messages import is_made_up
from mnemogram.integrations.langchain.recording import Recorder, Recording, Report
from mnemogram.integrations.langchain.tools import MemoryTool
from mnemogram.learning import Learner
from mnemogram.memory import SceneMemory
from mnemogram.memory.arguments import checked_trust
from mnemogram.memory.context import Language
from mnemogram.memory.models import Trust
from mnemogram.tools import Tool, tools_of
from mnemogram.tools.context import MAX_CHARS, context_block
from mnemogram.tools.memory import COMMIT, RECALL, Confirm
from mnemogram.tools.session_search import DECLARATION, session_search_tool

__all__ = ["MemoryMiddleware"]

_HistoryOf: TypeAlias = History | Callable[[Any], History]
_MemoryOf: TypeAlias = SceneMemory | Callable[[Any], SceneMemory] | None
_LearnerOf: TypeAlias = Learner | Callable[[Any], Learner | None] | None
_SessionOf: TypeAlias = str | Session | Callable[[Any], str | Session | None] | None
_ScenesOf: TypeAlias = Iterable[str] | Callable[[Any], Iterable[str]]

_TOOLS_NODE: Final = "tools"


class MemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keep what is said in an agent of LangChain, and show it what it should remember.

    Put it first in the list, before anything that summarizes::

        memory = MemoryMiddleware(
            home.history("alice"),
            home.memory("alice"),
            scenes=lambda runtime: scene_keys_for(channel="qq", peer=runtime.context["peer"]),
        )
        agent = create_agent(
            model, tools, middleware=[memory, SummarizationMiddleware(...)], checkpointer=saver
        )

    - Every message of people, models and tools is stored the moment it exists, before a
      summary can take its place: the user's before the model is asked, a tool's before the
      others of its turn are done. Summaries are stored nowhere.
    - What the state of the graph no longer holds is marked as compacted once the model has
      answered without it: it can be found again in the same conversation. Where a thread
      goes on from an earlier checkpoint, what came after that is rewound.
    - For each call of a model the system prompt gets a block of what the scene memory holds
      for the situation, and of rules for the tools at hand.
    - The tools ``session_search``, ``memory_commit`` and ``memory_recall`` are offered.

    Nothing of this fails a turn: what cannot be stored now is tried again, kept for the next
    time, and reported.

    Args:
        history: the user's history; or, where an agent serves many users, a function of the
            run's ``Runtime`` that returns it.
        memory: the user's scene memory, or such a function; None for none.
        session: the conversation, its id, or a function of the runtime that returns one; the
            thread's id by default. An agent inside another's graph gets a session of its
            own, below that of the thread.
        scenes: keys of the present situation, or a function of the runtime that returns
            them; see ``scene_keys_for``.
        tools: ``"all"``, ``"read"`` for those that change nothing, or ``"none"``.
        max_chars: characters of the block in the system prompt; 0 for no block.
        tool_rules: show also what is pinned to the scenes of the tools at hand.
        language: of the words around the memories: ``en``, ``zh``, ``ja``, ``ko``.
        trust: of what a model commits, see ``memory_commit_tool``.
        confirm: asks the user about a rule that a model commits, see ``memory_commit_tool``.
        learner: learns after some turns with tools, see :mod:`mnemogram.learning`; or a
            function of the runtime that returns one. Its callback works at the end of a
            turn, before the answer is given back.
        report: called with an exception of recording or recalling, after the last try;
            logged by default. What it raises is logged, too.
        attempts: how often storing is tried before it is put off.

    Raises:
        InvalidArgument: an option is out of range; at the first turn, there is neither a
            session nor a thread id.
    """

    def __init__(
        self,
        history: _HistoryOf,
        memory: _MemoryOf = None,
        *,
        session: _SessionOf = None,
        scenes: _ScenesOf = (),
        tools: str = "all",
        max_chars: int = MAX_CHARS,
        tool_rules: bool = True,
        language: Language = "en",
        trust: Trust = "observed",
        confirm: Confirm | None = None,
        learner: _LearnerOf = None,
        report: Report | None = None,
        attempts: int = 3,
    ) -> None:
        super().__init__()
        if tools not in ("all", "read", "none"):
            raise InvalidArgument(f"tools cannot be {tools!r}", hint="Use all, read or none.")
        checked_trust(trust)
        self._history_of = history
        self._memory_of = memory
        self._session_of = session
        self._scenes_of = scenes
        self._max_chars = max_chars
        self._tool_rules = tool_rules
        self._language = language
        self._learner_of = learner
        self._trust = trust
        self._confirm = confirm
        self._recorder = Recorder(report=report, attempts=attempts)
        self.tools = [] if tools == "none" else self._made_tools(read_only=tools == "read")

    # -- whose run it is

    def _history(self, runtime: Any) -> History:
        given = self._history_of
        return given if isinstance(given, History) else given(runtime)

    def _memory(self, runtime: Any) -> SceneMemory | None:
        given = self._memory_of
        return given if given is None or isinstance(given, SceneMemory) else given(runtime)

    def _scenes(self, runtime: Any) -> list[str]:
        found = self._scenes_of(runtime) if callable(self._scenes_of) else self._scenes_of
        return [found] if isinstance(found, str) else list(found)

    def _session(self, runtime: Any) -> Session:
        given = self._session_of
        found = given(runtime) if callable(given) else given
        if found is not None:
            return found if isinstance(found, Session) else Session(found)
        info = getattr(runtime, "execution_info", None)
        thread = getattr(info, "thread_id", None)
        if not thread:
            raise InvalidArgument(
                "nobody said which conversation this is",
                hint='Give MemoryMiddleware a session, or invoke with "thread_id".',
            )
        above = _graphs_above(info)
        if not above:
            return Session(str(thread))
        # An agent that a tool calls speaks with the other agent, each time anew.
        inside = [part if part.startswith(_TOOLS_NODE) else part.split(":")[0] for part in above]
        called = any(part.startswith(_TOOLS_NODE) for part in above)
        return Session(
            "/".join((str(thread), *inside)),
            source="subagent" if called else "chat",
            parent=str(thread),
        )

    def _recording(self, runtime: Any) -> Recording:
        return self._recorder.of(self._history(runtime), self._session(runtime))

    # -- tools

    def _made_tools(self, *, read_only: bool) -> list[MemoryTool]:
        declared = [DECLARATION] if self._memory_of is None else [DECLARATION, COMMIT, RECALL]

        def bound(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
            def answer(given: dict[str, Any]) -> dict[str, Any]:
                return self._bound_tool(name).handler(given)

            return answer

        return [
            MemoryTool(Tool(each, bound(each.name)))
            for each in declared
            if each.read_only or not read_only
        ]

    def _bound_tool(self, name: str) -> Tool:
        """Return a tool over the stores of the user whose run this is."""
        runtime = get_runtime()
        history, session = self._history(runtime), self._session(runtime).id
        memory = self._memory(runtime)
        if memory is None:
            return session_search_tool(history, current_session=session)
        scenes = self._scenes(runtime)
        tools = tools_of(
            history,
            memory,
            current_session=session,
            current_scenes=scenes,
            trust=self._trust,
            confirm=self._confirm,
        )
        return next(each for each in tools if each.name == name)

    # -- what happens around a run

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Store what the user said, before any model is asked."""
        info = getattr(runtime, "execution_info", None)
        threaded = bool(getattr(info, "thread_id", None)) and not _graphs_above(info)
        self._recording(runtime).turn_begins(state["messages"], may_rewind=threaded)

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """Store what the user said, on a worker thread."""
        await asyncio.to_thread(self.before_agent, state, runtime)

    def after_model(self, state: Any, runtime: Any) -> None:
        """Store what the state holds now; calls that a person has changed are corrected."""
        self._recording(runtime).committed(state["messages"])

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        """Store what the state holds now, on a worker thread."""
        await asyncio.to_thread(self.after_model, state, runtime)

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Store what was added at the end of the run, and learn where it is time."""
        self._ended(state, runtime)
        if (learner := self._learner(runtime)) is not None:
            self._guarded(learner.turn_ended)

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Store what was added at the end of the run, and learn where it is time."""
        await asyncio.to_thread(self._ended, state, runtime)
        if (learner := self._learner(runtime)) is not None:
            try:
                await learner.turn_ended_async()
            except Exception as error:  # the host's callback's
                self._recorder.tell(error)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Show the model what it should remember, and store what it answers."""
        shown = self._shown(request)
        return self._answered(request, handler(shown))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Show the model what it should remember, and store what it answers."""
        shown = await asyncio.to_thread(self._shown, request)
        response = await handler(shown)
        return await asyncio.to_thread(self._answered, request, response)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Store what a tool returned, whatever becomes of the turn."""
        return self._returned(request, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Store what a tool returned, whatever becomes of the turn."""
        result = await handler(request)
        return await asyncio.to_thread(self._returned, request, result)

    # -- the parts of it

    def _ended(self, state: Any, runtime: Any) -> None:
        self._recording(runtime).committed(state["messages"])

    def _learner(self, runtime: Any) -> Learner | None:
        given = self._learner_of
        if given is None or isinstance(given, Learner):
            return given
        found: list[Learner | None] = []
        self._guarded(lambda: found.append(given(runtime)))
        return found[0] if found else None

    def _shown(self, request: Any) -> Any:
        """Return the request with the memory's block at the end of its system prompt."""
        try:
            block = self._block(request)
        except Exception as error:  # the host's functions, and a memory that cannot be read
            self._recorder.tell(error)
            return request
        if not block:
            return request
        system = request.system_message
        if system is None:
            return request.override(system_message=SystemMessage(block))
        content = system.content
        joined: Any
        if isinstance(content, str):
            joined = f"{content}\n\n{block}" if content else block
        else:
            joined = [*content, {"type": "text", "text": block}]
        return request.override(system_message=system.model_copy(update={"content": joined}))

    def _block(self, request: Any) -> str:
        memory = self._memory(request.runtime)
        if memory is None or self._max_chars <= 0:
            return ""
        said = (each for each in reversed(request.messages) if isinstance(each, HumanMessage))
        asked = next((each.text for each in said if not is_made_up(each)), "")
        names = [_name(each) for each in request.tools] if self._tool_rules else []
        return context_block(
            memory,
            str(asked),
            scenes=self._scenes(request.runtime),
            tools=[each for each in names if each],
            max_chars=self._max_chars,
            language=self._language,
        )

    def _answered(self, request: Any, response: Any) -> Any:
        """Store an answer, and note what it was given without."""

        def named(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
            return [_named(each) for each in messages]

        if isinstance(response, AIMessage):
            response = new = _named(response)
            said = [new]
        elif isinstance(response, ModelResponse):
            said = named(response.result)
            response = replace(response, result=said)
        elif isinstance(response, ExtendedModelResponse):
            said = named(response.model_response.result)
            inner = replace(response.model_response, result=said)
            response = replace(response, model_response=inner)
        else:
            said = []
        self._guarded(
            lambda: self._recording(request.runtime).answered(request.state["messages"], said)
        )
        return response

    def _returned(self, request: Any, result: Any) -> Any:
        said: list[BaseMessage] = []

        def named(value: Any) -> Any:
            if not isinstance(value, BaseMessage):
                return value
            said.append(_named(value))
            return said[-1]

        name = request.tool_call.get("name")
        if isinstance(result, BaseMessage):
            result = named(result)
        elif isinstance(result, Command) and isinstance(result.update, dict):
            messages = result.update.get("messages")
            if isinstance(messages, list):
                update = {**result.update, "messages": [named(each) for each in messages]}
                result = replace(result, update=update)
        self._guarded(lambda: self._recording(request.runtime).returned(said, name))
        return result

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # a turn is never lost for its record
            self._recorder.tell(error)


def _graphs_above(info: Any) -> list[str]:
    """Return the nodes of other graphs that a node runs inside of, with their task's id."""
    return (getattr(info, "checkpoint_ns", None) or "").split("|")[:-1]


def _name(tool: Any) -> str | None:
    if isinstance(tool, dict):
        function = tool.get("function")
        found = function.get("name") if isinstance(function, dict) else tool.get("name")
    else:
        found = getattr(tool, "name", None)
    return found if isinstance(found, str) else None


def _named(message: BaseMessage) -> BaseMessage:
    """Return a message that the state and the history know by the same id."""
    if message.id:
        return message
    return message.model_copy(update={"id": str(uuid.uuid4())})
