# SPDX-License-Identifier: MIT
"""Chats of SillyTavern: JSON lines, a head and then one message each.

The head has ``chat_metadata``, ``character_name`` and ``create_date``; a message ``name``,
``is_user``, ``mes``, ``send_date`` and ``swipes``: the answers that were generated for its
place, of which ``swipe_id`` stands and the others were left. Messages that are hidden from
the model have left its context.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from mnemogram.history.models import Message, Session, State
from mnemogram.importers.base import (
    Batch,
    Builder,
    Record,
    Report,
    as_text,
    as_time,
    first_of,
    pieces,
    spoken_time,
)
from mnemogram.importers.blocks import attachment

__all__ = ["FIELDS", "LOOKS_FOR", "NAME", "read", "recognises"]

NAME: Final = "sillytavern"
LOOKS_FOR: Final = "messages with `is_user` and `mes`"
FIELDS: Final = frozenset(
    ("mes", "is_user", "send_date", "swipes", "chat_metadata", "character_name", "user_name")
)

_SYSTEM: Final = ("narrator", "comment", "help", "welcome", "generic", "slash_commands", "macros")
_UNNAMED: Final = ("", "unused", "none")


def recognises(value: object) -> bool:
    """Whether it is a head, a message, or a list that begins with them."""
    if isinstance(value, list):
        return any(isinstance(each, Mapping) and recognises(each) for each in value[:2])
    if not isinstance(value, Mapping):
        return False
    return ("mes" in value and "is_user" in value) or (
        "character_name" in value and ("user_name" in value or "chat_metadata" in value)
    )


def read(records: Iterable[Record], report: Report) -> Iterator[Batch]:
    """Yield the chats of a file; a head begins the next one."""
    head: Mapping[str, Any] = {}
    messages: list[tuple[str, Mapping[str, Any]]] = []
    for where, value in _lines(records):
        if not isinstance(value, Mapping) or not recognises(value):
            report.problem(where, "no message: it has no `mes`")
        elif "mes" in value:
            messages.append((where, value))
        else:
            yield from _chat(head, messages, report)
            head, messages = value, []
    yield from _chat(head, messages, report)


def _lines(records: Iterable[Record]) -> Iterator[tuple[str, Any]]:
    for record in records:
        if isinstance(record.value, list):
            for number, each in enumerate(record.value, 1):
                yield ", ".join(filter(None, (record.where, f"message {number}"))), each
        else:
            yield record.where or "line 1", record.value


def _chat(
    head: Mapping[str, Any], messages: list[tuple[str, Mapping[str, Any]]], report: Report
) -> Iterator[Batch]:
    if not messages:
        return
    about = head.get("chat_metadata")
    about = about if isinstance(about, Mapping) else {}
    builder = Builder(as_time(head.get("create_date")))
    left: set[str] = set()
    states: dict[str, State] = {}
    model: str | None = None
    for place, (_, message) in enumerate(messages):
        extra = message.get("extra")
        extra = extra if isinstance(extra, Mapping) else {}
        if extra.get("type") in _SYSTEM or extra.get("isSmallSys") is True:
            report.skip("system messages")
            continue
        model = as_text(extra.get("model")) or model
        report.skip("reasoning blocks", bool(extra.get("reasoning")))
        uid = _message(place, message, extra, builder, report)
        if message.get("is_system") is True:
            states[uid] = "compacted"
        left.update(_swipes(place, message, builder))
    said = builder.take()
    character = as_text(head.get("character_name"))
    named = character if character and character.lower() not in _UNNAMED else None
    first = next((m for _, m in messages if m.get("is_user") is not True), messages[0][1])
    session = Session(
        _id(head, about, said),
        title=named or as_text(first.get("name")),
        model=model,
        started_at=as_time(head.get("create_date")),
    )
    # A branch is a copy of the chat that it was taken from, up to a place.
    branch = about.get("main_chat") is not None
    yield from pieces(
        session,
        [each for each in said if each.uid not in left],
        left=[each for each in said if each.uid in left],
        states=states,
        whole=not branch,
        unique=branch,
    )


def _id(head: Mapping[str, Any], about: Mapping[str, Any], said: list[Message]) -> str:
    """Name a chat by what stays the same while it goes on."""
    known = [about.get("integrity"), head.get("character_name"), head.get("create_date")]
    if about.get("integrity") is None and head.get("create_date") is None and said:
        known += [said[0].content, str(said[0].timestamp)]
    parts = json.dumps([*known, about.get("main_chat")], default=str)
    return f"{NAME}-{hashlib.sha256(parts.encode()).hexdigest()[:20]}"


def _message(
    place: int,
    message: Mapping[str, Any],
    extra: Mapping[str, Any],
    builder: Builder,
    report: Report,
) -> str:
    time = spoken_time(message, report)
    text = message.get("mes")
    text = text if isinstance(text, str) else ""
    user = message.get("is_user") is True
    return builder.add(
        "user" if user else "assistant",
        "\n".join(filter(None, (text, *_attached(extra)))),
        uid=_uid(place, _current(message), time),
        timestamp=time,
    )


def _current(message: Mapping[str, Any]) -> int:
    place = message.get("swipe_id")
    return place if isinstance(place, int) and not isinstance(place, bool) else 0


def _uid(place: int, swipe: int, time: datetime | None) -> str:
    """Name an answer by its place and its time, which stay when its words are edited."""
    return f"{place}.{swipe}" + ("" if time is None else f"-{time.isoformat()}")


def _swipes(place: int, message: Mapping[str, Any], builder: Builder) -> Iterator[str]:
    """Add the answers that were generated for a place and not taken; yield their uids."""
    swipes, infos = message.get("swipes"), message.get("swipe_info")
    for number, text in enumerate(swipes if isinstance(swipes, list) else ()):
        if number == _current(message) or not isinstance(text, str) or not text:
            continue
        info = infos[number] if isinstance(infos, list) and number < len(infos) else None
        time = as_time(info.get("send_date")) if isinstance(info, Mapping) else None
        yield builder.add("assistant", text, uid=_uid(place, number, time), timestamp=time)


def _attached(extra: Mapping[str, Any]) -> Iterator[str]:
    if extra.get("image") or extra.get("image_swipes"):
        yield "[image]"
    media = extra.get("media")
    for each in media if isinstance(media, list) else ():
        if isinstance(each, Mapping):
            yield f"[{first_of(each, 'type') or 'image'}]"
    files = extra.get("files")
    for each in files if isinstance(files, list) else (extra.get("file"),):
        if isinstance(each, Mapping):
            yield attachment(each)
            text = each.get("text")
            if isinstance(text, str) and text:
                yield text
