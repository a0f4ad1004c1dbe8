# SPDX-License-Identifier: MIT
"""Scene keys: those of a situation, and whether what is pinned to some has a place in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mnemogram._native.scene_key import IDENTITY_LEVELS, scene_level
from mnemogram.memory.arguments import scene_keys, within_key
from mnemogram.text import normalize_scene_key

__all__ = ["IDENTITY_LEVELS", "channel_scene", "elsewhere", "scene_keys_for", "tool_scene"]


def _level(prefix: str, name: object) -> str:
    """Return one level of a key; a slash in the name does not make two of it."""
    bare = str(name).strip()
    return scene_level(f"{prefix}:{within_key(bare, prefix)}") if bare else ""


def channel_scene(name: str) -> str:
    """Return the scene key of a channel: ``chan:<name>``, or ``""`` for a blank name."""
    return normalize_scene_key(_level("chan", name))


def tool_scene(name: str) -> str:
    """Return the scene key of a tool: ``tool:<name>``, or ``""`` for a blank name."""
    return normalize_scene_key(_level("tool", name))


def scene_keys_for(
    payload: Any = None,
    *,
    channel: str | None = None,
    peer: str | None = None,
    tool: str | None = None,
) -> list[str]:
    """Return the keys of the present situation, all of which apply together.

    Args:
        payload: a mapping or object whose ``scene`` (a string or several) is taken
            first; a bare string or list of strings counts as that.
        channel: where the conversation happens.
        peer: with whom, inside the channel; without a channel it stands alone.
        tool: the tool about to be called.

    Returns:
        Normalised keys without repeats: the payload's, the channel's
        (``chan:<channel>/peer:<peer>``), the tool's.

    Raises:
        InvalidArgument: the payload's scene is not a string nor strings.
    """
    own: Any
    if payload is None or isinstance(payload, (str, list, tuple)):
        own = payload
    elif isinstance(payload, Mapping):
        own = payload.get("scene")
    else:
        own = getattr(payload, "scene", None)
    keys = list(scene_keys(own))
    levels = [
        _level(prefix, value)
        for prefix, value in (("chan", channel), ("peer", peer))
        if value is not None
    ]
    keys.append(normalize_scene_key("/".join(levels)))
    if tool is not None:
        keys.append(tool_scene(tool))
    return [each for each in dict.fromkeys(keys) if each]


def _owner(key: str) -> str | None:
    """Return a key up to its last level that names somebody, None where none does.

    What is pinned below one of IDENTITY_LEVELS is that one's own, and is never taken from a
    key that does not name it.
    """
    levels = key.split("/")
    for last in range(len(levels), 0, -1):
        if levels[last - 1].startswith(IDENTITY_LEVELS):
            return "/".join(levels[:last])
    return None


def elsewhere(pinned: Iterable[str], keys: Iterable[str], kind: str) -> bool:
    """Return whether something pinned to these keys has no place in a situation.

    That is so where each of its pins names somebody whom the situation does not name;
    for a rule also where none of its pins is to one of the situation's keys, to what is
    above it, or to what is below it.
    """
    present = [f"{key}/" for key in keys]

    def foreign(key: str) -> bool:
        owner = _owner(key)
        if owner is not None and not any(each.startswith(f"{owner}/") for each in present):
            return True
        below = f"{key}/"
        return kind == "rule" and not any(
            each.startswith(below) or below.startswith(each) for each in present
        )

    pins = list(pinned)
    return bool(pins) and all(map(foreign, pins))
