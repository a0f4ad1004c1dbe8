# SPDX-License-Identifier: MIT
"""Files larger than memory: what goes in, what ``export`` gives, the time and the memory."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

__all__ = ["SHAPES", "Fingerprint", "Run", "measure"]

#: Messages of a conversation; every thousandth conversation is longer than a batch.
_TURNS: Final = 40
_LONG: Final = 6_000
_WORDS: Final = (
    *("ferry", "harbour", "island", "timetable", "letter", "garden", "winter", "kitchen"),
    *("渡轮", "港口", "岛屿", "时间表", "花园", "冬天", "厨房", "窗户"),
    *("フェリー", "港", "島", "庭", "冬", "台所", "窓", "手紙"),
    *("паром", "гавань", "остров", "письмо", "сад", "зима", "кухня", "окно"),
    *("מעבורת", "נמל", "אי", "מכתב", "גן", "חורף", "페리", "항구", "섬", "편지"),
)


class Fingerprint:
    """What was said, whatever its order: a count, and a sum over all of it."""

    def __init__(self) -> None:
        self.messages = 0
        self.sum = 0

    def add(self, session: str, role: str, text: str) -> None:
        """Take one message."""
        said = "\0".join((session, role, text)).encode("utf-8", "surrogatepass")
        self.sum += int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big")
        self.messages += 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fingerprint):
            return NotImplemented
        return (self.messages, self.sum) == (other.messages, other.sum)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Run:
    """One file's way in and out.

    Attributes:
        shape: which file it was.
        size: bytes of it.
        conversations: how many it held.
        messages: how many it held.
        exported: how many the export gave.
        same: whether each of them is what went in.
        seconds: the import took.
        peak: bytes of memory that the import held at most.
    """

    shape: str
    size: int
    conversations: int
    messages: int
    exported: int
    same: bool
    seconds: float
    peak: int


def _talks(rng: random.Random) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield conversations without end; their texts are made of sentences of six scripts."""
    sentences = [" ".join(rng.choices(_WORDS, k=12)) + "." for _ in range(4_000)]
    for number in itertools.count():
        turns = _LONG if number % 1_000 == 500 else _TURNS
        said = []
        for turn in range(turns):
            text = f"{number}/{turn}: " + " ".join(rng.choices(sentences, k=rng.randint(2, 20)))
            said.append(("assistant" if turn % 2 else "user", text))
        yield f"c-{number}", said


def _lines(file: IO[str], size: int, rng: random.Random) -> tuple[int, Fingerprint]:
    """Lines that name their session."""
    known, count = Fingerprint(), 0
    for session, said in _talks(rng):
        if file.tell() >= size:
            break
        count += 1
        for turn, (role, text) in enumerate(said):
            known.add(session, role, text)
            line = {"session": session, "role": role, "content": text}
            line["timestamp"] = 1_700_000_000 + 60 * count + turn / 100
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return count, known


def _document(file: IO[str], size: int, rng: random.Random) -> tuple[int, Fingerprint]:
    """One document: a list of conversations as trees, as ChatGPT exports them."""
    known, count = Fingerprint(), 0
    file.write("[")
    for session, said in _talks(rng):
        if file.tell() >= size:
            break
        nodes: dict[str, object] = {"root": {"id": "root", "parent": None, "message": None}}
        parent = "root"
        for turn, (role, text) in enumerate(said):
            known.add(session, role, text)
            key = f"{session}-{turn}"
            nodes[key] = {
                "id": key,
                "parent": parent,
                "message": {
                    "id": key,
                    "author": {"role": role},
                    "create_time": 1_700_000_000 + 60 * count + turn / 100,
                    "content": {"content_type": "text", "parts": [text]},
                    "metadata": {},
                },
            }
            parent = key
        talk = {"id": session, "title": session, "mapping": nodes, "current_node": parent}
        file.write((",\n" if count else "") + json.dumps(talk, ensure_ascii=False, indent=1))
        count += 1
    file.write("]")
    return count, known


SHAPES: Final[dict[str, Callable[[IO[str], int, random.Random], tuple[int, Fingerprint]]]] = {
    "JSON lines": _lines,
    "one JSON document": _document,
}


def measure(shape: str, size: int, folder: Path | None = None, seed: int = 1) -> Run:
    """Write a file of a size, import it with the command, and count what comes out.

    Args:
        shape: one of ``SHAPES``.
        size: bytes of the file, about.
        folder: where the file and the history are written, and taken away again.
        seed: of the texts.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path, root = Path(place) / "f.json", Path(place) / "root"
        with path.open("w", encoding="utf-8") as file:
            count, known = SHAPES[shape](file, size, random.Random(seed))
        command = [sys.executable, "-m", "mnemogram", "--root", str(root)]
        begin = time.perf_counter()
        child = subprocess.Popen([*command, "import", str(path), "--json"])
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        if child.returncode:
            raise RuntimeError(f"the import of {shape} ended with {child.returncode}")
        found = Fingerprint()
        with subprocess.Popen([*command, "export"], stdout=subprocess.PIPE) as export:
            assert export.stdout is not None
            for line in export.stdout:
                record = json.loads(line)
                if record["type"] == "message":
                    found.add(record["session"], record["role"], record["content"])
        scale = 1 if sys.platform == "darwin" else 1024
        return Run(
            shape,
            path.stat().st_size,
            count,
            known.messages,
            found.messages,
            found == known and not export.returncode,
            seconds,
            usage.ru_maxrss * scale,
        )
