# SPDX-License-Identifier: MIT
# cython: language_level=3
"""Normal form of scene keys: hierarchical names of situations, levels divided by ``/``."""

from hashlib import blake2b
from base64 import b32encode
from unicodedata import category, combining, normalize

from mnemogram._native.grapheme cimport gr_floor, gr_text, grapheme_view

MAX_BYTES = 96
# Levels that say with whom or where exactly. No cut takes this beginning from a level.
IDENTITY_LEVELS = ("group:", "peer:", "room:", "session:", "thread:", "user:")
# A hash is this many base32 digits: 60 bits, so that among a million names that need one two
# meet with a chance below one in a million. It stands after a "-".
cdef int DIGITS = 12
cdef int TAIL = DIGITS + 1
# Texts up to here are normalised as they are: what sorting their marks may cost is nothing.
cdef int SHORT = 256
# Characters between two chances for another thread to run.
cdef int TURN = 1 << 16


cpdef str normalize_scene_key(str key):
    """Return the normal form of a scene key.

    The key is brought to NFKC and its case is folded, character by character (``ß`` stays
    apart from ``ss``), until neither changes it. ``/`` divides levels. White space at the ends
    of a level goes, any run inside counts as one ``_``, and a level of nothing else is dropped.
    Levels equal after that are the same, and no others:

    - letters, numbers and combining marks of every script, ``: - .`` and single ``_`` between
      them stay;
    - any run of anything else becomes one ``_``, at the ends of the level nothing, and ``-`` and
      a hash (BLAKE2b, 60 bits) of the whole level are appended. A level of which nothing is
      left is its hash.

    A result is at most 96 bytes of UTF-8. A level that does not fit any more is cut at a grapheme
    cluster, takes at most half of the bytes still free, and ends in ``-`` and a hash of the
    whole key up to and with it; a level below it is again appended whole where it fits. So a
    normalised child starts with its normalised parent and ``/``, except where fewer bytes are
    left below the parent than the hash takes: then the child hangs, by its hash, under the
    nearest ancestor that has room. A level that begins with one of ``IDENTITY_LEVELS`` keeps
    that beginning when it is cut, and hands it to a level that takes its place.

    Args:
        key: any string.

    Returns:
        The normal form; ``""`` where there is nothing but white space and ``/``, which means no
        scene. Idempotent.

    Raises:
        TypeError: ``key`` is not a string.
    """
    cdef list forms = scene_path(key)
    return <str>forms[-1] if forms else ""


cpdef list scene_path(str key):
    """Return the normal forms of a key's levels down to each of them, the broadest first.

    The last is the key's own. Levels that were cut are there as well, so that what is above a
    long key can be asked for.
    """
    if key is None:
        raise TypeError("a scene key must be str, not None")
    return fit([cleaned for cleaned in map(clean, fold(key).split("/")) if cleaned])


cpdef str scene_level(str name):
    """Return a name as one level of a key, ``""`` for nothing but white space.

    As for a key, but ``/`` is a character like others: it is lost, and so there is a hash.
    """
    if name is None:
        raise TypeError("a name must be str, not None")
    return clean(fold(name))


cpdef str normalized(str form, str text, Py_ssize_t turn=TURN):
    """Return a Unicode normal form, as ``unicodedata.normalize`` but in linear time.

    That one sorts each run of combining marks by insertion. Other threads have their turn every
    ``turn`` characters.
    """
    cdef list pieces = [], marks = []
    cdef str whole, piece
    cdef Py_ssize_t at, first, last, n
    if len(text) <= SHORT or text.isascii():
        return normalize(form, text)
    whole = "NFKD" if "K" in form else "NFD"
    for at in range(0, len(text), SHORT):
        if at % turn == 0:
            take_turns()
        piece = normalize(whole, text[at:at + SHORT])
        n = len(piece)
        first = 0
        while first < n and combining(piece[first]):
            first += 1
        if first:
            marks.append(piece[:first])
        if first == n:
            continue
        pieces.append(in_order(marks))
        last = n
        while combining(piece[last - 1]):
            last -= 1
        pieces.append(piece[first:last])
        marks = [piece[last:]]
    pieces.append(in_order(marks))
    text = "".join(pieces)
    return text if form == whole else composed(form, text, turn)


cdef str in_order(list marks):
    """One run of combining marks in canonical order, of parts that are."""
    cdef str run = "".join(marks)
    return run if len(marks) < 2 else "".join(sorted(run, key=combining))


