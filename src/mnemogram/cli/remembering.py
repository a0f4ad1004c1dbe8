# SPDX-License-Identifier: MIT
"""What the verbs of the scene memory share: opening it, showing relations, dry runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
from rich.text import Text

from mnemogram.cli.common import Env
from mnemogram.cli.render import Page, clean
from mnemogram.memory import Relation, SceneMemory
from mnemogram.moments import format_time

__all__ = ["apply_options", "opened", "show_relation", "show_sweep", "tell_dry_run"]

_STYLES: Final = {"rule": "bold yellow", "preference": "magenta", "fact": ""}


@contextmanager
def opened(env: Env, *, write: bool = False, create: bool = False) -> Iterator[SceneMemory]:
    """Give the user's scene memory, and close it; read-only unless ``write``.

    Args:
        env: the options of the verb.
        write: whether the verb changes anything.
        create: make it where there is none.

    Raises:
        UserNotFound: there is none and it is not to be made.
    """
    path = env.directory / "memory.db"
    if not create and not path.exists():
        raise env.unknown("scene memory")
    if write:
        with env.home() as home:
            yield home.memory(env.user)
    else:
        with SceneMemory.open(path, read_only=True) as memory:
            yield memory


def apply_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb ``--apply`` and ``--backup/--no-backup``."""
    backup = click.option(
        "--backup/--no-backup",
        default=True,
        show_default=True,
        help="Copy the file beside itself before the change.",
    )
    apply = click.option("--apply", is_flag=True, help="Do it; without this, only show it.")
    return apply(backup(function))


def tell_dry_run(env: Env, *, dry_run: bool, backup: str | None) -> None:
    """Say whether anything was changed, and where the copy is."""
    if dry_run:
        env.say("Nothing was changed: this was a dry run. Add --apply to do it.", "yellow")
    elif backup is not None:
        env.say(f"A copy from before the change: {clean(backup)}", "dim")


def show_relation(page: Page, relation: Relation, reason: str | None = None) -> None:
    """Write one relation: what it says, where it is pinned, how it is known."""
    head = Text(f"#{relation.id:<6} ", style="dim")
    words = " · ".join((relation.subject, relation.relation, relation.object))
    head.append(clean(" ".join(words.split())), style="bold")
    if relation.kind != "fact":
        head.append(f"  {relation.kind}", style=_STYLES[relation.kind])
    if relation.status != "active":
        head.append(f"  {relation.status}", style="red")
    page.line(head)
    about = [relation.effective_trust, f"confidence {relation.confidence:g}"]
    if relation.scene is not None:
        about.append(f"{relation.match} {relation.scene}, weight {relation.weight:g}")
    if relation.via is not None:
        about.append(f"through {relation.via}")
    if relation.scenes:
        about.append(f"pinned to {', '.join(relation.scenes)}")
    if relation.depth is not None and relation.depth > 1:
        about.append(f"{relation.depth - 1} steps away")
    about.append(page.when(format_time(relation.told_at)))
    if reason is not None:
        about.append(reason)
    page.line(Text(clean("  ".join(about)), style="dim"), 8)
    if relation.sentence:
        page.line(clean(" ".join(relation.sentence.split())), 8)


def show_sweep(env: Env, counts: dict[str, int], verb: str) -> None:
    """Write how many rows of each kind are concerned."""
    shown = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    env.say(f"{verb}: {shown or 'nothing'}.")
