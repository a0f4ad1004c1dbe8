# SPDX-License-Identifier: MIT
"""Readers of other programs' conversations.

Each turns a file into sessions and messages, in order and a piece at a time; none of them
knows where they are stored. Ids are the file's own, or made from the content, never from
the file's name, so that importing twice adds nothing.

A new format is a module with ``NAME``, ``LOOKS_FOR``, ``FIELDS``, ``recognises`` and
``read`` (see :class:`base.Importer`), its line in ``IMPORTERS`` below, and its row in
docs/importing.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.importers import (
    agents_sdk,
    ai_sdk,
    chatgpt,
    claude,
    claude_code,
    gemini,
    jsonl,
    langchain,
    librechat,
    llm,
    lobechat,
    open_webui,
    openai,
    own_store,
    responses,
    rollout,
    session_store,
    sharegpt,
    sillytavern,
)
from mnemogram.importers.base import (
    Batch,
    Format,
    Importer,
    ImportFailed,
    NothingFound,
    Problem,
    Record,
    Report,
    Whole,
)
from mnemogram.importers.source import DIRECTORY_SUFFIXES, Source, by_number
from mnemogram.importers.sqlite import SQLiteFile

__all__ = [
    "DIRECTORY_SUFFIXES",
    "FORMATS",
    "IMPORTERS",
    "LEFT_BRANCHES",
    "SCATTERED",
    "Batch",
    "Format",
    "ImportFailed",
    "Importer",
    "NothingFound",
    "Problem",
    "Report",
    "Whole",
    "by_number",
    "read",
]

#: In the order they are asked: the first that recognises a value of the file reads it. So a
#: shape with a field of its own stands before one that it could be taken for, and the plain
#: list of messages with roles, which is inside of many others, stands last.
IMPORTERS: Final[tuple[Importer, ...]] = (
    own_store,
    agents_sdk,
    llm,
    session_store,
    chatgpt,
    claude,
    open_webui,
    librechat,
    lobechat,
    sillytavern,
    langchain,
    gemini,
    jsonl,
    claude_code,
    rollout,
    responses,
    ai_sdk,
    sharegpt,
    openai,
)

#: Names of the formats, without ``auto``.
FORMATS: Final[tuple[Format, ...]] = tuple(sorted(each.NAME for each in IMPORTERS))

#: Formats in which messages of one conversation may stand between those of others: it is
#: whole only at the file's end.
SCATTERED: Final = frozenset((jsonl.NAME, claude_code.NAME))

#: Counts, in ``Report.skipped``, what is in ``Batch.left`` rather than ``messages``.
LEFT_BRANCHES: Final = "messages on branches that were left"

_LOOK_AT: Final = 50


def read(
    path: str | Path,
    *,
    format: str = "auto",
    report: Report | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Generator[Batch, None, None]:
    """Yield the conversations of a file.

    Args:
        path: a file of JSON or JSON lines, plain or gzip, a zip of them, or a SQLite file;
            ``-`` is standard input.
        format: one of ``FORMATS``, or ``auto`` to look.
        report: filled with what was left out and why.
        progress: called with the bytes read so far and the size of the file, None where
            it has none, after each batch.

    Yields:
        A conversation, or the next piece of a long one.

    Raises:
        InvalidArgument: no such format.
        ImportFailed: the file cannot be read, or is damaged.
        NothingFound: it holds no conversation.
    """
    if format not in ("auto", *FORMATS):
        raise InvalidArgument(
            f"there is no import format {format!r}",
            hint=f"Use auto, {', '.join(FORMATS)}.",
        )
    report = Report() if report is None else report
    report.file = "standard input" if str(path) == "-" else str(path)
    with Source(path, report) as source:
        nothing: NothingFound | None = None
        for part in source.parts():
            try:
                for batch in _part(part.records, format, report):
                    report.skip(LEFT_BRANCHES, len(batch.left))
                    report.untimed += sum(each.timestamp is None for each in batch.messages)
                    yield batch
                    if progress is not None:
                        progress(source.position(), source.size)
            except NothingFound as error:
                if not source.is_archive:
                    raise
                nothing = error
                report.skip("files without a conversation")
            except ImportFailed as error:
                if not source.is_archive:
                    raise
                report.problem(part.name, error.reason)
        if nothing is not None and report.format is None:
            raise nothing


def _part(records: Iterator[Record], format: str, report: Report) -> Iterator[Batch]:
    if format == "auto":
        head, records = _head(records)
        if not head:
            return iter(())
        importer = _importer_of(head, report)
    else:
        importer = next(each for each in IMPORTERS if format == each.NAME)
    report.format = importer.NAME
    return importer.read(records, report)


def _head(records: Iterator[Record]) -> tuple[list[Record], Iterator[Record]]:
    """Return the first records, and all of them; a file that breaks has what stood before."""
    head: list[Record] = []
    broken: ImportFailed | None = None
    try:
        head += itertools.islice(records, _LOOK_AT)
    except ImportFailed as error:
        broken = error

    def everything() -> Iterator[Record]:
        yield from head
        if broken is not None:
            raise broken
        yield from records

    if broken is not None and not head:
        raise broken
    return head, everything()


def _importer_of(head: list[Record], report: Report) -> Importer:
    for importer in IMPORTERS:
        if any(importer.recognises(record.value) for record in head):
            return importer
    raise NothingFound(
        report.file,
        1,
        "no conversation was found in it",
        hint=f"{_closest(head)} Looked for: {_looked_for()}. --format names one of them.",
    )


def _looked_for() -> str:
    return "; ".join(f"{each.NAME} ({each.LOOKS_FOR})" for each in IMPORTERS)


def _closest(head: list[Record]) -> str:
    """Say which format has most fields in common with a file that is none."""
    fields = set(_fields([record.value for record in head]))
    closest = max(IMPORTERS, key=lambda each: len(each.FIELDS & fields))
    shared = sorted(closest.FIELDS & fields)
    if not shared:
        return "None of their fields is in it."
    return f"Closest is {closest.NAME}, by the fields {', '.join(shared)}."


def _fields(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, SQLiteFile):
        for table, columns in value.tables.items():
            yield table
            yield from columns
    if isinstance(value, Mapping):
        yield from (key for key in value if isinstance(key, str))
        value = list(value.values())
    if isinstance(value, list) and depth < 4:
        for each in value[:20]:
            yield from _fields(each, depth + 1)
