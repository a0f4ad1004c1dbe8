# SPDX-License-Identifier: MIT
"""Any argument of any public function: an answer in plain JSON and in bounds, or our error."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import random
import time
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bench.harm.stores import PATIENCE, Report
from mnemogram import History, Message, MnemogramError, Session
from mnemogram.tools import session_search_tool

BUDGET: Final = 20_000
_UTC: Final = datetime.timezone.utc


def _nested(depth: int, kind: str) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


def _values() -> Iterator[Any]:
    """Yield values that somebody may pass for anything."""
    yield from (None, True, False, 0, 1, -1, 3, 10, 2**31, 2**63, -(2**63) - 1, 2**200)
    yield from (0.0, 0.5, -1.0, 1e308, float("nan"), float("inf"), -float("inf"))
    yield from ("", " ", "s0", "u1", "a\0b", "\ud800", "s0\udfff", "é", "猫" * 3000, "x" * 300_000)
    yield from ("[" * 100_000, '{"a":' * 50_000, "[" * 500 + "]" * 500, "{}", "[NaN]", "1e999")
    yield from ("2024-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "now")
    yield from ("2024-13-45", "12:00", "-99999-01-01", "2024-01-01T00:00:00", "\u0660" * 10)
    yield from (b"", b"\xff", bytearray(b"a"), memoryview(b"a"), object(), type, len, ...)
    yield from ([], {}, (), set(), [None], ["s0"], ["\ud800"], ("user",), {"a": 1}, [["s0"]])
    yield from (_nested(70, "list"), _nested(900, "dict"), _nested(5_000, "list"))
    yield from ({1: 2}, {"a": float("nan")}, [float("inf")], {"a": {b"x": 1}}, {"\ud800": "\udfff"})
    yield from (datetime.datetime.min, datetime.datetime.max, datetime.datetime.now())
    yield from (
        datetime.datetime.min.replace(tzinfo=_UTC),
        datetime.datetime.max.replace(tzinfo=_UTC),
    )
    yield datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-14)))
    yield from (datetime.timedelta.max, datetime.timedelta.min, datetime.timedelta(days=1))
    yield from (iter(["s0"]), (each for each in ("u1",)), io.StringIO("{}"), Path("/dev/null"))
    yield from (Session("s0"), Message("user", "a"), complex(1, 2), range(3), range(10**9))


VALUES: Final = tuple(_values())

#: The functions, each with good arguments; any of them is replaced by a bad one.
_GOOD: Final[dict[str, dict[str, Any]]] = {
    "append": {"session": "s0", "messages": [Message("user", "a", uid="k")]},
    "append_many": {"conversations": [("s0", [Message("user", "a", uid="k")])]},
    "amend": {
        "session": "s0",
        "uid": "u1",
        "content": "b",
        "tool_calls": [{"a": 1}],
        "tool_status": "ok",
    },
    "mark_compacted": {"session": "s0", "uids": ["u1"]},
    "rewind": {"session": "s0", "uids": ["u9"]},
    "end_session": {"session": "s0", "reason": "idle"},
    "search": {
        "query": "queue",
        "limit": 3,
        "roles": ("user",),
        "sort": "relevance",
        "detail": "adaptive",
        "window": 5,
        "after": None,
        "before": None,
        "sources": None,
        "all_sources": False,
        "exclude_sessions": (),
        "current_session": None,
        "timeout": 3.0,
        "cursor": None,
        "recency": None,
    },
    "scroll": {"session": "s0", "around": 2, "window": 5, "timeout": 3.0},
    "read": {"session": "s0", "timeout": 3.0},
    "browse": {
        "limit": 10,
        "after": None,
        "before": None,
        "sources": None,
        "all_sources": False,
        "exclude_sessions": (),
        "cursor": None,
        "timeout": 3.0,
    },
    "status": {"sizes": True},
    "delete_session": {"session": "never"},
    "expire": {"before": "1970-01-02", "dry_run": True},
    "maintain": {"batch_size": 500},
    "backup": {"path": "copy.db", "overwrite": True, "progress": None},
    "export": {"stream": None},
    "import_export": {"lines": ['{"type":"header","format":"mnemogram","version":1}']},
    "repair": {"dry_run": True, "backup": None, "on_step": None},
    "set_aside": {},
    "revive_session": {"session": "never"},
    "import_conversations": {"conversations": []},
    "check": {},
}
_MESSAGE: Final[dict[str, Any]] = {
    "role": "user",
    "content": "words",
    "uid": "m",
    "timestamp": None,
    "tool_calls": None,
    "tool_call_id": None,
    "tool_name": None,
    "tool_status": None,
    "provenance": "observed",
}
_SESSION: Final[dict[str, Any]] = {
    "id": "f",
    "source": "chat",
    "title": "t",
    "model": None,
    "parent": None,
    "started_at": None,
}
_RECORDS: Final[dict[str, dict[str, Any]]] = {
    "header": {"type": "header", "format": "mnemogram", "version": 1},
    "tombstone": {"type": "tombstone", "session": "t", "deleted_at": "2024-01-01T00:00:00Z"},
    "session": {
        "type": "session",
        "id": "i",
        "source": "chat",
        "title": "t",
        "model": "m",
        "parent": "p",
        "end_reason": "idle",
        "started_at": "2024-01-01T00:00:00Z",
        "last_active_at": "2024-01-01T00:00:00Z",
    },
    "message": {
        "type": "message",
        "session": "i",
        "uid": "u",
        "role": "user",
        "state": "compacted",
        "timestamp": "2024-01-01T00:00:00Z",
        "provenance": "observed",
        "tool_call_id": "c",
        "tool_name": "n",
        "tool_status": "ok",
        "tool_calls": [{"a": 1}],
        "content": "x",
    },
}


def _fresh(value: Any) -> Any:
    """A value that may be used up, made anew."""
    if isinstance(value, typing.Iterator) and not isinstance(value, io.StringIO):
        return iter(["s0"])
    return io.StringIO("{}") if isinstance(value, io.StringIO) else value


def calls(chance: random.Random, history: History, folder: Path) -> tuple[str, Callable[[], Any]]:
    """Choose a call with one or two bad arguments, and say which."""
    kind = chance.random()
    value = _fresh(chance.choice(VALUES))
    shown = f"{type(value).__name__} {str(value)[:40]!a}" if _showable(value) else "a deep value"
    if kind < 0.15:
        field = chance.choice(sorted(_MESSAGE))
        message = Message(**{**_MESSAGE, "uid": str(chance.random()), field: value})
        return f"append(Message({field}={shown}))", lambda: history.append("f", [message])
    if kind < 0.25:
        field = chance.choice(sorted(_SESSION))
        session = Session(**{**_SESSION, field: value})
        message = Message("user", "in a session", uid=str(chance.random()))
        return f"append(Session({field}={shown}))", lambda: history.append(session, [message])
    if kind < 0.35:
        name = chance.choice(sorted(_RECORDS))
        record = dict(_RECORDS[name])
        field = chance.choice(sorted(record))
        try:
            if chance.random() < 0.2:
                del record[field]
                shown = "missing"
            else:
                record[field] = value
            line = json.dumps(record)
        except (TypeError, ValueError, RecursionError):
            line = '{"type": "session", "id": ' + "[" * 100_000
        lines = [json.dumps(_RECORDS["session"]), line]
        return f"import_export({name} with {field}={shown})", lambda: history.import_export(lines)
    if kind < 0.45:
        tool = session_search_tool(history)
        field = chance.choice(
            (
                "query",
                "session_id",
                "around_message_id",
                "limit",
                "roles",
                "sort",
                "cursor",
                "after",
            )
        )
        arguments = {"query": "queue", field: value}
        if chance.random() < 0.3:
            arguments = {"session_id": "s0", field: value}
        return f"session_search({field}={shown})", lambda: tool(arguments)
    name = chance.choice(sorted(_GOOD))
    given = dict(_GOOD[name])
    if name == "export":
        given["stream"] = io.StringIO()
    if name == "backup":
        given["path"] = folder / "copy.db"
    # Files may be written, and a host's function may raise what it likes.
    hosts = isinstance(value, (str, bytes, Path)) or callable(value)
    if given and not (name in ("backup", "repair") and hosts):
        given[chance.choice(sorted(given))] = value
    bad = ", ".join(key for key in given if given[key] is value)
    return f"{name}({bad}={shown})", lambda: getattr(history, name)(**given)


def _showable(value: Any) -> bool:
    try:
        str(value)
    except RecursionError:
        return False
    return True


def run(seed: int, count: int, folder: Path, open_store: Callable[[], History]) -> Report:
    """Make so many calls on one store."""
    report = Report()
    chance = random.Random(seed)
    with contextlib.closing(open_store()) as history:
        for _ in range(count):
            words, call = calls(chance, history, folder)
            report.cases += 1
            _check(words, call, report, f"seed {seed}")
        done = history.check()
        if not done.ok:
            report.findings.append(f"seed {seed}: {done.findings}"[:600])
        stream = io.StringIO()
        history.export(stream)
        for line in stream.getvalue().split("\n"):
            _plain_json(line or "{}")
    return report


def _plain_json(text: str) -> None:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    text.encode()
    json.loads(text, parse_constant=refuse)


def _check(words: str, call: Callable[[], Any], report: Report, about: str) -> None:
    name = words.partition("(")[0]
    began = time.monotonic()
    try:
        answer = call()
        if hasattr(answer, "to_dict"):
            answer = answer.to_dict()
        text = json.dumps(answer, ensure_ascii=False, default=str)
        _plain_json(text)
        if name in ("search", "read", "scroll", "browse", "session_search"):
            size = len(text.encode())
            if size > BUDGET:
                report.findings.append(f"{about}: {words} answered {size:,} bytes")
        report.count(f"{name}: answered")
    except MnemogramError as error:
        report.count(f"{name}: {error.code}")
        try:
            json.dumps(str(error)).encode()
            str(error).encode()
        except UnicodeEncodeError as wrong:
            report.findings.append(f"{about}: {words}: its error cannot be written: {wrong}")
    except Exception as error:
        report.count(f"{name}: {type(error).__name__}")
        report.findings.append(f"{about}: {words} raised {type(error).__name__}: {error}"[:400])
    taken = time.monotonic() - began
    if taken > PATIENCE:
        report.findings.append(f"{about}: {words} took {taken:.1f} s")
