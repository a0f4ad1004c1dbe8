# SPDX-License-Identifier: MIT
"""Who is let in, and what does not get through."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mnemogram
from mnemogram import Message

if TYPE_CHECKING:
    from tests.view.client import Client

OWN = "http://127.0.0.1:8642"
PAGES = (
    *("/", "/?q=x", "/state", "/conversation?id=zh-dentist", "/message?id=zh-dentist&at=1"),
    *("/scenes", "/scenes?key=x&message=x", "/delete", "/delete?all=1"),
)


def outside(root: Path) -> Client:
    from tests.view.client import Client

    return Client(root, inside=False)


# --- who is let in ---------------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, "/export?id=zh-dentist", "/nothing"])
def test_without_the_link_there_is_no_page(root: Path, page: str) -> None:
    answer = outside(root).send("GET", page)
    assert answer.status == 401
    assert "牙医" not in answer.text


def test_the_link_gives_a_cookie_that_no_script_and_no_other_site_gets(root: Path) -> None:
    client = outside(root)
    answer = client.enter()
    assert answer.status == 200
    cookie = answer.header("set-cookie") or ""
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert "domain" not in cookie.lower()
    assert client.get("/").status == 200


def test_a_link_works_once(root: Path) -> None:
    client = outside(root)
    link = client.access.new_link().removeprefix(OWN)
    assert client.send("GET", link).status == 200
    again = client.send("GET", link)
    assert again.status == 403
    assert again.header("set-cookie") is None


def test_looking_ahead_does_not_use_a_link_up(root: Path) -> None:
    client = outside(root)
    link = client.access.new_link().removeprefix(OWN)
    for headers in ({"sec-purpose": "prefetch"}, {"purpose": "prefetch"}):
        assert client.send("GET", link, headers).status == 401
    assert client.send("HEAD", link).status == 401
    assert client.send("GET", link).status == 200


@pytest.mark.parametrize("token", ["", "x", "%00", "a&token=b", "é"])
def test_no_other_token_opens(root: Path, token: str) -> None:
    client = outside(root)
    client.access.new_link()
    assert client.send("GET", f"/open?token={token}").status == 403


@pytest.mark.parametrize(
    "cookie",
    ["mnemogram_8642=", "mnemogram_8642=x", "other=1", ";;;", "mnemogram_8642=\xff", None],
)
def test_no_other_cookie_opens(root: Path, cookie: str | None) -> None:
    assert outside(root).send("GET", "/", {"cookie": cookie}).status == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8642",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8642.evil.example",
        "localhost.evil.example:8642",
        "[::1]:8642",
        "",
        None,
        ["127.0.0.1:8642", "evil.example"],
    ],
)
def test_another_host_is_refused_even_with_the_cookie(client: Client, host: Any) -> None:
    # DNS rebinding: a name of another site that leads here.
    answer = client.send("GET", "/", {"host": host})
    assert answer.status == 421
    assert "牙医" not in answer.text
    assert (
        client.send("GET", client.access.new_link().removeprefix(OWN), {"host": host}).status == 421
    )


def test_both_names_of_this_machine_are_ours(client: Client) -> None:
    assert client.send("GET", "/", {"host": "localhost:8642"}).status == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:8642", "http://127.0.0.1:8000",
     "http://localhost:8642", "", ["http://127.0.0.1:8642", "http://evil.example"]],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_is_refused_even_with_the_cookie(
    client: Client, origin: Any, method: str
) -> None:
    if method == "GET":
        assert client.get("/", {"origin": origin}).status == 403
    else:
        assert client.post("/state/check", {"origin": origin}).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_sends_for_another_page_is_refused(client: Client, site: str) -> None:
    # same-site: another program's page on this machine, on a port of its own.
    assert client.get("/", {"sec-fetch-site": site}).status == 403
    assert client.post("/state/check", {"sec-fetch-site": site}).status == 403


def test_a_form_without_an_origin_is_refused(client: Client) -> None:
    assert client.post("/state/check", {"origin": None}).status == 403


@pytest.mark.parametrize("csrf", [None, "x", "0" * 64, "ünïcode"])
def test_a_form_without_our_token_is_refused(client: Client, csrf: str | None) -> None:
    assert client.post("/state/check", csrf=csrf).status == 403


def test_the_token_of_another_browser_is_refused(client: Client) -> None:
    other = client.access.csrf("another cookie")
    assert client.post("/state/check", csrf=other).status == 403
    assert client.post("/state/check").status == 200


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "application/json", None])
def test_a_form_of_another_kind_is_refused(client: Client, kind: str | None) -> None:
    assert client.post("/state/check", {"content-type": kind}).status == 415


def test_a_form_without_end_is_refused(client: Client) -> None:
    assert client.post("/state/check", more="x" * 100_000).status == 413
    assert client.post("/state/check", **{f"f{n}": "x" for n in range(2_000)}).status == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    assert client.send(method, "/").status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../page.py",
        "/assets/..%2fpage.py",
        "/assets/%2e%2e/%2e%2e/app.py",
        "/assets//etc/passwd",
        "/assets/..\\..\\app.py",
        "/../../etc/passwd",
        "/assets/view.css%00.py",
        "/assets/",
        "/templates/frame.html",
    ],
)
def test_no_path_leads_to_another_file(client: Client, path: str) -> None:
    from urllib.parse import unquote

    for each in (path, unquote(path)):
        answer = client.send("GET", each)
        assert answer.status in (404, 401)
        assert b"import" not in answer.body
        assert b"root:" not in answer.body


@pytest.mark.parametrize("user", ["../alice", "/etc", "system", "\x00", "..", "a/b", "x" * 100_000])
def test_a_user_is_an_id_and_no_path(client: Client, root: Path, user: str) -> None:
    before = sorted(root.rglob("*"))
    answer = client.get("/", user=user)
    assert answer.status == 404
    assert sorted(each for each in root.rglob("*") if each.suffix != ".db-shm") == [
        each for each in before if each.suffix != ".db-shm"
    ]


# --- what every answer says ------------------------------------------------------------


@pytest.mark.parametrize("page", [*PAGES, "/assets/view.js", "/nothing", "/open?token=x"])
def test_every_answer_forbids_what_is_not_ours(client: Client, page: str) -> None:
    answer = client.send("GET", page)
    policy = dict(
        each.strip().split(" ", 1)
        for each in (answer.header("content-security-policy") or "").split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert "unsafe" not in str(policy)
    assert "http" not in str(policy)
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("x-frame-options") == "DENY"
    assert answer.header("referrer-policy") == "same-origin"
    if not page.startswith("/assets/"):
        assert answer.header("cache-control") == "no-store"


class Scripts(HTMLParser):
    """What of a page would run, load or leave."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.links: list[dict[str, str | None]] = []
        self.inline: list[str] = []
        self.read: list[str] = []

    def handle_data(self, data: str) -> None:
        self.read.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.read += [given[name] or "" for name in ("title", "aria-label") if name in given]
        self.inline += [name for name in given if name.startswith("on") or name == "style"]
        if tag != "a":
            self.loads += [given[name] or "" for name in ("src", "href", "data") if name in given]
        elif given.get("href"):
            self.links.append(given)


