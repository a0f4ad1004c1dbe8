# SPDX-License-Identifier: MIT
"""Recall by meaning: vectors of a host's embedder, compared by sqlite-vec.

Each relation has at most one vector, of the text that the full-text index sees.
The model's name and dimension are kept with it; vectors of another model stay
unused until the upkeep has replaced them. The embedder is never called inside a
transaction: a slow model must not hold the write lock.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import apsw

from mnemogram.errors import ExtensionUnavailable, InvalidArgument
from mnemogram.memory.rows import all_rows, each_row
from mnemogram.sqlite.database import Connection, Database

__all__ = ["Embedder", "Vectors"]

Embedder: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]

_TEXT: Final = """
SELECT id, subject || ' ' || type || ' ' || object || coalesce('. ' || sentence, '')
  FROM relations_projection WHERE id = ?
"""
_PENDING: Final = """
SELECT r.id FROM relations AS r
  LEFT JOIN vectors AS v ON v.relation_id = r.id AND v.model_id = :model
 WHERE v.relation_id IS NULL AND r.status = 'active' ORDER BY r.id DESC LIMIT :most
"""
_COUNT_PENDING: Final = """
SELECT count(*) FROM relations AS r
  LEFT JOIN vectors AS v ON v.relation_id = r.id AND v.model_id = :model
 WHERE v.relation_id IS NULL AND r.status = 'active'
"""
_STORE: Final = """
INSERT INTO vectors (relation_id, model_id, embedding) VALUES (?, ?, vec_normalize(?))
ON CONFLICT (relation_id) DO UPDATE
   SET model_id = excluded.model_id, embedding = excluded.embedding
"""
# Vectors have length 1, so the order by cosine is the order by distance.
_NEAREST: Final = """
SELECT v.relation_id, 1.0 - vec_distance_cosine(v.embedding, :query) AS similarity
  FROM vectors AS v
  JOIN relations AS r ON r.id = v.relation_id
 WHERE v.model_id = :model AND r.status = 'active' AND similarity >= :floor
 ORDER BY similarity DESC, v.relation_id DESC LIMIT :most
