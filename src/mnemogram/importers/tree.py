# SPDX-License-Identifier: MIT
"""Conversations that are trees: each message names the one before it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["leaves", "longest", "newest", "path"]


def path(parents: Mapping[str, str | None], leaf: str | None) -> list[str]:
    """Return the keys from the root to a leaf; a circle ends where it closes."""
    keys: dict[str, None] = {}
    key = leaf
    while key is not None and key in parents and key not in keys:
        keys[key] = None
        key = parents[key]
    return list(keys)[::-1]


def leaves(parents: Mapping[str, str | None]) -> list[str]:
    """Return the keys that no other names as its parent, in order."""
    inner = set(parents.values())
    return [key for key in parents if key not in inner]


def longest(parents: Mapping[str, str | None]) -> list[str]:
    """Return the longest path; the first of those."""
    depth: dict[str, int] = {}
    for start in parents:
        way: dict[str, None] = {}
        key: str | None = start
        while key is not None and key in parents and key not in depth and key not in way:
            way[key] = None
            key = parents[key]
        below = depth.get(key, 0) if key is not None else 0
        for number, each in enumerate(reversed(way), 1):
            depth[each] = below + number
    return path(parents, max(depth, key=depth.__getitem__, default=None))


def newest(parents: Mapping[str, str | None]) -> list[str]:
    """Return the path that goes on with the last child each time, from the last root."""
    last: dict[str, str] = {}
    here: str | None = None
    for key, parent in parents.items():
        if parent is not None and parent in parents and parent != key:
            last[parent] = key
        else:
            here = key
    keys: dict[str, None] = {}
    while here is not None and here not in keys:
        keys[here] = None
        here = last.get(here)
    return list(keys)
