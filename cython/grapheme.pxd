# SPDX-License-Identifier: MIT
# Grapheme cluster boundaries over the code points of a Python string.
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND


cdef extern from "text/grapheme.h" nogil:
    ctypedef struct gr_text:
        const void *data
        Py_ssize_t length
        int width

    Py_ssize_t gr_floor(gr_text text, Py_ssize_t position)
    Py_ssize_t gr_ceil(gr_text text, Py_ssize_t position)


cdef inline gr_text grapheme_view(str text):
    cdef gr_text view
    view.data = PyUnicode_DATA(text)
    view.length = PyUnicode_GET_LENGTH(text)
    view.width = PyUnicode_KIND(text)
    return view
