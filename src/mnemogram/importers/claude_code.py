# SPDX-License-Identifier: MIT
"""Session logs of coding agents in the manner of Claude Code: JSON lines, one event each.

An event has ``type``, ``sessionId``, ``uuid``, ``timestamp`` and, for ``user`` and
``assistant``, a ``message`` whose content is text or blocks: ``tool_use`` becomes a tool
call, ``tool_result`` a tool message. Side chains become sessions of source ``subagent``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mnemogram.history.models import Session
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    Builder,
    Report,
    as_text,
    as_time,
    role_of,
)
from mnemogram.importers.blocks import split
from mnemogram.importers.source import Record

__all__ = ["is_event", "read"]

_TITLES: Final = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
_MARKS: Final = {
    "isMeta": "messages that the program wrote itself",
    "isCompactSummary": "summaries of compacted context",
    "isVisibleInTranscriptOnly": "messages that the program wrote itself",
}


@dataclass(slots=True)
class _Open:
    """A session of which messages were read and not yet handed on."""

    id: str
    source: str
    parent: str | None
    builder: Builder = field(default_factory=Builder)
    model: str | None = None

    def batch(self, title: str | None) -> Batch:
        session = Session(
            self.id, source=self.source, title=title, model=self.model, parent=self.parent
        )
        return Batch(session, self.builder.take())


def is_event(value: object) -> bool:
    """Whether it is one event of such a log."""
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "summary":
        return "leafUuid" in value
    return "sessionId" in value and ("uuid" in value or value["type"] in _TITLES)


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the sessions of a log; most logs hold one, and its subagents."""
    sessions: dict[str, _Open] = {}
    titles: dict[str, str] = {}
    title: str | None = None
    for record in records:
        event = record.value
        kind = event.get("type") if isinstance(event, Mapping) else None
        kind = kind if isinstance(kind, str) else None
        if kind in _TITLES:
            found = as_text(event.get(_TITLES[kind]))
            of = as_text(event.get("sessionId"))
            if found and of:
                titles[of] = found
            title = found or title
        elif kind in ("user", "assistant"):
            try:
                open_ = _session(event, sessions)
                _event(event, open_, report)
            except ValueError as error:
                report.problem(record.where, str(error))
                continue
            if len(open_.builder) >= BATCH_MESSAGES:
                yield open_.batch(titles.get(open_.id))
        elif kind is not None:
            report.skip(f"{kind} events")
        else:
            report.problem(record.where, "no event: it has no `type`")
    main = [each for each in sessions.values() if each.parent is None]
    for each in sessions.values():
        # A summary names no session; it is this one's where the log holds a single one.
        alone = title if len(main) == 1 and each.parent is None else None
        if each.builder:
            yield each.batch(titles.get(each.id) or alone)


def _session(event: Mapping[str, Any], sessions: dict[str, _Open]) -> _Open:
    key = as_text(event.get("sessionId"))
    if key is None:
        raise ValueError("an event without sessionId")
    parent = None
    source = "cli"
    if event.get("isSidechain") is True:
        parent, source = key, "subagent"
        key = f"{key}/{as_text(event.get('agentId')) or 'sidechain'}"
    return sessions.setdefault(key, _Open(key, source, parent))


def _event(event: Mapping[str, Any], open_: _Open, report: Report) -> None:
    for mark, what in _MARKS.items():
        if event.get(mark) is True:
            report.skip(what)
            return
    message = event.get("message")
    if not isinstance(message, Mapping):
        raise ValueError("an event without `message`")
    role = role_of(message.get("role", event["type"]))
    if role is None or role == "system":
        raise ValueError(f"role {message.get('role')!r} is neither user nor assistant")
    content = split(message.get("content"))
    report.skip("reasoning blocks", content.reasoning)
    uid = as_text(event.get("uuid"))
    time = as_time(event.get("timestamp"))
    if role == "assistant":
        open_.model = as_text(message.get("model")) or open_.model
    for number, result in enumerate(content.results, 1):
        open_.builder.add(
            "tool",
            result.text,
            uid=uid and (uid if len(content.results) == 1 else f"{uid}/{number}"),
            timestamp=time,
            tool_call_id=result.call_id,
            tool_status="error" if result.failed else None,
        )
    if content.text or content.calls:
        open_.builder.add(
            role,
            content.text,
            uid=uid and (f"{uid}/text" if content.results else uid),
            timestamp=time,
            tool_calls=content.calls,
        )
