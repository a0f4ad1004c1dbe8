# SPDX-License-Identifier: MIT
"""The ``session_search`` tool: past conversations, found, read and scrolled by a model."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, Final, TypeAlias, overload

from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.history.models import ROLES
from mnemogram.history.schema import HIDDEN_SOURCES
from mnemogram.tools.asynchronous import AsyncStore, AsyncTool
from mnemogram.tools.compact import compact as compacted
from mnemogram.tools.declaration import Choice, Declaration, Integer, String, Strings, Time, Tool

__all__ = ["DECLARATION", "session_search_tool"]

CurrentSession: TypeAlias = str | Callable[[], str | None] | None

_READ_NOTE: Final = (
    "The conversation as a whole: after, before and role_filter go with a query, or without"
    " session_id."
)
_TIME: Final = "ISO 8601 (2026-03-01, 2026-03-01T09:00:00+08:00) or how long ago: 3h, 2d, 1w."

DECLARATION: Final = Declaration(
    name="session_search",
    title="Search past conversations",
    description=(
        "Search this user's past conversations and read them. Answers are the original messages,"
        " never summaries. Use it whenever the user refers to something said before, or when an"
        " answer may lie in an earlier conversation; do not guess.\n"
        "The arguments choose what happens:\n"
        "- query: find conversations. The first result comes with the messages around the match.\n"
        "- session_id and around_message_id: scroll to the messages around that one.\n"
        "- session_id alone: read the beginning and the end of that conversation.\n"
        '- after, before: list the conversations that were active then ("what did we talk about'
        ' on Tuesday?").\n'
        "- nothing: list the conversations that were active last.\n"
        "A cut message has content_truncated; `complete: false` means that not everything could"
        " be looked at, so absence is not proven."
    ),
    parameters=(
        String(
            name="query",
            description=(
                "What to look for, in the user's own words and language: a few words that must"
                ' have been said. "phrases", AND, OR, NOT, parentheses and a trailing * work;'
                " any other text is taken as it stands."
            ),
            aliases=("q", "search", "keywords", "text"),
            literal=True,
        ),
        String(
            name="session_id",
            description="Id of a conversation, from an earlier answer.",
            aliases=("session", "conversation_id"),
        ),
        Integer(
            name="around_message_id",
            description="Id of a message of that session: match_message_id or a message's id.",
            minimum=1,
            maximum=2**63 - 1,
            aliases=("around", "message_id", "match_message_id", "anchor", "anchor_id"),
        ),
        Integer(
            name="window",
            description="Messages on each side of a match or of around_message_id.",
            minimum=1,
            maximum=20,
            default=5,
        ),
        Integer(
            name="limit",
            description="Most conversations in the answer.",
            minimum=1,
            maximum=10,
            default=3,
            aliases=("max_results", "top_k", "count"),
        ),
        Choice(
            name="sort",
            description="Order of the results: best first, or by time.",
            choices=("relevance", "newest", "oldest"),
            synonyms={
                "recent": "newest",
                "latest": "newest",
                "recency": "newest",
                "desc": "newest",
                "asc": "oldest",
                "earliest": "oldest",
                "rank": "relevance",
                "best": "relevance",
                "score": "relevance",
            },
            default="relevance",
            aliases=("order", "sort_by", "order_by"),
        ),
        Choice(
            name="detail",
            description="adaptive: surroundings of the first result; full: of all results.",
            choices=("adaptive", "full"),
            default="adaptive",
        ),
        Strings(
            name="role_filter",
            description="Whose messages to search; user and assistant unless you say otherwise."
            " Add tool to search the results of tools as well.",
            choices=ROLES,
            synonyms={
                "all": ROLES,
                "any": ROLES,
                "human": ("user",),
                "ai": ("assistant",),
                "model": ("assistant",),
                "tools": ("tool",),
                "function": ("tool",),
                "users": ("user",),
                "assistants": ("assistant",),
            },
            aliases=("roles", "role"),
        ),
        Time(
            name="after",
            description=f"Only messages at or after this time. {_TIME}",
            aliases=("since", "start", "from"),
        ),
        Time(
            name="before",
            description=(
                f"Only messages before this time. {_TIME} A date alone means the end of that day,"
                " so one day as after and before is that day; two different dates reach from the"
                " first up to the second, without it."
            ),
            aliases=("until", "end", "to"),
        ),
        Strings(
            name="sources",
            description=(
                "Only conversations of these sources. What agents and tools did among themselves"
                f" ({', '.join(HIDDEN_SOURCES)}) is found only where its source is named here."
            ),
            maximum=20,
            aliases=("source",),
        ),
        Strings(
            name="tags",
            description="Only conversations that have all of these tags.",
            maximum=20,
            aliases=("tag", "labels"),
        ),
        Strings(
            name="exclude_session_ids",
            description="Conversations to leave out, such as those you have read, and all that"
            " belongs to them.",
            maximum=20,
            aliases=("exclude_sessions", "exclude"),
        ),
        String(
            name="cursor",
            description="The cursor of an earlier answer to the same query, period or"
            " session_id, to go on after it.",
        ),
    ),
)


@overload
def session_search_tool(
    history: History,
    *,
    current_session: CurrentSession = None,
    compact: bool = True,
    timezone: tzinfo | None = None,
) -> Tool: ...
@overload
def session_search_tool(
    history: AsyncStore[History],
    *,
    current_session: CurrentSession = None,
    compact: bool = True,
    timezone: tzinfo | None = None,
) -> AsyncTool: ...


def session_search_tool(
    history: History | AsyncStore[History],
    *,
    current_session: CurrentSession = None,
    compact: bool = True,
    timezone: tzinfo | None = None,
) -> Tool | AsyncTool:
    """Make the tool for one user.

    Args:
        history: the user's history; the model cannot name another. Over its async face the
            tool is awaited.
        current_session: id of the running session, or a function that returns it at each
            call; what is still in its context is left out of search results.
        compact: leave out of answers what says nothing: nulls, defaults, what is said
            twice. A program that asks for such a field by name still gets it.
        timezone: that of the user, in which days begin; UTC by default.

    Returns:
        The tool: ``tool.schema("openai")`` for the model, ``tool(arguments)`` to answer it.
    """

    def current() -> str | None:
        return current_session() if callable(current_session) else current_session

    def answered(plain: History, given: dict[str, Any], session: str | None) -> dict[str, Any]:
        answer = _answer(plain, given, session, timezone)
        return compacted(answer) if compact else answer

    if isinstance(history, AsyncStore):
        store = history

        async def awaited(given: dict[str, Any]) -> dict[str, Any]:
            session = current()
            return await store.run(lambda plain: answered(plain, given, session))

        return AsyncTool(DECLARATION, awaited)
    plain = history
    return Tool(DECLARATION, lambda given: answered(plain, given, current()))


def _answer(
    history: History, given: dict[str, Any], current: str | None, zone: tzinfo | None
) -> dict[str, Any]:
    session, anchor, query = (
        given.get(name) for name in ("session_id", "around_message_id", "query")
    )
    if anchor is not None:
        if session is None:
            raise InvalidArgument(
                "around_message_id needs the session_id of its conversation",
                hint="Pass both as an earlier answer gave them.",
            )
        return history.scroll(session, anchor, **_taken(given, "window")).to_dict()
    if query is not None:
        return _discover(history, query, given, current, zone)
    if session is not None:
        ignored = given.keys() & {"after", "before", "role_filter"}
        page = history.read(session, **_taken(given, "cursor"))
        return _noted(page.to_dict(), [_READ_NOTE] if ignored else [])
    return _browse(history, given, zone)


def _taken(given: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _noted(answer: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Put notes before what the hint of an answer says."""
    answer["hint"] = " ".join((*notes, *filter(None, [answer["hint"]]))) or None
    return answer


