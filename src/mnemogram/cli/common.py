# SPDX-License-Identifier: MIT
"""What all verbs share: the options, the store they open, and where output goes."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

import mnemogram
from mnemogram.cli.pager import Screen, pager_command, through
from mnemogram.cli.render import Page, clean, json_text
from mnemogram.cli.words import for_people
from mnemogram.cli.zone import Zone
from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.history.history import History
from mnemogram.history.period import as_date
from mnemogram.history.redaction import Redactor
from mnemogram.sqlite import database

__all__ = [
    "FAILURE",
    "INTERRUPTED",
    "NOTHING",
    "OK",
    "ONLY_USER",
    "USAGE",
    "Env",
    "UserNotFound",
    "bound_option",
    "default_root",
    "filter_options",
    "output_options",
    "pager_option",
    "store_options",
    "time_option",
]

OK: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
NOTHING: Final = 3
INTERRUPTED: Final = 130

#: Whose memory it is where nobody says, as on a machine with one user.
ONLY_USER: Final = "me"

_F = TypeVar("_F", bound=Callable[..., Any])


class UserNotFound(NotFound):
    """Nothing was ever stored for the user."""


def default_root() -> Path:
    """Return the directory of all users: the platform's place for a program's data."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "mnemogram"


class Env:
    """The options that all verbs have, and the two consoles.

    Attributes:
        root: directory of all users.
        json: whether the answer is JSON.
        zone: how times are read and written.
        out: standard output, for data.
        err: standard error, for words.
    """

    def __init__(self, root: Path | None, user: str | None, json: bool, utc: bool = False) -> None:
        self.root = default_root() if root is None else root
        self.json = json
        self.zone = Zone(utc)
        self.out = Screen(highlight=False, emoji=False, markup=False)
        self.err = Screen(stderr=True, highlight=False, emoji=False, markup=False)
        self._user = user

    @property
    def user(self) -> str:
        """The user's id; :data:`ONLY_USER` where none was given."""
        return ONLY_USER if self._user is None else self._user

    @property
    def directory(self) -> Path:
        """Where the user's files are, if there are any."""
        secret = os.environ.get("MNEMOGRAM_KEY_SECRET") or None
        return self.root / "users" / database.user_key(self.user, key_secret=secret)

    @contextmanager
    def home(self, redactor: Redactor | None = None) -> Iterator[mnemogram.Mnemogram]:
        """Give the host's object for the root, and close it."""
        secret = os.environ.get("MNEMOGRAM_KEY_SECRET") or None
        with mnemogram.open(self.root, key_secret=secret, redactor=redactor) as home:
            yield home

    @contextmanager
    def history(
        self, *, write: bool = False, create: bool = False, redactor: Redactor | None = None
    ) -> Iterator[History]:
        """Give the user's history, and close it; read-only unless ``write``.

        Args:
            write: whether the verb changes anything.
            create: make it where there is none; a verb that only reads leaves no
                directory behind for a mistyped name.
            redactor: called with every text before it is stored.

        Raises:
            UserNotFound: there is none and it is not to be made.
        """
        path = self.directory / "state.db"
        if not create and not path.exists():
            raise self.unknown("history")
        if write or create:
            with self.home(redactor) as home:
                yield home.history(self.user)
        else:
            with History.open(path, read_only=True) as history:
                if history.immutable:
                    self.say("Read as it stands: the file cannot be written here.", "dim")
                yield history

    def unknown(self, what: str) -> UserNotFound:
        """Return the error for a user of whom nothing is stored."""
        try:
            others = len(list((self.root / "users").iterdir()))
        except OSError:
            others = 0
        if others:
            hint = f"Something of {others:,} other users is there: check --user and --root."
        else:
            hint = "Import or append something first: mnemogram import FILE."
        return UserNotFound(f"no {what} of user {self.user!r} in {self.root}", hint=hint)

    @contextmanager
    def page(self, *, pager: bool = False) -> Iterator[Page]:
        """Give a page to lay results out on.

        Args:
            pager: show it through the reader's pager where a person is watching; what it
                is told after that it was left is lost.
        """
        command = pager_command() if pager and self.watched else None
        if command is None:
            yield Page(self.out, self.zone)
            return
        with through(command, self.out) as console, suppress(BrokenPipeError):
            yield Page(console, self.zone)

    @property
    def watched(self) -> bool:
        """Whether a person sits at both ends."""
        return self.out.is_terminal and sys.stdin.isatty() and not self.json

    def emit(self, value: Mapping[str, Any]) -> None:
        """Write a JSON answer."""
        indent = 2 if self.out.is_terminal else None
        click.echo(json_text(json.dumps(value, ensure_ascii=False, indent=indent)))

    def emit_line(self, value: Mapping[str, Any]) -> None:
        """Write one of many JSON documents, in one line."""
        click.echo(json_text(json.dumps(value, ensure_ascii=False)))

    def say(self, words: str, style: str | None = None) -> None:
        """Write a line for people to standard error."""
        self.err.print(words, style=style, soft_wrap=not self.err.is_terminal)

    def hint(self, words: str | None) -> None:
        """Write what the library says, in the words of the command line."""
        if words:
            self.say(for_people(clean(words), self.zone), "dim")


