# SPDX-License-Identifier: MIT
"""Writing the graph: entities, relations, sentences and who told them.

Every function runs inside a write transaction that the caller holds, and leaves
the full-text index, the vectors and the pins right for the rows it touched.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.memory import index, scenes
from mnemogram.memory.arguments import one_of, plain, scene_keys, shown, unit_interval
from mnemogram.memory.models import KIND_RANK, TRUST_RANK, CommitResult, Kind, Triple, Trust
from mnemogram.memory.names import MAX_NAME_CHARS, clean, clean_name, fold_name
from mnemogram.memory.rows import all_rows, each_row
from mnemogram.memory.schema import BY_HAND
from mnemogram.sqlite.database import Connection

__all__ = [
    "Told",
    "commit",
    "delete_relations",
    "entity_id",
    "prepare",
    "retire",
    "set_single_valued",
]

_TRIPLE_FIELDS: Final = frozenset(
    ("subject", "relation", "object", "confidence", "sentence", "scene", "kind", "trust")
)

#: Characters of an error message that name fields.
_NAMED_CHARS: Final = 200

FIND_ENTITY: Final = """
SELECT id FROM entities WHERE folded = :folded
UNION ALL SELECT entity_id FROM aliases WHERE folded = :folded LIMIT 1
"""
NEW_ENTITY: Final = """
INSERT INTO entities (folded, name, names, created_at) VALUES (?1, ?2, ?2, ?3) RETURNING id
"""
_ALL_NAMES: Final = """
UPDATE entities
   SET names = name || coalesce((SELECT group_concat(' ' || a.name, '' ORDER BY a.folded)
                                   FROM aliases AS a WHERE a.entity_id = entities.id), '')
 WHERE id = ?
"""
_NEW_SENTENCE: Final = """
INSERT INTO sentences (digest, text) VALUES (?, ?)
ON CONFLICT (digest) DO UPDATE SET text = text RETURNING id
"""
FIND_RELATION: Final = """
SELECT id, kind, trust, confidence, status, sentence_id, retired_at, retired_by FROM relations
 WHERE subject_id = ? AND type_folded = ? AND object_id = ?
"""
NEW_RELATION: Final = """
INSERT INTO relations (subject_id, type, type_folded, object_id, kind, trust, confidence,
                       status, created_at, told_at, sentence_id)
VALUES (?, ?, ?, ?, ?, ?, ?, 'active', ?, ?, ?) RETURNING id
"""
_UPDATE_RELATION: Final = """
UPDATE relations SET kind = ?, trust = ?, confidence = ?, told_at = ?, status = ?,
                     retired_at = ?, retired_by = ?
 WHERE id = ?
"""
MENTION: Final = """
INSERT INTO mentions (relation_id, session_id, trust, told_at, sentence_id)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (relation_id, session_id, trust) DO UPDATE SET
    told_at = max(told_at, excluded.told_at),
    sentence_id = CASE WHEN excluded.sentence_id IS NULL THEN sentence_id
                       WHEN sentence_id IS NULL OR excluded.told_at >= told_at
                       THEN excluded.sentence_id ELSE sentence_id END
"""
# The sentence shown: the newest of the most trusted telling that has one. Words of
# a document never stand under a relation that a person told.
BEST_SENTENCE: Final = """
SELECT sentence_id FROM mentions
 WHERE relation_id = :id AND sentence_id IS NOT NULL
   AND (trust <> 'document' OR :trust = 'document')
 ORDER BY CASE trust WHEN 'confirmed' THEN 2 WHEN 'observed' THEN 1 ELSE 0 END DESC,
          told_at DESC, sentence_id DESC
 LIMIT 1
