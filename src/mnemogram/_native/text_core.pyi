# SPDX-License-Identifier: MIT
from typing import Final

RULES_VERSION: Final[int]
UNICODE_VERSION: Final[str]

DOCUMENT: Final[int]
QUERY: Final[int]
UNITS: Final[int]

COLOCATED: Final[int]
WORD: Final[int]
CJK: Final[int]
CLUSTER: Final[int]
EMOJI: Final[int]
SINGLE: Final[int]

class Config:
    def __init__(self, *arguments: str) -> None: ...
    @property
    def arguments(self) -> tuple[str, ...]: ...

def tokens(
    config: Config, text: str | bytes, mode: int = ...
) -> list[tuple[str, int, int, int]]: ...
def trigrams(config: Config, text: str | bytes) -> list[tuple[str, int, int, int]]: ...
