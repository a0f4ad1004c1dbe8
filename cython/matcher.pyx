# SPDX-License-Identifier: MIT
# cython: language_level=3
"""The compiled query: match.c over the text core, for texts that no index covers and for marks."""

from time import monotonic

from mnemogram.errors import QueryTimeout

cimport cython
from libc.limits cimport INT_MAX
from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc

from mnemogram._native.query_tree cimport (
    And,
    Node,
    Not,
    Phrase,
    Query,
    Token,
    Tokenizer,
    begins_inside,
    leaves,
    root_of,
    tokenizer_for,
)
from mnemogram._native.text_core cimport TC_NOMEM, TC_OK, count_characters, tc_pause


cdef int is_late(void *context) noexcept nogil:
    return LATE if clock_now() >= (<Deadline *>context).at else TC_OK


cdef const tc_pause *until(object deadline, Deadline *place) except? NULL:
    """What a scan asks whether to go on; NULL without a deadline.

    A deadline is a time of ``time.monotonic()``, which need not be the clock of clock_now().
    """
    if deadline is None:
        return NULL
    place.at = clock_now() + (<double>deadline - <double>monotonic())
    place.pause = tc_pause(is_late, place)
    return &place.pause


cdef int check(int rc) except -1:
    """The result of a scan, where it is no error."""
    if rc == LATE:
        raise QueryTimeout("the deadline passed while a text was searched")
    if rc != TC_OK and rc != STOP:
        raise MemoryError
    return rc


cdef struct Hit:
    int phrase
    int start
    int end


cdef struct Hits:
    Hit *items
    Py_ssize_t n
    Py_ssize_t allocated
    Py_ssize_t limit
    int nphrase  # later phrases are negative: not reported


cdef struct Seen:
    uint8_t *phrases
    const int *program
    int nprogram
    int left
    bint monotone


cdef int on_hit(void *context, int phrase, int position, int start, int end) noexcept nogil:
    cdef Hits *hits = <Hits *>context
    cdef Hit *grown
    if phrase >= hits.nphrase:
        return TC_OK
    if hits.n == hits.limit:
        return STOP
    if hits.n == hits.allocated:
        hits.allocated = hits.allocated * 2 if hits.allocated else 64
        grown = <Hit *>realloc(hits.items, hits.allocated * sizeof(Hit))
        if grown == NULL:
            return TC_NOMEM
        hits.items = grown
    hits.items[hits.n] = Hit(phrase, start, end)
    hits.n += 1
    return STOP if hits.n == hits.limit else TC_OK


cdef int on_seen(void *context, int phrase, int position, int start, int end) noexcept nogil:
    cdef Seen *seen = <Seen *>context
    if seen.phrases[phrase]:
        return TC_OK
    seen.phrases[phrase] = 1
    seen.left -= 1
    if seen.left == 0:
        return STOP
    if seen.monotone and tm_evaluate(seen.program, seen.nprogram, seen.phrases):
        return STOP
    return TC_OK


cdef int on_count(void *context, int phrase, int position, int start, int end) noexcept nogil:
    cdef Count *count = <Count *>context
    if phrase < count.nphrase and count.position[phrase] != position:
        count.position[phrase] = position
        count.found[phrase] += 1
    return TC_OK


cdef int by_offset(const void *left, const void *right) noexcept nogil:
    cdef int a = (<const int **>left)[0][0], b = (<const int **>right)[0][0]
    return (a > b) - (a < b)


cdef int count_in_characters(const char *text, Hits *hits, const tc_pause *pause) noexcept nogil:
    """Turn the hits' byte offsets into characters, in one pass over the text."""
    cdef int **places = <int **>malloc(2 * hits.n * sizeof(int *))
    cdef Py_ssize_t i
    cdef int at = 0, characters = 0, piece, rc = TC_OK
    if places == NULL:
        return TC_NOMEM
    for i in range(hits.n):
        places[2 * i] = &hits.items[i].start
        places[2 * i + 1] = &hits.items[i].end
    qsort(places, 2 * hits.n, sizeof(int *), by_offset)
    for i in range(2 * hits.n):
        while rc == TC_OK and at < places[i][0]:
            piece = min(places[i][0] - at, 1 << 20)
            characters += <int>count_characters(text, at, at + piece)
            at += piece
            if piece == 1 << 20 and pause != NULL:
                rc = pause.ask(pause.context)
        places[i][0] = characters
    free(places)
    return rc


