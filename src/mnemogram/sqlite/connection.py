# SPDX-License-Identifier: MIT
"""A connection to SQLite: its errors as ours, its deadline, its waits for a lock."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, cast

import apsw

from mnemogram.errors import (
    Busy,
    InvalidArgument,
    MnemogramError,
    QueryTimeout,
    StorageUnavailable,
)
from mnemogram.sqlite import descriptors

__all__ = [
    "DEFAULT_BUSY_TIMEOUT",
    "LOCK_PAUSES",
    "Caller",
    "Connection",
    "Cursor",
    "deadline",
    "for_caller",
    "share_of_deadline",
    "time_left",
    "translate",
    "translated",
    "until_given_up",
]

#: VM steps between two looks at the clock. At about 10 ns a step the clock is
#: read every 10 microseconds, which costs well under one percent.
PROGRESS_STEPS: Final = 1_000
DEFAULT_BUSY_TIMEOUT: Final = 10.0
#: Pauses between two tries for a lock, in seconds; the last one repeats.
LOCK_PAUSES: Final = (0.001, 0.002, 0.003, 0.005)
#: Seconds for which a writer that was met at the lock counts.
_LATELY: Final = 1.0


# --- errors ----------------------------------------------------------------------------

_HINTS: Final[tuple[tuple[type[apsw.Error], str], ...]] = (
    (apsw.FullError, "The disk is full: free space, then try again; nothing was lost."),
    (
        apsw.ReadOnlyError,
        "The file or its directory is read-only for this process: fix the permissions.",
    ),
    (
        apsw.CantOpenError,
        "The file cannot be opened: check that the directory exists and is writable.",
    ),
    (apsw.PermissionsError, "Fix the permissions of the file and its directory."),
    (apsw.AuthError, "The host's authorizer refused the statement."),
    (
        apsw.NotADBError,
        "The file is not a SQLite database: restore it from a backup, or name another path.",
    ),
    (
        apsw.CorruptError,
        "The file is damaged (cut short, or copied while it was in use?): keep it, run"
        " check(), and restore from a backup; copy a live file with backup() only.",
    ),
    (apsw.IOError, "The disk reported an error: check it, then run check()."),
    (apsw.NoMemError, "SQLite ran out of memory: free some, then try again."),
    (apsw.TooBigError, "A value is larger than SQLite can hold (about 1 GB)."),
)


def translate(error: apsw.Error) -> MnemogramError:
    """Return the error of ours that stands for an apsw error."""
    if isinstance(error, apsw.InterruptError):
        return QueryTimeout("the deadline passed before the answer was complete")
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Busy(f"the store is locked by another writer: {error}")
    if isinstance(error, (apsw.CantOpenError, apsw.IOError)) and descriptors.is_short():
        return descriptors.shortage()
    for kind, hint in _HINTS:
        if isinstance(error, kind):
            return StorageUnavailable(f"{type(error).__name__}: {error}", hint=hint)
    return StorageUnavailable(f"{type(error).__name__}: {error}")


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise every apsw error of the block as one of ours, with the original as cause."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error) from error


def _too_large(error: OverflowError) -> InvalidArgument:
    """Return the error for a number that SQLite cannot hold, wherever it came from."""
    return InvalidArgument(
        f"a number is out of range: {error}", hint="Whole numbers have 64 bits at most."
    )


# --- connections -----------------------------------------------------------------------


@dataclass(slots=True)
class Caller:
    """Who waits for an answer that another thread works out.

    Attributes:
        asked_at: monotonic time from which its deadline counts.
        given_up: set once nobody waits any more; what is being read then ends.
    """

    asked_at: float = field(default_factory=time.monotonic)
    given_up: threading.Event = field(default_factory=threading.Event)

    def left_of(self, timeout: float | None) -> float | None:
        """Return what is left of a timeout.

        Raises:
            QueryTimeout: nothing is, or nobody waits any more.
        """
        if self.given_up.is_set():
            raise QueryTimeout("nobody waits for the answer any more")
        if timeout is None:
            return None
        left = timeout - (time.monotonic() - self.asked_at)
        if left <= 0 < timeout:
            raise QueryTimeout("the deadline passed before a worker was free")
        return left


_CALLER: Final[ContextVar[Caller | None]] = ContextVar("caller", default=None)


@contextlib.contextmanager
def for_caller(caller: Caller) -> Iterator[None]:
    """Have all that is read in the block, by this thread, end when its caller's time does."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


