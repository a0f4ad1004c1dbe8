# SPDX-License-Identifier: MIT
"""The search page: the library's own answers, as one types."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from starlette.responses import Response

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import ROLES, Role, SearchResult
from mnemogram.view.charts import day, day_bounds, over_time
from mnemogram.view.page import Page

__all__ = ["Asked", "search"]

#: Conversations of a page of results.
RESULTS: Final = 10
SORTS: Final = ("relevance", "newest", "oldest")
_TIMEOUT: Final = 3.0
#: How a result was found, as a text of the interface.
ROUTES: Final[Mapping[str, str]] = {
    "cjk": "route_cjk",
    "fts5": "route_cjk",
    "cjk_or": "route_or",
    "fts5_or": "route_or",
    "trigram": "route_trigram",
    "like": "route_like",
    "title": "route_title",
    "empty": "route_empty",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address of a search says.

    Attributes:
        q: the query.
        role, source: whose messages, of which programs; empty for those of a search that
            says nothing.
        all: whether of every program.
        after, before: the first and the last day, as they were written.
        sort: the order.
        cursor: goes on after an earlier answer.
    """

    q: str
    role: tuple[str, ...]
    source: tuple[str, ...]
    all: str
    after: str
    before: str
    sort: str
    cursor: str

    @classmethod
    def of(cls, page: Page) -> Asked:
        """Return what a page was asked for.

        Raises:
            InvalidArgument: it is nothing that a search takes.
        """
        sort = page.value("sort", "relevance")
        if sort not in SORTS:
            raise InvalidArgument(f"no order {sort!r}", hint=", ".join(SORTS))
        roles = tuple(each for each in ROLES if each in page.values("role"))
        return cls(
            q=page.value("q"),
            role=roles,
            source=tuple(dict.fromkeys(page.values("source"))),
            all="1" if page.value("all") else "",
            after=page.value("after"),
            before=page.value("before"),
            sort=sort,
            cursor=page.value("cursor"),
        )

    def fields(self, **changed: Any) -> dict[str, Any]:
        """Return the fields of an address that asks the same, but for what is changed."""
        plain: dict[str, Any] = {
            "q": self.q,
            "role": list(self.role),
            "source": list(self.source),
            "all": self.all,
            "after": self.after,
            "before": self.before,
            "sort": self.sort if self.sort != "relevance" else "",
        }
        return {**plain, **changed}

    @property
    def chosen(self) -> dict[str, Any]:
        """The arguments that choose conversations, for the library."""
        after, before = day_bounds(day(self.after), day(self.before))
        return {
            "after": after,
            "before": before,
            "sources": list(self.source) or None if not self.all else None,
            "all_sources": bool(self.all),
            "cursor": self.cursor or None,
        }


def search(page: Page) -> Response:
    """Answer a search, or list the latest conversations where nothing is searched."""
    asked = Asked.of(page)
    start = time.perf_counter()
    found: SearchResult | None = None
    listed = None
    if asked.q.strip():
        roles = cast("tuple[Role, ...]", asked.role or ("user", "assistant"))
        found = page.history.search(
            asked.q,
            limit=RESULTS,
            roles=roles,
            sort=cast("Literal['relevance', 'newest', 'oldest']", asked.sort),
            window=1,
            timeout=_TIMEOUT,
            **asked.chosen,
        )
    else:
        listed = page.history.browse(limit=RESULTS, **asked.chosen)
    answer: dict[str, Any] = {
        "asked": asked,
        "found": found,
        "listed": listed,
        "routes": ROUTES,
        "elapsed": round((time.perf_counter() - start) * 1_000),
    }
    if page.is_part:
        return page.render("results.html", **answer)
    # The chart shows all that was said; what is searched for does not change it.
    sources = None if asked.all or not asked.source else asked.source
    return page.render(
        "search.html",
        programs=page.history.sources(),
        bars=over_time(page.history, sources),
        sorts=SORTS,
        roles=ROLES,
        **answer,
    )
