# SPDX-License-Identifier: MIT
"""The SQLite extension with the FTS5 tokenizers: where it is, loading it, checking it.

The library lies beside the compiled modules of this package. A host that keeps it elsewhere
names it in the environment variable ``MNEMOGRAM_FTS5_CJK``, which then is the only place
looked at; ``<sys.prefix>/lib/mnemogram/libfts5_cjk.so``, where ``mnemogram tokenizer install``
puts it, is tried last. A file that is no good is passed over where another is; `passed_over`
tells it.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import apsw

from mnemogram._native import text_core
from mnemogram.errors import ExtensionUnavailable

if TYPE_CHECKING:
    import sqlite3

__all__ = ["ENVIRONMENT_VARIABLE", "FILE_NAME", "Check", "check", "load", "passed_over", "path"]

FILE_NAME = {"win32": "libfts5_cjk.dll", "darwin": "libfts5_cjk.dylib"}.get(
    sys.platform, "libfts5_cjk.so"
)
ENVIRONMENT_VARIABLE = "MNEMOGRAM_FTS5_CJK"

_ENTRY_POINT = "sqlite3_ftscjk_init"

_REPLACE = f"Replace it by the {FILE_NAME} of this package."
_PROBE_TABLE = (
    "CREATE VIRTUAL TABLE temp.mnemogram_check USING fts5(body, tokenize='cjk_unicode61')"
)
_PROBE_INSERT = "INSERT INTO temp.mnemogram_check(body) VALUES ('电影订阅成功')"
_PROBE_MATCH = "SELECT count(*) FROM temp.mnemogram_check WHERE mnemogram_check MATCH '\"订阅\"'"
_PROBE_DROP = "DROP TABLE temp.mnemogram_check"
_DEBUG = "SELECT fts5_cjk_debug()"

Connection: TypeAlias = "apsw.Connection | sqlite3.Connection"

_Signature = tuple[str, int, int, int, int]

# Library files that this process has loaded and looked into: the rest of a load is SQLite's.
_trusted: set[_Signature] = set()
# Why others are no good whoever loads them, and why the last load of one failed.
_refused: dict[_Signature, str] = {}
_failed: dict[_Signature, str] = {}

# How the files of this process's processor begin, as this package's own modules do; ``e_machine``
# of the System V ABI for people.
_OWN_MODULE = str(text_core.__file__)
_MACHINES = {3: "x86", 21: "PowerPC", 22: "S/390", 40: "ARM", 62: "x86-64", 183: "AArch64",
             243: "RISC-V"}  # fmt: skip


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
        passed_over: libraries before this one that are no good, and why.
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
    passed_over: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a dict."""
        return asdict(self)


def _errors() -> tuple[type[Exception], ...]:
    """Return what connections raise: apsw's, and those of sqlite3 where the host has loaded it."""
    loaded = sys.modules.get("sqlite3")
    return (apsw.Error,) if loaded is None else (apsw.Error, loaded.Error)


def _candidates() -> list[str]:
    override = os.environ.get(ENVIRONMENT_VARIABLE)
    if override:
        return [override]
    return [
        os.path.join(os.path.dirname(os.path.abspath(str(text_core.__file__))), FILE_NAME),
        os.path.join(sys.prefix, "lib", "mnemogram", FILE_NAME),
    ]


def path() -> str:
    """Return the path of the library: the first that is one.

    Where every file that is there is known to be no good, the first of them.

    Raises:
        ExtensionUnavailable: there is no such file.
    """
    present = _present()
    return next((each for each in present if not (_fault(each) or _failure(each))), present[0])


def passed_over() -> list[str]:
    """Return why each library before the one of `path` is not taken; mostly there is none."""
    told: list[str] = []
    for library in _present():
        problem = _fault(library) or _failure(library)
        if problem is None:
            return told
        told.append(problem)
    return []


def _present() -> list[str]:
    candidates = _candidates()
    present = [each for each in candidates if os.path.isfile(each)]
    if present:
        return present
    looked = " and ".join(candidates)
    raise ExtensionUnavailable(
        f"the tokenizer library is missing: looked for {looked}",
        hint="Install a wheel of mnemogram, or build it where SQLite's headers are, or point "
        f"{ENVIRONMENT_VARIABLE} at {FILE_NAME}; search goes on without it.",
    )


