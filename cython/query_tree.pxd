# SPDX-License-Identifier: MIT
cimport cython

from mnemogram._native.text_core cimport tc_config


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


cpdef Tokenizer tokenizer_for(options=*)
cpdef Token make_token(str text, int flags, Py_ssize_t start, Py_ssize_t end)
cpdef Phrase make_phrase(str text, tuple tokens, bint prefix, bint star, bint quoted,
                         Py_ssize_t start, Py_ssize_t end, Tokenizer tokenizer)
cdef bint begins_inside(Phrase phrase) except -1
cdef Node joined(type kind, list nodes)
cdef void leaves(Node node, bint positive, list kept, list dropped) except *
cdef Node root_of(object query)
cdef list trigrams_of(Phrase phrase, bint stock)
