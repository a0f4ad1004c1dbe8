# SPDX-License-Identifier: MIT
"""A memory as JSON lines: everything that was told, and nothing derived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from mnemogram.errors import InvalidArgument
from mnemogram.memory import graph, index, pins
from mnemogram.memory.arguments import (
    checked_session,
    one_of,
    scene_keys,
    shown,
    unit_interval,
)
from mnemogram.memory.models import KIND_RANK, TRUST_RANK
from mnemogram.memory.names import MAX_NAME_CHARS, clean, clean_name, fold_name
from mnemogram.memory.schema import BY_HAND
from mnemogram.moments import EARLIEST, LATEST, datetime_of, microseconds_of
from mnemogram.sqlite.database import Connection
from mnemogram.values import objects_of, storable

__all__ = ["FORMAT", "VERSION", "export_lines", "import_lines"]

FORMAT: Final = "mnemogram-memory"
VERSION: Final = 1

# Entities that are pinned with a relation are so again where that is read.
_PINS: Final = f"""
SELECT s.key, p.weight, p.trust FROM scene_refs AS p JOIN scenes AS s ON s.id = p.scene_id
 WHERE p.kind = ? AND p.ref_id = ? AND (p.kind = 'relation' OR p.precedence = {BY_HAND})
 ORDER BY s.key
"""
_TELLINGS: Final = """
SELECT m.session_id, m.trust, m.told_at, t.text
  FROM mentions AS m LEFT JOIN sentences AS t ON t.id = m.sentence_id
 WHERE m.relation_id = ? ORDER BY m.told_at, m.session_id, m.trust
"""
_RELATIONS: Final = """
SELECT w.id, w.subject, w.relation, w.object, w.kind, w.trust, w.confidence, w.status,
       w.created_at, w.told_at, w.retired_at, b.subject, b.relation, b.object
  FROM relations_whole AS w LEFT JOIN relations_whole AS b ON b.id = w.retired_by
 ORDER BY w.id
