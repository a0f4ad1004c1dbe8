# SPDX-License-Identifier: MIT
"""Stored text as a terminal may show it, and results laid out for people.

Stored text is data: no escape sequence in it reaches the terminal, and no markup in it is
interpreted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from mnemogram.history.models import EvidenceMessage, SearchHit, SessionSummary
from mnemogram.text import cut

__all__ = ["Page", "clean", "json_text", "local_time", "marked"]

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


def local_time(stamp: str | None, *, seconds: bool = False) -> str:
    """Return an ISO 8601 time in the reader's own zone, to the minute."""
    if stamp is None:
        return "no time"
    moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    # At the ends of the calendar the reader's zone may have no such day: UTC then.
    with suppress(OverflowError, ValueError):
        moment = moment.astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


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


class Page:
    """Lays results out on a console: wrapped on a terminal, whole lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._wraps = console.is_terminal

    def line(self, text: Text | str = "", indent: int = 0) -> None:
        """Write text, each of its lines indented."""
        text = Text(text) if isinstance(text, str) else text
        lines = text.split("\n", allow_blank=True)
        if self._wraps:
            width = max(10, self._console.width - indent)
            lines = text.wrap(self._console, width, tab_size=4)
        for each in lines:
            each.rstrip()
            whole = Text(" " * indent if len(each) else "").append_text(each)
            self._console.print(whole, soft_wrap=True)

    def fields(self, pairs: Iterable[tuple[str, object]], indent: int = 0) -> None:
        """Write names and values in two columns."""
        shown = [(name, value) for name, value in pairs if value is not None]
        width = max((len(name) for name, _ in shown), default=0)
        for name, value in shown:
            text = Text(f"{name:<{width}}  ", style="dim")
            self.line(text.append(clean(str(value)), style="not dim"), indent)

    def message(
        self, message: EvidenceMessage, indent: int = 0, *, most: int | None = None
    ) -> None:
        """Write one message: who, when, what, and how much of it is shown.

        Args:
            message: the message.
            indent: columns.
            most: characters to show of a message that is not the anchor.
        """
        head = Text()
        head.append("▸ " if message.anchor else "  ", style="bold yellow")
        head.append(message.role, style=_ROLE_STYLES.get(message.role, "bold"))
        if message.tool_name:
            head.append(f" {clean(message.tool_name)}", style="yellow")
        when = "" if message.timestamp is None else f"{local_time(message.timestamp)}  "
        head.append(f"  {when}#{message.id}", style="dim")
        if message.state != "active":
            head.append(f"  {message.state}", style="dim italic")
        if message.tool_status:
            head.append(f"  {clean(message.tool_status)}", style="dim italic")
        self.line(head, indent)
        shown = message.content
        if most is not None and not message.anchor:
            shown, _, _ = cut(shown, most)
        if shown:
            self.line(clean(shown), indent + 4)
        hidden = message.original_content_chars - len(shown)
        if hidden > 0:
            words = f"[cut here: {hidden:,} more characters]"
            self.line(Text(words, style="dim italic"), indent + 4)
        if message.tool_calls:
            self.line(Text(f"calls {_calls(message.tool_calls)}", style="yellow"), indent + 4)

    def messages(
        self, messages: Iterable[EvidenceMessage], indent: int = 0, *, most: int | None = None
    ) -> None:
        """Write messages, one after the other."""
        for message in messages:
            self.message(message, indent, most=most)

    def hit(self, number: int, hit: SearchHit, *, keep_marks: bool, indent: int = 0) -> None:
        """Write one conversation that was found."""
        head = Text(f"{number}. ", style="bold")
        head.append(clean(hit.title or hit.session_id), style="bold magenta")
        self.line(head, indent)
        about = [hit.source, local_time(hit.when), f"session {hit.session_id}"]
        if hit.match_message_id is not None:
            about.append(f"message {hit.match_message_id}")
        self.line(Text(clean("  ".join(about)), style="dim"), indent + 3)
        self.line(marked(hit.snippet, keep_marks=keep_marks), indent + 3)

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

    def gap(self, count: int) -> None:
        """Write how many messages are left out here, if any."""
        if count > 0:
            noun = "message" if count == 1 else "messages"
            self.line(Text(f"··· {count:,} more {noun} ···", style="dim"), 5)

    def session(self, summary: SessionSummary) -> None:
        """Write one session of a list."""
        head = Text(clean(summary.title or summary.session_id), style="bold magenta")
        self.line(head)
        noun = "message" if summary.message_count == 1 else "messages"
        about = (
            summary.source,
            local_time(summary.when or summary.last_active_at),
            f"{summary.message_count:,} {noun}",
            f"session {summary.session_id}",
        )
        self.line(Text(clean("  ".join(about)), style="dim"), 3)
        if summary.preview:
            self.line(clean(" ".join(summary.preview.split())), 3)


def _calls(calls: Any) -> str:
    if isinstance(calls, list) and all(isinstance(call, dict) for call in calls):
        calls = [call.get("function", call) for call in calls]
        shown = ", ".join(
            f"{call.get('name')}({_arguments(call.get('arguments'))})"
            if isinstance(call, dict)
            else str(call)
            for call in calls
        )
    else:
        shown = calls if isinstance(calls, str) else json.dumps(calls, ensure_ascii=False)
    shown = clean(" ".join(shown.split()))
    return shown if len(shown) <= _CALLS_SHOWN else shown[:_CALLS_SHOWN] + " …"


def _arguments(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
