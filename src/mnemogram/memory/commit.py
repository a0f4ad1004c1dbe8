# SPDX-License-Identifier: MIT
"""Remembering a batch of triples: checked before anything is written, then all or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.memory import graph, index, pins, scenes
from mnemogram.memory.arguments import one_of, plain, scene_keys, shown, unit_interval
from mnemogram.memory.models import KIND_RANK, TRUST_RANK, CommitResult, Kind, Triple, Trust
from mnemogram.memory.names import clean, clean_name, fold_name
from mnemogram.sqlite.database import Connection

__all__ = ["Told", "as_triple", "commit", "confirm", "prepare"]

_TRIPLE_FIELDS: Final = frozenset(
    ("subject", "relation", "object", "confidence", "sentence", "scene", "kind", "trust")
)
#: Characters of an error message that name fields.
_NAMED_CHARS: Final = 200

_UPDATE_RELATION: Final = """
UPDATE relations SET kind = ?, trust = ?, confidence = ?, told_at = ?, status = ?,
                     retired_at = ?, retired_by = ?
 WHERE id = ?
"""


@dataclass(frozen=True, slots=True)
class Told:
    """A checked triple, ready to be written."""

    triple: Triple
    subject: str
    relation: str
    object: str
    confidence: float
    sentence: str | None
    scenes: tuple[str, ...]


def as_triple(value: Any, position: int, name: str = "triples") -> Triple:
    if isinstance(value, Triple):
        return value
    if isinstance(value, Mapping):
        unknown = [each for each in value if each not in _TRIPLE_FIELDS]
        if unknown:
            named = sorted(each if isinstance(each, str) else shown(each) for each in unknown)
            raise InvalidArgument(
                f"{name}[{position}] has unknown fields: {', '.join(named)[:_NAMED_CHARS]}",
                hint="The fields are " + ", ".join(sorted(_TRIPLE_FIELDS)) + ".",
            )
        missing = [each for each in ("subject", "relation", "object") if each not in value]
        if missing:
            raise InvalidArgument(
                f"{name}[{position}] lacks {', '.join(missing)}",
                hint="A triple needs subject, relation and object.",
            )
        return Triple(**value)
    if isinstance(value, (tuple, list)) and len(value) == 3:
        return Triple(*value)
    raise InvalidArgument(
        f"{name}[{position}] is not a triple but {type(value).__name__}",
        hint="Pass Triple(subject, relation, object), such a mapping, or three strings.",
    )


def prepare(triples: Any, scene: Any, notes: list[str]) -> list[Told]:
    """Check the triples of a commit before anything is written.

    Raises:
        InvalidArgument: which triple is wrong, and how.
    """
    if isinstance(triples, (Triple, Mapping, str)) or not isinstance(triples, Iterable):
        raise InvalidArgument(
            "triples must be a list of triples", hint="Put a single triple into a list."
        )
    batch = scene_keys(scene)
    told = []
    for position, value in enumerate(triples):
        triple = as_triple(value, position)
        where = f"triples[{position}]"
        one_of(triple.kind, KIND_RANK, f"{where}.kind")
        one_of(triple.trust, TRUST_RANK, f"{where}.trust")
        sentence = triple.sentence
        if sentence is not None:
            if isinstance(sentence, str) and not sentence.strip():
                sentence = None
            else:
                sentence = clean(sentence, f"{where}.sentence", notes)
        own = batch if triple.scene is None else scene_keys(triple.scene, f"{where}.scene")
        if triple.scene is not None and not own and triple.scene:
            notes.append(
                f"{where}.scene: nothing is left of {shown(triple.scene)}; no pin was made"
            )
        told.append(
            Told(
                triple=replace(
                    triple,
                    kind=cast("Kind", plain(triple.kind)),
                    trust=cast("Trust", plain(triple.trust)),
                ),
                subject=clean_name(triple.subject, f"{where}.subject", notes),
                relation=clean_name(triple.relation, f"{where}.relation", notes),
                object=clean_name(triple.object, f"{where}.object", notes),
                confidence=unit_interval(triple.confidence, f"{where}.confidence"),
                sentence=sentence,
                scenes=own,
            )
        )
    return told


class _Commit:
    """One batch on its way into the tables."""

    def __init__(self, connection: Connection, session_id: str, now: int) -> None:
        self.connection = connection
        self.session_id = session_id
        self.now = now
        self.entities: dict[str, int] = {}
        self.scenes: dict[str, int] = {}
        self.single_valued = set(connection.column("SELECT type_folded FROM single_valued"))
        self.new: dict[int, None] = {}
        self.ids: list[int] = []
        self.seen: set[int] = set()
        self.revived = self.repeated = self.entities_created = 0
        self.pins_created = self.pins_raised = 0
        self.retired: list[int] = []
        self.contested: list[int] = []

    def entity(self, name: str) -> int:
        folded = fold_name(name)
        known = self.entities.get(folded)
        if known is None:
            known = graph.find_entity(self.connection, folded)
            if known is None:
                known = graph.new_entity(self.connection, folded, name, self.now)
                self.entities_created += 1
            self.entities[folded] = known
        return known

    def add(self, told: Told) -> None:
        connection = self.connection
        subject, obj = self.entity(told.subject), self.entity(told.object)
        type_folded = fold_name(told.relation)
        sentence = None if told.sentence is None else graph.sentence_row(connection, told.sentence)
        kind, trust = str(told.triple.kind), str(told.triple.trust)
        known = graph.find_relation(connection, subject, type_folded, obj)
        if known is None:
            triple = (subject, told.relation, obj)
            relation_id = graph.new_relation(
                connection, triple, kind, trust, told.confidence, self.now, self.now, sentence
            )
            self.new[relation_id] = None
        else:
            relation_id = known.id
            kind, trust = graph.stronger((known.kind, known.trust), (kind, trust))
            confidence = max(known.confidence, told.confidence)
            status, retired_at, retired_by = known.status, known.retired_at, known.retired_by
            if status == "retired" and not (told.triple.trust == "document" != known.trust):
                # What was taken back is trusted as far as whoever tells it again.
                status, retired_at, retired_by = "active", None, None
                trust = told.triple.trust
            connection.execute(
                _UPDATE_RELATION,
                (kind, trust, confidence, self.now, status, retired_at, retired_by, relation_id),
            )
            if relation_id not in self.seen:
                if status == "retired":
                    self.contested.append(relation_id)
                elif known.status == "retired":
                    self.revived += 1
                else:
                    self.repeated += 1
        self.mention(relation_id, told, sentence, known=known is not None)
        self.ids.append(relation_id)
        self.seen.add(relation_id)
        if known is not None:
            pins.refresh_pins(connection, relation_id)
        for key in told.scenes:
            scene_id = self.scenes.get(key)
            if scene_id is None:
                scene_id = self.scenes[key] = pins.scene_row(connection, key, self.now)
            change = pins.pin_relation(
                connection, scene_id, relation_id, told.confidence, told.triple.trust
            )
            self.pins_created += change == "created"
            self.pins_raised += change == "raised"
        if type_folded in self.single_valued:
            self.replace(relation_id, told, subject, type_folded, kind)

    def mention(self, relation_id: int, told: Told, sentence: int | None, *, known: bool) -> None:
        connection = self.connection
        before = None
        key = (relation_id, self.session_id, told.triple.trust)
        if known and sentence is not None:
            before = connection.one(
                "SELECT sentence_id FROM mentions"
                " WHERE relation_id = ? AND session_id = ? AND trust = ?",
                key,
            )
        connection.execute(graph.MENTION, (*key, self.now, sentence))
        if not known:
            return
        graph.refresh_sentence(connection, relation_id, indexed=relation_id not in self.new)
        graph.drop_unused_sentences(connection, (before, sentence))

    def replace(
        self, relation_id: int, told: Told, subject: int, type_folded: str, kind: str
    ) -> None:
        """Retire what a relation of a single-valued type contradicts.

        A fact contradicts everywhere; a rule or a preference only where it is
        pinned to the same scene, or where neither is pinned: plain text in one
        channel and Markdown in another are both right. A document takes nothing
        back that a person told, and a confirmed rule yields to a confirmed one only.
        """
        connection = self.connection
        rows = connection.all_rows(
            "SELECT id, kind, trust FROM relations WHERE subject_id = ? AND type_folded = ?"
            " AND status = 'active' AND id <> ?",
            (subject, type_folded, relation_id),
        )
        own = pins.pinned_scenes(connection, relation_id)
        for other, other_kind, other_trust in rows:
            theirs = pins.pinned_scenes(connection, other)
            shared = own & theirs
            if kind == other_kind == "fact":
                mine_elsewhere = theirs_elsewhere = False
            elif shared or not (own or theirs):
                mine_elsewhere, theirs_elsewhere = bool(own - theirs), bool(theirs - own)
            else:
                continue
            outranked = (told.triple.trust == "document" and other_trust != "document") or (
                other_kind == "rule"
                and other_trust == "confirmed"
                and told.triple.trust != "confirmed"
            )
            if outranked:
                self.contested.append(relation_id)
                if not mine_elsewhere:
                    graph.retire(connection, (relation_id,), self.now, by=other)
                    return
                pins.unpin_relation(connection, shared, relation_id)
                own -= shared
            elif theirs_elsewhere:
                pins.unpin_relation(connection, shared, other)
            else:
                graph.retire(connection, (other,), self.now, by=relation_id)
                self.retired.append(other)


def commit(
    connection: Connection,
    told: Sequence[Told],
    session_id: str,
    now: int,
    notes: Iterable[str],
    single_valued: Iterable[str] = (),
) -> CommitResult:
    """Write a checked batch; see ``SceneMemory.commit``."""
    graph.set_single_valued(connection, single_valued, on=True)
    batch = _Commit(connection, session_id, now)
    for each in told:
        batch.add(each)
    index.index(connection, batch.new)
    return CommitResult(
        relation_ids=tuple(batch.ids),
        created=len(batch.new),
        revived=batch.revived,
        repeated=batch.repeated,
        retired=tuple(dict.fromkeys(batch.retired)),
        contested=tuple(dict.fromkeys(batch.contested)),
        entities_created=batch.entities_created,
        pins_created=batch.pins_created,
        pins_raised=batch.pins_raised,
        notes=tuple(dict.fromkeys(notes)),
    )


def confirm(connection: Connection, ids: Sequence[int], now: int) -> int:
    """Tell relations again as the user would; see ``SceneMemory.confirm``."""
    found = list(scenes.whole(connection, ids))
    if missing := set(ids) - {each.id for each in found}:
        raise NotFound(f"no relation {min(missing)}", hint="Use ids from an earlier answer.")
    keys = pins.pinned_keys(connection, ids)
    again = [
        Triple(
            *(each.subject, each.relation, each.object),
            confidence=0.0,  # of two the larger stays
            sentence=each.sentence,
            scene=tuple(keys.get(each.id, ())) or None,
            kind=each.kind,
            trust="confirmed",
        )
        for each in found
        if each.status == "active" and not pins.is_confirmed(connection, each.id)
    ]
    commit(connection, prepare(again, None, []), "", now, [])
    return len(again)
