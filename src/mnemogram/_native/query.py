# SPDX-License-Identifier: MIT
"""Queries: any string to a tree, the tree to FTS5 expressions and to a matcher of texts."""

from mnemogram._native.matcher import (
    Matcher,
    compile,
)
from mnemogram._native.query_parser import (
    MAX_CHARS,
    MAX_DEPTH,
    MAX_PHRASE_TOKENS,
    MAX_TERMS,
    MAX_TOKENS,
    parse,
    phrase,
)
from mnemogram._native.query_printer import (
    to_fts5,
    to_trigram,
)
from mnemogram._native.query_tree import (
    CJK,
    CLUSTER,
    DEFAULT_OPTIONS,
    EMOJI,
    MAX_TRIGRAMS,
    SINGLE,
    WORD,
    And,
    Node,
    Not,
    Or,
    Phrase,
    Query,
    Token,
    Tokenizer,
    tokenizer_for,
)
from mnemogram._native.scorer import (
    UNIT_NONE,
    UNIT_TYPED,
    Scorer,
)

__all__ = [
    "CJK",
    "CLUSTER",
    "DEFAULT_OPTIONS",
    "EMOJI",
    "MAX_CHARS",
    "MAX_DEPTH",
    "MAX_PHRASE_TOKENS",
    "MAX_TERMS",
    "MAX_TOKENS",
    "MAX_TRIGRAMS",
    "SINGLE",
    "UNIT_NONE",
    "UNIT_TYPED",
    "WORD",
    "And",
    "Matcher",
    "Node",
    "Not",
    "Or",
    "Phrase",
    "Query",
    "Scorer",
    "Token",
    "Tokenizer",
    "compile",
    "parse",
    "phrase",
    "to_fts5",
    "to_trigram",
    "tokenizer_for",
]
