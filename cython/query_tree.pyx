# SPDX-License-Identifier: MIT
# cython: language_level=3
"""A query's tree: the tokenizer as queries use it, phrases, and the nodes that join them."""

from unicodedata import category

cimport cython
from libc.limits cimport INT_MAX
from libc.stdlib cimport free, malloc

from mnemogram._native.text_core cimport (
    TC_CJK,
    TC_CLUSTER,
    TC_EMOJI,
    TC_NOMEM,
    TC_OK,
    TC_QUERY,
    TC_SINGLE,
    TC_WORD,
    count_characters,
    tc_config_free,
    tc_config_new,
    tc_tokenize,
)

WORD = TC_WORD
CJK = TC_CJK
CLUSTER = TC_CLUSTER
EMOJI = TC_EMOJI
SINGLE = TC_SINGLE

# The arguments of a query that names none; a history names those of its indexes.
DEFAULT_OPTIONS = {"remove_diacritics": "2", "variants": "1"}
MAX_TRIGRAMS = 16  # of one piece; more would not narrow the candidates


cdef int collect_token(void *context, int flags, const char *token, int ntoken, int start,
                       int end) noexcept with gil:
    try:
        (<list>context).append((flags, token[:ntoken], start, end))
    except MemoryError:
        return TC_NOMEM
    return TC_OK


@cython.final
cdef class Tokenizer:
    """The tokenizer with given arguments, cutting text as the index does in query mode."""

    def __cinit__(self, dict options not None):
        cdef const char *error = NULL
        cdef list raw = []
        cdef const char **args
        cdef int rc, i
        self.options = {str(name): str(value) for name, value in options.items()}
        for item in self.options.items():
            raw += [item[0].encode(), item[1].encode()]
        args = <const char **>malloc((len(raw) + 1) * sizeof(char *))
        if args == NULL:
            raise MemoryError
        for i in range(len(raw)):
            args[i] = <bytes>raw[i]
        rc = tc_config_new(args, <int>len(raw), &self.config, &error)
        free(args)
        if rc == TC_NOMEM:
            raise MemoryError
        if rc != TC_OK:
            raise ValueError(error.decode() if error != NULL else "bad tokenizer options")

    def __dealloc__(self):
        tc_config_free(self.config)

    cdef list tokens(self, str text):
        cdef list found = []
        cdef list result = []
        cdef bytes source = text.encode()
        cdef const char *data = source
        cdef int at = 0, start, end, flags
        cdef Py_ssize_t characters = 0, first
        if len(source) > INT_MAX:
            raise ValueError("text is too long to be a query")
        if tc_tokenize(self.config, TC_QUERY, data, <int>len(source), <void *>found,
                       collect_token) != TC_OK:
            raise MemoryError
        for flags, token, start, end in found:
            characters += count_characters(data, at, start)
            at = start
            first = characters
            result.append(make_token(token.decode(errors="replace"), flags, first,
                                     first + count_characters(data, start, end)))
        # A mark alone may fold to nothing. Between words it keeps its place, as it does in
        # the index; at an end there is nothing to look for.
        while result and not (<Token>result[0]).text:
            del result[0]
        while result and not (<Token>result[-1]).text:
            del result[-1]
        return result

    def __reduce__(self):
        return tokenizer_for, (self.options,)


cdef dict tokenizers = {}


cpdef Tokenizer tokenizer_for(options=None):
    """Return the (shared) tokenizer for ``options``, by default DEFAULT_OPTIONS."""
    cdef tuple key
    chosen = DEFAULT_OPTIONS if options is None else options
    key = tuple(sorted([(str(name), str(value)) for name, value in chosen.items()]))
    found = tokenizers.get(key)
    if found is None:
        if len(tokenizers) >= 64:
            tokenizers.clear()
        found = tokenizers.setdefault(key, Tokenizer(dict(chosen)))
    return found


