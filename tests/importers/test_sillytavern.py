# SPDX-License-Identifier: MIT
"""Chats of SillyTavern."""

from __future__ import annotations

from typing import Any

from mnemogram.importers import Batch

from .conftest import Load

HEAD = {"user_name": "Ada", "character_name": "Bo", "create_date": "2026-03-01@09h00m00s"}


def message(text: str, minute: int, *, user: bool = False, **more: Any) -> Any:
    return {
        "name": "Ada" if user else "Bo",
        "is_user": user,
        "is_system": False,
        "mes": text,
        "send_date": f"March 1, 2026 9:{minute:02}am",
        "extra": {},
        **more,
    }


def texts(batch: Batch) -> list[str | None]:
    return [each.content for each in batch.messages]


def test_answers_that_were_not_taken_were_left(load: Load) -> None:
    swipes = ["on Elm Street", "on Oak Street", "nowhere"]
    infos = [{"send_date": f"March 1, 2026 9:{minute}am"} for minute in (11, 12, 13)]
    answer = message("on Oak Street", 12, swipes=swipes, swipe_id=1, swipe_info=infos)
    (batch,), report = load(lines=[HEAD, message("which bakery", 10, user=True), answer])
    assert report.format == "sillytavern"
    assert texts(batch) == ["which bakery", "on Oak Street"]
    assert [each.content for each in batch.left] == ["on Elm Street", "nowhere"]
    # Another answer is taken: each keeps its uid.
    taken = {**answer, "mes": swipes[0], "swipe_id": 0, "send_date": infos[0]["send_date"]}
    (again,), _ = load(lines=[HEAD, message("which bakery", 10, user=True), taken])
    known = {each.uid: each.content for each in (*batch.messages, *batch.left)}
    assert {each.uid: each.content for each in (*again.messages, *again.left)} == known
    assert again.session == batch.session


def test_a_chat_that_goes_on_stays_the_same_one(load: Load) -> None:
    first, more = message("hello", 1, user=True), message("hi", 2)
    for head in (HEAD, {"chat_metadata": {"integrity": "7"}, "character_name": "unused"}):
        (short,), _ = load(lines=[head, first])
        (long,), _ = load(lines=[head, first, more])
        assert short.session.id == long.session.id
        assert long.messages[0] == short.messages[0]
    (edited,), _ = load(lines=[HEAD, {**first, "mes": "hello there"}])
    assert edited.messages[0].uid == short.messages[0].uid


def test_hidden_messages_have_left_the_context_and_notes_are_nobodys(load: Load) -> None:
    (batch,), report = load(
        lines=[
            HEAD,
            message("a", 1, user=True, is_system=True),
            message("a door opens", 2, extra={"type": "narrator"}),
            message("b", 3, extra={"reasoning": "hm", "image": "x.png"}),
        ]
    )
    assert texts(batch) == ["a", "b\n[image]"]
    assert list(batch.states.values()) == ["compacted"]
    assert report.skipped == {"system messages": 1, "reasoning blocks": 1}


def test_a_branch_is_a_copy_of_the_chat_it_was_taken_from(load: Load) -> None:
    branch = {**HEAD, "chat_metadata": {"main_chat": "Bo - 2026"}}
    (one,), _ = load(lines=[HEAD, message("a", 1, user=True)])
    (two,), _ = load(lines=[branch, message("a", 1, user=True), message("b", 2)])
    assert one.session.id != two.session.id
    assert two.unique
    assert two.messages[0].uid == one.messages[0].uid
