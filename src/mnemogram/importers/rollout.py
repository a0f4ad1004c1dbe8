# SPDX-License-Identifier: MIT
"""Rollout logs of coding agents in the manner of Codex: JSON lines with a ``payload``.

``session_meta`` opens a session, ``response_item`` holds what the model saw and said (see
``responses``), and ``event_msg`` what the program showed: what people and models said comes
as both and is kept once. Compactions and turns that were rolled back become states.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from mnemogram.history.models import Session, State
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    Builder,
    Occurrences,
    Record,
    Report,
    as_text,
    as_time,
    first_of,
    role_of,
    settled,
    spoken_time,
)
from mnemogram.importers.blocks import split
from mnemogram.importers.responses import Items

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "rollout"
LOOKS_FOR: Final = "lines with `type` (`response_item`, `event_msg`) and `payload`"
FIELDS: Final = frozenset(("payload", "cwd", "originator", "cli_version", "turn_id"))

_TYPES: Final = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_SPOKEN: Final = {"user_message": "user", "agent_message": "assistant"}
#: Records between what is said and its mirror, at most.
_NEAR: Final = 200
#: What the program tells the model in the user's name.
_WRITTEN: Final = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|turn_aborted|skill"
    r"|permissions instructions|collaboration_mode|subagent_notification|model_switch"
    r"|user_action|apps_instructions|plugins_instructions)>|# AGENTS\.md instructions)"
)


@dataclass(slots=True)
class _Draft:
    """A record that is not in the conversation yet."""

    kind: str
    number: int
    where: str
    time: datetime | None
    item: Mapping[str, Any] = field(default_factory=dict)
    turns: int = 0


@dataclass(slots=True)
class _About:
    """What is known of the session."""

    id: str | None = None
    parent: str | None = None
    source: str = "cli"
    model: str | None = None
    started_at: datetime | None = None


def recognises(value: object) -> bool:
    """Whether it is one line of such a log."""
    return (
        isinstance(value, Mapping)
        and value.get("type") in _TYPES
        and isinstance(value.get("payload"), Mapping)
    )


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the session of a log, in pieces."""
    log = _Log(report)
    for record in records:
        try:
            log.line(record.value, record.where or "line 1")
        except ValueError as error:
            report.problem(record.where or "line 1", str(error))
        yield from log.full()
    yield from log.rest()


