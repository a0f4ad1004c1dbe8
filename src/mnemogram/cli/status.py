# SPDX-License-Identifier: MIT
"""The status verb: what there is, what each index can see, and what it costs."""

from __future__ import annotations

import click
from rich.text import Text

from mnemogram.cli.common import OK, Env, store_options
from mnemogram.cli.render import Page, clean
from mnemogram.history.models import IndexReport, Status

__all__ = ["size", "status"]

_STYLES = {"ready": "green", "building": "yellow", "detached": "bold red", "absent": "dim"}


def size(count: int | None) -> str:
    """Return a number of bytes for people."""
    if count is None:
        return "not measured"
    number = float(count)
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.2f} GB"


@click.command()
@click.option("--sizes/--no-sizes", default=True, help="Measure each index; reads the file.")
@store_options
def status(env: Env, sizes: bool) -> int:
    """Show what is stored, and the state of each index."""
    with env.history() as history:
        found = history.status(sizes=sizes)
    if env.json:
        env.emit(found.to_dict())
    else:
        _show(env, found)
    return OK


def _show(env: Env, found: Status) -> None:
    page = Page(env.out, env.zone)
    tokenizer = found.tokenizer or f"not loaded: {found.tokenizer_error or 'unknown reason'}"
    page.fields(
        [
            ("file", found.path),
            ("sessions", f"{found.sessions:,}"),
            ("messages", f"{found.messages:,}"),
            ("size", f"{size(found.bytes)}, and {size(found.wal_bytes)} of write-ahead log"),
            ("policy", found.policy),
            ("tokenizer", tokenizer),
            ("SQLite", f"{found.sqlite_version}, journal {found.journal_mode}"),
            ("schema", found.schema_version),
        ]
    )
    if not found.legacy_import.complete:
        page.fields([("import", f"{found.legacy_import.imported:,} so far, not complete")])
    page.line()
    for index in found.indexes:
        _index(page, index)
    for note in found.notes:
        env.say(clean(note), "yellow")


def _index(page: Page, index: IndexReport) -> None:
    text = Text(f"{index.name:<22}")
    text.append(f"{index.state:<10}", style=_STYLES.get(index.state, ""))
    if index.state != "absent":
        text.append(f"{index.indexed:,} of {index.total:,} messages  ")
        if index.bytes is not None:
            text.append(size(index.bytes), style="dim")
    if index.reason:
        text.append(f"  {clean(index.reason)}", style="dim italic")
    page.line(text)
