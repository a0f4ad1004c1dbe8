# SPDX-License-Identifier: MIT
"""Opening SQLite: permissions, pragmas, the extension, schemas, transactions.

This is the only module that opens a database. It knows no table of ours: a
store hands it a :class:`Schema` and gets connections that are ready to use.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from types import TracebackType
from typing import Any, Final, NoReturn

import apsw

from mnemogram import extension
from mnemogram.errors import (
    Busy,
    ExtensionUnavailable,
    InvalidArgument,
    MnemogramError,
    QueryTimeout,
    SchemaTooNew,
    StorageUnavailable,
    StoreClosed,
)
from mnemogram.sqlite import descriptors
from mnemogram.sqlite.connection import (
    DEFAULT_BUSY_TIMEOUT,
    LOCK_PAUSES,
    Connection,
    deadline,
    share_of_deadline,
    time_left,
    translate,
    translated,
    until_given_up,
)
from mnemogram.sqlite.files import (
    checked_path,
    close_to_others,
    file_errors,
    identity,
    network_file_system,
    private_directory,
    private_file,
    regular_file,
    uri,
    user_directory,
    user_key,
)

__all__ = [
    "DEFAULT_BUSY_TIMEOUT",
    "JOURNAL_SIZE_LIMIT",
    "Connection",
    "Database",
    "Schema",
    "deadline",
    "file_errors",
    "private_directory",
    "share_of_deadline",
    "translated",
    "user_directory",
    "user_key",
]

MAX_READERS: Final = 4
#: Readers kept for the next request. With many users open, each costs its page cache.
_IDLE_READERS: Final = 2
_CACHE_KIB: Final = 8_192
#: What is left of a WAL that readers let grow, once it is written from its start again.
JOURNAL_SIZE_LIMIT: Final = 6 * 1024 * 1024
#: What code raises that meets a value it cannot know, and seconds to look for the reason.
_UNEXPECTED: Final = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
_LOOKING: Final = 10.0
#: Seconds: no request takes so long.
_LONGEST: Final = 1e6
#: Seconds to wait for readers where the disk is full.
_ROOM_PATIENCE: Final = 1.0
#: Seconds that a writer pauses after a commit while others were met at the lock lately.
_COURTESY: Final = 0.002


def _cannot_open(path: Path, error: apsw.Error) -> NoReturn:
    """Say why SQLite could not open a file, as far as the file system tells."""
    folder = path.parent
    if not folder.is_dir():
        message, hint = f"the directory {folder} does not exist", "Make it, or correct the path."
    elif path.is_dir():
        message, hint = f"{path} is a directory", "Name a file in it."
    elif path.exists() and not os.access(path, os.R_OK):
        message, hint = f"no permission to read {path}", "Fix the permissions of the file."
    elif not os.access(folder, os.W_OK):
        message = f"no permission to write in {folder}"
        hint = (
            "SQLite keeps its WAL beside the file, also to read it: make the directory"
            " writable for this process, or copy the store with backup() to one that is."
        )
    else:
        raise translate(error) from error
    raise StorageUnavailable(message, hint=hint) from error


# --- schemas ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Schema:
    """What makes a file one of ours.

    Attributes:
        application_id: SQLite's application_id for files of this kind.
        version: newest schema version this code knows (SQLite's user_version).
        upgrade: brings an open write transaction from a version (0: empty file)
            to ``version``.
        adapt: makes up, in temporary tables, what a file of an older version lacks, for
            a connection that may only read it; None where nothing is lacking.
    """

    application_id: int
    version: int
    upgrade: Callable[[Connection, int], None]
    adapt: Callable[[Connection, int], None] | None = None


class Database:
    """One SQLite file: one writer and a few readers, made when first needed.

    Safe to use from several threads: writers wait for each other, readers do
    not wait for writers.

    Args:
        path: the file; made with mode 0600 unless ``read_only``.
        schema: what to create in it or check it against.
        read_only: never writes, not even the schema.
        busy_timeout: seconds to wait for another process's lock.
        load_extension: try to load the tokenizer; False leaves it out.
        synchronous: ``full`` survives a power cut, ``normal`` a process kill.

    Raises:
        SchemaTooNew: a newer release wrote the file; it is left untouched.
        StorageUnavailable: the file is not ours, unreadable or damaged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: Schema,
        *,
        read_only: bool = False,
        busy_timeout: float = DEFAULT_BUSY_TIMEOUT,
        load_extension: bool = True,
        synchronous: str = "full",
    ) -> None:
        if synchronous not in ("full", "normal"):
            raise InvalidArgument(
                f"synchronous must be 'full' or 'normal', not {shown(synchronous)}",
                hint="'full' survives a power cut, 'normal' a process kill.",
            )
        self.path = checked_path(path)
        self.schema = schema
        self.read_only = read_only
        self.busy_timeout = busy_timeout
        self.load_extension = load_extension
        self.synchronous = synchronous
        self.journal_mode = ""
        self.network_file_system: str | None = None
        self.immutable = False
        self._leaves_nothing = False
        self._process = os.getpid()
        self._closed = False
        self._write_lock = threading.RLock()
        self._pool_lock = threading.Lock()
        self._idle: list[Connection] = []
        self._readers = 0
        self._writing = 0
        self._writer: Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._tokenizer_error: str | None = "not loaded"
        self.last_used = time.monotonic()
        self._leases = threading.BoundedSemaphore(MAX_READERS)
        descriptors.with_room(self, self._open)
        descriptors.register(self)

    # -- opening

    def _open(self) -> None:
        if self.read_only:
            with file_errors(self.path):
                os.stat(self.path)
            if not os.path.exists(f"{self.path}-wal"):
                can_write = os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
                # SQLite makes a WAL beside the file also to read it.
                self.immutable = not can_write
                self._leaves_nothing = can_write
        else:
            private_file(self.path)
        self._identity = regular_file(self.path)
        try:
            with translated():
                self._writer = self._connect(prepare=True)
        except StorageUnavailable as error:
            if isinstance(error.__cause__, (apsw.CantOpenError, apsw.ReadOnlyError)):
                _cannot_open(self.path, error.__cause__)
            raise

    def _opened_writer(self) -> Connection:
        """Return the writer, opened again where it was given back."""
        if self._writer is None:
            self._writer = descriptors.with_room(self, lambda: self._connect(prepare=True))
            self._check_usable()
        return self._writer

    def _connect(self, *, prepare: bool) -> Connection:
        name = str(self.path)
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE
        if self.immutable:
            name = f"{uri(self.path)}?immutable=1"
            flags |= apsw.SQLITE_OPEN_URI
        connection = Connection(name, flags=flags, busy_timeout=self.busy_timeout)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
            connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._load_tokenizer(connection)
            unloaded = self.load_extension and not connection.has_tokenizer
            if unloaded and descriptors.is_short():
                # For that alone no index is to be taken out of use.
                raise descriptors.shortage()
            if prepare:
                self._prepare(connection)
                self._tokenizer_error = connection.tokenizer_error
            if self.read_only and self.schema.adapt is not None:
                self.schema.adapt(connection, int(connection.one("PRAGMA user_version")))
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            connection.execute(f"PRAGMA journal_size_limit = {JOURNAL_SIZE_LIMIT}")
            # Deleted rows are overwritten inside their pages, at no extra write; what
            # is in freed pages is the work of purge().
            connection.execute("PRAGMA secure_delete = FAST")
        except BaseException:
            connection.close()
            raise
        return connection

    def _load_tokenizer(self, connection: Connection) -> None:
        if not self.load_extension:
            connection.tokenizer_error = "switched off by the host"
            return
        try:
            extension.load(connection)
        except ExtensionUnavailable as error:
            connection.tokenizer_error = str(error)
        else:
            connection.tokenizer_error = None

    def _prepare(self, connection: Connection) -> None:
        """Check what the file is; create or upgrade it where it is ours to write."""
        # Seen in one snapshot: another process may be making the same file.
        connection.execute("BEGIN")
        try:
            version = self._checked_version(connection)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if self.read_only:
            self.journal_mode = str(connection.one("PRAGMA journal_mode"))
            return
        close_to_others(self.path)
        # The tables come before WAL: a copy of the file alone, without its WAL, must
        # be known for what it is.
        if version == 0:
            self._retry(connection, lambda: connection.execute("PRAGMA auto_vacuum = INCREMENTAL"))
        if version < self.schema.version:
            self._upgrade(connection)
        self.network_file_system = network_file_system(self.path.parent)
        if self.network_file_system is None:
            # An I/O error: this file system has no shared memory.
            with contextlib.suppress(apsw.IOError):
                self.journal_mode = str(
                    self._retry(connection, lambda: connection.one("PRAGMA journal_mode = WAL"))
                )
        if self.journal_mode != "wal":
            self.journal_mode = str(
                self._retry(connection, lambda: connection.one("PRAGMA journal_mode = TRUNCATE"))
            )

    def _checked_version(self, connection: Connection) -> int:
        version = int(connection.one("PRAGMA user_version"))
        application_id = int(connection.one("PRAGMA application_id"))
        if application_id == self.schema.application_id:
            if version > self.schema.version:
                raise SchemaTooNew(
                    f"{self.path} has schema version {version}; "
                    f"this release knows up to {self.schema.version}"
                )
            return version
        if application_id or version or connection.one("SELECT 1 FROM sqlite_master LIMIT 1"):
            raise StorageUnavailable(
                f"{self.path} is a SQLite database of another program",
                hint="Name another path; the file was not changed.",
            )
        if self.read_only and not os.path.getsize(self.path):
            raise StorageUnavailable(
                f"{self.path} is empty: it holds 0 bytes",
                hint="Restore it from a backup, or remove it if nothing was ever stored there.",
            )
        if self.read_only:
            raise StorageUnavailable(
                f"{self.path} holds no mnemogram store yet",
                hint="Open it once for writing, or check the path.",
            )
        return 0

    def _upgrade(self, connection: Connection) -> None:
        self._retry(connection, lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            version = self._checked_version(connection)
            if version < self.schema.version:
                self.schema.upgrade(connection, version)
                connection.execute(f"PRAGMA application_id = {self.schema.application_id}")
                connection.execute(f"PRAGMA user_version = {self.schema.version}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _retry(self, connection: Connection, step: Callable[[], Any]) -> Any:
        """Run ``step`` until it is not busy or the busy wait is over.

        SQLite answers busy at once, without its busy handler, where waiting
        could deadlock: so when several processes turn on WAL together.
        """
        end = time.monotonic() + self.busy_timeout
        tries = 0
        while True:
            try:
                return step()
            except (apsw.BusyError, apsw.LockedError):
                if time.monotonic() >= end or connection.clock.passed():
                    raise
            time.sleep(LOCK_PAUSES[min(tries, len(LOCK_PAUSES) - 1)])
            tries += 1

    # -- using

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    @property
    def has_tokenizer(self) -> bool:
        """Whether this process can use the tokenizer extension."""
        return self._tokenizer_error is None

    @property
    def tokenizer_error(self) -> str | None:
        """Why the tokenizer is not loaded; None where it is."""
        return self._tokenizer_error

    @contextlib.contextmanager
    def write(self, *, timeout: float | None = None) -> Iterator[Connection]:
        """One write transaction: committed when the block ends, else rolled back.

        Raises:
            Busy: another process held the lock for longer than the busy wait.
            StorageUnavailable: the file is damaged, or its disk full.
        """
        with self._told_from_damage(), self._written(timeout) as connection:
            yield connection

    @contextlib.contextmanager
    def _told_from_damage(self) -> Iterator[None]:
        """Where a value is not what it must be, look whether the file is damaged.

        A damaged record can hold anything, and no code is written for that: a number that
        is none, a text that is missing. In a sound file it is an error of the program's.
        """
        try:
            yield
        except MnemogramError:
            raise
        except _UNEXPECTED as error:
            if not self._is_damaged():
                raise
            raise StorageUnavailable(
                f"the file is damaged: {type(error).__name__}: {error}",
                hint="Keep it, run check(), and restore from a backup.",
            ) from error

    def _is_damaged(self) -> bool:
        if self._closed:
            return False
        try:
            with self._reading(_LOOKING) as connection:
                return bool(connection.one("PRAGMA quick_check(1)") != "ok")
        except QueryTimeout:
            return False
        except StorageUnavailable:
            return True

    @contextlib.contextmanager
    def _written(self, timeout: float | None) -> Iterator[Connection]:
        with self._turn(timeout):
            self._check_usable()
            with translated():
                connection = self._opened_writer()
            if connection.in_transaction:
                yield connection
                return
            with translated(), deadline(connection, timeout):
                self._retry(connection, lambda: connection.execute("BEGIN IMMEDIATE"))
                connection.undecodable = 0
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                finally:
                    self._drop_unfinished()
        if connection.clock.is_contended:
            # Who waits only looks now and then, and would hardly ever find the lock free.
            time.sleep(_COURTESY)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[Connection]:
        """The writer outside a transaction, for VACUUM, checkpoints and backup."""
        with self._turn(None):
            self._check_usable()
            try:
                with translated():
                    yield self._opened_writer()
            finally:
                self._drop_unfinished()

    def vacuum(self) -> None:
        """Write the file anew from what is alive; needs as much free disk as it is large."""
        with self.exclusive() as connection:
            # The copy of the file must not go into memory.
            connection.execute("PRAGMA temp_store = FILE")
            try:
                connection.execute("VACUUM")
            finally:
                connection.execute("PRAGMA temp_store = MEMORY")

    def make_room(self) -> bool:
        """Write the WAL into the file, so that what comes next is written over it.

        On a full disk that is the room there is. Readers are hardly waited for.

        Returns:
            Whether the WAL begins anew.
        """
        if self.journal_mode != "wal":
            return False
        try:
            with self.exclusive() as connection, deadline(connection, _ROOM_PATIENCE):
                ((busy, *_),) = connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        except (StorageUnavailable, QueryTimeout):
            return False
        return not busy

    def _drop_unfinished(self) -> None:
        """Close the writer where a statement outlived its transaction.

        Somebody holds it, in the traceback of an error for example. The next transaction
        would see the file as it was for that statement, and could not write at all.
        """
        writer = self._writer
        if writer is not None and not writer.in_transaction and writer.has_unfinished:
            self._writer = None
            writer.close()

    @contextlib.contextmanager
    def _turn(self, timeout: float | None) -> Iterator[None]:
        """Wait until no other thread writes, as long as for another process."""
        patience = self.busy_timeout if timeout is None else min(timeout, self.busy_timeout)
        if not self._write_lock.acquire(timeout=patience):
            if timeout is not None and timeout <= self.busy_timeout:
                raise QueryTimeout("the deadline passed while another thread wrote")
            raise Busy("another thread of this process has been writing for too long")
        self._writing += 1
        try:
            yield
        finally:
            self._writing -= 1
            self.last_used = time.monotonic()
            self._write_lock.release()

    @contextlib.contextmanager
    def read(self, *, timeout: float | None = None) -> Iterator[Connection]:
        """One read transaction on a connection of its own: a stable snapshot.

        Args:
            timeout: deadline in seconds over everything in the block.
        """
        with self._told_from_damage(), self._reading(timeout) as connection:
            yield connection

    @contextlib.contextmanager
    def _reading(self, timeout: float | None) -> Iterator[Connection]:
        if timeout is not None and (
            isinstance(timeout, bool)
            or not isinstance(timeout, (int, float))
            or not timeout <= _LONGEST
        ):
            raise InvalidArgument(
                f"timeout must be seconds, not {shown(timeout)}", hint="3.0 is usual."
            )
        self._check_usable()
        timeout = time_left(timeout)
        if not self._leases.acquire(timeout=self.busy_timeout if timeout is None else timeout):
            raise QueryTimeout("no reader became free in time")
        try:
            with self._pool_lock:
                connection = self._idle.pop() if self._idle else None
            with translated():
                if connection is None:
                    connection = descriptors.with_room(self, lambda: self._connect(prepare=False))
                    with self._pool_lock:
                        self._readers += 1
                try:
                    with until_given_up(connection), deadline(connection, timeout):
                        connection.undecodable = 0
                        connection.execute("BEGIN")
                        yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    with self._pool_lock:
                        # A statement that somebody holds would keep its snapshot for ever.
                        keep = (
                            not self._closed
                            and len(self._idle) < _IDLE_READERS
                            and not connection.has_unfinished
                        )
                        if keep:
                            self._idle.append(connection)
                        else:
                            self._readers -= 1
                    self.last_used = time.monotonic()
                    if not keep:
                        connection.close()
        finally:
            self._leases.release()

    def held(self) -> int:
        """Return how many descriptors the connections hold, about."""
        connections = self._readers + (self._writer is not None)
        return 2 * connections + (connections > 0)

    def park(self) -> bool:
        """Close what is not in use now; it is opened again when it is needed.

        Never waits: the caller may hold locks of its own.

        Returns:
            Whether anything was closed.
        """
        if os.getpid() != self._process or not self._write_lock.acquire(blocking=False):
            return False
        try:
            with self._pool_lock:
                idle, self._idle = self._idle, []
                self._readers -= len(idle)
            for connection in idle:
                connection.close()
            writer = None
            if not self._writing and not self._closed:
                writer, self._writer = self._writer, None
            if writer is not None:
                writer.close()
            return bool(idle) or writer is not None
        finally:
            self._write_lock.release()

    @property
    def is_current(self) -> bool:
        """Whether the path still leads to the file that was opened, by this process."""
        return not self.is_forked and identity(self.path) == self._identity

    @property
    def is_forked(self) -> bool:
        """Whether another process opened it, of which this one was forked."""
        return os.getpid() != self._process

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self.path} is closed")
        if os.getpid() != self._process:
            raise StorageUnavailable(
                f"{self.path} was opened by the process that this one was forked from",
                hint="Open the store after the fork: SQLite connections cannot be shared.",
            )
        if identity(self.path) != self._identity:
            raise StorageUnavailable(
                f"{self.path} was moved, deleted or replaced while it was open",
                hint="Close the store and open it again; nothing was written to the new file.",
            )

    def close(self) -> None:
        """Close every connection. Closing twice does nothing."""
        with self._write_lock, self._pool_lock:
            if self._closed:
                return
            self._closed = True
            descriptors.forget(self)
            # The last one writes the WAL into the file; what it cannot write stays there.
            for connection in self._idle:
                with contextlib.suppress(apsw.FullError, apsw.IOError):
                    connection.close()
            self._readers -= len(self._idle)
            self._idle.clear()
            if self._writer is not None:
                with contextlib.suppress(apsw.FullError, apsw.IOError):
                    self._writer.close()
                self._writer = None
            if self._leaves_nothing:
                self._sweep()

    def _sweep(self) -> None:
        """Remove the empty WAL that reading made: the last connection that may write does."""
        with contextlib.suppress(apsw.Error):
            last = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                last.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
            finally:
                last.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
