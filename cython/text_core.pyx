# SPDX-License-Identifier: MIT
# cython: language_level=3, freethreading_compatible=True
"""Python's face of the C text core: configurations, tokens, folding."""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.limits cimport INT_MAX
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

RULES_VERSION = TC_RULES_VERSION
UNICODE_VERSION = tc_unicode_version().decode()

DOCUMENT = TC_DOCUMENT
QUERY = TC_QUERY
UNITS = TC_UNITS

COLOCATED = TC_COLOCATED
WORD = TC_WORD
CJK = TC_CJK
CLUSTER = TC_CLUSTER
EMOJI = TC_EMOJI
SINGLE = TC_SINGLE


cdef struct Found:
    int flags
    int start
    int end
    int length
    size_t at  # place of the folded text in bytes


cdef struct Collector:
    Found *found
    size_t count
    size_t room
    char *bytes
    size_t used
    size_t capacity


cdef int collect(void *context, int flags, const char *token, int ntoken, int start,
                 int end) noexcept nogil:
    cdef Collector *c = <Collector *> context
    cdef void *grown
    cdef size_t wanted
    if c.count == c.room:
        wanted = 2 * c.room if c.room else 64
        grown = realloc(c.found, wanted * sizeof(Found))
        if grown == NULL:
            return TC_NOMEM
        c.found = <Found *> grown
        c.room = wanted
    if c.capacity - c.used < <size_t> ntoken:
        wanted = 2 * c.capacity + <size_t> ntoken + 256
        grown = realloc(c.bytes, wanted)
        if grown == NULL:
            return TC_NOMEM
        c.bytes = <char *> grown
        c.capacity = wanted
    if ntoken:
        memcpy(c.bytes + c.used, token, <size_t> ntoken)
    c.found[c.count] = Found(flags, start, end, ntoken, c.used)
    c.count += 1
    c.used += <size_t> ntoken
    return TC_OK


cdef class Config:
    """Tokenizer arguments made ready: name, value, name, value...

    The names are those of the FTS5 tokenizer; all values are str. Immutable.

    Raises:
        ValueError: an argument is unknown or its value is not allowed.
        TypeError: an argument is not a str.
    """

    cdef tc_config *config
    cdef readonly tuple arguments

    def __cinit__(self, *arguments):
        cdef list encoded = []
        cdef const char **args
        cdef const char *error = NULL
        cdef int rc
        for argument in arguments:
            if not isinstance(argument, str):
                raise TypeError(f"tokenizer arguments are str, not {type(argument).__name__}")
            if "\0" in argument:
                raise ValueError("tokenizer arguments cannot hold NUL")
            encoded.append(argument.encode("utf-8", "surrogatepass"))
        args = <const char **> malloc((len(encoded) + 1) * sizeof(char *))
        if args == NULL:
            raise MemoryError
        for i, argument in enumerate(encoded):
            args[i] = argument
        rc = tc_config_new(args, <int> len(encoded), &self.config, &error)
        free(args)
        if rc == TC_NOMEM:
            raise MemoryError
        if rc != TC_OK:
            raise ValueError(error.decode())
        self.arguments = arguments

    def __dealloc__(self):
        tc_config_free(self.config)

    def __repr__(self):
        return f"Config{self.arguments!r}"


cdef list run(Config config, text, int mode, bint trigrams):
    cdef Collector c = Collector(NULL, 0, 0, NULL, 0, 0)
    cdef bytes source
    cdef const unsigned char *z
    cdef int n, rc, at_start = 0, at_end = 0, cp_start = 0, cp_end = 0
    cdef size_t i
    cdef bint one_to_one
    cdef Found *f
    cdef list tokens = []
    if config is None:
        raise TypeError("config must be a Config, not None")
    if isinstance(text, str):
        source = (<str> text).encode("utf-8", "surrogatepass")
        one_to_one = len(source) == len(<str> text)
    else:
        source = text
        one_to_one = True
    if len(source) > INT_MAX:
        raise OverflowError(f"text of {len(source)} bytes is over the limit of {INT_MAX}")
    n = <int> len(source)
    z = source
    try:
        with nogil:
            if trigrams:
                rc = tc_trigrams(config.config, mode, <const char *> z, n, &c, collect)
            else:
                rc = tc_tokenize(config.config, mode, <const char *> z, n, &c, collect)
        if rc != TC_OK:
            raise MemoryError
        for i in range(c.count):
            if i & 0xFFFF == 0xFFFF:
                with nogil:  # another thread may run now and then
                    pass
            f = &c.found[i]
            if one_to_one:
                cp_start, cp_end = f.start, f.end
            else:
                # Starts and ends never go back from one token to the next.
                while at_start < f.start:
                    at_start += 1
                    if at_start >= n or (z[at_start] & 0xC0) != 0x80:
                        cp_start += 1
                while at_end < f.end:
                    at_end += 1
                    if at_end >= n or (z[at_end] & 0xC0) != 0x80:
                        cp_end += 1
            tokens.append((PyUnicode_DecodeUTF8(c.bytes + f.at, f.length, NULL), cp_start,
                           cp_end, f.flags))
    finally:
        free(c.found)
        free(c.bytes)
    return tokens


def tokens(Config config, text, int mode=TC_DOCUMENT):
    """Return the tokens of a text as a list of (token, start, end, flags).

    Offsets are in code points for a str and in bytes for bytes. mode is DOCUMENT, QUERY or
    UNITS; flags are a sum of COLOCATED, WORD, CJK, CLUSTER, EMOJI and SINGLE.
    """
    return run(config, text, mode, False)


def trigrams(Config config, text):
    """Return the trigrams of the words of a text, in the form of tokens()."""
    return run(config, text, TC_DOCUMENT, True)
