# SPDX-License-Identifier: MIT
# The C text core, as the Cython modules see it.
from libc.stdint cimport uint8_t


cdef extern from "text/core.h" nogil:
    enum:
        TC_RULES_VERSION
        TC_OK
        TC_NOMEM
        TC_ERROR
        TC_DOCUMENT
        TC_QUERY
        TC_UNITS
        TC_BARE
        TC_COLOCATED
        TC_WORD
        TC_CJK
        TC_CLUSTER
        TC_EMOJI
        TC_SINGLE

    ctypedef struct tc_config:
        pass

    ctypedef int (*tc_token_fn)(void *context, int flags, const char *token, int ntoken,
                                int start, int end) noexcept nogil

    ctypedef struct tc_pause:
        int (*ask)(void *context) noexcept nogil
        void *context

    int tc_config_new(const char *const *args, int nargs, tc_config **out, const char **error)
    void tc_config_free(tc_config *config)
    int tc_tokenize(const tc_config *config, int mode, const char *text, int n, void *context,
                    tc_token_fn callback)
    int tc_trigrams(const tc_config *config, int mode, const char *text, int n, void *context,
                    tc_token_fn callback)
    const char *tc_unicode_version()


cdef inline Py_ssize_t count_characters(const char *data, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Code points that begin in data[start:end], negative where end comes first."""
    cdef Py_ssize_t i, n = 0
    if end < start:
        return -count_characters(data, end, start)
    for i in range(start, end):
        n += (<uint8_t>data[i] & 0xC0) != 0x80
    return n
