# SPDX-License-Identifier: MIT
"""Queries: any string to a tree, the tree to FTS5 expressions and to a matcher of texts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, final

_Route = Literal["cjk", "fts5", "trigram", "stock_trigram", "like"]
_Options = Mapping[str, str | int]

WORD: int
CJK: int
CLUSTER: int
EMOJI: int
SINGLE: int
DEFAULT_OPTIONS: dict[str, str]
MAX_CHARS: int
MAX_TERMS: int
MAX_PHRASE_TOKENS: int
MAX_TOKENS: int
MAX_DEPTH: int
MAX_TRIGRAMS: int

@final
class Tokenizer:
    options: dict[str, str]
    def __new__(cls, options: dict[str, str]) -> Tokenizer: ...

@final
class Token:
    text: str
    flags: int
    start: int
    end: int
    def as_tuple(self) -> tuple[str, int, int, int]: ...

class Node:
    def key(self) -> tuple[object, ...]: ...

@final
class Phrase(Node):
    __match_args__: ClassVar[tuple[str, ...]]
    text: str
    tokens: tuple[Token, ...]
    prefix: bool
    star: bool
    quoted: bool
    start: int
    end: int
    tokenizer: Tokenizer
    @property
    def flags(self) -> int: ...
    @property
    def gapless(self) -> bool: ...
    def servable(self, route: _Route) -> bool: ...

@final
class And(Node):
    __match_args__: ClassVar[tuple[str, ...]]
    children: tuple[Node, ...]
    def __new__(cls, children: Iterable[Node]) -> And: ...

@final
class Or(Node):
    __match_args__: ClassVar[tuple[str, ...]]
    children: tuple[Node, ...]
    def __new__(cls, children: Iterable[Node]) -> Or: ...

@final
class Not(Node):
    __match_args__: ClassVar[tuple[str, ...]]
    keep: Node
    drop: Node
    def __new__(cls, keep: Node, drop: Node) -> Not: ...

@final
class Query:
    text: str
    root: Node | None
    phrases: tuple[Phrase, ...]
    negative: tuple[Phrase, ...]
    explicit_operators: bool
    notes: tuple[str, ...]
    truncated: bool
    plain: bool
    tokenizer: Tokenizer
    def servable(self, route: _Route) -> bool: ...

@final
class Matcher:
    phrases: tuple[Phrase, ...]
    substring: bool
    adjacent: bool
    def matches(self, *columns: str | bytes | None, deadline: float | None = None) -> bool: ...
    def occurrences(
        self, text: str | bytes, *, limit: int = 10_000, deadline: float | None = None
    ) -> list[tuple[int, int, int]]: ...
    def count(
        self, text: str | bytes, *, deadline: float | None = None
    ) -> tuple[list[int], int]: ...

@final
class Scorer:
    def __new__(
        cls,
        matcher: Matcher,
        weights: Sequence[float],
        columns: Sequence[float],
        average: float,
        *,
        k: float,
        b: float,
        grams_of: str = "",
        grams_by: Tokenizer | None = None,
        grams_weight: float = 0.0,
    ) -> Scorer: ...
    def add(self, *columns: str | bytes | None, deadline: float | None = None) -> int: ...
    def parts(self, row: int) -> dict[int, float]: ...
    def scores(self) -> list[float]: ...

def parse(text: str, config: _Options | None = None) -> Query: ...
def phrase(text: str, *, prefix: bool = False, config: _Options | None = None) -> Phrase | None: ...
def compile(
    query: Query | Node | None, *, substring: bool = False, adjacent: bool = False
) -> Matcher: ...
def to_fts5(
    query: Query | Node | None,
    route: Literal["cjk", "fts5"] = "cjk",
    *,
    superset: bool = False,
    unasked: Iterable[Phrase] = (),
) -> str | None: ...
def to_trigram(query: Query | Node | None, *, stock: bool = False) -> str | None: ...
def tokenizer_for(options: _Options | None = None) -> Tokenizer: ...