def scripts_of(html: str) -> Scripts:
    found = Scripts()
    found.feed(html)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_its_own_assets_and_nothing_else(client: Client, page: str) -> None:
    found = scripts_of(client.send("GET", page).text)
    assert not found.inline
    assert all(each.startswith("/assets/view.") or "/assets/icon" in each for each in found.loads)
    assert found.tags.count("script") == 1
    assert not {"style", "img", "iframe", "object", "embed", "base"} & set(found.tags)


# --- what a message holds --------------------------------------------------------------

ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'\"><iframe src=//evil.example></iframe>",
    "[a](javascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x) [b](file:///etc/passwd) [c](/delete?all=1) [d](//evil.example)",
    "![tracker](https://evil.example/pixel.png)",
    "<https://evil.example/> [out](https://evil.example/path)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "| a | b |\n|:-:|--:|\n| <b>x</b> | ![](http://evil.example) |",
    "```html\n<script>alert(1)</script>\n```",
    "{{ page.access }} {% raw %}",
    "]]><!--<script>--></title></textarea></style></script><script>alert(1)</script>",
    "⟦<b>x</b>⟧",
    "\x00\x01\x1b[31m\x7f\x9b2J",
    "left \u202eright\u202c \u2066isolate\u2069 \u2028line",
    "\ufffe\uffff",
)


