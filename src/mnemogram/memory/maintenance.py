# SPDX-License-Identifier: MIT
"""Upkeep: copies, sweeping, forgetting, counting and checking."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Final

import apsw

from mnemogram.errors import InvalidArgument, StorageUnavailable
from mnemogram.memory import graph, index, scenes
from mnemogram.memory.models import (
    CheckReport,
    Problem,
    Relation,
    SceneCount,
    SceneStats,
    SweepReport,
)
from mnemogram.memory.names import fold_name
from mnemogram.memory.readonly import ReadOnly
from mnemogram.memory.rows import all_rows, each_row
from mnemogram.memory.schema import BY_HAND, WITH_RELATION, last_merging_scene
from mnemogram.memory.stopwords import names_nothing
from mnemogram.sqlite.backup import backup, is_whole, remove_copy, sweep
from mnemogram.sqlite.database import Connection, Database
from mnemogram.text import normalize_scene_key

__all__ = ["backup", "check", "noise", "orphans", "scene_stats", "scrub", "stale_pins"]

#: Copies made before changes that are kept; older ones are removed.
KEPT_BACKUPS: Final = 5
#: Relations listed in a report.
LISTED: Final = 1_000


# --- copies ----------------------------------------------------------------------------

_COPY: Final = ".backup-"
_MOMENT: Final = "%Y%m%dT%H%M%S.%fZ"
_MOMENT_SHAPE: Final = re.compile(r"\d{8}T\d{6}\.\d{6}Z")


def backups(database: Database) -> list[Path]:
    """Return the automatic copies beside the file, the newest first, cut ones too."""
    begin = f"{database.path.name}{_COPY}"
    found = (
        each
        for each in database.path.parent.iterdir()
        if each.name.startswith(begin) and _MOMENT_SHAPE.fullmatch(each.name[len(begin) :])
    )
    return sorted((each for each in found if each.is_file()), reverse=True)


def _next_name(database: Database) -> Path:
    """Return a name that sorts after those of all copies, whatever the clock says."""
    moment = datetime.now(timezone.utc)
    for newest in backups(database)[:1]:
        with suppress(ValueError, OverflowError):
            text = newest.name.rpartition(_COPY)[2]
            last = datetime.strptime(text, _MOMENT).replace(tzinfo=timezone.utc)
            moment = max(moment, last + timedelta(microseconds=1))
    return Path(f"{database.path}{_COPY}{moment.strftime(_MOMENT)}")


def automatic_backup(database: Database) -> Path:
    """Copy the file beside itself and keep the newest five copies that are whole."""
    sweep(database.path.parent, f"{database.path.name}{_COPY}")
    while True:
        target = _next_name(database)
        try:
            made = backup(database, target)
            break
        except InvalidArgument:
            if not target.exists():  # else another process was faster with this name
                raise
    if not is_whole(made, database.schema):
        raise StorageUnavailable(
            f"{made}, the copy made before the change, is not whole: nothing was changed",
            hint="Run check(): the memory or the disk is damaged.",
        )
    whole = 0
    for each in backups(database):
        if each != made and whole >= KEPT_BACKUPS:
            remove_copy(each)
        elif is_whole(each, database.schema):
            whole += 1
    return made


def remove_copies(database: Database) -> int:
    """Remove every automatic copy, and what killed ones left; return how many there were."""
    copies = backups(database)
    for each in copies:
        remove_copy(each)
    return len(copies) + sweep(database.path.parent, f"{database.path.name}{_COPY}")


def scrub(database: Database) -> tuple[str, ...]:
    """Give freed pages back and empty the WAL, so that no deleted text stays.

    The writer's ``secure_delete`` has overwritten the text in the pages already.
    """
    with database.exclusive() as connection:
        for _ in each_row(connection, "PRAGMA incremental_vacuum"):
            pass
        row = next(each_row(connection, "PRAGMA wal_checkpoint(TRUNCATE)"), (0, 0, 0))
        if row[0]:
            return ("a reader kept the WAL in use: run forget or maintain again to empty it",)
    return ()


# --- what can be swept -----------------------------------------------------------------

_UNPINNED: Final = """
SELECT id, subject, relation, object, kind, trust, confidence, sentence, status, created_at,
       told_at, retired_at, retired_by, subject_id, object_id
  FROM relations_whole AS w
 WHERE kind = 'fact' AND trust <> 'confirmed'
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p WHERE p.kind = 'relation' AND p.ref_id = w.id)
 ORDER BY id
