# SPDX-License-Identifier: MIT
"""Readers of other programs' conversations.

Each turns a file into sessions and messages, in order and a piece at a time; none of them
knows where they are stored. Ids are the file's own, or made from the content, never from
the file's name, so that importing twice adds nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, get_args

from mnemogram.errors import InvalidArgument
from mnemogram.importers import chatgpt, claude_code, jsonl, openai
from mnemogram.importers.base import Batch, Format, ImportFailed, Problem, Report
from mnemogram.importers.source import Record, Source

__all__ = [
    "FORMATS",
    "Batch",
    "Format",
    "ImportFailed",
    "Problem",
    "Report",
    "read",
]

#: Names of the formats, without ``auto``.
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

_READERS: Final[Mapping[Format, Callable[[Iterable[Record], Report], Iterator[Batch]]]] = {
    "openai": openai.read,
    "chatgpt": chatgpt.read,
    "claude-code": claude_code.read,
    "jsonl": jsonl.read,
}
#: From the most particular shape to the most general.
_SIGNS: Final[Mapping[Format, Callable[[object], bool]]] = {
    "chatgpt": chatgpt.is_conversation,
    "jsonl": jsonl.is_record,
    "claude-code": claude_code.is_event,
    "openai": openai.is_conversation,
}
_LOOK_AT: Final = 50


def read(
    path: str | Path,
    *,
    format: str = "auto",
    report: Report | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Iterator[Batch]:
    """Yield the conversations of a file.

    Args:
        path: a file of JSON or JSON lines, plain or gzip, or the zip of a ChatGPT export;
            ``-`` is standard input.
        format: ``openai``, ``chatgpt``, ``claude-code``, ``jsonl``, or ``auto`` to look.
        report: filled with what was left out and why.
        progress: called with the bytes read so far and the size of the file, None where
            it has none, after each batch.

    Yields:
        A conversation, or the next piece of a long one.

    Raises:
        InvalidArgument: no such format.
        ImportFailed: the file cannot be read, is damaged, or holds no conversation.
    """
    if format not in ("auto", *FORMATS):
        raise InvalidArgument(
            f"there is no import format {format!r}",
            hint=f"Use auto, {', '.join(FORMATS)}.",
        )
    report = Report() if report is None else report
    report.file = "standard input" if str(path) == "-" else str(path)
    with Source(path, report) as source:
        records = source.records()
        chosen = format
        if chosen == "auto":
            head = list(itertools.islice(records, _LOOK_AT))
            if not head:
                return
            chosen = _format_of(head, report)
            records = itertools.chain(head, records)
        for name in FORMATS:
            if name == chosen:
                report.format = name
                for batch in _READERS[name](records, report):
                    yield batch
                    if progress is not None:
                        progress(source.position(), source.size)


def _format_of(head: list[Record], report: Report) -> Format:
    for name, sign in _SIGNS.items():
        if any(sign(record.value) for record in head):
            return name
    raise ImportFailed(
        report.file,
        1,
        "no conversation was found in it",
        hint=f"Name the format with --format: {', '.join(FORMATS)}.",
    )
