# SPDX-License-Identifier: MIT
"""Precision and recall of the ready redactor on the labelled list.

Run from the project's root: ``python -m bench.redaction [--wrong]``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from bench.redaction.labelled import HARMLESS, secrets
from mnemogram.history.redact import redact_secrets


def main() -> None:
    """Print how many secrets were taken out, and how many harmless texts were left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="print what is judged wrongly")
    wanted = parser.parse_args()
    missed: Counter[str] = Counter()
    all_of_them: Counter[str] = Counter()
    wrong: list[str] = []
    start = time.perf_counter()
    for each in secrets():
        done = redact_secrets(each.text)
        all_of_them[each.kind] += 1
        if each.secret in done or each.keeps not in done:
            missed[each.kind] += 1
            wrong.append(f"missed ({each.kind}): {each.text!r}")
    alarms = [text for text in HARMLESS if redact_secrets(text) != text]
    wrong += [f"false alarm: {text!r} -> {redact_secrets(text)!r}" for text in alarms]
    elapsed = time.perf_counter() - start
    total = sum(all_of_them.values())
    found = total - sum(missed.values())
    print(f"secrets       {total} of {len(all_of_them)} kinds, {found} taken out")
    print(f"harmless      {len(HARMLESS)}, {len(alarms)} changed")
    print(f"precision     {found / (found + len(alarms)):.4f}")
    print(f"recall        {found / total:.4f}")
    print(f"time          {elapsed * 1e6 / (total + len(HARMLESS)):,.0f} us a text")
    if wanted.wrong:
        print(*wrong, sep="\n")


if __name__ == "__main__":
    main()