cdef bytes utf8_of(object text):
    """The bytes of a text as the text core takes them; lone surrogates are broken bytes to it."""
    cdef bytes data
    if isinstance(text, str):
        data = (<str>text).encode("utf-8", "surrogatepass")
    elif isinstance(text, bytes):
        data = text
    else:
        raise TypeError(f"a text must be str or bytes, not {type(text).__name__}")
    if len(data) > INT_MAX:
        raise ValueError("a text of more than 2 GiB cannot be searched")
    return data


@cython.final
cdef class Matcher:
    """A compiled query: tests texts, finds occurrences and counts them.

    It gives the same answer as an index by cjk_unicode61 over the same columns, also for what that
    index cannot serve (a phrase that begins with a mark of a cluster). Immutable, and
    may be used by several threads; the interpreter is released while texts are scanned.
    """

    def __cinit__(self, Node root, tuple positive not None, tuple negative not None,
                  Tokenizer tokenizer not None, bint substring, bint adjacent):
        cdef list program = []
        self.tokenizer = tokenizer
        self.phrases = positive
        self.substring = substring
        self.adjacent = adjacent
        self.nphrase = <int>(len(positive) + len(negative))
        if tm_set_new(tokenizer.config, (TM_SUBSTRING if substring else TM_WORDS)
                      | (TM_ADJACENT if adjacent else 0), &self.set) != TC_OK:
            raise MemoryError
        for leaf in positive + negative:
            self.add(leaf)
        self.monotone = True
        if root is not None:
            self.assemble(root, True, program, [0], [len(positive)])
        if program_depth(program) > TM_STACK:
            raise ValueError("the query is nested too deeply")
        self.program = <int *>malloc((len(program) + 1) * sizeof(int))
        if self.program == NULL:
            raise MemoryError
        self.nprogram = <int>len(program)
        for i in range(self.nprogram):
            self.program[i] = program[i]

    def __dealloc__(self):
        tm_set_free(self.set)
        free(self.program)

    cdef int add(self, Phrase phrase) except -1:
        cdef list texts = [token.text.encode() for token in phrase.tokens]
        cdef tm_token *tokens = <tm_token *>malloc((len(texts) + 1) * sizeof(tm_token))
        cdef int i, rc
        if tokens == NULL:
            raise MemoryError
        for i in range(len(texts)):
            tokens[i].text = <bytes>texts[i]
            tokens[i].ntext = <int>len(<bytes>texts[i])
            tokens[i].flags = (<Token>phrase.tokens[i]).flags
            if i and (<Token>phrase.tokens[i]).start < (<Token>phrase.tokens[i - 1]).end:
                tokens[i].flags |= TM_OVERLAPS
        rc = tm_set_add(self.set, tokens, <int>len(texts),
                        (TM_PREFIX if phrase.prefix else 0)
                        | (TM_INSIDE if begins_inside(phrase) else 0))
        free(tokens)
        if rc != TC_OK:
            raise MemoryError
        return 0

    cdef void assemble(self, Node node, bint positive, list program, list kept,
                       list dropped) except *:
        """Write the tree in postfix form; leaves come in the order of the phrases."""
        cdef list counter
        cdef int i = 0
        if isinstance(node, Phrase):
            counter = kept if positive else dropped
            program.append(counter[0])
            counter[0] += 1
        elif isinstance(node, Not):
            self.monotone = False
            self.assemble((<Not>node).keep, positive, program, kept, dropped)
            self.assemble((<Not>node).drop, False, program, kept, dropped)
            program.append(TM_NOT)
        else:
            for child in (<object>node).children:
                self.assemble(child, positive, program, kept, dropped)
                if i:
                    program.append(TM_AND if isinstance(node, And) else TM_OR)
                i += 1

    cdef int scan(self, int flags, bytes data, void *context, tm_hit_fn hit, int *length,
                  const tc_pause *pause) except -1:
        cdef const char *text = data
        cdef int n = <int>len(data), rc
        if n < 1024:  # cheaper than giving the interpreter away
            rc = tm_scan(self.set, flags, text, n, context, hit, length, pause)
        else:
            with nogil:
                rc = tm_scan(self.set, flags, text, n, context, hit, length, pause)
        return check(rc)

    def matches(self, *columns, deadline=None):
        """Whether a row matches: every phrase inside one column, the tree over all of them.

        Args:
            columns: the row's texts as str or UTF-8 bytes; ``None`` is an empty column.
            deadline: time of ``time.monotonic()`` at which to give up.

        Returns:
            True or False; False for a query with nothing positive.

        Raises:
            QueryTimeout: the deadline passed.
        """
        cdef Seen seen
        cdef Deadline end
        cdef const tc_pause *pause = until(deadline, &end)
        cdef bint found
        if self.nprogram == 0:
            return False
        seen.phrases = <uint8_t *>calloc(self.nphrase + 1, 1)
        if seen.phrases == NULL:
            raise MemoryError
        seen.program = self.program
        seen.nprogram = self.nprogram
        seen.left = self.nphrase
        seen.monotone = self.monotone
        try:
            for column in columns:
                if column is None:
                    continue
                if self.scan(0, utf8_of(column), &seen, on_seen, NULL, pause) == STOP:
                    break
            found = tm_evaluate(self.program, self.nprogram, seen.phrases)
        finally:
            free(seen.phrases)
        return found

    def occurrences(self, text, *, Py_ssize_t limit=10_000, deadline=None):
        """Find where the positive phrases stand in a text.

        Args:
            text: the raw text, as str or UTF-8 bytes.
            limit: most occurrences to find; the first ones are given.
            deadline: time of ``time.monotonic()`` at which to give up.

        Returns:
            A list of ``(phrase index, start, end)`` in characters of ``text`` (bytes, if it was
            given as bytes): exactly the characters that fold to what was asked.

        Raises:
            QueryTimeout: the deadline passed.
        """
        cdef Hits hits = Hits(NULL, 0, 0, limit, <int>len(self.phrases))
        cdef Deadline end
        cdef const tc_pause *pause = until(deadline, &end)
        cdef bytes data = utf8_of(text)
        cdef const char *raw = data
        cdef Py_ssize_t i
        cdef int rc
        cdef list result = []
        if limit < 1 or not self.phrases:
            return result
        try:
            self.scan(TM_SPANS, data, &hits, on_hit, NULL, pause)
            if hits.n and isinstance(text, str) and not (<str>text).isascii():
                with nogil:
                    rc = count_in_characters(raw, &hits, pause)
                check(rc)
            for i in range(hits.n):
                result.append((hits.items[i].phrase, hits.items[i].start, hits.items[i].end))
        finally:
            free(hits.items)
        # A mark inside a cluster is met in both bigrams that hold the cluster.
        return list(dict.fromkeys(result))

    def count(self, text, *, deadline=None):
        """Count the positive phrases in a text.

        Args:
            text: the raw text, as str or UTF-8 bytes.
            deadline: time of ``time.monotonic()`` at which to give up.

        Returns:
            ``(frequencies, length)``: occurrences of each phrase by distinct position, and the
            length of the text in tokens, both as FTS5 counts them.

        Raises:
            QueryTimeout: the deadline passed.
        """
        cdef Count count
        cdef Deadline end
        cdef const tc_pause *pause = until(deadline, &end)
        cdef int length = 0
        cdef Py_ssize_t i, n = len(self.phrases)
        cdef bytes data = utf8_of(text)
        count.nphrase = <int>n
        count.found = <Py_ssize_t *>calloc(n + 1, sizeof(Py_ssize_t))
        count.position = <int *>malloc((n + 1) * sizeof(int))
        try:
            if count.found == NULL or count.position == NULL:
                raise MemoryError
            for i in range(n):
                count.position[i] = -1
            self.scan(0, data, &count, on_count, &length, pause)
            return [count.found[i] for i in range(n)], length
        finally:
            free(count.found)
            free(count.position)


cdef Py_ssize_t program_depth(list program):
    cdef Py_ssize_t depth = 0, most = 0
    for item in program:
        depth += 1 if item >= 0 else -1
        most = max(most, depth)
    return most


def compile(query, *, bint substring=False, bint adjacent=False):
    """Compile a query for matching texts.

    Args:
        query: a :class:`Query` or a node of one.
        substring: whether phrases may begin and end inside words, as the trigram route finds them.
        adjacent: whether a run of CJK must stand in the text without a gap. An index of bigrams
            also finds ``的好的`` in ``真的好，好的``; this is the check that takes such rows out.

    Returns:
        The matcher; for a query with nothing positive one that matches nothing.

    Raises:
        TypeError: not a query.
        ValueError: a tree nested more than 250 deep.
    """
    cdef Node root = root_of(query)
    cdef list kept = [], dropped = []
    cdef Tokenizer tokenizer
    leaves(root, True, kept, dropped)
    if isinstance(query, Query):
        tokenizer = (<Query>query).tokenizer
    else:
        tokenizer = (<Phrase>(kept + dropped)[0]).tokenizer if root is not None else tokenizer_for()
    return Matcher(root, tuple(kept), tuple(dropped), tokenizer, substring, adjacent)
