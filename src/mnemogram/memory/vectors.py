# SPDX-License-Identifier: MIT
"""Recall by meaning: vectors of a host's embedder, compared by sqlite-vec.

Each relation has at most one vector, of the text that the full-text index sees.
The model's name and dimension are kept with it; vectors of another model stay
unused until the upkeep has replaced them. The embedder is never called inside a
transaction: a slow model must not hold the write lock.

A text that the embedder refuses costs itself alone: the batch is halved until it
stands by itself, and is remembered as refused by this model. Whether the text is to
blame or the model is out of order tells a text that nobody can object to.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, TypeAlias

import apsw

from mnemogram.errors import ExtensionUnavailable, InvalidArgument
from mnemogram.sqlite.database import Connection, Database
from mnemogram.values import storable

__all__ = ["Embedder", "Vectors"]

Embedder: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]

_TEXT: Final = """
SELECT id, subject || ' ' || type || ' ' || object || coalesce('. ' || sentence, '')
  FROM relations_projection WHERE id = ?
"""
_MISSING: Final = """
  FROM relations AS r
  LEFT JOIN vectors AS v ON v.relation_id = r.id AND v.model_id = :model
  LEFT JOIN refusals AS f ON f.relation_id = r.id AND f.model = :name
 WHERE v.relation_id IS NULL AND r.status = 'active'
"""
_PENDING: Final = f"""
SELECT r.id {_MISSING}
   AND (f.relation_id IS NULL OR f.retry_at <= :now) ORDER BY r.id DESC LIMIT :most
"""
_COUNT_MISSING: Final = f"""
SELECT count(*) - count(f.relation_id), count(f.relation_id), max(f.reason) {_MISSING}
"""
_REFUSE: Final = """
INSERT INTO refusals (relation_id, model, reason, tries, retry_at)
VALUES (:id, :model, :reason, 1, :now + :pause)
ON CONFLICT (relation_id) DO UPDATE
   SET model = :model, reason = :reason,
       tries = CASE model WHEN :model THEN tries + 1 ELSE 1 END,
       retry_at = CASE WHEN model = :model AND tries + 1 >= :most THEN NULL
                       ELSE :now + :pause END
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
#: A refused text is offered again after a day, for what was refused by mistake; this often.
_TRIES: Final = 3
_PAUSE: Final = 24 * 3_600 * 1_000_000
#: A text that only a model which is out of order refuses.
_PROBE: Final = "text"
#: Characters kept of what an embedder raised.
_REASON_CHARS: Final = 200
#: Numbers of a vector; what gives more gives them without end.
_LONGEST: Final = 1 << 16
#: The largest square of a length that single precision holds.
_LARGEST: Final = 3.4e38


_RAGGED: Final = "the embedder gave vectors of different dimensions, or empty ones"
_RAGGED_HINT: Final = "All vectors of one model have the same dimension."


