# SPDX-License-Identifier: MIT
"""What every importer shares: its values, its report, and how ids and times are made."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import Conversation, Message, Role, Session, State
from mnemogram.importers.times import as_time, read_time

__all__ = [
    "BATCH_MESSAGES",
    "Batch",
    "Builder",
    "Format",
    "ImportFailed",
    "Importer",
    "NothingFound",
    "Occurrences",
    "Problem",
    "Record",
    "Report",
    "Whole",
    "as_text",
    "as_time",
    "bounded",
    "content_uid",
    "conversations",
    "first_of",
    "pieces",
    "read_time",
    "role_of",
    "settled",
    "spoken_time",
]

#: The name of a format; ``importers.FORMATS`` holds them all.
Format: TypeAlias = str

#: A long session is handed on in pieces of this many messages, so that files larger than
#: memory stream and one transaction stays short.
BATCH_MESSAGES: Final = 5_000

#: Problems kept word for word; beyond that they are only counted.
PROBLEMS_KEPT: Final = 100

_ROLES: Final[Mapping[str, Role | Literal["system"]]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "gemini": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "function_call_output": "tool",
    "tool_response": "tool",
    "system": "system",
    "developer": "system",
}


class ImportFailed(InvalidArgument):
    """A file cannot be imported at all.

    Attributes:
        file: name of the file as the caller gave it.
        line: line of the fault, from 1; None where no line can be named.
        reason: what is wrong there.
    """

    default_hint = "Correct the file or name its format; what was imported before stays."

    def __init__(
        self, file: str, line: int | None, reason: str, *, hint: str | None = None
    ) -> None:
        place = file if line is None else f"{file}, line {line}"
        super().__init__(f"{place}: {reason}", hint=hint)
        self.file = file
        self.line = line
        self.reason = reason

    def to_dict(self) -> dict[str, object]:
        """Return the error with the file, the line and the reason as fields."""
        return super().to_dict() | {"file": self.file, "line": self.line, "reason": self.reason}


class NothingFound(ImportFailed):
    """A file is whole and readable, and holds no conversation that any importer knows."""


class Record(NamedTuple):
    """One value of a file.

    Attributes:
        where: ``line 12``, or an empty string for a file that is one document.
        value: a JSON value, or a database.
    """

    where: str
    value: Any


class Whole(NamedTuple):
    """All that a file holds of a conversation that it holds to its end.

    What a history has of the conversation and the file has not was taken back since,
    unless the history knows newer messages: then the file is an older one.

    Attributes:
        live: uids of the messages that stand.
        left: uids of those on branches that were left.
        newest: the latest time of any of them.
    """

    live: frozenset[str]
    left: frozenset[str]
    newest: datetime | None


class Batch(NamedTuple):
    """One conversation, or the next piece of a long one.

    Attributes:
        session: the conversation; the same in each of its pieces.
        messages: in order, each with a uid that is the same at every import.
        records: the same as lines of our own export, where the file is in its format:
            they also hold what an append does not take, such as states.
        left: messages on branches that were left by editing or regenerating: hidden
            evidence, to be stored as ``rewound``.
        states: by uid, the state of messages of this or an earlier piece that are not
            ``active``.
        whole: what the file holds of the conversation, where that is all there is.
        unique: whether no other conversation has messages with these uids, except for
            copies of them.
        made: whether the session's id was made of what was said first and of all that was
            said, as the conversation brings none.
        after: of a later piece of such a conversation: uid of the message before it.
        end_reason: why the conversation ended, where that is known.
    """

    session: Session
    messages: list[Message]
    records: tuple[dict[str, Any], ...] = ()
    left: Sequence[Message] = ()
    states: Mapping[str, State] = MappingProxyType({})
    whole: Whole | None = None
    unique: bool = False
    made: bool = False
    after: str | None = None
    end_reason: str | None = None

    def conversation(self) -> Conversation:
        """Return it as ``History.import_conversations`` takes it."""
        known = self.whole
        return Conversation(
            self.session,
            self.messages,
            left=self.left,
            states=self.states,
            live=None if known is None else known.live,
            gone=frozenset() if known is None else known.left,
            newest=None if known is None else known.newest,
            unique=self.unique,
            made=self.made,
            after=self.after,
            end_reason=self.end_reason,
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that was left out.

    Attributes:
        file: the file as the caller named it.
        where: ``line 12``, or ``conversation 3, message 7`` inside a JSON document.
        reason: what is wrong with it.
    """

    file: str
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, {self.where}: {self.reason}"


