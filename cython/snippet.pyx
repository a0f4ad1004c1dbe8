# SPDX-License-Identifier: MIT
# cython: language_level=3, boundscheck=False, wraparound=False
"""Text cut for display: never inside a grapheme cluster, always with its original length."""

from codecs import lookup
from sys import byteorder

from mnemogram._native.grapheme cimport gr_ceil, gr_floor, gr_text, grapheme_view

# The stable ABI hands texts over by this codec. It is loaded now, since a process that gives up
# its rights later may not be able to read the standard library any more.
lookup("utf-32-le" if byteorder == "little" else "utf-32-be")

# Occurrences looked at for one excerpt; enough to find the densest place of a long message.
cdef Py_ssize_t MAX_HITS = 512
# How far, in characters, an edge may move to fall between words.
cdef Py_ssize_t SLACK = 16


cpdef tuple cut(str text, Py_ssize_t limit):
    """Cut ``text`` to its first ``limit`` characters, whole grapheme clusters only.

    Clusters are the extended grapheme clusters of UAX #29 (Unicode 17, untailored): combining
    marks, Hangul jamo, Indic conjuncts, emoji sequences, flags and CR LF stay whole. Where the
    first cluster alone is longer than ``limit``, nothing of it is shown.

    Args:
        text: the text, of any length; lone surrogates are allowed.
        limit: most characters (code points) to keep.

    Returns:
        ``(shown, truncated, original_chars)``.

    Raises:
        TypeError: ``text`` is not a string.
        ValueError: ``limit`` is negative.
    """
    cdef gr_text view
    if text is None:
        raise TypeError("text must be str, not None")
    if limit < 0:
        raise ValueError("limit must not be negative")
    if len(text) <= limit:
        return text, False, len(text)
    held = grapheme_view(text, &view)
    return text[:gr_floor(view, limit, 0)], True, view.length


