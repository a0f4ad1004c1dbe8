# SPDX-License-Identifier: MIT
"""One request for a page: whose memory, in which language, and how it is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from mnemogram.errors import InvalidArgument
from mnemogram.history.history import History
from mnemogram.memory import SceneMemory
from mnemogram.view import shown
from mnemogram.view.security import FORM
from mnemogram.view.stores import Stores
from mnemogram.view.texts import LANGUAGES, chosen_language, text

__all__ = ["ASSETS", "Page", "View", "version"]

_HERE: Final = files("mnemogram.view")
#: What a page may ask for besides pages: by name, whole, and nothing else.
ASSETS: Final[Mapping[str, tuple[str, bytes]]] = {
    name: (kind, (_HERE / "assets" / name).read_bytes())
    for name, kind in (
        ("view.css", "text/css; charset=utf-8"),
        ("view.js", "text/javascript; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    )
}
#: Changes when an asset does, so that a browser may keep them.
version: Final = sha256(b"".join(data for _, data in ASSETS.values())).hexdigest()[:12]


def _template(name: str) -> str:
    return (_HERE / "templates" / name).read_text(encoding="utf-8")


def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        shown=shown.visible,
        marked=shown.marked,
        markdown=shown.markdown,
        size=shown.size,
        instant=shown.instant,
        number="{:,}".format,
    )
    made.globals.update(languages=LANGUAGES, version=version)
    return made


_ENVIRONMENT: Final = _environment()


#: The sections of the page: their addresses, and their names as texts of the interface.
SECTIONS: Final = (("/", "search"), ("/scenes", "scenes"), ("/state", "state"))
DELETION: Final = ("/delete", "delete")


@dataclass(frozen=True)
class View:
    """What all pages of one server share.

    Attributes:
        stores: of all users.
        user: whose memory is shown where the address names nobody.
    """

    stores: Stores
    user: str


@dataclass
class Page:
    """One request.

    Attributes:
        view: what all pages share.
        request: the request.
        form: the fields of a form that was sent, each with its values.
    """

    view: View
    request: Request
    form: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, view: View, request: Request) -> Page:
        """Return the page of a request."""
        return cls(view, request, request.scope.get(FORM, {}))

    # -- what was asked

    def value(self, name: str, default: str = "") -> str:
        """Return a field of the form, or else of the address."""
        given = self.form.get(name)
        return given[0] if given else self.request.query_params.get(name, default)

    def values(self, name: str) -> list[str]:
        """Return all values of a field of the form, or else of the address."""
        return list(self.form.get(name) or self.request.query_params.getlist(name))

    def number(self, name: str) -> int | None:
        """Return a field as a whole number, None where it is not there.

        Raises:
            InvalidArgument: it is no number.
        """
        given = self.value(name)
        if not given:
            return None
        if not given.isascii() or not given.isdigit() or len(given) > 18:
            raise InvalidArgument(f"{name} is no number", hint="Follow a link of the page.")
        return int(given)

    @property
    def user(self) -> str:
        """Whose memory it is."""
        return self.value("user").strip() or self.view.user

    @property
    def language(self) -> str:
        """Tag of the language of the interface."""
        return chosen_language(self.value("lang"), self.request.headers.get("accept-language", ""))

    @property
    def is_part(self) -> bool:
        """Whether only the part of the page that changes was asked for."""
        return bool(self.value("part"))

    # -- the stores

    @cached_property
    def history(self) -> History:
        """The user's history.

        Raises:
            NotFound: there is none.
        """
        return self.view.stores.history(self.user)

    @cached_property
    def memory(self) -> SceneMemory | None:
        """The user's scene memory, None where there is none."""
        return self.view.stores.memory(self.user)

    # -- the answer

    def text(self, key: str, **values: object) -> str:
        """Return a text of the interface in the page's language."""
        return text(self.language, key, **values)

    def link(self, path: str, **fields: Any) -> str:
        """Return an address of the page: of the same user, in the same language.

        A field that is None or empty is left out; a list stands once for each of its values.
        """
        kept: dict[str, Any] = {
            name: value for name, value in fields.items() if value not in (None, "", [], ())
        }
        kept |= self.kept
        return f"{path}?{urlencode(kept, doseq=True)}" if kept else path

    def in_language(self, tag: str) -> str:
        """Return the address of this page in another language."""
        fields = [
            (name, value)
            for name, value in self.request.query_params.multi_items()
            if name not in ("lang", "token")
        ]
        return f"{self.request.url.path}?{urlencode([*fields, ('lang', tag)])}"

    @property
    def hidden(self) -> Markup:
        """The fields that every form that changes something carries."""
        fields = {"csrf": self.request.scope.get("mnemogram.csrf", ""), **self.kept}
        return Markup("").join(
            Markup('<input type="hidden" name="{}" value="{}">').format(name, value)
            for name, value in fields.items()
        )

    @property
    def kept(self) -> dict[str, str]:
        """The fields that every form that asks for something carries along."""
        fields = {}
        if self.user != self.view.user:
            fields["user"] = self.user
        if self.value("lang") in LANGUAGES:
            fields["lang"] = self.value("lang")
        return fields

    def html(self, template: str, **values: Any) -> str:
        """Return a template as HTML."""
        found = _ENVIRONMENT.get_template(template)
        return found.render(
            page=self,
            t=partial(text, self.language),
            link=self.link,
            language=self.language,
            read_only=self.view.stores.read_only,
            sections=SECTIONS if self.view.stores.read_only else (*SECTIONS, DELETION),
            **values,
        )

    def render(self, template: str, code: int = 200, **values: Any) -> Response:
        """Return a template as the answer."""
        return HTMLResponse(self.html(template, **values), code)
