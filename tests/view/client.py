# SPDX-License-Identifier: MIT
"""A browser of a few lines: what it sends is what a test says, to the last header."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from mnemogram.view import Access, create_app
from mnemogram.view.stores import Stores

HOST = "127.0.0.1:8642"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key == name]
        return found[0] if found else None


class Client:
    """A browser at the page of a root; with a cookie from its link unless told otherwise."""

    def __init__(
        self, root: Path, user: str = "alice", *, read_only: bool = False, inside: bool = True
    ) -> None:
        self.access = Access((HOST, "localhost:8642"), read_only=read_only)
        self.stores = Stores(root, read_only=read_only)
        self.app = create_app(self.stores, self.access, user=user)
        self.cookie: str | None = None
        if inside:
            self.enter()

    def enter(self) -> Answer:
        link = urlsplit(self.access.new_link())
        answer = self.get(f"{link.path}?{link.query}")
        self.cookie = (answer.header("set-cookie") or "").partition(";")[0]
        return answer

    def close(self) -> None:
        self.stores.close()

    def get(self, path: str, headers: Mapping[str, Any] = {}, **fields: Any) -> Answer:
        query = urlencode(fields, doseq=True)
        return self.send("GET", f"{path}?{query}" if query else path, headers)

    def post(
        self, path: str, headers: Mapping[str, Any] = {}, *, csrf: str | None = "", **fields: Any
    ) -> Answer:
        """Send a form; with the token of our own pages unless another one is given."""
        if csrf == "":
            csrf = self.access.csrf((self.cookie or "=").partition("=")[2])
        if csrf is not None:
            fields["csrf"] = csrf
        own = {
            "content-type": "application/x-www-form-urlencoded",
            "origin": f"http://{HOST}",
            **headers,
        }
        return self.send("POST", path, own, urlencode(fields, doseq=True).encode())

    def send(
        self, method: str, target: str, headers: Mapping[str, Any] = {}, body: bytes = b""
    ) -> Answer:
        """Send a request; a header that is None is left out, and a list stands several times."""
        path, _, query = target.partition("?")
        whole: dict[str, Any] = {"host": HOST, "cookie": self.cookie, **headers}
        raw = [
            (name.encode(), each.encode("latin-1"))
            for name, value in whole.items()
            for each in (value if isinstance(value, list) else [value])
            if each is not None
        ]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": raw,
            "server": ("127.0.0.1", 8642),
            "client": ("127.0.0.1", 50_000),
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not sent and not asked:
                asked.append(True)
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.Event().wait()
            raise AssertionError

        asked: list[bool] = []

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))  # type: ignore[arg-type]
        start = next(each for each in sent if each["type"] == "http.response.start")
        return Answer(
            start["status"],
            [(name.decode(), value.decode("latin-1")) for name, value in start["headers"]],
            b"".join(each.get("body", b"") for each in sent),
        )


def words(html: str) -> str:
    """What a person reads of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html))
