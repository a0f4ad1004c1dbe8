# SPDX-License-Identifier: MIT
"""Where programs on this machine keep their conversations, as they document it.

What is there is told without reading it all: a log by its first and its last lines, a
database by a count. Nothing is written, and nothing outside of these places is looked at.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from mnemogram.importers.base import ImportFailed, as_text, as_time
from mnemogram.importers.sqlite import SQLITE_HEAD, SQLiteFile
from mnemogram.importers.times import read_time
from mnemogram.moments import datetime_of

__all__ = ["PROGRAMS", "Found", "Machine", "Program", "files_of", "find"]

#: Bytes at the beginning and the end of a log that are looked at.
_LOOK_AT: Final = 64 << 10
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides where programs write.

    Attributes:
        home: the person's directory.
        environ: environment variables.
        platform: as ``sys.platform`` names it.
    """

    home: Path = field(default_factory=Path.home)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    platform: str = sys.platform

    def named(self, variable: str) -> Path | None:
        """Return the directory that a variable names, if it does."""
        value = self.environ.get(variable, "").strip()
        if value.startswith("~/"):
            return self.home / value[2:]
        return Path(value) if value else None

    def settings(self) -> Path:
        """Return where programs keep what belongs to a person."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.named("APPDATA") or self.home / "AppData" / "Roaming"
        return self.named("XDG_CONFIG_HOME") or self.home / ".config"


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and where its conversations are.

    Attributes:
        name: as it is chosen.
        title: as people know it.
        folder: its directory.
        files: patterns of the files in it that hold conversations.
        unread: patterns of files that hold some and cannot be read here.
        counted: of a database, a statement that gives how many conversations there are,
            and the first and the last time.
    """

    name: str
    title: str
    folder: Callable[[Machine], Path]
    files: tuple[str, ...]
    unread: tuple[str, ...] = ()
    counted: str = ""


def _claude(machine: Machine) -> Path:
    return machine.named("CLAUDE_CONFIG_DIR") or machine.home / ".claude"


def _codex(machine: Machine) -> Path:
    return machine.named("CODEX_HOME") or machine.home / ".codex"


def _gemini(machine: Machine) -> Path:
    return (machine.named("GEMINI_CLI_HOME") or machine.home) / ".gemini"


def _llm(machine: Machine) -> Path:
    return machine.named("LLM_USER_PATH") or machine.settings() / "io.datasette.llm"


def _hermes(machine: Machine) -> Path:
    named = machine.named("HERMES_HOME")
    if named is None and machine.platform == "win32":
        local = machine.named("LOCALAPPDATA") or machine.home / "AppData" / "Local"
        return local / "hermes"
    return named or machine.home / ".hermes"


def _open_webui(machine: Machine) -> Path:
    return machine.named("DATA_DIR") or machine.home / ".open-webui"