"""
_USED_SENTENCE: Final = """
SELECT 1 FROM relations WHERE sentence_id = :id
UNION ALL SELECT 1 FROM mentions WHERE sentence_id = :id LIMIT 1
"""


# --- values ----------------------------------------------------------------------------


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


# --- entities and sentences ------------------------------------------------------------


def entity_id(connection: Connection, name: str | int) -> int:
    """Return the id of an entity by any of its names or by id.

    Raises:
        NotFound: there is none.
    """
    found = None
    if isinstance(name, int):
        found = connection.one("SELECT id FROM entities WHERE id = ?", (name,))
    elif len(name) <= MAX_NAME_CHARS:
        found = connection.one(FIND_ENTITY, {"folded": fold_name(name)})
    if found is None:
        raise NotFound(
            f"no entity is called {shown(name)}",
            hint="Recall it first, and use the name shown there.",
        )
    return int(found)


def refresh_names(connection: Connection, entity: int) -> None:
    """Bring the text by which an entity is searched in line with its aliases.

    The caller has the entity's relations out of the full-text index.
    """
    connection.execute(_ALL_NAMES, (entity,))


def sentence_row(connection: Connection, text: str) -> int:
    """Return the id of a sentence, stored if it is new."""
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return int(connection.one(_NEW_SENTENCE, (digest, text)))


def told_sentences(connection: Connection, relation_id: int) -> set[int | None]:
    """Return the ids of all sentences that a relation was told with."""
    query = "SELECT sentence_id FROM mentions WHERE relation_id = ?"
    return {row[0] for row in each_row(connection, query, (relation_id,))}


def drop_unused_sentences(connection: Connection, ids: Iterable[int | None]) -> int:
    """Delete those of the sentences that nothing refers to any more."""
    dropped = 0
    for each in set(ids):
        if each is not None and connection.one(_USED_SENTENCE, {"id": each}) is None:
            connection.execute("DELETE FROM sentences WHERE id = ?", (each,))
            dropped += 1
    return dropped


def drop_unused_entities(connection: Connection, ids: Iterable[int]) -> int:
    """Delete those of the entities that no relation and no pin names any more."""
    dropped = 0
    for each in set(ids):
        used = connection.one(
            "SELECT 1 FROM relations WHERE subject_id = :id OR object_id = :id"
            " UNION ALL SELECT 1 FROM scene_refs"
            " WHERE kind = 'entity' AND ref_id = :id AND precedence = :by_hand LIMIT 1",
            {"id": each, "by_hand": BY_HAND},
        )
        if used is None:
            connection.execute(
                "DELETE FROM scene_refs WHERE kind = 'entity' AND ref_id = ?", (each,)
            )
            connection.execute("DELETE FROM aliases WHERE entity_id = ?", (each,))
            connection.execute("DELETE FROM entities WHERE id = ?", (each,))
            dropped += 1
    return dropped


def refresh_sentence(connection: Connection, relation_id: int) -> None:
    """Show the right sentence of a relation, and keep index, vector and table right."""
    trust, shown = next(
        each_row(
            connection, "SELECT trust, sentence_id FROM relations WHERE id = ?", (relation_id,)
        )
    )
    best = connection.one(BEST_SENTENCE, {"id": relation_id, "trust": trust})
    if best != shown:
        with index.reindexed(connection, (relation_id,)):
            connection.execute(
                "UPDATE relations SET sentence_id = ? WHERE id = ?", (best, relation_id)
            )
        drop_unused_sentences(connection, (shown,))


# --- commit ----------------------------------------------------------------------------


def stronger(held: tuple[str, str], told: tuple[str, str]) -> tuple[str, str]:
    """Return kind and trust of a relation that is told again.

    Each is the higher of both, with one exception: what a document called a rule
    becomes one only if a person says so too, else a file could have its own words
    confirmed as an order by anyone who agrees with the fact.
    """
    (held_kind, held_trust), (told_kind, told_trust) = held, told
    trust = max(held_trust, told_trust, key=TRUST_RANK.__getitem__)
    if held_trust == told_trust or "document" not in (held_trust, told_trust):
        kind = max(held_kind, told_kind, key=KIND_RANK.__getitem__)
    else:
        kind = told_kind if held_trust == "document" else held_kind
    return kind, trust


class _Commit:
    """One batch on its way into the tables."""

    def __init__(self, connection: Connection, session_id: str, now: int) -> None:
        self.connection = connection
        self.session_id = session_id
        self.now = now
        self.entities: dict[str, int] = {}
        self.scenes: dict[str, int] = {}
        self.single_valued = {
            row[0] for row in each_row(connection, "SELECT type_folded FROM single_valued")
        }
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
            found = self.connection.one(FIND_ENTITY, {"folded": folded})
            if found is None:
                found = self.connection.one(NEW_ENTITY, (folded, name, self.now))
                self.entities_created += 1
            known = self.entities[folded] = int(found)
        return known

    def add(self, told: Told) -> None:
        connection = self.connection
        subject, obj = self.entity(told.subject), self.entity(told.object)
        type_folded = fold_name(told.relation)
        sentence = None if told.sentence is None else sentence_row(connection, told.sentence)
        row = next(each_row(connection, FIND_RELATION, (subject, type_folded, obj)), None)
        if row is None:
            relation_id = int(
                connection.one(
                    NEW_RELATION,
                    (subject, told.relation, type_folded, obj, told.triple.kind,
                     told.triple.trust, told.confidence, self.now, self.now, sentence),
                )
            )  # fmt: skip
            self.new[relation_id] = None
            kind, trust = str(told.triple.kind), str(told.triple.trust)
        else:
            relation_id = int(row[0])
            kind, trust = stronger((row[1], row[2]), (told.triple.kind, told.triple.trust))
            confidence = max(row[3], told.confidence)
            status, retired_at, retired_by = row[4], row[6], row[7]
            if status == "retired" and not (told.triple.trust == "document" != row[2]):
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
                elif row[4] == "retired":
                    self.revived += 1
                else:
                    self.repeated += 1
        self.mention(relation_id, told, sentence, trust, known=row is not None)
        self.ids.append(relation_id)
        self.seen.add(relation_id)
        if row is not None:
            scenes.refresh_pins(connection, relation_id)
        for key in told.scenes:
            scene_id = self.scenes.get(key)
            if scene_id is None:
                scene_id = self.scenes[key] = scenes.scene_row(connection, key, self.now)
            change = scenes.pin_relation(
                connection, scene_id, relation_id, told.confidence, told.triple.trust
            )
            self.pins_created += change == "created"
            self.pins_raised += change == "raised"
        if type_folded in self.single_valued:
            self.replace(relation_id, told, subject, type_folded, kind)

    def mention(
        self, relation_id: int, told: Told, sentence: int | None, trust: str, *, known: bool
    ) -> None:
        connection = self.connection
        before = None
        key = (relation_id, self.session_id, told.triple.trust)
        if known and sentence is not None:
            before = connection.one(
                "SELECT sentence_id FROM mentions"
                " WHERE relation_id = ? AND session_id = ? AND trust = ?",
                key,
            )
        connection.execute(MENTION, (*key, self.now, sentence))
        if not known:
            return
        if relation_id in self.new:  # told twice in this batch: not indexed yet
            best = connection.one(BEST_SENTENCE, {"id": relation_id, "trust": trust})
            connection.execute(
                "UPDATE relations SET sentence_id = ? WHERE id = ?", (best, relation_id)
            )
        else:
            refresh_sentence(connection, relation_id)
        drop_unused_sentences(connection, (before, sentence))

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
        rows = all_rows(
            connection,
            "SELECT id, kind, trust FROM relations WHERE subject_id = ? AND type_folded = ?"
            " AND status = 'active' AND id <> ?",
            (subject, type_folded, relation_id),
        )
        own = scenes.pinned_scenes(connection, relation_id)
        for other, other_kind, other_trust in rows:
            theirs = scenes.pinned_scenes(connection, other)
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
                    retire(connection, (relation_id,), self.now, by=other)
                    return
                scenes.unpin_relation(connection, shared, relation_id)
                own -= shared
            elif theirs_elsewhere:
                scenes.unpin_relation(connection, shared, other)
            else:
                retire(connection, (other,), self.now, by=relation_id)
                self.retired.append(other)


def commit(
    connection: Connection, told: Sequence[Told], session_id: str, now: int, notes: list[str]
) -> CommitResult:
    """Write a checked batch; see ``SceneMemory.commit``."""
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


def set_single_valued(connection: Connection, types: Iterable[str], *, on: bool) -> None:
    """Mark relation types as holding one object at a time, or take the mark back."""
    for each in types:
        name = clean_name(each, "relation type", [])
        if on:
            connection.execute(
                "INSERT OR IGNORE INTO single_valued (type_folded, type) VALUES (?, ?)",
                (fold_name(name), name),
            )
        else:
            connection.execute(
                "DELETE FROM single_valued WHERE type_folded = ?", (fold_name(name),)
            )


# --- retiring and deleting -------------------------------------------------------------


def retire(
    connection: Connection, relation_ids: Iterable[int], now: int, *, by: int | None = None
) -> int:
    """Make relations history; their pins stay for when they are told again."""
    retired = 0
    for each in relation_ids:
        connection.execute(
            "UPDATE relations SET status = 'retired', retired_at = ?, retired_by = ?"
            " WHERE id = ? AND status = 'active'",
            (now, by, each),
        )
        retired += connection.changes()
    return retired


def delete_relations(connection: Connection, relation_ids: Iterable[int]) -> dict[str, int]:
    """Delete relations and all that hangs on them alone; return the rows by table."""
    counts = {"relations": 0, "entities": 0, "sentences": 0, "pins": 0}
    ids = list(dict.fromkeys(relation_ids))
    index.unindex(connection, ids)
    entities: set[int] = set()
    sentences: set[int | None] = set()
    touched: set[int] = set()
    sides: set[tuple[int, int]] = set()
    for each in ids:
        for row in each_row(
            connection,
            "SELECT subject_id, object_id, sentence_id FROM relations WHERE id = ?",
            (each,),
        ):
            entities.update(row[:2])
            sentences.add(row[2])
        sentences.update(
            row[0]
            for row in each_row(
                connection,
                "DELETE FROM mentions WHERE relation_id = ? RETURNING sentence_id",
                (each,),
            )
        )
        held = scenes.pinned_scenes(connection, each)
        touched |= held
        sides.update(itertools.product(held, scenes.sides_of(connection, each)))
        counts["pins"] += scenes.unpin_everywhere(connection, each)
        connection.execute("DELETE FROM vectors WHERE relation_id = ?", (each,))
        connection.execute("DELETE FROM refusals WHERE relation_id = ?", (each,))
        connection.execute("UPDATE relations SET retired_by = NULL WHERE retired_by = ?", (each,))
        connection.execute("DELETE FROM relations WHERE id = ?", (each,))
        counts["relations"] += connection.changes()
    counts["pins"] += scenes.drop_sides(connection, sides)
    counts["sentences"] = drop_unused_sentences(connection, sentences)
    counts["entities"] = drop_unused_entities(connection, entities)
    counts["scenes"] = scenes.drop_empty_scenes(connection, touched)
    return counts
