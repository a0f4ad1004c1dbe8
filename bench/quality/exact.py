# SPDX-License-Identifier: MIT
"""Exact terms: does a search find every text that holds a term, and no other?

Terms are drawn from the texts themselves. Chinese, Japanese, Korean: any substring of one
to six characters of a run of such characters. Thai: of one to six clusters of a run.
Languages with spaces: one to four words that follow each other, as a quoted phrase, since
a search for words promises whole words. The right answer is computed from the texts by
``folding``, which shares no code with the index: folded text contains folded term, between
borders of words in languages that have them.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.data import Dialogue, LabelledSet
from bench.quality.folding import CJK_RUN, THAI_RUN, clusters, fold, words
from bench.quality.metrics import percentile, table

__all__ = ["check"]

_MAX_UNITS: Final = 6
_MAX_WORDS: Final = 4
_TIMEOUT: Final = 30.0
_BORDER: Final = "\x1f"
_EXAMPLES: Final = 12
_UNSPACED: Final = ("zh", "ja", "ko", "th")


def _draw(texts: Sequence[str], language: str, rng: random.Random) -> str | None:
    """Draw a term from a random text, or None where that text has none."""
    text = rng.choice(texts)
    if language in _UNSPACED:
        runs = (THAI_RUN if language == "th" else CJK_RUN).findall(text)
        if not runs:
            return None
        units = clusters(rng.choice(runs))
        length = min(rng.randint(1, _MAX_UNITS), len(units))
        start = rng.randint(0, len(units) - length)
        return "".join(units[start : start + length])
    spans = words(text)
    if not spans:
        return None
    count = min(rng.randint(1, _MAX_WORDS), len(spans))
    first = rng.randint(0, len(spans) - count)
    term = text[spans[first][0] : spans[first + count - 1][1]]
    return None if '"' in term or "\n" in term or CJK_RUN.search(term) else f'"{term}"'


def _comparable(text: str, language: str) -> str:
    """Return a text in the form in which containment means that a term is there."""
    if language in _UNSPACED:
        return fold(text)
    text = fold(text)
    cut = (text[start:end] for start, end in words(text))
    return _BORDER + _BORDER.join(cut) + _BORDER


def _check(name: str, language: str, dialogues: Sequence[Dialogue], samples: int, seed: int) -> Any:
    import mnemogram

    rng = random.Random(f"{seed}/{name}")
    texts = [each.content for dialogue in dialogues for each in dialogue.messages]
    held: dict[str, list[str]] = {
        dialogue.id: [_comparable(each.content, language) for each in dialogue.messages]
        for dialogue in dialogues
    }
    routes: Counter[str] = Counter()
    wanted_all = found_all = right_all = incomplete = 0
    seconds: list[float] = []
    wrong: list[dict[str, Any]] = []
    wrong_terms = 0
    with tempfile.TemporaryDirectory(prefix="mnemogram-bench-") as folder:
        history = mnemogram.History.open(Path(folder) / "state.db", synchronous="normal")
        history.append_many(
            (each.session(), [message.message() for message in each.messages]) for each in dialogues
        )
        drawn = 0
        while drawn < samples:
            query = _draw(texts, language, rng)
            if query is None:
                continue
            drawn += 1
            term = _comparable(query.strip('"'), language)
            wanted = {key for key, each in held.items() if any(term in text for text in each)}
            found: set[str] = set()
            cursor: str | None = None
            started = time.perf_counter()
            while True:
                answer = history.search(query, limit=10, timeout=_TIMEOUT, cursor=cursor)
                if cursor is None:
                    seconds.append(time.perf_counter() - started)
                    routes[answer.search_path] += 1
                incomplete += not answer.complete
                found.update(hit.session_id for hit in answer.results if not hit.partial)
                # What holds parts of a term stands below, and is marked.
                parts = any(hit.partial for hit in answer.results)
                cursor = None if parts else answer.cursor
                if cursor is None:
                    break
            wanted_all += len(wanted)
            found_all += len(found)
            right_all += len(wanted & found)
            if wanted != found:
                wrong_terms += 1
                if len(wrong) < _EXAMPLES:
                    example = next(iter(wanted ^ found))
                    wrong.append(
                        {
                            "query": query,
                            "wanted": len(wanted),
                            "found": len(found),
                            "missed": len(wanted - found),
                            "too_many": len(found - wanted),
                            "route": answer.search_path,
                            "example": example,
                        }
                    )
        history.close()
    return {
        "name": name,
        "language": language,
        "samples": samples,
        "recall": right_all / wanted_all if wanted_all else 1.0,
        "precision": right_all / found_all if found_all else 1.0,
        "wrong_terms": wrong_terms,
        "incomplete": incomplete,
        "routes": dict(routes),
        "first_page_p50_ms": percentile(seconds, 0.5) * 1e3,
        "first_page_p95_ms": percentile(seconds, 0.95) * 1e3,
        "wrong": wrong,
    }


def check(sets: Iterable[LabelledSet], *, samples: int, seed: int) -> list[dict[str, Any]]:
    """Check each set's texts and print a table of recall and precision.

    Args:
        sets: whose texts to store and draw from.
        samples: terms to draw from each set.
        seed: of the draws.
    """
    reports = []
    for each in sets:
        reports.append(_check(each.name, each.language, each.dialogues, samples, seed))
        last = reports[-1]
        found = f"recall {last['recall']:.4f}, precision {last['precision']:.4f}"
        print(f"exact terms: {each.name}: {found}", file=sys.stderr, flush=True)
    print("\nExact terms against a folded LIKE")
    print(
        table(
            ("set", "terms", "recall", "precision", "wrong", "incomplete", "p50 ms", "p95 ms"),
            [
                [
                    each["name"],
                    each["samples"],
                    f"{each['recall']:.4f}",
                    f"{each['precision']:.4f}",
                    each["wrong_terms"],
                    each["incomplete"],
                    each["first_page_p50_ms"],
                    each["first_page_p95_ms"],
                ]
                for each in reports
            ],
        )
    )
    for report in reports:
        for example in report["wrong"][:3]:
            print(f"  {report['name']}: {example}")
    return reports
