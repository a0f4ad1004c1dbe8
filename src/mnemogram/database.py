# SPDX-License-Identifier: MIT
"""Opening SQLite: permissions, pragmas, the extension, deadlines, transactions.

This is the only module that opens a database. It knows no table of ours: a
store hands it a :class:`Schema` and gets connections that are ready to use.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

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

__all__ = [
    "Connection",
    "Database",
    "Schema",
    "deadline",
    "private_directory",
    "translated",
    "user_directory",
    "user_key",
]

#: VM steps between two looks at the clock. At about 10 ns a step the clock is
#: read every 10 microseconds, which costs well under one percent.
PROGRESS_STEPS: Final = 1_000
DEFAULT_BUSY_TIMEOUT: Final = 10.0
MAX_READERS: Final = 4
_CACHE_KIB: Final = 16_384
_JOURNAL_SIZE_LIMIT: Final = 64 * 1024 * 1024
_REFUSED_IDS: Final = frozenset({"system"})


# --- users and directories -------------------------------------------------------------


def user_key(user_id: str, *, key_secret: bytes | str | None = None) -> str:
    """Return the irreversible directory name of a user.

    Args:
        user_id: the host's stable id; surrounding white space does not count.
        key_secret: makes the key an HMAC, so that ids cannot be guessed from it.

    Returns:
        64 lower-case hexadecimal digits: SHA-256 or HMAC-SHA-256 of the id.

    Raises:
        InvalidArgument: the id is missing, blank or the word ``system``.
    """
    if not isinstance(user_id, str):
        raise InvalidArgument(
            f"user_id must be a string, not {type(user_id).__name__}",
            hint="Pass the stable id your service knows the user by.",
        )
    trimmed = user_id.strip()
    if not trimmed or trimmed.casefold() in _REFUSED_IDS:
        raise InvalidArgument(
            "user_id must name a user: it is blank or reserved",
            hint="Pass the stable id your service knows the user by.",
        )
    data = trimmed.encode("utf-8", "surrogatepass")
    if key_secret is None:
        return hashlib.sha256(data).hexdigest()
    secret = key_secret.encode() if isinstance(key_secret, str) else bytes(key_secret)
    if not secret:
        raise InvalidArgument("key_secret must not be empty", hint="Pass a secret, or None.")
    return hmac.new(secret, data, hashlib.sha256).hexdigest()


def private_directory(path: Path) -> None:
    """Make ``path`` a directory that only its owner can enter, whatever the umask."""
    with _file_errors(path):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not path.is_dir():
                raise NotADirectoryError(path) from None
        if stat.S_IMODE(path.stat().st_mode) != 0o700:
            os.chmod(path, 0o700)


def user_directory(root: Path, key: str) -> Path:
    """Return ``<root>/users/<key>``, made private from the root down."""
    with _file_errors(root):
        root.parent.mkdir(parents=True, exist_ok=True)
    directory = root / "users" / key
    for each in (root, root / "users", directory):
        private_directory(each)
    return directory


def _private_file(path: Path) -> None:
    """Create ``path`` as 0600 before SQLite writes to it; tighten one that exists.

    SQLite gives its journal and WAL the permissions of the database file.
    """
    with _file_errors(path):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            os.chmod(path, 0o600)
        except FileExistsError:
            if path.is_dir():
                raise IsADirectoryError(path) from None
        for suffix in ("", "-wal", "-shm", "-journal"):
            name = f"{path}{suffix}"
            with contextlib.suppress(FileNotFoundError):
                if stat.S_IMODE(os.stat(name).st_mode) != 0o600:
                    os.chmod(name, 0o600)


@contextlib.contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise StorageUnavailable(
            f"no permission for {path}: {error.strerror}",
            hint="Give this process's user ownership of the directory and its files.",
        ) from error
    except OSError as error:
        raise StorageUnavailable(
            f"cannot prepare {path}: {error.strerror or error}",
            hint="Check that the path is a directory on a writable disk with free space.",
        ) from error


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
        "The file is damaged: run check(), keep a copy, and restore from a backup.",
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


# --- connections -----------------------------------------------------------------------


class Connection(apsw.Connection):
    """An apsw connection that remembers its deadline and its tokenizer."""

    #: None where the tokenizer extension is loaded, else why it is not.
    tokenizer_error: str | None = "not loaded"
    deadline_at: float | None = None

    @property
    def has_tokenizer(self) -> bool:
        """Whether ``cjk_unicode61`` and ``word_trigram`` can be used here."""
        return self.tokenizer_error is None

    def one(self, sql: str, bindings: Any = ()) -> Any:
        """Return the first column of the first row, or None where there is no row."""
        for row in self.execute(sql, bindings):
            return row[0]
        return None

    def remaining(self) -> float | None:
        """Seconds until the deadline in force (negative once past), None without one."""
        return None if self.deadline_at is None else self.deadline_at - time.monotonic()

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
    outer = connection.deadline_at
    end = time.monotonic() + seconds
    connection.deadline_at = end if outer is None else min(end, outer)
    _arm(connection)
    try:
        with translated():
            yield
    finally:
        connection.deadline_at = outer
        _arm(connection)


def _arm(connection: Connection) -> None:
    end = connection.deadline_at
    if end is None:
        connection.set_progress_handler(None)
        return
    limit = end
    clock = time.monotonic
    connection.set_progress_handler(lambda: clock() >= limit, PROGRESS_STEPS)


# --- schemas ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Schema:
    """What makes a file one of ours.

    Attributes:
        application_id: SQLite's application_id for files of this kind.
        version: newest schema version this code knows (SQLite's user_version).
        upgrade: brings an open write transaction from a version (0: empty file)
            to ``version``.
    """

    application_id: int
    version: int
    upgrade: Callable[[Connection, int], None]


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
                f"synchronous must be 'full' or 'normal', not {synchronous!r}",
                hint="'full' survives a power cut, 'normal' a process kill.",
            )
        self.path = Path(os.path.abspath(os.fspath(path)))
        self.schema = schema
        self.read_only = read_only
        self.busy_timeout = busy_timeout
        self.load_extension = load_extension
        self.synchronous = synchronous
        self.journal_mode = ""
        self._closed = False
        self._write_lock = threading.RLock()
        self._pool_lock = threading.Lock()
        self._idle: list[Connection] = []
        self._leases = threading.BoundedSemaphore(MAX_READERS)
        if read_only:
            with _file_errors(self.path):
                os.stat(self.path)
        else:
            _private_file(self.path)
        with translated():
            self._writer = self._connect(prepare=True)
        self._identity = self._file_identity()

    # -- opening

    def _connect(self, *, prepare: bool) -> Connection:
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE
        connection = Connection(str(self.path), flags=flags)
        try:
            connection.set_busy_timeout(max(1, int(self.busy_timeout * 1000)))
            connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
            connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._load_tokenizer(connection)
            if prepare:
                self._prepare(connection)
            connection.execute(f"PRAGMA synchronous = {self.synchronous}")
            connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_SIZE_LIMIT}")
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
        version = self._checked_version(connection)
        if not self.read_only:
            if version == 0:
                self._retry(lambda: connection.execute("PRAGMA auto_vacuum = INCREMENTAL"))
            self.journal_mode = str(
                self._retry(lambda: connection.one("PRAGMA journal_mode = WAL"))
            )
            if self.journal_mode != "wal":
                self.journal_mode = str(connection.one("PRAGMA journal_mode = TRUNCATE"))
            if version < self.schema.version:
                self._upgrade(connection)
        else:
            self.journal_mode = str(connection.one("PRAGMA journal_mode"))

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
        if self.read_only:
            raise StorageUnavailable(
                f"{self.path} holds no mnemogram store yet",
                hint="Open it once for writing, or check the path.",
            )
        return 0

    def _upgrade(self, connection: Connection) -> None:
        self._retry(lambda: connection.execute("BEGIN IMMEDIATE"))
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

    def _retry(self, step: Callable[[], Any]) -> Any:
        """Run ``step`` until it is not busy or the busy wait is over.

        SQLite answers busy at once, without its busy handler, where waiting
        could deadlock: so when several processes turn on WAL together.
        """
        end = time.monotonic() + self.busy_timeout
        pause = 0.002
        while True:
            try:
                return step()
            except (apsw.BusyError, apsw.LockedError):
                if time.monotonic() + pause >= end:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 0.1)

    # -- using

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    @property
    def has_tokenizer(self) -> bool:
        """Whether this process can use the tokenizer extension."""
        return self._writer.has_tokenizer

    @property
    def tokenizer_error(self) -> str | None:
        """Why the tokenizer is not loaded; None where it is."""
        return self._writer.tokenizer_error

    @contextlib.contextmanager
    def write(self, *, timeout: float | None = None) -> Iterator[Connection]:
        """One write transaction: committed when the block ends, else rolled back.

        Raises:
            Busy: another process held the lock for longer than the busy wait.
        """
        with self._write_lock:
            self._check_usable()
            connection = self._writer
            if connection.in_transaction:
                yield connection
                return
            with translated(), deadline(connection, timeout):
                self._retry(lambda: connection.execute("BEGIN IMMEDIATE"))
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[Connection]:
        """The writer outside a transaction, for VACUUM, checkpoints and backup."""
        with self._write_lock:
            self._check_usable()
            with translated():
                yield self._writer

    @contextlib.contextmanager
    def read(self, *, timeout: float | None = None) -> Iterator[Connection]:
        """One read transaction on a connection of its own: a stable snapshot.

        Args:
            timeout: deadline in seconds over everything in the block.
        """
        self._check_usable()
        if not self._leases.acquire(timeout=self.busy_timeout if timeout is None else timeout):
            raise QueryTimeout("no reader became free in time")
        try:
            with self._pool_lock:
                connection = self._idle.pop() if self._idle else None
            with translated():
                if connection is None:
                    connection = self._connect(prepare=False)
                try:
                    with deadline(connection, timeout):
                        connection.execute("BEGIN")
                        yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    with self._pool_lock:
                        keep = not self._closed
                        if keep:
                            self._idle.append(connection)
                    if not keep:
                        connection.close()
        finally:
            self._leases.release()

    def _file_identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreClosed(f"{self.path} is closed")
        if self._file_identity() != self._identity:
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
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._writer.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
