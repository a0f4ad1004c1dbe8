# SPDX-License-Identifier: MIT
"""Installing, upgrading, the file format and the questions: what they say is so."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import mnemogram
from mnemogram import Message, Session, Triple, extension

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings it
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {name: (DOCS / f"{name}.md").read_text("utf-8") for name in
         ("installing", "upgrading", "file-format", "faq")}  # fmt: skip
DOCKERFILE = (DOCS / "examples" / "Dockerfile").read_text("utf-8")


def blocks(language: str) -> list[object]:
    return [
        pytest.param(block, id=f"{name}: {block.splitlines()[0][:50]}")
        for name, page in PAGES.items()
        for block in re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.M | re.S)
    ]


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has installed it."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, words in {"mnemogram": "-m mnemogram", "python": ""}.items():
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        script.chmod(0o755)
    # An environment for `--venv`, so that this one stays as it is.
    place = tmp_path / "venv"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MNEMOGRAM_")}
    return kept | {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(place),
        "MNEMOGRAM_ROOT": str(tmp_path / "memory"),
        "MNEMOGRAM_USER": "alice",
        "HOME": str(tmp_path),
    }


def run(commands: str, environment: dict[str, str], folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-ec", commands],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("block", blocks("sh"))
def test_the_commands_of_the_pages_run(block: str, shell: dict[str, str], tmp_path: Path) -> None:
    lines = [line for line in block.splitlines() if not line.startswith("pip ")]
    run("mnemogram append --session s0 hello\n" + "\n".join(lines), shell, tmp_path)


@pytest.mark.parametrize("block", blocks("python"))
def test_the_python_of_the_pages_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs", "exec"), {"__name__": "docs"})


def test_the_extras_of_the_pages_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for page in (*PAGES.values(), DOCKERFILE):
        for extra in re.findall(r"(?:mnemogram|/src)\[([a-z-]+)\]", page):
            assert extra in project["optional-dependencies"]
    named = PAGES["installing"].partition("other extras are")[2].partition(".")[0]
    public = set(project["optional-dependencies"]) - {"cli", "bench", "docs"}
    assert set(re.findall(r"`([a-z-]+)`", named)) == {
        each for each in public if not each.startswith("test")
    }


def test_what_the_image_runs_works(shell: dict[str, str], tmp_path: Path) -> None:
    proofs = re.findall(r"^RUN (mnemogram .*)$", DOCKERFILE, flags=re.M)
    assert "mnemogram tokenizer check" in proofs
    run("\n".join(proofs), shell, tmp_path)
    for copied in re.findall(r"^COPY (?!--)(\S+)", DOCKERFILE, flags=re.M):
        assert (ROOT / copied).exists()


def described(section: str) -> dict[str, list[str]]:
    """The tables and views of a section, each with its columns."""
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", section, flags=re.M)
    return {name: re.findall(r"`(\w+)`", columns) for name, columns in rows}


@pytest.fixture
def files(tmp_path: Path) -> Iterator[dict[str, apsw.Connection]]:
    with mnemogram.open(tmp_path) as home:
        home.history("alice").append(Session("s"), [Message("user", "明早九点预约牙医复诊")])
        home.memory("alice").commit([Triple("alice", "likes", "tea")])
        found = {}
        for name in ("state.db", "memory.db"):
            (path,) = tmp_path.glob(f"users/*/{name}")
            found[name] = apsw.Connection(str(path))
            extension.load(found[name])
        yield found
        for connection in found.values():
            connection.close()


@pytest.mark.parametrize("name", ["state.db", "memory.db"])
def test_the_file_format_names_every_table_with_its_columns(
    name: str, files: dict[str, apsw.Connection]
) -> None:
    section = PAGES["file-format"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    connection = files[name]
    real = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    virtual = {table for table, sql in real if sql.startswith("CREATE VIRTUAL")}
    assert all(f"`{table}`" in section for table in virtual)
    shadows = {table for table, _ in real if any(table.startswith(f"{each}_") for each in virtual)}
    kinds = {f"_{table.rpartition('_')[2]}" for table in shadows}
    assert kinds <= set(re.findall(r"`(_\w+)`", PAGES["file-format"]))
    columns = {
        table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        for table, _ in real
        if table not in virtual | shadows
    }
    # What comes after the views are the full-text tables and their tokenizers.
    tables = described(section.partition("\nThe full-text tables")[0])
    assert tables == columns


@pytest.mark.parametrize("name", ["state.db", "memory.db"])
def test_the_file_format_names_the_versions(name: str, files: dict[str, apsw.Connection]) -> None:
    section = PAGES["file-format"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    (number,) = files[name].execute("PRAGMA application_id").fetchone()
    (version,) = files[name].execute("PRAGMA user_version").fetchone()
    word = number.to_bytes(4, "big").decode()
    assert f"Application id `{word}` ({number:#x}), schema version {version}." in section


def test_a_public_ci_builds_for_the_pythons_of_the_workshop() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    named = re.search(
        r"^PYTHONS = \((.*)\)$", (ROOT / "wheels" / "targets.py").read_text("utf-8"), re.MULTILINE
    )
    assert named
    tags = [f"cp{each.replace('.', '')}" for each in re.findall(r'"([\d.]+)"', named.group(1))]
    assert tool["cibuildwheel"]["build"] == [f"{tag}-*" for tag in tags]
    # The last of them, in the stable ABI, serves all later Pythons.
    assert tool["scikit-build"]["wheel"]["py-api"] == tags[-1]
    workflow = ROOT / ".github" / "workflows" / "wheels.yml"
    if workflow.exists():  # an sdist leaves it out
        systems = re.findall(r"\b(macos|windows)-\d", workflow.read_text("utf-8"))
        assert set(systems) == {"macos", "windows"} == set(tool["cibuildwheel"]) & set(systems)
