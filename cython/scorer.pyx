# SPDX-License-Identifier: MIT
# cython: language_level=3
"""Exact scores of a set of texts: BM25 of a compiled query, and of the trigrams of its words."""

from unicodedata import normalize

cimport cython
from libc.limits cimport INT_MAX
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

from mnemogram._native.matcher cimport STOP, Deadline, Matcher, check, until, utf8_of
from mnemogram._native.query_tree cimport Phrase, Tokenizer
from mnemogram._native.text_core cimport TC_NOMEM, TC_OK, TC_UNITS, tc_pause, tc_tokenize

# Grams of a query that are weighed; a text of them is a dozen long sentences.
cdef int MOST_GRAMS = 512

# Of how many average rows a text is held to be long, at most.
cdef double LONGEST = 8.0

# The numbers of BM25.
K = BM25_K
B = BM25_B

# What a phrase is in place of the number of a unit.
UNIT_NONE = -1
UNIT_TYPED = -2

cdef enum:
    ABSENT
    FOLDED
    EXACT
    MOST_SPELLED = 256  # bytes of a unit that are compared


cdef struct Spelling:
    char bytes[256]
    int n


cdef int on_place(void *context, int phrase, int position, int start, int end) noexcept nogil:
    cdef Places *places = <Places *>context
    cdef Place *grown
    cdef Py_ssize_t wanted
    if phrase >= places.nphrase or places.last[phrase] == position:
        return TC_OK
    places.last[phrase] = position
    if places.n == places.allocated:
        wanted = places.allocated * 2 if places.allocated else 256
        grown = <Place *>realloc(places.items, wanted * sizeof(Place))
        if grown == NULL:
            return TC_NOMEM
        places.items = grown
        places.allocated = wanted
    places.items[places.n] = Place(position, phrase, start, end)
    places.n += 1
    return TC_OK


cdef int on_spelled(void *context, int flags, const char *token, int ntoken, int start,
                    int end) noexcept nogil:
    cdef Spelling *spelling = <Spelling *>context
    if spelling.n + ntoken > MOST_SPELLED:
        return STOP
    memcpy(spelling.bytes + spelling.n, token, ntoken)
    spelling.n += ntoken
    return TC_OK


cdef void by_position(Places *places) noexcept nogil:
    """Sort places; they come by their last tokens, so nearly sorted."""
    cdef Py_ssize_t i, j
    cdef Place each
    for i in range(1, places.n):
        each = places.items[i]
        j = i
        while j > 0 and places.items[j - 1].position > each.position:
            places.items[j] = places.items[j - 1]
            j -= 1
        places.items[j] = each


def part(double weight, double tf, double norm):
    """What a phrase counts that stands tf times in a text."""
    return bm25_part(weight, tf, norm, BM25_K)


def rarity(double texts, double holding):
    """The weight of a phrase that so many of the texts hold."""
    return bm25_rarity(texts, holding)


