# SPDX-License-Identifier: MIT
cimport cython
from libc.stdint cimport uint8_t

from mnemogram._native.query_tree cimport Node, Phrase, Tokenizer
from mnemogram._native.text_core cimport tc_config, tc_pause


cdef extern from "text/match.h" nogil:
    enum:
        TM_WORDS
        TM_SUBSTRING
        TM_ADJACENT
        TM_PREFIX
        TM_INSIDE
        TM_OVERLAPS
        TM_SPANS
        TM_AND
        TM_OR
        TM_NOT
        TM_STACK

    ctypedef struct tm_set:
        pass

    ctypedef struct tm_token:
        const char *text
        int ntext
        int flags

    ctypedef int (*tm_hit_fn)(void *context, int phrase, int position, int start,
                              int end) noexcept nogil

    int tm_set_new(const tc_config *config, int mode, tm_set **out)
    void tm_set_free(tm_set *set)
    int tm_set_add(tm_set *set, const tm_token *tokens, int ntoken, int flags)
    int tm_scan(const tm_set *set, int flags, const char *text, int n, void *context,
                tm_hit_fn hit, int *length, const tc_pause *pause)
    int tm_evaluate(const int *program, int n, const uint8_t *seen)


cdef extern from "text/clock.h" nogil:
    double clock_now()


cdef enum:
    # Ends of a scan, none of the text core's codes:
    STOP = 101  # enough is known
    LATE = 102  # the deadline passed


cdef struct Deadline:
    tc_pause pause
    double at  # on the clock of clock_now()


cdef struct Count:
    Py_ssize_t *found
    int *position
    int nphrase


@cython.final
cdef class Matcher:
    cdef tm_set *set                 # owned; positive phrases first
    cdef int *program                # owned; the tree in postfix form
    cdef int nprogram
    cdef int nphrase
    cdef bint monotone               # no Not: more matches never turn it false
    cdef readonly tuple phrases      # positive leaves; indexes of occurrences
    cdef readonly bint substring
    cdef readonly bint adjacent
    cdef Tokenizer tokenizer         # keeps the set's config alive
    cdef int add(self, Phrase phrase) except -1
    cdef void assemble(self, Node node, bint positive, list program, list kept,
                       list dropped) except *
    cdef int scan(self, int flags, bytes data, void *context, tm_hit_fn hit, int *length,
                  const tc_pause *pause) except -1


cdef const tc_pause *until(object deadline, Deadline *place) except? NULL
cdef int check(int rc) except -1
cdef int on_count(void *context, int phrase, int position, int start, int end) noexcept nogil
cdef bytes utf8_of(object text)