class _Malformed(InvalidArgument):
    """The embedder's answer is wrong as a whole, whichever the texts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of giving texts to the embedder.

    Attributes:
        stored: vectors that were stored.
        refused: texts that the embedder refused, one by one.
        reason: what it raised last, None where it raised nothing.
        failed: whether it is out of order: what is left was not tried.
    """

    stored: int = 0
    refused: int = 0
    reason: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """The model of the stored vectors."""

    id: int
    name: str
    dimension: int


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """The state of the vectors of one file.

    Attributes:
        state: in one word.
        model: the model of the stored vectors, None before its first.
        ready, pending, refused: active relations that have a vector, are to get one, and
            whose text the model refused.
        reason: why it refused one of them.
    """

    state: Literal["ready", "building", "unavailable"]
    model: Model | None
    ready: int
    pending: int
    refused: int
    reason: str | None


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
        answer = islice(self._embedder(texts), len(texts) + 1)
        vectors = [[float(number) for number in islice(each, _LONGEST)] for each in answer]
        if len(vectors) != len(texts):
            raise InvalidArgument(
                f"the embedder gave {len(vectors)} vectors for {len(texts)} texts",
                hint="It must return one vector for each text, in order.",
            )
        for vector in vectors:
            if not vector or len(vector) != len(vectors[0]):
                raise _Malformed(_RAGGED, hint=_RAGGED_HINT)
            # Not a number, infinite and all zero: none of them has a direction, nor has
            # what single precision makes so.
            if not all(map(math.isfinite, vector)) or not _single_length(vector):
                raise InvalidArgument(
                    "the embedder gave a vector that is zero or not finite",
                    hint="Check the model; a text was embedded to no direction.",
                )
        return [struct.pack(f"<{len(vector)}f", *vector) for vector in vectors]

    def of_query(self, query: str, notes: list[str]) -> bytes | None:
        """Return a query's vector; where there can be none, None and a note."""
        if not query.strip():
            return None
        if self.error is not None:
            notes.append(f"words only: {self.error}")
            return None
        try:
            return self.embed([query])[0]
        except Exception as error:  # the host's model: what it raises is its own
            notes.append(f"words only: the embedder failed: {error}")
            return None

    def _works(self) -> bool:
        """Return whether the embedder takes a text that nobody can object to."""
        try:
            return bool(self.embed([_PROBE]))
        except Exception:  # the host's model: what it raises is its own
            return False

    def _one_by_one(
        self, texts: Sequence[tuple[int, str]], going: Callable[[], bool]
    ) -> Iterator[tuple[int, bytes | str]]:
        """Yield each relation with its vector, or with why its text was refused.

        A batch that is refused is halved. What was not tried when ``going`` says no is left
        out.

        Raises:
            Exception: what the embedder raised, where it is out of order.
        """
        waiting = [list(texts)]
        tried = False
        dimension = 0
        while waiting and (going() or not tried):
            batch = waiting.pop()
            try:
                vectors = self.embed([text for _, text in batch])
            except _Malformed:
                raise
            except Exception as error:  # the host's model: what it raises is its own
                # Asked before each blame: the model may go out of order meanwhile.
                if (len(batch) == 1 or not tried) and not self._works():
                    raise
                tried = True
                if len(batch) == 1:
                    yield batch[0][0], _reason(error)
                else:
                    half = len(batch) // 2
                    waiting += [batch[half:], batch[:half]]
                continue
            tried = True
            dimension = dimension or len(vectors[0])
            if len(vectors[0]) != dimension:
                raise _Malformed(_RAGGED, hint=_RAGGED_HINT)
            for (relation_id, _), vector in zip(batch, vectors, strict=True):
                yield relation_id, vector

    def model(self, connection: Connection) -> Model | None:
        """Return the current model as recorded, None before its first vector."""
        for row in connection.each_row(_MODEL, (self.name,)):
            newest = connection.one("SELECT max(id) FROM embedding_models")
            return Model(row[0], self.name, row[1]) if row[0] == newest else None
        return None

    def _claim(self, connection: Connection, dimension: int, now: int) -> int:
        held = self.model(connection)
        if held is not None and held.dimension == dimension:
            return held.id
        return int(connection.one(_NEW_MODEL, (self.name, dimension, now)))

    # -- writing

    def update(
        self, relation_ids: Sequence[int], now: int, going: Callable[[], bool] = lambda: True
    ) -> Outcome:
        """Embed and store the vectors of relations.

        A relation that changed or went while its text was with the embedder is left for
        later, and so is all that was not tried when ``going`` says no.

        Raises:
            MnemogramError: the storage failed. What the embedder raises is in the outcome.
        """
        stored = refused = 0
        reason: str | None = None
        for start in range(0, len(relation_ids), BATCH):
            if start and not going():
                break
            texts: dict[int, str] = {}
            with self._database.read() as connection:
                for each in relation_ids[start : start + BATCH]:
                    texts.update(connection.all_rows(_TEXT, (each,)))
            if not texts:
                continue
            answers: dict[int, bytes | str] = {}
            failed = False
            try:
                for relation_id, answer in self._one_by_one(list(texts.items()), going):
                    answers[relation_id] = answer
            except Exception as error:  # the host's model: what it raises is its own
                reason, failed = _reason(error), True
            here = self._keep(texts, answers, now)
            stored, refused = stored + here.stored, refused + here.refused
            reason = reason if failed else here.reason or reason
            if failed:
                self.last_failure = reason
                return Outcome(stored, refused, reason, failed=True)
            self.last_failure = None
        return Outcome(stored, refused, reason)

    def _keep(self, texts: dict[int, str], answers: dict[int, bytes | str], now: int) -> Outcome:
        """Store vectors and refusals of the texts that are still the same."""
        vectors = [each for each in answers.values() if isinstance(each, bytes)]
        if not answers:
            return Outcome()
        if vectors:
            with self._database.exclusive() as connection:
                self._load(connection)
        stored = refused = 0
        reason = None
        with self._database.write() as connection:
            model = self._claim(connection, len(vectors[0]) // 4, now) if vectors else 0
            for each, answer in answers.items():
                if dict(connection.all_rows(_TEXT, (each,))) != {each: texts[each]}:
                    continue
                if isinstance(answer, bytes):
                    connection.execute(_STORE, (each, model, answer))
                    connection.execute("DELETE FROM refusals WHERE relation_id = ?", (each,))
                    stored += 1
                else:
                    connection.execute(
                        _REFUSE,
                        {
                            "id": each,
                            "model": self.name,
                            "reason": answer,
                            "now": now,
                            "pause": _PAUSE,
                            "most": _TRIES,
                        },
                    )
                    refused += 1
                    reason = answer
        return Outcome(stored, refused, reason)

    def pending(self, most: int, now: int = 0) -> list[int]:
        """Return ids of relations that are to get a vector now, the newest first."""
        with self._database.read() as connection:
            model = self.model(connection)
            values = {
                "model": model.id if model else 0,
                "name": self.name,
                "now": now,
                "most": most,
            }
            return connection.column(_PENDING, values)

    # -- reading

    def nearest(
        self, connection: Connection, query: bytes, *, most: int
    ) -> tuple[list[tuple[int, float]], str | None]:
        """Return relation ids with cosine similarity, nearest first, and a note."""
        self._load(connection)
        model = self.model(connection)
        if model is None or model.dimension * 4 != len(query):
            return [], "no vectors of this model are stored yet: run maintain()"
        rows = connection.all_rows(
            _NEAREST,
            {"query": query, "model": model.id, "floor": self.floor, "most": most},
        )
        return rows, None

    def status(self, connection: Connection) -> VectorStatus:
        """Return the state, the model, and how many vectors are ready, pending and refused."""
        model = self.model(connection)
        model_id = model.id if model else 0
        pending, refused, reason = connection.first(
            _COUNT_MISSING, {"model": model_id, "name": self.name}
        )
        ready = int(connection.one("SELECT count(*) FROM vectors WHERE model_id = ?", (model_id,)))
        state: Literal["ready", "building", "unavailable"] = "building" if pending else "ready"
        if self.error is not None:
            state = "unavailable"
        return VectorStatus(state, model, ready, pending, refused, reason)


def _single_length(vector: Sequence[float]) -> bool:
    """Return whether a vector keeps a length, neither zero nor infinite, in single precision."""
    try:
        single = struct.unpack(f"<{len(vector)}f", struct.pack(f"<{len(vector)}f", *vector))
    except OverflowError:
        return False
    return 0.0 < math.fsum(number * number for number in single) <= _LARGEST


def _reason(error: Exception) -> str:
    """Return what an embedder raised in words that can be kept and shown."""
    try:
        words = str(error)
    except Exception:
        words = ""
    return storable(words[:_REASON_CHARS].strip() or type(error).__name__)


def drop_old_models(connection: Connection, name: str) -> None:
    """Drop the vectors of all models but the newest, once that one has its own.

    What models other than the one called ``name`` refused is not remembered either.
    """
    newest = connection.one("SELECT max(id) FROM embedding_models")
    connection.execute("DELETE FROM vectors WHERE model_id <> ?", (newest,))
    connection.execute("DELETE FROM embedding_models WHERE id <> ?", (newest,))
    connection.execute("DELETE FROM refusals WHERE model <> ?", (name,))


def recorded(connection: Connection) -> Model | None:
    """Return the newest model in the file, None without one."""
    for row in connection.each_row(_NEWEST_MODEL):
        return Model(*row)
    return None


def refusal(count: int, reason: str | None) -> str:
    """Return the note that relations have no vector because the embedder refused them."""
    noun = "relation" if count == 1 else "relations"
    return f"the embedder refused the text of {count:,} {noun}, found by words only: {reason}"
