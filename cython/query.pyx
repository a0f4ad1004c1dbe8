# SPDX-License-Identifier: MIT
# cython: language_level=3
"""Queries: any string to a tree, the tree to FTS5 expressions and to a matcher of texts."""

from time import monotonic
from unicodedata import category

from mnemogram.errors import QueryTimeout

cimport cython
from libc.limits cimport INT_MAX
from libc.math cimport log
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc

from text_core cimport (
    TC_CJK,
    TC_CLUSTER,
    TC_COLOCATED,
    TC_EMOJI,
    TC_NOMEM,
    TC_OK,
    TC_QUERY,
    TC_SINGLE,
    TC_WORD,
    tc_config_free,
    tc_config_new,
    tc_pause,
    tc_tokenize,
)

WORD = TC_WORD
CJK = TC_CJK
CLUSTER = TC_CLUSTER
EMOJI = TC_EMOJI
SINGLE = TC_SINGLE

# The arguments of a query that names none; a history names those of its indexes.
DEFAULT_OPTIONS = {"remove_diacritics": "2", "variants": "1"}

include "query_tree.pxi"
include "query_parser.pxi"
include "query_print.pxi"
include "query_match.pxi"
include "query_score.pxi"
