# SPDX-License-Identifier: MIT
"""Lets memory run out at every allocation of the compiled modules in turn; see the test."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

from mnemogram._native import query as q
from mnemogram._native import scene_key, snippet, text_core

TEXT = "the amber quays of 東京 and ครั้งหนึ่ง 🎉 " * 40
OPTIONS = ("remove_diacritics", "2", "tokenchars", "-é€")
QUERY = q.parse('amber (quays OR "東京 都") NOT pond')
MATCHER = q.compile(QUERY)
CONFIG = text_core.Config(*OPTIONS)


def scored() -> list[float]:
    scorer = q.Scorer(
        MATCHER,
        [1.0] * len(MATCHER.phrases),
        [1.0, 0.5],
        20.0,
        k=1.2,
        b=0.75,
        grams_of="amber quays",
        grams_by=q.tokenizer_for(),
        grams_weight=0.5,
    )
    for _ in range(20):
        scorer.add(TEXT, None)
    return scorer.scores()


CALLS: dict[str, Callable[[], Any]] = {
    "config": lambda: text_core.Config(*OPTIONS).arguments,
    "tokens": lambda: text_core.tokens(CONFIG, TEXT),
    "trigrams": lambda: text_core.trigrams(CONFIG, TEXT),
    "tokenizer": lambda: q.Tokenizer({"variants": "1"}).options,
    "parse": lambda: q.parse('amber (quays OR "東京 都") NOT pond*').root,
    "phrase": lambda: q.phrase("amber 東京"),
    "print": lambda: (q.to_fts5(QUERY), q.to_trigram(QUERY)),
    "compile": lambda: len(q.compile(QUERY).phrases),
    "match": lambda: MATCHER.matches(TEXT, None, TEXT.encode()),
    "occurrences": lambda: MATCHER.occurrences(TEXT),
    "count": lambda: MATCHER.count(TEXT),
    "score": scored,
    "cut": lambda: (snippet.cut(TEXT, 50), snippet.cut_around(TEXT, 50, 700, 705)),
    "excerpt": lambda: snippet.excerpt(TEXT, MATCHER),
    "spans": lambda: snippet.merge_spans(TEXT, [(3, 9), (9, 12), (600, 700)]),
    "key": lambda: scene_key.normalize_scene_key("Group:Ümläüt/" + "東京" * 60 + "/e\u0301" * 300),
}


def with_malloc(call: Callable[[], Any], place: int) -> tuple[bool, Any]:
    """Fail one allocation of the modules' own; return whether it came to it, and the result."""
    fail_after = ctypes.CDLL(None).fail_after
    fail_after(place)
    try:
        result = call()
    except MemoryError:
        result = MemoryError
    return bool(fail_after(-1)), result


def with_python(call: Callable[[], Any], place: int) -> tuple[bool, Any]:
    """Fail one allocation of Python's for the modules."""
    import _testcapi

    _testcapi.set_nomemory(place, place + 1)
    try:
        result = call()
    except MemoryError:
        result = MemoryError
    finally:
        _testcapi.remove_mem_hooks()
    return result is MemoryError, result


def main() -> None:
    """Print how many allocations failed, by call."""
    kind, most = sys.argv[1], int(sys.argv[2])
    if kind == "python" and any(name.startswith("_cython_3_3") for name in sys.modules):
        print("{}")  # that Cython frees twice, see pyproject.toml
        return
    fail = {"malloc": with_malloc, "python": with_python}[kind]
    failures = {}
    for name, call in CALLS.items():
        wanted = call()
        failures[name] = 0
        passed = 0
        for place in range(most):
            reached, result = fail(call, place)
            failures[name] += reached
            if result is not MemoryError and result != wanted:
                raise AssertionError(f"{name}, allocation {place}: {result!r}")
            # Some that fail are made up for: only many in a row say that there are no more.
            passed = 0 if reached else passed + 1
            if passed > (0 if kind == "malloc" else 50):
                break
        else:
            if kind == "malloc":
                raise AssertionError(f"{name}: no end of allocations")
        if call() != wanted:
            raise AssertionError(f"{name}: another answer afterwards")
    print(json.dumps(failures))


if __name__ == "__main__":
    main()
