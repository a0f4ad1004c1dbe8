# SPDX-License-Identifier: MIT
"""The loadable extension: where it is, loading it in every SQLite, and refusing what is not it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from mnemogram import History, Message, Session, extension, text
from mnemogram.errors import ExtensionUnavailable

SYSTEM_PYTHON = "/usr/bin/python3"


def can_load(connection: apsw.Connection) -> bool:
    return bool(connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1))


def find_with(connection: apsw.Connection | sqlite3.Connection) -> int:
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='cjk_unicode61')")
    connection.execute("INSERT INTO t VALUES ('电影订阅成功')")
    row = connection.execute("SELECT count(*) FROM t('订阅')").fetchone()
    assert row is not None
    return int(row[0])


def test_it_lies_beside_the_compiled_modules() -> None:
    path = Path(extension.path())
    assert path.name == "libfts5_cjk.so"
    assert (path.parent / "__init__.py").exists() or list(path.parent.glob("text_core.*"))


def test_an_apsw_connection_finds_with_it_and_stays_closed_to_others() -> None:
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    assert find_with(connection) == 1
    assert not can_load(connection)
    with pytest.raises(apsw.SQLError, match="not authorized"):
        connection.execute("SELECT load_extension('x')")
    connection.close()


def test_a_connection_that_may_load_extensions_still_may() -> None:
    connection = apsw.Connection(":memory:")
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    extension.load(connection)
    assert can_load(connection)
    connection.close()


def test_loading_twice_does_no_harm() -> None:
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    extension.load(connection)
    assert find_with(connection) == 1
    connection.close()


def test_a_row_hook_of_the_host_does_not_get_in_the_way() -> None:
    connection = apsw.Connection(":memory:")
    hook = lambda cursor, row: {"row": row}  # noqa: E731
    connection.row_trace = hook
    assert extension.check(connection).ok
    assert connection.row_trace is hook
    connection.close()


@pytest.mark.skipif(
    not hasattr(sqlite3.Connection, "load_extension"),
    reason="this Python's sqlite3 was built without loadable extensions",
)
def test_a_sqlite3_connection_finds_with_it() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = lambda cursor, row: {"row": row}
    extension.load(connection)
    connection.row_factory = None
    assert find_with(connection) == 1
    with pytest.raises(sqlite3.OperationalError, match="not authorized"):
        connection.execute("SELECT load_extension('x')")
    connection.close()


@pytest.mark.skipif(
    hasattr(sqlite3.Connection, "load_extension"),
    reason="this Python's sqlite3 can load extensions",
)
def test_a_sqlite3_without_loadable_extensions_gets_a_hint() -> None:
    connection = sqlite3.connect(":memory:")
    with pytest.raises(ExtensionUnavailable, match="without loadable extensions") as caught:
        extension.load(connection)
    assert "apsw" in caught.value.hint
    connection.close()


class Refusing:
    """As much of a sqlite3 connection as load() needs; loading fails."""

    def __init__(self) -> None:
        self.may_load = True
        self.loads_while_allowed = 0

    def enable_load_extension(self, enabled: bool) -> None:
        self.may_load = enabled

    def getconfig(self, option: int) -> bool:
        return self.may_load

    def setconfig(self, option: int, enabled: bool) -> None:
        self.may_load = enabled

    def load_extension(self, path: str) -> None:
        self.loads_while_allowed += self.may_load
        raise sqlite3.OperationalError("no")


def test_a_failed_load_leaves_loading_as_it_was() -> None:
    connection = Refusing()
    connection.may_load = False
    with pytest.raises(ExtensionUnavailable, match="cannot load"):
        extension.load(connection)  # type: ignore[arg-type]
    assert connection.loads_while_allowed == 1
    assert connection.may_load is False


USE_FROM_SYSTEM = """
import json, sqlite3, sys
connection = sqlite3.connect(":memory:")
connection.enable_load_extension(True)
connection.load_extension(sys.argv[1])
connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='cjk_unicode61 variants 1')")
connection.execute("INSERT INTO t VALUES ('电影订阅成功'), ('臺灣')")
found = [connection.execute("SELECT count(*) FROM t(?)", (q,)).fetchone()[0] for q in
         ("订阅", "功*", "台湾", "影阅")]
