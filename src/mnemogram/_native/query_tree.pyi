# SPDX-License-Identifier: MIT
"""A query's tree: the tokenizer as queries use it, phrases, and the nodes that join them."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, final

Options = Mapping[str, str | int]
_Route = Literal["cjk", "fts5", "trigram", "stock_trigram", "like"]

WORD: int
CJK: int
CLUSTER: int
EMOJI: int
SINGLE: int
DEFAULT_OPTIONS: dict[str, str]
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

def tokenizer_for(options: Options | None = None) -> Tokenizer: ...
