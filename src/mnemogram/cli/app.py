# SPDX-License-Identifier: MIT
"""The command group, and what becomes of errors: words, an exit status, no traceback."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import click

from mnemogram.cli.common import FAILURE, INTERRUPTED, NOTHING, OK, USAGE, Env, store_options
from mnemogram.cli.render import clean, json_text
from mnemogram.cli.words import for_people
from mnemogram.cli.zone import Zone
from mnemogram.errors import InvalidArgument, MnemogramError, NotFound
from mnemogram.importers import ImportFailed

__all__ = ["cli", "run"]

BROKEN_PIPE: Final = 141

#: Each verb and the ``module:function`` that runs it; a module is imported when its verb
#: is used, so that ``mnemogram --help`` stays quick.
VERBS: Final[Mapping[str, str]] = {
    "demo": "demo:demo",
    "import": "importing:import_",
    "append": "importing:append",
    "search": "searching:search",
    "list": "listing:list_",
    "read": "reading:read",
    "scroll": "reading:scroll",
    "tail": "reading:tail",
    "browse": "listing:browse",
    "tag": "tagging:tag",
    "status": "status:status",
    "maintain": "upkeep:maintain",
    "check": "upkeep:check",
    "repair": "upkeep:repair",
    "backup": "upkeep:backup",
    "export": "upkeep:export",
    "delete": "removing:delete",
    "expire": "removing:expire",
    "scene": "scene:scene",
    "memory": "memory:memory",
    "tokenizer": "tokenizer:tokenizer",
    "mcp": "mcp:mcp",
    "view": "view:view",
    "completion": "completion:completion",
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        where = VERBS.get(cmd_name)
        if where is None:
            close = get_close_matches(cmd_name, VERBS, 1)
            meant = f" Did you mean {close[0]}?" if close else ""
            if not ctx.resilient_parsing:
                raise click.UsageError(f"No such command {cmd_name!r}.{meant}", ctx)
            return None
        module, _, name = where.partition(":")
        command = getattr(import_module(f"mnemogram.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 failure, 2 wrong usage, 3 nothing found.",
)
@click.version_option(package_name="mnemogram", prog_name="mnemogram")
@store_options
def cli(env: Env) -> int:
    """Memory that AI agents can trust: conversations, found again in any language.

    Without a command it says what is stored, and what to do next.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return OK
    from mnemogram.cli.overview import overview

    return overview(env)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status."""
    try:
        asked = os.environ.get("_MNEMOGRAM_COMPLETE")
        if asked:
            from mnemogram.cli.completion import complete

            return complete(cli, asked)
        code = _invoke(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has left; the interpreter must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code


def _invoke(arguments: list[str]) -> int:
    try:
        with cli.make_context("mnemogram", list(arguments)) as context:
            result = cli.invoke(context)
        return result if isinstance(result, int) else OK
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        return _misused(error, arguments)
    except (click.Abort, KeyboardInterrupt):
        print("mnemogram: interrupted", file=sys.stderr)
        return INTERRUPTED
    except MnemogramError as error:
        return _failed(error, arguments)
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"mnemogram: {clean(str(error))}", file=sys.stderr)
        return FAILURE


def _misused(error: click.ClickException, arguments: list[str]) -> int:
    """Say what is wrong with a command line."""
    if "--json" in _options(arguments):
        words = error.format_message()
        context = getattr(error, "ctx", None)
        hint = "" if context is None else f"{context.command_path} --help says more."
        answer = InvalidArgument(words, hint=hint).to_dict()
        click.echo(json_text(json.dumps(answer, ensure_ascii=False)))
    else:
        error.show(file=sys.stderr)
    return error.exit_code


def _failed(error: MnemogramError, arguments: list[str]) -> int:
    if "--json" in _options(arguments):
        answer: dict[str, Any] = error.to_dict()
        click.echo(json_text(json.dumps(answer, ensure_ascii=False)))
    else:
        zone = Zone("--utc" in _options(arguments))
        print(f"mnemogram: {for_people(clean(str(error)), zone)}", file=sys.stderr)
        if error.hint:
            print(f"  {for_people(clean(error.hint), zone)}", file=sys.stderr)
    if isinstance(error, NotFound):
        return NOTHING
    if isinstance(error, InvalidArgument) and not isinstance(error, ImportFailed):
        return USAGE
    return FAILURE


def _options(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments
