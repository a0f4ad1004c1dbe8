# SPDX-License-Identifier: MIT
"""Session logs of coding agents in the manner of Claude Code: JSON lines, one event each.

An event has ``type``, ``sessionId``, ``uuid``, ``parentUuid``, ``timestamp`` and, for
``user`` and ``assistant``, a ``message`` whose content is text or blocks. Side chains
become sessions of source ``subagent``. Going back in a conversation leaves a branch in the
log, which is kept as such; what stands before the last compaction is ``compacted``. A log
that goes on from another one copies its events under a session id of its own: uids tell.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mnemogram.history.models import Session, State
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    Builder,
    Record,
    Report,
    as_text,
    role_of,
    settled,
    spoken_time,
)
from mnemogram.importers.blocks import say, split

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "claude-code"
LOOKS_FOR: Final = "events with `type`, `sessionId` and `uuid`"
FIELDS: Final = frozenset(("sessionId", "uuid", "parentUuid", "isSidechain", "cwd", "leafUuid"))

_TITLES: Final = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_CONTINUED: Final = "continued-in"
_MARKS: Final = {
    "isMeta": "messages that the program wrote itself",
    "isCompactSummary": "summaries of compacted context",
    "isVisibleInTranscriptOnly": "messages that the program wrote itself",
}
#: What an event is, as far as branches go.
_OTHER, _PROMPT, _RESULT, _ANSWER = range(4)
_KEPT, _BESIDE, _LEFT = range(3)


@dataclass(slots=True)
class _Open:
    """A session of which messages were read and not yet handed on."""

    id: str
    source: str
    number: int
    parent: str | None
    builder: Builder = field(default_factory=Builder)
    model: str | None = None
    boundary: int = -1  # the last event before the last compaction

    def session(self, title: str | None) -> Session:
        return Session(
            self.id, source=self.source, title=title, model=self.model, parent=self.parent
        )


class _Events:
    """The events of a log that have a uuid, and how they hang together."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._parents = array("q")
        self._sessions = array("l")
        self._kinds = bytearray()
        self._replies = array("q")  # tells the pieces of one answer from other answers
        self._uids: dict[int, list[str]] = {}  # where they are not the uuid

    def __len__(self) -> int:
        return len(self._parents)

    def place(self, uuid: str | None) -> int:
        """Return an event's place; -1 where the log does not hold it."""
        return -1 if uuid is None else self._places.get(uuid, -1)

    def session_of(self, place: int) -> int:
        return self._sessions[place] if place >= 0 else -1

    def add(self, uuid: str, parent: int, session: int, kind: int, reply: str | None) -> int:
        """Add an event; one that came before stays as it is."""
        known = self._places.get(uuid)
        if known is not None:
            return known
        place = self._places[uuid] = len(self._parents)
        self._parents.append(parent)
        self._sessions.append(session)
        self._kinds.append(kind)
        self._replies.append(0 if reply is None else hash(reply))
        return place

    def name(self, place: int, uids: list[str]) -> None:
        """Note the uids of the messages that an event became."""
        self._uids[place] = uids

    def uids(self, places: Iterable[int], session: int) -> Iterator[str]:
        """Yield the uids of the messages of these events that are the session's."""
        wanted = {place for place in places if self._sessions[place] == session}
        for uuid, place in self._places.items():
            if place in wanted:
                yield from self._uids.get(place, (uuid,) if self._kinds[place] else ())

    def before(self, place: int) -> range:
        return range(place + 1)

    def abandoned(self) -> set[int]:
        """Return the events on branches that were left by going back.

        The branch that a session is on ends with its last event. An event beside it was
        left, unless the log branches there for another reason: tools that ran at the same
        time, and answers that were written in several pieces.
        """
        following = self._branches()
        verdicts: dict[int, int] = {}
        for place in range(len(self)):
            way: list[int] = []
            here = place
            while here not in following and here not in verdicts and self._parents[here] >= 0:
                way.append(here)
                here = self._parents[here]
                if len(way) > len(self):  # a circle
                    break
            verdict = verdicts.get(here, _KEPT)
            for each in reversed(way):
                if verdict == _KEPT and self._turned(each, following):
                    verdict = _BESIDE
                # Pieces of what stands on the branch stay, also where it was taken up anew.
                if verdict == _BESIDE and not self._is_piece(each, self._parents[each]):
                    verdict = _LEFT
                verdicts[each] = verdict
        return {place for place, verdict in verdicts.items() if verdict == _LEFT}

    def _branches(self) -> dict[int, int]:
        """Return the events on a branch that a session is on, each with the next one."""
        ends: dict[tuple[int, int], int] = {}
        roots = array("q", [-1]) * len(self)
        for place in range(len(self)):
            here, way = place, list[int]()
            while roots[here] < 0 and self._parents[here] >= 0 and len(way) <= len(self):
                way.append(here)
                here = self._parents[here]
            root = roots[here] if roots[here] >= 0 else here
            for each in (*way, here):
                roots[each] = root
            if self._kinds[place] != _OTHER:
                ends[root, self._sessions[place]] = place
        following: dict[int, int] = {}
        for end in ends.values():
            here, after = end, -1
            while here >= 0 and (here not in following or following[here] < 0):
                following[here] = after
                here, after = self._parents[here], here
        return following

    def _turned(self, place: int, following: Mapping[int, int]) -> bool:
        """Whether the conversation was taken up again at the event before this one."""
        parent = self._parents[place]
        after = following.get(parent, -1)
        while after >= 0 and self._kinds[after] == _OTHER:
            after = following.get(after, -1)
        return after >= 0 and not self._is_piece(after, parent)

    def _is_piece(self, place: int, before: int) -> bool:
        """Whether it belongs to what stands before it: a result, a part, a program's note."""
        return self._kinds[place] in (_RESULT, _OTHER) or (
            self._replies[place] != 0 and self._replies[place] == self._replies[before]
        )


