# SPDX-License-Identifier: MIT
"""What every importer shares: its values, its report, and how ids and times are made."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import Message, Role, Session, to_microseconds

__all__ = [
    "BATCH_MESSAGES",
    "Batch",
    "Builder",
    "Format",
    "ImportFailed",
    "Occurrences",
    "Problem",
    "Report",
    "as_text",
    "as_time",
    "content_uid",
    "first_of",
    "role_of",
]

Format: TypeAlias = Literal["openai", "chatgpt", "claude-code", "jsonl"]

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
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "system": "system",
    "developer": "system",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FRACTION: Final = re.compile(r"(?<=:\d\d)[.,](\d+)")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")


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


class Batch(NamedTuple):
    """One conversation, or the next piece of a long one.

    Attributes:
        session: the conversation; the same in each of its pieces.
        messages: in order, each with a uid that is the same at every import.
        records: the same as lines of our own export, where the file is in its format:
            they also hold what an append does not take, such as states.
    """

    session: Session
    messages: list[Message]
    records: tuple[dict[str, Any], ...] = ()


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
        problems: records that could not be used, the first hundred of them.
        problem_count: how many there were.
        tombstones: records of deleted sessions in our own export.
    """

    file: str = "-"
    format: Format | None = None
    skipped: Counter[str] = field(default_factory=Counter)
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


def role_of(name: object) -> Role | Literal["system"] | None:
    """Return our role for another program's, or None for one that nobody uses."""
    return _ROLES.get(name.strip().lower()) if isinstance(name, str) else None


def as_text(value: object) -> str | None:
    """Return an id, a title or a name as text; None for what is neither text nor number."""
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


def as_time(value: object) -> datetime | None:
    """Return a time as other programs write it, or None where it is not one.

    ISO 8601 with any number of decimals, and numbers since 1970 UTC in seconds,
    milliseconds or microseconds, told apart by their size.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        value = value.strip()
        if not _NUMBER.fullmatch(value):
            text = _FRACTION.sub(lambda match: "." + match[1][:6].ljust(6, "0"), value)
            try:
                return _EPOCH + timedelta(microseconds=to_microseconds(text))
            except (InvalidArgument, OverflowError):
                return None
        value = float(value)
    if not isinstance(value, (int, float)):
        return None
    scale = next((s for limit, s in ((1e11, 1e6), (1e14, 1e3)) if abs(value) < limit), 1.0)
    try:
        return _EPOCH + timedelta(microseconds=round(value * scale))
    except (OverflowError, ValueError):
        return None


def _digest(parts: Iterable[object]) -> str:
    text = json.dumps(list(parts), ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def content_uid(position: int, message: Message) -> str:
    """Return the uid of a message that brings none: its place and what it says."""
    said = (message.role, message.content, message.tool_calls, message.tool_call_id)
    return f"{position}-{_digest(said)[:16]}"


class Occurrences:
    """Keeps equal conversations of one file apart, and equal again at the next import."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def name(self, prefix: str, uids: Iterable[str]) -> str:
        """Return the id of a conversation that brings none, from its messages' uids."""
        name = f"{prefix}-{_digest(uids)[:20]}"
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}-{self._seen[name]}"


class Builder:
    """Gathers one conversation's messages: uids, tool names and times that carry on.

    A message without a time has the one before it; a conversation without any has none.
    """

    def __init__(self, started_at: datetime | None = None) -> None:
        self._messages: list[Message] = []
        self._count = 0
        self._uids: dict[str, str] = {}
        self._tool_names: dict[str, str] = {}
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
    ) -> None:
        """Add the next message."""
        self._time = timestamp or self._time
        if role == "tool" and tool_name is None and tool_call_id is not None:
            tool_name = self._tool_names.get(tool_call_id)
        for call in tool_calls or ():
            self._remember(call)
        message = Message(
            role,
            content,
            timestamp=self._time,
            tool_calls=tool_calls or None,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            tool_status=tool_status,
            provenance="observed" if self._time else "legacy_snapshot",
        )
        derived = content_uid(self._count, message)
        said = derived.partition("-")[2]
        if uid is None:
            uid = derived
        elif self._uids.setdefault(uid, said) != said:
            uid = f"{uid}#{derived}"  # an id used twice for different words
        self._count += 1
        self._messages.append(replace(message, uid=uid))

    def __len__(self) -> int:
        return len(self._messages)

    def take(self) -> list[Message]:
        """Return the messages gathered since the last take."""
        taken, self._messages = self._messages, []
        return taken

    def _remember(self, call: object) -> None:
        if not isinstance(call, Mapping):
            return
        function = call.get("function")
        named = function if isinstance(function, Mapping) else call
        key, name = as_text(call.get("id")), as_text(named.get("name"))
        if key and name:
            self._tool_names[key] = name