@cython.final
cdef class Token:
    """A token of a phrase: its folded text, flags, and span in characters of the query."""

    def __eq__(self, other):
        if not isinstance(other, Token):
            return NotImplemented
        return self.as_tuple() == (<Token>other).as_tuple()

    def __hash__(self):
        return hash(self.as_tuple())

    def as_tuple(self):
        """Return ``(text, flags, start, end)``."""
        return self.text, self.flags, self.start, self.end

    def __repr__(self):
        return f"Token({self.text!r}, {self.flags:#x}, {self.start}, {self.end})"

    def __reduce__(self):
        return make_token, self.as_tuple()


cpdef Token make_token(str text, int flags, Py_ssize_t start, Py_ssize_t end):
    cdef Token token = Token.__new__(Token)
    token.text = text
    token.flags = flags
    token.start = start
    token.end = end
    return token


cdef class Node:
    """A node of a query's tree. Immutable; equal where it means the same."""

    def key(self):
        """Return a hashable value equal for nodes that match the same texts."""
        raise NotImplementedError

    def __eq__(self, other):
        if not isinstance(other, Node):
            return NotImplemented
        return self.key() == other.key()

    def __hash__(self):
        return hash(self.key())


@cython.final
cdef class Phrase(Node):
    """Tokens that stand next to each other, the last one possibly a beginning."""

    __match_args__ = ("text", "prefix")

    def key(self):
        return "phrase", tuple([token.text for token in self.tokens]), self.prefix

    @property
    def flags(self):
        """The flags of its tokens, together."""
        cdef int flags = 0
        for token in self.tokens:
            flags |= (<Token>token).flags
        return flags

    def servable(self, str route not None):
        """Whether an index can find every text that holds this phrase.

        ``cjk``: unless it begins inside a cluster. ``fts5`` (plain unicode61): no CJK, cluster or emoji token. ``trigram``
        (word_trigram): a word of three characters. ``stock_trigram``: a piece of three characters
        of any script. ``like``: always.
        """
        if route == "like":
            return True
        if route == "cjk":
            return not begins_inside(self)
        if route == "fts5":
            return not (self.flags & (TC_CJK | TC_CLUSTER | TC_EMOJI))
        if route == "trigram" or route == "stock_trigram":
            return bool(trigrams_of(self, route == "stock_trigram"))
        raise ValueError(f"unknown route {route!r}")

    @property
    def gapless(self):
        """Whether it holds a run of three or more CJK characters or clusters.

        An index finds such a run by bigrams at consecutive positions, between which a text may
        have punctuation. ``compile(..., adjacent=True)`` tells.
        """
        cdef Py_ssize_t i
        for i in range(1, len(self.tokens)):
            if (<Token>self.tokens[i]).start < (<Token>self.tokens[i - 1]).end:
                return True
        return False

    def __repr__(self):
        star = "*" if self.prefix else ""
        return f"Phrase({self.text!r}{star})"

    def __reduce__(self):
        return make_phrase, (self.text, self.tokens, self.prefix, self.star, self.quoted,
                             self.start, self.end, self.tokenizer)


cdef bint begins_inside(Phrase phrase) except -1:
    """Whether it begins with a mark of a cluster (Thai, Lao, Khmer, Myanmar) without its base."""
    cdef Token first = phrase.tokens[0]
    return bool(first.flags & TC_CLUSTER) and category(first.text[0])[0] == "M"


cpdef Phrase make_phrase(str text, tuple tokens, bint prefix, bint star, bint quoted,
                         Py_ssize_t start, Py_ssize_t end, Tokenizer tokenizer):
    cdef Phrase made = Phrase.__new__(Phrase)
    made.text = text
    made.tokens = tokens
    made.prefix = prefix
    made.star = star
    made.quoted = quoted
    made.start = start
    made.end = end
    made.tokenizer = tokenizer
    return made


