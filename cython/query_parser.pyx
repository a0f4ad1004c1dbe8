# SPDX-License-Identifier: MIT
# cython: language_level=3
"""From any string to a tree. Lexemes are (kind, start, end, star) with character offsets."""

from unicodedata import category

cimport cython

from mnemogram._native.query_tree cimport (
    And,
    Node,
    Not,
    Or,
    Phrase,
    Query,
    Token,
    Tokenizer,
    joined,
    leaves,
    make_phrase,
    make_token,
    tokenizer_for,
)
from mnemogram._native.text_core cimport TC_CLUSTER, TC_SINGLE, TC_WORD

MAX_CHARS = 2048  # of a query; what follows is cut
MAX_TERMS = 64  # leaves of a tree
MAX_PHRASE_TOKENS = 128
MAX_TOKENS = 1024  # of all leaves
MAX_DEPTH = 20  # of groups: FTS5's parser has a stack of 100 entries

cdef frozenset OPERATORS = frozenset({"AND", "OR", "NOT"})
# Sentence punctuation of scripts that need no space beside it: it divides words as a space does.
cdef frozenset DIVIDERS = frozenset("、。，；：！？「」『』《》〈〉【】〖〗〔〕（）“”…")
cdef frozenset APOSTROPHES = frozenset("'’ʼ＇")


# Affixes that Persian writes joined, apart, or joined by an invisible mark.
cdef frozenset LEADING = frozenset({"می", "نمی", "همی", "بی"})
cdef frozenset TRAILING = frozenset({
    "ها", "های", "هایی", "هایم", "هایت", "هایش", "هایمان", "هایتان", "هایشان",
    "تر", "تری", "ترین", "ام", "ات", "اش", "ایم", "اید", "اند", "ای", "مان", "تان", "شان"})
cdef str NON_JOINER = "\u200c"


cdef bint is_affix(str word, frozenset affixes):
    return word.replace("ي", "ی").replace("ى", "ی") in affixes


cdef bint divides(Py_UCS4 character):
    return (character.isspace() or character < 0x20 or character == 0x7F
            or (character > 0x7F and character in DIVIDERS))


cdef list lex(str text, list notes):
    """Cut a query into words, quoted parts, operators and the parentheses of groups."""
    cdef list lexemes = []
    cdef Py_ssize_t i = 0, start, close, n = len(text)
    cdef int depth = 0, ignored = 0, inside
    cdef bint literal = False  # after a quote without partner: words only
    cdef Py_UCS4 character
    while i < n:
        character = text[i]
        if divides(character):
            i += 1
            continue
        if not literal and character == u"(":
            if depth < MAX_DEPTH:
                depth += 1
                lexemes.append(("(", i, i + 1, False))
            else:
                ignored += 1
                add_note(notes, f"groups deeper than {MAX_DEPTH} were opened up")
            i += 1
            continue
        if not literal and character == u")":
            if ignored:
                ignored -= 1
            elif depth:
                depth -= 1
                lexemes.append((")", i, i + 1, False))
            i += 1
            continue
        if not literal and character == u'"':
            close = text.find('"', i + 1)
            if close >= 0:
                start, i = i + 1, close + 1
                star = i < n and text[i] == u"*" and (i + 1 == n or ends_word(text, i + 1))
                lexemes.append(("quoted", start, close, star))
                i += star
            else:
                literal = True
                add_note(notes, "a quotation mark without a partner was read literally")
                i += 1
            continue
        start = i
        inside = 0
        while i < n:
            character = text[i]
            if divides(character):
                break
            if not literal:
                if character == u"(" and i > start:
                    if text[start:i] in OPERATORS:
                        break
                    inside += 1
                elif character == u")":
                    if inside:
                        inside -= 1
                    elif depth or ignored:
                        break
                elif character == u'"' and quote_ends_word(text, start, i):
                    break
            i += 1
        if i == start:
            i += 1
        lexemes.append(word_lexeme(text, start, i, literal))
    return lexemes


