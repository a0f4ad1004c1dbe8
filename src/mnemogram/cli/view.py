# SPDX-License-Identifier: MIT
"""The verb that shows a user's memory in a browser on the same machine."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

import click

from mnemogram.cli.common import OK, Env, store_options

__all__ = ["view"]


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    help="Where to listen, on 127.0.0.1; 8642 by default, 0 for any that is free.",
)
@click.option("--read-only", is_flag=True, help="Change nothing, and offer no change.")
@store_options
def view(env: Env, *, port: int | None, read_only: bool) -> int:
    """See the memory on a page of your own machine: search, read, edit scenes, delete.

    It prints a link that lets one browser in, once. Only this machine can reach the page, and
    the page loads nothing from anywhere else.
    """
    try:
        from mnemogram.view import Server
    except ImportError as error:
        raise click.ClickException(
            f"the page needs the extra 'view' ({error}); install it with:"
            " pip install 'mnemogram[view]'"
        ) from error
    if not any((env.directory / name).exists() for name in ("state.db", "memory.db")):
        raise env.unknown("history")
    secret = os.environ.get("MNEMOGRAM_KEY_SECRET") or None
    with Server(env.root, env.user, port=port, key_secret=secret, read_only=read_only) as server:
        link = server.new_link()
        if env.json:
            env.emit({"success": True, "url": link, "port": server.port, "read_only": read_only})
        else:
            click.echo(link)
            env.say("Open it once, in your browser. Ctrl-C ends the page.")
        sys.stdout.flush()
        if env.watched:
            env.say("Enter prints another link.", "dim")
            threading.Thread(target=_links, args=(server.new_link,), daemon=True).start()
        server.run()
    return OK


def _links(new_link: Callable[[], str]) -> None:
    """Print another link for each line that is entered."""
    for _ in sys.stdin:
        click.echo(new_link())
