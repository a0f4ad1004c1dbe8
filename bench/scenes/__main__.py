# SPDX-License-Identifier: MIT
"""Measure recall and leakage on the labelled situations: ``python -m bench.scenes``.

Four ways are compared, eight lines each: the topic alone (``recall`` of the message), the
keys and all that is narrower (``recall_by_scene``), the scene block alone, and both (the
scene block, filled up with the topic). Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Final

import apsw

from bench.scenes.labelled import Situation, fill, rules, situations
from mnemogram.memory import Relation, SceneMemory
from mnemogram.memory.keys import IDENTITY_LEVELS

__all__ = ["leaks", "measure"]

SHOWN: Final = 8
WAYS: Final = ("topic", "subtree", "scene", "both")


def leaks(relation: Relation, scenes: Iterable[str]) -> bool:
    """Return whether a relation is pinned to what none of the scenes stands for.

    Right are pins to a scene, to what is above it, and to what is below it unless that
    names somebody the scene does not name.
    """
    if relation.scene is None:
        return False
    for scene in scenes:
        if scene == relation.scene or scene.startswith(f"{relation.scene}/"):
            return False
        if relation.scene.startswith(f"{scene}/"):
            below = relation.scene[len(scene) + 1 :].split("/")
            return any(level.startswith(IDENTITY_LEVELS) for level in below)
    return True


def _share(shown: Iterable[str], wanted: frozenset[str]) -> float:
    return len(wanted.intersection(shown)) / len(wanted)


def _one(memory: SceneMemory, names: dict[int, str], situation: Situation) -> dict[str, Any]:
    topic = list(memory.recall(situation.message, limit=SHOWN))
    present = memory.recall(situation.message, limit=SHOWN, scenes=situation.scenes)
    context = memory.build_context(situation.message, scenes=situation.scenes)
    block = list(context.relations)
    pinned = {each.id for each in block}
    both = (block + [each for each in present if each.id not in pinned])[:SHOWN]
    below = list(memory.recall_by_scene(situation.scenes, limit=SHOWN))
    ways = {"topic": topic, "subtree": below, "scene": block, "both": both}
    found: dict[str, Any] = {
        "language": situation.language,
        "chars": len(context.format()),
        "lines": len(block),
    }
    for way, relations in ways.items():
        shown = [names[each.id] for each in relations if each.id in names]
        if situation.must:
            found[way] = _share(shown, situation.must)
        found[f"{way}_forbidden"] = len(situation.must_not.intersection(shown))
        found[f"{way}_leaked"] = sum(leaks(each, situation.scenes) for each in relations)
    return found


def measure(memory: SceneMemory, names: dict[int, str], wanted: Sequence[Situation]) -> Any:
    """Return the figures over all situations and by language."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    misses = []
    for each in wanted:
        found = _one(memory, names, each)
        groups["all"].append(found)
        groups[each.language].append(found)
        if found.get("both", 1.0) < 1.0 or found["both_leaked"] or found["both_forbidden"]:
            misses.append({"scenes": each.scenes, "message": each.message, **found})
    return {
        "groups": {
            name: {
                "situations": len(rows),
                **{
                    f"recall@{SHOWN} {way}": round(mean(row[way] for row in rows if way in row), 4)
                    for way in WAYS
                },
                **{
                    f"{what} {way}": sum(row[f"{way}_{what}"] for row in rows)
                    for what in ("forbidden", "leaked")
                    for way in WAYS
                },
                "characters, mean": round(mean(row["chars"] for row in rows), 1),
                "characters, most": max(row["chars"] for row in rows),
            }
            for name, rows in groups.items()
        },
        "misses": misses,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scenes", description=__doc__)
    parser.add_argument("--embedder", help="module:function of an embedder, for the topic")
    options = parser.parse_args()
    embedder = None
    if options.embedder:
        module, _, name = options.embedder.partition(":")
        __import__(module)
        embedder = getattr(sys.modules[module], name)
    with (
        tempfile.TemporaryDirectory() as directory,
        SceneMemory.open(
            Path(directory) / "memory.db",
            embedder=embedder,
            embedder_name=options.embedder,
            background=False,
        ) as memory,
    ):
        names = fill(memory)
        memory.maintain(seconds=600)
        figures = measure(memory, names, situations())
    report = {
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "machine": platform.machine(),
        "embedder": options.embedder,
        "rules": len(rules()),
        **figures,
    }
    print(json.dumps(report, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