def time_option(name: str, meaning: str, **options: Any) -> Callable[[_F], _F]:
    """Return an option that takes a time."""
    return click.option(name, callback=_as_time, metavar="TIME", help=f"{meaning}.", **options)


def bound_option(name: str, meaning: str) -> Callable[[_F], _F]:
    """Return an option that takes a bound of a period: a time, or a date alone as it is."""
    return click.option(name, callback=_as_bound, metavar="TIME", help=f"{meaning}.")


def _zone(ctx: click.Context) -> Zone:
    """Return the zone of a command line whose options are being read."""
    above = ctx.parent is not None and ctx.parent.params.get("utc")
    return Zone(bool(ctx.params.get("utc") or above))


def _as_bound(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> datetime | str | None:
    if value is not None and as_date(value) is not None:
        return value.strip()
    return _as_time(ctx, param, value)


def _as_time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Read an option as an ISO 8601 time, or how long ago: ``3h``, ``2d``, ``1w``."""
    if value is None:
        return None
    try:
        return _zone(ctx).moment(value)
    except InvalidArgument as error:
        raise click.BadParameter(f"{error}. {error.hint}", ctx, param) from error


def _root(function: _F) -> _F:
    return click.option(
        "--root",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="MNEMOGRAM_ROOT",
        help="Directory of all users' memory (or $MNEMOGRAM_ROOT).",
    )(function)


def _user(function: _F) -> _F:
    return click.option(
        "--user",
        envvar="MNEMOGRAM_USER",
        help=f"Whose memory it is (or $MNEMOGRAM_USER); {ONLY_USER!r} by default.",
    )(function)


def _json(function: _F) -> _F:
    return click.option("--json", is_flag=True, help="Answer in JSON.")(function)


def _is_given(context: click.Context, name: str) -> bool:
    """Whether an option was written, and not taken from the environment."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _utc(function: _F) -> _F:
    return click.option(
        "--utc",
        is_flag=True,
        is_eager=True,
        help="Times in UTC, those given and those shown; the local zone otherwise.",
    )(function)


def store_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options of all that open a store, as an :class:`Env`, its first argument."""

    @functools.wraps(function)
    def wrapped(*, root: Path | None, user: str | None, json: bool, utc: bool, **rest: Any) -> Any:
        # They may stand before the verb as well.
        context = click.get_current_context()
        above = context.find_root()
        if _is_given(above, "root") and not _is_given(context, "root"):
            root = above.params["root"]
        if _is_given(above, "user") and not _is_given(context, "user"):
            user = above.params["user"]
        json = json or bool(above.params.get("json"))
        utc = utc or bool(above.params.get("utc"))
        return function(Env(root, user, json, utc), **rest)

    return _root(_user(_utc(_json(wrapped))))


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb that opens no store ``--json``, as an :class:`Env`, its first argument."""

    @functools.wraps(function)
    def wrapped(*, json: bool, **rest: Any) -> Any:
        return function(Env(None, None, json), **rest)

    return _json(wrapped)


def pager_option(function: _F) -> _F:
    """Give a verb ``--pager/--no-pager``."""
    return click.option(
        "--pager/--no-pager",
        default=True,
        help="Through $MNEMOGRAM_PAGER, $PAGER or less where a person watches.",
    )(function)


def filter_options(function: _F) -> _F:
    """Give a verb the options that choose conversations."""
    for option in (
        click.option(
            "--exclude-session", "excluded", multiple=True, help="Leave it out; repeatable."
        ),
        click.option("--all-sources", is_flag=True, help="Every source, background work included."),
        click.option("--source", "sources", multiple=True, help="Only this source; repeatable."),
        click.option("--tag", "tags", multiple=True, help="Only with this tag; repeatable: all."),
        bound_option("--before", "Before this time; a date alone is the end of that day"),
        bound_option("--after", "Not before this time: ISO 8601, or 3h, 2d, 1w ago"),
    ):
        function = option(function)
    return function
