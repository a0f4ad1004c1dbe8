# SPDX-License-Identifier: MIT
"""The SQLite extension with the FTS5 tokenizers: where it is, loading it, checking it.

The library lies beside the compiled modules of this package. A host that keeps it elsewhere
names it in the environment variable ``MNEMOGRAM_FTS5_CJK``, which then is the only place
looked at; ``<sys.prefix>/lib/mnemogram/libfts5_cjk.so``, where ``mnemogram tokenizer install``
puts it, is tried last.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import BinaryIO

import apsw

from mnemogram._native import text_core
from mnemogram.errors import ExtensionUnavailable

__all__ = ["ENVIRONMENT_VARIABLE", "FILE_NAME", "Check", "check", "load", "path"]

FILE_NAME = {"win32": "libfts5_cjk.dll", "darwin": "libfts5_cjk.dylib"}.get(
    sys.platform, "libfts5_cjk.so"
)
ENVIRONMENT_VARIABLE = "MNEMOGRAM_FTS5_CJK"

_ENTRY_POINT = "sqlite3_ftscjk_init"

_PROBE_TABLE = (
    "CREATE VIRTUAL TABLE temp.mnemogram_check USING fts5(body, tokenize='cjk_unicode61')"
)
_PROBE_INSERT = "INSERT INTO temp.mnemogram_check(body) VALUES ('电影订阅成功')"
_PROBE_MATCH = "SELECT count(*) FROM temp.mnemogram_check WHERE mnemogram_check MATCH '\"订阅\"'"
_PROBE_DROP = "DROP TABLE temp.mnemogram_check"
_DEBUG = "SELECT fts5_cjk_debug()"

Connection = apsw.Connection | sqlite3.Connection

# Library files that this process has loaded and looked into: the rest of a load is SQLite's.
_trusted: set[tuple[str, int, int, int, int]] = set()


@dataclass(frozen=True, slots=True)
class Check:
    """What a real attempt to load and use the extension found.

    Attributes:
        ok: it loads, tokenizes and finds.
        path: the library that was tried; None where no file was found.
        version: version of the library.
        rules_version: version of its token rules.
        unicode_version: version of Unicode of its tables.
        sqlite_version: version of the SQLite that loaded it.
        sqlite_built: version of the headers it was built with.
        compiler: what compiled it.
        error: what failed, None when ok.
        hint: what can be done about it, None when ok.
    """

    ok: bool
    path: str | None
    version: str | None = None
    rules_version: int | None = None
    unicode_version: str | None = None
    sqlite_version: str | None = None
    sqlite_built: str | None = None
    compiler: str | None = None
    error: str | None = None
    hint: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a dict."""
        return asdict(self)


def _candidates() -> list[str]:
    override = os.environ.get(ENVIRONMENT_VARIABLE)
    if override:
        return [override]
    return [
        os.path.join(os.path.dirname(os.path.abspath(str(text_core.__file__))), FILE_NAME),
        os.path.join(sys.prefix, "lib", "mnemogram", FILE_NAME),
    ]


def path() -> str:
    """Return the path of the library.

    Raises:
        ExtensionUnavailable: there is no such file.
    """
    candidates = _candidates()
    for candidate in candidates:
        if os.path.isfile(candidate):
            return candidate
    looked = " and ".join(candidates)
    raise ExtensionUnavailable(
        f"the tokenizer library is missing: looked for {looked}",
        hint="Install mnemogram again, or point "
        f"{ENVIRONMENT_VARIABLE} at {FILE_NAME}; search goes on without it.",
    )


@contextmanager
def _loading_enabled(connection: Connection) -> Iterator[None]:
    """Allow the C call alone to load: SQL's load_extension() stays as it was."""
    if isinstance(connection, apsw.Connection):
        allow = apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
        before = connection.config(allow, -1)
        connection.config(allow, 1)
        try:
            yield
        finally:
            connection.config(allow, before)
        return
    if not hasattr(connection, "load_extension"):
        raise ExtensionUnavailable(
            "this Python's sqlite3 was built without loadable extensions",
            hint="Use an apsw connection, or a Python whose sqlite3 has enable_load_extension().",
        )
    if sys.version_info >= (3, 12):
        option = sqlite3.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
        was_on = connection.getconfig(option)
        connection.setconfig(option, True)
        try:
            yield
        finally:
            connection.setconfig(option, was_on)
    else:
        # Older Pythons cannot tell how it was; off is the state that does no harm.
        connection.enable_load_extension(True)
        try:
            yield
        finally:
            connection.enable_load_extension(False)