print(json.dumps([found, connection.execute("SELECT fts5_cjk_debug()").fetchone()[0]]))
"""


def test_the_systems_own_sqlite_finds_with_it() -> None:
    probe = "import sqlite3; print(hasattr(sqlite3.Connection, 'load_extension'))"
    if not Path(SYSTEM_PYTHON).exists():
        pytest.skip(f"there is no {SYSTEM_PYTHON}")
    able = subprocess.run([SYSTEM_PYTHON, "-c", probe], capture_output=True, text=True, check=False)
    if able.stdout.strip() != "True":
        pytest.skip(f"the sqlite3 of {SYSTEM_PYTHON} cannot load extensions")
    result = subprocess.run(
        [SYSTEM_PYTHON, "-c", USE_FROM_SYSTEM, extension.path()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found, debug = json.loads(result.stdout)
    assert found == [1, 1, 1, 0]
    assert json.loads(debug)["rules_version"] == text.RULES_VERSION


def test_the_functions_report_versions_and_build() -> None:
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    version, debug = next(connection.execute("SELECT fts5_cjk_version(), fts5_cjk_debug()"))
    facts = json.loads(str(debug))
    assert facts["version"] == version
    assert facts["rules_version"] == text.RULES_VERSION
    assert facts["unicode_version"] == text.UNICODE_VERSION
    assert facts["sqlite_running"] == apsw.sqlite_lib_version()
    assert facts["compiler"].split()[0] in ("gcc", "clang")
    connection.close()


def test_the_functions_may_stand_in_a_schema_that_is_not_trusted() -> None:
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.execute("CREATE VIEW v AS SELECT fts5_cjk_version() AS version")
    assert next(connection.execute("SELECT version FROM v"))[0]
    connection.close()


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm from binutils")
def test_it_exports_its_entry_points_and_nothing_else() -> None:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", extension.path()], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1] for line in listing.stdout.splitlines()}
    assert names - {"_init", "_fini"} == {"sqlite3_extension_init", "sqlite3_ftscjk_init"}


def test_check_really_finds() -> None:
    result = extension.check()
    assert result.ok
    assert result.path == extension.path()
    assert result.rules_version == text.RULES_VERSION
    assert result.error is None
    assert json.loads(json.dumps(result.to_dict()))["ok"] is True


def test_a_missing_file_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = tmp_path / "nowhere.so"
    monkeypatch.setenv(extension.ENVIRONMENT_VARIABLE, str(wanted))
    with pytest.raises(ExtensionUnavailable, match=r"nowhere\.so"):
        extension.load(apsw.Connection(":memory:"))
    result = extension.check()
    assert (result.ok, result.path) == (False, None)
    assert result.hint


def test_the_environment_names_a_library_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "libfts5_cjk.so"
    shutil.copy(extension.path(), copy)
    monkeypatch.setenv(extension.ENVIRONMENT_VARIABLE, str(copy))
    assert extension.path() == str(copy)
    assert extension.check().ok


def test_a_host_finds_what_was_installed_under_its_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "lib" / "mnemogram" / "libfts5_cjk.so"
    installed.parent.mkdir(parents=True)
    shutil.copy(extension.path(), installed)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extension.text_core, "__file__", str(tmp_path / "text_core.so"))
    assert extension.path() == str(installed)
    assert extension.check().ok


OWN_MODULE = Path(str(extension.text_core.__file__))

FOREIGN = {
    "empty": (lambda good: b"", "not a shared library"),
    "text": (lambda good: b"hello", "not a shared library"),
    "header": (lambda good: good[:40], "cut off"),
    "half": (lambda good: good[: len(good) // 2], "cut off"),
    "one byte short": (lambda good: good[:-1], "cut off"),
    "another processor": (
        lambda good: good[:18] + (183 if good[18] != 183 else 62).to_bytes(2, "little") + good[20:],
        "for another processor: (AArch64|x86-64), not (AArch64|x86-64)",
    ),
    "another word size": (lambda good: good[:4] + b"\1" + good[5:], "cut off|another processor"),
    "another library": (
        lambda good: OWN_MODULE.read_bytes(),
        "another library",
    ),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into ELF files")
@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_or_cut_file_is_refused_before_it_is_loaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, complaint = FOREIGN[name]
    bad = tmp_path / "libfts5_cjk.so"
    bad.write_bytes(make(Path(extension.path()).read_bytes()))
    monkeypatch.setenv(extension.ENVIRONMENT_VARIABLE, str(bad))
    connection = apsw.Connection(":memory:")
    with pytest.raises(ExtensionUnavailable, match=complaint) as caught:
        extension.load(connection)
    assert caught.value.hint
    assert not can_load(connection)
    assert extension.check(connection).ok is False
    connection.close()


@pytest.fixture
def two_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The package's library and the one installed under the prefix, both good."""
    good = extension.path()
    places = tmp_path / "package", tmp_path / "prefix" / "lib" / "mnemogram"
    for place in places:
        place.mkdir(parents=True)
        shutil.copy(good, place / extension.FILE_NAME)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(extension.text_core, "__file__", str(tmp_path / "package" / "text_core.so"))
    return places[0] / extension.FILE_NAME, places[1] / extension.FILE_NAME


