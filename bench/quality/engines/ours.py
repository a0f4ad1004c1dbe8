# SPDX-License-Identifier: MIT
"""mnemogram's own search, through its public face, evidence and all.

Times include everything an answer holds (snippets, surroundings, JSON-ready values),
which the other engines do not make: they return numbers of messages.
"""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

import mnemogram
from bench.data import LabelledSet
from bench.quality.engines import Found
from mnemogram.history import display
from mnemogram.history.search.discover import discover
from mnemogram.history.search.request import checked_request
from mnemogram.history.search.routes import ROUTES

_BATCH = 500
_LIMIT = 10
_TIMEOUT = 3.0


class Ours:
    """One history in a temporary file."""

    def __init__(self, labelled: LabelledSet, variant: str) -> None:
        self._strict = variant == "strict"
        self._folder = tempfile.TemporaryDirectory(prefix="mnemogram-bench-")
        self._history = mnemogram.History.open(
            Path(self._folder.name) / "state.db", synchronous="normal"
        )
        self._uid: dict[int, str] = {}
        roles = {each.role for dialogue in labelled.dialogues for each in dialogue.messages}
        self._roles: Any = tuple(sorted(roles | {"user", "assistant"}))
        dialogues = iter(labelled.dialogues)
        while batch := list(islice(dialogues, _BATCH)):
            results = self._history.append_many(
                (each.session(), [message.message() for message in each.messages]) for each in batch
            )
            for dialogue, result in zip(batch, results, strict=True):
                for message, stored in zip(dialogue.messages, result.ids, strict=True):
                    if stored is not None:
                        self._uid[stored] = message.id
        while self._history.maintain(batch_size=10_000).more:
            pass

    def search(self, text: str, limit: int) -> tuple[list[Found], str]:
        """Return the best message of each conversation found."""
        answer = (
            self._strictly(text)
            if self._strict
            else self._history.search(text, limit=_LIMIT, roles=self._roles, timeout=_TIMEOUT)
        )
        return [
            Found(hit.session_id, self._uid.get(hit.match_message_id or -1))
            for hit in answer.results
        ], answer.search_path

    def _strictly(self, text: str) -> mnemogram.SearchResult:
        # The switch is no part of the public face: nobody but a measurement wants less.
        request = checked_request(
            text,
            limit=_LIMIT,
            roles=self._roles,
            sort="relevance",
            detail="adaptive",
            window=5,
            after=None,
            before=None,
            sources=None,
            exclude_sessions=(),
            current_session=None,
            timeout=_TIMEOUT,
            cursor=None,
            budget=display.DEFAULT_BUDGET,
        )
        with self._history._database.read(timeout=_TIMEOUT) as connection:
            return discover(connection, request, routes=ROUTES[:1])

    def versions(self) -> dict[str, str]:
        """Return the versions of the package, the tokenizer's rules and SQLite."""
        return {
            "mnemogram": mnemogram.__version__,
            "tokenizer": self._history.status(sizes=False).tokenizer or "missing",
            "sqlite": apsw.sqlite_lib_version(),
        }


def build(labelled: LabelledSet, variant: str) -> Ours:
    """Index a set."""
    return Ours(labelled, variant)