def _elf_size(file: BinaryIO) -> int | None:
    """Return how long an ELF file has to be for all that its headers name; None for no ELF.

    Source of the format: System V ABI, chapters "ELF header" and "Program header".
    """
    ident = file.read(16)
    if ident[:4] != b"\x7fELF" or len(ident) < 16 or ident[4] not in (1, 2):
        return None
    order = ">" if ident[5] == 2 else "<"
    wide = ident[4] == 2
    header = struct.Struct(order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"))
    raw = file.read(header.size)
    if len(raw) < header.size:
        return 16 + header.size
    fields = header.unpack(raw)
    program_at, section_at = fields[4], fields[5]
    program_size, program_count, section_size, section_count = fields[8:12]
    needed: list[int] = [
        program_at + program_size * program_count,
        section_at + section_size * section_count,
    ]
    file.seek(program_at)
    for _ in range(program_count):
        segment = file.read(program_size)
        if len(segment) < program_size:
            break
        number = struct.Struct(order + ("Q" if wide else "I"))
        (offset,) = number.unpack_from(segment, 8 if wide else 4)
        (length,) = number.unpack_from(segment, 32 if wide else 16)
        needed.append(offset + length)
    return max(needed)


def _refuse_foreign_file(library: str) -> None:
    """Raise for what the dynamic loader must not be shown: a cut file can kill the process."""
    with open(library, "rb") as file:
        needed = _elf_size(file)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        ours = _ENTRY_POINT.encode() in file.read()
    if needed is None:
        problem = "is not a shared library"
    elif size < needed:
        problem = f"is cut off: {size} of {needed} bytes"
    elif not ours:
        problem = "is another library"
    else:
        return
    raise ExtensionUnavailable(
        f"{library} {problem}", hint=f"Replace it by the {FILE_NAME} of this package."
    )


def _value(connection: Connection, statement: str) -> object:
    """Return the first value of a statement, whatever row hooks the host has set."""
    if isinstance(connection, apsw.Connection):
        hook, connection.row_trace = connection.row_trace, None
        try:
            row = connection.execute(statement).fetchone()
        finally:
            connection.row_trace = hook
    else:
        cursor = connection.cursor()
        cursor.row_factory = None
        row = cursor.execute(statement).fetchone()
    return None if row is None else row[0]


def _facts(connection: Connection) -> dict[str, object]:
    facts = json.loads(str(_value(connection, _DEBUG)))
    if not isinstance(facts, dict):
        raise ValueError("fts5_cjk_debug() gave no JSON object")
    return facts


def load(connection: Connection) -> None:
    """Load the extension into a connection, ready for its tokenizers.

    Extension loading is enabled only while the library is loaded. Loading twice does no
    harm.

    Args:
        connection: an open apsw or sqlite3 connection.

    Raises:
        ExtensionUnavailable: the library is missing, is something else, or cannot be
            loaded by this SQLite.
    """
    library = path()
    try:
        about = os.stat(library)
        signature = (library, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
        trusted = signature in _trusted
        if not trusted and sys.platform.startswith("linux"):
            _refuse_foreign_file(library)
    except OSError as error:
        raise ExtensionUnavailable(
            f"cannot read the tokenizer library {library}: {error.strerror}"
        ) from error
    with _loading_enabled(connection):
        try:
            if isinstance(connection, apsw.Connection):
                connection.load_extension(library, _ENTRY_POINT)
            else:
                # sqlite3 can name the entry point only since Python 3.12, and has no need.
                connection.load_extension(library)
        except (apsw.Error, sqlite3.Error) as error:
            raise ExtensionUnavailable(
                f"cannot load the tokenizer library {library}: {error}"
            ) from error
    if not trusted:
        _refuse_impostor(connection, library)
        _trusted.add(signature)


def _refuse_impostor(connection: Connection, library: str) -> None:
    """Raise if what was loaded is not the library of this package's rules."""
    hint = f"Replace it by the {FILE_NAME} of this package."
    try:
        facts = _facts(connection)
    except (apsw.Error, sqlite3.Error, ValueError) as error:
        raise ExtensionUnavailable(
            f"{library} was loaded but is not the tokenizer library", hint=hint
        ) from error
    if facts.get("rules_version") != text_core.RULES_VERSION:
        raise ExtensionUnavailable(
            f"{library} cuts text by rules version {facts.get('rules_version')}, this package "
            f"by {text_core.RULES_VERSION}",
            hint=hint,
        )


def check(connection: Connection | None = None) -> Check:
    """Try the extension for real: load it, index 电影订阅成功, find 订阅 in it.

    Args:
        connection: connection to try it on, left with the extension loaded; by default a
            new apsw connection to a database in memory.

    Returns:
        What was found. Nothing is raised for a library that is missing or broken.
    """
    library: str | None = None
    own = connection is None
    connection = apsw.Connection(":memory:") if connection is None else connection
    try:
        library = path()
        load(connection)
        facts = _facts(connection)
        connection.execute(_PROBE_TABLE)
        try:
            connection.execute(_PROBE_INSERT)
            count = _value(connection, _PROBE_MATCH)
        finally:
            connection.execute(_PROBE_DROP)
        if count != 1:
            raise ExtensionUnavailable(
                f"{library} was loaded but does not find 订阅 in 电影订阅成功"
            )
    except ExtensionUnavailable as error:
        return Check(ok=False, path=library, error=str(error), hint=error.hint)
    except (apsw.Error, sqlite3.Error) as error:
        return Check(
            ok=False, path=library, error=str(error), hint=ExtensionUnavailable.default_hint
        )
    finally:
        if own:
            connection.close()
    return Check(
        ok=True,
        path=library,
        version=str(facts["version"]),
        rules_version=int(str(facts["rules_version"])),
        unicode_version=str(facts["unicode_version"]),
        sqlite_version=str(facts["sqlite_running"]),
        sqlite_built=str(facts["sqlite_built"]),
        compiler=str(facts["compiler"]),
    )