cdef bint ends_word(str text, Py_ssize_t i):
    return divides(text[i]) or text[i] in '()"'


cdef bint quote_ends_word(str text, Py_ssize_t start, Py_ssize_t i):
    """Whether the quotation mark at i, met inside a word, is one that delimits."""
    if text[start:i] in OPERATORS and text.find('"', i + 1) >= 0:
        return True
    return not (text[i - 1].isalnum() and i + 1 < len(text) and text[i + 1].isalnum())


cdef tuple word_lexeme(str text, Py_ssize_t start, Py_ssize_t end, bint literal):
    cdef str word = text[start:end]
    if not literal:
        if word in OPERATORS:
            return word, start, end, False
        if word.endswith("*") and not word.endswith("**"):
            return "word", start, end - 1, True
    return "word", start, end, False


cdef void add_note(list notes, str note) except *:
    if note not in notes:
        notes.append(note)


@cython.final
cdef class Parser:
    """One parse. An expression is a pair: what must match, and what must not."""

    cdef str text
    cdef list lexemes
    cdef list notes
    cdef Tokenizer tokenizer
    cdef Py_ssize_t at
    cdef int terms
    cdef Py_ssize_t tokens
    cdef bint explicit
    cdef bint truncated

    def __cinit__(self, str text, list notes, Tokenizer tokenizer):
        self.text = text
        self.notes = notes
        self.tokenizer = tokenizer

    cdef tuple group(self):
        """Everything up to a closing parenthesis or the end."""
        cdef list branches = [], kept = [], dropped = []
        cdef bint negate = False, branch = False
        cdef str dangling = "an operator without an operand was ignored"
        while self.at < len(self.lexemes):
            kind, start, end, star = self.lexemes[self.at]
            self.at += 1
            if kind == ")":
                break
            if kind == "AND" or kind == "OR":
                if negate or branch or not (kept or dropped):
                    add_note(self.notes, dangling)
                negate = False
                branch = branch or (kind == "OR" and bool(kept or dropped))
                continue
            if kind == "NOT":
                negate = True
                continue
            if kind == "(":
                keep, drop = self.group()
            elif kind == "word" and not star:
                keep, drop = self.word(self.at - 1), None
            else:
                keep, drop = self.leaf(start, end, kind == "quoted", star), None
            if keep is None and drop is None:
                negate = False
                continue
            if branch:
                branches.append((kept, dropped))
                kept, dropped = [], []
                self.explicit = True
                branch = False
            if negate:
                self.explicit = True
                negate = False
                if keep is None:
                    keep, drop = drop, None
                else:
                    keep, drop = None, (keep if drop is None else Not(keep, drop))
            if keep is not None:
                kept.append(keep)
            if drop is not None:
                dropped.append(drop)
        if (negate or branch) and not self.truncated:
            add_note(self.notes, dangling)
        branches.append((kept, dropped))
        return self.alternatives(branches)

    cdef tuple alternatives(self, list branches):
        cdef list positive = [], negative = []
        for kept, dropped in branches:
            keep = joined(And, kept)
            drop = joined(Or, dropped)
            if keep is None:
                if drop is not None:
                    negative.append(drop)
            else:
                positive.append(keep if drop is None else Not(keep, drop))
        if positive:
            if negative:
                add_note(self.notes, "an alternative that only excludes was ignored")
            return joined(Or, positive), None
        return None, joined(And, negative)

    cdef Node word(self, Py_ssize_t at):
        """A word; of Persian also the other ways to write it with the affix beside it."""
        cdef Py_ssize_t start = self.lexemes[at][1], end = self.lexemes[at][2]
        cdef str source = self.text[start:end]
        cdef Node leaf = self.leaf(start, end, False, False)
        cdef list spellings
        if leaf is None or source.isascii():
            return leaf
        spellings = [leaf]
        if at and self.are_one(at - 1):
            spellings.append(self.joint(self.lexemes[at - 1][1], end))
        if self.are_one(at):
            spellings.append(self.joint(start, self.lexemes[at + 1][2]))
        if NON_JOINER in source:
            spellings.append(self.parted(start, end))
        return joined(Or, [each for each in spellings if each is not None])

    cdef bint are_one(self, Py_ssize_t at):
        """Whether the lexemes at and behind a place may be one word, written apart."""
        if at + 1 >= len(self.lexemes):
            return False
        kind, start, end, star = self.lexemes[at]
        other, from_, to, other_star = self.lexemes[at + 1]
        if kind != "word" or other != "word" or star or other_star:
            return False
        if not self.text[end:from_].isspace():
            return False
        return is_affix(self.text[start:end], LEADING) or is_affix(self.text[from_:to], TRAILING)

    cdef Phrase joint(self, Py_ssize_t start, Py_ssize_t end):
        """The words of a part of the query, written as one."""
        cdef str source = "".join(self.text[start:end].split())
        cdef list tokens = self.tokenizer.tokens(source)
        cdef Token token
        if len(tokens) != 1:
            return None
        token = tokens[0]
        return make_phrase(source, (make_token(token.text, token.flags, start, end),), False, False,
                           False, start, end, self.tokenizer)

    cdef Phrase parted(self, Py_ssize_t start, Py_ssize_t end):
        """A word that invisible marks join, written as several."""
        cdef str source = self.text[start:end].replace(NON_JOINER, " ")
        cdef list tokens = self.tokenizer.tokens(source)
        if not 1 < len(tokens) <= MAX_PHRASE_TOKENS:
            return None
        return phrase_of(source, tokens, start, True, False, self.tokenizer)

    cdef Node leaf(self, Py_ssize_t start, Py_ssize_t end, bint quoted, bint star):
        cdef str source = self.text[start:end]
        cdef list tokens = self.tokenizer.tokens(source)
        cdef Py_ssize_t room
        if not tokens:
            add_note(self.notes, f"{shown(source, quoted)} holds nothing that can be searched for")
            return None
        room = min(MAX_PHRASE_TOKENS, MAX_TOKENS - self.tokens)
        if self.terms >= MAX_TERMS or room <= 0:
            add_note(self.notes, f"only the first {self.terms} terms were searched for")
            self.truncated = True
            return None
        if len(tokens) > room:
            add_note(self.notes, f"a phrase was cut to its first {room} tokens")
            self.truncated = True
            tokens = tokens[:room]
            star = True
        self.terms += 1
        self.tokens += len(tokens)
        return phrase_of(source, tokens, start, quoted, star, self.tokenizer)