cdef tuple flattened(children, type kind):
    """The children, those of the same kind opened, without repeats."""
    cdef dict unique = {}
    for child in children:
        if not isinstance(child, Node):
            raise TypeError("children must be nodes")
        for node in ((<object>child).children if type(child) is kind else (child,)):
            unique.setdefault(node, None)
    return tuple(unique)


@cython.final
cdef class And(Node):
    """All of its children."""

    __match_args__ = ("children",)

    def __cinit__(self, children):
        self.children = flattened(children, And)

    def key(self):
        return "and", frozenset([child.key() for child in self.children])

    def __repr__(self):
        return f"And({list(self.children)!r})"

    def __reduce__(self):
        return And, (self.children,)


@cython.final
cdef class Or(Node):
    """Any of its children."""

    __match_args__ = ("children",)

    def __cinit__(self, children):
        self.children = flattened(children, Or)

    def key(self):
        return "or", frozenset([child.key() for child in self.children])

    def __repr__(self):
        return f"Or({list(self.children)!r})"

    def __reduce__(self):
        return Or, (self.children,)


@cython.final
cdef class Not(Node):
    """What ``keep`` matches and ``drop`` does not."""

    __match_args__ = ("keep", "drop")

    def __cinit__(self, Node keep not None, Node drop not None):
        self.keep = keep
        self.drop = drop

    def key(self):
        return "not", self.keep.key(), self.drop.key()

    def __repr__(self):
        return f"Not({self.keep!r}, {self.drop!r})"

    def __reduce__(self):
        return Not, (self.keep, self.drop)


cdef Node joined(type kind, list nodes):
    """One node of a kind, or the only one left, or None."""
    if not nodes:
        return None
    node = kind(nodes)
    return node.children[0] if len(node.children) == 1 else node


cdef void leaves(Node node, bint positive, list kept, list dropped) except *:
    if node is None:
        return
    if isinstance(node, Phrase):
        (kept if positive else dropped).append(node)
    elif isinstance(node, Not):
        leaves((<Not>node).keep, positive, kept, dropped)
        leaves((<Not>node).drop, False, kept, dropped)
    else:
        for child in (<object>node).children:
            leaves(child, positive, kept, dropped)


@cython.final
cdef class Query:
    """What a string asks for.

    Attributes:
        text: the string that was parsed, after cutting.
        root: the tree, or ``None`` where there is nothing positive to search for.
        phrases: its positive leaves in order; ``negative``: the others.
        explicit_operators: whether OR or NOT took effect.
        notes: sentences on what was cut, dropped or read otherwise than written.
        truncated: whether something was cut for length or number.
        plain: whether it is words only.
    """

    def __repr__(self):
        return f"Query({self.root!r})"

    def servable(self, str route not None):
        """Whether an index of ``route`` finds every text that the whole query matches."""
        cdef list every = list(self.phrases) + list(self.negative)
        return bool(self.phrases) and all([phrase.servable(route) for phrase in every])


cdef Node root_of(object query):
    if isinstance(query, Query):
        return (<Query>query).root
    if query is None or isinstance(query, Node):
        return query
    raise TypeError("expected a Query or a node of one")


cdef list trigrams_of(Phrase phrase, bint stock):
    """Trigrams that every text holds in which the phrase stands, without repeats."""
    cdef list pieces = [], result = []
    cdef Token token, last = None
    cdef Py_ssize_t start = 0, n, i, step
    if stock:
        for token in phrase.tokens:
            if last is None or token.start >= last.end:
                if last is not None:
                    pieces.append(phrase.text[start - phrase.start:last.end - phrase.start])
                start = token.start
            last = token
        pieces.append(phrase.text[start - phrase.start:last.end - phrase.start])
    else:
        pieces = [token.text for token in phrase.tokens if token.flags & TC_WORD]
    for piece in pieces:
        n = len(piece) - 2
        step = max(1, n // MAX_TRIGRAMS)
        for i in range(0, n, step):
            result.append(piece[i:i + 3])
    return list(dict.fromkeys(result))
