# SPDX-License-Identifier: MIT
"""From a file to its values: compression, archives, encodings, JSON and SQLite."""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import json
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, NamedTuple

from mnemogram.importers.base import ImportFailed, NothingFound, Record, Report
from mnemogram.importers.document import Broken, Document
from mnemogram.importers.sqlite import SQLITE_HEAD, SQLiteFile

__all__ = ["DIRECTORY_SUFFIXES", "SUFFIXES", "Part", "Source", "by_number"]

_SNIFF_LINES: Final = 20
#: A file of more bytes is read a piece at a time.
BLOCK: Final = 128 << 10
_UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DAMAGED: Final = (EOFError, OSError, zlib.error, UnicodeError, zipfile.BadZipFile)


#: How the names of files that hold JSON end.
SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
#: Of the files that a directory stands for.
DIRECTORY_SUFFIXES: Final = (*SUFFIXES, ".zip", ".db", ".sqlite", ".sqlite3")
_CONVERSATIONS: Final = re.compile(r"conversations[-_ ]*\d*\.json", re.I)


class Part(NamedTuple):
    """One file of an archive, or the only file there is.

    Attributes:
        name: its name in the archive; empty for a file that is no archive.
        records: its values.
    """

    name: str
    records: Iterator[Record]


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
    """A file opened for reading once, as a context manager.

    gzip and zip archives are unpacked, a byte order mark and CRLF are accepted, UTF-16 as
    well. JSON lines are read one at a time; a JSON document whole. A SQLite file is one
    record that can be asked.

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
        self._archive: zipfile.ZipFile | None = None
        try:
            self._raw = self._open_raw(str(path))
            self._file = self._unpack(self._raw, str(path))
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

    def _unpack(self, raw: BinaryIO, path: str) -> Any:
        buffered = _peekable(raw)
        head = buffered.peek(4)[:4]
        if head == b"PK\x03\x04":
            archive = buffered if raw.seekable() else io.BytesIO(buffered.read())
            self._archive = self._stack.enter_context(zipfile.ZipFile(archive))
            return None
        plain = head[:2] != b"\x1f\x8b"
        inner = _peekable(
            buffered if plain else self._stack.enter_context(gzip.GzipFile(fileobj=buffered))
        )
        if inner.peek(len(SQLITE_HEAD))[: len(SQLITE_HEAD)] == SQLITE_HEAD:
            return self._database(inner, path if plain and path != "-" else None)
        return _decoded(inner)

    def _database(self, stream: Any, path: str | None) -> SQLiteFile:
        if path is None:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory())
            path = str(Path(folder) / "unpacked.db")
            with open(path, "wb") as copy:
                shutil.copyfileobj(stream, copy)
        return SQLiteFile(path, self._report.file)

    @property
    def is_archive(self) -> bool:
        """Whether it holds several files."""
        return self._archive is not None

    def parts(self) -> Iterator[Part]:
        """Yield the files that may hold conversations, each to be read before the next.

        Of an archive that holds ``conversations.json``, or several numbered ones, those
        are all; of another every file of JSON.

        Raises:
            ImportFailed: the archive is damaged, or has no such file.
        """
        if self._archive is None:
            value = self._file
            if isinstance(value, SQLiteFile):
                yield Part("", iter((Record("", value),)))
            else:
                yield Part("", self._records(value, ""))
            return
        for name in self._members(self._archive):
            try:
                with self._archive.open(name) as member:
                    packed = _peekable(member)
                    if packed.peek(2)[:2] == b"\x1f\x8b":
                        packed = _peekable(gzip.GzipFile(fileobj=packed))
                    yield Part(name, self._records(_decoded(packed), name))
            except (*_DAMAGED, RuntimeError, NotImplementedError) as error:
                raise ImportFailed(
                    self._report.file, None, f"{name} cannot be unpacked: {error}"
                ) from error

    def _members(self, archive: zipfile.ZipFile) -> list[str]:
        files = [each.filename for each in archive.infolist() if not each.is_dir()]
        names = [name for name in files if _CONVERSATIONS.fullmatch(Path(name).name)]
        if names:
            self._report.skip("other files of the archive", len(files) - len(names))
        else:
            names = [name for name in files if name.lower().endswith(SUFFIXES)]
        if not names:
            raise NothingFound(
                self._report.file,
                None,
                "a zip archive without a file of JSON",
                hint="Unpack the archive and name the files inside.",
            )
        return sorted(names, key=by_number)

    def _records(self, file: Any, name: str) -> Iterator[Record]:
        """Yield the JSON values of a file.

        A line that is no JSON is reported and left out.

        Raises:
            ImportFailed: the file is damaged, or nothing in it is JSON.
        """
        label = f"{self._report.file}/{name}" if name else self._report.file
        number = 0
        try:
            start = b"".join(_upto(file, BLOCK))
            if len(start) >= BLOCK:
                for number, value in self._large(start, file, name, label):  # noqa: B007
                    yield value
                return
            file = io.BytesIO(start)
            head = list(itertools.islice(file, _SNIFF_LINES))
            if _starts_with_value(head):
                lines = itertools.chain(head, file)
            else:
                text = b"".join(head) + file.read()
                try:
                    if text.strip():
                        yield Record(name, _parse(text))
                    return
                except _Unreadable as error:
                    if not _has_value(head):
                        raise ImportFailed(label, error.line, error.reason) from error
                lines = iter(text.splitlines(keepends=True))
            for number, value in self._lines(lines, name, label):  # noqa: B007
                yield value
        except _DAMAGED as error:
            reason = f"the file is damaged: {error}"
            raise ImportFailed(label, number + 1, reason) from error

    def _large(
        self, start: bytes, file: Any, name: str, label: str
    ) -> Iterator[tuple[int, Record]]:
        """Yield the values of a file that may be larger than memory.

        Of a document that is a list its elements, as if each stood on a line.
        """
        line = 1
        first = start.lstrip().partition(b"\n")
        if not first[1] or not _is_value(first[0]):
            document = Document(start, file.read)
            try:
                for number, value in enumerate(document.values(), 1):
                    yield 0, Record(_part_of(name, number, document.is_list), value)
            except Broken as error:
                raise ImportFailed(label, error.line, error.reason) from error
            start, line = document.rest(), document.line
            if not start:
                return
        head, end, tail = start.rpartition(b"\n")
        lines = itertools.chain(io.BytesIO(head + end), (tail + file.readline(),), file)
        yield from self._lines(lines, name, label, line)

    def _lines(
        self, lines: Iterator[bytes], name: str, label: str, start: int = 1
    ) -> Iterator[tuple[int, Record]]:
        first: _Unreadable | None = None
        good = False
        for number, line in enumerate(lines, start):
            text = line.strip()
            if not text:
                continue
            try:
                value = _parse(text)
            except _Unreadable as error:
                first = first or _Unreadable(number, error.reason)
                self._report.problem(_place(name, number), error.reason)
                continue
            good = True
            yield number, Record(_place(name, number), value)
        if first is not None and not good:
            raise ImportFailed(label, first.line, first.reason) from first


def _upto(file: Any, size: int) -> Iterator[bytes]:
    """Yield what comes of a file, up to a size: a packed one may give less than is asked for."""
    while size > 0 and (piece := file.read(size)):
        size -= len(piece)
        yield piece


def _part_of(name: str, number: int, is_list: bool) -> str:
    return ", ".join(filter(None, (name, f"item {number}" if is_list else "")))


def _place(name: str, number: int) -> str:
    return f"{name}, line {number}" if name else f"line {number}"


def by_number(name: str) -> list[tuple[bool, int, str]]:
    """Sort ``conversations-2`` before ``conversations-10``."""
    return [
        (each.isdecimal(), int(each) if each.isdecimal() else 0, each)
        for each in re.split(r"(\d+)", name)
    ]


def _decoded(stream: Any) -> Any:
    """Return a stream of UTF-8, without a byte order mark."""
    mark = stream.peek(4)[:4]
    if mark.startswith(codecs.BOM_UTF8):
        stream.read(len(codecs.BOM_UTF8))
    elif mark[:2] in _UTF16:
        stream.read(2)
        return io.BufferedReader(_Recoded(stream, _UTF16[mark[:2]]))
    return stream


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
