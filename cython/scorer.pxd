# SPDX-License-Identifier: MIT
cimport cython
from libc.stdint cimport uint8_t, uint32_t

from mnemogram._native.matcher cimport Matcher
from mnemogram._native.query_tree cimport Tokenizer
from mnemogram._native.text_core cimport tc_config, tc_pause


cdef extern from "text/grams.h" nogil:
    ctypedef struct tg_set:
        pass

    int tg_set_new(const tc_config *config, int most, tg_set **out)
    void tg_set_free(tg_set *set)
    int tg_set_add(tg_set *set, const char *text, int n)
    int tg_set_size(const tg_set *set)
    int tg_count(const tg_set *set, const char *text, int n, uint32_t *counts, int *length,
                 const tc_pause *pause)


cdef extern from "text/bm25.h" nogil:
    const double BM25_K
    const double BM25_B
    double bm25_rarity(double texts, double holding)
    double bm25_norm(double length, double k, double b)
    double bm25_part(double weight, double tf, double norm, double k)
    double bm25_most(double weight, double k)
    double bm25_share(double tf, double norm)


cdef struct Place:
    int position                     # tokens before it
    int phrase
    int start                        # bytes
    int end


cdef struct Places:
    Place *items                     # owned
    Py_ssize_t n
    Py_ssize_t allocated
    int nphrase
    int *last                        # owned; by phrase: position of its last occurrence


@cython.final
cdef class Scorer:
    cdef Matcher matcher
    cdef Tokenizer tokenizer         # keeps the grams' config alive
    cdef Tokenizer plain             # cuts spellings; None where they do not matter
    cdef tg_set *grams               # owned; NULL without grams
    cdef int nphrase, ncolumn, ngram, nunit, passage
    cdef double average, k, b, grams_weight
    cdef double *weights             # of the phrases
    cdef double *columns             # weights of the columns
    cdef int *units                  # of each phrase: its unit, UNIT_NONE or UNIT_TYPED
    cdef list spellings              # of each phrase: (as typed, folded as little as can be)
    cdef uint8_t *spelled            # of each phrase, in one row: ABSENT, FOLDED, EXACT
    cdef int *around                 # by unit: how often it stands in a window
    cdef double *inside              # by phrase: how often it stands in a passage
    cdef double *frequencies         # of one row's best passages, by phrase
    cdef double *everywhere          # of one row, by phrase
    cdef uint32_t *counts            # of one text, by gram
    cdef Places places               # of one text
    cdef Py_ssize_t nrow, allocated
    cdef double *scored              # by row: what its phrases give
    cdef double *parted              # by row and phrase: what each gives
    cdef double *lengths             # by row: its grams
    cdef float *rows                 # by row and gram: frequencies
    cdef list facts                  # by row
    cdef int make_room(self) except -1
    cdef int best_passage(self, int tokens, Py_ssize_t *first, Py_ssize_t *last) except -1
    cdef tuple closeness(self)
    cdef bint stands_typed(self, const char *text) noexcept
    cdef int check_spelling(self, const char *text) except -1