class _Clock:
    """The times that bound a connection's work; knows no connection, so no cycle."""

    __slots__ = ("busy_timeout", "contended_at", "deadline_at", "given_up", "waiting_since")

    def __init__(self) -> None:
        self.contended_at = -_LATELY
        self.busy_timeout = DEFAULT_BUSY_TIMEOUT
        self.deadline_at: float | None = None
        self.given_up: threading.Event | None = None
        self.waiting_since = 0.0

    def passed(self) -> bool:
        """Whether the deadline in force has passed, or nobody waits any more."""
        if self.given_up is not None and self.given_up.is_set():
            return True
        return self.deadline_at is not None and time.monotonic() >= self.deadline_at

    @property
    def is_contended(self) -> bool:
        """Whether another writer was met not long ago."""
        return time.monotonic() - self.contended_at < _LATELY

    def wait(self, tries: int) -> bool:
        """SQLite's busy handler: pause before the next try, False to give up.

        Bounded by time and not by tries. The jitter keeps waiting processes from
        waking together.
        """
        now = self.contended_at = time.monotonic()
        if tries == 0:
            self.waiting_since = now
        end = self.waiting_since + self.busy_timeout
        if self.deadline_at is not None:
            end = min(end, self.deadline_at)
        if now >= end:
            return False
        pause = LOCK_PAUSES[min(tries, len(LOCK_PAUSES) - 1)]
        time.sleep(min(pause * random.uniform(0.5, 1.5), end - now))
        return True


class Cursor(apsw.Cursor):
    """A cursor whose rows come even where a stored text is not UTF-8.

    One flipped bit is enough for that, and apsw then raises in place of the row. Here the
    bytes that are no text come as U+FFFD, and the connection counts the values: such a
    row is rare, so it is asked for once more, as bytes, and nothing else is slowed down.
    """

    _asked: tuple[str, Any] = ("", None)
    _taken = 0
    _as_bytes = False

    def execute(self, statements: str, bindings: Any = None, **options: Any) -> Cursor:
        """Run a statement; the rows are iterated."""
        self._asked = statements, bindings
        self._taken = 0
        self._as_bytes = False
        try:
            super().execute(statements, bindings, **options)
        except OverflowError as error:
            raise _too_large(error) from error
        return self

    def executemany(self, statements: str, sequenceofbindings: Any, **options: Any) -> Cursor:
        """Run a statement for each of some bindings."""
        try:
            super().executemany(statements, sequenceofbindings, **options)
        except OverflowError as error:
            raise _too_large(error) from error
        return self

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        step = super().__next__
        decoded = cast("Connection", self.connection).decoded
        while True:
            try:
                row = step()
            except StopIteration:
                return
            except UnicodeDecodeError as error:
                self._ask_for_bytes(error)
                continue
            self._taken += 1
            yield tuple(map(decoded, row[::2], row[1::2])) if self._as_bytes else row

    def __next__(self) -> Any:
        for row in self:
            return row
        raise StopIteration

    def fetchone(self) -> Any:
        """Return the next row, None after the last."""
        for row in self:
            return row
        return None

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        return list(self)

    def _ask_for_bytes(self, error: UnicodeDecodeError) -> None:
        """Run the statement again so that texts come as bytes, up to the row that failed.

        On this same cursor: what ends it, or drops it, then ends the only statement there
        is. One that is left unfinished would keep the reader's snapshot for ever.
        """
        sql, bindings = self._asked
        columns = [f"c{place}" for place in range(len(self.get_description()))]
        values = ", ".join(
            f"typeof({each}), CASE typeof({each}) WHEN 'text' THEN CAST({each} AS BLOB)"
            f" ELSE {each} END"
            for each in columns
        )
        try:
            if not self.is_readonly:
                raise error
            super().execute(
                f"WITH asked ({', '.join(columns)}) AS ({sql.strip().rstrip(';')}\n)"
                f" SELECT {values} FROM asked",
                bindings,
            )
            self._as_bytes = True
            for _ in range(self._taken):
                super().__next__()
        except StopIteration:
            return
        except (UnicodeDecodeError, apsw.SQLError):
            raise StorageUnavailable(
                f"a stored text is damaged: {error}", hint="Run check(), then repair()."
            ) from error


