# SPDX-License-Identifier: MIT
"""A page on one's own machine: what is kept of a user, searched, read and deleted.

Needs the extra ``view``. It listens on the loopback address alone, and loads nothing from
anywhere else.
"""

from mnemogram.view.app import create_app
from mnemogram.view.security import Access
from mnemogram.view.server import Server

__all__ = ["Access", "Server", "create_app"]
