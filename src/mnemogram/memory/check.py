# SPDX-License-Identifier: MIT
"""Proving what a memory promises; see ``SceneMemory.check``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import apsw

from mnemogram.memory import index, pins, scenes, sweep
from mnemogram.memory.copies import cut_backups
from mnemogram.memory.file import MemoryFile
from mnemogram.memory.models import CheckReport, Problem
from mnemogram.memory.names import fold_name
from mnemogram.sqlite.database import Connection
from mnemogram.text import normalize_scene_key

__all__ = ["check"]

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
        f"{pins.PRECEDENCE.format(trust='p.trust')})",
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
        f"SELECT count(*) FROM ({sweep.STALE_PINS})",
        "pins to rows that are gone; they are never shown",
        "purge_stale_scene_refs()",
        False,
    ),
    (
        "loose_pins",
        f"SELECT count(*) FROM ({sweep.LOOSE_SIDES})",
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
        f"SELECT count(*) FROM ({sweep.EMPTY_SCENES})",
        "scenes to which nothing is pinned",
        "purge_orphans(dry_run=False)",
        False,
    ),
    (
        "orphan_entities",
        f"SELECT count(*) FROM ({sweep.UNUSED_ENTITIES})",
        "entities that nothing names",
        "purge_orphans(dry_run=False)",
        False,
    ),
    (
        "orphan_sentences",
        f"SELECT count(*) FROM ({sweep.UNUSED_SENTENCES})",
        "sentences that nothing was told with",
        "purge_orphans(dry_run=False)",
        False,
    ),
    (
        "orphan_vectors",
        f"SELECT count(*) FROM ({sweep.UNUSED_VECTORS})",
        "vectors of relations that are gone",
        "purge_orphans(dry_run=False)",
        False,
    ),
)


def _wrong_names(connection: Connection) -> Iterator[Problem]:
    rows = connection.each_row(
        "SELECT folded, name FROM entities UNION ALL SELECT folded, name FROM aliases"
    )
    wrong = sum(folded != fold_name(name) for folded, name in rows)
    if wrong:
        yield Problem(
            "name_not_folded", wrong, "names are kept under another name", "restore from a backup"
        )
    keys = sum(
        key != normalize_scene_key(key) for (key,) in connection.each_row("SELECT key FROM scenes")
    )
    if keys:
        yield Problem(
            "key_not_normal", keys, "scene keys are not in normal form", "restore from a backup"
        )


def _merged_scenes(connection: Connection) -> Iterator[Problem]:
    keys = pins.scenes_of_two(connection)
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
    for scene_id, key in connection.all_rows("SELECT id, key FROM scenes"):
        answers = [
            scenes.heads(connection, scene_id, key, key, 1_000_000, query)
            for query in (scenes.BY_WEIGHT, scenes.RULES_FIRST)
        ]
        shown = [[pin.relation_id for pin in each] for each in answers]
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
        answers = connection.column("PRAGMA quick_check(20)")
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
    broken = connection.all_rows("PRAGMA foreign_key_check")
    if broken:
        yield Problem(
            "foreign_keys", len(broken), "rows refer to rows that are gone", "restore from a backup"
        )


def check(file: MemoryFile) -> CheckReport:
    """Prove the promises of the file; see ``SceneMemory.check``."""
    database = file.database
    problems: list[Problem] = []
    parts: tuple[Callable[[Connection], Iterator[Problem]], ...] = (
        _wrong_names,
        _merged_scenes,
        _shown,
    )
    # A fresh connection: quick_check on one that has used the index before may compare
    # with a list of segments that another connection has since replaced.
    with file.read_only() as connection:
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
    cut = [each.name for each in cut_backups(database)]
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
