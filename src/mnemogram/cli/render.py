# SPDX-License-Identifier: MIT
"""Stored text as a terminal may show it, and results laid out for people.

Stored text is data: no escape sequence in it reaches the terminal, and no markup in it is
interpreted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from mnemogram.cli.zone import Zone
from mnemogram.history.models import (
    EvidenceMessage,
    Explanation,
    SearchHit,
    SessionSummary,
    StoredMessage,
)
from mnemogram.text import cut, cut_around

__all__ = ["Page", "calls_of", "clean", "json_text", "marked", "one_line"]

# CSI, OSC and the like with their arguments; then two-character escapes.
_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# C1 controls, line separators, and what turns the reading direction of its surroundings.
_UNSEEN: Final = re.compile(r"[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_UNSAFE_IN_JSON: Final = re.compile(
    r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_MARK: Final = re.compile("⟦(.+?)⟧", re.S)
_CALLS_SHOWN: Final = 300
#: Columns that what gives way keeps.
_NARROWEST: Final = 10
#: Characters shown of a message that stands near a match; scroll shows more.
NEARBY_CHARS: Final = 500

_ROLE_STYLES: Final = {"user": "bold cyan", "assistant": "bold green", "tool": "bold yellow"}


def clean(text: str) -> str:
    """Return stored text without anything that a terminal would act on.

    Escape sequences and direction overrides go, line breaks and tabs stay, other control
    characters become their pictures (``␀``).
    """
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    text = _CONTROLS.sub(_picture, text)
    text = _UNSEEN.sub("", text)
    return _SURROGATES.sub("\ufffd", text).expandtabs(4)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\u2421" if code == 0x7F else chr(0x2400 + code)


def json_text(text: str) -> str:
    """Return JSON text with what a terminal or UTF-8 cannot take as escapes."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def marked(snippet: str, *, keep_marks: bool) -> Text:
    """Return a snippet with its matches in colour, or still between marks."""
    text = clean(snippet)
    if keep_marks:
        return Text(text)
    shown = Text()
    at = 0
    for match in _MARK.finditer(text):
        shown.append(text[at : match.start()])
        shown.append(match[1], style="bold black on yellow")
        at = match.end()
    return shown.append(text[at:])


#: Fields of a message, and what a result stands by, for people.
_PLACES: Final = {"content": "text", "tool_name": "tool", "tool_calls": "calls"}
_BY: Final = {
    "score": "score:",
    "index": "score of the index:",
    "time": "by its time",
    "title": "by words of its title",
    "exact_title": "by its title",
}


