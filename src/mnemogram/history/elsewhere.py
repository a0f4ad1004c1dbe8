# SPDX-License-Identifier: MIT
"""What answers a question and is not shown: background work, and other roles' messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from mnemogram._native.query import Matcher
from mnemogram.history.schema import HIDDEN_SOURCES
from mnemogram.history.search.visibility import Visibility
from mnemogram.sqlite.database import Connection

__all__ = ["Elsewhere", "has_hidden_sessions", "left_out_hint", "matches_of"]

#: Matches looked at, the newest; and texts of them that are read where the index is not enough.
_MOST_MATCHES: Final = 5_000
_MOST_TEXTS: Final = 200
_HOLDERS: Final = {
    "user": "messages of the user",
    "assistant": "messages of the assistant",
    "tool": "results of tools",
}

#: Message id, role, session id, source.
Match = tuple[int, str, int, str]


@dataclass(slots=True)
class Elsewhere:
    """Conversations that hold all of a query where it was not asked for.

    Attributes:
        sources: hidden sources, and the conversations of each.
        roles: roles that were not asked for, and the conversations of each.
        both: hidden sources and roles at once.
        exact: whether there are no more.
    """

    sources: dict[str, set[int]] = field(default_factory=dict)
    roles: dict[str, set[int]] = field(default_factory=dict)
    both: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    exact: bool = True

    def __bool__(self) -> bool:
        return bool(self.sources or self.roles or self.both)

    def add(self, match: Match, asked: Iterable[str], *, hidden: bool) -> None:
        """Count a match, unless it is one that was asked for.

        Args:
            asked: the roles that were asked for.
            hidden: whether hidden sources are left out.
        """
        _, role, session, source = match
        hidden = hidden and source in HIDDEN_SOURCES
        if hidden and role not in asked:
            self.both.setdefault((source, role), set()).add(session)
        elif hidden:
            self.sources.setdefault(source, set()).add(session)
        elif role not in asked:
            self.roles.setdefault(role, set()).add(session)

    def counts(self) -> dict[str, int]:
        """Return how many conversations of each hidden source there are."""
        return {source: len(sessions) for source, sessions in sorted(self.sources.items())}

    def hints(self) -> list[str]:
        """Say what there is, and how to see it."""
        said = []
        for role, sessions in sorted(self.roles.items()):
            count = _conversations(len(sessions), exact=self.exact)
            said.append(
                f"All of the query stands in {_HOLDERS[role]} only ({count}):"
                f" search the role {role} as well to see it."
            )
        for (source, role), sessions in sorted(self.both.items()):
            if not said and not self.sources:
                count = _conversations(len(sessions), exact=self.exact)
                said.append(
                    f"All of the query stands in {_HOLDERS[role]} of background work only"
                    f" ({count}): name the source {source} and the role {role} to see it."
                )
        return said + left_out_hint(self.counts(), exact=self.exact)


def left_out_hint(counts: dict[str, int], *, exact: bool = True) -> list[str]:
    """Say how many conversations of hidden sources are left out, and how to see them."""
    if not counts:
        return []
    total = sum(counts.values())
    verb, them = ("is", "it") if total == 1 and exact else ("are", "them")
    noun = "source" if len(counts) == 1 else "sources"
    return [
        f"{_conversations(total, exact=exact).capitalize()} of background work {verb} left out:"
        f" name the {noun} {', '.join(counts)} to see {them}."
    ]


def _conversations(count: int, *, exact: bool) -> str:
    noun = "conversation" if count == 1 else "conversations"
    return f"{'' if exact else 'at least '}{count:,} {noun}"


def has_hidden_sessions(connection: Connection) -> bool:
    """Whether there is any session that is shown by its source's name only."""
    hidden = f"SELECT 1 FROM sessions WHERE source IN {HIDDEN_SOURCES} LIMIT 1"
    return connection.one(hidden) is not None


def matches_of(
    connection: Connection,
    visibility: Visibility,
    table: str,
    expression: str,
    check: Matcher | None,
    elsewhere: Elsewhere,
) -> Iterator[Match]:
    """Give the newest matches of an index, noting where there are more.

    Args:
        visibility: whose matches count.
        check: decides by the text where the index finds too much.
    """
    where, bindings = visibility.predicate()
    rows: list[Any] = list(
        connection.execute(
            f"SELECT m.id, m.role, s.id, s.source, {where} FROM ("
            f" SELECT rowid AS id FROM {table} WHERE {table} MATCH :expression"
            f" ORDER BY rowid DESC LIMIT {_MOST_MATCHES + 1}"
            ") AS hit CROSS JOIN messages AS m ON m.id = hit.id"
            " CROSS JOIN sessions AS s ON s.id = m.session_id",
            {**bindings, "expression": expression},
        )
    )
    elsewhere.exact &= len(rows) <= _MOST_MATCHES
    texts = 0
    for *match, seen in rows:
        if not seen:
            continue
        if check is not None:
            texts += 1
            if texts > _MOST_TEXTS:
                elsewhere.exact = False
                return
            connection.check_deadline()
            columns = connection.execute(
                "SELECT content, tool_name, tool_calls FROM messages WHERE id = ?", (match[0],)
            ).fetchone()
            if columns is None or not check.matches(*columns, deadline=connection.deadline_at):
                continue
        yield match[0], match[1], match[2], match[3]
