# SPDX-License-Identifier: MIT
"""The scene verbs: which situations there are, and what is pinned to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.text import Text

from mnemogram.cli.common import NOTHING, OK, Env, store_options
from mnemogram.cli.remembering import apply_options, opened, show_relation, tell_dry_run
from mnemogram.cli.render import Page, clean
from mnemogram.memory import Relation, SceneCount, TagReport

__all__ = ["scene"]


@click.group()
def scene() -> None:
    """Situations, and the facts and rules that are pinned to them."""


@scene.command()
@click.option(
    "--top",
    type=click.IntRange(0, 100_000),
    default=20,
    show_default=True,
    help="Scenes to list, the fullest first.",
)
@store_options
def stats(env: Env, top: int) -> int:
    """Count scenes and pins."""
    with opened(env) as memory:
        found = memory.scene_stats(top=top)
    if env.json:
        env.emit(found.to_dict())
        return OK
    page = Page(env.out, env.zone)
    page.fields(
        [
            ("scenes", f"{found.scenes:,}"),
            ("pinned relations", f"{found.pinned_relations:,}"),
            ("unpinned relations", f"{found.unpinned_relations:,}"),
            ("pins of relations", f"{found.relation_pins:,}"),
            ("pins of entities", f"{found.entity_pins:,}"),
            ("pins of retired relations", f"{found.retired_pins:,}"),
            ("stale pins", f"{found.stale_pins:,}"),
        ]
    )
    if found.top:
        page.line()
    _scenes(page, found.top)
    return OK


def _scenes(page: Page, found: tuple[SceneCount, ...]) -> None:
    for each in found:
        line = Text(f"{each.relations:>7,} ", style="cyan")
        line.append(clean(each.key), style="not cyan bold")
        if each.entities:
            line.append(f"  {each.entities:,} entities", style="not cyan dim")
        if each.stale:
            line.append(f"  {each.stale:,} stale", style="red")
        page.line(line)


@scene.command("list")
@click.argument("key", default="")
@click.option(
    "--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Most scenes."
)
@store_options
def list_(env: Env, key: str, limit: int) -> int:
    """List the scenes at and below KEY, or all, with the number of relations in each."""
    with opened(env) as memory:
        found = memory.scenes(key, limit=limit)
    if env.json:
        env.emit({"scenes": [each.to_dict() for each in found], "count": len(found)})
    else:
        _scenes(Page(env.out, env.zone), found)
    return OK if found else NOTHING


@scene.command()
@click.argument("keys", nargs=-1, required=True)
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    default=8,
    show_default=True,
    help="Most relations.",
)
@click.option(
    "--match",
    type=click.Choice(["subtree", "inherit", "both"]),
    default="subtree",
    show_default=True,
    help="The key and what is narrower, what is broader, or both.",
)
@store_options
def recall(env: Env, keys: tuple[str, ...], limit: int, match: Any) -> int:
    """Show what is pinned to the scenes KEYS, whatever the words."""
    with opened(env) as memory:
        found = memory.recall_by_scene(keys, limit=limit, match=match)
    if env.json:
        env.emit(found.to_dict())
    else:
        page = Page(env.out, env.zone)
        for each in found:
            show_relation(page, each)
        if found.omitted:
            env.say(f"{found.omitted:,} more are pinned there: raise --limit.", "yellow")
        for note in found.notes:
            env.say(clean(note), "yellow")
    return OK if found else NOTHING


def _preview(
    key: str, concerned: Iterable[Relation], ids: Sequence[int], entities: Sequence[str]
) -> TagReport:
    """Return what a change of pins would report."""
    relations = tuple(concerned)
    known = {each.id for each in relations}
    missing = tuple(each for each in ids if each not in known)
    return TagReport(key, relations, len(known) + len(entities), dry_run=True, missing=missing)


def _tagged(env: Env, report: TagReport, *, verb: str) -> int:
    if env.json:
        env.emit(report.to_dict())
    else:
        page = Page(env.out, env.zone)
        for each in report.relations:
            show_relation(page, each)
        for missing in report.missing:
            env.say(f"There is no relation {missing} here.", "red")
        noun = "pin" if report.changed == 1 else "pins"
        env.say(f"{verb}: {report.changed:,} {noun}, {clean(report.key)}.")
        tell_dry_run(env, dry_run=report.dry_run, backup=report.backup)
    return OK if report.relations or report.changed else NOTHING


@scene.command()
@click.argument("key")
@click.option("--relation", "ids", type=int, multiple=True, help="Its id; may be repeated.")
@click.option("--entity", "entities", multiple=True, help="Its name; may be repeated.")
@click.option("--glob", help="Every relation of the entities whose name matches; case counts.")
@click.option(
    "--weight", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Of the pins."
)
@apply_options
@store_options
def tag(
    env: Env,
    key: str,
    ids: tuple[int, ...],
    entities: tuple[str, ...],
    glob: str | None,
    weight: float,
    apply: bool,
    backup: bool,
) -> int:
    """Pin relations and entities to the scene KEY: by id, by name, or by a GLOB pattern.

    Without --apply it shows which relations that would be.
    """
    if glob is not None and (ids or entities):
        raise click.UsageError("Use --glob, or --relation and --entity, not both.")
    if glob is None and not (ids or entities):
        raise click.UsageError("Name what to pin: --relation ID, --entity NAME or --glob PATTERN.")
    with opened(env, write=apply) as memory:
        if glob is not None:
            report = memory.tag_scene_by_entity_glob(
                key, glob, dry_run=not apply, weight=weight, backup=backup
            )
        elif apply:
            report = memory.tag_scene(key, ids, entities=entities, weight=weight, backup=backup)
        else:
            report = _preview(key, memory.relations(ids=ids, limit=1_000), ids, entities)
    return _tagged(env, report, verb="Pinned" if apply else "Would pin")


@scene.command()
@click.argument("key")
@click.option("--relation", "ids", type=int, multiple=True, help="Its id; may be repeated.")
@click.option("--entity", "entities", multiple=True, help="Its name; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Every pin of exactly this scene.")
@apply_options
@store_options
def untag(
    env: Env,
    key: str,
    ids: tuple[int, ...],
    entities: tuple[str, ...],
    everything: bool,
    apply: bool,
    backup: bool,
) -> int:
    """Take pins to exactly the scene KEY off; the relations themselves stay."""
    if everything == bool(ids or entities):
        raise click.UsageError("Name --relation ID and --entity NAME, or use --all.")
    with opened(env, write=apply) as memory:
        if apply:
            report = memory.untag_scene(
                key, None if everything else ids, entities=entities, backup=backup
            )
        else:
            pinned = memory.recall_by_scene(key, limit=1_000, match="inherit")
            here = [each for each in pinned if each.match == "exact"]
            relations = (each for each in here if everything or each.id in ids)
            report = _preview(key, relations, ids, entities)
    return _tagged(env, report, verb="Unpinned" if apply else "Would unpin")
