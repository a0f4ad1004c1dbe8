# SPDX-License-Identifier: MIT
"""Stored text as a page may show it: as text, whatever it holds.

Nothing in it becomes markup of ours, is loaded, or turns the reading direction of what stands
beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markupsafe import Markup, escape

__all__ = ["MARKDOWN_CHARS", "call_of", "calls", "instant", "markdown", "marked", "size", "visible"]

#: Longer messages are shown as they are written: markdown of any length costs any time.
MARKDOWN_CHARS: Final = 20_000

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# C1 controls, line separators, and what turns the reading direction of its surroundings.
_UNSEEN: Final = re.compile(r"[\x80-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARK: Final = re.compile("⟦(.+?)⟧", re.S)
_WEB: Final = re.compile(r"(?:https?://|mailto:)", re.I)
_BLOCKS: Final = frozenset(
    ("paragraph_open", "heading_open", "list_item_open", "td_open", "th_open", "blockquote_open")
)


def visible(text: str) -> str:
    """Return stored text with every control character in it visible, and harmless."""
    text = _CONTROLS.sub(_picture, text.replace("\r\n", "\n"))
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\u2421" if code == 0x7F else chr(0x2400 + code)


def marked(snippet: str) -> Markup:
    """Return a snippet of a search with its matches marked."""
    parts: list[Markup] = []
    at = 0
    text = visible(snippet)
    for match in _MARK.finditer(text):
        parts += (escape(text[at : match.start()]), Markup("<mark>"), escape(match[1]))
        parts.append(Markup("</mark>"))
        at = match.end()
    return Markup("").join((*parts, escape(text[at:])))


# --- markdown --------------------------------------------------------------------------


def _hardened(state: StateCore) -> None:
    """Make of the tokens what may stand inside a message of ours."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 3)}"  # ours stand above
        if token.type in _BLOCKS:
            token.attrs.pop("style", None)  # of a table's columns: none is allowed inline
            token.attrSet("dir", "auto")
        for child in token.children or ():
            if child.type == "link_open":
                child.attrs = {
                    "href": child.attrs.get("href", ""),
                    "rel": "noopener noreferrer nofollow",
                    "target": "_blank",
                }


def _renderer() -> MarkdownIt:
    # Without the rule for images, one is a link to it: nothing is loaded by itself.
    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "linkify": False})
    made.enable(["table", "strikethrough"]).disable(["html_block", "html_inline", "image"])
    made.validateLink = lambda url: _WEB.match(url) is not None  # type: ignore[method-assign]
    made.core.ruler.push("hardened", _hardened)
    return made


_MARKDOWN: Final = _renderer()


def markdown(text: str) -> Markup:
    """Return a message as its markdown means it, HTML in it as text.

    A text of more than :data:`MARKDOWN_CHARS` is shown as it is written.
    """
    if len(text) > MARKDOWN_CHARS:
        return Markup('<div class="plain" dir="auto">{}</div>').format(visible(text))
    return Markup(_MARKDOWN.render(visible(text)))


# --- tool calls ------------------------------------------------------------------------


def calls(stored: Any) -> Sequence[Any]:
    """Return the tool calls of a message one by one, whatever they are stored as."""
    if stored is None:
        return ()
    return stored if isinstance(stored, list) else (stored,)


def call_of(call: Any) -> tuple[str | None, str, str]:
    """Return the id of a tool call, its name, and its arguments as readable text."""
    if not isinstance(call, dict):
        return None, "?", _readable(call)
    inner = call.get("function")
    inner = inner if isinstance(inner, dict) else call
    name = next((inner[each] for each in ("name", "tool_name") if inner.get(each)), "?")
    given = next((inner[each] for each in ("arguments", "input", "args") if each in inner), call)
    known = next((call[each] for each in ("id", "tool_call_id", "call_id") if call.get(each)), None)
    return None if known is None else str(known), str(name), _readable(given)


def _readable(value: Any) -> str:
    if isinstance(value, str):
        given = value
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            return given
    try:
        return json.dumps(value, ensure_ascii=False, indent=1)
    except (TypeError, ValueError, RecursionError):
        return str(value)


# --- numbers and times -----------------------------------------------------------------


def size(count: int | None) -> str:
    """Return a number of bytes as people say it."""
    if count is None:
        return "?"
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 1_000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1_000
    return f"{number:.1f} GB"


def instant(stamp: str | None) -> Markup:
    """Return a time as an element that says it in this machine's zone, to the minute."""
    if stamp is None:
        return Markup("")
    when = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    try:
        words = when.astimezone().isoformat(" ")[:16]
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        words = when.isoformat(" ")[:16]
    return Markup('<time datetime="{}">{}</time>').format(stamp, words)