#: What is not seen, and turns or ends what is.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def attacked(tmp_path: Path) -> Path:
    """Everything that a message, a title, a source or a tool can be called is an attack."""
    with mnemogram.open(tmp_path) as home:
        history = home.history("alice")
        for number, each in enumerate(ATTACKS):
            history.append(
                mnemogram.Session(f"s{number} {each}", title=f"needle {each}", source=each,
                                  model=each),
                [
                    Message("user", f"needle {each}", timestamp="2026-01-02T00:00:00Z"),
                    Message("assistant", each, tool_calls=[
                        {"id": f"c{each}", "function": {"name": each, "arguments": each}}
                    ], timestamp="2026-01-02T00:00:01Z"),
                    Message("tool", f"needle {each}", tool_call_id=f"c{each}", tool_name=each,
                            tool_status=each, timestamp="2026-01-02T00:00:02Z"),
                ],
            )  # fmt: skip
    return tmp_path


def test_nothing_in_a_message_becomes_more_than_text(attacked: Path) -> None:
    from tests.view.client import Client

    client = Client(attacked)
    pages = ["/?q=needle&role=user&role=tool&role=assistant", "/", "/state"]
    seen = set(pages)
    while pages:
        page = pages.pop()
        answer = client.send("GET", page)
        assert answer.status == 200, page
        if "/export" in page:
            continue
        found = scripts_of(answer.text)
        assert not found.inline
        assert found.tags.count("script") == 1
        assert not {"style", "img", "iframe", "object", "embed", "base", "b"} & set(found.tags)
        assert all(each.startswith("/assets/") for each in found.loads)
        assert not UNSEEN.search("".join(found.read))
        for link in found.links:
            target = link["href"] or ""
            if target.startswith(("/", "#")) and not target.startswith("//"):
                assert not target.startswith("/delete?all"), "a link of a message"
                if target.startswith(("/conversation", "/message", "/?")) and target not in seen:
                    seen.add(target)
                    pages.append(target)
            else:
                assert re.match("https?://evil.example", target)
                assert set((link["rel"] or "").split()) >= {"noopener", "noreferrer"}
    assert len(seen) > 2 * len(ATTACKS)
    client.close()


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "(" * 1_000_000, "[" * 19_000, "*a **b " * 2_800, "> " * 9_000,
     "![[" * 6_000, "`" * 19_000, "a|" * 9_000 + "\n" + "-|" * 9_000],
    ids=["one word", "parentheses", "brackets", "stars", "quotes", "images", "ticks", "table"],
)  # fmt: skip
def test_a_long_message_is_shown_in_pieces(tmp_path: Path, text: str) -> None:
    from tests.view.client import Client

    with mnemogram.open(tmp_path) as home:
        home.history("alice").append("s", [Message("user", text)])
    client = Client(tmp_path)
    answer = client.get("/conversation", id="s")
    assert answer.status == 200
    assert len(answer.body) < 700_000
    assert client.get("/", q=text[:30]).status == 200
    assert client.get("/message", id="s", at=1).text.count(escape(text[:10])) >= 1
    client.close()


def test_the_guard_knows_no_socket_but_http(client: Client) -> None:
    import asyncio

    async def never(*_: Any) -> Any:
        raise AssertionError("nothing is to be said")

    asyncio.run(client.app({"type": "websocket", "path": "/", "headers": []}, never, never))