"""
_STALE_PINS: Final = """
SELECT scene_id, kind, ref_id FROM scene_refs AS p
 WHERE NOT EXISTS (SELECT 1 FROM scenes AS s WHERE s.id = p.scene_id)
    OR (kind = 'relation' AND NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.id = p.ref_id))
    OR (kind = 'entity' AND NOT EXISTS (SELECT 1 FROM entities AS e WHERE e.id = p.ref_id))
"""
# Entities that were pinned with a relation which is not pinned there any more.
_LOOSE_SIDES: Final = f"""
SELECT scene_id, kind, ref_id FROM scene_refs AS p
 WHERE kind = 'entity' AND precedence = {WITH_RELATION} AND {scenes.NO_SIDE}
"""
# What is an orphan once the stale pins are gone, which are swept with it.
_EMPTY_SCENES: Final = f"""
SELECT id FROM scenes AS s
 WHERE NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN relations AS r ON r.id = p.ref_id
                    WHERE p.scene_id = s.id AND p.kind = 'relation')
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN entities AS e ON e.id = p.ref_id
                    WHERE p.scene_id = s.id AND p.kind = 'entity'
                      AND p.precedence = {BY_HAND})
"""
_UNUSED_ENTITIES: Final = f"""
SELECT id FROM entities AS e
 WHERE NOT EXISTS (SELECT 1 FROM relations WHERE subject_id = e.id)
   AND NOT EXISTS (SELECT 1 FROM relations WHERE object_id = e.id)
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN scenes AS s ON s.id = p.scene_id
                    WHERE p.kind = 'entity' AND p.ref_id = e.id
                      AND p.precedence = {BY_HAND})
"""
_UNUSED_SENTENCES: Final = """
SELECT id FROM sentences AS t
 WHERE NOT EXISTS (SELECT 1 FROM relations WHERE sentence_id = t.id)
   AND NOT EXISTS (SELECT 1 FROM mentions WHERE sentence_id = t.id)
"""
_UNUSED_VECTORS: Final = """
SELECT relation_id FROM vectors AS v
 WHERE NOT EXISTS (SELECT 1 FROM relations AS r WHERE r.id = v.relation_id)