"""


_AS_THEY_ARE: Final = ("subject", "relation", "object", "kind", "trust", "confidence", "status")


class _Exported(NamedTuple):
    """A row of ``_RELATIONS``."""

    id: int
    subject: str
    relation: str
    object: str
    kind: str
    trust: str
    confidence: float
    status: str
    created_at: int
    told_at: int
    retired_at: int | None
    by_subject: str | None
    by_relation: str | None
    by_object: str | None


def _time(microseconds: int) -> str:
    return datetime_of(microseconds).isoformat(timespec="microseconds")


def _microseconds(value: Any, where: str) -> int:
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError("no time zone")
        microseconds = microseconds_of(moment)
        if not EARLIEST <= microseconds <= LATEST:
            raise ValueError("outside of the years 1 to 9999 in UTC")
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"{where} is not a time: {shown(value)}",
            hint="Write it like 2026-03-01T09:00:00+08:00.",
        ) from error
    return microseconds


def _pins(connection: Connection, kind: str, ref_id: int) -> list[dict[str, Any]]:
    return [
        {"key": key, "weight": weight, "trust": trust}
        for key, weight, trust in connection.each_row(_PINS, (kind, ref_id))
    ]


def export_lines(connection: Connection) -> Iterator[dict[str, Any]]:
    """Yield the memory, one JSON-ready object for each line, the header first."""
    yield {"type": "header", "format": FORMAT, "version": VERSION}
    for (name,) in connection.each_row("SELECT type FROM single_valued ORDER BY type_folded"):
        yield {"type": "single_valued", "relation": name}
    for entity_id, name, created_at in connection.all_rows(
        "SELECT id, name, created_at FROM entities ORDER BY id"
    ):
        line: dict[str, Any] = {
            "type": "entity",
            "name": name,
            "created_at": _time(created_at),
        }
        aliases = connection.column(
            "SELECT name FROM aliases WHERE entity_id = ? ORDER BY folded", (entity_id,)
        )
        if aliases:
            line["aliases"] = aliases
        if pins := _pins(connection, "entity", entity_id):
            line["scenes"] = pins
        yield line
    for relation in map(_Exported._make, connection.all_rows(_RELATIONS)):
        line = {
            "type": "relation",
            **{name: getattr(relation, name) for name in _AS_THEY_ARE},
            "created_at": _time(relation.created_at),
            "told_at": _time(relation.told_at),
        }
        if relation.retired_at is not None:
            line["retired_at"] = _time(relation.retired_at)
        if relation.by_subject is not None:
            line["replaced_by"] = [relation.by_subject, relation.by_relation, relation.by_object]
        line["tellings"] = [
            {
                key: value
                for key, value in (
                    ("session_id", session_id or None),
                    ("trust", trust),
                    ("told_at", _time(told_at)),
                    ("sentence", sentence),
                )
                if value is not None
            }
            for session_id, trust, told_at, sentence in connection.each_row(
                _TELLINGS, (relation.id,)
            )
        ]
        if pins := _pins(connection, "relation", relation.id):
            line["scenes"] = pins
        yield line


# --- import ----------------------------------------------------------------------------


def _need(line: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in line:
        raise InvalidArgument(f"{where} lacks {name}", hint="The file is cut or not an export.")
    return line[name]


def _among(value: Any, allowed: Iterable[str], where: str) -> str:
    one_of(value, allowed, where)
    return str(value)


def _entries(line: Mapping[str, Any], name: str, where: str) -> list[Any]:
    """Return a list that a line may hold.

    Raises:
        InvalidArgument: it holds something else under that name.
    """
    found = line.get(name)
    if found is None:
        return []
    if not isinstance(found, (list, tuple)):
        raise InvalidArgument(f"{where}.{name} is not a list", hint="The file was changed.")
    return list(found)


class _Import:
    """Lines on their way into the tables; what is there already is joined with."""

    def __init__(self, connection: Connection, now: int) -> None:
        self.connection = connection
        self.now = now
        self.notes: list[str] = []
        self.counts = {"entities": 0, "relations": 0, "joined": 0, "pins": 0}
        self.new: dict[int, None] = {}
        self.made: list[int] = []
        self.replaced: list[tuple[int, Any, str]] = []

    def entity(self, name: Any, where: str, created_at: int | None = None) -> int:
        text = clean_name(name, where, self.notes)
        folded = fold_name(text)
        found = graph.find_entity(self.connection, folded)
        if found is None:
            made_at = self.now if created_at is None else created_at
            found = graph.new_entity(self.connection, folded, text, made_at)
            self.counts["entities"] += 1
            self.made.append(found)
        return found

    def indexed(self, entity: int) -> list[int]:
        """Return the relations of an entity that the index holds: not those made here."""
        query = "SELECT id FROM relations WHERE subject_id = :id OR object_id = :id"
        found = self.connection.all_rows(query, {"id": entity})
        return [row[0] for row in found if row[0] not in self.new]

    def pins(self, line: Mapping[str, Any], kind: str, ref_id: int, where: str) -> None:
        for position, pin in enumerate(_entries(line, "scenes", where)):
            place = f"{where}.scenes[{position}]"
            if not isinstance(pin, Mapping):
                raise InvalidArgument(f"{place} is not an object", hint="The file was changed.")
            weight = unit_interval(_need(pin, "weight", place), f"{place}.weight")
            trust = _among(pin.get("trust", "observed"), TRUST_RANK, f"{place}.trust")
            for key in scene_keys(_need(pin, "key", place), f"{place}.key"):
                scene_id = pins.scene_row(self.connection, key, self.now)
                if kind == "relation":
                    change = pins.pin_relation(self.connection, scene_id, ref_id, weight, trust)
                else:
                    change = pins.pin_entity(
                        self.connection, scene_id, ref_id, weight, trust, self.now
                    )
                self.counts["pins"] += change == "created"

    def add_entity(self, line: Mapping[str, Any], where: str) -> None:
        created = (
            _microseconds(line["created_at"], f"{where}.created_at")
            if ("created_at" in line)
            else None
        )
        entity = self.entity(_need(line, "name", where), f"{where}.name", created)
        for alias in _entries(line, "aliases", where):
            name = clean_name(alias, f"{where}.aliases", self.notes)
            held = graph.find_entity(self.connection, fold_name(name))
            if held is None:
                with index.reindexed(self.connection, self.indexed(entity)):
                    self.connection.execute(
                        "INSERT INTO aliases (folded, name, entity_id) VALUES (?, ?, ?)",
                        (fold_name(name), name, entity),
                    )
                    graph.refresh_names(self.connection, entity)
            elif held != entity:
                self.notes.append(f"{where}: {name!r} is another entity here; it stays one")
        self.pins(line, "entity", entity, where)

    def add_relation(self, line: Mapping[str, Any], where: str) -> None:
        connection = self.connection
        subject = self.entity(_need(line, "subject", where), f"{where}.subject")
        obj = self.entity(_need(line, "object", where), f"{where}.object")
        name = clean_name(_need(line, "relation", where), f"{where}.relation", self.notes)
        kind = _among(line.get("kind", "fact"), KIND_RANK, f"{where}.kind")
        trust = _among(line.get("trust", "observed"), TRUST_RANK, f"{where}.trust")
        status = _among(line.get("status", "active"), ("active", "retired"), f"{where}.status")
        confidence = unit_interval(line.get("confidence", 1.0), f"{where}.confidence")
        told_at = (
            _microseconds(line["told_at"], f"{where}.told_at") if "told_at" in line else self.now
        )
        created_at = (
            _microseconds(line["created_at"], f"{where}.created_at")
            if "created_at" in line
            else told_at
        )
        retired_at = None
        if status == "retired":
            retired_at = (
                _microseconds(line["retired_at"], f"{where}.retired_at")
                if "retired_at" in line
                else self.now
            )
        known = graph.find_relation(connection, subject, fold_name(name), obj)
        if known is None:
            triple = (subject, name, obj)
            relation_id = graph.new_relation(
                connection, triple, kind, trust, confidence, created_at, told_at, None
            )
            self.new[relation_id] = None
            self.counts["relations"] += 1
            newer = True
        else:
            relation_id = known.id
            newer = told_at > known.told_at
            kind, trust = graph.stronger((known.kind, known.trust), (kind, trust))
            connection.execute(
                "UPDATE relations SET kind = ?, trust = ?, confidence = ?, told_at = ?,"
                " created_at = min(created_at, ?) WHERE id = ?",
                (
                    *(kind, trust, max(confidence, known.confidence)),
                    *(max(told_at, known.told_at), created_at, relation_id),
                ),
            )
            self.counts["joined"] += 1
        if newer:  # the newer telling decides whether it still holds
            connection.execute(
                "UPDATE relations SET status = ?, retired_at = ?, retired_by = NULL WHERE id = ?",
                (status, retired_at, relation_id),
            )
            if status == "retired" and line.get("replaced_by") is not None:
                self.replaced.append((relation_id, line["replaced_by"], where))
        self.tellings(line, relation_id, trust, told_at, where)
        pins.refresh_pins(connection, relation_id)
        self.pins(line, "relation", relation_id, where)

    def tellings(
        self, line: Mapping[str, Any], relation_id: int, trust: str, told_at: int, where: str
    ) -> None:
        sentences = graph.told_sentences(self.connection, relation_id)
        tellings = _entries(line, "tellings", where) or [{"sentence": line.get("sentence")}]
        for position, telling in enumerate(tellings):
            place = f"{where}.tellings[{position}]"
            if not isinstance(telling, Mapping):
                raise InvalidArgument(f"{place} is not an object", hint="The file was changed.")
            own = _among(telling.get("trust", trust), TRUST_RANK, f"{place}.trust")
            if "told_at" in telling:
                told_at = _microseconds(telling["told_at"], f"{place}.told_at")
            sentence = telling.get("sentence")
            sentence_id = None
            if sentence is not None:
                text = clean(sentence, f"{place}.sentence", self.notes)
                sentence_id = graph.sentence_row(self.connection, text)
                sentences.add(sentence_id)
            session_id = checked_session(telling.get("session_id"))
            self.connection.execute(
                graph.MENTION, (relation_id, session_id, own, told_at, sentence_id)
            )
        graph.refresh_sentence(self.connection, relation_id, indexed=relation_id not in self.new)
        graph.drop_unused_sentences(self.connection, sentences)

    def finish(self) -> None:
        for relation_id, triple, where in self.replaced:
            if not isinstance(triple, (list, tuple)) or len(triple) != 3:
                raise InvalidArgument(
                    f"{where}.replaced_by is not a triple", hint="Cut or changed."
                )
            if not all(isinstance(each, str) and len(each) <= MAX_NAME_CHARS for each in triple):
                raise InvalidArgument(
                    f"{where}.replaced_by holds what is no name", hint="Cut or changed."
                )
            subject, name, obj = map(storable, triple)
            ids = [graph.find_entity(self.connection, fold_name(each)) for each in (subject, obj)]
            if ids[0] is None or ids[1] is None:
                continue
            by = graph.find_relation(self.connection, ids[0], fold_name(name), ids[1])
            if by is not None and by.id != relation_id:
                self.connection.execute(
                    "UPDATE relations SET retired_by = ? WHERE id = ? AND status = 'retired'",
                    (by.id, relation_id),
                )
        unused = graph.drop_unused_entities(self.connection, self.made)
        self.counts["entities"] -= unused
        index.index(self.connection, self.new)


def import_lines(
    connection: Connection, lines: Iterable[str | bytes | Mapping[str, Any]], now: int
) -> tuple[dict[str, int], tuple[str, ...], list[int]]:
    """Write exported lines; return the rows by table, notes, and the new relations.

    Raises:
        InvalidArgument: which line is wrong, and how. Nothing is kept then.
    """
    work = _Import(connection, now)
    headed = False
    for number, line in objects_of(lines, "Pass the lines of an export, one JSON object each."):
        where = f"line {number}"
        kind = line.get("type", "relation")
        if kind == "header":
            if line.get("format") != FORMAT:
                raise InvalidArgument(
                    f"{where}: the format is {shown(line.get('format'))}, not {FORMAT!r}",
                    hint="Pass a file written by `mnemogram memory export`.",
                )
            if not isinstance(line.get("version"), int) or line["version"] > VERSION:
                raise InvalidArgument(
                    f"{where}: version {shown(line.get('version'))} is not known",
                    hint="Upgrade mnemogram to read this export.",
                )
            headed = True
        elif not headed:
            raise InvalidArgument(
                f"{where}: the header is missing",
                hint="Pass a file written by `mnemogram memory export`, whole.",
            )
        elif kind == "single_valued":
            graph.set_single_valued(connection, [_need(line, "relation", where)], on=True)
        elif kind == "entity":
            work.add_entity(line, where)
        elif kind == "relation":
            work.add_relation(line, where)
        else:
            raise InvalidArgument(f"{where}: unknown type {shown(kind)}", hint="Upgrade mnemogram.")
    work.finish()
    return work.counts, tuple(dict.fromkeys(work.notes)), list(work.new)
