# SPDX-License-Identifier: MIT
"""Tags of sessions and metadata of sessions and messages: checked, stored, asked for.

A tag is compared as titles are (case, width and variants do not count). Metadata is a JSON
object that is given back as it was; the plain values at its top, and those in its lists, stand
in an index of their own, by which it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from reprlib import repr as shown
from typing import Any, Final

from mnemogram.errors import InvalidArgument
from mnemogram.history.schema import title_key
from mnemogram.sqlite.database import Connection
from mnemogram.values import MOST_DEPTH, depth_of, map_strings, parsed, storable

__all__ = [
    "ANY",
    "MESSAGE_METADATA",
    "SESSION_METADATA",
    "SESSION_TAGS",
    "Labels",
    "checked_labels",
    "checked_metadata",
    "checked_tags",
    "message_metadata",
    "metadata_of",
    "of_session",
    "set_message",
    "set_metadata",
    "set_tags",
    "tag_key",
    "tags_of",
]

#: Tags that a session has at most, and characters of one.
MOST_TAGS: Final = 64
MOST_TAG_CHARS: Final = 100
#: Bytes of metadata as JSON, and fields at its top.
MOST_METADATA_BYTES: Final = 16 * 1024
MOST_FIELDS: Final = 100

#: SQL: the tags of ``sessions AS s``, for :func:`tags_of`; the metadata, for :func:`metadata_of`.
SESSION_TAGS: Final = (
    "(SELECT json_group_array(tag) FROM (SELECT tag FROM session_tags AS t"
    " WHERE t.session_id = s.id ORDER BY t.tag_key))"
)
SESSION_METADATA: Final = "(SELECT metadata FROM session_metadata AS d WHERE d.id = s.id)"
#: SQL: the metadata of ``messages AS m``.
MESSAGE_METADATA: Final = "(SELECT metadata FROM message_metadata AS d WHERE d.id = m.id)"


# --- what a host gives -----------------------------------------------------------------


def tag_key(tag: str) -> str:
    """Return a tag as it is compared."""
    return title_key(tag) or tag


def checked_tags(value: Any) -> tuple[str, ...] | None:
    """Return tags as they are stored, each once, in the order of their keys; None for None.

    Raises:
        InvalidArgument: they are no list of short texts, or too many.
    """
    if value is None:
        return None
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InvalidArgument(
            f"tags must be a list of strings, not {shown(value)}", hint="Pass tags=[...]."
        )
    found = {tag_key(tag): tag for tag in map(_tag, value)}
    if len(found) > MOST_TAGS:
        raise InvalidArgument(
            f"{len(found)} tags, which is more than {MOST_TAGS}",
            hint="Keep what is different for every session in its metadata.",
        )
    return tuple(found[key] for key in sorted(found))


def _tag(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(
            f"a tag must be a string, not {shown(value)}", hint="Pass words such as 'work'."
        )
    tag = " ".join(storable(value).split())
    if not tag or not tag.isprintable():
        raise InvalidArgument(
            f"a tag is blank or holds what cannot be seen: {shown(value)}",
            hint="Pass words such as 'work'.",
        )
    if len(tag) > MOST_TAG_CHARS:
        raise InvalidArgument(
            f"a tag of {len(tag)} characters: {shown(tag)}",
            hint=f"{MOST_TAG_CHARS} are the most; longer texts are for metadata.",
        )
    return tag


def checked_metadata(value: Any, name: str = "metadata") -> str | None:
    """Return metadata as JSON text; None for None.

    Raises:
        InvalidArgument: it is no JSON object, or too large.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value):
        raise InvalidArgument(
            f"{name} must be a dictionary with names, not {shown(value)}",
            hint=f'Pass {name}={{"project": "apollo"}}.',
        )
    if len(value) > MOST_FIELDS:
        raise InvalidArgument(
            f"{name} has {len(value)} fields", hint=f"{MOST_FIELDS} are the most; nest the rest."
        )
    try:
        if depth_of(dict(value)) > MOST_DEPTH:
            raise ValueError(f"nested deeper than {MOST_DEPTH} levels")
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        if not text.isascii():
            text = json.dumps(map_strings(json.loads(text), storable), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"{name} cannot be written as JSON: {error}",
            hint="Use dictionaries, lists, strings, finite numbers, booleans and None only.",
        ) from error
    size = len(text.encode())
    if size > MOST_METADATA_BYTES:
        raise InvalidArgument(
            f"{name} takes {size:,} bytes as JSON",
            hint=f"{MOST_METADATA_BYTES:,} are the most; what is to be searched is content.",
        )
    return text


def _value(value: Any) -> str | None:
    """Return a plain value as it is compared: JSON, in which 1 and 1.0 are one; None for others."""
    if isinstance(value, str):
        return json.dumps(storable(value), ensure_ascii=False)
    if isinstance(value, float):
        if not isfinite(value):
            return None
        value = int(value) if value.is_integer() else value
    return json.dumps(value) if value is None or isinstance(value, (bool, int, float)) else None


