# SPDX-License-Identifier: MIT
"""The order of the rooms: imports point one way, and the map names every room."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import mnemogram

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(mnemogram.__file__).parent

#: The floors from below: a module may import from its own floor and from those under it.
FLOORS = (
    ("errors", "_native"),
    ("text", "extension", "moments", "values", "languages", "bm25"),
    ("sqlite",),
    ("history.schema", "history.models", "history.redact", "history.redaction"),
    ("history.index",),
    ("history.file",),
    ("history",),
    (
        *("history.search", "history.browsing", "history.walking", "history.elsewhere"),
        *("history.counting", "history.upkeep", "history.legacy"),
    ),
    ("history.history",),
    (
        *("memory.models", "memory.schema", "memory.names", "memory.arguments", "memory.keys"),
        *("memory.stopwords", "memory.vectors"),
    ),
    ("memory.index", "memory.pins", "memory.scenes"),
    ("memory.file",),
    ("memory",),
    ("host", "options"),
    ("service", "learning", "tools"),
    ("importers",),
    ("integrations", "demo", "view"),
    ("cli", "__main__"),
)
#: Rooms of one floor, or below another's, that are not to know each other.
STRANGERS = (("history.search", "history.upkeep"), ("history", "memory"), ("tools", "importers"))


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:  # the package itself gathers what is public
            found[name] = path
    return found


MODULES = modules()


def imports(path: Path) -> set[str]:
    """Modules of ours that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{each.name}" for each in node.names]
        for name in names:
            inner = name.removeprefix("mnemogram.")
            while inner and name.startswith("mnemogram.") and inner not in MODULES:
                inner = inner.rpartition(".")[0]
            if inner in MODULES:
                found.add(inner)
    return found


IMPORTS = {name: imports(path) - {name} for name, path in MODULES.items()}


def within(name: str, room: str) -> bool:
    return name == room or name.startswith(room + ".")


def floor(name: str) -> int:
    """The floor of the narrowest room that a module lies in."""
    fitting = [
        (len(room), level)
        for level, rooms in enumerate(FLOORS)
        for room in rooms
        if within(name, room)
    ]
    assert fitting, f"{name} stands on no floor"
    return max(fitting)[1]


def test_every_import_points_down_or_along_its_floor() -> None:
    wrong = [
        f"{name} -> {other}"
        for name, others in IMPORTS.items()
        for other in others
        if floor(other) > floor(name)
    ]
    assert not wrong


def test_rooms_that_are_strangers_do_not_import_each_other() -> None:
    wrong = [
        f"{name} -> {other}"
        for name, others in IMPORTS.items()
        for other in others
        for one, two in STRANGERS
        if (within(name, one) and within(other, two)) or (within(name, two) and within(other, one))
    ]
    assert not wrong


def test_no_circle_of_imports() -> None:
    TopologicalSorter(IMPORTS).prepare()


def test_the_map_names_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = page.partition("## Rooms")[2].partition("\n## ")[0]
    words = set(re.findall(r"\w+", rooms))
    python = {name.rpartition(".")[2] for name in MODULES} - {"_native"}
    cython = {path.stem for path in (ROOT / "cython").glob("*.pyx")}
    native = {path.stem for path in (ROOT / "native").rglob("*.c") if path.parent.name != "tests"}
    assert not (python | cython | native) - words
