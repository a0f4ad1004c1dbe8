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

# Loaded in a process of its own: a broken library may take its process with it.
_PROBE: Final = """
import json
from mnemogram import extension
print(json.dumps(extension.check().to_dict()))
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
    if not any((prefix / name).exists() for name in ("pyvenv.cfg", "bin/python", "bin/python3")):
        raise InvalidArgument(
            f"{prefix} is no Python environment",
            hint="Name the directory that holds bin/python: the host's sys.prefix.",
        )
    target = prefix / "lib" / "mnemogram" / extension.FILE_NAME
    before = _probe(target)
    source = Path(extension.path())
    done = "checked"
    if not only_check:
        if before["ok"] and target.read_bytes() == source.read_bytes():
            done = "kept"
        else:
            before = _replace(source, target)
            done = "installed"
    if env.json:
        env.emit({"success": before["ok"], "action": done, **before})
    else:
        words = {"checked": "checked", "kept": "already there", "installed": "installed"}[done]
        if before["ok"]:
            env.say(f"{words}: {target}", "green")
        _show_check(env, before)
    return OK if before["ok"] else FAILURE


def _probe(library: Path) -> dict[str, Any]:
    """Load a library in a process of its own and search with it."""
    answer: dict[str, Any] = {"ok": False, "path": str(library), "error": None, "hint": None}
    if not library.is_file():
        return answer | {
            "error": f"{library} is not there",
            "hint": "Run `mnemogram tokenizer install` without --check.",
        }
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            env=os.environ | {extension.ENVIRONMENT_VARIABLE: str(library)},
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
        found = json.loads(done.stdout) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        found = None
    if not isinstance(found, dict):
        return answer | {
            "error": f"loading {library} ended the process that tried it",
            "hint": "Install it again with `mnemogram tokenizer install`.",
        }
    return answer | found


def _replace(source: Path, target: Path) -> dict[str, Any]:
    """Copy beside the target, try the copy, and only then rename it into place."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as directory:
            copy = Path(directory) / target.name
            shutil.copyfile(source, copy)
            copy.chmod(0o755)
            with copy.open("rb") as file:
                os.fsync(file.fileno())
            found = _probe(copy)
            if not found["ok"]:
                return found
            copy.replace(target)
    except OSError as error:
        raise StorageUnavailable(
            f"cannot install {target}: {error.strerror or error}",
            hint="Check that the directory can be written and that the disk has room.",
        ) from error
    return _probe(target)


def _show_check(env: Env, found: dict[str, Any]) -> None:
    page = Page(env.out, env.zone)
    if found["ok"]:
        page.fields(
            [
                ("library", found["path"]),
                ("version", found["version"]),
                ("token rules", found["rules_version"]),
                ("Unicode", found["unicode_version"]),
                ("SQLite", f"{found['sqlite_version']}, built with {found['sqlite_built']}"),
                ("compiler", found["compiler"]),
                ("search", "finds 订阅 in 电影订阅成功"),
            ]
        )
        return
    env.say(f"mnemogram: {clean(str(found['error']))}", "bold red")
    if found["hint"]:
        env.say(f"  {clean(str(found['hint']))}")
