# SPDX-License-Identifier: MIT
"""``python -m mnemogram``: the command line, where its script is not on the path."""

from __future__ import annotations

import sys

from mnemogram.cli import main

if __name__ == "__main__":
    sys.exit(main())
