# SPDX-License-Identifier: MIT
"""Words that carry no topic, as the tokenizer cuts them.

Used to drop terms from a query while others are left, and to see that a message
("are you there?") has no topic at all. A missing word costs some noise.
"""

from __future__ import annotations

from typing import Final

from mnemogram.languages import TOPICLESS_HAN, TOPICLESS_WORDS
from mnemogram.text import STORE_OPTIONS, tokenize

__all__ = ["carries_topic", "names_nothing"]

_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz_")


#: What may stand around a word without saying more.
_PUNCTUATION: Final = frozenset(".,;:!?'\"…·、。，；：！？「」『』“”‘’()（）")


def _is_hiragana(character: str) -> bool:
    return "\u3041" <= character <= "\u309f"


def carries_topic(term: str) -> bool:
    """Return whether a term says what a text is about, rather than holding it together.

    Args:
        term: a token of the text core, folded.
    """
    if term in TOPICLESS_WORDS:
        return False
    if len(term) == 1:
        return not (term in _LETTERS or term in TOPICLESS_HAN or _is_hiragana(term))
    if all(map(_is_hiragana, term)):  # particles, endings and auxiliaries
        return False
    return not all(each in TOPICLESS_HAN for each in term)


def names_nothing(name: str) -> bool:
    """Return whether a name is nothing but function words: ``it``, ``那个``, ``지금``.

    Stricter than :func:`carries_topic`, for names are made of the same letters: capitals
    (``IT``, ``May``, ``C``), symbols (``c++``), several hiragana (``いずみ``) and pairs of Han
    that are no listed word (``明明``) may be one.
    """
    end = 0
    found = False
    for token in tokenize(name, query=True, **STORE_OPTIONS):
        written = name[token.start : token.end]
        if written != written.lower() or _says_more(name[end : token.start]):
            return False
        if token.text not in TOPICLESS_WORDS and (len(token.text) > 1 or carries_topic(token.text)):
            return False
        end = token.end
        found = True
    return found and not _says_more(name[end:])


def _says_more(between: str) -> bool:
    return any(not each.isspace() and each not in _PUNCTUATION for each in between)
