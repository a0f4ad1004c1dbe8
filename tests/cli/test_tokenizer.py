# SPDX-License-Identifier: MIT
"""tokenizer path, check, tokens, install."""

from __future__ import annotations

import stat
from pathlib import Path

import apsw
import pytest

from mnemogram import extension

from .conftest import Run


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    place = tmp_path / "venv"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").touch()
    return place


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