"""


def noise(connection: Connection, min_confidence: float) -> Iterator[tuple[Relation, str]]:
    """Yield relations that say nothing, each with the reason.

    Facts only, never confirmed, never pinned: told with less than
    ``min_confidence``; a thing related to itself; a name of nothing but
    punctuation; or names that are function words, where the relation is one too or
    confidence was not full.
    """
    for row in all_rows(connection, _UNPINNED):
        relation = Relation(*row)
        names = (relation.subject, relation.object)
        if relation.confidence < min_confidence:
            yield relation, f"confidence below {min_confidence:g}"
        elif relation.subject_id == relation.object_id:
            yield relation, "related to itself"
        elif not all(index.words_of(each) for each in names):
            yield relation, "a name without a letter or digit"
        elif all(map(names_nothing, names)) and (
            relation.confidence < 1 or names_nothing(relation.relation)
        ):
            yield relation, "neither name says anything"


def stale_pins(connection: Connection) -> list[tuple[int, str, int]]:
    """Return the pins whose scene, relation or entity is gone, or that went with one."""
    return all_rows(connection, f"{_STALE_PINS} UNION {_LOOSE_SIDES}")


_ORPHANS: Final = {
    "entities": _UNUSED_ENTITIES,
    "sentences": _UNUSED_SENTENCES,
    "scenes": _EMPTY_SCENES,
    "vectors": _UNUSED_VECTORS,
}


def orphans(connection: Connection) -> dict[str, int]:
    """Count the rows that nothing refers to, by table; stale pins where there are any."""
    counts = {
        table: int(connection.one(f"SELECT count(*) FROM ({query})"))
        for table, query in _ORPHANS.items()
    }
    return counts | _with_pins(len(stale_pins(connection)))


def _with_pins(stale: int) -> dict[str, int]:
    """Return the entry of a count of stale pins; none where there are none."""
    return {"pins": stale} if stale else {}


def sweep_stale_pins(connection: Connection) -> dict[str, int]:
    """Delete stale pins and the scenes they leave empty; return the rows by table."""
    stale = stale_pins(connection)
    for pin in stale:
        connection.execute(
            "DELETE FROM scene_refs WHERE scene_id = ? AND kind = ? AND ref_id = ?", pin
        )
    emptied = scenes.drop_empty_scenes(connection, {pin[0] for pin in stale})
    return {"pins": len(stale), "scenes": emptied}


def sweep_orphans(connection: Connection) -> dict[str, int]:
    """Delete stale pins and what nothing refers to; return the rows by table."""
    pins = sweep_stale_pins(connection)
    found = {
        table: [row[0] for row in each_row(connection, query)] for table, query in _ORPHANS.items()
    }
    counts = {
        "entities": graph.drop_unused_entities(connection, found["entities"]),
        "sentences": graph.drop_unused_sentences(connection, found["sentences"]),
        "scenes": pins["scenes"] + scenes.drop_empty_scenes(connection, found["scenes"]),
    }
    for each in found["vectors"]:
        connection.execute("DELETE FROM vectors WHERE relation_id = ?", (each,))
    counts["vectors"] = len(found["vectors"])
    return counts | _with_pins(pins["pins"])


def noise_counts(connection: Connection, relations: int) -> dict[str, int]:
    """Count what a sweep of noise would delete, with the stale pins it finds."""
    return {"relations": relations} | _with_pins(len(stale_pins(connection)))


def sweep_noise(connection: Connection, relation_ids: Iterable[int]) -> dict[str, int]:
    """Delete relations that say nothing, and stale pins; return the rows by table."""
    counts = graph.delete_relations(connection, relation_ids)
    for table, count in sweep_stale_pins(connection).items():
        counts[table] += count
    return counts


def report(
    found: Iterable[tuple[Relation, str]], *, dry_run: bool, counts: dict[str, int]
) -> SweepReport:
    """Return a report that lists at most 1,000 of the relations found."""
    listed = list(found)
    return SweepReport(
        counts=counts,
        relations=tuple(each for each, _ in listed[:LISTED]),
        reasons={each.id: reason for each, reason in listed[:LISTED]},
        dry_run=dry_run,
    )


# --- counting --------------------------------------------------------------------------

_PIN_COUNTS: Final = """
SELECT coalesce(sum(p.kind = 'relation' AND r.status = 'active'), 0),
       coalesce(sum(p.kind = 'entity' AND e.id IS NOT NULL), 0),
       coalesce(sum(p.kind = 'relation' AND r.status = 'retired'), 0)
  FROM scene_refs AS p
  JOIN scenes AS s ON s.id = p.scene_id
  LEFT JOIN relations AS r ON p.kind = 'relation' AND r.id = p.ref_id
  LEFT JOIN entities AS e ON p.kind = 'entity' AND e.id = p.ref_id
"""
_UNPINNED_COUNT: Final = """
SELECT count(*) FROM relations AS r
 WHERE status = 'active'
   AND NOT EXISTS (SELECT 1 FROM scene_refs AS p JOIN scenes AS s ON s.id = p.scene_id
                    WHERE p.kind = 'relation' AND p.ref_id = r.id)
"""
_SCENE_COUNTS: Final = """
SELECT s.key,
       coalesce(sum(p.kind = 'relation' AND r.status = 'active'), 0) AS relations,
       coalesce(sum(p.kind = 'entity' AND e.id IS NOT NULL), 0) AS entities,
       coalesce(sum((p.kind = 'relation' AND r.id IS NULL)
                    OR (p.kind = 'entity' AND e.id IS NULL)), 0)
  FROM scenes AS s
  LEFT JOIN scene_refs AS p ON p.scene_id = s.id
  LEFT JOIN relations AS r ON p.kind = 'relation' AND r.id = p.ref_id
  LEFT JOIN entities AS e ON p.kind = 'entity' AND e.id = p.ref_id
 WHERE :key = '' OR s.key = :key OR (s.key >= :key || '/' AND s.key < :key || '0')
 GROUP BY s.id ORDER BY {order} LIMIT :most
