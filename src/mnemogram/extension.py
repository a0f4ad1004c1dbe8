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
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import apsw

from mnemogram._native import text_core
from mnemogram.errors import ExtensionUnavailable

__all__ = ["ENVIRONMENT_VARIABLE", "FILE_NAME", "Check", "check", "load", "path"]

FILE_NAME = "libfts5_cjk.so"
ENVIRONMENT_VARIABLE = "MNEMOGRAM_FTS5_CJK"

_ENTRY_POINT = "sqlite3_ftscjk_init"
_MAGIC = b"\x7fELF"

_PROBE_TABLE = "CREATE VIRTUAL TABLE temp.mnemogram_check USING fts5(body, tokenize='cjk_unicode61')"
_PROBE_INSERT = "INSERT INTO temp.mnemogram_check(body) VALUES ('电影订阅成功')"
_PROBE_MATCH = "SELECT count(*) FROM temp.mnemogram_check WHERE mnemogram_check MATCH '\"订阅\"'"
_DEBUG = "SELECT fts5_cjk_debug()"

Connection = apsw.Connection | sqlite3.Connection


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


def _candidates() -> list[Path]:
    override = os.environ.get(ENVIRONMENT_VARIABLE)
    if override:
        return [Path(override)]
    return [
        Path(text_core.__file__).resolve().parent / FILE_NAME,
        Path(sys.prefix) / "lib" / "mnemogram" / FILE_NAME,
    ]


def path() -> str:
    """Return the path of the library.

    Raises:
        ExtensionUnavailable: there is no such file.
    """
    candidates = _candidates()
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    looked = " and ".join(str(candidate) for candidate in candidates)
    raise ExtensionUnavailable(
        f"the tokenizer library is missing: looked for {looked}",
        hint="Install mnemogram again, or point "
        f"{ENVIRONMENT_VARIABLE} at {FILE_NAME}; search goes on without it.",
    )


@contextmanager
def _loading_enabled(connection: Connection) -> Iterator[None]:
    if isinstance(connection, apsw.Connection):
        # The C-level switch alone, so that SQL's load_extension() stays off throughout.
        allow = apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
        before = connection.config(allow, -1)
        connection.config(allow, 1)
        try:
            yield
        finally:
            connection.config(allow, before)
        return
    enable = getattr(connection, "enable_load_extension", None)
    if enable is None:
        raise ExtensionUnavailable(
            "this Python's sqlite3 was built without loadable extensions",
            hint="Use an apsw connection, or a Python whose sqlite3 has enable_load_extension().",
        )
    enable(True)
    try:
        yield
    finally:
        enable(False)


def _refuse_foreign_file(library: str) -> None:
    """Raise for what the dynamic loader must not even be shown."""
    try:
        with open(library, "rb") as file:
            head = file.read(len(_MAGIC))
    except OSError as error:
        raise ExtensionUnavailable(
            f"cannot read the tokenizer library {library}: {error.strerror}"
        ) from error
    if sys.platform.startswith("linux") and head != _MAGIC:
        raise ExtensionUnavailable(
            f"{library} is not a shared library",
            hint=f"Replace it by the {FILE_NAME} of this package.",
        )


def _facts(connection: Connection) -> dict[str, object]:
    row = connection.execute(_DEBUG).fetchone()
    assert row is not None
    facts = json.loads(str(row[0]))
    assert isinstance(facts, dict)
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
    _refuse_foreign_file(library)
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
    try:
        facts = _facts(connection)
    except (apsw.Error, sqlite3.Error, ValueError, AssertionError) as error:
        raise ExtensionUnavailable(
            f"{library} was loaded but is not the tokenizer library",
            hint=f"Replace it by the {FILE_NAME} of this package.",
        ) from error
    if facts.get("rules_version") != text_core.RULES_VERSION:
        raise ExtensionUnavailable(
            f"{library} cuts text by rules version {facts.get('rules_version')}, this package "
            f"by {text_core.RULES_VERSION}",
            hint=f"Replace it by the {FILE_NAME} of this package.",
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
            row = connection.execute(_PROBE_MATCH).fetchone()
        finally:
            connection.execute("DROP TABLE temp.mnemogram_check")
        if row is None or row[0] != 1:
            raise ExtensionUnavailable(f"{library} was loaded but did not find 订阅 in 电影订阅成功")
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