@dataclass(slots=True)
class Report:
    """What one import saw; it fills while the batches are read.

    Attributes:
        file: the file as the caller named it.
        format: the format that was used, once it is known.
        skipped: what was left out on purpose (system prompts, reasoning), counted.
        untimed: messages of which no time is known.
        problems: records that could not be used, the first hundred of them.
        problem_count: how many there were.
        tombstones: records of deleted sessions in our own export.
    """

    file: str = "-"
    format: Format | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    untimed: int = 0
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    tombstones: list[dict[str, Any]] = field(default_factory=list)

    def problem(self, where: str, reason: str) -> None:
        """Note a record that is left out."""
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_KEPT:
            self.problems.append(Problem(self.file, where, reason))

    def skip(self, what: str, count: int = 1) -> None:
        """Count something that is left out on purpose."""
        if count:
            self.skipped[what] += count


class Importer(Protocol):
    """A module that reads one format.

    Attributes:
        NAME: the format's name.
        LOOKS_FOR: in a few words, what it is recognised by.
        FIELDS: names of fields that are typical of it.
    """

    @property
    def NAME(self) -> str: ...
    @property
    def LOOKS_FOR(self) -> str: ...
    @property
    def FIELDS(self) -> frozenset[str]: ...

    def recognises(self, value: object, /) -> bool:
        """Whether a value of the file is of this format."""

    def read(self, records: Iterable[Record], report: Report, /) -> Iterator[Batch]:
        """Yield the conversations in a file's values."""


def role_of(name: object) -> Role | Literal["system"] | None:
    """Return our role for another program's, or None for one that nobody uses."""
    return _ROLES.get(name.strip().lower()) if isinstance(name, str) else None


def as_text(value: object) -> str | None:
    """Return an id, a title or a name as text; None for what is neither text nor number."""
    if isinstance(value, Mapping) and len(value) == 1:  # an id of a document database
        value = value.get("$oid", value.get("$uuid"))
    if isinstance(value, bool):
        return None
    if isinstance(value, (str, int, float)):
        return str(value).strip() or None
    return None


def first_of(record: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these fields that holds something, or None."""
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value
    return None


def spoken_time(record: Mapping[str, Any], report: Report) -> datetime | None:
    """Return when a message was said; a time that cannot be read is counted."""
    time, unreadable = read_time(record)
    report.skip("times that could not be read", unreadable)
    return time


def conversations(
    records: Iterable[Record],
    report: Report,
    convert: Callable[[Any, str], Iterator[Batch]],
) -> Iterator[Batch]:
    """Hand each conversation of a file to ``convert``, with the words for its place.

    A record is a conversation or a list of them. ``convert`` raises ValueError for what
    is none; it is reported and the rest go on.
    """
    for record in records:
        several = record.value if isinstance(record.value, list) else [record.value]
        for number, value in enumerate(several, 1):
            inside = f"conversation {number}" if several is record.value else ""
            where = ", ".join(filter(None, (record.where, inside))) or "line 1"
            try:
                yield from convert(value, where)
            except ValueError as error:
                report.problem(where, str(error))


def pieces(
    session: Session,
    messages: Sequence[Message],
    *,
    left: Sequence[Message] = (),
    states: Mapping[str, State] | None = None,
    whole: bool = False,
    unique: bool = False,
    made: bool = False,
) -> Iterator[Batch]:
    """Cut a conversation into batches; one without any message is none."""
    if not messages and not left:
        return
    all_of_it = None
    if whole:
        known = [m.timestamp for m in (*messages, *left) if isinstance(m.timestamp, datetime)]
        all_of_it = Whole(
            frozenset(m.uid for m in messages if m.uid),
            frozenset(m.uid for m in left if m.uid),
            max(known, default=None),
        )
    for start in range(0, len(messages) or 1, BATCH_MESSAGES):
        last = start + BATCH_MESSAGES >= len(messages)
        yield Batch(
            session,
            list(messages[start : start + BATCH_MESSAGES]),
            left=tuple(left) if last else (),
            states=states or {} if last else {},
            whole=all_of_it,
            unique=unique,
            made=made,
            after=messages[start - 1].uid if made and start else None,
        )


def settled(
    session: Session,
    messages: Sequence[Message],
    states: Mapping[str, State],
    *,
    unique: bool = False,
) -> Iterator[Batch]:
    """Yield the last piece of a conversation whose states are known only at its end.

    Messages that were handed on before get their states by their uids.
    """
    there = {message.uid for message in messages}
    left = [each for each in messages if states.get(each.uid or "") == "rewound"]
    kept = [each for each in messages if states.get(each.uid or "") != "rewound"]
    rest = {uid: state for uid, state in states.items() if state != "rewound" or uid not in there}
    if kept or left or rest:
        yield Batch(session, kept, left=tuple(left), states=rest, unique=unique)


def _digest(parts: Iterable[object]) -> str:
    text = json.dumps(list(parts), ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


#: Levels of a value in a call that are kept as they are.
_DEEP: Final = 60


def bounded(value: Any, depth: int = 0) -> Any:
    """Return a JSON value without what is nested too deeply to be stored."""
    if depth > _DEEP:
        return "..." if isinstance(value, (dict, list, tuple)) else value
    if isinstance(value, dict):
        return {key: bounded(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [bounded(each, depth + 1) for each in value]
    return value


def content_uid(position: int, message: Message) -> str:
    """Return the uid of a message that brings none: its place and what it says."""
    said = (message.role, message.content, message.tool_calls, message.tool_call_id)
    return f"{position}-{_digest(said)[:16]}"


class Occurrences:
    """Names conversations that bring no id, by what is said in them.

    Equal conversations of one file are kept apart, and are equal again at the next import.
    The first half of a name is that of the first message, so that a conversation that has
    grown is found again.
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def name(self, prefix: str, uids: Iterable[str]) -> str:
        """Return the id of a conversation that brings none, from its messages' uids."""
        known = list(uids)
        name = f"{prefix}-{_digest(known[:1])[:10]}{_digest(known)[:10]}"
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}-{self._seen[name]}"


