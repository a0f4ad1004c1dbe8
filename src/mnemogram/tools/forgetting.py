# SPDX-License-Identifier: MIT
"""The ``memory_forget`` tool: facts and rules, deleted by a model at the user's word.

What a user has confirmed goes only where the user says so once more.
"""

from __future__ import annotations

from typing import Any, Final, overload

from mnemogram.errors import InvalidArgument
from mnemogram.memory import Relation, SceneMemory, Triple
from mnemogram.text import cut
from mnemogram.tools.asking import (
    AsyncConfirm,
    Confirm,
    answer_of,
    answer_of_async,
    checked_plain,
)
from mnemogram.tools.asynchronous import AsyncStore, AsyncTool
from mnemogram.tools.declaration import Declaration, Strings, Tool
from mnemogram.tools.memory import NAME_CHARS

__all__ = ["FORGET", "memory_forget_tool"]

#: What the user is asked about, for the log.
_ABOUT: Final = "forgetting"
_MOST: Final = 50

FORGET: Final = Declaration(
    name="memory_forget",
    title="Forget facts and rules",
    description=(
        "Delete remembered facts, preferences and rules for good. Use it only when the user asks"
        " to forget them; what has merely changed is committed anew. Recall first, and give the"
        " ids of exactly what the user means. What the user once confirmed is deleted only where"
        " the user agrees."
    ),
    parameters=(
        Strings(
            name="ids",
            description="Ids of relations, from memory_recall.",
            required=True,
            maximum=_MOST,
            aliases=("id", "relation_ids", "relations"),
        ),
    ),
    read_only=False,
    destructive=True,
)


@overload
def memory_forget_tool(
    memory: SceneMemory, *, confirm: Confirm | None = None, agreed: bool = False
) -> Tool: ...
@overload
def memory_forget_tool(
    memory: AsyncStore[SceneMemory],
    *,
    confirm: Confirm | AsyncConfirm | None = None,
    agreed: bool = False,
) -> AsyncTool: ...


def memory_forget_tool(
    memory: SceneMemory | AsyncStore[SceneMemory],
    *,
    confirm: Confirm | AsyncConfirm | None = None,
    agreed: bool = False,
) -> Tool | AsyncTool:
    """Make the tool that forgets, for one user.

    Args:
        memory: the user's scene memory; the model cannot name another. Over its async face
            the tool is awaited.
        confirm: asks the user about each relation before it is forgotten. Without an answer,
            or where nobody can be asked, what is confirmed stays, and the rest is forgotten;
            on False everything stays.
        agreed: that the user agrees to each call as it is: then nobody is asked and
            everything that is named goes.

    Raises:
        InvalidArgument: a plain tool shall ask a coroutine function.
    """
    if isinstance(memory, AsyncStore):
        store = memory

        async def awaited(given: dict[str, Any]) -> dict[str, Any]:
            ids = _ids(given)
            found = await store.run(lambda plain: _found(plain, ids))
            goes = [each for each in found if await _agrees_async(confirm, agreed, each)]
            return await store.run(lambda plain: _forgotten(plain, ids, found, goes), write=True)

        return AsyncTool(FORGET, awaited)
    checked_plain(confirm)
    plain = memory

    def answer(given: dict[str, Any]) -> dict[str, Any]:
        ids = _ids(given)
        found = _found(plain, ids)
        goes = [each for each in found if _agrees(confirm, agreed, each)]
        return _forgotten(plain, ids, found, goes)

    return Tool(FORGET, answer)


def _ids(given: dict[str, Any]) -> list[int]:
    ids = []
    for each in given["ids"]:
        number = each.removeprefix("#")
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise InvalidArgument(
                f"{each[:80]!r} is no id of a relation", hint="Give ids from memory_recall."
            )
        ids.append(int(number))
    return ids


def _found(memory: SceneMemory, ids: list[int]) -> list[Relation]:
    return list(memory.relations(ids=dict.fromkeys(ids), retired=True, limit=_MOST))


def _asked(relation: Relation) -> Triple:
    return Triple(
        relation.subject,
        relation.relation,
        relation.object,
        sentence=relation.sentence,
        kind=relation.kind,
        trust=relation.trust,
    )


def _decided(relation: Relation, answer: bool | None) -> bool:
    """Whether a relation goes: where nobody answered, what was confirmed stays."""
    return relation.trust != "confirmed" if answer is None else bool(answer)


def _agrees(confirm: Any, agreed: bool, relation: Relation) -> bool:
    if agreed:
        return True
    asks = confirm is not None
    return _decided(relation, answer_of(confirm, _asked(relation), _ABOUT) if asks else None)


async def _agrees_async(confirm: Any, agreed: bool, relation: Relation) -> bool:
    if agreed or confirm is None:
        return _agrees(None, agreed, relation)
    return _decided(relation, await answer_of_async(confirm, _asked(relation), _ABOUT))


def _forgotten(
    memory: SceneMemory, ids: list[int], found: list[Relation], goes: list[Relation]
) -> dict[str, Any]:
    if goes:
        memory.forget(relation_ids=[each.id for each in goes])
    gone = {each.id for each in goes}
    known = {each.id for each in found}
    notes = []
    if len(gone) < len(found):
        notes.append("What the user did not agree to forget is kept.")
    return {
        "success": True,
        "mode": "forget",
        "forgotten": [_named(each) for each in found if each.id in gone],
        "kept": [_named(each) for each in found if each.id not in gone],
        "unknown": [each for each in dict.fromkeys(ids) if each not in known],
        "notes": notes,
    }


def _named(relation: Relation) -> dict[str, Any]:
    names = ("subject", "relation", "object")
    return {"id": relation.id} | {
        name: cut(getattr(relation, name), NAME_CHARS)[0] for name in names
    }