def _filters(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that searching and listing have in common."""
    options = _taken(given, "limit", "after", "before", "sources", "cursor")
    if "exclude_session_ids" in given:
        options["exclude_sessions"] = given["exclude_session_ids"]
    if "tags" in given:
        options["tag"] = given["tags"]
    return options


def _browse(history: History, given: dict[str, Any], zone: tzinfo | None) -> dict[str, Any]:
    notes = []
    if "role_filter" in given:
        notes.append("role_filter goes with a query: these are conversations of all roles.")
    if given.get("sort") == "oldest":
        notes.append("Without a query the newest come first.")
    return _noted(history.browse(timezone=zone, **_filters(given)).to_dict(), notes)


def _discover(
    history: History, query: str, given: dict[str, Any], current: str | None, zone: tzinfo | None
) -> dict[str, Any]:
    options = _filters(given) | _taken(given, "window", "sort", "detail")
    if "role_filter" in given:
        options["roles"] = given["role_filter"]
    result = history.search(query, current_session=current, timezone=zone, **options)
    notes = []
    if "session_id" in given:
        notes.append(
            "All conversations were searched: session_id goes with around_message_id, or alone."
        )
    answer = _noted(result.to_dict(), notes)
    if result.search_path == "empty" and given.keys() & {"after", "before"}:
        return _noted(answer, ["Leave the query out to list what was active in this period."])
    return answer
