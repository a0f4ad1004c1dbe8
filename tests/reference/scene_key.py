# SPDX-License-Identifier: MIT
"""Slow reference of the normal form of scene keys, rule by rule."""

from __future__ import annotations

import base64
import hashlib
import unicodedata

from .snippet import clusters

LIMIT = 96
DIGITS = 12


def normalize_scene_key(key: str) -> str:
    """Return the normal form of a scene key."""
    path: list[str] = []
    shown = ""
    for level in levels(folded(key)):
        path.append(level)
        shown = below(shown, level, "/".join(path))
    return shown


def folded(key: str) -> str:
    """NFKC and case folding until both leave the key as it is."""
    while True:
        once = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", key).casefold())
        if once == key:
            return key
        key = once


def levels(key: str) -> list[str]:
    """Cut a folded key into cleaned levels, empty ones left out."""
    cleaned = []
    for level in key.split("/"):
        words = "".join(c if stays(c) else " " for c in level).split(" ")
        cleaned.append("_".join(word for word in words if word))
    return [level for level in cleaned if level]


def stays(character: str) -> bool:
    """Letters, numbers and marks of every script, and three signs."""
    return character in ":-." or unicodedata.category(character)[0] in "LNM"


def joined(parent: str, level: str) -> str:
    return f"{parent}/{level}" if parent else level


def below(parent: str, level: str, path: str) -> str:
    """Hang a level under its normalised parent, cut where it does not fit."""
    if len(joined(parent, level).encode()) <= LIMIT:
        return joined(parent, level)
    while parent and LIMIT - len(joined(parent, "").encode()) < DIGITS + 2:
        parent = parent.rpartition("/")[0]
    free = LIMIT - len(joined(parent, "").encode())
    digest = hashlib.blake2b(path.encode(), digest_size=8).digest()
    tail = base64.b32encode(digest).decode().lower()[:DIGITS]
    kept = ""
    for cluster in clusters(level):
        if len((kept + cluster).encode()) > max(free // 2, DIGITS + 2) - DIGITS - 1:
            break
        kept += cluster
    kept = kept.rstrip("_")
    return joined(parent, f"{kept}-{tail}" if kept else tail)
