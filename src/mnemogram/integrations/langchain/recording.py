# SPDX-License-Identifier: MIT
"""What was said in an agent's run, stored as it comes; nothing here fails a turn."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from mnemogram.errors import InvalidArgument, SessionDeleted
from mnemogram.history.history import History
from mnemogram.history.models import Message, Session
from mnemogram.integrations import reporting
from mnemogram.integrations.langchain.messages import said_in

__all__ = ["Recorder", "Recording", "Report"]

Report: TypeAlias = Callable[[Exception], None]

#: Sessions whose recording is remembered in the process.
MAX_SESSIONS: Final = 256
#: Messages of a session that wait for a store that cannot be written.
MAX_WAITING: Final = 10_000
_FIRST_PAUSE: Final = 0.05
#: Seconds after which storing is put off.
_PATIENCE: Final = 2.0
_log = logging.getLogger(__name__)


class Recorder:
    """The recordings of all sessions of a process.

    Args:
        report: called with what went wrong.
        attempts: how often storing is tried before it is put off.
    """

    def __init__(self, *, report: Report | None, attempts: int) -> None:
        if attempts < 1:
            raise InvalidArgument("attempts must be 1 or more", hint="3 is the default.")
        self._report = report
        self.attempts = attempts
        self._lock = threading.Lock()
        self._recordings: OrderedDict[tuple[str, str], Recording] = OrderedDict()

    def of(self, history: History, session: Session) -> Recording:
        """Return the recording of a session."""
        key = (history.path, session.id)
        with self._lock:
            found = self._recordings.get(key)
            if found is None or found.history is not history:
                waiting = found.waiting if found is not None else []
                found = self._recordings[key] = Recording(self, history, session, waiting)
            self._recordings.move_to_end(key)
            if len(self._recordings) > MAX_SESSIONS:
                done = (each for each, kept in self._recordings.items() if not kept.waiting)
                self._recordings.pop(next(done, next(iter(self._recordings))))
            return found

    def tell(self, error: Exception) -> None:
        """Tell the host what went wrong."""
        reporting.tell(self._report, error, doing="recording", log=_log)


@dataclass(slots=True)
class _Kept:
    """A message that is stored and was not undone."""

    role: str
    call_id: str | None
    compacted: bool = False


class Recording:
    """One session's messages on their way into the history; safe to use from any thread."""

    def __init__(
        self, recorder: Recorder, history: History, session: Session, waiting: list[Message]
    ) -> None:
        self._recorder = recorder
        self.history = history
        self._session = session
        self._lock = threading.RLock()
        #: What could not be stored yet.
        self.waiting = waiting
        self._stored: set[str] = set()
        self._known: dict[str, _Kept] | None = None
        self._uids: dict[str, tuple[str, ...]] = {}
        self._calls: dict[str, str] = {}
        self._tool_names: dict[str, str] = {}
        self._unseen: set[str] = set()

    # -- what the middleware says

    def turn_begins(self, messages: Sequence[BaseMessage], *, may_rewind: bool) -> None:
        """Take the state at the beginning of a turn.

        Args:
            messages: of the state.
            may_rewind: whether the state is a thread's, which goes on from what it was.
        """
        with self._lock:
            self._known = None  # another process may have written since
            self._load()
            if may_rewind:
                self._rewind(messages)
            self.committed(messages)

    def committed(self, messages: Sequence[BaseMessage]) -> None:
        """Take the state as it is now."""
        with self._lock:
            self._store(self._said(messages))
            for each in messages:
                self._unseen.difference_update(self._uids_of(each))
            self._correct(messages)

    def answered(self, state: Sequence[BaseMessage], said: Sequence[BaseMessage]) -> None:
        """Take the state that a model has answered, and its answer."""
        with self._lock:
            self.committed(state)
            answer = self._said(said)
            self._store(answer)
            self._unseen.update(_uid(each) for each in answer)
            self._load()
            present = {uid for each in (*state, *said) for uid in self._uids_of(each)}
            known = self._known or {}
            dropped = [
                uid for uid, each in known.items() if not each.compacted and uid not in present
            ]
            if dropped and self._tried(
                lambda: self.history.mark_compacted(self._session.id, dropped)
            ):
                for uid in dropped:
                    known[uid].compacted = True

    def returned(self, said: Sequence[BaseMessage], tool_name: str | None) -> None:
        """Take what a tool returned."""
        with self._lock:
            messages = [
                replace(each, tool_name=tool_name)
                if each.role == "tool" and each.tool_name is None
                else each
                for each in self._said(said)
            ]
            self._store(messages)
            self._unseen.update(_uid(each) for each in messages)

    # -- what was said

    def _said(self, messages: Iterable[BaseMessage]) -> list[Message]:
        """Return what is new of some messages, as a history takes it."""
        found: list[Message] = []
        for place, each in enumerate(messages):
            key = each.id or f"#{place}"
            if key in self._uids:
                continue
            try:
                said = list(said_in(each, self._tool_names))
            except (InvalidArgument, ValueError, TypeError) as error:
                self._recorder.tell(error)
                said = []
            if not each.id:  # a state of the host's own, with no ids
                said = [replace(one, uid=one.uid or f"#{place}/{n}") for n, one in enumerate(said)]
            self._uids[key] = tuple(_uid(one) for one in said)
            if isinstance(each, AIMessage) and each.id:
                self._calls[each.id] = _as_text(each.tool_calls)
            found += said
        return found

    def _uids_of(self, message: BaseMessage) -> tuple[str, ...]:
        return self._uids.get(message.id or "", ())

    def _correct(self, messages: Sequence[BaseMessage]) -> None:
        """Correct calls that were changed after the model asked for them."""
        for each in messages:
            if not isinstance(each, AIMessage) or not each.id or not each.tool_calls:
                continue
            now = _as_text(each.tool_calls)
            if self._calls.get(each.id, now) == now:
                continue
            for message in said_in(each, {}):
                if message.uid == each.id and self._tried(lambda: self._amend(message)):  # noqa: B023
                    self._calls[each.id] = now

    def _amend(self, message: Message) -> None:
        self.history.amend(self._session.id, _uid(message), tool_calls=message.tool_calls)

    # -- storing

    def _store(self, messages: Sequence[Message]) -> None:
        new = [*self.waiting, *(each for each in messages if _uid(each) not in self._stored)]
        if not new:
            return
        refused: list[int] = []

        def append(some: Sequence[Message]) -> None:
            refused.append(self.history.append(self._session, some).refused)

        self.waiting = []
        if not self._tried(lambda: append(new), put_off=new):
            return
        if any(refused):
            self._recorder.tell(
                SessionDeleted(
                    f"session {self._session.id!r} was deleted and takes no messages",
                    hint="Go on in a new session.",
                )
            )
        for each in new:
            self._stored.add(_uid(each))
            if self._known is not None and not any(refused):
                self._known.setdefault(_uid(each), _Kept(each.role, each.tool_call_id))

    def _tried(self, work: Callable[[], object], *, put_off: Sequence[Message] = ()) -> bool:
        """Do something to the history; on failure tell the host, and keep what was to be stored."""
        pause = _FIRST_PAUSE
        began = time.monotonic()
        for attempt in range(1, self._recorder.attempts + 1):
            try:
                work()
            except InvalidArgument as error:
                self._one_by_one(put_off, error)
                return False
            except Exception as error:  # the store's, or the host's redactor's
                # A store that kept its caller waiting is not asked again at once.
                if attempt < self._recorder.attempts and time.monotonic() - began < _PATIENCE:
                    time.sleep(pause)
                    pause *= 4
                    continue
                self.waiting = list(put_off)[-MAX_WAITING:]
                self._recorder.tell(error)
                return False
            return True
        return False

    def _one_by_one(self, messages: Sequence[Message], error: InvalidArgument) -> None:
        """Store what can be stored: one message that cannot be is no reason to lose others."""
        if len(messages) <= 1:
            self._recorder.tell(error)
            self._stored.update(map(_uid, messages))
            return
        for each in messages:
            self._store([each])

    # -- what is stored

    def _load(self) -> None:
        if self._known is not None:
            return
        found: dict[str, _Kept] = {}

        def read() -> None:
            found.update(
                (uid, _Kept(role, call_id, state == "compacted"))
                for uid, role, call_id, state in self.history._outline(self._session.id)
            )

        if self._tried(read):
            self._known = found

    def _rewind(self, messages: Sequence[BaseMessage]) -> None:
        """Rewind what the thread has gone back behind: the end of what was said.

        What a summary takes out of a state is older than what stays, and what a thread goes
        back behind is newer. Kept is what no committed state ever held, such as the receipts
        of a turn that broke off, and what a tool did for a call that still stands.
        """
        known = self._known or {}
        order = list(known)
        held = {uid for each in messages for uid in self._peeked(each)}
        last = max((place for place, uid in enumerate(order) if uid in held), default=-1)
        if last < 0:
            return
        since = next(
            (n for n, each in enumerate(reversed(messages)) if order[last] in self._peeked(each)), 0
        )
        if since and not all(isinstance(each, HumanMessage) for each in messages[-since:]):
            return
        calls = {
            call["id"]
            for each in messages
            if isinstance(each, AIMessage)
            for call in each.tool_calls
        }
        gone = [
            uid
            for uid in order[last + 1 :]
            if uid not in self._unseen and known[uid].call_id not in calls
        ]
        while gone and known[gone[-1]].role == "user":
            gone.pop()  # asked, and never answered
        if gone and self._tried(lambda: self.history.rewind(self._session.id, gone)):
            for uid in gone:
                del known[uid]

    def _peeked(self, message: BaseMessage) -> Iterator[str]:
        known = self._uids.get(message.id or "")
        if known is not None:
            yield from known
        elif message.id:
            yield message.id
            for number in range(1, 1 + len(message.content) * isinstance(message.content, list)):
                yield f"{message.id}/{number}"


def _uid(message: Message) -> str:
    return message.uid or ""


def _as_text(calls: Any) -> str:
    return json.dumps(calls, sort_keys=True, default=str)
