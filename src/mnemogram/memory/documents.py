# SPDX-License-Identifier: MIT
"""Triples from documents: what a file says, never what to do.

Nothing is guessed from prose, which would take a model: a document gives its own
particulars, the facts a host extracted from it, and the ``Key: value`` lines at
its head (front matter and the like).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.memory.arguments import several, shown, text
from mnemogram.memory.commit import as_triple
from mnemogram.memory.keys import channel_scene
from mnemogram.memory.models import Triple

__all__ = ["Document", "triples_from_document"]

_HEAD_LINES: Final = 40
_PAIR: Final = re.compile(r"^\s{0,3}(?:[-*]\s+)?([^\s:：][^:：]{0,39})\s*[:：]\s*(\S.*)$")
_FENCE: Final = ("---", "+++")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as the memory needs to know it.

    Attributes:
        source: where it came from; its facts are pinned to ``chan:<source>``.
        title: what its own particulars are told about.
        facts: triples a host extracted: ``Triple``, mapping or three strings.
        text: of which the ``Key: value`` lines at the head are taken.
        author, url, date: told about the title where given.
    """

    source: str
    title: str
    _: KW_ONLY
    facts: Iterable[Any] = ()
    text: str | None = None
    author: str | None = None
    url: str | None = None
    date: str | None = None


def _field(document: Any, *names: str) -> Any:
    for name in names:
        value = (
            document.get(name) if isinstance(document, Mapping) else getattr(document, name, None)
        )
        if value is not None:
            return value
    return None


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgument(
            f"a document's {name} must be a text, not {shown(value)}",
            hint="Pass Document(source, title, ...) or a mapping with those fields.",
        )
    return value.strip()


def _head(text: str) -> Iterable[tuple[str, str, str]]:
    """Yield key, value and line of the ``Key: value`` lines at the head of a text.

    Outside a fence the block ends at the first line that is none.
    """
    lines = text.splitlines()[:_HEAD_LINES]
    fenced = bool(lines) and lines[0].strip() in _FENCE
    for line in lines[1:] if fenced else lines:
        if fenced and line.strip() in _FENCE:
            return
        pair = _PAIR.match(line)
        if pair is None or pair[2].startswith("//"):
            if fenced or not line.strip() or line.lstrip().startswith("#"):
                continue
            return
        yield pair[1].strip(), pair[2].strip(), line.strip()


def triples_from_document(document: Document | Mapping[str, Any] | Any) -> list[Triple]:
    """Return what a document says as triples.

    Every one is pinned to ``chan:<source>``, whatever scene it named, and has the
    trust ``document``: it is shown as read there, never as an instruction.

    Args:
        document: a ``Document``, a mapping or an object with ``source`` and
            ``title``; optionally ``facts`` (or ``triples``), ``text`` (or
            ``content``), ``author``, ``url``, ``date``.

    Raises:
        InvalidArgument: source or title is missing, or a fact is no triple.
    """
    source = _text(_field(document, "source"), "source")
    title = _text(_field(document, "title", "name"), "title")
    scene = channel_scene(source)
    found: list[Triple] = []
    facts = several(_field(document, "facts", "triples") or (), "facts", "Pass triples.")
    for position, fact in enumerate(facts):
        triple = as_triple(fact, position, "facts")
        for field in ("subject", "relation", "object"):
            text(getattr(triple, field), f"facts[{position}].{field}", "Pass what was read.")
        found.append(replace(triple, scene=scene, trust="document"))
    body = _field(document, "text", "content")
    told = {"author": "author", "url": "url", "date": "date"}
    for name, relation in told.items():
        value = _field(document, name)
        if value is not None and str(value).strip():
            found.append(Triple(title, relation, str(value), scene=scene, trust="document"))
    if isinstance(body, str):
        for key, value, line in _head(body):
            found.append(
                Triple(title, key, value[:2_000], sentence=line, scene=scene, trust="document")
            )
    unique: dict[tuple[str, str, str], Triple] = {}
    for each in found:
        unique.setdefault((each.subject, each.relation, each.object), each)
    return list(unique.values())
