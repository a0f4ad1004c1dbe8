# SPDX-License-Identifier: MIT
"""Precision and recall of the ready redactor on two lists: one tuned on, one written later.

Run from the project's root: ``python -m bench.redaction [--wrong]``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from bench.redaction import held_back, labelled
from bench.redaction.labelled import Secret
from mnemogram.history.redact import redact_secrets


def judge(list_: Iterable[Secret], harmless: Sequence[str], show: bool) -> tuple[float, float]:
    """Print how many secrets were taken out, and how many harmless texts were left.

    Returns:
        Precision and recall.
    """
    missed: Counter[str] = Counter()
    all_of_them: Counter[str] = Counter()
    wrong: list[str] = []
    start = time.perf_counter()
    for each in list_:
        done = redact_secrets(each.text)
        all_of_them[each.kind] += 1
        if each.secret in done or each.keeps not in done:
            missed[each.kind] += 1
            wrong.append(f"missed ({each.kind}): {each.text!r}")
    alarms = [text for text in harmless if redact_secrets(text) != text]
    wrong += [f"false alarm: {text!r} -> {redact_secrets(text)!r}" for text in alarms]
    elapsed = time.perf_counter() - start
    total = sum(all_of_them.values())
    found = total - sum(missed.values())
    precision, recall = found / (found + len(alarms)), found / total
    print(f"secrets       {total} of {len(all_of_them)} kinds, {found} taken out")
    print(f"harmless      {len(harmless)}, {len(alarms)} changed")
    print(f"precision     {precision:.4f}")
    print(f"recall        {recall:.4f}")
    print(f"time          {elapsed * 1e6 / (total + len(harmless)):,.0f} us a text")
    if show:
        print(*wrong, sep="\n")
    return precision, recall


def main() -> None:
    """Judge the redactor on both lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="print what is judged wrongly")
    wanted = parser.parse_args()
    print("the list that the rules were tuned on")
    judge(labelled.secrets(), labelled.HARMLESS, wanted.wrong)
    print("the list that was written after the rules")
    judge(held_back.secrets(), held_back.HARMLESS, wanted.wrong)


if __name__ == "__main__":
    main()
