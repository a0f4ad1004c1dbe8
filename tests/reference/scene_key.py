# SPDX-License-Identifier: MIT
"""Slow reference of the normal form of scene keys, rule by rule."""

from __future__ import annotations

import base64
import hashlib
import unicodedata

from .snippet import clusters

LIMIT = 96
DIGITS = 12
IDENTITIES = ("group:", "peer:", "room:", "session:", "thread:", "user:")


def normalize_scene_key(key: str) -> str:
    """Return the normal form of a scene key."""
    path: list[str] = []
    shown = ""
    for level in map(cleaned, names(key)):
        path.append(level)
        shown = below(shown, level, "/".join(path))
    return shown


def names(key: str) -> list[str]:
    """Return what a key names, level by level: keys are equal where these are."""
    spaced = ("_".join(level.split()) for level in folded(key).split("/"))
    return [level for level in spaced if level]


def folded(key: str) -> str:
    """NFKC and case folding until both leave the key as it is."""
    while True:
        once = unicodedata.normalize("NFKC", key)
        once = unicodedata.normalize("NFKC", "".join(map(fold_character, once)))
        if once == key:
            return key
        key = once


def fold_character(character: str) -> str:
    """The simple case folding: what would fold to several characters is lowered instead."""
    full = character.casefold()
    return full if len(full) == 1 else character.lower()


def cleaned(level: str) -> str:
    """A folded level without what a key cannot hold, and with a hash where that was more."""
    words = "".join(c if stays(c) else " " for c in level).split(" ")
    kept = "_".join(word for word in words if word)
    if kept == level:
        return kept
    whole = level.encode("utf-8", "surrogatepass")
    tail = digits(hashlib.blake2b(whole, digest_size=8, person=b"scene level"))
    return f"{kept}-{tail}" if kept else tail


def digits(digest: hashlib.blake2b) -> str:
    return base64.b32encode(digest.digest()).decode().lower()[:DIGITS]


def stays(character: str) -> bool:
    """Letters, numbers and marks of every script, and three signs."""
    return character in ":-." or unicodedata.category(character)[0] in "LNM"


def joined(parent: str, level: str) -> str:
    return f"{parent}/{level}" if parent else level


def identity(level: str) -> str:
    return next((each for each in IDENTITIES if level.startswith(each)), "")


def below(parent: str, level: str, path: str) -> str:
    """Hang a level under its normalised parent, cut where it does not fit."""
    if len(joined(parent, level).encode()) <= LIMIT:
        return joined(parent, level)
    whose = identity(level)
    while parent and LIMIT - len(joined(parent, "").encode()) < len(whose) + DIGITS + 2:
        parent, _, left_out = parent.rpartition("/")
        whose = whose or identity(left_out)
    room = max(
        (LIMIT - len(joined(parent, "").encode())) // 2,
        len(whose) + DIGITS + 2,
    )
    kept = ""
    for cluster in clusters(level if level.startswith(whose) else whose + level):
        if len((kept + cluster).encode()) > room - DIGITS - 1:
            break
        kept += cluster
    kept = kept.rstrip("_")
    if not kept.startswith(whose):
        kept = whose
    tail = digits(hashlib.blake2b(path.encode(), digest_size=8))
    return joined(parent, f"{kept}-{tail}" if kept else tail)
