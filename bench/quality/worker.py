# SPDX-License-Identifier: MIT
"""One engine on one set, in a process of its own: JSON on stdout.

Usage: python -m bench.quality.worker ENGINE SET.json
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from bench.data import LabelledSet, read_labelled
from bench.quality.engines import build
from bench.quality.metrics import DEPTH

# Messages asked for so that ten different sessions are among them.
_MESSAGES_PER_SESSION = 10


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, labelled: LabelledSet) -> dict[str, Any]:
    """Index a set, ask every question once, and return what came of it."""
    started = time.perf_counter()
    engine = build(name, labelled)
    built = time.perf_counter() - started
    several = any(len(each.messages) > 1 for each in labelled.dialogues)
    limit = DEPTH * (_MESSAGES_PER_SESSION if several else 1)
    # The first query of a process pays for what is loaded lazily.
    engine.search(labelled.questions[0].text, limit)
    outcomes = []
    for question in labelled.questions:
        started = time.perf_counter()
        found, route = engine.search(question.text, limit)
        seconds = time.perf_counter() - started
        ranked = list(dict.fromkeys(each.session for each in found))[:DEPTH]
        rank = next((i for i, each in enumerate(ranked, 1) if each in question.sessions), 0)
        first = bool(found) and found[0].message in question.messages
        outcomes.append([rank, first, len(ranked), route, seconds])
    return {
        "engine": name,
        "versions": engine.versions(),
        "python": sys.version.split()[0],
        "build_seconds": round(built, 3),
        "memory_mb": round(_peak_mb(), 1),
        "outcomes": outcomes,
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], read_labelled(Path(sys.argv[2])))))
