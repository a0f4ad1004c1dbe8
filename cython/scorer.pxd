# SPDX-License-Identifier: MIT
cimport cython
from libc.stdint cimport uint32_t

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
