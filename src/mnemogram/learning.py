# SPDX-License-Identifier: MIT
"""Learning from what was done: after some turns with tools, the host looks at them again.

Turns are counted in the user's history itself, over all conversations and processes, so a
restart loses none. After a number of them the host's callback gets the evidence, and what
it returns is remembered for that user alone::

    def lessons(evidence: Evidence) -> Lesson:
        answer = ask_model(evidence.text())
        return Lesson([Triple("deploy", "needs", "the VPN", scene="tool:deploy")])

    learner = Learner(home.history("alice"), home.memory("alice"), lessons)
    ...
    learner.turn_ended()  # after each turn; the middleware of LangChain does it
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from mnemogram.errors import InvalidArgument
from mnemogram.history import display
from mnemogram.history.history import History
from mnemogram.history.models import EvidenceMessage
from mnemogram.history.schema import HIDDEN_SOURCES
from mnemogram.memory import CommitResult, SceneMemory, Triple
from mnemogram.sqlite.database import Connection
from mnemogram.text import cut

__all__ = ["Evidence", "Learn", "Learner", "Lesson", "Note", "Turn"]

#: Turns with tools after which the host is asked.
EVERY: Final = 10
#: Characters of each message of the evidence.
MESSAGE_CHARS: Final = 4_000
#: Turns of the evidence at most, in numbers that it is asked after: failures pile them up.
_MOST: Final = 5
_NOTE_CHARS: Final = 200
_ROWS: Final = 2_000
_OPEN: Final = 1_000
_STATE: Final = "learning"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: what the user said, what was called, and what came back.

    Attributes:
        session_id: the conversation.
        messages: in order, each cut to 4,000 characters and marked where it is.
    """

    session_id: str
    messages: tuple[EvidenceMessage, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The turns to learn from, the oldest first."""

    turns: tuple[Turn, ...]

    def text(self) -> str:
        """Return the turns as plain text for a model."""
        lines: list[str] = []
        for number, turn in enumerate(self.turns, 1):
            lines.append(f"--- turn {number}, conversation {turn.session_id}")
            for each in turn.messages:
                name = f" {each.tool_name}" if each.tool_name else ""
                calls = "" if each.tool_calls is None else f" calls {json.dumps(each.tool_calls)}"
                lines.append(f"{each.role}{name}:{calls} {each.content}".rstrip())
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing that is no triple.

    Attributes:
        text: in words.
        scene: where it applies, see ``scene_keys_for``.
    """

    text: str
    scene: str | Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a host has learned.

    Attributes:
        triples: as for ``SceneMemory.commit``, each with its scene; whatever trust they
            name, they are stored as observed (or as read in a document).
        notes: what is no triple.
    """

    triples: Iterable[Triple | Mapping[str, Any]] = ()
    notes: Iterable[Note | str] = ()


Learned: TypeAlias = Lesson | Iterable[Triple | Mapping[str, Any]] | None
Learn: TypeAlias = Callable[[Evidence], Learned | Awaitable[Learned]]


@dataclass(slots=True)
class _Open:
    """A turn that may go on."""

    start: int
    last: int
    tools: int = 0
    answered: bool = False


@dataclass(slots=True)
class _State:
    """How far a history was looked through, and the turns that wait."""

    since: int
    through: int
    turns: list[tuple[int, int, int]] = field(default_factory=list)
    open: dict[int, _Open] = field(default_factory=dict)

    @classmethod
    def load(cls, text: str) -> _State:
        plain = json.loads(text)
        return cls(
            since=plain["since"],
            through=plain["through"],
            turns=[(each[0], each[1], each[2]) for each in plain["turns"]],
            open={int(key): _Open(*each) for key, each in plain["open"].items()},
        )

    def dump(self) -> str:
        kept = list(self.open.items())[-_OPEN:]
        plain = {
            "since": self.since,
            "through": self.through,
            "turns": self.turns,
            "open": {
                str(key): [each.start, each.last, each.tools, each.answered] for key, each in kept
            },
        }
        return json.dumps(plain, separators=(",", ":"))

    def see(self, row_id: int, session: int, role: str, *, calls: bool) -> None:
        """Take the next message of the history."""
        self.through = row_id
        turn = self.open.get(session)
        if role == "user" or turn is None:
            if turn is not None:
                self.close(session)
            turn = self.open[session] = _Open(row_id, row_id)
        turn.last = row_id
        turn.tools += role == "tool"
        turn.answered = role == "assistant" and not calls

    def close(self, session: int) -> None:
        turn = self.open.pop(session)
        if turn.tools:
            self.turns.append((session, turn.start, turn.last))

    def settle(self) -> None:
        """Count the turns that ended with an answer."""
        for session, turn in list(self.open.items()):
            if turn.answered and turn.tools:
                self.close(session)


_NEW: Final = f"""
SELECT m.id, m.session_id, m.role, m.tool_calls IS NOT NULL FROM messages AS m
  JOIN sessions AS s ON s.id = m.session_id
 WHERE m.id > :through AND m.timestamp >= :since AND m.state <> 'rewound'
   AND s.source NOT IN ({", ".join(f"'{each}'" for each in sorted(HIDDEN_SOURCES))})
 ORDER BY m.id LIMIT {_ROWS}
"""
_TURN: Final = f"""
SELECT {display.MESSAGE_COLUMNS} FROM messages AS m
 WHERE m.session_id = ? AND m.id BETWEEN ? AND ? AND m.state <> 'rewound' ORDER BY m.id
"""


class Learner:
    """Counts a user's turns with tools, and has the host look at them again.

    Safe for threads. Where a callback is at work, others do not wait for it.

    Args:
        history: the user's history.
        memory: the user's scene memory, for what is learned.
        learn: gets the evidence and returns what to remember; may be a coroutine function,
            for :meth:`turn_ended_async`. What it raises goes to who called; the turns are
            kept, and come again after the next one.
        every: after how many turns.

    Raises:
        InvalidArgument: ``every`` is out of range.
    """

    def __init__(
        self, history: History, memory: SceneMemory, learn: Learn, *, every: int = EVERY
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise InvalidArgument("every must be 1 or more", hint="10 is the default.")
        self._history = history
        self._memory = memory
        self._learn = learn
        self._every = every
        self._busy = threading.Lock()
        history._file.write(_begin)

    def count(self) -> int:
        """Return how many turns with tools wait to be learned from."""
        return len(self._counted())

    def turn_ended(self) -> CommitResult | None:
        """Count what was done, and learn from it where it is time.

        Returns:
            What was remembered; None where it was not time, or another thread is at it.

        Raises:
            InvalidArgument: the callback is a coroutine function, or what it returned
                cannot be remembered; nothing is stored, and no turn is lost.
        """
        if inspect.iscoroutinefunction(self._learn):
            raise InvalidArgument(
                "the callback is a coroutine function", hint="Await turn_ended_async()."
            )
        if not self._busy.acquire(blocking=False):
            return None
        try:
            due = self._due()
            if due is None:
                return None
            learned: Any = self._learn(due[1])
            return self._remember(due[0], due[1], learned)
        finally:
            self._busy.release()

    async def turn_ended_async(self) -> CommitResult | None:
        """Do the same for an async host: storage and plain callbacks work on threads.

        Cancelled, it stores nothing, or all of what was learned.
        """
        if not self._busy.acquire(blocking=False):
            return None
        try:
            due = await asyncio.to_thread(self._due)
            if due is None:
                return None
            learned: Any
            if inspect.iscoroutinefunction(self._learn):
                learned = await self._learn(due[1])
            else:
                learned = await asyncio.to_thread(self._learn, due[1])
                if inspect.isawaitable(learned):
                    learned = await learned
            return await asyncio.to_thread(self._remember, due[0], due[1], learned)
        finally:
            self._busy.release()

    # -- the parts of it

    def _counted(self) -> list[tuple[int, int, int]]:
        def work(connection: Connection) -> list[tuple[int, int, int]]:
            state = _state(connection)
            began = state.through
            while True:
                bindings = {"through": state.through, "since": state.since}
                rows = list(connection.execute(_NEW, bindings))
                for row_id, session, role, calls in rows:
                    state.see(int(row_id), int(session), str(role), calls=bool(calls))
                if len(rows) < _ROWS:
                    break
            state.settle()
            if state.through != began:
                _save(connection, state)
            return state.turns

        return self._history._file.write(work)

    def _due(self) -> tuple[list[tuple[int, int, int]], Evidence] | None:
        turns = self._counted()
        if len(turns) < self._every:
            return None
        taken = turns[: self._every * _MOST]
        with self._history._database.read() as connection:
            found = [each for each in (_read(connection, *turn) for turn in taken) if each]
        if not found:  # all of it was deleted or undone
            self._done(taken)
            return None
        return taken, Evidence(tuple(found))

    def _remember(
        self, taken: list[tuple[int, int, int]], evidence: Evidence, learned: Any
    ) -> CommitResult:
        triples = _triples(learned)
        sessions = {each.session_id for each in evidence.turns}
        result = CommitResult()
        if triples:
            session = sessions.pop() if len(sessions) == 1 else None
            result = self._memory.commit(triples, session_id=session)
        self._done(taken)
        return result

    def _done(self, taken: list[tuple[int, int, int]]) -> None:
        gone = set(taken)

        def work(connection: Connection) -> None:
            state = _state(connection)
            state.turns = [each for each in state.turns if each not in gone]
            _save(connection, state)

        self._history._file.write(work)


def _begin(connection: Connection) -> None:
    """Begin to count here: what was said before is not learned from."""
    if connection.one("SELECT count(*) FROM meta WHERE key = ?", (_STATE,)):
        return
    last = connection.one("SELECT coalesce(max(id), 0) FROM messages")
    _save(connection, _State(since=time.time_ns() // 1_000, through=int(last)))


def _state(connection: Connection) -> _State:
    text = connection.one("SELECT value FROM meta WHERE key = ?", (_STATE,))
    if text is None:
        _begin(connection)
        return _state(connection)
    return _State.load(str(text))


def _save(connection: Connection, state: _State) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_STATE, state.dump())
    )


def _read(connection: Connection, session: int, start: int, last: int) -> Turn | None:
    key = connection.one("SELECT key FROM sessions WHERE id = ?", (session,))
    rows = [display.MessageRow(*row) for row in connection.execute(_TURN, (session, start, last))]
    if key is None or not any(row.role == "tool" for row in rows):
        return None
    return Turn(str(key), tuple(display.evidence(row, MESSAGE_CHARS) for row in rows))


def _triples(learned: Any) -> list[Any]:
    lesson = learned if isinstance(learned, Lesson) else Lesson(learned or ())
    found: list[Any] = []
    for each in lesson.triples:
        if isinstance(each, Triple):
            found.append(replace(each, trust=_trust(each.trust)))
        elif isinstance(each, Mapping):
            found.append({**each, "trust": _trust(each.get("trust"))})
        else:
            found.append(each)  # three strings, or what commit() refuses
    for note in lesson.notes:
        said = Note(note) if isinstance(note, str) else note
        if said.text.strip():
            head = cut(said.text.strip(), _NOTE_CHARS)[0]
            found.append(
                Triple("lesson", "learned", head, sentence=said.text.strip(), scene=said.scene)
            )
    return found


def _trust(named: Any) -> Any:
    """A host's conclusion is no word of the user's."""
    return "document" if named == "document" else "observed"
