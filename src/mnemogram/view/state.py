# SPDX-License-Identifier: MIT
"""The state page: sizes, indexes, what is being built, and a check of everything."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from starlette.responses import Response

from mnemogram.errors import QueryTimeout
from mnemogram.history.models import SourceCount
from mnemogram.view.charts import over_time
from mnemogram.view.page import Page

__all__ = ["check", "state"]

#: Seconds that measuring the texts of each program may take.
_MEASURING: Final = 2.0


def _sources(page: Page) -> tuple[SourceCount, ...]:
    with suppress(QueryTimeout):
        return page.history.sources(sizes=True, timeout=_MEASURING)
    return page.history.sources()


def _standing(page: Page) -> dict[str, Any]:
    step = page.view.stores.upkeep(page.user)
    return {
        "status": page.history.status(sizes=not page.is_part),
        "upkeep": "off"
        if page.view.stores.read_only
        else "going"
        if step is None or step.more
        else "done",
    }


def state(page: Page) -> Response:
    """Show how the user's files stand; only what changes meanwhile where a part is asked for."""
    if page.is_part:
        return page.render("indexes.html", **_standing(page))
    return _whole(page, None)


def check(page: Page) -> Response:
    """Check every file, and show what was found."""
    memory = page.memory
    problems = [
        (f"{each.kind}: {each.where}", each.detail, each.repair or "")
        for each in page.history.check().findings
    ]
    if memory is not None:
        problems += [(each.code, each.detail, each.repair) for each in memory.check().problems]
    return _whole(page, problems)


def _whole(page: Page, problems: list[tuple[str, str, str]] | None) -> Response:
    sources = _sources(page)
    memory = page.memory
    return page.render(
        "state.html",
        sources=sources,
        largest=max((each.bytes or each.messages for each in sources), default=1) or 1,
        bars=over_time(page.history, None),
        memory=None if memory is None else memory.status(),
        problems=problems,
        **_standing(page),
    )
