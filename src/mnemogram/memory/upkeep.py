# SPDX-License-Identifier: MIT
"""What is done beside the conversations: the index filled, vectors made, in bounded steps."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Final

from mnemogram.errors import ExtensionUnavailable, MnemogramError
from mnemogram.memory.file import MemoryFile
from mnemogram.memory.models import CommitResult
from mnemogram.memory.vectors import BATCH, Vectors, drop_old_models, refusal

__all__ = ["Upkeep"]

#: Relations whose vectors one commit makes itself; more are left to the upkeep.
_EMBED_AT_ONCE: Final = 256
#: Seconds of one step of the thread, and those between two, which let writers in.
_STEP: Final = 1.0
_PAUSE: Final = 0.05


class Upkeep:
    """Keeps the index and the vectors of one file with its relations.

    Args:
        file: the file.
        vectors: its vectors, None without an embedder.
        background: make missing vectors in a thread of their own.

    Attributes:
        worker: that thread, None before its first.
    """

    def __init__(self, file: MemoryFile, vectors: Vectors | None, *, background: bool) -> None:
        self._file = file
        self._vectors = vectors
        self._background = background and not file.database.read_only
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.worker: threading.Thread | None = None

    def start(self) -> None:
        """Make missing vectors in a thread of their own, once for each need."""
        if not self._background or self._vectors is None or self._vectors.error is not None:
            return
        if self._stop.is_set():
            return
        with self._lock:
            if self.worker is not None and self.worker.is_alive():
                return
            self.worker = threading.Thread(target=self._work, name="mnemogram-vectors", daemon=True)
            self.worker.start()

    def stop(self) -> None:
        """Take on no new step, and wait for the one under way."""
        self._stop.set()
        worker = self.worker
        if worker is not None and worker is not threading.current_thread():
            worker.join()

    def embedded(self, result: CommitResult) -> CommitResult:
        """Make the vectors of what was committed; where that fails, the result says so."""
        if self._vectors is None or not result.relation_ids:
            return result
        ids = list(dict.fromkeys(result.relation_ids))[:_EMBED_AT_ONCE]
        notes = list(result.notes)
        try:
            outcome = self._vectors.update(ids, self._file.now())
        except MnemogramError as error:  # what was told is kept
            notes.append(f"vectors are still to be made: {error}")
        else:
            if outcome.failed:
                notes.append(f"vectors are still to be made: {outcome.reason}")
            if outcome.refused:
                notes.append(refusal(outcome.refused, outcome.reason))
            if len(result.relation_ids) > _EMBED_AT_ONCE:
                self.start()
        return replace(result, notes=tuple(notes))

    def maintain(self, seconds: float) -> dict[str, int]:
        """Do what is left to do; see ``SceneMemory.maintain``."""
        end = time.monotonic() + seconds
        indexed = int(self._file.fill_index())
        embedded = pending = 0
        if self._vectors is not None and self._vectors.error is None:
            embedded, pending = self._embed(self._vectors, end)
        return {"indexed": indexed, "embedded": embedded, "pending": pending}

    def _embed(self, vectors: Vectors, end: float) -> tuple[int, int]:
        """Return how many vectors were made, and how many of the next batch are to be."""

        def going() -> bool:
            return not self._stop.is_set() and time.monotonic() < end

        embedded = 0
        pending: list[int] = []
        while not self._stop.is_set():
            pending = vectors.pending(BATCH, self._file.now())
            if not pending or time.monotonic() >= end:
                break
            try:
                outcome = vectors.update(pending, self._file.now(), going)
            except ExtensionUnavailable:  # status() says so
                break
            embedded += outcome.stored
            if outcome.failed or not (outcome.stored or outcome.refused):
                break
        if not pending:
            with self._file.database.write() as connection:
                drop_old_models(connection, vectors.name)
        return embedded, len(pending)

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                done = self.maintain(_STEP)
                if not done["pending"] or not done["embedded"]:
                    return
                self._stop.wait(_PAUSE)
        except MnemogramError as error:  # nobody waits for this thread: status() says it
            if self._vectors is not None:
                self._vectors.last_failure = str(error)
