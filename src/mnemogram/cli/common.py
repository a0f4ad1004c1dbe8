# SPDX-License-Identifier: MIT
"""What all verbs share: the options, the store they open, and where output goes."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from rich.console import Console

import mnemogram
from mnemogram.cli.render import json_text
from mnemogram.errors import InvalidArgument, NotFound
from mnemogram.history.history import History
from mnemogram.sqlite import database
from mnemogram.tools.times import bound, moment

__all__ = [
    "FAILURE",
    "NOTHING",
    "OK",
    "ONLY_USER",
    "USAGE",
    "Env",
    "UserNotFound",
    "bound_option",
    "default_root",
    "output_options",
    "store_options",
    "time_option",
]

OK: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
NOTHING: Final = 3

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
        out: standard output, for data.
        err: standard error, for words.
    """

    def __init__(self, root: Path | None, user: str | None, json: bool) -> None:
        self.root = default_root() if root is None else root
        self.json = json
        self.out = Console(highlight=False, emoji=False, markup=False)
        self.err = Console(stderr=True, highlight=False, emoji=False, markup=False)
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
    def home(self) -> Iterator[mnemogram.Mnemogram]:
        """Give the host's object for the root, and close it."""
        secret = os.environ.get("MNEMOGRAM_KEY_SECRET") or None
        with mnemogram.open(self.root, key_secret=secret) as home:
            yield home

    @contextmanager
    def history(self, *, write: bool = False, create: bool = False) -> Iterator[History]:
        """Give the user's history, and close it; read-only unless ``write``.

        Args:
            write: whether the verb changes anything.
            create: make it where there is none; a verb that only reads leaves no
                directory behind for a mistyped name.

        Raises:
            UserNotFound: there is none and it is not to be made.
        """
        path = self.directory / "state.db"
        if not create and not path.exists():
            raise self.unknown("history")
        if write or create:
            with self.home() as home:
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

    def emit(self, value: Mapping[str, Any]) -> None:
        """Write a JSON answer."""
        indent = 2 if self.out.is_terminal else None
        click.echo(json_text(json.dumps(value, ensure_ascii=False, indent=indent)))

    def say(self, words: str, style: str | None = None) -> None:
        """Write a line for people to standard error."""
        self.err.print(words, style=style, soft_wrap=True)


def time_option(name: str, meaning: str) -> Callable[[_F], _F]:
    """Return an option that takes a time."""
    words = f"{meaning}: ISO 8601, or 3h, 2d, 1w ago."
    return click.option(name, callback=_as_time, metavar="TIME", help=words)


def bound_option(name: str, meaning: str) -> Callable[[_F], _F]:
    """Return an option that takes a bound of a period: a time, or a date alone as it is."""
    words = f"{meaning}: ISO 8601, or 3h, 2d, 1w ago."
    return click.option(name, callback=_as_bound, metavar="TIME", help=words)


def _as_bound(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> datetime | str | None:
    if value is None:
        return None
    try:
        return bound(value)
    except InvalidArgument as error:
        raise click.BadParameter(f"{error}. {error.hint}", ctx, param) from error


def _as_time(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Read an option as an ISO 8601 time, or how long ago: ``3h``, ``2d``, ``1w``."""
    if value is None:
        return None
    try:
        return moment(value)
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


def store_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb ``--root``, ``--user`` and ``--json`` as an :class:`Env`, its first argument."""

    @functools.wraps(function)
    def wrapped(*, root: Path | None, user: str | None, json: bool, **rest: Any) -> Any:
        return function(Env(root, user, json), **rest)

    return _root(_user(_json(wrapped)))


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb that opens no store ``--json``, as an :class:`Env`, its first argument."""

    @functools.wraps(function)
    def wrapped(*, json: bool, **rest: Any) -> Any:
        return function(Env(None, None, json), **rest)

    return _json(wrapped)
