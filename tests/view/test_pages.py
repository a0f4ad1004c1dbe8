# SPDX-License-Identifier: MIT
"""What the pages show is what the library says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mnemogram
from mnemogram import Message, Session

if TYPE_CHECKING:
    from tests.view.client import Client

HIT = re.compile(r'<a class="hit" href="([^"]*)"')


def hits(html: str) -> list[str]:
    return [unescape(each) for each in HIT.findall(html)]


@pytest.mark.parametrize(
    "query", ["牙医", "cacheA 扩容", "バックアップ", "예약", "หมอฟัน", "NOT x", '"']
)
@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_a_search_gives_the_librarys_results_in_its_order(
    client: Client, query: str, sort: Any
) -> None:
    from urllib.parse import parse_qs, urlsplit

    found = client.stores.history("alice").search(query, limit=10, sort=sort)
    for page in (client.get("/", q=query, sort=sort), client.get("/", q=query, sort=sort, part=1)):
        shown = [parse_qs(urlsplit(each).query) for each in hits(page.text)]
        assert [each["id"][0] for each in shown] == [each.session_id for each in found.results]
        assert [int(each["at"][0]) for each in shown if "at" in each] == [
            each.match_message_id for each in found.results if each.match_message_id
        ]
        marked = sum(each.snippet.count("⟦") for each in found.results)
        assert page.text.count("<mark>") == marked


def test_filters_are_those_of_the_library(client: Client) -> None:
    history = client.stores.history("alice")
    everything = {each.session_id for each in history.sessions(all_sources=True)}
    some = next(iter(history.sessions(all_sources=True)))
    listed = client.get("/", all=1)
    assert len(hits(listed.text)) == min(10, len(everything))
    day = (some.last_active_at or "")[:10]
    assert len(hits(client.get("/", after=day, before=day, all=1).text)) >= 1
    assert hits(client.get("/", after="1999-01-01", before="1999-01-02").text) == []
    assert hits(client.get("/", source="no such program").text) == []


@pytest.mark.parametrize(
    "fields",
    [{"sort": "best"}, {"after": "yesterday"}, {"cursor": "x"},
     {"after": "2026-02-02", "before": "2026-01-01"}],
)  # fmt: skip
def test_what_no_search_takes_is_an_answer_and_no_failure(
    client: Client, fields: dict[str, str]
) -> None:
    assert client.get("/", q="x", **fields).status == 400


def test_pages_of_results_go_on_by_a_cursor(tmp_path: Path) -> None:
    from tests.view.client import Client

    with mnemogram.open(tmp_path) as home:
        home.history("alice").append_many(
            [(Session(f"s{n}"), [Message("user", f"kettle {n}")]) for n in range(23)]
        )
    client = Client(tmp_path)
    for start in ("/?q=kettle", "/"):
        seen: list[str] = []
        page = start
        while page:
            html = client.send("GET", page).text
            seen += hits(html)
            more = re.search(r'class="more" rel="next" href="([^"]*)"', html)
            page = unescape(more[1]) if more else ""
        assert len(seen) == len(set(seen)) == 23
    client.close()


# --- a conversation --------------------------------------------------------------------

MESSAGE = re.compile(r'<li id="m(\d+)" class="message[^>]*data-n="(\d+)"')
EDGE = re.compile(r'data-side="(\w+)" href="[^"]*" data-part="([^"]*)"')


@pytest.fixture
def long(tmp_path: Path) -> Path:
    with mnemogram.open(tmp_path) as home:
        history = home.history("alice")
        history.append(
            Session("long", title="Long"),
            [Message("user", f"message {n}", uid=str(n)) for n in range(500)],
        )
        history.mark_compacted("long", ["3"])
        history.append(Session("next", parent="long"), [Message("user", "on it goes")])
    return tmp_path


@pytest.mark.parametrize("place", [1, 2, 13, 14, 250, 487, 500, 9_999])
def test_a_window_moves_over_a_whole_conversation(long: Path, place: int) -> None:
    from tests.view.client import Client

    client = Client(long)
    ids = [each.id for each in client.stores.history("alice").messages("long")]
    html = client.get("/conversation", id="long", n=place).text
    found = [(int(id_), int(n)) for id_, n in MESSAGE.findall(html)]
    assert min(place, 500) in [n for _, n in found]
    edges = dict(EDGE.findall(html))
    for side, step in (("earlier", -1), ("later", 1)):
        address = edges.get(side)
        while address:
            html = client.send("GET", unescape(address)).text
            more = [(int(id_), int(n)) for id_, n in MESSAGE.findall(html)]
            assert more
            found = more + found if step < 0 else found + more
            address = dict(EDGE.findall(html)).get(side)
    assert found == list(zip(ids, range(1, 501), strict=True))
    client.close()


def test_the_hit_is_in_the_window_and_marked(long: Path) -> None:
    from tests.view.client import Client

    client = Client(long)
    anchor = client.stores.history("alice").search("message 321").results[0].match_message_id
    html = client.get("/conversation", id="long", at=anchor).text
    assert re.search(rf'<li id="m{anchor}" class="message role-user anchor', html)
    assert f'data-anchor="{anchor}"' in html
    client.close()


def test_states_and_the_rest_of_a_lineage_are_shown(long: Path) -> None:
    from tests.view.client import Client

    client = Client(long)
    html = client.get("/conversation", id="long").text
    assert html.count('<span class="badge state"') == 1
    assert "/conversation?id=next" in html
    assert "/conversation?id=long" in client.get("/conversation", id="next").text
    client.close()


def test_a_result_is_folded_into_the_call_that_it_answers(tmp_path: Path) -> None:
    from tests.view.client import Client

    call = {"id": "c1", "type": "function",
            "function": {"name": "look_up", "arguments": '{"city": "東京"}'}}  # fmt: skip
    with mnemogram.open(tmp_path) as home:
        home.history("alice").append(
            "s",
            [
                Message("user", "weather?"),
                Message("assistant", "", tool_calls=[call]),
                Message("tool", "sunny", tool_call_id="c1", tool_name="look_up"),
                Message("tool", "alone", tool_call_id="c9", tool_name="other"),
                Message("assistant", "Sunny."),
            ],
        )
    client = Client(tmp_path)
    html = client.get("/conversation", id="s").text
    assert [int(n) for _, n in MESSAGE.findall(html)] == [1, 2, 4, 5]
    inside = html.partition('<details class="call">')[2].partition("</li>")[0]
    assert "look_up" in inside
    assert "東京" in inside
    assert "sunny" in inside
    assert "alone" not in inside
    # The result is found where it stands, and its call is open.
    opened = client.get("/conversation", id="s", at=3).text
    assert 'id="m3" class="anchor"' in opened
    client.close()


@pytest.mark.parametrize("form", ["jsonl", "md", "txt"])
def test_an_export_holds_the_whole_conversation(long: Path, form: str) -> None:
    from tests.view.client import Client

    client = Client(long)
    answer = client.get("/export", id="long", format=form)
    assert (answer.header("content-disposition") or "").startswith("attachment")
    assert answer.text.count("message ") >= 500
    if form == "jsonl":
        lines = [json.loads(each) for each in answer.text.splitlines()]
        assert [each["type"] for each in lines] == ["session"] + ["message"] * 500
    client.close()


@pytest.mark.parametrize(
    "address",
    ["/conversation", "/conversation?id=none", "/conversation?id=zh-dentist&at=99999",
     "/conversation?id=zh-dentist&at=x", "/conversation?id=zh-dentist&part=1", "/message?id=x&at=1",
     "/export?id=none", "/export?id=zh-dentist&format=exe", "/?user=nobody"],
)  # fmt: skip
def test_what_is_not_there_is_said_to_be_so(client: Client, address: str) -> None:
    answer = client.send("GET", address)
    assert answer.status in (400, 404)
    assert "Traceback" not in answer.text


# --- state, users, languages -----------------------------------------------------------


def test_the_state_is_that_of_the_file(client: Client) -> None:
    status = client.stores.history("alice").status()
    html = client.get("/state").text
    assert f"<dd>{status.messages}</dd>" in html
    assert f"<dd>{status.sessions}</dd>" in html
    for each in status.indexes:
        assert each.name in html
    assert "All is well." in client.post("/state/check").text


def test_another_user_is_chosen_by_the_hosts_own_id(client: Client) -> None:
    with mnemogram.open(client.stores.root) as home:
        home.history("bob/小明").append("b", [Message("user", "only bob says kettle")])
        keys = home.users()
    html = client.get("/", user="bob/小明").text
    assert "only bob says kettle" in html
    assert all("user=bob%2F%E5%B0%8F%E6%98%8E" in each for each in hits(html))
    assert "only bob" not in client.get("/").text
    for page in ("/", "/state"):
        assert not any(key in client.send("GET", page).text.replace(
            str(client.stores.history("alice").path), "") for key in keys)  # fmt: skip


def test_every_text_is_there_in_every_language() -> None:
    from mnemogram.view.texts import LANGUAGES, TEXTS

    for key, words in TEXTS.items():
        assert len(words) == len(LANGUAGES), key
        assert all(words), key
        fields = {frozenset(re.findall(r"\{(\w+)\}", each)) for each in words}
        assert len(fields) == 1, key


@pytest.mark.parametrize("tag", ["en", "zh", "ja", "ko"])
def test_the_interface_speaks_the_language_that_is_asked_for(client: Client, tag: str) -> None:
    from mnemogram.view.texts import text

    accepted = client.get("/", {"accept-language": f"xx, {tag}-XX;q=0.8"}).text
    asked = client.get("/", lang=tag)
    for html in (accepted, asked.text):
        assert f'<html lang="{tag}">' in html
        assert text(tag, "recent") in html
    assert f"lang={tag}" in hits(asked.text)[0]


def test_read_only_writes_nothing(root: Path) -> None:
    from tests.view.client import Client

    client = Client(root, read_only=True)
    before = {each: each.stat().st_mtime_ns for each in root.rglob("*.db")}
    for page in ("/", "/?q=牙医", "/state", "/conversation?id=zh-dentist"):
        assert client.send("GET", page).status == 200
    assert client.post("/state/check").status == 200
    client.close()
    assert {each: each.stat().st_mtime_ns for each in root.rglob("*.db")} == before


def test_the_assets_are_in_the_package_and_small() -> None:
    from mnemogram.view.page import ASSETS

    here = Path(sys.modules["mnemogram.view"].__file__ or "").parent
    files = [each for kind in ("assets", "templates") for each in (here / kind).iterdir()]
    assert sum(each.stat().st_size for each in files) < 300_000
    assert set(ASSETS) == {each.name for each in (here / "assets").iterdir()}


def test_nothing_else_loads_the_web() -> None:
    code = (
        "import sys, mnemogram, mnemogram.service, mnemogram.memory, mnemogram.cli.app\n"
        "import mnemogram.cli.searching, mnemogram.cli.view\n"
        "print([each for each in ('starlette', 'uvicorn', 'jinja2', 'markdown_it')"
        " if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