@cython.final
cdef class Scorer:
    """Scores rows of text for weighted phrases; give all rows, then ask for their scores.

    BM25 (Robertson and Zaragoza 2009) with column-weighted frequencies, of a longer text by its
    best passage. The trigrams inside words count beside the phrases: what inflection, clitics
    or compounds keep of a word is still found. How rare a trigram is, the rows themselves tell,
    so these should be the candidates of one search. Not for use by several threads at once.

    Args:
        matcher: the compiled phrases.
        weights: of its phrases, in their order.
        columns: weights of a row's columns.
        average: average length of a row in tokens, more than zero.
        k, b: BM25's saturation and length normalisation.
        grams_of: a query whose words also count by their trigrams.
        grams_by: the tokenizer that cuts these; without it none count.
        grams_weight: what all trigrams together count; 0 for none.
        passage: tokens of a passage; 0 takes every text whole.
        units: of each phrase the number of the query's unit that it is a form of, UNIT_NONE, or
            UNIT_TYPED for the query as it was typed; without them no row has facts.
        spellings: of each phrase how it was typed, None where that does not matter.
        plain: the tokenizer that tells spellings apart; it folds as little as can be.

    Raises:
        ValueError: another number of weights, units or spellings than phrases, or no positive
            average.
    """

    def __cinit__(self, Matcher matcher not None, weights, columns, double average, *,
                  double k, double b, str grams_of="", Tokenizer grams_by=None,
                  double grams_weight=0.0, int passage=0, units=(), spellings=(),
                  Tokenizer plain=None):
        cdef Py_ssize_t i
        cdef bytes data
        self.matcher = matcher
        self.nphrase = <int>len(matcher.phrases)
        self.ncolumn = <int>len(columns)
        if len(weights) != self.nphrase:
            raise ValueError("each phrase needs one weight")
        if not average > 0.0:
            raise ValueError("the average length must be positive")
        if units and len(units) != self.nphrase or spellings and len(spellings) != self.nphrase:
            raise ValueError("each phrase needs one unit and one spelling")
        self.average = average
        self.k = k
        self.b = b
        self.grams_weight = grams_weight
        self.passage = passage
        self.plain = plain
        self.facts = []
        self.spellings = []
        self.nunit = max([<int>each for each in units], default=-1) + 1
        self.weights = <double *>malloc((self.nphrase + 1) * sizeof(double))
        self.columns = <double *>malloc((self.ncolumn + 1) * sizeof(double))
        self.units = <int *>malloc((self.nphrase + 1) * sizeof(int))
        self.spelled = <uint8_t *>malloc(self.nphrase + 1)
        self.around = <int *>malloc((self.nunit + 1) * sizeof(int))
        self.inside = <double *>malloc((self.nphrase + 1) * sizeof(double))
        self.frequencies = <double *>malloc((self.nphrase + 1) * sizeof(double))
        self.everywhere = <double *>malloc((self.nphrase + 1) * sizeof(double))
        self.places.last = <int *>malloc((self.nphrase + 1) * sizeof(int))
        self.places.nphrase = self.nphrase
        if (self.weights == NULL or self.columns == NULL or self.units == NULL
                or self.spelled == NULL or self.around == NULL or self.inside == NULL
                or self.frequencies == NULL or self.everywhere == NULL
                or self.places.last == NULL):
            raise MemoryError
        for i in range(self.nphrase):
            self.weights[i] = weights[i]
            self.units[i] = units[i] if units else UNIT_NONE
            self.spellings.append(self.spellings_of(spellings[i] if spellings else None))
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
        free(self.units)
        free(self.spelled)
        free(self.around)
        free(self.inside)
        free(self.frequencies)
        free(self.everywhere)
        free(self.places.items)
        free(self.places.last)
        free(self.counts)
        free(self.scored)
        free(self.parted)
        free(self.lengths)
        free(self.rows)

    def spellings_of(self, typed):
        """Return how a phrase was typed, as bytes, and its forms, folded as little as can be.

        Composed and decomposed letters are the same spelling.
        """
        cdef list forms = []
        cdef Spelling spelling
        cdef bytes data
        if typed is None or self.plain is None:
            return None
        for form in ("NFC", "NFD"):
            data = utf8_of(normalize(form, typed))
            spelling.n = 0
            if tc_tokenize(self.plain.config, TC_UNITS, data, <int>len(data), &spelling,
                           on_spelled) != TC_OK:
                return None
            forms.append((<char *>spelling.bytes)[:spelling.n])
        return utf8_of(typed), *forms

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

    cdef int best_passage(self, int tokens, Py_ssize_t *first, Py_ssize_t *last) except -1:
        """Set the places [first, last) of the passage that scores best, of all that begin at one."""
        cdef Place *items = self.places.items
        cdef Py_ssize_t left = 0, right
        cdef double score = 0.0, best = 0.0
        cdef double k = self.k, tf
        cdef double norm = bm25_norm(min(self.passage / self.average, LONGEST), k, self.b)
        cdef int phrase
        first[0] = last[0] = 0
        with nogil:
            for right in range(self.nphrase):
                self.inside[right] = 0.0
            for right in range(self.places.n):
                while items[right].position - items[left].position >= self.passage:
                    phrase = items[left].phrase
                    tf = self.inside[phrase]
                    score -= bm25_most(self.weights[phrase], k) * (
                        bm25_share(tf, norm) - bm25_share(tf - 1.0, norm))
                    self.inside[phrase] = tf - 1.0
                    left += 1
                phrase = items[right].phrase
                tf = self.inside[phrase]
                score += bm25_most(self.weights[phrase], k) * (
                    bm25_share(tf + 1.0, norm) - bm25_share(tf, norm))
                self.inside[phrase] = tf + 1.0
                if score > best or last[0] == 0:
                    best = score
                    first[0] = left
                    last[0] = right + 1
        return 0

    cdef tuple closeness(self):
        """How many units a text holds, and how many other tokens the nearest of each enclose."""
        cdef Place *items = self.places.items
        cdef Py_ssize_t left = 0, right
        cdef int held = 0, most = 0, unit, width, best = INT_MAX
        with nogil:
            for unit in range(self.nunit):
                self.around[unit] = 0
            for right in range(self.places.n):
                unit = self.units[items[right].phrase]
                if unit >= 0:
                    most += self.around[unit] == 0
                    self.around[unit] = 1
            for unit in range(self.nunit):
                self.around[unit] = 0
            for right in range(self.places.n):
                unit = self.units[items[right].phrase]
                if unit < 0:
                    continue
                held += self.around[unit] == 0
                self.around[unit] += 1
                while held == most:
                    unit = self.units[items[left].phrase]
                    if unit >= 0:
                        width = items[right].position - items[left].position + 1 - most
                        best = min(best, max(width, 0))
                        self.around[unit] -= 1
                        held -= self.around[unit] == 0
                    left += 1
        return most, (best if most else 0)

    cdef bint stands_typed(self, const char *text) noexcept:
        """Whether the query as it was typed stands in one sentence of a text."""
        cdef Py_ssize_t i
        cdef Place *each
        for i in range(self.places.n):
            each = &self.places.items[i]
            if (self.units[each.phrase] == UNIT_TYPED
                    and not ends_sentence(text, each.start, each.end)):
                return True
        return False

    cdef int check_spelling(self, const char *text) except -1:
        """Look at how the phrases of a text are spelled there, until each is found as typed."""
        cdef Place *items = self.places.items
        cdef Py_ssize_t i
        cdef Spelling spelling
        cdef int phrase, n, rc
        cdef bytes typed, composed, decomposed
        cdef bint prefix
        for i in range(self.places.n):
            phrase = items[i].phrase
            if self.spelled[phrase] == EXACT:
                continue
            if self.spellings[phrase] is None:
                self.spelled[phrase] = EXACT
                continue
            typed, composed, decomposed = self.spellings[phrase]
            n = <int>len(typed)
            prefix = (<Phrase>self.matcher.phrases[phrase]).prefix
            if (items[i].end - items[i].start == n
                    and memcmp(text + items[i].start, <const char *>typed, n) == 0):
                self.spelled[phrase] = EXACT
                continue
            spelling.n = 0
            rc = tc_tokenize(self.plain.config, TC_UNITS, text + items[i].start,
                             items[i].end - items[i].start, &spelling, on_spelled)
            self.spelled[phrase] = FOLDED
            if rc == TC_NOMEM:
                raise MemoryError
            if rc != TC_OK or is_spelled(&spelling, composed, prefix, self.matcher.substring) \
                    or is_spelled(&spelling, decomposed, prefix, self.matcher.substring):
                self.spelled[phrase] = EXACT
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
        cdef Deadline limit
        cdef const tc_pause *pause = until(deadline, &limit)
        cdef Py_ssize_t i, place, first, last
        cdef int length = 0, whole = 0, tokens, grams = 0, rc, begin, end
        cdef int most = 0, width = 0, held, unit
        cdef const char *text
        cdef double weight, norm, norm_whole, part, score = 0.0
        cdef float *row
        cdef bytes data
        cdef bint typed = False
        if len(columns) != self.ncolumn:
            raise ValueError("a row needs one text for each column")
        self.make_room()
        row = self.rows + self.nrow * self.ngram
        for i in range(self.ngram):
            row[i] = 0.0
        for i in range(self.nphrase):
            self.frequencies[i] = self.everywhere[i] = 0.0
            self.spelled[i] = ABSENT
        for place in range(self.ncolumn):
            if not columns[place]:
                continue
            data = utf8_of(columns[place])
            text = data
            weight = self.columns[place]
            self.places.n = 0
            for i in range(self.nphrase):
                self.places.last[i] = -1
            tokens = 0
            self.matcher.scan(0, data, &self.places, on_place, &tokens, pause)
            by_position(&self.places)
            whole += tokens
            begin, end = 0, <int>len(data)
            first, last = 0, self.places.n
            if 0 < self.passage < tokens:
                self.best_passage(tokens, &first, &last)
                passage_bytes(&self.places, first, last,
                              <int>(<double>end * self.passage / tokens), text, &begin, &end)
                tokens = self.passage
            length += tokens
            for i in range(self.places.n):
                self.everywhere[self.places.items[i].phrase] += weight
            for i in range(first, last):
                self.frequencies[self.places.items[i].phrase] += weight
            if self.nunit:
                held, rc = self.closeness()
                if held > most or held == most and rc < width:
                    most, width = held, rc
                typed = typed or self.stands_typed(text)
                if self.plain is not None:
                    self.check_spelling(text)
            if self.ngram:
                for i in range(self.ngram):
                    self.counts[i] = 0
                with nogil:
                    rc = tg_count(self.grams, text + begin, end - begin, self.counts, &grams,
                                  pause)
                check(rc)
                for i in range(self.ngram):
                    row[i] += <float>(weight * self.counts[i])
        norm = bm25_norm(min(length / self.average, LONGEST), self.k, self.b)
        norm_whole = bm25_norm(whole / self.average, self.k, self.b)
        for i in range(self.nphrase):
            part = bm25_most(self.weights[i], self.k) * max(
                bm25_share(self.frequencies[i], norm),
                bm25_share(self.everywhere[i], norm_whole))
            self.parted[self.nrow * self.nphrase + i] = part
            score += part
        self.scored[self.nrow] = score
        self.lengths[self.nrow] = grams
        self.nrow += 1
        if self.nunit:
            units = set()
            folded = set()
            for i in range(self.nphrase):
                if self.everywhere[i] > 0.0:
                    unit = self.units[i]
                    if unit >= 0:
                        units.add(unit)
                        if self.spelled[i] == FOLDED:
                            folded.add(unit)
            self.facts.append((frozenset(units), len(folded), typed, width))
        return whole

    def about(self, Py_ssize_t row):
        """Return the facts of a row.

        Returns:
            ``(units, folded, typed, apart)``: the units that it holds; how many of them it holds
            in another spelling only; whether the query stands there as it was typed; and how many
            other tokens its units enclose where they stand nearest to each other.

        Raises:
            IndexError: there is no such row, or none has facts.
        """
        return self.facts[row]

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
                    rarity[i] = bm25_rarity(self.nrow, frequency)
                total += rarity[i]
            for j in range(self.nrow):
                score = 0.0
                if total > 0.0:
                    norm = bm25_norm(self.lengths[j] / max(average, 1.0), self.k, self.b)
                    for i in range(self.ngram):
                        frequency = self.rows[j * self.ngram + i]
                        if frequency > 0.0:
                            score += bm25_part(rarity[i], frequency, norm, self.k)
                    score *= self.grams_weight / total
                result.append(self.scored[j] + score)
        finally:
            free(rarity)
        return result


