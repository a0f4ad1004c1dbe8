# SPDX-License-Identifier: MIT
"""A session of the SDK in a history: its items byte for byte, and what they say, searchable."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from agents.memory import SessionSettings

from mnemogram.history import items as stored_items
from mnemogram.history import writing
from mnemogram.history.history import History
from mnemogram.history.models import Message, Session
from mnemogram.history.redaction import Redaction
from mnemogram.integrations.openai_agents.said import is_compaction, key_of, learn_names, said_in
from mnemogram.tools.asynchronous import AsyncStore

__all__ = ["MemorySession"]

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
#: Messages that the hooks stored and whose items have not come yet, at most.
_WAITING: Final = 1_000
#: What a redactor leaves alone: nothing else fits in its place.
_NO_WORDS: Final = frozenset(
    ("call_id", "encrypted_content", "id", "name", "role", "status", "type")
)


class MemorySession:
    """A ``Session`` of the SDK that is kept in a user's history.

    Items come back as they were given, reasoning and ids of the provider too. What they say
    is stored as messages in the same transaction: of people, of models, and of tools. An item
    that is taken back hides its message; ``clear_session`` empties the session, and what was
    said stays evidence, to be found in the same conversation too (to delete it, use
    ``History.delete_session``). A compaction's items are kept, and nobody's words.

    Args:
        session: the conversation, or its id.
        history: the user's history; or its async face, on whose workers it then works.
        session_settings: of the SDK, such as ``SessionSettings(limit=100)``.
    """

    def __init__(
        self,
        session: str | Session,
        history: History | AsyncStore[History],
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self._session = session if isinstance(session, Session) else Session(session)
        self.session_id: str = writing.prepare(self._session, ()).session.id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._history = history
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}
        self._early: defaultdict[tuple[str, ...], deque[str]] = defaultdict(deque)

    # -- what the SDK calls

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items in order, or the last ``limit`` of them."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit

        def read(history: History) -> list[str]:
            with history._database.read() as connection:
                return stored_items.read(connection, self.session_id, limit)

        found = []
        for text in await self._on_thread(read):
            try:
                found.append(json.loads(text))
            except ValueError:
                _log.warning("session %s: an item is damaged and left out", self.session_id)
        for each in found:
            learn_names(each, self._names)
        return found

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end.

        Raises:
            TypeError: an item is no JSON; nothing is stored.
            SessionDeleted: the session takes nothing any more.
        """
        if items:
            await _finished(self._on_thread(lambda history: self._add(history, items), write=True))

    async def pop_item(self) -> Any | None:
        """Take the last item away and return it; None where there is none."""

        def pop(history: History) -> str | None:
            return history._file.write(
                lambda connection: stored_items.pop(connection, self.session_id)
            )

        text = await _finished(self._on_thread(pop, write=True))
        return None if text is None else json.loads(text)

    async def clear_session(self) -> None:
        """Empty the session; what was said stays in the history."""

        def clear(history: History) -> None:
            history._file.write(lambda connection: stored_items.clear(connection, self.session_id))

        await _finished(self._on_thread(clear, write=True))

    # -- what the hooks call

    async def record(self, items: Iterable[Any]) -> None:
        """Store what items say before the SDK adds them; then it is not stored twice."""
        messages = [each for item in items for each in said_in(item, self._names)]
        if not messages:
            return

        def append(history: History) -> None:
            if history.append(self._session, messages).refused:
                return
            with self._lock:
                for each in messages:
                    self._early[key_of(each)].append(str(each.uid))
                while len(self._early) > _WAITING:
                    del self._early[next(iter(self._early))]

        await _finished(self._on_thread(append, write=True))

    # -- the parts of it

    def _add(self, history: History, items: Sequence[Any]) -> None:
        taken: list[tuple[tuple[str, ...], str]] = []
        try:
            prepared = [self._prepared(history, each, taken) for each in items]
            # A compaction puts back what it keeps, and a failed one all that it took.
            again = any(map(is_compaction, items)) or len(items) > 1
            history._file.write(
                lambda connection: stored_items.add(
                    connection, self.session_id, prepared, again=again
                )
            )
        except BaseException:
            with self._lock:
                for key, uid in reversed(taken):
                    self._early[key].appendleft(uid)
            raise
        history._file.help_along()

    def _prepared(
        self, history: History, item: Any, taken: list[tuple[tuple[str, ...], str]]
    ) -> stored_items.Item:
        text = json.dumps(item)
        if history._redaction.redactor is not None:
            text = json.dumps(_redacted(json.loads(text), history._redaction))
        new: list[Message] = []
        known: list[tuple[str, str]] = []
        for said in said_in(item, self._names):
            key, each = key_of(said), history._redaction.message(said)
            with self._lock:
                waiting = self._early.get(key)
                uid = waiting.popleft() if waiting else None
                if waiting is not None and not waiting:
                    del self._early[key]
            if uid is None:
                new.append(each)
            else:
                taken.append((key, uid))
                known.append((uid, each.content or ""))
        messages = writing.prepare(history._redaction.session(self._session), new)
        return stored_items.Item(text, messages, tuple(known))

    async def _on_thread(self, work: Callable[[History], _T], *, write: bool = False) -> _T:
        if isinstance(self._history, AsyncStore):
            return await self._history.run(work, write=write)
        return await asyncio.to_thread(work, self._history)


def _redacted(value: Any, redaction: Redaction) -> Any:
    if isinstance(value, dict):
        return {
            key: each if key in _NO_WORDS else _redacted(each, redaction)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_redacted(each, redaction) for each in value]
    return redaction.json(value)


async def _finished(work: Awaitable[_T]) -> _T:
    """Await a change to its end, even where the caller is cancelled meanwhile.

    The SDK goes on after a cancellation with what it believes is stored.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()
        raise cancelled
    return task.result()
