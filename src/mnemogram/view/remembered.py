# SPDX-License-Identifier: MIT
"""Scene memory: its situations as a tree, what one would bring, edits, and forgetting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, cast

from starlette.responses import RedirectResponse, Response

from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.memory import Relation, SceneCount, SceneMemory
from mnemogram.memory.models import KINDS, TRUST_RANK, Kind, Trust
from mnemogram.view.page import Page

__all__ = ["forget", "forgetting", "relation", "revise", "scenes"]

#: Scenes of the tree, and relations of a list.
_SCENES: Final = 5_000
_RELATIONS: Final = 200
TRUSTS: Final = tuple(reversed(tuple(TRUST_RANK)))


@dataclass(slots=True)
class Node:
    """One level of the tree.

    Attributes:
        key: the whole key.
        name: its last level.
        own: how many relations are pinned to exactly this key.
        below: how many to it and to all that is narrower.
        children: the narrower ones.
    """

    key: str
    name: str
    own: int = 0
    below: int = 0
    children: dict[str, Node] = field(default_factory=dict)


def tree(counts: tuple[SceneCount, ...]) -> Node:
    """Return the scenes as a tree, with the levels that have no pins of their own."""
    root = Node("", "")
    for each in counts:
        node, path = root, ""
        node.below += each.relations
        for level in each.key.split("/"):
            path = f"{path}/{level}" if path else level
            node = node.children.setdefault(level, Node(path, level))
            node.below += each.relations
        node.own += each.relations
    return root


def _memory(page: Page) -> SceneMemory:
    if page.memory is None:
        raise NotFound("no scene memory of this user")
    return page.memory


def scenes(page: Page) -> Response:
    """Show the tree, what is remembered in a situation, and what a message would bring."""
    memory = page.memory
    if memory is None:
        return page.render("scenes.html", memory=None)
    key, message = page.value("key"), page.value("message")
    keys = [each.strip() for each in page.value("keys").splitlines() if each.strip()]
    found = (
        memory.recall_by_scene(key, limit=_RELATIONS) if key else memory.relations(limit=_RELATIONS)
    )
    context = None
    if message.strip() or keys:
        language = cast(Any, page.language)
        context = memory.build_context(message, scenes=keys, explain=True, language=language)
    return page.render(
        "scenes.html",
        memory=memory,
        tree=tree(memory.scenes(limit=_SCENES)),
        key=key,
        found=found,
        message=message,
        keys="\n".join(keys) or key,
        context=context,
    )


def _relation(page: Page) -> Relation:
    number = page.number("id")
    found = () if number is None else _memory(page).relations(ids=[number]).relations
    if not found:
        raise NotFound("no such relation")
    return found[0]


def relation(page: Page) -> Response:
    """Show one relation, with what may be changed of it."""
    found = _relation(page)
    key = page.value("key")
    pin = None
    if key:
        pins = _memory(page).recall_by_scene(key, limit=1_000)
        pin = next((each for each in pins if each.id == found.id and each.scene), None)
    return page.render(
        "relation.html",
        relation=found,
        pin=pin,
        key=key,
        kinds=KINDS,
        trusts=TRUSTS,
        saved=bool(page.value("saved")),
    )


def revise(page: Page) -> Response:
    """Change the kind, trust and weight of a relation."""
    found = _relation(page)
    weight = page.value("weight")
    try:
        number = float(weight) if weight else None
    except ValueError as error:
        raise InvalidArgument("the weight is no number", hint="0 to 1.") from error
    _memory(page).revise(
        found.id,
        kind=cast("Kind | None", page.value("kind") or None),
        trust=cast("Trust | None", page.value("trust") or None),
        weight=number,
        scene=page.value("scene") or None if number is not None else None,
    )
    address = page.link("/relation", id=found.id, key=page.value("key"), saved=1)
    return RedirectResponse(address, 303)


# --- forgetting ------------------------------------------------------------------------


def _chosen(page: Page) -> dict[str, Any]:
    """Return what is to be forgotten, for the library."""
    number, key = page.number("id"), page.value("scene")
    if number is not None:
        return {"relation_ids": [number]}
    if key:
        return {"scene": key}
    raise InvalidArgument("nothing to forget is named", hint="Follow a link of the page.")


def forgetting(page: Page) -> Response:
    """Show what would be forgotten."""
    return _previewed(page, changed=False)


def _previewed(page: Page, *, changed: bool) -> Response:
    report = _memory(page).forget(**_chosen(page), dry_run=True)
    return page.render(
        "forget.html",
        report=report,
        count=report.counts["relations"],
        changed=changed,
        done=None,
        id=page.number("id"),
        scene=page.value("scene"),
    )


def forget(page: Page) -> Response:
    """Forget what was shown, where that is still what would go."""
    memory = _memory(page)
    planned = memory.forget(**_chosen(page), dry_run=True).counts["relations"]
    if page.number("count") != planned:
        return _previewed(page, changed=True)
    report = memory.forget(**_chosen(page))
    return page.render("forget.html", report=report, count=planned, changed=False, done=planned)