def _fields(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values by which metadata is found."""
    found = set()
    for name, value in metadata.items():
        for each in value if isinstance(value, list) else [value]:
            plain = _value(each)
            if plain is not None:
                found.add((name, plain))
    return sorted(found)


# --- what is stored --------------------------------------------------------------------


def set_tags(connection: Connection, session: int, tags: Sequence[str]) -> None:
    """Let a session have these tags and no others."""
    connection.execute("DELETE FROM session_tags WHERE session_id = ?", (session,))
    connection.executemany(
        "INSERT INTO session_tags (session_id, tag_key, tag) VALUES (?, ?, ?)",
        [(session, tag_key(tag), tag) for tag in tags],
    )


def set_metadata(connection: Connection, session: int, text: str) -> None:
    """Let a session have this metadata, as :func:`checked_metadata` gave it."""
    _set(connection, "session", session, text)


def set_message(connection: Connection, message: int, text: str) -> None:
    """Let a message have this metadata, as :func:`checked_metadata` gave it."""
    _set(connection, "message", message, text)


def _set(connection: Connection, kind: str, row_id: int, text: str) -> None:
    metadata = json.loads(text)
    connection.execute(f"DELETE FROM {kind}_metadata WHERE id = ?", (row_id,))
    connection.execute(f"DELETE FROM {kind}_fields WHERE id = ?", (row_id,))
    if metadata:
        connection.execute(
            f"INSERT INTO {kind}_metadata (id, metadata) VALUES (?, ?)", (row_id, text)
        )
        connection.executemany(
            f"INSERT INTO {kind}_fields (id, name, value) VALUES (?, ?, ?)",
            [(row_id, name, value) for name, value in _fields(metadata)],
        )


def message_metadata(connection: Connection, message: int) -> dict[str, Any]:
    """Return the metadata of a message."""
    return metadata_of(
        connection.one("SELECT metadata FROM message_metadata WHERE id = ?", (message,))
    )


def of_session(connection: Connection, session: int) -> tuple[tuple[str, ...], str | None]:
    """Return the tags of a session, and its metadata as text."""
    ((tags, text),) = connection.execute(
        f"SELECT {SESSION_TAGS}, {SESSION_METADATA} FROM (SELECT ? AS id) AS s", (session,)
    )
    return tags_of(tags), text


def tags_of(text: str | None) -> tuple[str, ...]:
    """Return the tags of :data:`SESSION_TAGS`."""
    return tuple(map(str, parsed(text))) if text else ()


def metadata_of(text: str | None) -> dict[str, Any]:
    """Return stored metadata as the dictionary it is."""
    if text is None:
        return {}
    try:
        value = parsed(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"text": text}


# --- what is asked for -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Labels:
    """Tags and metadata that sessions or messages are to have, with every argument checked."""

    tags: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.fields)

    @property
    def bindings(self) -> dict[str, Any]:
        """The values that the conditions name."""
        bound: dict[str, Any] = {f"tag{place}": key for place, key in enumerate(self.tags)}
        for place, (name, value) in enumerate(self.fields):
            bound |= {f"field{place}": name, f"value{place}": value}
        return bound

    def of_session(self) -> list[str]:
        """SQL over ``sessions AS s``: it has the tags."""
        return [
            f"s.id IN (SELECT session_id FROM session_tags WHERE tag_key = :tag{place})"
            for place in range(len(self.tags))
        ]

    def of_whole_session(self) -> list[str]:
        """SQL over ``sessions AS s``: it has the metadata itself."""
        return [
            f"s.id IN (SELECT id FROM session_fields"
            f" WHERE name = :field{place} AND value = :value{place})"
            for place in range(len(self.fields))
        ]

    def of_message(self) -> list[str]:
        """SQL over ``messages AS m`` and ``sessions AS s``: one of them has the metadata."""
        return [
            f"({whole} OR EXISTS (SELECT 1 FROM message_fields AS f"
            f" WHERE f.id = m.id AND f.name = :field{place} AND f.value = :value{place}))"
            for place, whole in enumerate(self.of_whole_session())
        ]


#: Nothing is asked of them.
ANY: Final = Labels()


def checked_labels(tag: Any, metadata: Any) -> Labels:
    """Return the tags and the metadata that are asked for.

    Args:
        tag: a tag, or several that a session is to have all of.
        metadata: names and the plain values that they are to have.

    Raises:
        InvalidArgument: they are of another kind.
    """
    tags = checked_tags([tag] if isinstance(tag, str) else tag) or ()
    if metadata is None:
        return Labels(tuple(map(tag_key, tags)))
    if not isinstance(metadata, Mapping):
        raise InvalidArgument(
            f"metadata must be a dictionary, not {shown(metadata)}",
            hint='Pass metadata={"project": "apollo"}.',
        )
    fields = []
    for name, value in metadata.items():
        plain = _value(value)
        if not isinstance(name, str) or plain is None:
            raise InvalidArgument(
                f"metadata can be asked for by names and plain values, not by {shown(name)}:"
                f" {shown(value)}",
                hint="Use strings, finite numbers, booleans and None.",
            )
        fields.append((storable(name), plain))
    if len(fields) > MOST_FIELDS:
        raise InvalidArgument(f"{len(fields)} fields of metadata", hint=f"Name {MOST_FIELDS}.")
    return Labels(tuple(map(tag_key, tags)), tuple(sorted(fields)))
