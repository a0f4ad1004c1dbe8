# SPDX-License-Identifier: MIT
"""The ``logs.db`` of the command ``llm``.

``conversations`` and ``responses``: each response holds the prompt before it. Fragments and
attachments are what a person gave with a prompt; calls of tools belong to the response that
made them, their results to the one that they were sent with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from mnemogram.history.models import Session
from mnemogram.importers.base import (
    BATCH_MESSAGES,
    Batch,
    Builder,
    Record,
    Report,
    as_text,
    as_time,
)
from mnemogram.importers.blocks import attachment
from mnemogram.importers.sqlite import SQLiteFile

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "llm"
LOOKS_FOR: Final = "a SQLite file with tables `conversations` and `responses`"
FIELDS: Final = frozenset(("responses", "conversations", "datetime_utc", "conversation_id"))

_RESPONSES: Final = """
SELECT r.*, c.name AS conversation_name, c.model AS conversation_model
  FROM responses AS r LEFT JOIN conversations AS c ON c.id = r.conversation_id
 ORDER BY coalesce(r.conversation_id, r.id), r.datetime_utc, r.rowid
"""
_FRAGMENTS: Final = """
SELECT f.source, f.content, f.hash FROM prompt_fragments AS p
  JOIN fragments AS f ON f.id = p.fragment_id WHERE p.response_id = ? ORDER BY p."order"
"""
_ATTACHMENTS: Final = """
SELECT a.type, a.path, a.url, length(a.content) AS size FROM prompt_attachments AS p
  JOIN attachments AS a ON a.id = p.attachment_id WHERE p.response_id = ? ORDER BY p."order"
"""


def recognises(value: object) -> bool:
    """Whether it is such a log."""
    return isinstance(value, SQLiteFile) and value.has(
        conversations="id name model", responses="id prompt response datetime_utc conversation_id"
    )


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the conversations of a log, in pieces; a response without one is one."""
    for record in records:
        if not recognises(record.value):
            report.problem(record.where or "line 1", "no log of llm's")
            continue
        yield from _conversations(record.value, report)


def _conversations(log: SQLiteFile, report: Report) -> Iterator[Batch]:
    session: Session | None = None
    builder = Builder()
    for row in log.rows(_RESPONSES):
        key = str(row["conversation_id"] or row["id"])
        if session is None or key != session.id or len(builder) >= BATCH_MESSAGES:
            yield from _taken(session, builder)
            if session is None or key != session.id:
                builder = Builder()
                session = Session(
                    key,
                    source="cli",
                    title=as_text(row["conversation_name"]),
                    model=as_text(row["model"] or row["conversation_model"]),
                    started_at=as_time(row["datetime_utc"]),
                )
        _exchange(log, row, builder, report)
    yield from _taken(session, builder)


def _taken(session: Session | None, builder: Builder) -> Iterator[Batch]:
    messages = builder.take()
    if messages and session is not None:
        yield Batch(session, messages)


def _exchange(log: SQLiteFile, row: Mapping[str, Any], builder: Builder, report: Report) -> None:
    """Add a prompt with what was given with it, and the response to it."""
    key = str(row["id"])
    time = as_time(row["datetime_utc"])
    if row.get("system"):
        report.skip("system messages")
    said = "\n".join(filter(None, (*_given(log, key), row["prompt"])))
    if said:
        builder.add("user", said, uid=f"{key}/prompt", timestamp=time)
    for number, result in enumerate(_rows(log, "tool_results", key), 1):
        failed = result.get("exception")
        builder.add(
            "tool",
            "\n".join(filter(None, (as_text(result["output"]), as_text(failed)))),
            uid=f"{key}/result/{number}",
            timestamp=time,
            tool_call_id=as_text(result.get("tool_call_id")),
            tool_name=as_text(result.get("name")),
            tool_status="error" if failed else None,
        )
    calls = [
        {
            name: each
            for name, each in (
                ("id", as_text(call.get("tool_call_id"))),
                ("name", as_text(call.get("name"))),
                ("arguments", call.get("arguments")),
            )
            if each is not None
        }
        for call in _rows(log, "tool_calls", key)
    ]
    if row["response"] or calls:
        builder.add(
            "assistant",
            row["response"] or "",
            uid=key,
            timestamp=_end(time, row.get("duration_ms")),
            tool_calls=calls,
        )


def _end(began: datetime | None, milliseconds: object) -> datetime | None:
    if began is None or not isinstance(milliseconds, int) or milliseconds < 0:
        return began
    try:
        return began + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return began


def _given(log: SQLiteFile, key: str) -> Iterator[str]:
    """Yield the texts of fragments and the marks of attachments."""
    if log.has(prompt_fragments="response_id fragment_id", fragments="id content source"):
        for each in log.rows(_FRAGMENTS, (key,)):
            if each["source"]:
                yield attachment({"name": each["source"]})
            yield str(each["content"])
    if log.has(prompt_attachments="response_id attachment_id", attachments="id type content"):
        for each in log.rows(_ATTACHMENTS, (key,)):
            yield attachment(
                {"name": each["path"] or each["url"], "type": each["type"], "size": each["size"]}
            )


def _rows(log: SQLiteFile, table: str, key: str) -> Iterator[dict[str, Any]]:
    if log.has(**{table: "response_id name"}):
        yield from log.rows(f"SELECT * FROM {table} WHERE response_id = ? ORDER BY id", (key,))