class _Log:
    """What was read of a log so far."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._about = _About()
        self._builder = Builder()
        self._items = Items(self._builder, report)
        self._drafts: list[_Draft] = []
        self._number = 0
        # By role and text: records of one kind whose mirror of the other did not come yet.
        self._unseen: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._shown: dict[tuple[str, str], list[_Draft]] = defaultdict(list)
        self._states: dict[str, State] = {}
        self._said: list[tuple[str, bool]] = []  # uids, and whether a turn begins there

    def line(self, value: Any, where: str) -> None:
        """Take one line."""
        self._number += 1
        payload = value.get("payload") if isinstance(value, Mapping) else None
        if not isinstance(payload, Mapping):
            raise ValueError("no line of a rollout log: it has no `payload`")
        kind = value.get("type")
        draft = _Draft("item", self._number, where, spoken_time(value, self._report), payload)
        if kind == "session_meta":
            self._meta(payload, draft.time)
        elif kind == "turn_context":
            self._about.model = as_text(payload.get("model")) or self._about.model
        elif kind == "compacted":
            self._report.skip("summaries of compacted context")
            draft.kind = "compacted"
            self._drafts.append(draft)
        elif kind == "response_item":
            self._response(payload, draft)
        elif kind == "event_msg":
            self._event(payload, draft)
        else:
            self._report.skip(f"{kind} records")

    def full(self) -> Iterator[Batch]:
        """Yield a piece where enough has come together."""
        if len(self._drafts) > BATCH_MESSAGES + _NEAR:
            self._write(self._number - _NEAR)
            yield Batch(self._session(), self._builder.take())

    def rest(self) -> Iterator[Batch]:
        """Yield what is left, and what is known only at the end."""
        self._write(self._number + 1)
        yield from settled(self._session(), self._builder.take(), self._states)

    def _session(self) -> Session:
        about = self._about
        if about.id is None:
            about.id = Occurrences().name("rollout", (uid for uid, _ in self._said))
        return Session(
            about.id,
            source=about.source,
            model=about.model,
            parent=about.parent,
            started_at=about.started_at,
        )

    def _meta(self, payload: Mapping[str, Any], time: datetime | None) -> None:
        """Take the head of the log; the heads after it are of what it was forked from."""
        key = as_text(first_of(payload, "id", "session_id"))
        about = self._about
        if about.id is None:
            about.id = key
            about.started_at = as_time(payload.get("timestamp")) or time
            about.model = as_text(payload.get("model")) or about.model
            origin = payload.get("source")
            spawned = origin.get("subagent") if isinstance(origin, Mapping) else None
            if spawned is not None:
                about.source = "subagent"
            inner = spawned.get("thread_spawn") if isinstance(spawned, Mapping) else None
            about.parent = as_text(
                first_of(payload, "forked_from_id", "parent_thread_id")
                or (inner.get("parent_thread_id") if isinstance(inner, Mapping) else None)
            )
        elif key != about.id and about.parent is None:
            about.parent = key

    def _response(self, payload: Mapping[str, Any], draft: _Draft) -> None:
        if payload.get("type") == "message":
            role = role_of(payload.get("role"))
            text = split(payload.get("content")).text
            if role == "user" and _WRITTEN.match(text):
                self._report.skip("messages that the program wrote itself")
                return
            if role in ("user", "assistant"):
                key = (role, text.strip())
                shown = self._shown.pop(key, [])
                if shown:
                    first, *others = shown
                    if others:
                        self._shown[key] = others
                    first.kind = "shown twice"
                else:
                    self._unseen[key].append(self._number)
        self._drafts.append(draft)

    def _event(self, payload: Mapping[str, Any], draft: _Draft) -> None:
        kind = payload.get("type")
        role = _SPOKEN.get(kind) if isinstance(kind, str) else None
        text = payload.get("message")
        if kind == "thread_rolled_back":
            turns = payload.get("num_turns")
            draft.kind, draft.turns = "rolled back", turns if isinstance(turns, int) else 0
            self._drafts.append(draft)
        elif role is None or not isinstance(text, str):
            self._report.skip(f"{kind} events")
        else:
            key = (role, text.strip())
            near = [each for each in self._unseen.pop(key, ()) if each > self._number - _NEAR]
            if near:
                if near[1:]:
                    self._unseen[key] = near[1:]
                return
            draft.item = {"type": "message", "role": role, "content": text}
            self._shown[key].append(draft)
            self._drafts.append(draft)

    def _write(self, before: int) -> None:
        """Put the drafts before a record's number into the conversation."""
        done = 0
        for draft in self._drafts:
            if draft.number >= before:
                break
            done += 1
            if draft.kind == "compacted":
                for uid, _ in self._said:
                    self._states.setdefault(uid, "compacted")
            elif draft.kind == "rolled back":
                self._roll_back(draft.turns)
            elif draft.kind == "item":
                self._write_item(draft)
        del self._drafts[:done]
        for key in [k for k, each in self._shown.items() if each[-1].number < before]:
            del self._shown[key]
        for old in [k for k, each in self._unseen.items() if each[-1] < before - _NEAR]:
            del self._unseen[old]

    def _write_item(self, draft: _Draft) -> None:
        try:
            made = self._items.add(draft.item, draft.time)
        except ValueError as error:
            self._report.problem(draft.where, str(error))
            return
        turn = draft.item.get("type") == "message" and role_of(draft.item.get("role")) == "user"
        self._said += [(uid, turn) for uid in made]

    def _roll_back(self, turns: int) -> None:
        while turns > 0 and self._said:
            uid, begins = self._said.pop()
            self._states[uid] = "rewound"
            turns -= begins
