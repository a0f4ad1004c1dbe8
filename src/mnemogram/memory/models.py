# SPDX-License-Identifier: MIT
"""The values of the scene memory: what goes in, and what recall gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias, overload

from mnemogram.moments import format_time
from mnemogram.values import Value

__all__ = [
    "KINDS",
    "TRUST_RANK",
    "CheckReport",
    "CommitResult",
    "Kind",
    "Match",
    "MemoryStatus",
    "MergeReport",
    "Problem",
    "Recall",
    "Relation",
    "SceneCount",
    "SceneStats",
    "SweepReport",
    "TagReport",
    "Triple",
    "Trust",
]

Kind: TypeAlias = Literal["fact", "preference", "rule"]
Trust: TypeAlias = Literal["confirmed", "observed", "document"]
Match: TypeAlias = Literal["subtree", "inherit", "both"]

KINDS: Final = ("fact", "preference", "rule")
KIND_RANK: Final[Mapping[str, int]] = {"fact": 0, "preference": 1, "rule": 2}
TRUST_RANK: Final[Mapping[str, int]] = {"document": 0, "observed": 1, "confirmed": 2}
MATCHES: Final = ("subtree", "inherit", "both")


# --- what goes in ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Triple(Value):
    """One thing to remember: subject, relation type, object.

    Attributes:
        subject, relation, object: names in the user's own words, not blank.
        confidence: 0 to 1; also the weight of the pin to the scene.
        sentence: the original words it was learnt from.
        scene: key, or keys, of the situation in which it applies. None takes the
            batch's scene; a blank one means no scene.
        kind: ``rule`` constrains how to act, ``preference`` what is liked.
        trust: ``confirmed`` by the user, ``observed`` in conversation, or read in
            a ``document``, which is never worded as an instruction.
    """

    subject: str
    relation: str
    object: str
    _: KW_ONLY
    confidence: float = 1.0
    sentence: str | None = None
    scene: str | Sequence[str] | None = None
    kind: Kind = "fact"
    trust: Trust = "observed"


@dataclass(frozen=True, slots=True)
class CommitResult(Value):
    """What a commit did; the counts are of triples unless they say otherwise.

    Attributes:
        relation_ids: for each triple, in order, the relation that holds it.
        created, revived, repeated: relations that are new, that were retired and
            are visible again, and that were visible already.
        retired: ids of relations that a single-valued type put into history.
        contested: ids of relations that were kept as history at once, because
            something more trusted contradicts them.
        entities_created: names seen for the first time.
        pins_created, pins_raised: pins that are new, and whose weight grew.
        notes: what was repaired or could not be done, in words.
    """

    relation_ids: tuple[int, ...] = ()
    created: int = 0
    revived: int = 0
    repeated: int = 0
    retired: tuple[int, ...] = ()
    contested: tuple[int, ...] = ()
    entities_created: int = 0
    pins_created: int = 0
    pins_raised: int = 0
    notes: tuple[str, ...] = ()


# --- what comes out --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation(Value):
    """One remembered relation, whole, and how it was found.

    Attributes:
        id: the store's integer.
        subject, relation, object: display names, as first told.
        kind, trust, confidence: as told; the most trusted telling decides.
        sentence: the newest original sentence of the most trusted telling.
        status: ``active`` or ``retired``.
        created_at, told_at, retired_at: microseconds UTC.
        retired_by: id of the relation that replaced this one.
        scene, weight, pin_trust: key, weight and trust of the pin that brought it.
        asked: the scene key that was asked for.
        match: ``exact``, ``inherited`` (pinned to something broader than asked) or
            ``narrower``.
        via: name of the entity whose pin brought it, where it has none of its own.
        scenes: after ``recall``, the keys it is pinned to.
        score: relevance to a query, larger is better.
        depth: steps away from what the query itself matched; 1 is the match.
        sources: ``lexical``, ``vector``, ``neighbour``.
    """

    id: int
    subject: str
    relation: str
    object: str
    kind: Kind
    trust: Trust
    confidence: float
    sentence: str | None
    status: Literal["active", "retired"]
    created_at: int
    told_at: int
    retired_at: int | None = None
    retired_by: int | None = None
    subject_id: int = 0
    object_id: int = 0
    scene: str | None = None
    weight: float | None = None
    pin_trust: Trust | None = None
    asked: str | None = None
    match: Literal["exact", "inherited", "narrower"] | None = None
    via: str | None = None
    score: float | None = None
    depth: int | None = None
    sources: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()

    @property
    def effective_trust(self) -> Trust:
        """The lower of the relation's and the pin's trust."""
        if self.pin_trust is None or TRUST_RANK[self.pin_trust] >= TRUST_RANK[self.trust]:
            return self.trust
        return self.pin_trust

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: times as ISO 8601, no fields that do not apply."""
        plain: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name.endswith("_at"):
                value = format_time(value)
            if value is None and each.name not in ("sentence",):
                continue
            if isinstance(value, tuple):
                if not value:
                    continue
                value = list(value)
            plain[each.name] = value
        return plain