class Connection(apsw.Connection):
    """An apsw connection that remembers its deadline and its tokenizer.

    Attributes:
        undecodable: how many texts were met, in this transaction, that are not UTF-8.
    """

    #: None where the tokenizer extension is loaded, else why it is not.
    tokenizer_error: str | None = "not loaded"
    undecodable = 0

    def __init__(self, filename: str, *, flags: int, busy_timeout: float) -> None:
        super().__init__(filename, flags=flags)
        self.clock = _Clock()
        self.clock.busy_timeout = busy_timeout
        self.set_busy_handler(self.clock.wait)
        self.cursor_factory = Cursor

    @property
    def deadline_at(self) -> float | None:
        """Monotonic time at which the work must end; None without a deadline."""
        return self.clock.deadline_at

    @property
    def has_tokenizer(self) -> bool:
        """Whether ``cjk_unicode61`` and ``word_trigram`` can be used here."""
        return self.tokenizer_error is None

    @property
    def has_unfinished(self) -> bool:
        """Whether a statement reads or writes, where no transaction is open."""
        return self.txn_state("main") != apsw.SQLITE_TXN_NONE

    def one(self, sql: str, bindings: Any = ()) -> Any:
        """Return the first column of the first row, or None where there is no row."""
        for row in self.execute(sql, bindings):
            return row[0]
        return None

    def first(self, sql: str, bindings: Any = ()) -> Any:
        """Return the first row, or None where there is none; typed by who reads it."""
        for row in self.execute(sql, bindings):
            return row
        return None

    def column(self, sql: str, bindings: Any = ()) -> list[Any]:
        """Return the first column of all rows."""
        return [row[0] for row in self.execute(sql, bindings)]

    def each_row(self, sql: str, bindings: Any = ()) -> Iterator[Any]:
        """Yield the rows as they come, typed by who reads them."""
        yield from self.execute(sql, bindings)

    def all_rows(self, sql: str, bindings: Any = ()) -> list[Any]:
        """Return all rows, typed by who reads them: nothing is left under way."""
        return self.execute(sql, bindings).fetchall()

    def decoded(self, kind: str, value: Any) -> Any:
        """Return a value as SQLite holds it, the bytes of a text as text."""
        if kind != "text":
            return value
        try:
            return value.decode()
        except UnicodeDecodeError:
            self.undecodable += 1
            return value.decode(errors="replace")

    def remaining(self) -> float | None:
        """Seconds until the deadline in force (negative once past), None without one."""
        clock = self.clock
        if clock.given_up is not None and clock.given_up.is_set():
            return -1.0
        return None if clock.deadline_at is None else clock.deadline_at - time.monotonic()

    def check_deadline(self) -> None:
        """Raise QueryTimeout where the deadline has passed: for work outside SQLite."""
        remaining = self.remaining()
        if remaining is not None and remaining <= 0:
            raise QueryTimeout("the deadline passed before the answer was complete")


@contextlib.contextmanager
def deadline(connection: Connection, seconds: float | None) -> Iterator[None]:
    """Bound all that ``connection`` runs in the block to ``seconds`` of wall time.

    A progress handler looks at a monotonic clock every 1,000 VM steps. Deadlines
    nest: an inner one never outlasts the outer. What was in force before is in
    force again on exit. Lock waits count too.

    Raises:
        QueryTimeout: the time passed while SQLite was at work.
    """
    if seconds is None:
        yield
        return
    clock = connection.clock
    outer = clock.deadline_at
    end = time.monotonic() + seconds
    clock.deadline_at = end if outer is None else min(end, outer)
    _arm(connection)
    try:
        yield
    except apsw.InterruptError as error:
        raise translate(error) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        if clock.passed():
            raise QueryTimeout("the deadline passed while waiting for a lock") from error
        raise
    finally:
        clock.deadline_at = outer
        _arm(connection)


@contextlib.contextmanager
def share_of_deadline(connection: Connection, share: float) -> Iterator[None]:
    """Bound the block to a share of the time that is left; no bound without a deadline.

    Raises:
        QueryTimeout: the share passed. Whether time is left, ``check_deadline`` tells.
    """
    remaining = connection.remaining()
    with deadline(connection, None if remaining is None else max(0.0, remaining * share)):
        yield


def time_left(timeout: float | None) -> float | None:
    """Return what is left of a timeout that counts from when the caller asked.

    Raises:
        QueryTimeout: nothing is, or nobody waits any more.
    """
    caller = _CALLER.get()
    return timeout if caller is None else caller.left_of(timeout)


@contextlib.contextmanager
def until_given_up(connection: Connection) -> Iterator[None]:
    """End what ``connection`` reads in the block once its caller waits no more.

    Raises:
        QueryTimeout: that was so while SQLite was at work.
    """
    caller = _CALLER.get()
    if caller is None:
        yield
        return
    connection.clock.given_up = caller.given_up
    _arm(connection)
    try:
        yield
    except apsw.InterruptError as error:
        raise translate(error) from error
    finally:
        connection.clock.given_up = None
        _arm(connection)


def _arm(connection: Connection) -> None:
    clock = connection.clock
    unbounded = clock.deadline_at is None and clock.given_up is None
    connection.set_progress_handler(None if unbounded else clock.passed, PROGRESS_STEPS)
