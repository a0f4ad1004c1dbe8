# SPDX-License-Identifier: MIT
"""Slow reference of phrase matching and of the Boolean tree, over tokens with positions."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

from mnemogram._native import text_core
from mnemogram._native.query import And, Node, Not, Or, Phrase

Positions = list[list[tuple[str, int]]]
"""For each position the (folded text, flags) of the tokens that stand there."""

DEFAULTS = {"remove_diacritics": "2", "variants": "1"}


def positions(text: str, options: Mapping[str, str] = DEFAULTS) -> Positions:
    """Tokens of a document by position, as FTS5 counts positions."""
    config = text_core.Config(*[part for item in options.items() for part in item])
    found: Positions = []
    for token, _start, _end, flags in text_core.tokens(config, text):
        if not flags & text_core.COLOCATED:
            found.append([])
        found[-1].append((token, flags))
    return found


def is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def fits(phrase: Phrase, place: int, token: str, flags: int, substring: bool) -> bool:
    """Whether a token of a document can be the one at a place of a phrase."""
    wanted = phrase.tokens[place]
    first, last = place == 0, place == len(phrase.tokens) - 1
    if first and flags & wanted.flags & text_core.CLUSTER and is_mark(wanted.text[0]):
        return wanted.text in token if last else token.endswith(wanted.text)
    if substring and flags & text_core.WORD and wanted.flags & text_core.WORD:
        if first and last:
            return wanted.text in token
        if first:
            return token.endswith(wanted.text)
        if last:
            return token.startswith(wanted.text)
    if last and phrase.prefix:
        return token.startswith(wanted.text)
    return token == wanted.text


def frequency(phrase: Phrase, document: Positions, substring: bool = False) -> int:
    """At how many positions of a document a phrase begins."""
    return sum(
        all(
            any(
                fits(phrase, place, token, flags, substring)
                for token, flags in document[start + place]
            )
            for place in range(len(phrase.tokens))
        )
        for start in range(len(document) - len(phrase.tokens) + 1)
    )


def matches(node: Node | None, columns: Sequence[Positions], substring: bool = False) -> bool:
    """Whether a row matches: each phrase inside one column, the tree over the row."""
    match node:
        case Phrase():
            return any(frequency(node, column, substring) for column in columns)
        case And():
            return all(matches(child, columns, substring) for child in node.children)
        case Or():
            return any(matches(child, columns, substring) for child in node.children)
        case Not():
            return matches(node.keep, columns, substring) and not matches(
                node.drop, columns, substring
            )
        case _:
            return False
