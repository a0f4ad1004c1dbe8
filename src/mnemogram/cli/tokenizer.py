# SPDX-License-Identifier: MIT
"""The tokenizer verbs: where the library is, whether it works, how it cuts, installing it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import click
from rich.text import Text

from mnemogram import extension, text
from mnemogram.cli.common import FAILURE, NOTHING, OK, Env, output_options
from mnemogram.cli.render import Page, clean
from mnemogram.errors import InvalidArgument, StorageUnavailable

__all__ = ["tokenizer"]

# Runs in the environment's own interpreter, in a process of its own: a broken library may take its
# process with it. It has to work without mnemogram, with whatever that environment has.
_PROBE: Final = """
import json, os, sqlite3, sys
library = os.environ["MNEMOGRAM_FTS5_CJK"]

def with_mnemogram():
    from mnemogram import extension
    return extension.check().to_dict()

def with_apsw():
    import apsw
    connection = apsw.Connection(":memory:")
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    connection.load_extension(library, "sqlite3_ftscjk_init")
    return searched(connection)

def with_sqlite3():
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(library)
    return searched(connection)

def with_loading():
    import ctypes
    ctypes.CDLL(library).sqlite3_ftscjk_init
    return {"ok": True}

def searched(connection):
    facts = json.loads(connection.execute("SELECT fts5_cjk_debug()").fetchone()[0])
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='cjk_unicode61')")
    connection.execute("INSERT INTO t VALUES ('\u7535\u5f71\u8ba2\u9605\u6210\u529f')")
    found = connection.execute("SELECT count(*) FROM t('\u8ba2\u9605')").fetchone()[0]
    return {
        "ok": found == 1,
        "error": None if found == 1 else "it does not find \u8ba2\u9605",
        **{name: facts[name] for name in ("version", "rules_version", "unicode_version",
                                          "sqlite_built", "compiler")},
        "sqlite_version": facts["sqlite_running"],
    }

def able(name):
    if name == "sqlite3":
        return hasattr(sqlite3.Connection, "enable_load_extension")
    try:
        __import__(name)
    except ImportError:
        return False
    return True

way = next((name for name in ("mnemogram", "apsw", "sqlite3") if able(name)), "loading")
try:
    answer = globals()["with_" + way]()
except Exception as error:
    answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
