# SPDX-License-Identifier: MIT
# Contract of the query module: a query's tree, its printers and its matcher.
cimport cython
from libc.stdint cimport uint8_t, uint32_t

from text_core cimport tc_config, tc_pause, tc_token_fn


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


cdef extern from "text/grams.h" nogil:
    ctypedef struct tg_set:
        pass

    int tg_set_new(const tc_config *config, int most, tg_set **out)
    void tg_set_free(tg_set *set)
    int tg_set_add(tg_set *set, const char *text, int n)
    int tg_set_size(const tg_set *set)
    int tg_count(const tg_set *set, const char *text, int n, uint32_t *counts, int *length,
                 const tc_pause *pause)


@cython.final
cdef class Tokenizer:
    cdef tc_config *config           # owned; immutable once made
    cdef readonly dict options       # the tokenizer's arguments, as text
    cdef list tokens(self, str text)  # of Token, cut in query mode


@cython.final
cdef class Token:
    cdef readonly str text           # folded
    cdef readonly int flags          # TC_* of text/core.h
    cdef readonly Py_ssize_t start   # characters of the query
    cdef readonly Py_ssize_t end


cdef class Node:
    pass


@cython.final
cdef class Phrase(Node):
    cdef readonly str text           # the query's own characters, first to last token
    cdef readonly tuple tokens
    cdef readonly bint prefix        # the last token may be a beginning
    cdef readonly bint star          # ... because the query says so
    cdef readonly bint quoted
    cdef readonly Py_ssize_t start   # characters of the query
    cdef readonly Py_ssize_t end
    cdef readonly Tokenizer tokenizer


@cython.final
cdef class And(Node):
    cdef readonly tuple children     # two or more


@cython.final
cdef class Or(Node):
    cdef readonly tuple children     # two or more


@cython.final
cdef class Not(Node):
    cdef readonly Node keep
    cdef readonly Node drop


@cython.final
cdef class Query:
    cdef readonly str text           # as parsed, after cutting
    cdef readonly Node root          # None: nothing to search for
    cdef readonly tuple phrases      # positive leaves, in order
    cdef readonly tuple negative     # leaves below the right of a Not
    cdef readonly bint explicit_operators
    cdef readonly tuple notes
    cdef readonly bint truncated
    cdef readonly bint plain         # words only: no quote, star, group or operator
    cdef readonly Tokenizer tokenizer


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


@cython.final
cdef class Scorer:
    cdef Matcher matcher
    cdef Tokenizer tokenizer         # keeps the grams' config alive
    cdef tg_set *grams               # owned; NULL without grams
    cdef int nphrase, ncolumn, ngram
    cdef double average, k, b, grams_weight
    cdef double *weights             # of the phrases
    cdef double *columns             # weights of the columns
    cdef Py_ssize_t *found           # of one text, by phrase
    cdef int *position               # of each phrase's last occurrence
    cdef double *frequencies         # of one row, by phrase
    cdef uint32_t *counts            # of one text, by gram
    cdef Py_ssize_t nrow, allocated
    cdef double *scored              # by row: what its phrases give
    cdef double *parted              # by row and phrase: what each gives
    cdef double *lengths             # by row: its grams
    cdef float *rows                 # by row and gram: frequencies
    cdef int make_room(self) except -1
