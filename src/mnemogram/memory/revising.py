# SPDX-License-Identifier: MIT
"""What a person says of a relation that is remembered: its kind, its trust, its weight."""

from __future__ import annotations

from mnemogram.errors import NotFound
from mnemogram.memory import graph, pins, scenes
from mnemogram.memory.models import Kind, Relation, Trust
from mnemogram.sqlite.database import Connection

__all__ = ["revise"]


def revise(
    connection: Connection,
    relation_id: int,
    kind: Kind | None,
    trust: Trust | None,
    weight: float | None,
    key: str | None,
) -> Relation:
    """Set what is not None, whatever was told; see ``SceneMemory.revise``.

    Raises:
        NotFound: there is no such relation, or it is not pinned there.
    """
    if connection.one("SELECT 1 FROM relations WHERE id = ?", (relation_id,)) is None:
        raise NotFound(f"no relation {relation_id}", hint="Use ids from an earlier answer.")
    if kind is not None:
        connection.execute("UPDATE relations SET kind = ? WHERE id = ?", (kind, relation_id))
    if trust is not None:
        connection.execute("UPDATE relations SET trust = ? WHERE id = ?", (trust, relation_id))
        # Of two tellings in one session that now have one trust, the newer stands.
        connection.execute(
            "DELETE FROM mentions AS m WHERE relation_id = ? AND EXISTS (SELECT 1 FROM mentions"
            " AS o WHERE o.relation_id = m.relation_id AND o.session_id = m.session_id"
            " AND (o.told_at, o.trust) > (m.told_at, m.trust))",
            (relation_id,),
        )
        connection.execute(
            "UPDATE mentions SET trust = ? WHERE relation_id = ?", (trust, relation_id)
        )
        connection.execute(
            "UPDATE scene_refs SET trust = ? WHERE kind = 'relation' AND ref_id = ?",
            (trust, relation_id),
        )
    if weight is not None:
        connection.execute(
            "UPDATE scene_refs SET weight = ? WHERE kind = 'relation' AND ref_id = ?"
            " AND (? IS NULL OR scene_id = (SELECT id FROM scenes WHERE key = ?))",
            (weight, relation_id, key, key),
        )
        if not connection.changes():
            raise NotFound(f"relation {relation_id} has no such pin", hint="Use tag_scene().")
    graph.refresh_sentence(connection, relation_id)
    pins.refresh_pins(connection, relation_id)
    return next(iter(scenes.whole(connection, (relation_id,))))