cdef str shown(str source, bint quoted):
    cdef str short = source if len(source) <= 20 else source[:20] + "…"
    return f'"{short}"' if quoted else (short or "*")


cdef Phrase phrase_of(str source, list tokens, Py_ssize_t offset, bint quoted, bint star,
                      Tokenizer tokenizer):
    """A phrase of tokens cut from source, which begins at offset in the query."""
    cdef Token first = tokens[0], last = tokens[-1], before
    cdef bint prefix = star or (last.flags & (TC_SINGLE | TC_CLUSTER)) != 0
    cdef str gap
    if not prefix and not quoted and len(tokens) > 1 and last.flags & TC_WORD:
        before = tokens[-2]
        gap = source[before.end:last.start]
        # Marks divide the words of some scripts, as unicode61 has it; they join nothing.
        prefix = any([c not in APOSTROPHES and category(c)[0] != "M" for c in gap])
    moved = tuple([make_token(token.text, token.flags, token.start + offset, token.end + offset)
                   for token in tokens])
    return make_phrase(source[first.start:last.end], moved, prefix, star, quoted,
                       first.start + offset, last.end + offset, tokenizer)


cdef str storable(str text):
    """The text with lone surrogates, which SQLite cannot take, replaced one for one."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(["\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text])
    return text


def parse(str text not None, config=None):
    """Parse any string into a :class:`Query`. Never raises for what the string says.

    Words, ``"phrases"``, ``AND`` ``OR`` ``NOT`` in capitals, parentheses at the start of a word,
    and a trailing ``*``; everything else is literal. Words are joined by AND; NOT binds to the
    next term, AND closer than OR. Words that punctuation joins (``QX-417``) are a phrase whose
    last part may be a beginning. A Persian affix is found joined to its word and apart from it.
    Lone CJK characters are looked up as prefixes of bigrams, and
    the last cluster of Thai, Lao, Khmer or Myanmar may be followed by marks.

    Args:
        text: the query; at most 2,048 characters, 64 terms and 20 nested groups are used.
        config: arguments of the tokenizer by name, those of the index that will be asked; by
            default ``remove_diacritics 2 variants 1``.

    Returns:
        The query.

    Raises:
        TypeError: ``text`` is not a string.
        ValueError: ``config`` is not accepted by the tokenizer.
    """
    cdef list notes = []
    cdef Query query = Query.__new__(Query)
    cdef Parser parser
    cdef list kept = [], dropped = []
    cdef Tokenizer tokenizer = tokenizer_for(config)
    cdef bint cut = len(text) > MAX_CHARS
    if cut:
        text = shorten(text)
        notes.append(f"the query was cut to its first {len(text)} characters")
    text = storable(text)
    parser = Parser(text, notes, tokenizer)
    parser.lexemes = lex(text, notes)
    keep, drop = parse_all(parser)
    if keep is None and drop is None and parser.terms == 0:
        words = [("word", lexeme[1], lexeme[2], False) for lexeme in parser.lexemes
                 if lexeme[0] in OPERATORS]
        if words:  # operators alone are words
            notes.clear()
            parser = Parser(text, notes, tokenizer)
            parser.lexemes = words
            keep, drop = parse_all(parser)
    if keep is None:
        add_note(notes, "nothing positive to search for" if drop is not None
                 else "nothing to search for")
        if drop is not None:
            leaves(drop, False, kept, dropped)
    elif drop is not None:
        keep = Not(keep, drop)
    query.text = text
    query.root = keep
    leaves(keep, True, kept, dropped)
    query.phrases = tuple(kept)
    query.negative = tuple(dropped)
    query.explicit_operators = parser.explicit
    query.notes = tuple(notes)
    query.truncated = cut or parser.truncated
    query.plain = all([lexeme[0] == "word" and not lexeme[3] for lexeme in parser.lexemes])
    query.tokenizer = tokenizer
    return query


cdef tuple parse_all(Parser parser):
    """The whole query: a closing parenthesis too many ends nothing."""
    cdef list kept = [], dropped = []
    while parser.at < len(parser.lexemes):
        keep, drop = parser.group()
        if keep is not None:
            kept.append(keep)
        if drop is not None:
            dropped.append(drop)
    return joined(And, kept), joined(Or, dropped)


cdef str shorten(str text):
    """The first characters of a long query, to the last whole word where there is one."""
    cdef Py_ssize_t end = MAX_CHARS
    while end > MAX_CHARS // 2 and not divides(text[end]):
        end -= 1
    if end <= MAX_CHARS // 2:
        end = MAX_CHARS
    return text[:end]


def phrase(str text not None, *, bint prefix=False, config=None):
    """Make one literal phrase, as a quoted part of a query would be.

    Args:
        text: the words; nothing in it is an operator.
        prefix: whether the last word may be a beginning.
        config: arguments of the tokenizer, as for :func:`parse`.

    Returns:
        The phrase, or ``None`` where ``text`` holds no token.
    """
    cdef Tokenizer tokenizer = tokenizer_for(config)
    cdef list tokens
    text = storable(text)
    tokens = tokenizer.tokens(text)
    return phrase_of(text, tokens, 0, True, prefix, tokenizer) if tokens else None