class Builder:
    """Gathers one conversation's messages: uids, tool names and times that carry on.

    A message without a time has the one before it; a conversation without any has none.
    A message that comes again under its uid with more text has grown; one with other
    text is another message.
    """

    def __init__(self, started_at: datetime | None = None) -> None:
        self._messages: list[Message] = []
        self._places: dict[str, int] = {}  # of the uids among them
        self._count = 0
        self._uids: dict[str, str] = {}
        self._tool_names: dict[str, str] = {}
        self._called: str | None = None  # the tool of the call before, if it is a single one
        self._time = started_at

    def add(
        self,
        role: Role,
        content: str,
        *,
        uid: str | None = None,
        timestamp: datetime | None = None,
        tool_calls: list[Any] | None = None,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        tool_status: str | None = None,
    ) -> str:
        """Add the next message; return its uid."""
        self._time = timestamp or self._time
        if role == "tool" and tool_name is None:
            # Without an id it answers the call before it, where that is a single one.
            tool_name = self._tool_names.get(tool_call_id) if tool_call_id else self._called
        names = [self._remember(call) for call in tool_calls or ()]
        self._called = names[0] if len(names) == 1 else None
        message = Message(
            role,
            content,
            timestamp=self._time,
            tool_calls=bounded(tool_calls) or None,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            tool_status=tool_status,
            provenance="observed" if self._time else "legacy_snapshot",
        )
        derived = content_uid(self._count, message)
        said = derived.partition("-")[2]
        if uid is None:
            uid = derived
        elif self._uids.get(uid, said) != said:
            if self._grows(uid, message):
                self._uids[uid] = said
                return uid
            uid = f"{uid}#{derived}"  # an id used twice for different words
        self._uids.setdefault(uid, said)
        self._count += 1
        self._places[uid] = len(self._messages)
        self._messages.append(replace(message, uid=uid))
        return uid

    def __len__(self) -> int:
        return len(self._messages)

    def take(self) -> list[Message]:
        """Return the messages gathered since the last take."""
        taken, self._messages, self._places = self._messages, [], {}
        return taken

    def _grows(self, uid: str, message: Message) -> bool:
        place = self._places.get(uid)
        if place is None:
            return False
        before = self._messages[place]
        grown = (
            before.role == message.role
            and (message.content or "").startswith(before.content or "")
            and before.tool_calls in (None, message.tool_calls)
        )
        if grown:
            self._messages[place] = replace(message, uid=uid, timestamp=before.timestamp)
        return grown

    def _remember(self, call: object) -> str | None:
        if not isinstance(call, Mapping):
            return None
        function = call.get("function")
        named = function if isinstance(function, Mapping) else call
        key, name = as_text(call.get("id")), as_text(named.get("name"))
        if key and name:
            self._tool_names[key] = name
        return name
