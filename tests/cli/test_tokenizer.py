# SPDX-License-Identifier: MIT
"""tokenizer path, check, tokens, install."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

import apsw
import pytest

from mnemogram import extension

from .conftest import Run


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment of this Python's with nothing in it."""
    place = tmp_path / "venv"
    (place / "bin").mkdir(parents=True)
    interpreter = Path(os.path.realpath(sys.executable))
    (place / "bin" / "python").symlink_to(interpreter)
    (place / "pyvenv.cfg").write_text(f"home = {interpreter.parent}\n")
    return place


def provide(venv: Path, *packages: str) -> None:
    """Put packages of this environment into another."""
    site = venv / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
    site.mkdir(parents=True)
    for package in packages:
        where = find_spec(package)
        assert where is not None
        assert where.origin is not None
        (site / package).symlink_to(Path(where.origin).parent)


def library(venv: Path) -> Path:
    return venv / "lib" / "mnemogram" / "libfts5_cjk.so"


def test_path_prints_a_library_that_any_sqlite_loads(run: Run) -> None:
    done = run("tokenizer", "path")
    assert done.code == 0
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(done.out.strip())
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='cjk_unicode61')")
    connection.execute("INSERT INTO t VALUES ('电影订阅成功')")
    assert connection.execute("SELECT count(*) FROM t('订阅')").fetchone() == (1,)
    connection.close()


def test_check_says_that_it_works(run: Run) -> None:
    done = run("tokenizer", "check")
    assert done.code == 0
    assert "finds 订阅 in 电影订阅成功" in done.out
    assert run("tokenizer", "check", "--json").json["ok"] is True


def test_check_fails_in_words_where_the_library_is_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(extension.ENVIRONMENT_VARIABLE, str(tmp_path / "gone.so"))
    done = run("tokenizer", "check")
    assert (done.code, done.out) == (1, "")
    assert "missing" in done.err
    assert run("tokenizer", "path").code == 1


def test_tokens_show_how_a_text_is_cut(run: Run) -> None:
    done = run("tokenizer", "tokens", "把cacheA节点")
    assert done.code == 0
    assert [line.split()[2] for line in done.out.splitlines()] == ["把", "cachea", "节点", "点"]
    as_query = run("tokenizer", "tokens", "节点", "--query", "--json").json
    assert [token["text"] for token in as_query["tokens"]] == ["节点"]


def test_tokens_take_options_of_the_tokenizer(run: Run) -> None:
    with_variants = run("tokenizer", "tokens", "臺灣", "--query").out
    without = run("tokenizer", "tokens", "臺灣", "--query", "--option", "variants=0").out
    assert "台湾" in with_variants
    assert "臺灣" in without
    assert run("tokenizer", "tokens", "x", "--option", "variants").code == 2
    assert run("tokenizer", "tokens", "x", "--option", "colour=1").code == 2


def test_a_text_without_tokens_is_nothing_found(run: Run) -> None:
    assert run("tokenizer", "tokens", "…").code == 3


def test_install_puts_a_working_library_where_the_host_looks(run: Run, venv: Path) -> None:
    done = run("tokenizer", "install", "--venv", venv)
    assert done.code == 0
    assert library(venv).read_bytes() == Path(extension.path()).read_bytes()
    assert [each.name for each in library(venv).parent.iterdir()] == ["libfts5_cjk.so"]
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(str(library(venv)))
    connection.close()


def test_a_good_library_is_kept(run: Run, venv: Path) -> None:
    run("tokenizer", "install", "--venv", venv)
    before = library(venv).stat()
    answer = run("tokenizer", "install", "--venv", venv, "--json").json
    assert answer["action"] == "kept"
    assert library(venv).stat().st_ino == before.st_ino


