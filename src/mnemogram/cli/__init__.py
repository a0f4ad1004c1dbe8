# SPDX-License-Identifier: MIT
"""The ``mnemogram`` command: `app` joins the verbs, each group of verbs is a module."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: without the program's name; those of the process by default.

    Returns:
        0 done, 1 failure, 2 wrong usage, 3 nothing found, 130 interrupted.
    """
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        print(
            f"mnemogram: the command line needs {' and '.join(missing)};"
            " install them with: pip install 'mnemogram[cli]'",
            file=sys.stderr,
        )
        return 1
    from mnemogram.cli.app import run

    return run(sys.argv[1:] if arguments is None else arguments)