"""


def scene_stats(connection: Connection, *, top: int) -> SceneStats:
    """Count scenes and pins."""
    relations, entities, retired = next(each_row(connection, _PIN_COUNTS))
    active = int(connection.one("SELECT count(*) FROM relations WHERE status = 'active'"))
    unpinned = int(connection.one(_UNPINNED_COUNT))
    busiest = _SCENE_COUNTS.format(order="relations + entities DESC, s.key")
    return SceneStats(
        scenes=int(connection.one("SELECT count(*) FROM scenes")),
        relation_pins=relations,
        entity_pins=entities,
        retired_pins=retired,
        stale_pins=int(connection.one(f"SELECT count(*) FROM ({_STALE_PINS})")),
        pinned_relations=active - unpinned,
        unpinned_relations=unpinned,
        top=tuple(
            SceneCount(*row) for row in each_row(connection, busiest, {"key": "", "most": top})
        ),
    )


def list_scenes(connection: Connection, key: str, *, limit: int) -> list[SceneCount]:
    """Return the scenes at and below a key (all, for ``""``), by key."""
    query = _SCENE_COUNTS.format(order="s.key")
    return [SceneCount(*row) for row in each_row(connection, query, {"key": key, "most": limit})]


# --- checking --------------------------------------------------------------------------

_CHECKS: Final[tuple[tuple[str, str, str, str, bool], ...]] = (
    (
        "relation_without_entity",
        "SELECT count(*) FROM relations AS r"
        " WHERE NOT EXISTS (SELECT 1 FROM entities WHERE id = r.subject_id)"
        " OR NOT EXISTS (SELECT 1 FROM entities WHERE id = r.object_id)",
        "relations name an entity that is gone",
        "restore from a backup",
        True,
    ),
    (
        "relation_without_mention",
        "SELECT count(*) FROM relations AS r"
        " WHERE NOT EXISTS (SELECT 1 FROM mentions WHERE relation_id = r.id)",
        "relations that nobody told",
        "restore from a backup",
        True,
    ),
    (
        "mention_without_relation",
        "SELECT count(*) FROM mentions AS m"
        " WHERE NOT EXISTS (SELECT 1 FROM relations WHERE id = m.relation_id)",
        "tellings of a relation that is gone",
        "restore from a backup",
        True,
    ),
    (
        "missing_sentence",
        "SELECT count(*) FROM relations AS r WHERE sentence_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM sentences WHERE id = r.sentence_id)",
        "relations show a sentence that is gone",
        "restore from a backup",
        True,
    ),
    (
        "untold_sentence",
        "SELECT count(*) FROM relations AS r WHERE sentence_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM mentions"
        "                  WHERE relation_id = r.id AND sentence_id = r.sentence_id)",
        "relations show a sentence that none of their tellings has",
        "restore from a backup",
        True,
    ),
    (
        "document_words",
        "SELECT count(*) FROM relations AS r WHERE sentence_id IS NOT NULL"
        " AND trust <> 'document' AND NOT EXISTS (SELECT 1 FROM mentions"
        "  WHERE relation_id = r.id AND sentence_id = r.sentence_id AND trust <> 'document')",
        "words of a document stand under a relation that a person told",
        "restore from a backup",
        True,
    ),
    (
        "duplicate_pins",
        "SELECT count(*) FROM (SELECT 1 FROM scene_refs GROUP BY scene_id, kind, ref_id"
        " HAVING count(*) > 1)",
        "a row is pinned twice to one scene",
        "restore from a backup",
        True,
    ),
    (
        "pin_out_of_line",
        "SELECT count(*) FROM scene_refs AS p JOIN relations AS r ON r.id = p.ref_id"
        " WHERE p.kind = 'relation' AND (p.told_at <> r.told_at OR p.precedence <> "
        f"{scenes.PRECEDENCE.format(trust='p.trust')})",
        "pins repeat a time or a precedence that their relation does not have",
        "restore from a backup",
        True,
    ),
    (
        "alias_is_entity",
        "SELECT count(*) FROM aliases AS a WHERE EXISTS"
        " (SELECT 1 FROM entities WHERE folded = a.folded)"
        " OR NOT EXISTS (SELECT 1 FROM entities WHERE id = a.entity_id)",
        "other names that are an entity's own, or nobody's",
        "restore from a backup",
        True,
    ),
    (
        "names_out_of_line",
        "SELECT count(*) FROM entities AS e WHERE names <> name ||"
        " coalesce((SELECT group_concat(' ' || a.name, '' ORDER BY a.folded)"
        "             FROM aliases AS a WHERE a.entity_id = e.id), '')",
        "entities are searched by names that are not theirs",
        "restore from a backup",
        True,
    ),
    (
        "stale_pins",
        f"SELECT count(*) FROM ({_STALE_PINS})",
        "pins to rows that are gone; they are never shown",
        "purge_stale_scene_refs()",
        False,
    ),
    (
        "loose_pins",
        f"SELECT count(*) FROM ({_LOOSE_SIDES})",
        "entities are pinned with a relation that is not pinned there",
        "purge_stale_scene_refs()",
        False,
    ),
    (
        "side_not_pinned",
        "SELECT count(*) FROM scene_refs AS p JOIN relations AS r ON r.id = p.ref_id"
        " JOIN scenes AS s ON s.id = p.scene_id"
        " WHERE p.kind = 'relation' AND EXISTS (SELECT 1 FROM entities AS e"
        "  WHERE e.id IN (r.subject_id, r.object_id) AND NOT EXISTS (SELECT 1 FROM scene_refs"
        "   WHERE scene_id = p.scene_id AND kind = 'entity' AND ref_id = e.id))",
        "relations are pinned without their entities",
        "repair()",
        False,
    ),
    (
        "empty_scenes",
        f"SELECT count(*) FROM ({_EMPTY_SCENES})",
        "scenes to which nothing is pinned",
        "purge_orphans(dry_run=False)",
        False,
    ),
    (
        "orphan_entities",
        f"SELECT count(*) FROM ({_UNUSED_ENTITIES})",
        "entities that nothing names",
        "purge_orphans(dry_run=False)",
        False,
    ),
    (
        "orphan_sentences",
        f"SELECT count(*) FROM ({_UNUSED_SENTENCES})",
        "sentences that nothing was told with",
        "purge_orphans(dry_run=False)",
        False,
    ),
    (
        "orphan_vectors",
        f"SELECT count(*) FROM ({_UNUSED_VECTORS})",
        "vectors of relations that are gone",
        "purge_orphans(dry_run=False)",
        False,
    ),
)


def _wrong_names(connection: Connection) -> Iterator[Problem]:
    rows = each_row(
        connection, "SELECT folded, name FROM entities UNION ALL SELECT folded, name FROM aliases"
    )
    wrong = sum(folded != fold_name(name) for folded, name in rows)
    if wrong:
        yield Problem(
            "name_not_folded", wrong, "names are kept under another name", "restore from a backup"
        )
    keys = sum(
        key != normalize_scene_key(key) for (key,) in each_row(connection, "SELECT key FROM scenes")
    )
    if keys:
        yield Problem(
            "key_not_normal", keys, "scene keys are not in normal form", "restore from a backup"
        )


_OF_TWO: Final = f"""
SELECT s.key FROM scenes AS s
 WHERE s.id <= ?
   AND (SELECT count(*) FROM scene_refs
         WHERE scene_id = s.id AND (kind = 'relation' OR precedence = {BY_HAND})) > 1
 ORDER BY s.key
