# SPDX-License-Identifier: MIT
# cython: language_level=3
"""Normal form of scene keys: hierarchical names of situations, levels divided by ``/``."""

from hashlib import blake2b
from base64 import b32encode
from unicodedata import category, normalize

from grapheme cimport gr_floor, grapheme_view

MAX_BYTES = 96
# A cut level ends in "-" and this many base32 digits: 60 bits, so that a million long keys merge
# with a chance below one in a million.
cdef int DIGITS = 12
cdef int TAIL = DIGITS + 1


cpdef str normalize_scene_key(str key):
    """Return the normal form of a scene key.

    The key is brought to NFKC and case folded until neither changes it. ``/`` divides levels;
    inside a level, letters, numbers and combining marks of every script and ``: - .`` stay, any
    run of anything else becomes one ``_``, and ``_`` at either end goes. Empty levels are dropped.

    A result is at most 96 bytes of UTF-8. A level that does not fit any more is cut at a grapheme
    cluster, takes at most half of the bytes still free, and ends in ``-`` and a hash (BLAKE2b,
    60 bits) of the whole key up to and with it; a level below it is again appended whole where
    it fits. So a normalised child starts with its normalised parent and ``/``, except where fewer
    than 14 bytes are left below the parent: then the child hangs, by its hash, under the nearest
    ancestor that has room.

    Args:
        key: any string.

    Returns:
        The normal form; ``""`` where nothing is left, which means no scene. Idempotent.

    Raises:
        TypeError: ``key`` is not a string.
    """
    cdef list levels
    if key is None:
        raise TypeError("a scene key must be str, not None")
    levels = split_levels(fold(key))
    whole = "/".join(levels)
    return whole if size(whole) <= MAX_BYTES else fit(levels)


cdef str fold(str key):
    """NFKC and case folding, repeated until stable: one can undo the other's normal form."""
    cdef str folded
    if key.isascii():
        return key.lower()
    while True:
        folded = normalize("NFKC", normalize("NFKC", key).casefold())
        if folded == key:
            return key
        key = folded


cdef list split_levels(str key):
    cdef list levels = [], level = []
    cdef bint gap = False
    cdef Py_UCS4 character
    for character in key + "/":
        if character == u"/":
            if level:
                levels.append("".join(level))
            level = []
            gap = False
        elif stays(character):
            if gap and level:
                level.append("_")
            level.append(character)
            gap = False
        else:
            gap = True
    return levels


cdef bint stays(Py_UCS4 character):
    if character < 128:
        return (u"a" <= character <= u"z" or u"0" <= character <= u"9"
                or character == u":" or character == u"-" or character == u".")
    return category(character)[0] in "LNM"


cdef Py_ssize_t size(str text):
    return len(text) if text.isascii() else len(text.encode())


cdef str fit(list levels):
    """Append level after level; each result depends only on the levels up to it."""
    cdef list shown = []
    cdef Py_ssize_t used = 0, free, depth = 0
    cdef str level
    for level in levels:
        depth += 1
        free = MAX_BYTES - used - (1 if shown else 0)
        if size(level) > free:
            while shown and free < TAIL + 1:  # no room below the parent: the nearest that has it
                used -= size(shown.pop()) + (1 if shown else 0)
                free = MAX_BYTES - used - (1 if shown else 0)
            level = shorten(level, max(free // 2, TAIL + 1), "/".join(levels[:depth]))
        used += size(level) + (1 if shown else 0)
        shown.append(level)
    return "/".join(shown)


cdef str shorten(str level, Py_ssize_t limit, str path):
    """The level's beginning and a hash of its whole path, at most limit bytes."""
    cdef bytes head = level.encode()[:limit - TAIL]
    cdef str kept = head.decode(errors="ignore")
    digest = b32encode(blake2b(path.encode(), digest_size=8).digest()).decode()[:DIGITS].lower()
    kept = level[:gr_floor(grapheme_view(level), len(kept))].rstrip("_")
    return f"{kept}-{digest}" if kept else digest
