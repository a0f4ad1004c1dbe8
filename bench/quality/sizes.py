# SPDX-License-Identifier: MIT
"""Index size of the default policy beside the usual three tables over the same rows.

The usual layout: FTS5 over unicode61, trigram (detail full) and plain bigrams, external
content, the three columns of the projection, every row. A second form of it leaves tool
rows and tool calls out of the trigram table, as some stores do. Rows arrive in the same
order and transactions; sizes are pages in the file, before and after ``optimize``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import apsw

from bench.data import Dialogue, conversations
from bench.quality.metrics import table

__all__ = ["check"]

_COLLECTIONS: Final = ("kdconv", "tau-bench", "real-persona-chat", "ko-chatbot")
_SESSIONS_PER_BATCH: Final = 50
_TOOL_CHARS: Final = 8_192
_PLAIN_BIGRAMS: Final = "cjk_unicode61 compat 1 remove_diacritics 2"


def _index_bytes(connection: apsw.Connection, name: str) -> int:
    size = connection.execute(
        "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE aggregate = TRUE"
        " AND name IN (?1 || '_data', ?1 || '_idx', ?1 || '_docsize', ?1 || '_config')",
        (name,),
    ).get
    return int(size)


def _batches(dialogues: Iterable[Dialogue]) -> Iterable[list[Dialogue]]:
    iterator = iter(dialogues)
    while batch := list(islice(iterator, _SESSIONS_PER_BATCH)):
        yield batch


def _ours(folder: Path, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    import mnemogram

    path = folder / "ours.db"
    with mnemogram.History.open(path, synchronous="normal") as history:
        for batch in _batches(dialogues):
            history.append_many(
                (each.session(), [message.message() for message in each.messages]) for each in batch
            )
        while history.maintain(batch_size=10_000).more:
            pass
        status = history.status()
    tables = {each.name: each.bytes or 0 for each in status.indexes if each.state != "absent"}
    return {"tables": tables, "built": sum(tables.values()), "file": status.bytes}


def _usual(folder: Path, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    from mnemogram import extension

    connection = apsw.Connection(str(folder / "usual.db"))
    extension.load(connection)
    connection.execute("PRAGMA synchronous = off")
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, content, tool_name, tool_calls)")
    layout = {
        "unicode61": "unicode61 remove_diacritics 2",
        "trigram": "trigram",
        "trigram_without_tools": "trigram",
        "bigrams": _PLAIN_BIGRAMS,
    }
    for name, tokenizer in layout.items():
        connection.execute(
            f"CREATE VIRTUAL TABLE {name} USING fts5(content, tool_name, tool_calls,"
            f" content = 'rows', content_rowid = 'id', tokenize = '{tokenizer}')"
        )
    number = 0
    for batch in _batches(dialogues):
        with connection:
            for dialogue in batch:
                for each in dialogue.messages:
                    number += 1
                    content = each.content
                    if each.role == "tool":
                        content = content[:_TOOL_CHARS]
                    calls = each.tool_calls and json.dumps(each.tool_calls, ensure_ascii=False)
                    row = (number, content, each.tool_name, calls or None)
                    connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", row)
                    for name in layout:
                        if name == "trigram_without_tools":
                            if each.role == "tool":
                                continue
                            row = (*row[:3], None)
                        connection.execute(
                            f"INSERT INTO {name} (rowid, content, tool_name, tool_calls)"
                            " VALUES (?, ?, ?, ?)",
                            row,
                        )
    built = {name: _index_bytes(connection, name) for name in layout}
    for name in layout:
        connection.execute(f"INSERT INTO {name} ({name}) VALUES ('optimize')")
    optimized = {name: _index_bytes(connection, name) for name in layout}
    connection.close()
    return {"built": built, "optimized": optimized}


def _optimized(path: Path, names: Iterable[str]) -> int:
    from mnemogram import extension

    connection = apsw.Connection(str(path))
    extension.load(connection)
    for name in names:
        connection.execute(f"INSERT INTO {name} ({name}) VALUES ('optimize')")
    size = sum(_index_bytes(connection, name) for name in names)
    connection.close()
    return size


def _measure(name: str, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    text = sum(
        len(each.searchable().encode()) for dialogue in dialogues for each in dialogue.messages
    )
    with tempfile.TemporaryDirectory(prefix="mnemogram-bench-") as home:
        folder = Path(home)
        ours = _ours(folder, dialogues)
        ours["optimized"] = _optimized(folder / "ours.db", ours["tables"])
        usual = _usual(folder, dialogues)
    report: dict[str, Any] = {"name": name, "text_bytes": text, "ours": ours, "usual": usual}
    for state in ("built", "optimized"):
        sizes = usual[state]
        words = sizes["unicode61"] + sizes["bigrams"]
        report[f"ratio_{state}"] = ours[state] / (words + sizes["trigram"])
        report[f"ratio_{state}_without_tools"] = ours[state] / (
            words + sizes["trigram_without_tools"]
        )
    return report


def check(folder: Path) -> list[dict[str, Any]]:
    """Measure every known collection in a folder and print a table.

    Args:
        folder: holds ``kdconv``, ``tau-bench``, ...; what is not there is left out.
    """
    reports = []
    for name in _COLLECTIONS:
        dialogues = conversations(folder, name)
        if dialogues:
            reports.append(_measure(name, dialogues))
            print(f"sizes: {name} done", file=sys.stderr, flush=True)
    mb = 1e6
    print("\nIndex size in MB: the default policy, and unicode61 + trigram + plain bigrams")
    print(
        table(
            (
                "collection",
                "text",
                "ours",
                "optimized",
                "usual",
                "ratio",
                "ratio optimized",
                "ratio, trigram without tools",
            ),
            [
                [
                    each["name"],
                    each["text_bytes"] / mb,
                    each["ours"]["built"] / mb,
                    each["ours"]["optimized"] / mb,
                    each["ours"]["built"] / mb / each["ratio_built"],
                    each["ratio_built"],
                    each["ratio_optimized"],
                    each["ratio_built_without_tools"],
                ]
                for each in reports
            ],
        )
    )
    for each in reports:
        print(f"  {each['name']}: {each['ours']['tables']}")
    return reports
