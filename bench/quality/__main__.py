# SPDX-License-Identifier: MIT
"""Compare searches over labelled sets.

Usage: python -m bench.quality --data DIR [--only cmrc,xquad.zh] [--engines ...] [--json OUT]

Every engine runs on every set in a process of its own, one after the other. See
bench/README.md for the forms that DIR may hold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.data import Dialogue, LabelledSet, conversations, find_labelled, read_labelled
from bench.quality import exact, sizes
from bench.quality.engines import ENGINES
from bench.quality.metrics import Outcome, scores, table

OWN_SET: Final = Path(__file__).with_name("agent_queries.json")
CHECKS: Final = ("questions", "exact", "sizes")
_CHATS: Final = {"kdconv": "zh", "real-persona-chat": "ja", "ko-chatbot": "ko", "tau-bench": "en"}
_MOST_CHATS: Final = 300  # every page of every term is read, ten sessions a page
_HEAD: Final = (
    "engine", "n", "R@1", "R@10", "MRR", "msg R@1", "zero", "p50 ms", "p95 ms", "build s", "MB",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """Return what a reader needs to know of the machine."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass  # not Linux: the platform's own word for it
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.platform()}


def spoken(dialogue: Dialogue) -> Dialogue:
    """Return a conversation without tool results and calls: what people would search."""
    said = (each for each in dialogue.messages if each.role != "tool" and each.content)
    messages = tuple(replace(each, tool_name=None, tool_calls=None) for each in said)
    return replace(dialogue, messages=messages)


def chats(folder: Path | None, only: tuple[str, ...]) -> list[LabelledSet]:
    """Return the beginnings of known conversations, without questions, for exact terms."""
    found = []
    for name, language in _CHATS.items():
        if folder is not None and (not only or name.startswith(only)):
            dialogues = tuple(map(spoken, conversations(folder, name)[:_MOST_CHATS]))
            if dialogues:
                found.append(LabelledSet(name, language, dialogues, ()))
    return found


def run_engine(name: str, path: Path) -> dict[str, Any]:
    """Run one engine in its own process; an engine that cannot run says why."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.quality.worker", name, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"engine": name, "error": done.stderr.strip().splitlines()[-1:]}
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def compare(labelled: LabelledSet, engines: Sequence[str]) -> dict[str, Any]:
    """Run engines on one set and print their table."""
    messages = sum(len(each.messages) for each in labelled.dialogues)
    title = (
        f"{labelled.name} ({labelled.language}): {len(labelled.questions)} questions,"
        f" {len(labelled.dialogues)} sessions, {messages} messages"
    )
    print(f"\n{title}", flush=True)
    rows: list[list[object]] = []
    reports = []
    with tempfile.TemporaryDirectory(prefix="mnemogram-bench-") as folder:
        path = Path(folder) / "set.json"
        path.write_text(json.dumps(labelled.to_json(), ensure_ascii=False), encoding="utf-8")
        for name in engines:
            report = run_engine(name, path)
            if "error" in report:
                print(f"  {name}: {report['error']}", file=sys.stderr)
                reports.append(report)
                continue
            outcomes = [Outcome(*each) for each in report.pop("outcomes")]
            whole = scores(outcomes)
            report["scores"] = whole.to_dict()
            report["routes"] = dict(Counter(each.route for each in outcomes))
            kinds = sorted({each.kind for each in labelled.questions})
            if len(kinds) > 1:
                report["kinds"] = {
                    kind: scores(
                        outcome
                        for question, outcome in zip(labelled.questions, outcomes, strict=True)
                        if question.kind == kind
                    ).to_dict()
                    for kind in kinds
                }
            report["misses"] = [
                {"question": question.text, "rank": outcome.rank, "route": outcome.route}
                for question, outcome in zip(labelled.questions, outcomes, strict=True)
                if outcome.rank != 1
            ]
            reports.append(report)
            rows.append(
                [
                    name,
                    whole.questions,
                    whole.r1,
                    whole.r10,
                    whole.mrr,
                    whole.message_r1,
                    whole.zero,
                    whole.p50_ms,
                    whole.p95_ms,
                    f"{report['build_seconds']:.1f}",
                    f"{report['memory_mb']:.0f}",
                ]
            )
    print(table(_HEAD, rows))
    for report in reports:
        if report.get("engine") == "mnemogram" and "kinds" in report:
            print("\nmnemogram by kind of query")
            print(
                table(
                    ("kind", "n", "R@1", "R@10", "zero"),
                    [
                        [kind, each["questions"], each["r1"], each["r10"], each["zero"]]
                        for kind, each in report["kinds"].items()
                    ],
                )
            )
    return {
        "name": labelled.name,
        "language": labelled.language,
        "questions": len(labelled.questions),
        "sessions": len(labelled.dialogues),
        "messages": messages,
        "engines": reports,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with SQuAD-style and labelled files")
    parser.add_argument("--only", default="", help="beginnings of names of sets; agent is our own")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which to compare")
    parser.add_argument("--checks", default=",".join(CHECKS), help="which parts to run")
    parser.add_argument("--samples", type=int, default=1000, help="exact terms of each language")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write everything here")
    options = parser.parse_args(arguments)
    only = tuple(filter(None, options.only.split(",")))
    engines = options.engines.split(",")
    checks = options.checks.split(",")
    unknown = sorted({*engines} - {*ENGINES}) + sorted({*checks} - {*CHECKS})
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; engines are {', '.join(ENGINES)}")
    sets = list(find_labelled(options.data, only)) if options.data else []
    if not only or "agent".startswith(only):
        sets.append(read_labelled(OWN_SET))
    if only and not sets and not chats(options.data, only):
        parser.error(f"no set below {options.data} has a name that begins with {only}")
    report: dict[str, Any] = {"machine": machine()}
    if "questions" in checks:
        report["sets"] = [compare(each, engines) for each in sets]
    if "exact" in checks:
        chosen = [each for each in sets if each.language != "mixed"]
        chosen += chats(options.data, only)
        report["exact"] = exact.check(chosen, samples=options.samples, seed=options.seed)
    if "sizes" in checks and options.data:
        report["sizes"] = sizes.check(options.data)
    if options.json:
        options.json.write_text(json.dumps(report, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
