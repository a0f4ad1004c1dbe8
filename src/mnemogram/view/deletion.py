# SPDX-License-Identifier: MIT
"""Deletion: what would go is shown first, then it goes, and no byte of it stays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from starlette.responses import Response

from mnemogram.errors import InvalidArgument
from mnemogram.history.models import SessionSummary
from mnemogram.history.upkeep.delete import Purged
from mnemogram.view.charts import day, day_bounds
from mnemogram.view.page import Page

__all__ = ["delete", "deletion"]

#: Conversations that are named before they go.
_NAMED: Final = 50
#: Conversations of which it is counted what was learnt from them.
_COUNTED: Final = 500


class _Choice:
    """Which conversations are meant: one, those of a period, or everything of the user."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.value("session")
        self.after, self.before = page.value("after"), page.value("before")
        self.everything = bool(page.value("all"))
        self.bounds = day_bounds(day(self.after), day(self.before))

    @property
    def is_made(self) -> bool:
        return bool(self.session or self.everything or any(self.bounds))

    @property
    def fields(self) -> dict[str, str]:
        """The fields of a form that means the same."""
        plain = {"session": self.session, "after": self.after, "before": self.before}
        return {**plain, "all": "1" if self.everything else ""}

    def sessions(self) -> Iterator[SessionSummary]:
        """Give the conversations; those of a period are those in which anything was said then."""
        history = self.page.history
        if self.session:
            yield history.lineage(self.session, limit=1)[0]
        elif self.everything:
            yield from history.sessions(all_sources=True)
        elif any(self.bounds):
            after, before = self.bounds
            yield from history.sessions(after=after, before=before, all_sources=True)

    def planned(self) -> dict[str, Any]:
        """Return what would go."""
        named: list[SessionSummary] = []
        learnt: set[int] = set()
        sessions = messages = 0
        memory = self.page.memory
        for each in self.sessions():
            sessions += 1
            messages += each.message_count
            if len(named) < _NAMED:
                named.append(each)
            if memory is not None and not self.everything and sessions <= _COUNTED:
                report = memory.forget(session_id=each.session_id, dry_run=True)
                learnt.update(found.id for found in report.relations)
        relations = len(learnt)
        if memory is not None and self.everything:
            relations = memory.forget(everything=True, dry_run=True).counts["relations"]
        return {
            "named": named,
            "sessions": sessions,
            "messages": messages,
            "learnt": relations,
            "seen": f"{sessions}.{messages}.{relations}",
        }


def deletion(page: Page) -> Response:
    """Show what may be deleted, or what a choice of it would delete."""
    return _previewed(page, _Choice(page), changed=False)


def _previewed(page: Page, choice: _Choice, *, changed: bool) -> Response:
    return page.render(
        "delete.html",
        choice=choice,
        plan=choice.planned() if choice.is_made else None,
        changed=changed,
        done=None,
        purged=None,
    )


def delete(page: Page) -> Response:
    """Delete what was shown, where that is still what would go."""
    choice = _Choice(page)
    if not choice.is_made:
        raise InvalidArgument("nothing to delete is named", hint="Follow a link of the page.")
    plan = choice.planned()
    if page.value("seen") != plan["seen"]:
        return _previewed(page, choice, changed=True)
    purged: Purged | None = None
    if choice.everything:
        page.view.stores.delete_user(page.user)
    else:
        memory = page.memory if page.value("learnt") else None
        walk = choice.sessions()
        while names := [each.session_id for each in islice(walk, 200)]:
            for name in names:
                if memory is not None:
                    memory.forget(session_id=name)
                page.history.delete_session(name)
        purged = page.history.purge()
    return page.render(
        "delete.html", choice=choice, plan=None, changed=False, done=plan, purged=purged
    )