"""
_MODEL: Final = "SELECT id, dimension FROM embedding_models WHERE name = ? ORDER BY id DESC LIMIT 1"
_NEWEST_MODEL: Final = "SELECT id, name, dimension FROM embedding_models ORDER BY id DESC LIMIT 1"
_NEW_MODEL: Final = """
INSERT INTO embedding_models (name, dimension, created_at) VALUES (?, ?, ?) RETURNING id
"""
#: Texts given to the embedder at once.
BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class Model:
    """The model of the stored vectors."""

    id: int
    name: str
    dimension: int


def _name_of(embedder: Embedder) -> str:
    for attribute in ("model_name", "name", "__qualname__"):
        value = getattr(embedder, attribute, None)
        if isinstance(value, str) and value and "<" not in value:
            return value
    return type(embedder).__name__


class Vectors:
    """The vectors of one memory file.

    Args:
        database: the file.
        embedder: texts to vectors; called outside of transactions, from any thread.
        name: recorded with the vectors: another name means they are made anew.
        floor: least cosine similarity that counts as a match, -1 to 1.
    """

    def __init__(
        self, database: Database, embedder: Embedder, name: str | None, floor: float
    ) -> None:
        self._database = database
        self._embedder = embedder
        self.name = name or _name_of(embedder)
        self.floor = floor
        self._path: str | None = None
        #: Why no vectors can be used at all, and what the embedder raised last.
        self.error: str | None = None
        self.last_failure: str | None = None
        try:
            import sqlite_vec  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            self.error = "sqlite-vec is not installed: pip install mnemogram[vector]"
        else:
            self._path = sqlite_vec.loadable_path()

    # -- sqlite-vec

    def _load(self, connection: Connection) -> None:
        """Load sqlite-vec into a connection that does not have it yet."""
        if self._path is None:
            raise ExtensionUnavailable(
                str(self.error), hint="Install the extra, or open without an embedder."
            )
        if connection.one("SELECT 1 FROM pragma_function_list WHERE name = 'vec_normalize'"):
            return
        try:
            connection.enable_load_extension(True)
            try:
                connection.load_extension(self._path)
            finally:
                connection.enable_load_extension(False)
        except apsw.ExtensionLoadingError as error:
            self.error = f"sqlite-vec cannot be loaded: {error}"
            raise ExtensionUnavailable(
                self.error, hint="Reinstall sqlite-vec for this platform."
            ) from error

    # -- the embedder

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return the texts' vectors as little-endian float32.

        Raises:
            InvalidArgument: the embedder's answer is not one vector for each text,
                all of one dimension, finite and not zero.
        """
        answer = self._embedder(texts)
        vectors = [[float(number) for number in vector] for vector in answer]
        if len(vectors) != len(texts):
            raise InvalidArgument(
                f"the embedder gave {len(vectors)} vectors for {len(texts)} texts",
                hint="It must return one vector for each text, in order.",
            )
        for vector in vectors:
            if not vector or len(vector) != len(vectors[0]):
                raise InvalidArgument(
                    "the embedder gave vectors of different dimensions, or empty ones",
                    hint="All vectors of one model have the same dimension.",
                )
            # Not a number, infinite and all zero: none of them has a direction.
            if not 0.0 < sum(number * number for number in vector) < float("inf"):
                raise InvalidArgument(
                    "the embedder gave a vector that is zero or not finite",
                    hint="Check the model; a text was embedded to no direction.",
                )
        return [struct.pack(f"<{len(vector)}f", *vector) for vector in vectors]

    def model(self, connection: Connection) -> Model | None:
        """Return the current model as recorded, None before its first vector."""
        for row in each_row(connection, _MODEL, (self.name,)):
            newest = connection.one("SELECT max(id) FROM embedding_models")
            return Model(row[0], self.name, row[1]) if row[0] == newest else None
        return None

    def _claim(self, connection: Connection, dimension: int, now: int) -> int:
        held = self.model(connection)
        if held is not None and held.dimension == dimension:
            return held.id
        return int(connection.one(_NEW_MODEL, (self.name, dimension, now)))

    # -- writing

    def update(self, relation_ids: Sequence[int], now: int) -> int:
        """Embed and store the vectors of relations; return how many were stored.

        A relation that changed or went while its text was with the embedder is
        left for later.
        """
        stored = 0
        for start in range(0, len(relation_ids), BATCH):
            texts: dict[int, str] = {}
            with self._database.read() as connection:
                for each in relation_ids[start : start + BATCH]:
                    texts.update(all_rows(connection, _TEXT, (each,)))
            if not texts:
                continue
            embedded = dict(zip(texts, self.embed(list(texts.values())), strict=True))
            with self._database.exclusive() as connection:
                self._load(connection)
            with self._database.write() as connection:
                dimension = len(next(iter(embedded.values()))) // 4
                model = self._claim(connection, dimension, now)
                for each, vector in embedded.items():
                    if dict(all_rows(connection, _TEXT, (each,))) == {each: texts[each]}:
                        connection.execute(_STORE, (each, model, vector))
                        stored += 1
        return stored

    def pending(self, most: int) -> list[int]:
        """Return ids of relations without a current vector, the newest first."""
        with self._database.read() as connection:
            model = self.model(connection)
            values = {"model": model.id if model else 0, "most": most}
            return [row[0] for row in each_row(connection, _PENDING, values)]

    # -- reading

    def nearest(
        self, connection: Connection, query: bytes, *, most: int
    ) -> tuple[list[tuple[int, float]], str | None]:
        """Return relation ids with cosine similarity, nearest first, and a note."""
        self._load(connection)
        model = self.model(connection)
        if model is None or model.dimension * 4 != len(query):
            return [], "no vectors of this model are stored yet: run maintain()"
        rows = all_rows(
            connection,
            _NEAREST,
            {"query": query, "model": model.id, "floor": self.floor, "most": most},
        )
        return rows, None

    def status(
        self, connection: Connection
    ) -> tuple[Literal["ready", "building", "unavailable"], Model | None, int, int]:
        """Return the state, the model, and how many vectors are ready and pending."""
        model = self.model(connection)
        model_id = model.id if model else 0
        pending = int(connection.one(_COUNT_PENDING, {"model": model_id}))
        ready = int(connection.one("SELECT count(*) FROM vectors WHERE model_id = ?", (model_id,)))
        if self.error is not None:
            return "unavailable", model, ready, pending
        return ("building" if pending else "ready"), model, ready, pending


def drop_old_models(connection: Connection) -> None:
    """Drop the vectors of all models but the newest, once that one has its own."""
    newest = connection.one("SELECT max(id) FROM embedding_models")
    connection.execute("DELETE FROM vectors WHERE model_id <> ?", (newest,))
    connection.execute("DELETE FROM embedding_models WHERE id <> ?", (newest,))


def recorded(connection: Connection) -> dict[str, Any] | None:
    """Return name and dimension of the newest model in the file, None without one."""
    for row in each_row(connection, _NEWEST_MODEL):
        return {"name": row[1], "dimension": row[2]}
    return None