@dataclass(frozen=True, slots=True)
class Recall(Value, Sequence[Relation]):
    """Relations in order, as a sequence, and how the answer came about.

    Attributes:
        relations: the answer.
        search_path: ``scene``, ``cjk`` (full text), ``scan`` (no usable index),
            ``cjk+vector``, ``scan+vector`` or ``empty`` (nothing to search for).
        complete: False where the answer could not look everywhere.
        notes: why not, in words.
        omitted: relations beyond the limit; None after ``recall``, where being like a query
            has no end to count to.
    """

    relations: tuple[Relation, ...] = ()
    search_path: str = "empty"
    complete: bool = True
    notes: tuple[str, ...] = ()
    omitted: int | None = None

    def __len__(self) -> int:
        return len(self.relations)

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.relations)

    @overload
    def __getitem__(self, index: int) -> Relation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Relation, ...]: ...
    def __getitem__(self, index: int | slice) -> Relation | tuple[Relation, ...]:
        return self.relations[index]


# --- scenes and upkeep -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SceneCount(Value):
    """One scene: its key and how many pins to active relations and entities it has."""

    key: str
    relations: int
    entities: int
    stale: int


@dataclass(frozen=True, slots=True)
class SceneStats(Value):
    """Counts over the scenes.

    Attributes:
        scenes: keys that are kept; empty ones included.
        relation_pins, entity_pins: pins to rows that exist and are active.
        retired_pins: pins to retired relations, kept for their return.
        stale_pins: pins to rows that are gone; never shown, swept by upkeep.
        pinned_relations, unpinned_relations: active relations with and without a pin.
        top: the scenes with most pins.
    """

    scenes: int
    relation_pins: int
    entity_pins: int
    retired_pins: int
    stale_pins: int
    pinned_relations: int
    unpinned_relations: int
    top: tuple[SceneCount, ...] = ()


@dataclass(frozen=True, slots=True)
class TagReport(Value):
    """What a tagging did or, in a dry run, would do.

    Attributes:
        key: the normalised scene key.
        relations: the relations that match.
        changed: pins made, raised or removed.
        dry_run: whether nothing was written.
        backup: path of the copy made before, None where none was.
        missing: ids asked for that do not exist.
    """

    key: str
    relations: tuple[Relation, ...] = ()
    changed: int = 0
    dry_run: bool = False
    backup: str | None = None
    missing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SweepReport(Value):
    """What an upkeep removed or, in a dry run, would remove.

    Attributes:
        counts: rows by table or reason.
        relations: the relations concerned, whole (at most 1,000 are listed).
        reasons: relation id to the reason, for the listed ones.
        dry_run: whether nothing was written.
        backup: path of the copy made before, None where none was.
        notes: what else there is to know, in words.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    relations: tuple[Relation, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    dry_run: bool = False
    backup: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """All rows counted."""
        return sum(self.counts.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with ``total``."""
        plain = Value.to_dict(self)
        plain["reasons"] = {str(key): value for key, value in self.reasons.items()}
        plain["total"] = self.total
        return plain


@dataclass(frozen=True, slots=True)
class MergeReport(Value):
    """What merging one entity into another moved.

    Attributes:
        source, target: display names.
        moved: relations that now name the target.
        joined: relations that the target already had; their pins and sentences moved.
        backup: path of the copy made before, None where none was.
    """

    source: str
    target: str
    moved: int = 0
    joined: int = 0
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class Problem(Value):
    """One broken promise found by ``check``.

    Attributes:
        code: stable name of the check.
        count: rows concerned.
        detail: what is wrong, in words.
        repair: the method or step that mends it.
        severity: ``error``, or ``warning`` where answers are right all the same.
    """

    code: str
    count: int
    detail: str
    repair: str
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class CheckReport(Value):
    """The result of ``check``: ``ok`` where no error was found."""

    problems: tuple[Problem, ...] = ()
    checks: int = 0

    @property
    def ok(self) -> bool:
        """Whether no error was found; warnings do not count."""
        return all(each.severity != "error" for each in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with ``ok``."""
        return {"ok": self.ok, **Value.to_dict(self)}


@dataclass(frozen=True, slots=True)
class MemoryStatus(Value):
    """State of one memory file.

    Attributes:
        path: the file.
        bytes: size of the file and its WAL.
        entities, relations, retired, scenes: counts; relations are the active ones.
        index: ``ready``, ``stale`` (filled again by the next writer that has the
            tokenizer) or ``absent``; recall scans where it is not ready.
        tokenizer: whether this process has the tokenizer.
        tokenizer_error: why not.
        vectors: ``off``, ``ready``, ``building`` or ``unavailable``.
        vector_model, vector_dimension: the model of the stored vectors.
        vectors_ready, vectors_pending: relations that have a current vector, and that are to
            get one.
        vectors_refused: relations whose text the embedder refused: they are recalled by words.
        notes: what does not work at present, in words.
    """

    path: str
    bytes: int
    entities: int
    relations: int
    retired: int
    scenes: int
    index: Literal["ready", "stale", "absent"]
    tokenizer: bool
    tokenizer_error: str | None
    vectors: Literal["off", "ready", "building", "unavailable"]
    vector_model: str | None = None
    vector_dimension: int | None = None
    vectors_ready: int = 0
    vectors_pending: int = 0
    vectors_refused: int = 0
    notes: tuple[str, ...] = ()
