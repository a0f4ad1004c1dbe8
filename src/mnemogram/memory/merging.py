# SPDX-License-Identifier: MIT
"""Making one entity of two: relations, names, sentences and pins move to the one that stays."""

from __future__ import annotations

from collections.abc import Iterator

from mnemogram.errors import InvalidArgument
from mnemogram.memory import graph, index, pins
from mnemogram.memory.models import MergeReport
from mnemogram.sqlite.database import Connection

__all__ = ["merge"]


def _names(connection: Connection, entity: int) -> Iterator[tuple[str, str]]:
    yield from connection.all_rows(
        "SELECT folded, name FROM entities WHERE id = :id"
        " UNION ALL SELECT folded, name FROM aliases WHERE entity_id = :id",
        {"id": entity},
    )


def merge(connection: Connection, source: str | int, target: str | int) -> MergeReport:
    """Make one entity take over all of another; see ``SceneMemory.merge_entities``."""
    from_id, to_id = (graph.entity_id(connection, each) for each in (source, target))
    if from_id == to_id:
        raise InvalidArgument("source and target are the same entity", hint="Name two entities.")
    names = [
        connection.one("SELECT name FROM entities WHERE id = ?", (each,))
        for each in (from_id, to_id)
    ]
    moved, joined = _take_over(connection, from_id, to_id)
    return MergeReport(names[0], names[1], moved, joined)


def _take_over(connection: Connection, source: int, target: int) -> tuple[int, int]:
    """Return how many relations were moved, and how many the target already had."""
    query = "SELECT id FROM relations WHERE subject_id IN (:a, :b) OR object_id IN (:a, :b)"
    touched = connection.column(query, {"a": source, "b": target})
    names = list(_names(connection, source))
    moved = joined = 0
    with index.reindexed(connection, touched):
        for relation_id, subject, type_folded, obj in connection.all_rows(
            "SELECT id, subject_id, type_folded, object_id FROM relations"
            " WHERE subject_id = :id OR object_id = :id ORDER BY id",
            {"id": source},
        ):
            new_subject = target if subject == source else subject
            new_object = target if obj == source else obj
            triple = (new_subject, type_folded, new_object)
            twin = graph.find_relation(connection, *triple)
            if twin is None:
                connection.execute(
                    "UPDATE relations SET subject_id = ?, object_id = ? WHERE id = ?",
                    (new_subject, new_object, relation_id),
                )
                moved += 1
            else:
                _join(connection, relation_id, twin.id)
                joined += 1
        pins.move_pins(connection, "entity", source, target)
        connection.execute("DELETE FROM aliases WHERE entity_id = ?", (source,))
        connection.execute("DELETE FROM entities WHERE id = ?", (source,))
        connection.executemany(
            "INSERT INTO aliases (folded, name, entity_id) VALUES (?, ?, ?)",
            ((folded, name, target) for folded, name in names),
        )
        graph.refresh_names(connection, target)
    return moved, joined


def _join(connection: Connection, relation_id: int, twin: int) -> None:
    """Make one relation of two that say the same; the twin survives.

    The caller has both out of the full-text index.
    """
    columns = (
        "SELECT kind, trust, confidence, status, created_at, told_at, retired_at, retired_by"
        " FROM relations WHERE id = ?"
    )
    mine = connection.first(columns, (relation_id,))
    theirs = connection.first(columns, (twin,))
    kind, trust = graph.stronger((theirs[0], theirs[1]), (mine[0], mine[1]))
    live = mine if mine[3] == "active" else theirs
    sentences = graph.told_sentences(connection, relation_id)
    sentences |= graph.told_sentences(connection, twin)
    for session_id, told_trust, told_at, sentence in connection.all_rows(
        "DELETE FROM mentions WHERE relation_id = ?"
        " RETURNING session_id, trust, told_at, sentence_id",
        (relation_id,),
    ):
        connection.execute(graph.MENTION, (twin, session_id, told_trust, told_at, sentence))
    sentence = connection.one(graph.BEST_SENTENCE, {"id": twin, "trust": trust})
    connection.execute(
        "UPDATE relations SET retired_by = ? WHERE retired_by = ?", (twin, relation_id)
    )
    pins.move_pins(connection, "relation", relation_id, twin)
    connection.execute("DELETE FROM relations WHERE id = ?", (relation_id,))
    connection.execute(
        "UPDATE relations SET kind = ?, trust = ?, confidence = ?, status = ?, created_at = ?,"
        " told_at = ?, retired_at = ?, retired_by = ?, sentence_id = ? WHERE id = ?",
        (kind, trust, max(mine[2], theirs[2]), live[3], min(mine[4], theirs[4]),
         max(mine[5], theirs[5]), live[6], None if live[7] == twin else live[7], sentence, twin),
    )  # fmt: skip
    graph.drop_unused_sentences(connection, sentences)
    pins.refresh_pins(connection, twin)