def _signature(library: str) -> _Signature:
    about = os.stat(library)
    return library, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _fault(library: str) -> str | None:
    """Return what is wrong with a library, as far as a look at the file or a load has told."""
    try:
        signature = _signature(library)
        if signature in _trusted:
            return None
        if signature not in _refused and sys.platform.startswith("linux"):
            problem = _problem(library)
            if problem:
                _refused[signature] = f"{library} {problem}"
    except OSError as error:
        return f"cannot read the tokenizer library {library}: {error.strerror}"
    return _refused.get(signature)


def _failure(library: str) -> str | None:
    """Return why the last load of a library failed; the next may not."""
    with suppress(OSError):
        return _failed.get(_signature(library))
    return None


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
        import sqlite3

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


def _problem(library: str) -> str | None:
    """Return why the dynamic loader must not be shown a file: a cut one can kill the process."""
    with open(library, "rb") as file:
        needed = _elf_size(file)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        content = file.read()
    if needed is None:
        return "is not a shared library"
    if size < needed:
        return f"is cut off: {size} of {needed} bytes"
    if _ENTRY_POINT.encode() not in content:
        return "is another library"
    try:
        with open(_OWN_MODULE, "rb") as file:
            own = file.read(20)
    except OSError:
        return None
    # Word size, order of bytes, and processor.
    if content[4:6] + content[18:20] == own[4:6] + own[18:20]:
        return None
    theirs, ours = (
        _MACHINES.get(int.from_bytes(header[18:20], "big" if header[5] == 2 else "little"))
        for header in (content, own)
    )
    return f"is for another processor: {theirs or 'unknown'}, not {ours or 'this one'}"


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
    harm. A library that is no good is passed over where another is.

    Args:
        connection: an open apsw or sqlite3 connection.

    Raises:
        ExtensionUnavailable: the library is missing, is something else, or cannot be
            loaded by this SQLite.
    """
    _load(connection)


def _load(connection: Connection) -> str:
    """Load the first library that can be; return its path."""
    first: ExtensionUnavailable | None = None
    for library in _present():
        try:
            problem = _fault(library)
            if problem is not None:
                raise ExtensionUnavailable(problem, hint=_REPLACE)
            _load_from(connection, library)
            return library
        except ExtensionUnavailable as error:
            first = first or error
        except OSError as error:  # gone since
            first = first or ExtensionUnavailable(f"cannot read {library}: {error.strerror}")
    assert first is not None
    raise first


def _load_from(connection: Connection, library: str) -> None:
    signature = _signature(library)
    with _loading_enabled(connection):
        try:
            if isinstance(connection, apsw.Connection):
                connection.load_extension(library, _ENTRY_POINT)
            else:
                # sqlite3 can name the entry point only since Python 3.12, and has no need.
                connection.load_extension(library)
        except _errors() as error:
            problem = f"cannot load the tokenizer library {library}: {error}"
            _failed[signature] = problem
            raise ExtensionUnavailable(problem) from error
    _failed.pop(signature, None)
    if signature not in _trusted:
        impostor = _impostor(connection)
        if impostor:
            _refused[signature] = f"{library} {impostor}"
            raise ExtensionUnavailable(_refused[signature], hint=_REPLACE)
        _trusted.add(signature)


def _impostor(connection: Connection) -> str | None:
    """Return why what was loaded is not the library of this package's rules."""
    refused: tuple[type[Exception], ...] = (*_errors(), ValueError)
    try:
        facts = _facts(connection)
    except refused:
        return "was loaded but is not the tokenizer library"
    if facts.get("rules_version") == text_core.RULES_VERSION:
        return None
    return (
        f"cuts text by rules version {facts.get('rules_version')}, this package "
        f"by {text_core.RULES_VERSION}"
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
        library = _load(connection)
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
    except _errors() as error:
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
        passed_over=tuple(passed_over()),
    )