class Page:
    """Lays results out on a console: to its width on a terminal, in whole lines elsewhere.

    Args:
        console: where to.
        zone: how times are shown.
    """

    def __init__(self, console: Console, zone: Zone) -> None:
        self._console = console
        self._zone = zone
        self._wraps = console.is_terminal
        #: Whether matches stay between marks, for want of colour.
        self.keep_marks = not console.is_terminal or console.no_color

    def line(self, text: Text | str = "", indent: int = 0) -> None:
        """Write text, each of its lines indented."""
        text = Text(text) if isinstance(text, str) else text
        lines = text.split("\n", allow_blank=True)
        if self._wraps:
            width = max(10, self._console.width - indent)
            lines = text.wrap(self._console, width, tab_size=4)
        for each in lines:
            each.rstrip()
            self._print(Text(" " * indent if len(each) else "").append_text(each))

    def row(self, left: Text, right: Text | str = "", indent: int = 0) -> None:
        """Write one line: what gives way where there is no room, and what stays whole."""
        left = left.copy()
        right = right.copy() if isinstance(right, Text) else Text(right)
        if self._wraps:
            room = self._console.width - indent - right.cell_len
            if room < _NARROWEST:
                right.truncate(max(0, self._console.width - indent - _NARROWEST))
                room = _NARROWEST
            left.truncate(room, overflow="ellipsis")
        whole = Text(" " * indent).append_text(left).append_text(right)
        whole.rstrip()
        self._print(whole)

    def whole(self, text: Text | str) -> None:
        """Write one line that is longer than the screen, for those who copy it."""
        self._print(Text(text) if isinstance(text, str) else text)

    def _print(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)

    def fields(self, pairs: Iterable[tuple[str, object]], indent: int = 0) -> None:
        """Write names and values in two columns."""
        shown = [(name, value) for name, value in pairs if value is not None]
        width = max((len(name) for name, _ in shown), default=0)
        for name, value in shown:
            text = Text(f"{name:<{width}}  ", style="dim")
            self.line(text.append(clean(str(value)), style="not dim"), indent)

    def when(self, stamp: str | None) -> str:
        """Return a time as it is shown, to be typed back."""
        return self._zone.show(stamp)

    # -- messages

    def message(
        self,
        message: EvidenceMessage | StoredMessage,
        indent: int = 0,
        *,
        most: int | None = None,
        where: str | None = None,
        anchor: bool = False,
    ) -> None:
        """Write one message: who, when, what, and how much of it is shown.

        Args:
            message: the message.
            indent: columns.
            most: characters to show of a message that is not the anchor.
            where: the conversation, for messages of several.
            anchor: whether it is the one that was asked for.
        """
        anchor = anchor or (isinstance(message, EvidenceMessage) and message.anchor)
        head = Text()
        head.append("▸ " if anchor else "  ", style="bold yellow")
        head.append(message.role, style=_ROLE_STYLES.get(message.role, "bold"))
        if message.tool_name:
            head.append(f" {clean(message.tool_name)}", style="yellow")
        tail = Text("" if message.timestamp is None else f"  {self.when(message.timestamp)}")
        tail.append(f"  #{message.id}")
        if where is not None:
            tail.append(f"  {clean(where)}")
        tail.stylize("dim")
        if message.state != "active":
            tail.append(f"  {message.state}", style="dim italic")
        if message.tool_status:
            tail.append(f"  {clean(message.tool_status)}", style="dim italic")
        self.line(head.append_text(tail), indent)
        shown = message.content
        if most is not None and not anchor:
            shown, _, _ = cut(shown, most)
        if shown:
            self.line(clean(shown), indent + 4)
        length = len(message.content)
        if isinstance(message, EvidenceMessage):
            length = message.original_content_chars
        hidden = length - len(shown)
        if hidden > 0:
            words = f"[cut here: {hidden:,} more characters]"
            self.line(Text(words, style="dim italic"), indent + 4)
        if message.tool_calls:
            for call in calls_of(message.tool_calls):
                self.line(Text(f"calls {call}", style="yellow"), indent + 4)

    def messages(
        self,
        messages: Iterable[EvidenceMessage | StoredMessage],
        indent: int = 0,
        *,
        most: int | None = None,
    ) -> None:
        """Write messages, one after the other."""
        for message in messages:
            self.message(message, indent, most=most)

    def gap(self, count: int) -> None:
        """Write how many messages are left out here, if any."""
        if count > 0:
            noun = "message" if count == 1 else "messages"
            self.line(Text(f"··· {count:,} more {noun} ···", style="dim"), 5)

    # -- conversations

    def hit(self, number: int, hit: SearchHit, *, indent: int = 0, short: bool = False) -> None:
        """Write one conversation that was found: where and when, and two lines of it."""
        head = Text(f"{number}. ", style="bold")
        head.append(one_line(hit.title or hit.session_id), style="bold magenta")
        if short:
            about = f"{self.when(hit.when)}  "
            left = Text(about, style="dim")
            text = self._fitted(hit.snippet, 1, indent + len(about) + 10)
            left.append_text(Text(" ").join(text))
            self.row(left, Text(f"  {_number(hit)}", style="dim"), indent)
            return
        # What does not fit goes first from the end.
        about = f"  {_number(hit)}  {self.when(hit.when)}  {one_line(hit.source)}"
        self.row(head, Text(about, style="dim"), indent)
        for line in self._fitted(hit.snippet, 2, indent + 3):
            self._print(Text(" " * (indent + 3)).append_text(line))

    def _fitted(self, snippet: str, lines: int, indent: int) -> list[Text]:
        """Return the part of a snippet around its first match that fits into a few lines."""
        text = " ".join(clean(snippet).split())
        if not self._wraps:
            return [marked(text, keep_marks=True)]
        width = max(_NARROWEST, self._console.width - indent)
        found = _MARK.search(text)
        span = found.span() if found else (0, 0)
        shown: list[Text] = []
        for most in (len(text), *range(2 * width * lines, 8, -4)):
            if most < len(text):
                part, _, length, start = cut_around(text, most, *span)
                part = _paired(part)
                part = "…" * (start > 0) + part + "…" * (start + len(part) < length)
            else:
                part = text
            shown = list(marked(part, keep_marks=self.keep_marks).wrap(self._console, width))
            if len(shown) <= lines:
                break
        return shown[:lines]

    def explanation(self, told: Explanation) -> None:
        """Write why a result stands where it does: its parts as a table, and what they come to."""
        if told.terms:
            self._print(Text("    points  weight  part", style="dim"))
        for term in told.terms:
            both = ("" if each is None else f"{each:.3f}" for each in (term.points, term.weight))
            numbers = "".join(f"{each:>8}" for each in both)
            where = ", ".join(
                f"{_PLACES.get(name, name)} {times}×" for name, times in term.where.items()
            )
            left = Text(f"  {numbers}  ").append(one_line(term.text))
            left.append(f"  {term.kind}", style="dim")
            self.row(left, Text(f"  {where}", style="dim"))
        told_by = [_BY[told.by]]
        if told.points:
            told_by[0] += " " + " ".join(
                f"{'+' if value > 0 else '-'} {abs(value):.3f} {name.replace('_', ' ')}"
                for name, value in told.points.items()
            ).removeprefix("+ ")
            told_by[0] += f" = {sum(told.points.values()):.3f}"
        if told.as_typed:
            told_by.append("as typed")
        if told.otherwise_spelled:
            told_by.append(f"{told.otherwise_spelled} spelled otherwise")
        if told.tokens_between:
            told_by.append(f"{told.tokens_between} other words between")
        if told.recency is not None:
            told_by.append(f"its age leaves {told.recency:.0%}")
        self.line(Text("; ".join(told_by), style="dim"), 4)

    def surroundings(self, hit: SearchHit) -> None:
        """Write the conversation around a hit: its ends and the messages near the match."""
        if len(hit.messages) < 2 and not hit.bookend_start and not hit.bookend_end:
            return
        ids = [message.id for message in hit.messages]
        start = [m for m in hit.bookend_start if m.id not in ids]
        end = [m for m in hit.bookend_end if m.id not in ids]
        self.line()
        self.messages(start, 3, most=NEARBY_CHARS)
        self.gap(hit.messages_before - len(start))
        self.messages(hit.messages, 3, most=NEARBY_CHARS)
        self.gap(hit.messages_after - len(end))
        self.messages(end, 3, most=NEARBY_CHARS)

    def session(self, summary: SessionSummary, *, short: bool = False) -> None:
        """Write one session of a list: what, when, how much, and how it began."""
        noun = "message" if summary.message_count == 1 else "messages"
        when = self.when(summary.when or summary.last_active_at)
        head = Text(one_line(summary.title or summary.session_id), style="bold magenta")
        tail = Text(f"  session {one_line(summary.session_id)}", style="dim")
        if short:
            left = Text(f"{when}  {summary.message_count:>6,}  ", style="dim").append_text(head)
            name = Text(f"  {one_line(summary.session_id)}", style="dim")
            self.row(left, name if summary.title else Text(""))
            return
        tags = f"  [{', '.join(summary.tags)}]" if summary.tags else ""
        about = f"  {when}  {one_line(summary.source)}  {summary.message_count:,} {noun}{tags}"
        self.row(head, Text(about, style="dim"))
        if summary.preview:
            left = Text(" ".join(clean(summary.preview).split()))
            self.row(left, tail if summary.title else "", 3)
        elif summary.title:
            self.row(Text(""), tail, 1)


