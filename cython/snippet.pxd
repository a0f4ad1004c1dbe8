# SPDX-License-Identifier: MIT
# Contract of the snippet module: cuts for display, and excerpts around matches.
cpdef tuple cut(str text, Py_ssize_t limit)                      # (shown, truncated, length)
cpdef tuple cut_around(str text, Py_ssize_t limit, Py_ssize_t start, Py_ssize_t end)
cpdef list merge_spans(str text, object spans)                   # grapheme-aligned, disjoint
