# SPDX-License-Identifier: MIT
"""The pages by their addresses, and what is answered where one fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from mnemogram.errors import Busy, InvalidArgument, MnemogramError, NotFound, QueryTimeout
from mnemogram.view import deletion, remembered
from mnemogram.view.conversation import conversation, export, message
from mnemogram.view.page import ASSETS, Page, View
from mnemogram.view.searching import search
from mnemogram.view.security import Access, Guard
from mnemogram.view.state import check, state
from mnemogram.view.stores import Stores

__all__ = ["create_app"]

Endpoint = Callable[[Page], Response]
READING: Final[Mapping[str, Endpoint]] = {
    "/": search,
    "/conversation": conversation,
    "/message": message,
    "/export": export,
    "/scenes": remembered.scenes,
    "/relation": remembered.relation,
    "/scenes/forget": remembered.forgetting,
    "/state": state,
    "/delete": deletion.deletion,
}
#: What is sent with a form: changes, and what takes long.
WRITING: Final[Mapping[str, Endpoint]] = {
    "/state/check": check,
    "/relation": remembered.revise,
    "/scenes/forget": remembered.forget,
    "/delete": deletion.delete,
}
#: Why a request was refused, as a text of the interface.
_REFUSALS: Final = {
    "cookie": "refused_cookie",
    "link": "refused_link",
    "read_only": "refused_read_only",
}
_STATUS: Final[tuple[tuple[type[MnemogramError], int], ...]] = (
    (NotFound, 404),
    (InvalidArgument, 400),
    (QueryTimeout, 503),
    (Busy, 503),
)
#: Seconds for which a browser keeps an asset, whose address changes with what it holds.
_KEPT: Final = "public, max-age=31536000, immutable"


def create_app(stores: Stores, access: Access, *, user: str) -> Starlette:
    """Return the page as an ASGI application.

    Args:
        stores: what it shows.
        access: who may see it.
        user: whose memory is shown where nobody else is asked for.
    """
    view = View(stores, user)

    def route(path: str, endpoint: Endpoint, method: str) -> Route:
        def answered(request: Request) -> Response:
            page = Page.of(view, request)
            try:
                if not stores.knows(page.user):
                    return page.render(
                        "error.html", 404, heading="not_found", reason="unknown_user", detail=None
                    )
                return endpoint(page)
            except MnemogramError as error:
                return failed(page, error)

        return Route(path, answered, methods=[method])

    def failed(page: Page, error: MnemogramError) -> Response:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        heading = "not_found" if status == 404 else "failed"
        detail = f"{error}. {error.hint}" if error.hint else str(error)
        template = "problem.html" if page.is_part else "error.html"
        return page.render(template, status, heading=heading, reason=None, detail=detail)

    def refused(scope: Scope, reason: str, status: int) -> Response:
        page = Page.of(view, Request(scope))
        words = _REFUSALS.get(reason, "refused_request")
        return page.render("refused.html", status, reason=words)

    def opened(scope: Scope) -> str:
        return Page.of(view, Request(scope)).html("opened.html")

    def asset(request: Request) -> Response:
        found = ASSETS.get(request.path_params["name"])
        if found is None:
            return Response("not there", 404, media_type="text/plain")
        return Response(found[1], media_type=found[0], headers={"cache-control": _KEPT})

    def missing(request: Request, error: Exception) -> Response:
        page = Page.of(view, request)
        return page.render("error.html", 404, heading="not_found", reason=None, detail=None)

    return Starlette(
        routes=[
            *(route(path, endpoint, "GET") for path, endpoint in READING.items()),
            *(route(path, endpoint, "POST") for path, endpoint in WRITING.items()),
            Route("/assets/{name}", asset, methods=["GET"]),
        ],
        exception_handlers={404: missing, 405: missing},
        middleware=[Middleware(Guard, access=access, refused=refused, opened=opened)],
    )