print(json.dumps({**answer, "proved_by": way}))
"""
_PROBE_SECONDS: Final = 60


@click.group()
def tokenizer() -> None:
    """The FTS5 tokenizer cjk_unicode61, for mnemogram and for any program with SQLite."""


@tokenizer.command("path")
@output_options
def path(env: Env) -> int:
    """Print the path of the library, to load into any SQLite."""
    found = extension.path()
    if env.json:
        env.emit({"success": True, "path": found})
    else:
        click.echo(found)
    return OK


@tokenizer.command("check")
@output_options
def check(env: Env) -> int:
    """Load the library, index a text, and find a word in it."""
    found = extension.check()
    if env.json:
        env.emit({"success": found.ok, **found.to_dict()})
    else:
        _show_check(env, found.to_dict())
    return OK if found.ok else FAILURE


@tokenizer.command("tokens")
@click.argument("words", nargs=-1, required=True, metavar="TEXT")
@click.option("--query", is_flag=True, help="Cut as a query rather than as a document.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="A tokenizer option, such as variants=0 or compat=1; may be repeated.",
)
@output_options
def tokens(env: Env, words: tuple[str, ...], query: bool, options: tuple[str, ...]) -> int:
    """Show how TEXT is cut: each token, where it stands, and the source it covers."""
    source = " ".join(words)
    found = text.tokenize(source, query=query, **_options(options))
    if env.json:
        env.emit({"success": True, "text": source, "tokens": [each._asdict() for each in found]})
        return OK if found else NOTHING
    page = Page(env.out, env.zone)
    for token in found:
        line = Text().append(f"{token.start:>5} {token.end:>5}  ", style="dim")
        line.append(clean(token.text), style="bold cyan")
        covered = source[token.start : token.end]
        if covered != token.text:
            line.append(f"  from {clean(covered)}")
        if token.colocated:
            line.append("  same position")
        page.line(line)
    if not found:
        env.say("no token: nothing in it can be searched", "dim")
    return OK if found else NOTHING


def _options(given: tuple[str, ...]) -> dict[str, str]:
    options = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise InvalidArgument(
                f"--option {each!r} has no value", hint="Write it like variants=0."
            )
        options[name] = value
    return options


@tokenizer.command("install")
@click.option(
    "--venv",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The environment of the host that will load it; this one by default.",
)
@click.option("--check", "only_check", is_flag=True, help="Verify what is there; change nothing.")
@output_options
def install(env: Env, venv: Path | None, only_check: bool) -> int:
    """Put the library where a running host looks for it: lib/mnemogram in its environment.

    A good one that is there already is left as it is; another is replaced in one step, after
    the new one was loaded and has found a word.
    """
    prefix = (Path(sys.prefix) if venv is None else venv).resolve()
    python = Path(sys.executable) if venv is None else _interpreter(prefix)
    target = prefix / "lib" / "mnemogram" / extension.FILE_NAME
    before = _probe(python, target)
    done = "checked"
    if not only_check:
        source = Path(extension.path())
        if before["ok"] and target.read_bytes() == source.read_bytes():
            done = "kept"
        else:
            before = _replace(python, source, target)
            done = "installed"
    if env.json:
        env.emit({"success": before["ok"], "action": done, **before})
    else:
        words = {"checked": "checked", "kept": "already there", "installed": "installed"}[done]
        if before["ok"]:
            env.say(f"{words}: {target}", "green")
        _show_check(env, before)
    return OK if before["ok"] else FAILURE


def _interpreter(prefix: Path) -> Path:
    """Return the Python of an environment."""
    names = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
    for name in names:
        # A link that leads nowhere is a broken environment, and says so when it is started.
        if os.path.lexists(prefix / name):
            return prefix / name
    raise InvalidArgument(
        f"{prefix} is no Python environment",
        hint="Name the directory that holds bin/python: the host's sys.prefix.",
    )


def _probe(python: Path, library: Path) -> dict[str, Any]:
    """Load a library with an environment's own Python and search with it."""
    answer: dict[str, Any] = {
        "ok": False,
        "path": str(library),
        "python": str(python),
        "proved_by": None,
        "error": None,
        "hint": None,
    }
    if not library.is_file():
        return answer | {
            "error": f"{library} is not there",
            "hint": "Run `mnemogram tokenizer install` without --check.",
        }
    try:
        done = subprocess.run(
            [str(python), "-c", _PROBE],
            env=os.environ | {extension.ENVIRONMENT_VARIABLE: str(library), "PYTHONUTF8": "1"},
            cwd=library.parent,  # no folder of the caller's may pass for a module
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except OSError as error:
        return answer | {
            "error": f"cannot run {python}: {error.strerror or error}",
            "hint": "The environment has to work before anything can be proven in it.",
        }
    except subprocess.TimeoutExpired:
        return answer | {"error": f"{python} did not answer within {_PROBE_SECONDS} s"}
    try:
        found = json.loads(done.stdout) if done.returncode == 0 else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return answer | {
            "error": f"loading {library} ended the process that tried it"
            if done.returncode < 0
            else f"{python} failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}",
            "hint": "Install it again with `mnemogram tokenizer install`.",
        }
    return answer | found | {"path": str(library)}


def _replace(python: Path, source: Path, target: Path) -> dict[str, Any]:
    """Copy beside the target, try the copy, and only then rename it into place."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as directory:
            copy = Path(directory) / target.name
            shutil.copyfile(source, copy)
            copy.chmod(0o755)
            with copy.open("rb") as file:
                os.fsync(file.fileno())
            found = _probe(python, copy)
            if not found["ok"]:
                return found
            copy.replace(target)
    except OSError as error:
        raise StorageUnavailable(
            f"cannot install {target}: {error.strerror or error}",
            hint="Check that the directory can be written and that the disk has room.",
        ) from error
    return _probe(python, target)


def _show_check(env: Env, found: dict[str, Any]) -> None:
    for problem in found.get("passed_over", ()):
        env.say(f"passed over: {clean(str(problem))}", "yellow")
    if not found["ok"]:
        env.say(f"mnemogram: {clean(str(found['error']))}", "bold red")
        if found["hint"]:
            env.say(f"  {clean(str(found['hint']))}")
        return
    page = Page(env.out, env.zone)
    if found.get("proved_by") == "loading":
        page.fields([("library", found["path"]), ("tried with", found["python"])])
        env.say(
            "it loads there, but no search was tried: that Python has neither mnemogram, nor apsw, "
            "nor a sqlite3 that loads extensions",
            "yellow",
        )
        return
    fields = [
        ("library", found["path"]),
        ("version", found["version"]),
        ("token rules", found["rules_version"]),
        ("Unicode", found["unicode_version"]),
        ("SQLite", f"{found['sqlite_version']}, built with {found['sqlite_built']}"),
        ("compiler", found["compiler"]),
        ("search", "finds 订阅 in 电影订阅成功"),
    ]
    if "python" in found:
        fields.append(("tried with", f"{found['proved_by']} of {found['python']}"))
    page.fields(fields)
