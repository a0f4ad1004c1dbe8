# SPDX-License-Identifier: MIT
"""The completion verb: what a shell needs to complete verbs, options and conversations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class, shell_complete

from mnemogram.cli.common import OK

__all__ = ["VARIABLE", "complete", "completion"]

#: Set by the script that a shell runs.
VARIABLE: Final = "_MNEMOGRAM_COMPLETE"
_SHELLS: Final = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
def completion(shell: str | None) -> int:
    """Write the completion script of SHELL, the one in use by default.

    bash: eval "$(mnemogram completion bash)" in ~/.bashrc;
    zsh: the same with zsh in ~/.zshrc;
    fish: mnemogram completion fish > ~/.config/fish/completions/mnemogram.fish
    """
    name = shell or Path(os.environ.get("SHELL") or "").name
    if name not in _SHELLS:
        raise click.UsageError(f"name the shell: {', '.join(_SHELLS)}")
    kind = get_completion_class(name)
    assert kind is not None
    root = click.get_current_context().find_root()
    click.echo(kind(root.command, {}, "mnemogram", VARIABLE).source())
    return OK


def complete(command: click.Command, asked: str) -> int:
    """Answer the shell's completion script."""
    return shell_complete(command, {}, "mnemogram", VARIABLE, asked)