cdef bint ends_sentence(const char *text, int start, int end) noexcept nogil:
    """Whether a sentence ends inside of a part of a text: at a full stop before a space, a wide
    one, or an empty line."""
    cdef int i
    cdef uint8_t byte, after
    for i in range(start, end - 1):
        byte, after = <uint8_t>text[i], <uint8_t>text[i + 1]
        if byte in b".!?;" and after in b" \t\r\n" or byte == 10 and after == 10:
            return True
        if i + 2 < end and (memcmp(text + i, "\xe3\x80\x82", 3) == 0  # 。
                            or memcmp(text + i, "\xef\xbc\x81", 3) == 0  # ！
                            or memcmp(text + i, "\xef\xbc\x9f", 3) == 0  # ？
                            or memcmp(text + i, "\xef\xbc\x9b", 3) == 0):  # ；
            return True
    return False


cdef bint is_spelled(Spelling *spelling, bytes wanted, bint prefix, bint substring):
    cdef int n = <int>len(wanted)
    if substring:
        return wanted in (<char *>spelling.bytes)[:spelling.n]
    if spelling.n < n or spelling.n > n and not prefix:
        return False
    return memcmp(spelling.bytes, <const char *>wanted, n) == 0


cdef void passage_bytes(Places *places, Py_ssize_t first, Py_ssize_t last, int size,
                        const char *text, int *begin, int *end) noexcept nogil:
    """Narrow [begin, end) of a text to about so many bytes around some places."""
    cdef int low = begin[0], high = end[0], start = low, stop = low, spare
    cdef Py_ssize_t i
    if last > first:
        start = places.items[first].start
        for i in range(first, last):
            stop = max(stop, places.items[i].end)
    spare = max(size - (stop - start), 0)
    start = max(low, start - spare // 2)
    stop = min(high, max(stop, start + size))
    while start > low and (<uint8_t>text[start] & 0xC0) == 0x80:
        start -= 1
    while stop < high and (<uint8_t>text[stop] & 0xC0) == 0x80:
        stop += 1
    begin[0], end[0] = start, stop
