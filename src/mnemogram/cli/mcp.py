# SPDX-License-Identifier: MIT
"""The verb that serves a user's memory to an agent over the Model Context Protocol."""

from __future__ import annotations

from typing import Any

import click

from mnemogram.cli.common import OK, Env, store_options

__all__ = ["mcp"]


@click.command()
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@click.option(
    "--allow-write",
    is_flag=True,
    help="Offer memory_forget, and history_append, with which the model writes down what was said.",
)
@click.option(
    "--ask",
    is_flag=True,
    help="Let the client ask its user about each new rule, and what is to be forgotten.",
)
@click.option(
    "--trust",
    type=click.Choice(["observed", "confirmed"]),
    default="observed",
    show_default=True,
    help="Of what a model commits; confirmed only where the user agrees to each call.",
)
@click.option(
    "--scene",
    "scenes",
    multiple=True,
    metavar="KEY",
    help="A situation that the agent is in, such as chan:editor; may be given several times.",
)
@store_options
def mcp(
    env: Env,
    *,
    read_only: bool,
    allow_write: bool,
    ask: bool,
    trust: Any,
    scenes: tuple[str, ...],
) -> int:
    """Serve one user's memory to an agent: an MCP server on standard input and output.

    The tools are session_search, memory_commit and memory_recall, and with --allow-write
    history_append and memory_forget; a prompt and resources give
    what is remembered for a situation. Put this command into the agent's list of MCP servers.
    """
    if read_only and allow_write:
        raise click.UsageError("choose one of --read-only and --allow-write")
    try:
        from mnemogram.integrations.mcp import (
            ask_client,
            ask_client_to_forget,
            serve,
            tools_of,
        )
    except ImportError as error:
        raise click.ClickException(
            f"the MCP server needs mcp 2 ({error}); install it with: pip install 'mnemogram[mcp]'"
        ) from error
    with env.home() as home:
        memory = home.memory(env.user)
        tools = tools_of(
            home.history(env.user),
            memory,
            read_only=read_only,
            current_scenes=scenes or None,
            trust=trust,
            allow_write=allow_write,
            confirm=ask_client if ask else None,
            confirm_forgetting=ask_client_to_forget if ask else None,
        )
        names = ", ".join(each.name for each in tools)
        env.say(f"Serving {names} of user {env.user!r} on standard input and output.")
        serve(tools, memory=memory, scenes=scenes or None)
    return OK
