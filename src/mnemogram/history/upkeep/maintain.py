# SPDX-License-Identifier: MIT
"""Upkeep: one bounded step of everything that is due, and the loop that repeats it.

Each part runs in a transaction of its own and goes on when another fails.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from mnemogram.errors import MnemogramError
from mnemogram.history.file import HistoryFile
from mnemogram.history.index import build as building
from mnemogram.history.index import records
from mnemogram.history.index import state as indexes
from mnemogram.history.index.damage import DAMAGE
from mnemogram.sqlite import backup as copying
from mnemogram.sqlite.database import JOURNAL_SIZE_LIMIT, Connection, deadline
from mnemogram.values import Value

__all__ = ["Maintained", "Maintenance", "maintain", "run"]

Part: TypeAlias = Literal["index", "expiry", "legacy", "merge", "space"]

#: Between two steps, so that other writers get the lock and the disk: at least 0.2 s,
#: and four times what the step took, a duty of one fifth.
SHORTEST_PAUSE: Final = 0.2
PAUSE_FACTOR: Final = 4.0
#: Seconds between two looks while nothing is due.
IDLE: Final = 30.0
#: Free pages are given back once they are a quarter of the file and at least 16 MB.
_FREE_SHARE: Final = 4
_FREE_PAGES: Final = 4_096
_VACUUM_PAGES: Final = 500
#: A WAL of this size is emptied where no reader needs it, one of that size even where
#: readers have to be waited for.
_WAL_BYTES: Final = JOURNAL_SIZE_LIMIT
_HUGE_WAL_BYTES: Final = 64 * 1024 * 1024
_WAL_PATIENCE: Final = 0.2
#: Seconds between two looks for what a killed check or backup left.
_SWEEP_INTERVAL: Final = 600.0
#: Segments below which merging is left to FTS5, which merges as it writes.
_MANY_SEGMENTS: Final = 12
#: Once a fifth of the messages was deleted, all segments of an index are merged into
#: one: FTS5 drops the tokens of deleted rows only where it merges.
_MANY_DELETIONS: Final = 500
_DELETED_SHARE: Final = 5


@dataclass(frozen=True, slots=True)
class Maintained(Value):
    """What one part of the upkeep did.

    Attributes:
        part: ``index``, ``expiry``, ``legacy``, ``merge`` or ``space``.
        done: messages indexed, expired or imported; pages merged or given back.
        seconds: how long it took.
        more: whether the part has more to do.
        detail: what was done, in words.
        error: why it failed; None where it did not. Nothing of it was kept then.
    """

    part: Part
    done: int
    seconds: float
    more: bool
    detail: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Maintenance(Value):
    """What one call of ``maintain`` did.

    Attributes:
        parts: what each part did that had something to do.
        more: whether a part that did not fail has more to do.
        failed: the parts that failed.
        seconds: how long all of it took.
        progress: for each index that is not ready, the fraction it holds.
    """

    parts: tuple[Maintained, ...]
    more: bool
    failed: tuple[Part, ...]
    seconds: float
    progress: Mapping[str, float] = field(default_factory=dict)


def maintain(
    store: HistoryFile, *, batch_size: int, others: Mapping[Part, Callable[[], Maintained | None]]
) -> Maintenance:
    """Do one bounded step of each part that has something to do.

    Args:
        batch_size: most messages in one step.
        others: further parts: each does its step and reports, or returns None where
            nothing is due.
    """
    started = time.monotonic()
    parts: dict[Part, Callable[[], Maintained | None]] = {
        "index": lambda: _index(store, batch_size),
        **others,
        "merge": lambda: _merge(store),
        "space": lambda: _space(store),
    }
    reports = []
    for name, step in parts.items():
        began = time.monotonic()
        try:
            report = step()
        except MnemogramError as error:
            report = Maintained(name, 0, time.monotonic() - began, False, "failed", str(error))
        if report is not None:
            reports.append(report)
    return Maintenance(
        parts=tuple(reports),
        more=any(each.more for each in reports),
        failed=tuple(each.part for each in reports if each.error is not None),
        seconds=time.monotonic() - started,
        progress=_progress(store),
    )


def run(
    step: Callable[[], Maintenance],
    *,
    watch: bool = False,
    on_step: Callable[[Maintenance], Any] | None = None,
    stop: threading.Event | None = None,
    shortest_pause: float = SHORTEST_PAUSE,
    idle: float = IDLE,
) -> int:
    """Repeat ``step`` with a pause after each: max(0.2 s, four times what it took).

    Args:
        step: one step of upkeep.
        watch: go on when nothing is due, until ``stop`` is set; else return then.
        on_step: called after each step, for a progress bar.
        stop: ends the loop between two steps.
        shortest_pause: seconds to pause at least between two steps.
        idle: seconds between two looks while nothing is due.

    Returns:
        How many steps were made.
    """
    stop = threading.Event() if stop is None else stop
    steps = 0
    while not stop.is_set():
        result = step()
        steps += 1
        if on_step is not None:
            on_step(result)
        if result.more:
            stop.wait(max(shortest_pause, PAUSE_FACTOR * result.seconds))
        elif watch:
            stop.wait(idle)
        else:
            break
    return steps


# --- the parts -------------------------------------------------------------------------


def _index(store: HistoryFile, batch_size: int) -> Maintained | None:
    """Advance the index that needs it most; one that fails does not stop the others."""
    started = time.monotonic()
    with store.database.read() as connection:
        due = building.due(connection)
        prepared = _is_prepared(connection) and not store.has_unsaved_choice
    if not prepared:
        # Nobody has written since the circumstances changed.
        store.write(lambda connection: None)
        with store.database.read() as connection:
            due = building.due(connection)
    failure: MnemogramError | None = None
    for name in due:
        try:
            done: building.IndexStep = store.write(
                partial(building.step, name=name, max_rows=batch_size)
            )
        except MnemogramError as error:
            failure = failure or error
            continue
        return Maintained(
            "index",
            done.rows,
            time.monotonic() - started,
            not done.done or len(due) > 1,
            f"{done.work} {name}: {done.rows} rows",
            None if failure is None else str(failure),
        )
    if failure is not None:
        raise failure
    return None


def _is_prepared(connection: Connection) -> bool:
    """Whether the next write would find the indexes as it wants them."""
    choice = indexes.load_choice(connection)
    states = indexes.load_states(connection)
    keep = indexes.wanted(
        choice.policy, has_tokenizer=connection.has_tokenizer, trigram=choice.trigram
    )
    if any(each.name not in states for each in keep):
        return False
    return all(
        state.is_rebuild
        or (indexes.served_by(connection, state) in keep) == (state.state != "detached")
        for state in states.values()
    )


def _mark_damaged(connection: Connection, names: Sequence[str]) -> None:
    for name in names:
        indexes.mark_for_rebuild(connection, name, indexes.UNSOUND)


def _merge(store: HistoryFile) -> Maintained | None:
    started = time.monotonic()
    structures: dict[str, bytes] = {}
    damaged = []
    with store.database.read() as connection:
        served = [
            name
            for name, state in indexes.load_states(connection).items()
            if state.state != "detached" and indexes.served_by(connection, state) is not None
        ]
        for name in served:
            try:
                structures[name] = records.structure(connection, name)
            except DAMAGE:
                damaged.append(name)
        deletions = building.count_deletions(connection)
        whole = deletions >= _MANY_DELETIONS and (
            deletions * _DELETED_SHARE >= building.count_messages(connection)
        )
    if damaged:
        store.write(partial(_mark_damaged, names=damaged))
        seconds = time.monotonic() - started
        return Maintained("merge", 0, seconds, True, f"found {', '.join(damaged)} damaged")
    pages = -building.MERGE_PAGES if whole else building.MERGE_PAGES
    for name in structures:
        if not whole and records.segments(structures[name]) < _MANY_SEGMENTS:
            continue
        if not whole and store.merged.get(name) == structures[name]:
            continue
        done: building.IndexStep = store.write(partial(building.merge_step, name=name, pages=pages))
        # One that wrote less than it might has left nothing worth another step; small
        # segments that a busy writer adds meanwhile must not keep this going for ever.
        more = not done.done and (whole or done.rows >= building.MERGE_PAGES)
        if not more:
            with store.database.read() as connection:
                store.merged[name] = records.structure(connection, name)
        if not done.done:
            seconds = time.monotonic() - started
            return Maintained("merge", done.rows, seconds, more, f"merged segments of {name}")
    if whole:
        store.write(lambda connection: building.forget_deletions(connection, deletions))
    return None


def _space(store: HistoryFile) -> Maintained | None:
    """Give back free pages from the end of the file, and a WAL that readers let grow."""
    started = time.monotonic()
    if started >= store.next_sweep:
        store.next_sweep = started + _SWEEP_INTERVAL
        swept = copying.sweep(store.database.path.parent)
        if swept:
            seconds = time.monotonic() - started
            return Maintained("space", swept, seconds, True, "removed unfinished copies")
    grown = _wal_bytes(store)
    if grown >= _WAL_BYTES:
        with store.database.exclusive() as connection:
            ((_, pages, moved),) = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            # SQLite empties the WAL only when no reader needs it; with readers always
            # about, somebody has to wait for the moment, though not for long.
            if pages == moved or grown >= _HUGE_WAL_BYTES:
                with deadline(connection, _WAL_PATIENCE):
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        left = _wal_bytes(store)
        if left < grown:
            seconds = time.monotonic() - started
            return Maintained("space", (grown - left) // 4096, seconds, False, "emptied the WAL")
    with store.database.read() as connection:
        free = int(connection.one("PRAGMA freelist_count"))
        pages = int(connection.one("PRAGMA page_count"))
        incremental = connection.one("PRAGMA auto_vacuum") == 2
    if not incremental or free < _FREE_PAGES or free * _FREE_SHARE < pages:
        return None
    with store.database.exclusive() as connection:
        connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
        left = int(connection.one("PRAGMA freelist_count"))
    more = left >= _FREE_PAGES and left < free
    return Maintained(
        "space", free - left, time.monotonic() - started, more, "gave free pages back"
    )


def _wal_bytes(store: HistoryFile) -> int:
    try:
        return os.stat(f"{store.database.path}-wal").st_size
    except FileNotFoundError:
        return 0


def _progress(store: HistoryFile) -> dict[str, float]:
    try:
        with store.database.read() as connection:
            first, top = indexes.id_span(connection)
            states = indexes.load_states(connection)
    except MnemogramError:
        return {}
    shown = {}
    for name, state in states.items():
        if state.state != "ready" and top:
            missing = sum(max(0, min(high, top) - max(low, first - 1)) for low, high in state.gaps)
            shown[name] = round(1 - missing / (top - first + 1), 4)
    return shown