cdef str composed(str form, str text, Py_ssize_t turn):
    """Compose a decomposed text, other threads having their turn where it can be parted."""
    cdef list pieces = []
    cdef Py_ssize_t at = 0, end, n = len(text)
    while at < n:
        end = min(at + turn, n)
        while end < n and not begins_anew(text[end]):
            end += 1
        pieces.append(normalize(form, text[at:end]))
        at = end
        take_turns()
    return "".join(pieces)


cdef bint begins_anew(Py_UCS4 character):
    """Whether it surely composes with nothing before it: some of those that do not."""
    return (character < 0x300 or 0x620 <= character < 0x64B or 0x1100 <= character < 0x1160
            or 0x2000 <= character < 0x20D0 or 0x3041 <= character < 0x3097
            or 0x4E00 <= character < 0xA000 or 0x1F000 <= character < 0x20000)


cdef inline void take_turns() noexcept:
    """Let another thread run, if one waits."""
    with nogil:
        pass


cdef str fold(str key):
    """NFKC and case folding, repeated until stable: one can undo the other's normal form."""
    cdef str folded
    if key.isascii():
        return key.lower()
    while True:
        folded = normalized("NFKC", fold_case(normalized("NFKC", key)))
        if folded == key:
            return key
        key = folded


cdef str fold_case(str text):
    """Fold each character to one character: of two names, ``ß`` and ``ss`` are not the same."""
    cdef str folded = text.casefold()
    cdef list characters = []
    if len(folded) == len(text):
        return folded
    for each in text:
        if len(characters) % TURN == 0:
            take_turns()
        characters.append(fold_character(each))
    return "".join(characters)


cdef str fold_character(str character):
    cdef str folded = character.casefold()
    return folded if len(folded) == 1 else character.lower()


cdef str clean(str level):
    """A folded level as it stands in a key, with the hash of it where that loses something."""
    cdef str named = "_".join(level.split())
    cdef str kept = keep(named)
    return kept if kept == named else hashed(kept, named, b"scene level")


cdef str keep(str level):
    cdef list kept = []
    cdef bint gap = False
    cdef Py_UCS4 character
    cdef Py_ssize_t place
    for place, character in enumerate(level):
        if place % TURN == 0:
            take_turns()
        if stays(character):
            if gap and kept:
                kept.append("_")
            kept.append(character)
            gap = False
        else:
            gap = True
    return "".join(kept)


cdef bint stays(Py_UCS4 character):
    if character < 128:
        return (u"a" <= character <= u"z" or u"0" <= character <= u"9"
                or character == u":" or character == u"-" or character == u".")
    return category(character)[0] in "LNM"


cdef str hashed(str kept, str whole, bytes person):
    digest = blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8, person=person).digest()
    return ended(kept, digest)


cdef str ended(str kept, digest):
    digits = b32encode(digest).decode()[:DIGITS].lower()
    return f"{kept}-{digits}" if kept else digits


cdef Py_ssize_t size(str text):
    return len(text) if text.isascii() else len(text.encode())


cdef str identity(str level):
    for prefix in IDENTITY_LEVELS:
        if level.startswith(prefix):
            return prefix
    return ""


cdef list fit(list levels):
    """Append level after level; each result depends only on the levels up to it."""
    cdef list shown = [], forms = []
    cdef Py_ssize_t used = 0, free
    cdef str level, whose
    path = blake2b(digest_size=8)
    for level in levels:
        path.update(f"/{level}".encode() if forms else level.encode())
        free = MAX_BYTES - used - (1 if shown else 0)
        if size(level) > free:
            whose = identity(level)
            # No room below the parent: the nearest that has it, in the name of who is left out.
            while shown and free < len(whose) + TAIL + 1:
                whose = whose or identity(shown[-1])
                used -= size(shown.pop()) + (1 if shown else 0)
                free = MAX_BYTES - used - (1 if shown else 0)
            level = shorten(level, max(free // 2, len(whose) + TAIL + 1), whose, path.digest())
        used += size(level) + (1 if shown else 0)
        shown.append(level)
        forms.append("/".join(shown))
    return forms


cdef str shorten(str level, Py_ssize_t limit, str whose, digest):
    """The level's beginning, with whom it names, and a digest, at most limit bytes."""
    cdef bytes head
    cdef str kept
    cdef gr_text view
    if not level.startswith(whose):
        level = whose + level
    head = level.encode()[:limit - TAIL]
    kept = head.decode(errors="ignore")
    held = grapheme_view(level, &view)
    kept = level[:gr_floor(view, len(kept), 0)].rstrip("_")
    return ended(kept if kept.startswith(whose) else whose, digest)
