# SPDX-License-Identifier: MIT
"""bm25s over words as each language's users would cut them.

Chinese by jieba's search mode, Thai by PyThaiNLP's dictionary, languages that Snowball
knows by words and its stems, other languages by words; Japanese and Korean by bigrams of
each run, since their dictionaries are packages of a hundred megabytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from importlib import metadata

import bm25s  # type: ignore[import-untyped]
import numpy

from bench.data import LabelledSet
from bench.quality.engines import Found

_STEMMERS = {
    "ar": "arabic", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "fr": "french", "hi": "hindi", "it": "italian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "tr": "turkish",
}  # fmt: skip
_RUN = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f]+|(?:(?![\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f])[\\w\u0300-\u036f"
    "\u064b-\u065f\u0900-\u097f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])+"
)
_CJK = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]")


def words(text: str) -> list[str]:
    """Return the runs of word characters in lower case; a CJK run is a word."""
    return [each.lower() for each in _RUN.findall(unicodedata.normalize("NFKC", text))]


def _bigrams(text: str) -> list[str]:
    cut: list[str] = []
    for word in words(text):
        if len(word) > 1 and _CJK.match(word):
            cut.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            cut.append(word)
    return cut


def cutter(language: str) -> tuple[Callable[[str], list[str]], dict[str, str]]:
    """Return the function that cuts texts of a language, and versions of what it uses."""
    if language == "zh":
        import jieba  # type: ignore[import-untyped]

        jieba.setLogLevel("WARNING")

        def by_jieba(text: str) -> list[str]:
            cut: list[str] = []
            for word in words(text):
                cut.extend(jieba.cut_for_search(word) if _CJK.match(word) else [word])
            return cut

        return by_jieba, {"jieba": metadata.version("jieba")}
    if language == "th":
        from pythainlp.tokenize import word_tokenize

        def by_pythainlp(text: str) -> list[str]:
            cut = word_tokenize(text.lower(), engine="newmm", keep_whitespace=False)
            return [each for each in cut if any(map(str.isalnum, each))]

        return by_pythainlp, {"pythainlp": metadata.version("pythainlp")}
    if language in _STEMMERS:
        import Stemmer  # type: ignore[import-not-found]

        stemmer = Stemmer.Stemmer(_STEMMERS[language])
        return (lambda text: stemmer.stemWords(_bigrams(text))), {
            "PyStemmer": metadata.version("PyStemmer")
        }
    return _bigrams, {}


class Bm25s:
    """One bm25s index."""

    def __init__(self, labelled: LabelledSet) -> None:
        self._cut, self._versions = cutter(labelled.language)
        self._found: list[Found] = []
        cut: list[list[str]] = []
        for dialogue in labelled.dialogues:
            for each in dialogue.messages:
                self._found.append(Found(dialogue.id, each.id))
                cut.append(self._cut(each.searchable()))
        self._known = {token for tokens in cut for token in tokens}
        self._index = bm25s.BM25()
        self._index.index(cut, show_progress=False)

    def search(self, text: str, limit: int) -> tuple[list[Found], str]:
        """Return the messages with the best scores above zero."""
        tokens = [each for each in self._cut(text) if each in self._known]
        if not tokens:
            return [], "empty"
        scores = self._index.get_scores(tokens)
        order = numpy.argsort(-scores, kind="stable")[:limit]
        return [self._found[i] for i in order if scores[i] > 0], "bm25s"

    def versions(self) -> dict[str, str]:
        """Return the versions of bm25s and of what cut the texts."""
        return {"bm25s": metadata.version("bm25s"), **self._versions}


def build(labelled: LabelledSet, variant: str) -> Bm25s:
    """Index a set."""
    return Bm25s(labelled)