def recognises(value: object) -> bool:
    """Whether it is one event of such a log."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "summary":
        return "leafUuid" in value
    if value["type"] == _CONTINUED:
        return "continuedInSessionId" in value
    return "sessionId" in value and ("uuid" in value or value["type"] in _TITLES)


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the sessions of a log; most logs hold one, and its subagents."""
    log = _Log(report)
    for record in records:
        try:
            open_ = log.event(record.value)
        except ValueError as error:
            report.problem(record.where, str(error))
            continue
        if open_ is not None and len(open_.builder) >= BATCH_MESSAGES:
            session = open_.session(log.titles.get(open_.id))
            yield Batch(session, open_.builder.take(), unique=True)
    yield from log.rest()


class _Log:
    """What was read of a log so far."""

    def __init__(self, report: Report) -> None:
        self.titles: dict[str, str] = {}
        self._report = report
        self._title: str | None = None
        self._sessions: dict[str, _Open] = {}
        self._events = _Events()
        self._children: dict[str, str] = {}  # sessions that go on from one in this log

    def event(self, event: Any) -> _Open | None:
        """Take one event; return the session that it added to."""
        kind = event.get("type") if isinstance(event, Mapping) else None
        if not isinstance(kind, str):
            raise ValueError("no event: it has no `type`")
        key = as_text(event.get("sessionId"))
        if kind in _TITLES:
            found = as_text(event.get(_TITLES[kind]))
            if found and key:
                self.titles[key] = found
            self._title = found or self._title
        elif kind == _CONTINUED:
            child = as_text(event.get("continuedInSessionId"))
            parent = key or next((e.id for e in self._sessions.values() if not e.parent), None)
            if child and parent:
                self._children[child] = parent
        elif kind in ("user", "assistant"):
            return self._spoken(event)
        else:
            self._report.skip(f"{kind} events")
            self._unspoken(event, kind, key)
        return None

    def rest(self) -> Iterator[Batch]:
        """Yield what was not handed on yet, and what is known only at the end."""
        main = [each for each in self._sessions.values() if each.source != "subagent"]
        left = self._events.abandoned()
        for each in self._sessions.values():
            # A summary names no session; it is this one's where the log holds a single one.
            alone = self._title if len(main) == 1 and each is main[0] else None
            states: dict[str, State] = {}
            if each.boundary >= 0:
                before = self._events.before(each.boundary)
                states = dict.fromkeys(self._events.uids(before, each.number), "compacted")
            states |= dict.fromkeys(self._events.uids(left, each.number), "rewound")
            title = self.titles.get(each.id) or alone
            yield from settled(each.session(title), each.builder.take(), states, unique=True)
        for child, parent in self._children.items():
            if child not in self._sessions and child != parent:
                yield Batch(Session(child, source="cli", parent=parent), [], unique=True)

    def _session(self, event: Mapping[str, Any]) -> _Open:
        key = as_text(event.get("sessionId"))
        if key is None:
            raise ValueError("an event without sessionId")
        parent = None
        source = "cli"
        if event.get("isSidechain") is True:
            parent, source = key, "subagent"
            key = f"{key}/{as_text(event.get('agentId')) or 'sidechain'}"
        if key not in self._sessions:
            self._sessions[key] = _Open(key, source, len(self._sessions), parent)
        return self._sessions[key]

    def _spoken(self, event: Mapping[str, Any]) -> _Open:
        open_ = self._session(event)
        before = self._events.place(_parent(event))
        if open_.parent is None:
            open_.parent = self._continues(event, open_, before)
        uuid = as_text(event.get("uuid"))
        for mark, what in _MARKS.items():
            if event.get(mark) is True:
                self._report.skip(what)
                if uuid:
                    self._events.add(uuid, before, open_.number, _OTHER, None)
                return open_
        message = event.get("message")
        if not isinstance(message, Mapping):
            raise ValueError("an event without `message`")
        role = role_of(message.get("role", event["type"]))
        if role is None or role == "system":
            raise ValueError(f"role {message.get('role')!r} is neither user nor assistant")
        content = split(message.get("content"))
        if role == "assistant":
            open_.model = as_text(message.get("model")) or open_.model
        kind = _ANSWER if role == "assistant" else _RESULT if content.results else _PROMPT
        place = -1
        if uuid:
            reply = as_text(message.get("id")) if role == "assistant" else None
            place = self._events.add(uuid, before, open_.number, kind, reply)
        made: list[str] = []
        if content.text or content.calls or content.results:
            made = say(
                open_.builder,
                self._report,
                role,
                content,
                uid=uuid,
                time=spoken_time(event, self._report),
            )
        else:
            self._report.skip("reasoning blocks", content.reasoning)
        if place >= 0 and made != [uuid]:
            self._events.name(place, made)
        return open_

    def _continues(self, event: Mapping[str, Any], open_: _Open, before: int) -> str | None:
        """Return the session that this one goes on from, as far as an event tells."""
        origin = event.get("forkedFrom")
        named = as_text(origin.get("sessionId")) if isinstance(origin, Mapping) else None
        named = named or self._children.get(open_.id)
        number = self._events.session_of(before)
        if named is None and number not in (-1, open_.number):
            named = next(e.id for e in self._sessions.values() if e.number == number)
        return named if named != open_.id else None

    def _unspoken(self, event: Mapping[str, Any], kind: str, key: str | None) -> None:
        """Note an event that others hang on, and the compactions among them."""
        uuid = as_text(event.get("uuid"))
        if uuid is None or key is None:
            return
        open_ = self._session(event)
        before = self._events.place(_parent(event))
        if kind == "system" and event.get("subtype") == "compact_boundary":
            open_.boundary = len(self._events) - 1
        self._events.add(uuid, before, open_.number, _OTHER, None)


def _parent(event: Mapping[str, Any]) -> str | None:
    """Return the uuid of the event before it, across a compaction too."""
    return as_text(event.get("parentUuid")) or as_text(event.get("logicalParentUuid"))