cpdef tuple cut_around(str text, Py_ssize_t limit, Py_ssize_t start, Py_ssize_t end):
    """Cut ``text`` to at most ``limit`` characters that hold the span ``start`` to ``end``.

    The start of the text is kept as long as the span fits; only a span further in moves the
    window. A span longer than ``limit`` is shown from its start.

    Args:
        text: the text.
        limit: most characters (code points) to keep.
        start: first character of the span that must be seen.
        end: the character after it.

    Returns:
        ``(shown, truncated, original_chars, offset)``: ``offset`` is where ``shown`` begins.

    Raises:
        TypeError: ``text`` is not a string.
        ValueError: ``limit`` is negative.
    """
    cdef gr_text view
    cdef Py_ssize_t first, last
    if text is None:
        raise TypeError("text must be str, not None")
    if limit < 0:
        raise ValueError("limit must not be negative")
    if len(text) <= limit:
        return text, False, len(text), 0
    held = grapheme_view(text, &view)
    start = min(max(start, 0), view.length)
    end = min(max(end, start), view.length)
    if gr_ceil(view, end, 0) <= limit:
        first = 0
    elif end - start >= limit:
        first = gr_floor(view, start, 0)
    else:
        first = gr_ceil(view, min(start - (limit - (end - start)) // 2, view.length - limit), 0)
        first = min(first, gr_floor(view, start, 0))
    last = gr_floor(view, min(first + limit, view.length), 0)
    last = max(first, last)
    return text[first:last], True, view.length, first


cpdef list merge_spans(str text, object spans):
    """Widen ``spans`` to whole grapheme clusters and join those that touch.

    Args:
        text: the text that the spans are of.
        spans: pairs of character offsets ``(start, end)``, in any order.

    Returns:
        Disjoint ``(start, end)`` pairs in order; empty spans are left out.
    """
    cdef gr_text view
    # What is before open_end is never looked at again.
    cdef Py_ssize_t start, end, open_start = -1, open_end = 0
    cdef list merged = []
    held = grapheme_view(text, &view)
    for start, end in sorted(spans):
        start = max(start, 0)
        end = min(end, view.length)
        if start >= end:
            continue
        if open_start < 0 or start > open_end:
            start = gr_floor(view, start, open_end)
            if open_start >= 0 and start > open_end:
                merged.append((open_start, open_end))
                open_start = -1
            if open_start < 0:
                open_start = open_end = start
        if end > open_end:
            open_end = gr_ceil(view, end, open_end)
    if open_start >= 0:
        merged.append((open_start, open_end))
    return merged


cdef tuple densest(list hits, Py_ssize_t width):
    """The span of the run of hits within width that shows most distinct phrases, then most hits."""
    cdef Py_ssize_t low = 0, high, best_low = 0, best_high = 0, i
    cdef Py_ssize_t kinds = 0, score, best = -1
    cdef dict seen = {}
    for high in range(len(hits)):
        seen[hits[high][0]] = seen.get(hits[high][0], 0) + 1
        while low < high and hits[high][2] - hits[low][1] > width:
            i = seen[hits[low][0]] - 1
            if i:
                seen[hits[low][0]] = i
            else:
                del seen[hits[low][0]]
            low += 1
        kinds = len(seen)
        score = kinds * 1024 + (high - low + 1)
        if score > best:
            best, best_low, best_high = score, low, high
    return hits[best_low][1], max([hit[2] for hit in hits[best_low:best_high + 1]])


cdef Py_ssize_t word_edge(str text, Py_ssize_t edge, Py_ssize_t limit, int direction):
    """The nearest place after white space from edge towards limit, or edge where there is none."""
    cdef Py_ssize_t i = edge
    while i != limit:
        if 0 < i < len(text) and text[i - 1].isspace() != text[i].isspace():
            return i
        i += direction
    return edge


def excerpt(
    str text not None,
    matcher,
    *,
    Py_ssize_t width=120,
    str mark_open not None="⟦",
    str mark_close not None="⟧",
    str ellipsis not None="…",
    deadline=None,
):
    """Show the part of ``text`` where a query matches most densely, matches marked.

    The excerpt is cut from the raw text: what is between the marks are exactly the characters
    that fold to what was asked (``⟦ＡＰＩ⟧`` for ``api``), widened to whole grapheme clusters.
    Without any match the beginning of the text is shown.

    Args:
        text: the raw text of a message or a field.
        matcher: a compiled query; anything with ``occurrences(text, limit=...)`` giving
            ``(phrase, start, end)`` with character offsets.
        width: most characters of ``text`` shown, marks and ellipses not counted.
        mark_open: put before each match.
        mark_close: put after each match.
        ellipsis: put at each end where text was left out.
        deadline: time of ``time.monotonic()`` at which looking for matches ends; the matcher's
            ``occurrences`` is given it, too.

    Returns:
        The excerpt.

    Raises:
        QueryTimeout: the deadline passed.
        ValueError: ``width`` is less than 1.
    """
    cdef gr_text view
    cdef Py_ssize_t start, end, first, last, spare, at, limit
    cdef list hits, parts = []
    if width < 1:
        raise ValueError("width must be at least 1")
    held = grapheme_view(text, &view)
    if deadline is None:
        hits = matcher.occurrences(text, limit=MAX_HITS)
    else:
        hits = matcher.occurrences(text, limit=MAX_HITS, deadline=deadline)
    if hits:
        hits.sort(key=lambda hit: (hit[1], hit[2]))
        start, end = densest(hits, width)
    else:
        start = end = 0
    if view.length <= width:
        first, last = 0, view.length
    else:
        spare = max(width - (end - start), 0)
        first = max(min(start - spare // 2, view.length - width), 0)
        if first > 0 and start > first:
            limit = min(start, first + SLACK)
            first = word_edge(text, first, limit, 1)
            while first < start and text[first].isspace():
                first += 1
        first = min(gr_ceil(view, first, 0), gr_floor(view, start, 0))
        last = min(first + width, view.length)
        if last < view.length:
            limit = max(min(end, last), last - SLACK, first)
            last = word_edge(text, last, limit, -1)
            while last > end and text[last - 1].isspace():
                last -= 1
            last = max(gr_floor(view, last, 0), first)
            if last == first:  # one cluster wider than the excerpt
                last = min(gr_floor(view, first + width, 0), view.length)
    if first > 0:
        parts.append(ellipsis)
    at = first
    for start, end in merge_spans(text, [(hit[1], hit[2]) for hit in hits]):
        start, end = max(start, first), min(end, last)
        if start >= end:
            continue
        parts += [text[at:start], mark_open, text[start:end], mark_close]
        at = end
    parts.append(text[at:last])
    if last < view.length:
        parts.append(ellipsis)
    return "".join(parts)