PROGRAMS: Final[tuple[Program, ...]] = (
    Program("claude-code", "Claude Code", _claude, ("projects/**/*.jsonl",)),
    Program(
        *("codex", "Codex", _codex),
        ("sessions/**/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl"),
        ("sessions/**/rollout-*.jsonl.zst", "archived_sessions/rollout-*.jsonl.zst"),
    ),
    Program(
        *("gemini-cli", "Gemini CLI", _gemini),
        ("tmp/*/chats/**/session-*.json", "tmp/*/chats/**/session-*.jsonl"),
    ),
    Program(
        *("llm", "llm", _llm, ("logs.db",)),
        counted="SELECT count(DISTINCT coalesce(conversation_id, id)) AS number,"
        " min(datetime_utc) AS first, max(datetime_utc) AS last FROM responses",
    ),
    Program(
        *("hermes", "hermes-agent", _hermes, ("state.db", "profiles/*/state.db")),
        counted="SELECT count(DISTINCT session_id) AS number,"
        " min(timestamp) AS first, max(timestamp) AS last FROM messages",
    ),
    Program(
        *("open-webui", "Open WebUI", _open_webui, ("webui.db",)),
        counted="SELECT count(*) AS number,"
        " min(created_at) AS first, max(updated_at) AS last FROM chat",
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What is there of a program.

    Attributes:
        program: the program.
        folder: where it was looked for.
        files: what may be imported.
        unread: files that cannot be read here.
        size: bytes of both, with what SQLite keeps beside a database.
        conversations: how many there are, by the ids that stand at the beginnings of logs.
        first: the earliest time seen.
        last: the latest.
    """

    program: Program
    folder: Path
    files: tuple[Path, ...]
    unread: tuple[Path, ...]
    size: int
    conversations: int
    first: datetime | None
    last: datetime | None


def files_of(program: Program, machine: Machine) -> tuple[list[Path], list[Path]]:
    """Return the files of a program: those that can be read, and the others."""
    folder = program.folder(machine)
    return list(_matching(folder, program.files)), list(_matching(folder, program.unread))


def find(machine: Machine, programs: tuple[Program, ...] = PROGRAMS) -> list[Found]:
    """Return what is on a machine, program by program; of one that is not there, nothing."""
    found = []
    for program in programs:
        files, unread = files_of(program, machine)
        if files or unread:
            found.append(_look(program, program.folder(machine), files, unread))
    return found


def _matching(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    seen = set()
    for pattern in patterns:
        try:
            for path in sorted(folder.glob(pattern)):
                if path not in seen and path.is_file():
                    seen.add(path)
                    yield path
        except OSError:  # a directory that may not be looked into
            continue


def _look(program: Program, folder: Path, files: list[Path], unread: list[Path]) -> Found:
    size, names, number = 0, set[str | None](), 0
    times: list[datetime] = []
    for path in files:
        try:
            size += sum(each.stat().st_size for each in (path, _log_of(path)) if each.exists())
            if program.counted:
                counted, seen = _counted(path, program.counted)
                number += counted
            else:
                name, seen = _skimmed(path)
                names |= {name} - {None}
            times += seen
        except (OSError, ImportFailed):
            continue
    size += sum(each.stat().st_size for each in unread)
    return Found(
        *(program, folder, tuple(files), tuple(unread), size, number + len(names)),
        min(times, default=None),
        max(times, default=None),
    )


def _log_of(path: Path) -> Path:
    """Return the write-ahead log of a database."""
    return path.with_name(path.name + "-wal")


def _counted(path: Path, statement: str) -> tuple[int, list[datetime]]:
    with path.open("rb") as file:
        if file.read(len(SQLITE_HEAD)) != SQLITE_HEAD:
            return 0, []
    (row,) = SQLiteFile(str(path), str(path)).rows(statement)
    seen = [as_time(row["first"]), as_time(row["last"])]
    return int(row["number"]), [each for each in seen if each is not None]


def _skimmed(path: Path) -> tuple[str | None, list[datetime]]:
    """Return the id of a log's conversation and times of it, from both its ends."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        head = file.read(_LOOK_AT)
        file.seek(max(len(head), status.st_size - _LOOK_AT))
        tail = file.read(_LOOK_AT)
    name: str | None = None
    times: list[datetime] = []
    for value in _values(head, tail):
        payload = value.get("payload")
        about = payload if isinstance(payload, Mapping) else value
        name = name or as_text(value.get("sessionId")) or as_text(about.get("id"))
        times += [each for each in (read_time(value)[0], as_time(value.get("lastUpdated"))) if each]
    if not times:  # lines, or a document, longer than what was looked at
        times.append(datetime_of(status.st_mtime_ns // 1_000))
    return name, times


def _values(head: bytes, tail: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the objects on whole lines, and the document where it is one."""
    document = _parsed(head + tail) if len(head) < _LOOK_AT else None
    if document is not None:
        yield document
        messages = document.get("messages")
        for each in messages if isinstance(messages, list) else ():
            if isinstance(each, Mapping):
                yield each
        return
    for line in (*head.splitlines(), *tail.splitlines()):
        value = _parsed(line)
        if value is not None:
            yield value


def _parsed(text: bytes) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None
