# SPDX-License-Identifier: MIT
"""Who may speak to the page: the browser that was given the link, and nobody else.

A page of another site can have a browser send requests to this machine (forged ones, or by a
name of its own that leads here). So each request is held against the host it names, the page
it came from, a cookie that only the link gave, and, where it changes anything, a token that
only our own pages hold.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CSRF_FIELD", "FORM", "Access", "Guard"]

#: Name of the field of a form that proves it is one of ours.
CSRF_FIELD: Final = "csrf"
#: Where the guard leaves the fields of a form, in the scope.
FORM: Final = "mnemogram.form"
MAX_BODY: Final = 64 * 1024
#: Forms that are sent because they take long, and change nothing.
READING_POSTS: Final = frozenset({"/state/check"})
_METHODS: Final = ("GET", "HEAD", "POST")
#: What a browser says of where a request comes from, and we answer.
_OWN: Final = ("same-origin", "none")
#: Links that were not used yet; a new one takes the place of the oldest.
_MOST_LINKS: Final = 8
_MOST_BROWSERS: Final = 64

_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types mnemogram"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not no-referrer: a form would then come with the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
}


class Access:
    """The links that were given out, and the browsers that came by one of them.

    Args:
        hosts: values of ``Host`` that are us.
        read_only: whether every change is refused.
    """

    def __init__(self, hosts: tuple[str, ...], *, read_only: bool = False) -> None:
        self.hosts = hosts
        self.read_only = read_only
        self.cookie = "mnemogram_" + hosts[0].rpartition(":")[2]
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._links: dict[bytes, None] = {}
        self._browsers: dict[bytes, None] = {}

    def new_link(self) -> str:
        """Return an address that lets one browser in, once."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._links[_digest(token)] = None
            while len(self._links) > _MOST_LINKS:
                del self._links[next(iter(self._links))]
        return f"http://{self.hosts[0]}/open?token={token}"

    def exchange(self, token: str) -> str | None:
        """Return a cookie for the token of a link; None where it is not one, or was used."""
        link = _digest(token)
        with self._lock:
            if link not in self._links:
                return None
            del self._links[link]
            cookie = secrets.token_urlsafe(32)
            self._browsers[_digest(cookie)] = None
            while len(self._browsers) > _MOST_BROWSERS:
                del self._browsers[next(iter(self._browsers))]
        return cookie

    def knows(self, cookie: str | None) -> bool:
        """Whether a cookie is one that we gave."""
        # Looked up by its digest: how long it takes says nothing of the cookie.
        return cookie is not None and _digest(cookie) in self._browsers

    def csrf(self, cookie: str) -> str:
        """Return the token that forms of this browser carry."""
        return hmac.new(self._secret, cookie.encode(), hashlib.sha256).hexdigest()


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()


class Guard:
    """Lets requests through to the pages that may come through, and says no to the others.

    Args:
        app: the pages.
        access: who may come.
        refused: what is answered to who may not, by its reason and status.
        opened: the page that leads on from a link.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Access,
        refused: Callable[[Scope, str, int], Response],
        opened: Callable[[Scope], str],
    ) -> None:
        self._app = app
        self._access = access
        self._refused = refused
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no page of ours speaks anything else

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        answer = await self._checked(scope, receive)
        await (self._app if answer is None else answer)(scope, receive, hardened)

    async def _checked(self, scope: Scope, receive: Receive) -> Response | None:
        """Return what is answered to a request that goes no further."""
        headers = Headers(scope=scope)
        path, method = scope["path"], scope["method"]
        if headers.getlist("host") not in [[each] for each in self._access.hosts]:
            return self._refused(scope, "host", 421)
        if method not in _METHODS:
            return self._refused(scope, "method", 405)
        origins = headers.getlist("origin")
        if origins not in ([], [f"http://{headers['host']}"]):
            return self._refused(scope, "origin", 403)
        opening = path == "/open" and method == "GET"
        site = headers.get("sec-fetch-site")
        # The link itself may be followed from anywhere: whoever has it is to come in.
        if site is not None and site not in _OWN and not opening:
            return self._refused(scope, "origin", 403)
        if opening:
            return self._open(scope, headers)
        if path.startswith("/assets/") and method != "POST":
            return None  # they say nothing of anybody, and the refusal looks like a page by them
        cookie = self._cookie(headers)
        if cookie is None or not self._access.knows(cookie):
            return self._refused(scope, "cookie", 401)
        scope["mnemogram.csrf"] = self._access.csrf(cookie)
        if method != "POST":
            return None
        if not origins:
            return self._refused(scope, "origin", 403)
        return await self._form(scope, receive, headers)

    def _open(self, scope: Scope, headers: Headers) -> Response:
        if "prefetch" in headers.get("sec-purpose", "") + headers.get("purpose", ""):
            return self._refused(scope, "cookie", 401)
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        cookie = self._access.exchange(tokens[0]) if len(tokens) == 1 else None
        if cookie is None:
            return self._refused(scope, "link", 403)
        # A page that leads on, and no redirect: a browser that came from another page would
        # not send a strict cookie along with one.
        response = HTMLResponse(self._opened(scope))
        response.set_cookie(self._access.cookie, cookie, httponly=True, samesite="strict", path="/")
        return response

    def _cookie(self, headers: Headers) -> str | None:
        found = []
        for line in headers.getlist("cookie"):
            try:
                jar = SimpleCookie(line)
            except CookieError:
                continue
            if self._access.cookie in jar:
                found.append(jar[self._access.cookie].value)
        return found[0] if len(found) == 1 else None

    async def _form(self, scope: Scope, receive: Receive, headers: Headers) -> Response | None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            return self._refused(scope, "form", 415)
        body = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return self._refused(scope, "form", 400)
            body += message.get("body", b"")
            if len(body) > MAX_BODY:
                return self._refused(scope, "form", 413)
            if not message.get("more_body"):
                break
        try:
            fields = parse_qs(
                body.decode("ascii"), keep_blank_values=True, max_num_fields=1_000, errors="strict"
            )
        except ValueError:
            return self._refused(scope, "form", 400)
        given = fields.pop(CSRF_FIELD, [])
        if len(given) != 1 or not hmac.compare_digest(
            given[0].encode(), scope["mnemogram.csrf"].encode()
        ):
            return self._refused(scope, "csrf", 403)
        if self._access.read_only and scope["path"] not in READING_POSTS:
            return self._refused(scope, "read_only", 403)
        scope[FORM] = fields
        return None
