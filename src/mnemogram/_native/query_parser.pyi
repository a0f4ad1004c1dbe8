# SPDX-License-Identifier: MIT
"""From any string to a tree."""

from mnemogram._native.query_tree import Options, Phrase, Query

MAX_CHARS: int
MAX_TERMS: int
MAX_PHRASE_TOKENS: int
MAX_TOKENS: int
MAX_DEPTH: int

def parse(text: str, config: Options | None = None) -> Query: ...
def phrase(text: str, *, prefix: bool = False, config: Options | None = None) -> Phrase | None: ...
