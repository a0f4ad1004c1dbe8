# SPDX-License-Identifier: MIT
"""Where users' files lie: directory names, permissions, and the kind of file system."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mnemogram.errors import InvalidArgument, StorageUnavailable
from mnemogram.sqlite import descriptors

__all__ = [
    "checked_path",
    "close_to_others",
    "file_errors",
    "identity",
    "network_file_system",
    "private_directory",
    "private_file",
    "regular_file",
    "uri",
    "user_directory",
    "user_key",
]

#: A database, and what SQLite keeps beside it.
_ALL: Final = ("", "-wal", "-shm", "-journal")
_LONGEST_PATH: Final = 4_096
#: Bytes that stand for themselves in a URI.
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:")
_REFUSED_IDS: Final = frozenset({"system"})
#: File systems whose shared memory is not shared between machines, which WAL needs.
_NETWORK_FILE_SYSTEMS: Final = frozenset(
    (
        *("afpfs", "afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "gpfs", "lustre"),
        *("ncpfs", "nfs", "nfs4", "ocfs2", "smb", "smb2", "smb3", "smbfs", "webdav"),
        *("fuse.ceph", "fuse.cephfs", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    )
)


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


def private_directory(path: Path, *, ours: bool = True) -> None:
    """Make ``path`` a directory that only its owner can enter, whatever the umask.

    Args:
        path: the directory; one that is there never becomes more open than it was.
        ours: whether one that is there is closed to others; False leaves it alone.
    """
    with file_errors(path):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not path.is_dir():
                raise NotADirectoryError(path) from None
            if ours:
                _close_to_others(path)
        else:
            if stat.S_IMODE(path.stat().st_mode) != 0o700:
                os.chmod(path, 0o700)


def user_directory(root: Path, key: str) -> Path:
    """Return ``<root>/users/<key>``, made private; a root that was there stays as it is."""
    with file_errors(root):
        root.parent.mkdir(parents=True, exist_ok=True)
    directory = root / "users" / key
    private_directory(root, ours=False)
    for each in (root / "users", directory):
        private_directory(each)
    return directory


def private_file(path: Path) -> None:
    """Create ``path`` as 0600 before SQLite writes to it; one that exists stays as it is.

    SQLite gives its journal and WAL the permissions of the database file.
    """
    with file_errors(path), contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.chmod(path, 0o600)


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def regular_file(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file that SQLite may open.

    Looked at by name: to open and close it here would take away the locks that other
    connections of this process have on it. Whoever opens it compares the identity later.

    Raises:
        StorageUnavailable: it, or what lies beside it for SQLite, is missing or no regular
            file. Opening a FIFO would wait for ever, and a device is nothing to write to.
    """
    with file_errors(path):
        os.stat(path)
        for name in (f"{path}{suffix}" for suffix in _ALL):
            with contextlib.suppress(FileNotFoundError):
                mode = os.stat(name).st_mode
                if not stat.S_ISREG(mode):
                    kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
                    raise StorageUnavailable(f"{name} is {kind}", hint="Name a file.")
    return identity(path)


def uri(path: Path) -> str:
    """Return the name of an absolute path for SQLite, to which a query can be added."""
    # As Path.as_uri(), without urllib: a process that gave up its rights may not load it any more.
    raw = os.fsencode(path.as_posix())
    quoted = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
    return f"file://{'' if quoted.startswith('/') else '/'}{quoted}"


def close_to_others(path: Path) -> None:
    """Take a database that is known to be ours, and what lies beside it, away from others."""
    with file_errors(path):
        for suffix in _ALL:
            with contextlib.suppress(FileNotFoundError):
                _close_to_others(Path(f"{path}{suffix}"))


def _close_to_others(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        # What belongs to another user is that one's to close.
        with contextlib.suppress(PermissionError):
            os.chmod(path, mode & 0o700)


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return a path as an absolute one.

    Raises:
        InvalidArgument: it is none, or a name that no file can have.
    """
    try:
        given = os.fspath(path)
        if not isinstance(given, str):
            raise TypeError("a path of bytes")
        os.fsencode(given)
        if "\0" in given:
            raise ValueError("a null character")
        if len(given) > _LONGEST_PATH:
            raise ValueError(f"{len(given)} characters")
        return Path(os.path.abspath(given))
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"path is no path of a file: {type(path).__name__}: {error}"[:300],
            hint="Pass a string or a pathlib.Path.",
        ) from error


@contextlib.contextmanager
def file_errors(path: Path, action: str = "prepare") -> Iterator[None]:
    """Raise what the file system says in the block as an error of ours."""
    try:
        yield
    except PermissionError as error:
        raise StorageUnavailable(
            f"no permission for {path}: {error.strerror}",
            hint="Give this process's user ownership of the directory and its files.",
        ) from error
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise descriptors.shortage() from error
        raise StorageUnavailable(
            f"cannot {action} {path}: {error.strerror or error}",
            hint="Check that the path is a directory on a writable disk with free space.",
        ) from error


# --- where a file lies -----------------------------------------------------------------

_devices: dict[int, str] = {}


def network_file_system(directory: Path) -> str | None:
    """Return the type of the network file system a directory lies on, None for a disk.

    Looked up in Linux's mount table, once for each device; elsewhere nothing is known.
    """
    try:
        device = os.stat(directory).st_dev
        kind = _devices.get(device)
        if kind is None:
            kind = _devices[device] = _mounted(directory)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise descriptors.shortage() from error
        return None
    return kind if kind in _NETWORK_FILE_SYSTEMS else None


def _mounted(directory: Path) -> str:
    where = os.path.realpath(directory)
    longest, kind = -1, ""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        lines = table.read().splitlines()
    for line in lines:
        before, _, after = line.partition(" - ")
        escaped = before.split(" ")[4]
        mount = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), escaped)
        inside = where == mount or where.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= longest:
            longest, kind = len(mount), after.split(" ")[0]
    return kind