@pytest.mark.parametrize("damage", ["text", "cut short", "another library"])
def test_a_bad_library_is_replaced(run: Run, venv: Path, damage: str) -> None:
    run("tokenizer", "install", "--venv", venv)
    good = library(venv).read_bytes()
    bad = {
        "text": b"not a library",
        "cut short": good[: len(good) // 3],
        "another library": Path(apsw.__file__).read_bytes(),
    }[damage]
    library(venv).write_bytes(bad)
    checked = run("tokenizer", "install", "--venv", venv, "--check")
    assert checked.code == 1
    assert checked.err
    assert library(venv).read_bytes() == bad
    answer = run("tokenizer", "install", "--venv", venv, "--json")
    assert (answer.code, answer.json["action"]) == (0, "installed")
    assert library(venv).read_bytes() == good


def test_check_of_an_empty_environment_fails_and_writes_nothing(run: Run, venv: Path) -> None:
    done = run("tokenizer", "install", "--venv", venv, "--check")
    assert done.code == 1
    assert "is not there" in done.err
    assert not library(venv).parent.exists()


def test_a_directory_that_is_no_environment_is_refused(run: Run, tmp_path: Path) -> None:
    assert run("tokenizer", "install", "--venv", tmp_path).code == 2
    assert run("tokenizer", "install", "--venv", tmp_path / "gone").code == 2


def test_a_place_that_cannot_be_written_is_an_error_in_words(run: Run, venv: Path) -> None:
    (venv / "lib").write_text("in the way")
    done = run("tokenizer", "install", "--venv", venv)
    assert done.code == 1
    assert "cannot install" in done.err


def test_the_installed_library_can_be_read_by_everyone(run: Run, venv: Path) -> None:
    run("tokenizer", "install", "--venv", venv)
    assert stat.S_IMODE(library(venv).stat().st_mode) == 0o755


@pytest.mark.parametrize("packages", [("mnemogram", "apsw"), ("apsw",), ()], ids=str)
def test_install_proves_the_copy_in_the_environment_s_own_interpreter(
    run: Run, venv: Path, packages: tuple[str, ...]
) -> None:
    provide(venv, *packages)
    done = run("tokenizer", "install", "--venv", venv, "--json")
    assert done.code == 0, done
    assert done.json["python"] == str(venv / "bin" / "python")
    assert done.json["path"] == str(library(venv))
    bare = "sqlite3" if hasattr(sqlite3.Connection, "enable_load_extension") else "loading"
    assert done.json["proved_by"] == (packages[0] if packages else bare)
    again = run("tokenizer", "install", "--venv", venv, "--check")
    assert again.code == 0
    assert str(library(venv)) in again.out
    assert ("no search was tried" in again.err) == (done.json["proved_by"] == "loading")


REFUSING = """
class Check:
    def to_dict(self):
        return {"ok": False, "error": "cuts text by rules version 2, this package by 1", "hint": ""}
check = Check
"""


def test_a_host_whose_mnemogram_is_older_has_the_last_word(run: Run, venv: Path) -> None:
    provide(venv, "apsw")
    older = next(venv.glob("lib/python*/site-packages")) / "mnemogram"
    older.mkdir()
    (older / "__init__.py").touch()
    (older / "extension.py").write_text(REFUSING)
    done = run("tokenizer", "install", "--venv", venv)
    assert done.code == 1
    assert "rules version" in done.err
    assert not library(venv).exists()


def test_an_environment_that_does_not_run_proves_nothing(run: Run, venv: Path) -> None:
    python = venv / "bin" / "python"
    python.unlink()
    python.symlink_to(venv / "gone")
    done = run("tokenizer", "install", "--venv", venv)
    assert done.code == 1
    assert f"cannot run {python}" in done.err
    assert not library(venv).exists()


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [("kill -s SEGV $$", "ended the process"), ("echo oh no >&2; exit 9", "oh no")],
)
def test_a_library_that_ends_its_process_there_is_not_installed(
    run: Run, venv: Path, behaviour: str, words: str
) -> None:
    python = venv / "bin" / "python"
    python.unlink()
    python.write_text(f"#!/bin/sh\n{behaviour}\n")
    python.chmod(0o755)
    done = run("tokenizer", "install", "--venv", venv)
    assert done.code == 1
    assert words in done.err
    assert not library(venv).exists()


def test_no_file_of_the_caller_s_folder_passes_for_a_module(
    run: Run, venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apsw.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert run("tokenizer", "install", "--venv", venv).code == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system to read only")
def test_a_target_that_is_read_only_is_an_error_in_words(run: Run, venv: Path) -> None:
    (venv / "lib").symlink_to("/proc")
    done = run("tokenizer", "install", "--venv", venv)
    assert done.code == 1
    assert "cannot install" in done.err
    assert "Traceback" not in done.err


def test_check_says_which_library_it_passed_over(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Path(extension.path())
    installed = tmp_path / "lib" / "mnemogram" / extension.FILE_NAME
    installed.parent.mkdir(parents=True)
    installed.write_bytes(good.read_bytes())
    broken = tmp_path / extension.FILE_NAME
    broken.write_bytes(good.read_bytes()[:1000])
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extension.text_core, "__file__", str(tmp_path / "text_core.so"))
    done = run("tokenizer", "check")
    assert done.code == 0
    assert f"passed over: {broken} is cut off" in done.err
    assert str(installed) in done.out
