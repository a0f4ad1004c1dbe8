# SPDX-License-Identifier: MIT
"""The pages of one conversation: a window that moves over it, one message, its export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.history.models import SessionSummary, StoredMessage
from mnemogram.view import shown
from mnemogram.view.page import Page

__all__ = ["conversation", "export", "message"]

#: Messages of a window, and of each piece that is added to it.
WINDOW: Final = 40
_BEFORE: Final = 12
#: Characters of a message that are shown in its conversation, and of a tool's result.
_CUTS: Final = {"content_chars": shown.MARKDOWN_CHARS, "result_chars": 8_000}
_FORMATS: Final = {
    "jsonl": "application/jsonl; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}
_UNFIT: Final = re.compile(r"[^\w.-]+")


@dataclass(slots=True)
class Call:
    """A tool call as it is shown, with the result that answers it."""

    id: str | None
    name: str
    arguments: str
    result: StoredMessage | None = None


@dataclass(slots=True)
class Shown:
    """One message of a window.

    Attributes:
        message: the message.
        position: its place in the conversation, from 1; None where it was not counted.
        calls: its tool calls.
        last: id of the last message that is shown with it.
        covers: how many messages are.
    """

    message: StoredMessage
    position: int | None
    calls: list[Call] = field(default_factory=list)
    last: int = 0
    covers: int = 1


@dataclass(slots=True)
class Window:
    """Some messages of a conversation, and whether there are more on each side."""

    items: list[Shown]
    earlier: bool
    later: bool

    @property
    def first(self) -> Shown:
        """The first one."""
        return self.items[0]

    @property
    def end(self) -> Shown:
        """The last one."""
        return self.items[-1]


def _shown(
    messages: list[StoredMessage], position: int | None, earlier: bool, later: bool
) -> Window:
    """Return messages with each result of a tool at the call that it answers."""
    items: list[Shown] = []
    open_calls: dict[str, Call] = {}
    for place, each in enumerate(messages):
        answered = open_calls.pop(each.tool_call_id or "", None) if each.role == "tool" else None
        # Nested only into the item before it: what is shown stays in the order it was said.
        if answered is not None and items:
            answered.result = each
            items[-1].last = each.id
            items[-1].covers += 1
            continue
        at = None if position is None else position + place
        item = Shown(each, at, last=each.id)
        for call in shown.calls(each.tool_calls):
            known = Call(*shown.call_of(call))
            item.calls.append(known)
            if known.id is not None:
                open_calls[known.id] = known
        if each.role != "tool":
            open_calls = {call.id: call for call in item.calls if call.id is not None}
        items.append(item)
    return Window(items, earlier, later)


def _later(history: History, session: str, start: int | None, count: int) -> list[StoredMessage]:
    return list(islice(history.messages(session, start=start), count))


def _earlier(history: History, session: str, start: int | None, count: int) -> list[StoredMessage]:
    found = list(islice(history.messages(session, start=start, newest_first=True), count))
    return found[::-1]


def _around(history: History, session: str, anchor: int, position: int) -> Window:
    """Return the window around a message, which has a place counted from 0."""
    before = _earlier(history, session, anchor, _BEFORE + 2)
    earlier = len(before) > _BEFORE + 1
    before = before[-(_BEFORE + 1) :]
    after = _later(history, session, anchor, WINDOW - _BEFORE + 1)
    later = len(after) > WINDOW - _BEFORE
    messages = [*before, *after[1 : WINDOW - _BEFORE]]
    return _shown(messages, position + 1 - (len(before) - 1), earlier, later)


def _piece(
    history: History, session: str, edge: int, side: Literal["earlier", "later"], at: int | None
) -> Window:
    """Return the messages next to an edge of a window.

    Args:
        edge: id of the first or the last message that is shown already.
        at: its place, from 1.
    """
    if side == "later":
        found = _later(history, session, edge, WINDOW + 2)[1:]
        more = len(found) > WINDOW
        return _shown(found[:WINDOW], None if at is None else at + 1, False, more)
    found = _earlier(history, session, edge, WINDOW + 2)[:-1]
    more = len(found) > WINDOW
    found = found[-WINDOW:]
    return _shown(found, None if at is None else at - len(found), more, False)


def conversation(page: Page) -> Response:
    """Show a conversation around a message, at a place of it, or from its beginning."""
    session = page.value("id")
    if not session:
        raise InvalidArgument("no conversation is named", hint="Follow a link of the page.")
    history = page.history
    if page.is_part:
        edge, side = page.number("edge"), page.value("side")
        if edge is None or side not in ("earlier", "later"):
            raise InvalidArgument("no edge of a window", hint="Follow a link of the page.")
        window = _piece(history, session, edge, side, page.number("n"))  # type: ignore[arg-type]
        return page.render("messages.html", session=session, window=window, anchor=None, **_CUTS)
    family = history.lineage(session)
    total = history.read(session, limit=1).message_count
    anchor, place = page.number("at"), page.number("n")
    asked = anchor
    position = 0
    if anchor is not None:
        around = history.scroll(session, anchor, window=1)
        position = around.messages_before + (
            len(around.messages) > 1 and not around.messages[0].anchor
        )
    elif place is not None and total:
        position = min(max(place, 1), total) - 1
        anchor = history.message_at(session, position)
    elif total:
        anchor = history.message_at(session, 0)
    window = Window([], False, False)
    if anchor is not None:
        window = _around(history, session, anchor, position)
    return page.render(
        "conversation.html",
        session=session,
        about=family[0],
        parents=_named(family, family[0].parent_session_id),
        children=[each for each in family[1:] if each.parent_session_id == session],
        total=total,
        window=window,
        anchor=asked,
        formats=tuple(_FORMATS),
        query=page.value("q"),
        **_CUTS,
    )


def _named(family: tuple[SessionSummary, ...], key: str | None) -> list[SessionSummary]:
    return [each for each in family if each.session_id == key]


def message(page: Page) -> Response:
    """Show one message whole, as it is written."""
    session, at = page.value("id"), page.number("at")
    if at is None:
        raise InvalidArgument("no message is named", hint="Follow a link of the page.")
    found = next(page.history.messages(session, start=at))
    return page.render("message.html", session=session, message=found)


# --- export ----------------------------------------------------------------------------


def export(page: Page) -> Response:
    """Give a conversation as a file, however long it is."""
    session, form = page.value("id"), page.value("format", "jsonl")
    if form not in _FORMATS:
        raise InvalidArgument(f"no format {form!r}", hint=", ".join(_FORMATS))
    about = page.history.lineage(session, limit=1)[0]
    name = _UNFIT.sub("-", about.title or session).strip("-.")[:80] or "conversation"
    lines = _lines(page.history, about, form)
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}.{form}"}
    return StreamingResponse(lines, media_type=_FORMATS[form], headers=headers)


def _lines(history: History, about: SessionSummary, form: str) -> Iterator[bytes]:
    if form == "jsonl":
        yield _json({"type": "session", **about.to_dict()})
    elif form == "md":
        yield f"# {' '.join((about.title or about.session_id).split())}\n".encode()
    for each in history.messages(about.session_id):
        if form == "jsonl":
            yield _json({"type": "message", **each.to_dict()})
            continue
        name = f" {each.tool_name}" if each.tool_name else ""
        head = f"{each.role}{name}, {each.timestamp or '-'}"
        called = "".join(
            f"\n{name}({arguments})"
            for _, name, arguments in map(shown.call_of, shown.calls(each.tool_calls))
        )
        mark = "\n## " if form == "md" else "\n--- "
        yield f"{mark}{head}\n\n{each.content}{called}\n".encode("utf-8", "replace")


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
