# SPDX-License-Identifier: MIT
# cython: language_level=3
"""Exact scores of a set of texts: BM25 of a compiled query, and of the trigrams of its words."""

cimport cython
from libc.math cimport log
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc

from mnemogram._native.matcher cimport Count, Deadline, Matcher, check, on_count, until, utf8_of
from mnemogram._native.query_tree cimport Tokenizer
from mnemogram._native.text_core cimport TC_OK, tc_pause

# Grams of a query that are weighed; a text of them is a dozen long sentences.
cdef int MOST_GRAMS = 512


@cython.final
cdef class Scorer:
    """Scores rows of text for weighted phrases; give all rows, then ask for their scores.

    BM25 (Robertson and Zaragoza 2009) with column-weighted frequencies. The trigrams inside
    words count beside the phrases: what inflection, clitics or compounds keep of a word is
    still found. How rare a trigram is, the rows themselves tell, so these should be the
    candidates of one search. Not for use by several threads at once.

    Args:
        matcher: the compiled phrases.
        weights: of its phrases, in their order.
        columns: weights of a row's columns.
        average: average length of a row in tokens, more than zero.
        k, b: BM25's saturation and length normalisation.
        grams_of: a query whose words also count by their trigrams.
        grams_by: the tokenizer that cuts these; without it none count.
        grams_weight: what all trigrams together count; 0 for none.

    Raises:
        ValueError: another number of weights than phrases, or no positive average.
    """

    def __cinit__(self, Matcher matcher not None, weights, columns, double average, *,
                  double k, double b, str grams_of="", Tokenizer grams_by=None,
                  double grams_weight=0.0):
        cdef Py_ssize_t i
        cdef bytes data
        self.matcher = matcher
        self.nphrase = <int>len(matcher.phrases)
        self.ncolumn = <int>len(columns)
        if len(weights) != self.nphrase:
            raise ValueError("each phrase needs one weight")
        if not average > 0.0:
            raise ValueError("the average length must be positive")
        self.average = average
        self.k = k
        self.b = b
        self.grams_weight = grams_weight
        self.weights = <double *>malloc((self.nphrase + 1) * sizeof(double))
        self.columns = <double *>malloc((self.ncolumn + 1) * sizeof(double))
        self.found = <Py_ssize_t *>malloc((self.nphrase + 1) * sizeof(Py_ssize_t))
        self.position = <int *>malloc((self.nphrase + 1) * sizeof(int))
        self.frequencies = <double *>malloc((self.nphrase + 1) * sizeof(double))
        if (self.weights == NULL or self.columns == NULL or self.found == NULL
                or self.position == NULL or self.frequencies == NULL):
            raise MemoryError
        for i in range(self.nphrase):
            self.weights[i] = weights[i]
        for i in range(self.ncolumn):
            self.columns[i] = columns[i]
        if grams_by is not None and grams_weight > 0.0:
            self.tokenizer = grams_by
            if tg_set_new(grams_by.config, MOST_GRAMS, &self.grams) != TC_OK:
                raise MemoryError
            data = utf8_of(grams_of)
            if tg_set_add(self.grams, data, <int>len(data)) != TC_OK:
                raise MemoryError
            self.ngram = tg_set_size(self.grams)
        self.counts = <uint32_t *>malloc((self.ngram + 1) * sizeof(uint32_t))
        if self.counts == NULL:
            raise MemoryError

    def __dealloc__(self):
        tg_set_free(self.grams)
        free(self.weights)
        free(self.columns)
        free(self.found)
        free(self.position)
        free(self.frequencies)
        free(self.counts)
        free(self.scored)
        free(self.parted)
        free(self.lengths)
        free(self.rows)

    cdef int make_room(self) except -1:
        cdef Py_ssize_t wanted
        cdef void *grown
        if self.nrow < self.allocated:
            return 0
        wanted = self.allocated * 2 if self.allocated else 64
        grown = realloc(self.scored, wanted * sizeof(double))
        if grown == NULL:
            raise MemoryError
        self.scored = <double *>grown
        grown = realloc(self.parted, (wanted * self.nphrase + 1) * sizeof(double))
        if grown == NULL:
            raise MemoryError
        self.parted = <double *>grown
        grown = realloc(self.lengths, wanted * sizeof(double))
        if grown == NULL:
            raise MemoryError
        self.lengths = <double *>grown
        grown = realloc(self.rows, (wanted * self.ngram + 1) * sizeof(float))
        if grown == NULL:
            raise MemoryError
        self.rows = <float *>grown
        self.allocated = wanted
        return 0

    def add(self, *columns, deadline=None):
        """Take a row in.

        Args:
            columns: its texts as str or UTF-8 bytes, in the order of the columns' weights;
                ``None`` is an empty column.
            deadline: time of ``time.monotonic()`` at which to give up; the row is left out.

        Returns:
            Its length in tokens.

        Raises:
            ValueError: another number of columns than there are weights.
            QueryTimeout: the deadline passed.
        """
        cdef Count count
        cdef Deadline end
        cdef const tc_pause *pause = until(deadline, &end)
        cdef Py_ssize_t i, place
        cdef int length = 0, tokens, grams = 0, size, rc
        cdef const char *text
        cdef double weight, norm, part, score = 0.0
        cdef float *row
        cdef bytes data
        if len(columns) != self.ncolumn:
            raise ValueError("a row needs one text for each column")
        self.make_room()
        row = self.rows + self.nrow * self.ngram
        for i in range(self.ngram):
            row[i] = 0.0
        for i in range(self.nphrase):
            self.frequencies[i] = 0.0
        count.nphrase = self.nphrase
        count.found = self.found
        count.position = self.position
        for place in range(self.ncolumn):
            if not columns[place]:
                continue
            data = utf8_of(columns[place])
            weight = self.columns[place]
            for i in range(self.nphrase):
                self.found[i] = 0
                self.position[i] = -1
            tokens = 0
            self.matcher.scan(0, data, &count, on_count, &tokens, pause)
            length += tokens
            for i in range(self.nphrase):
                self.frequencies[i] += weight * <double>self.found[i]
            if self.ngram:
                for i in range(self.ngram):
                    self.counts[i] = 0
                text = data
                size = <int>len(data)
                with nogil:
                    rc = tg_count(self.grams, text, size, self.counts, &grams, pause)
                check(rc)
                for i in range(self.ngram):
                    row[i] += <float>(weight * self.counts[i])
        norm = self.k * (1.0 - self.b + self.b * length / self.average)
        for i in range(self.nphrase):
            part = (self.weights[i] * self.frequencies[i] * (self.k + 1.0)
                    / (self.frequencies[i] + norm))
            self.parted[self.nrow * self.nphrase + i] = part
            score += part
        self.scored[self.nrow] = score
        self.lengths[self.nrow] = grams
        self.nrow += 1
        return length

    def parts(self, Py_ssize_t row):
        """Return what each phrase gives a row, by place among the phrases; without the rest.

        Raises:
            IndexError: there is no such row.
        """
        cdef Py_ssize_t i
        if row < 0 or row >= self.nrow:
            raise IndexError("no such row")
        return {i: self.parted[row * self.nphrase + i] for i in range(self.nphrase)
                if self.parted[row * self.nphrase + i] > 0.0}

    def scores(self):
        """Return the score of each row, in the order they were given."""
        cdef Py_ssize_t i, j
        cdef double total = 0.0, average = 0.0, frequency, norm, score
        cdef double *rarity
        cdef list result = []
        if self.nrow == 0:
            return result
        rarity = <double *>calloc(self.ngram + 1, sizeof(double))
        if rarity == NULL:
            raise MemoryError
        try:
            for j in range(self.nrow):
                average += self.lengths[j] / self.nrow
            for i in range(self.ngram):
                frequency = 0.0
                for j in range(self.nrow):
                    frequency += self.rows[j * self.ngram + i] > 0.0
                if frequency > 0.0:
                    rarity[i] = log(1.0 + (self.nrow - frequency + 0.5) / (frequency + 0.5))
                total += rarity[i]
            for j in range(self.nrow):
                score = 0.0
                if total > 0.0:
                    norm = self.k * (1.0 - self.b + self.b * self.lengths[j] / max(average, 1.0))
                    for i in range(self.ngram):
                        frequency = self.rows[j * self.ngram + i]
                        if frequency > 0.0:
                            score += rarity[i] * frequency * (self.k + 1.0) / (frequency + norm)
                    score *= self.grams_weight / total
                result.append(self.scored[j] + score)
        finally:
            free(rarity)
        return result
