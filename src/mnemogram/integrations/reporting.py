# SPDX-License-Identifier: MIT
"""What went wrong beside an agent's work: told to the host, or logged; never raised."""

from __future__ import annotations

import logging
from collections.abc import Callable

__all__ = ["tell"]


def tell(
    report: Callable[[Exception], object] | None,
    error: Exception,
    *,
    doing: str,
    log: logging.Logger,
) -> None:
    """Give an error to the host's ``report``, or log it where there is none.

    Args:
        report: the host's; what it raises is logged.
        doing: what was being done, for the log.
        log: of the module that did it.
    """
    if report is None:
        log.warning("%s: %s", doing, error, exc_info=error)
        return
    try:
        report(error)
    except Exception:
        log.exception("the host's report of %r failed", error)
