# SPDX-License-Identifier: MIT
"""Scene memory and deletion on the page: shown first, then done, and nothing of it stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mnemogram
from mnemogram import Message, Session, Triple

if TYPE_CHECKING:
    from tests.view.client import Client

FIELD = re.compile(r'<input type="(?:hidden|checkbox)" name="(\w+)" value="([^"]*)"')


def fields_of(html: str) -> dict[str, str]:
    """The fields of the form that changes something, without those of the foot."""
    form = html.partition('<form method="post"')[2].partition("</form>")[0]
    return {name: unescape(value) for name, value in FIELD.findall(form) if name != "csrf"}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    with mnemogram.open(tmp_path) as home:
        history = home.history("alice")
        for number, day in enumerate(("2026-01-10", "2026-02-10", "2026-03-10")):
            history.append(
                Session(f"s{number}", title=f"Talk {number}"),
                [Message("user", f"secretword{number} tea", timestamp=f"{day}T12:00:00Z")],
            )
        memory = home.memory("alice")
        for number in range(3):
            memory.commit(
                [Triple("tea", "is kept in", f"box {number}", kind="rule",
                        sentence=f"secretword{number} again")],
                scene=["chan:qq", f"chan:qq/peer:group_{number}", "tool:brew"][number],
                session_id=f"s{number}",
            )  # fmt: skip
    return tmp_path


@pytest.fixture
def page(kept: Path) -> Iterator[Client]:
    from tests.view.client import Client

    made = Client(kept)
    yield made
    made.close()


def held(root: Path) -> bytes:
    return b"".join(each.read_bytes() for each in root.rglob("*") if each.is_file())


# --- scene memory ----------------------------------------------------------------------


def test_the_tree_counts_what_is_pinned_at_and_below_each_level(page: Client) -> None:
    html = page.get("/scenes").text
    found = re.findall(r"<bdi>([^<]*)</bdi></a> <span class=\"dim\">(\d+)</span>", html)
    assert found == [("chan:qq", "2"), ("peer:group_1", "1"), ("tool:brew", "1")]
    assert page.get("/scenes", key="chan:qq").text.count('<article class="relation">') == 2


def test_what_a_situation_would_bring_is_explained(page: Client) -> None:
    memory = page.stores.memory("alice")
    assert memory is not None
    html = unescape(page.get("/scenes", message="tea?", keys="chan:qq/peer:group_1\n").text)
    context = memory.build_context("tea?", scenes=["chan:qq/peer:group_1"], explain=True)
    assert len(context.lines) == 2
    assert all(each.reason in html for each in context.lines)
    assert context.format() in html


def test_kind_trust_and_weight_are_set(page: Client) -> None:
    html = page.get("/relation", id=2, key="chan:qq/peer:group_1").text
    fields = fields_of(html)
    assert fields["scene"] == "chan:qq/peer:group_1"
    done = page.post("/relation", **fields, kind="fact", trust="document", weight="0.25")
    assert done.status == 303
    memory = page.stores.memory("alice")
    assert memory is not None
    (found,) = memory.recall_by_scene("chan:qq/peer:group_1")
    assert (found.kind, found.trust, found.weight) == ("fact", "document", 0.25)
    assert "Saved." in page.send("GET", done.header("location") or "").text


@pytest.mark.parametrize("wrong", [{"kind": "law"}, {"weight": "x"}, {"weight": "7"}, {"id": "9"}])
def test_a_wrong_edit_changes_nothing(page: Client, wrong: dict[str, str]) -> None:
    before = page.get("/scenes").text
    assert page.post("/relation", **{"id": "2", **wrong}).status in (400, 404)
    assert page.get("/scenes").text == before


def test_forgetting_shows_first_what_would_go_and_leaves_no_byte(page: Client, kept: Path) -> None:
    html = page.get("/scenes/forget", scene="tool:brew").text
    assert "secretword2 again" in html
    assert "secretword0 again" not in html
    assert b"secretword2 again" in held(kept)
    assert "1 forgotten." in page.post("/scenes/forget", **fields_of(html)).text
    assert b"secretword2 again" not in held(kept)
    assert b"secretword1 again" in held(kept)


def test_what_changed_since_it_was_shown_is_shown_again(page: Client) -> None:
    memory = page.stores.memory("alice")
    assert memory is not None
    fields = fields_of(page.get("/scenes/forget", scene="tool:brew").text)
    memory.commit([Triple("cup", "is", "blue")], scene="tool:brew")
    assert "has changed" in page.post("/scenes/forget", **fields).text
    assert len(memory.recall_by_scene("tool:brew")) == 2


# --- deletion --------------------------------------------------------------------------


def test_a_conversation_goes_with_what_was_learnt_from_it(page: Client, kept: Path) -> None:
    assert "/delete?session=s1" in page.get("/conversation", id="s1").text
    html = page.get("/delete", session="s1").text
    assert "1 conversations with 1 messages" in html
    fields = fields_of(html)
    assert fields["learnt"] == "1"
    assert b"secretword1" in held(kept)
    assert "No byte of it is left" in page.post("/delete", **fields).text
    assert b"secretword1" not in held(kept)
    assert b"secretword0" in held(kept)
    assert page.get("/conversation", id="s1").status == 404


def test_what_was_learnt_may_stay(page: Client) -> None:
    fields = fields_of(page.get("/delete", session="s1").text)
    del fields["learnt"]
    page.post("/delete", **fields)
    memory = page.stores.memory("alice")
    assert memory is not None
    assert len(memory.relations()) == 3


def test_a_period_takes_the_conversations_in_which_something_was_said(
    page: Client, kept: Path
) -> None:
    html = page.get("/delete", after="2026-02-01", before="2026-03-10").text
    assert "2 conversations with 2 messages" in html
    page.post("/delete", **fields_of(html))
    left = [each.session_id for each in page.stores.history("alice").sessions()]
    assert left == ["s0"]
    assert b"secretword2 tea" not in held(kept)


def test_everything_of_a_user_goes_and_of_nobody_else(page: Client, kept: Path) -> None:
    with mnemogram.open(kept) as home:
        home.history("bob").append("b", [Message("user", "bobs word")])
    page.get("/state")  # its upkeep is at work
    html = page.get("/delete", all=1).text
    assert "3 conversations with 3 messages" in html
    assert "Deleted" in page.post("/delete", **fields_of(html)).text
    assert b"secretword" not in held(kept)
    assert b"bobs word" in held(kept)
    assert page.get("/").status == 404


def test_what_was_said_since_it_was_shown_is_shown_before_it_goes(page: Client) -> None:
    fields = fields_of(page.get("/delete", session="s1").text)
    page.stores.history("alice").append("s1", [Message("user", "one more thing")])
    assert "has changed" in page.post("/delete", **fields).text
    assert page.get("/conversation", id="s1").status == 200


@pytest.mark.parametrize("fields", [{}, {"seen": "0.0.0"}, {"session": ""}, {"all": ""}])
def test_a_deletion_names_what_it_deletes(page: Client, fields: dict[str, str]) -> None:
    assert page.post("/delete", **fields).status == 400
    assert page.stores.history("alice").count_sessions() == 3


def test_looking_changes_nothing(page: Client, kept: Path) -> None:
    for address in ("/delete?all=1", "/delete?session=s0", "/scenes/forget?scene=chan:qq"):
        assert page.send("GET", address).status == 200
    assert page.stores.history("alice").count_sessions() == 3
    memory = page.stores.memory("alice")
    assert memory is not None
    assert len(memory.relations()) == 3


def test_read_only_offers_and_takes_no_change(kept: Path) -> None:
    from tests.view.client import Client

    client = Client(kept, read_only=True)
    for address in ("/", "/scenes", "/scenes?key=chan:qq", "/conversation?id=s0", "/state",
                    "/relation?id=1&key=chan:qq", "/delete?all=1",
                    "/scenes/forget?id=1"):  # fmt: skip
        html = client.send("GET", address).text
        posts = set(re.findall(r'<form method="post" action="([^"]*)"', html))
        assert posts <= {"/state/check"}, address
    assert 'href="/delete"' not in client.get("/").text
    for path in ("/delete", "/relation", "/scenes/forget"):
        assert client.post(path, all=1, seen="3.3.3", id=1, count=1, kind="fact").status == 403
    client.close()
    with mnemogram.open(kept) as home:
        assert home.history("alice").count_sessions() == 3
        assert {each.kind for each in home.memory("alice").relations()} == {"rule"}


def test_a_user_without_scene_memory_has_a_page_that_says_so(client: Client) -> None:
    assert "Nothing is remembered" in client.get("/scenes").text
