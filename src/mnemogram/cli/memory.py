# SPDX-License-Identifier: MIT
"""The memory verbs: what is remembered, in which words a model gets it, and its upkeep."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from mnemogram.cli.common import FAILURE, NOTHING, OK, Env, store_options
from mnemogram.cli.remembering import apply_options, opened, show_relation, show_sweep, tell_dry_run
from mnemogram.cli.render import Page, clean, json_text
from mnemogram.errors import InvalidArgument
from mnemogram.memory import SweepReport, Triple
from mnemogram.memory.context import LABELS, authority
from mnemogram.memory.models import KINDS, TRUST_RANK
from mnemogram.values import objects_of

__all__ = ["memory"]

_STDIN = "-"


@click.group()
def memory() -> None:
    """Facts and rules: remember, recall, show as a model sees them, forget."""


# --- remembering and recalling ---------------------------------------------------------


@memory.command()
@click.argument("triple", nargs=-1)
@click.option(
    "--file",
    "file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Triples as JSON lines with the fields subject, relation, object, ...; - is standard "
    "input.",
)
@click.option("--scene", "scenes", multiple=True, help="Where it applies; may be repeated.")
@click.option("--sentence", help="The original words.")
@click.option(
    "--kind", type=click.Choice(KINDS), default="fact", show_default=True, help="What it is."
)
@click.option(
    "--trust",
    type=click.Choice(list(TRUST_RANK)),
    default="confirmed",
    show_default=True,
    help="How it is known. Only confirmed rules are worded as to be followed.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Also the weight of the pin.",
)
@click.option("--session", help="The conversation it was told in.")
@click.option("--single-valued", is_flag=True, help="The relation type holds one object at a time.")
@store_options
def commit(
    env: Env,
    triple: tuple[str, ...],
    file: Path | None,
    scenes: tuple[str, ...],
    sentence: str | None,
    kind: Any,
    trust: Any,
    confidence: float,
    session: str | None,
    single_valued: bool,
) -> int:
    """Remember SUBJECT RELATION OBJECT, or the triples of a file, all or nothing."""
    if (file is None) == (not triple) or (triple and len(triple) != 3):
        raise click.UsageError("Name SUBJECT RELATION OBJECT, or --file FILE.")
    triples: list[Any]
    if file is None:
        told = {"confidence": confidence, "sentence": sentence, "kind": kind, "trust": trust}
        triples = [Triple(*triple, **told)]
    else:
        triples = [each for _, each in objects_of(_lines(file), "Each line holds one triple.")]
    types = sorted({_type(each) for each in triples}) if single_valued else []
    with opened(env, write=True, create=True) as store:
        result = store.commit(
            triples, scene=scenes or None, session_id=session, single_valued=types
        )
        stored = tuple(store.relations(ids=result.relation_ids, limit=1_000))
    if env.json:
        env.emit({**result.to_dict(), "relations": [each.to_dict() for each in stored]})
        return OK
    page = Page(env.out, env.zone)
    for each in stored:
        show_relation(page, each)
    env.say(
        f"{result.created:,} new, {result.repeated:,} known, {result.revived:,} back,"
        f" {len(result.retired):,} retired, {result.pins_created:,} pins."
    )
    for note in result.notes:
        env.say(clean(note), "yellow")
    return OK


def _type(triple: Any) -> str:
    found = triple.relation if isinstance(triple, Triple) else triple.get("relation")
    return str(found or "")


def _lines(path: Path) -> Iterator[bytes]:
    if str(path) == _STDIN:
        yield from sys.stdin.buffer
        return
    try:
        with path.open("rb") as stream:
            yield from stream
    except OSError as error:
        raise InvalidArgument(
            f"cannot read {path}: {error.strerror or error}", hint="Name a file that can be read."
        ) from error


@memory.command()
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--depth",
    type=click.IntRange(1, 4),
    default=1,
    show_default=True,
    help="Steps out from the matches, along their entities.",
)
@click.option(
    "--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="Most relations."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds.",
)
@store_options
def recall(env: Env, query: tuple[str, ...], depth: int, limit: int, timeout: float) -> int:
    """Show what is like QUERY, the likest first."""
    with opened(env) as store:
        found = store.recall(" ".join(query), depth=depth, limit=limit, timeout=timeout)
    if env.json:
        env.emit(found.to_dict())
    else:
        page = Page(env.out, env.zone)
        for each in found:
            show_relation(page, each)
        for note in found.notes:
            env.say(clean(note), "yellow")
    return OK if found else NOTHING


@memory.command()
@click.argument("message", nargs=-1)
@click.option("--scene", "scenes", multiple=True, help="The situation; may be repeated.")
@click.option("--seen", multiple=True, help="A name the model has in view; may be repeated.")
@click.option(
    "--max-items", type=click.IntRange(0), default=8, show_default=True, help="Most relations."
)
@click.option("--max-chars", type=click.IntRange(0), help="Most characters of the whole text.")
@click.option(
    "--language",
    type=click.Choice(list(LABELS)),
    default="en",
    show_default=True,
    help="Of the words around the memories.",
)
@click.option("--explain", is_flag=True, help="Say which key, pin and weight brought each line.")
@store_options
def context(
    env: Env,
    message: tuple[str, ...],
    scenes: tuple[str, ...],
    seen: tuple[str, ...],
    max_items: int,
    max_chars: int | None,
    language: Any,
    explain: bool,
) -> int:
    """Show what a model would get to see with MESSAGE in these scenes."""
    with opened(env) as store:
        found = store.build_context(
            " ".join(message),
            scenes=scenes,
            seen=seen,
            max_items=max_items,
            max_chars=max_chars,
            language=language,
            explain=explain,
        )
    text = found.format()
    if env.json:
        env.emit({**found.to_dict(), "text": text})
    elif text:
        click.echo(clean(text))
    for note in () if env.json else found.notes:
        env.say(clean(note), "yellow")
    return OK if text else NOTHING


@memory.command()
@click.argument("ids", nargs=-1, type=int)
@store_options
def confirm(env: Env, ids: tuple[int, ...]) -> int:
    """Confirm the relations IDS; without any, list the rules that nobody confirmed.

    A rule that a model was told is shown to it as information until it is confirmed.
    """
    with opened(env, write=bool(ids)) as store:
        changed = store.confirm(ids) if ids else 0
        found = store.relations(ids=ids or None, limit=1_000)
    shown = [each for each in found if ids or authority(each) == "unconfirmed"]
    if env.json:
        env.emit({"confirmed": changed, "relations": [each.to_dict() for each in shown]})
    else:
        page = Page(env.out, env.zone)
        for each in shown:
            show_relation(page, each)
        env.say(f"{changed:,} confirmed." if ids else f"{len(shown):,} rules are not confirmed.")
    return OK if shown else NOTHING


# --- upkeep ----------------------------------------------------------------------------


def _swept(env: Env, report: SweepReport, verb: str) -> int:
    if env.json:
        env.emit(report.to_dict())
        return OK
    page = Page(env.out, env.zone)
    for each in report.relations:
        show_relation(page, each, report.reasons.get(each.id))
    show_sweep(env, dict(report.counts), f"Would {verb}" if report.dry_run else verb.capitalize())
    for note in report.notes:
        env.say(clean(note), "yellow")
    tell_dry_run(env, dry_run=report.dry_run, backup=report.backup)
    return OK


@memory.command("purge-noise")
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="Facts told with less go.",
)
@apply_options
@store_options
def purge_noise(env: Env, min_confidence: float, apply: bool, backup: bool) -> int:
    """Delete facts that say nothing, and stale pins; never rules, pinned or confirmed ones."""
    with opened(env, write=apply) as store:
        report = store.purge_noise(not apply, min_confidence=min_confidence, backup=backup)
    return _swept(env, report, "delete")


@memory.command("purge-orphans")
@apply_options
@store_options
def purge_orphans(env: Env, apply: bool, backup: bool) -> int:
    """Delete stale pins, and names, sentences, scenes and vectors that nothing refers to."""
    with opened(env, write=apply) as store:
        report = store.purge_orphans(not apply, backup=backup)
    return _swept(env, report, "delete")


@memory.command()
@click.option("--relation", "ids", type=int, multiple=True, help="Its id; may be repeated.")
@click.option("--entity", help="All relations of this name.")
@click.option("--session", help="What this conversation told and nobody else.")
@click.option("--scene", "scene_key", help="What is pinned at or below this key and nowhere else.")
@click.option("--everything", is_flag=True, help="All of it.")
@click.option("--keep-backups", is_flag=True, help="Leave the copies, which still hold it.")
@click.option("--apply", is_flag=True, help="Do it; without this, only show it.")
@store_options
def forget(
    env: Env,
    ids: tuple[int, ...],
    entity: str | None,
    session: str | None,
    scene_key: str | None,
    everything: bool,
    keep_backups: bool,
    apply: bool,
) -> int:
    """Delete memories so that nothing of them stays, in the file or its copies."""
    with opened(env, write=apply) as store:
        report = store.forget(
            relation_ids=ids,
            entity=entity,
            session_id=session,
            scene=scene_key,
            everything=everything,
            keep_backups=keep_backups,
            dry_run=not apply,
        )
    return _swept(env, report, "forget")


@memory.command()
@click.argument("source")
@click.argument("target")
@apply_options
@store_options
def merge(env: Env, source: str, target: str, apply: bool, backup: bool) -> int:
    """Make two names one: TARGET takes over what SOURCE has."""
    with opened(env, write=apply) as store:
        if not apply:
            report = store.forget(entity=source, dry_run=True)
            counts = {"relations moved": report.counts["relations"]}
            return _swept(env, SweepReport(counts, report.relations, dry_run=True), "merge")
        merged = store.merge_entities(source, target, backup=backup)
    if env.json:
        env.emit(merged.to_dict())
    else:
        env.say(
            f"{clean(merged.source)} is {clean(merged.target)} now:"
            f" {merged.moved:,} relations moved, {merged.joined:,} joined."
        )
        tell_dry_run(env, dry_run=False, backup=merged.backup)
    return OK


@memory.command()
@store_options
def check(env: Env) -> int:
    """Prove what the memory promises; nothing is changed."""
    with opened(env, write=True) as store:
        report = store.check()
    if env.json:
        env.emit(report.to_dict())
    else:
        page = Page(env.out, env.zone)
        for each in report.problems:
            style = "bold red" if each.severity == "error" else "yellow"
            line = Text(f"{each.severity:<8}", style=style)
            line.append(f"{each.code}: {clean(each.detail)} ({each.count:,})", style="default")
            page.line(line)
            page.line(Text(f"mend by: {each.repair}", style="dim"), 8)
        env.say("Sound." if report.ok else "Not sound.", "green" if report.ok else "bold red")
    return OK if report.ok else FAILURE


@memory.command()
@store_options
def status(env: Env) -> int:
    """Show what is remembered, and the state of index and vectors."""
    with opened(env) as store:
        found = store.status()
    if env.json:
        env.emit(found.to_dict())
        return OK
    page = Page(env.out, env.zone)
    page.fields(
        [
            ("file", found.path),
            ("size", f"{found.bytes:,} bytes"),
            ("relations", f"{found.relations:,}"),
            ("retired", f"{found.retired:,}"),
            ("entities", f"{found.entities:,}"),
            ("scenes", f"{found.scenes:,}"),
            ("index", found.index),
            ("tokenizer", "loaded" if found.tokenizer else f"not: {found.tokenizer_error}"),
            ("vectors of", found.vector_model),
        ]
    )
    for note in found.notes:
        env.say(clean(note), "yellow")
    return OK


# --- export and import -----------------------------------------------------------------


@memory.command("export")
@click.argument(
    "file",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default=Path(_STDIN),
)
@store_options
def export(env: Env, file: Path) -> int:
    """Write the memory as JSON lines to FILE, made new and private, or to standard output."""
    count = 0
    with opened(env) as store:
        lines = (json_text(json.dumps(each, ensure_ascii=False)) for each in store.export_lines())
        if str(file) == _STDIN:
            for line in lines:
                click.echo(line)
            return OK
        try:
            handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except OSError as error:
            raise InvalidArgument(
                f"cannot write {file}: {error.strerror or error}",
                hint="Name a file that does not exist yet.",
            ) from error
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            for count, line in enumerate(lines, 1):  # noqa: B007
                stream.write(f"{line}\n")
    if env.json:
        env.emit({"file": str(file), "lines": count})
    else:
        env.say(f"{count:,} lines written to {clean(str(file))}.")
    return OK


@memory.command("import")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@store_options
def import_(env: Env, file: Path) -> int:
    """Read an export, all or nothing; - is standard input. What is known is joined with."""
    with opened(env, write=True, create=True) as store:
        report = store.import_lines(_lines(file))
    if env.json:
        env.emit(report.to_dict())
    else:
        show_sweep(env, dict(report.counts), "Read")
        for note in report.notes:
            env.say(clean(note), "yellow")
    return OK