"""


def scenes_of_two(connection: Connection) -> list[str]:
    """Return keys that may hold what was told in several situations.

    They were made when symbols were lost from keys without a trace, and more than one thing
    is pinned to them.
    """
    return [row[0] for row in each_row(connection, _OF_TWO, (last_merging_scene(connection),))]


def warning_of_two(connection: Connection, key: str | None) -> tuple[str, ...]:
    """Return what to say before what is pinned at or below a key is forgotten."""
    within = [
        each
        for each in (scenes_of_two(connection) if key is not None else ())
        if f"{each}/".startswith(f"{key}/")
    ]
    if not within:
        return ()
    listed = ", ".join(within[:20])
    return (f"may hold what was told of other names without their symbols, see check(): {listed}",)


def _merged_scenes(connection: Connection) -> Iterator[Problem]:
    keys = scenes_of_two(connection)
    if keys:
        listed = ", ".join(keys[:20]) + (", ..." if len(keys) > 20 else "")
        yield Problem(
            "key_may_hold_two",
            len(keys),
            f"scenes of an earlier release, whose keys lost their symbols: {listed}",
            "look with recall_by_scene(key); untag_scene(key), and tag_scene() with the full name",
            "warning",
        )


def _shown(connection: Connection) -> Iterator[Problem]:
    """Recall every scene as a reader would, and look at what comes."""
    wrong = 0
    for scene_id, key in all_rows(connection, "SELECT id, key FROM scenes"):
        answers = [
            scenes.heads(connection, scene_id, key, key, 1_000_000, query)
            for query in (scenes.BY_WEIGHT, scenes.RULES_FIRST)
        ]
        shown = [[pin.relation_id for pin in pins] for pins in answers]
        wrong += sorted(shown[0]) != sorted(set(shown[0])) or sorted(shown[0]) != sorted(shown[1])
        relations = scenes.whole(connection, shown[0])
        statuses = [each.status for each in relations]
        wrong += statuses != ["active"] * len(shown[0])
    if wrong:
        yield Problem(
            "recall_shows_wrong",
            wrong,
            "recall by scene shows something retired, missing or twice",
            "restore from a backup",
        )


def _structure(connection: Connection) -> Iterator[Problem]:
    try:
        answers = [row[0] for row in each_row(connection, "PRAGMA quick_check(20)")]
    except apsw.CorruptError as error:
        answers = [str(error)]
    # SQLite asks the full-text index too; what is wrong there alone can be made anew.
    index_answers = [each for each in answers if "fts5" in str(each).lower()]
    answers = [each for each in answers if each not in index_answers]
    if index_answers:
        detail = f"the full-text index: {index_answers[0]}"
        yield Problem("index_damaged", len(index_answers), detail, "repair()")
    if answers not in ([], ["ok"]):
        yield Problem(
            "damaged", len(answers), "; ".join(map(str, answers[:3])), "restore from a backup"
        )
        return
    broken = all_rows(connection, "PRAGMA foreign_key_check")
    if broken:
        yield Problem(
            "foreign_keys", len(broken), "rows refer to rows that are gone", "restore from a backup"
        )


def check(database: Database) -> CheckReport:
    """Prove the promises of the file; see ``SceneMemory.check``."""
    problems: list[Problem] = []
    parts: tuple[Callable[[Connection], Iterator[Problem]], ...] = (
        _wrong_names,
        _merged_scenes,
        _shown,
    )
    # A fresh connection: quick_check on one that has used the index before may compare
    # with a list of segments that another connection has since replaced.
    with ReadOnly(database) as connection:
        problems.extend(_structure(connection))
        if any(each.code == "damaged" for each in problems):
            return CheckReport(tuple(problems), 1)  # the rest would trip over it
        for code, query, detail, repair, is_error in _CHECKS:
            count = int(connection.one(query))
            if count:
                severity = "error" if is_error else "warning"
                problems.append(Problem(code, count, detail, repair, severity))  # type: ignore[arg-type]
        for part in parts:
            problems.extend(part(connection))
        state = index.state(connection)
    checks = len(_CHECKS) + len(parts) + 2
    cut = [each.name for each in backups(database) if not is_whole(each, database.schema)]
    if cut:
        problems.append(
            Problem(
                "copies_cut",
                len(cut),
                f"automatic copies of which a part is missing: {', '.join(cut[:20])}",
                "remove them; they do not count among the copies that are kept",
                "warning",
            )
        )
    if state != "ready":
        problems.append(
            Problem(
                "index_not_ready",
                1,
                f"the full-text index is {state}; recall scans the relations",
                "open the file for writing where the tokenizer can be loaded",
                "warning",
            )
        )
    elif database.has_tokenizer and not database.read_only:
        checks += 1
        with database.write() as connection:
            wrong = index.integrity(connection)
        if wrong is not None:
            problems.append(
                Problem("index_differs", 1, f"the full-text index: {wrong}", "repair()")
            )
    return CheckReport(tuple(problems), checks)