BROKEN = {name: make for name, (make, _) in FOREIGN.items()} | {
    # Whole, for this processor, with the entry point, and yet the dynamic loader refuses it.
    "what it needs is missing": lambda good: good.replace(b"libc.so.6\0", b"libq.so.6\0"),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="breaks ELF files")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_library_of_the_package_is_passed_over_for_an_installed_one(
    name: str, two_places: tuple[Path, Path], tmp_path: Path
) -> None:
    packaged, installed = two_places
    good = packaged.read_bytes()
    packaged.write_bytes(BROKEN[name](good))
    if packaged.read_bytes() == good:
        pytest.skip("this library is not linked to glibc")
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    assert find_with(connection) == 1
    connection.close()
    assert extension.path() == str(installed)
    found = extension.check()
    assert (found.ok, found.path) == (True, str(installed))
    assert [str(packaged) in each for each in found.passed_over] == [True]
    with History.open(tmp_path / "state.db") as history:
        history.append(Session("s"), [Message("user", "电影订阅成功")])
        assert history.search("订阅").search_path == "cjk"
        status = history.status()
    assert status.tokenizer == str(installed)
    assert any(str(packaged) in note for note in status.notes)


def test_two_broken_libraries_are_an_error_that_names_the_package_s(
    two_places: tuple[Path, Path],
) -> None:
    for each in two_places:
        each.write_bytes(b"no library")
    found = extension.check()
    assert (found.ok, found.path) == (False, str(two_places[0]))
    assert str(two_places[0]) in str(found.error)
    assert extension.path() == str(two_places[0])


def test_a_good_library_of_the_package_is_taken_whatever_lies_under_the_prefix(
    two_places: tuple[Path, Path],
) -> None:
    two_places[1].write_bytes(b"no library")
    found = extension.check()
    assert (found.path, found.passed_over) == (str(two_places[0]), ())


def test_a_library_of_other_rules_is_refused_and_named(
    two_places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SimpleNamespace(
        __file__=extension.text_core.__file__, RULES_VERSION=text.RULES_VERSION + 1
    )
    monkeypatch.setattr(extension, "text_core", other)
    found = extension.check()
    assert not found.ok
    assert f"by rules version {text.RULES_VERSION}, this package by" in str(found.error)
    assert found.hint


def test_a_library_that_is_mended_is_taken_again(two_places: tuple[Path, Path]) -> None:
    good = two_places[0].read_bytes()
    two_places[0].write_bytes(good[:100])
    assert extension.check().path == str(two_places[1])
    two_places[0].write_bytes(good)
    assert extension.check().path == str(two_places[0])


IMPOSTOR = """
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
int sqlite3_ftscjk_init(sqlite3 *db, char **error, const sqlite3_api_routines *routines) {
  (void)db;
  (void)error;
  SQLITE_EXTENSION_INIT2(routines);
  return SQLITE_OK;
}
"""


@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="needs a C compiler")
def test_a_library_that_only_bears_the_name_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "impostor.c"
    source.write_text(IMPOSTOR)
    bad = tmp_path / "libfts5_cjk.so"
    compiler = os.environ.get("CC", "cc")
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(bad), str(source)],
        capture_output=True,
        check=False,
    )
    if built.returncode:
        pytest.skip("SQLite's headers are not installed")
    monkeypatch.setenv(extension.ENVIRONMENT_VARIABLE, str(bad))
    result = extension.check()
    assert not result.ok
    assert "is not the tokenizer library" in str(result.error)