def _paired(text: str) -> str:
    """Return a part of a snippet without a mark whose other half was cut off."""
    head, closing, tail = text.partition("⟧")
    if closing and "⟦" not in head:
        text = head + tail
    head, opening, tail = text.rpartition("⟦")
    return head + tail if opening and "⟧" not in tail else text


def one_line(text: str) -> str:
    """Return stored text without anything a terminal acts on, in one line."""
    return " ".join(clean(text).split())


def _number(hit: SearchHit) -> str:
    if hit.match_message_id is None:
        return one_line(hit.session_id)
    return f"#{hit.match_message_id}"


def calls_of(calls: Any) -> list[str]:
    """Return tool calls as they are read: ``name(argument="value")``, one text for each."""
    listed = calls if isinstance(calls, list) else [calls]
    shown = [one_line(_call(each)) for each in listed]
    return [each if len(each) <= _CALLS_SHOWN else each[:_CALLS_SHOWN] + " …" for each in shown]


def _call(call: Any) -> str:
    if isinstance(call, dict) and call.get("truncated") and "text" in call:
        return f"{call['text']} …"
    about = call.get("function", call) if isinstance(call, dict) else None
    if isinstance(about, dict) and isinstance(about.get("name"), str):
        given = next(
            (about[name] for name in ("arguments", "args", "input", "parameters") if name in about),
            None,
        )
        return f"{about['name']}({_arguments(given)})"
    return call if isinstance(call, str) else json.dumps(call, ensure_ascii=False)


def _arguments(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            return value
        if not isinstance(inner, dict):
            return value
        value = inner
    if isinstance(value, dict):
        return ", ".join(
            f"{name}={json.dumps(each, ensure_ascii=False)}" for name, each in value.items()
        )
    return json.dumps(value, ensure_ascii=False)
