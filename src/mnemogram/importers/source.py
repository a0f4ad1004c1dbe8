# SPDX-License-Identifier: MIT
"""From a file to JSON records: compression, encodings, JSON documents and JSON lines."""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import json
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Final, NamedTuple

from mnemogram.importers.base import ImportFailed, Report

__all__ = ["Record", "Source"]

_SNIFF_LINES: Final = 20
_UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DAMAGED: Final = (EOFError, OSError, zlib.error, UnicodeError, zipfile.BadZipFile)


class Record(NamedTuple):
    """One JSON value of the file.

    Attributes:
        where: ``line 12``, or an empty string for a file that is one JSON document.
        value: what it holds.
    """

    where: str
    value: Any


class _Unreadable(Exception):
    """A piece of text that is not JSON."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def _parse(text: bytes) -> Any:
    try:
        # NaN and the infinities are no JSON, and no other program could read them back.
        return json.loads(text.decode("utf-8"), parse_constant=str)
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        reason = f"not UTF-8 at byte {error.start + 1}: {error.reason}"
        raise _Unreadable(line, reason) from error
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg}, column {error.colno}"
        raise _Unreadable(error.lineno, reason) from error
    except RecursionError as error:
        raise _Unreadable(1, "nested too deeply") from error
    except ValueError as error:
        raise _Unreadable(1, str(error)) from error


class Source:
    """A file of JSON, opened for reading once, as a context manager.

    gzip and the archive of a ChatGPT export are unpacked, a byte order mark and CRLF are
    accepted, UTF-16 as well. JSON lines are read one at a time; a document whole.

    Args:
        path: the file; ``-`` is standard input.
        report: takes the broken lines.

    Raises:
        ImportFailed: the file cannot be opened.
    """

    def __init__(self, path: str | Path, report: Report) -> None:
        self._report = report
        self._stack = ExitStack()
        self.size: int | None = None
        try:
            self._raw = self._open_raw(str(path))
            self._file = self._unpack(self._raw)
        except (OSError, EOFError, zipfile.BadZipFile) as error:
            self._stack.close()
            reason = getattr(error, "strerror", None) or str(error)
            raise ImportFailed(
                report.file, None, reason, hint="Check that the file exists and can be read."
            ) from error
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def position(self) -> int:
        """Return how many bytes of the file, as it lies on the disk, were read."""
        try:
            return self._raw.tell()
        except (OSError, ValueError):
            return 0

    def _open_raw(self, path: str) -> BinaryIO:
        if path == "-":
            return sys.stdin.buffer
        raw: BinaryIO = Path(path).open("rb")  # noqa: SIM115
        self._stack.callback(raw.close)
        self.size = Path(path).stat().st_size
        return raw

    def _unpack(self, raw: BinaryIO) -> Any:
        buffered = _peekable(raw)
        head = buffered.peek(4)[:4]
        inner: Any = buffered
        if head.startswith(b"\x1f\x8b"):
            inner = self._stack.enter_context(gzip.GzipFile(fileobj=buffered))
        elif head == b"PK\x03\x04":
            inner = self._conversations(buffered)
        inner = _peekable(inner)
        mark = inner.peek(4)[:4]
        if mark.startswith(codecs.BOM_UTF8):
            inner.read(len(codecs.BOM_UTF8))
        elif mark[:2] in _UTF16:
            inner.read(2)
            return io.BufferedReader(_Recoded(inner, _UTF16[mark[:2]]))
        return inner

    def _conversations(self, archive: BinaryIO) -> IO[bytes]:
        if not archive.seekable():
            archive = io.BytesIO(archive.read())
        files = self._stack.enter_context(zipfile.ZipFile(archive))
        names = [n for n in files.namelist() if Path(n).name == "conversations.json"]
        if not names:
            raise ImportFailed(
                self._report.file,
                None,
                "a zip archive without conversations.json",
                hint="Unpack the archive and name the files inside.",
            )
        return self._stack.enter_context(files.open(names[0]))

    def records(self) -> Iterator[Record]:
        """Yield the file's JSON values.

        A line that is no JSON is reported and left out.

        Raises:
            ImportFailed: the file is damaged, or nothing in it is JSON.
        """
        number = 0
        try:
            head = list(itertools.islice(self._file, _SNIFF_LINES))
            if _starts_with_value(head):
                lines = itertools.chain(head, self._file)
            else:
                text = b"".join(head) + self._file.read()
                try:
                    if text.strip():
                        yield Record("", _parse(text))
                    return
                except _Unreadable as error:
                    if not _has_value(head):
                        raise ImportFailed(self._report.file, error.line, error.reason) from error
                lines = iter(text.splitlines(keepends=True))
            for number, record in self._lines(lines):  # noqa: B007
                yield record
        except _DAMAGED as error:
            reason = f"the file is damaged: {error}"
            raise ImportFailed(self._report.file, number + 1, reason) from error

    def _lines(self, lines: Iterator[bytes]) -> Iterator[tuple[int, Record]]:
        first: _Unreadable | None = None
        good = False
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text:
                continue
            try:
                value = _parse(text)
            except _Unreadable as error:
                first = first or _Unreadable(number, error.reason)
                self._report.problem(f"line {number}", error.reason)
                continue
            good = True
            yield number, Record(f"line {number}", value)
        if first is not None and not good:
            raise ImportFailed(self._report.file, first.line, first.reason) from first


def _peekable(stream: Any) -> Any:
    return stream if hasattr(stream, "peek") else io.BufferedReader(stream)


def _is_value(line: bytes) -> bool:
    try:
        return isinstance(_parse(line), (dict, list))
    except _Unreadable:
        return False


def _starts_with_value(head: list[bytes]) -> bool:
    """Whether the first line is a whole record: JSON lines, or a document of one line."""
    return next((_is_value(line) for line in head if line.strip()), False)


def _has_value(head: list[bytes]) -> bool:
    """Whether it is JSON lines whose first line is broken, and not a broken document.

    The first line of a document that goes on is an opening, or ends where more must come.
    """
    filled = [line.strip() for line in head if line.strip()]
    return not filled[0].endswith((b"[", b"{", b",", b":")) and any(map(_is_value, filled))


class _Recoded(io.RawIOBase):
    """UTF-16 as UTF-8, a piece at a time."""

    def __init__(self, inner: Any, encoding: str) -> None:
        self._read: Callable[[int], bytes] = inner.read
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            piece = self._read(1 << 16)
            self._pending = self._decoder.decode(piece, final=not piece).encode("utf-8")
            if not piece:
                break
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count
