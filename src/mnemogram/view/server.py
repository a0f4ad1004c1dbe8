# SPDX-License-Identifier: MIT
"""The page, served on this machine alone."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from types import TracebackType
from typing import Final

import uvicorn

from mnemogram.view.app import create_app
from mnemogram.view.security import Access
from mnemogram.view.stores import Stores

__all__ = ["DEFAULT_PORT", "Server"]

LOOPBACK: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8642


class Server:
    """Listens on the loopback address, from when it is made.

    Args:
        root: directory of all users.
        user: whose memory is shown where nobody else is asked for.
        port: None for the usual one, or any that is free where that is taken.
        key_secret: as for ``mnemogram.open``.
        read_only: show everything and change nothing, not even the files' upkeep.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self,
        root: Path,
        user: str,
        *,
        port: int | None = None,
        key_secret: str | None = None,
        read_only: bool = False,
    ) -> None:
        self._socket = _listening(port)
        self.port: int = self._socket.getsockname()[1]
        hosts = (f"{LOOPBACK}:{self.port}", f"localhost:{self.port}")
        self.access = Access(hosts, read_only=read_only)
        self._stores = Stores(root, key_secret=key_secret, read_only=read_only)
        self._server = uvicorn.Server(
            uvicorn.Config(
                create_app(self._stores, self.access, user=user),
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                loop="asyncio",
                http="h11",
                ws="none",
                timeout_graceful_shutdown=2,
            )
        )

    def new_link(self) -> str:
        """Return an address that lets one browser in, once."""
        return self.access.new_link()

    def run(self) -> None:
        """Serve until the process is interrupted, or :meth:`stop` is called."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Have :meth:`run` return; from any thread."""
        self._server.should_exit = True

    def close(self) -> None:
        """Close every store and the socket."""
        self._stores.close()
        self._socket.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _listening(port: int | None) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if port is None:
            with contextlib.suppress(OSError):
                made.bind((LOOPBACK, DEFAULT_PORT))
                made.listen(128)
                return made
        made.bind((LOOPBACK, port or 0))
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made
