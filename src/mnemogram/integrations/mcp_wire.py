# SPDX-License-Identifier: MIT
"""Standard input and output as lines of JSON-RPC, of which every request gets an answer.

The SDK reads a line strictly and drops what it cannot read, so that the client waits for
its own timeout; and it writes characters raw that some readers end a line at. This stands
between the SDK's transport and the two pipes: half surrogates and broken UTF-8 become
U+FFFD, what is no message is refused under the id that it carries, and what is written is
one line for everybody.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final

from mcp_types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from mnemogram.values import one_line

__all__ = ["Wire", "standard_streams"]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
#: Seconds that requests may take which are at work when the input ends.
LAST_ANSWERS: Final = 10.0

# Backslashes stand in JSON only inside strings, so no string has to be told from the rest.
_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:]|[^\s{}\[\]:,"]+', re.DOTALL)
_MISSING: Final = object()


def mend(line: bytes) -> str:
    """Return a line in which what no Unicode text can hold is U+FFFD."""
    text = line.decode("utf-8", "replace").removeprefix("\ufeff")
    return _ESCAPE.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)


def ids_of(text: str) -> list[Any]:
    """Return the ids of the requests in a text that is no JSON, as far as they can be seen."""
    ids: list[Any] = []
    anywhere: list[Any] = []
    depth, found = 0, _MISSING
    tokens = _TOKEN.findall(text)
    for place, token in enumerate(tokens):
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
            if depth <= 0:
                if found is not _MISSING:
                    ids.append(found)
                depth, found = 0, _MISSING
        elif token == '"id"' and tokens[place + 1 : place + 2] == [":"]:
            try:
                value = json.loads("".join(tokens[place + 2 : place + 3]))
            except ValueError:
                continue
            if _is_id(value):
                anywhere.append(value)
                if depth == 1:
                    found = value
    if found is not _MISSING:
        ids.append(found)
    return ids or (anywhere if len(anywhere) == 1 else [])


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


class Wire:
    """Two pipes as the text files that ``stdio_server`` of the SDK takes.

    Reading and writing happen on different threads.

    Args:
        incoming: what the client writes.
        outgoing: what the client reads.
    """

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._waiting: deque[str] = deque()
        self._open: Counter[Any] = Counter()
        self._changed = threading.Condition()
        self._gone = False

    def readline(self) -> str:
        """Return the next message, ended by a newline; nothing at the end of the input."""
        while True:
            if self._waiting:
                text = self._waiting.popleft()
            else:
                line = self._incoming.readline()
                if not line:
                    self._finish()
                    return ""
                text = mend(line).strip()
            if text and self._take(text):
                return text + "\n"

    def write(self, text: str) -> int:
        """Write a message; a client that has gone away is no error."""
        message = json.loads(text)
        self._send(text.rstrip("\n"))
        if "method" not in message:
            with self._changed:
                self._open[message.get("id")] -= 1
                self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Do nothing: every message is sent as it is written."""

    def _send(self, text: str) -> None:
        data = one_line(text).encode("utf-8", "replace") + b"\n"
        with self._changed:
            if self._gone:
                return
            try:
                self._outgoing.write(data)
                self._outgoing.flush()
            except BrokenPipeError:
                self._gone = True

    def _take(self, text: str) -> bool:
        """Return whether the SDK reads a message; answer one that it does not."""
        try:
            message = jsonrpc_message_adapter.validate_json(text, by_name=False)
        except ValidationError:
            self._refuse(text)
            return False
        if isinstance(message, JSONRPCRequest):
            with self._changed:
                self._open[message.id] += 1
        elif isinstance(message, JSONRPCNotification):
            if '"id"' in text:
                value = json.loads(text)
                if "id" in value:  # true, null, 1.5: the SDK takes the request for a notice
                    self._error(INVALID_REQUEST, value["id"], "an id is a string or an integer")
                    return False
            if message.method == "notifications/cancelled":
                with self._changed:
                    self._open.pop((message.params or {}).get("requestId"), None)
        return True

    def _refuse(self, text: str) -> None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else f"no JSON: {error}"
            for each in ids_of(text) or [None]:
                self._error(PARSE_ERROR, each, reason)
            return
        if isinstance(value, list) and value:  # a batch, of earlier versions of the protocol
            self._waiting.extend(map(json.dumps, value))
        elif not isinstance(value, dict):
            self._error(INVALID_REQUEST, None, "a message is an object")
        elif "method" in value and "id" not in value:
            return  # a notice has no answer
        elif "method" not in value and ("result" in value or "error" in value):
            return  # nor has an answer
        else:
            reason = 'a request is {"jsonrpc": "2.0", "id": ..., "method": "...", "params": {...}}'
            self._error(INVALID_REQUEST, value.get("id"), reason)

    def _error(self, code: int, request: Any, reason: str) -> None:
        error = {"code": code, "message": reason}
        number = request if _is_id(request) else None
        self._send(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}))

    def _finish(self) -> None:
        """Wait for the answers to what was asked before the input ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._gone or not any(n > 0 for n in self._open.values()), LAST_ANSWERS
            )


@contextmanager
def standard_streams() -> Iterator[Wire]:
    """Take standard input and output for the protocol alone until the block is left.

    What anything else prints meanwhile goes to standard error.
    """
    sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:
            os.dup2(nothing, 1)
        os.close(nothing)
        # A thread may still stand in a read when the block is left: its file stays open.
        yield Wire(
            os.fdopen(incoming, "rb", closefd=False), os.fdopen(outgoing, "wb", closefd=False)
        )
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)
