# SPDX-License-Identifier: MIT
"""What the library says, in the words of the command line."""

from __future__ import annotations

import re
from typing import Final

from mnemogram.cli.zone import Zone

__all__ = ["ROUTES", "count", "for_people"]

#: How the results of a route were found.
ROUTES: Final = {
    "cjk": "by the index",
    "fts5": "by the index",
    "cjk_or": "by the index, parts of the words",
    "fts5_or": "by the index, parts of the words",
    "trigram": "inside words",
    "like": "by reading the text",
    "title": "by the title",
    "empty": "nothing to look for",
}

_VERBS: Final = (
    "append", "backup", "browse", "check", "delete", "expire", "export", "maintain", "purge",
    "read", "repair", "scroll", "search", "status",
)  # fmt: skip
_ISO: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)")
#: What the library says, and what it is at the command line; tried in this order.
_REPLACED: Final = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\bsearch the role tool as well\b", "add --tools"),
        (r"\bsearch the role (\w+) as well\b", r"add --role \1"),
        (r"\bname the source (\S+) and the role tool\b", r"add --source \1 --tools"),
        (r"\bname the source (\S+) and the role (\w+)\b", r"add --source \1 --role \2"),
        (r"\bname the source (\S+) to\b", r"add --source \1 to"),
        (r"\bname the sources ([^:.]+?) to\b", "add --all-sources to"),
        (r"\blet before be (\S+?)\.", r"use --before \1."),
        (r"\bexchange them: after (.+?), before (.+?)\.", r"use --after \1 --before \2."),
        (r"\bafter is the earliest time, before the latest\b", "--after is the earliest time,"
         " --before the latest"),
        (r"\bafter is not earlier than before\b", "--after is not earlier than --before"),
        (r"\bscroll from message (\d+)\b", r"`mnemogram scroll \1` goes on there"),
        (r"\bscroll for more\b", "read or scroll shows more"),
        (r"\bmaintenance builds it anew\b", "`mnemogram maintain` builds it anew"),
        (r"\buse cursor\b", "use --cursor"),
        (r"\bLeave the cursor out\b", "Leave --cursor out"),
        (r"\bexclude_sessions\b", "--exclude-session"),
        (r"\ball_sources=True\b", "--all-sources"),
        (r"\b(\w+)=True\b", r"--\1"),
        (rf"\b(?:\w+\.)?({'|'.join(_VERBS)})\(\)", r"`mnemogram \1`"),
        (r"\bpurge_noise\b", "`mnemogram memory purge-noise`"),
        (r"\bpurge_orphans\b", "`mnemogram memory purge-orphans`"),
        (r"\brevive_session\b", "`mnemogram revive`"),
        (r"\ba match_message_id or message id from\b", "the number of a message, #12, from"),
        (r"\bsession_id\b", "the session"),
        (r"\buser_id\b", "--user"),
        (r"\bkey_secret\b", "$MNEMOGRAM_KEY_SECRET"),
        (r"\bPass\b", "Give"),
        (r"\bpass\b", "give"),
    )
)  # fmt: skip


def for_people(text: str, zone: Zone) -> str:
    """Return a sentence of the library's for who sits at a terminal.

    Options and verbs stand for arguments and methods, and times are the reader's own.
    """
    for pattern, words in _REPLACED:
        text = pattern.sub(words, text)
    return _ISO.sub(lambda match: zone.show(match[0]), text)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 message``, ``2 messages``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
