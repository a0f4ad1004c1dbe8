# SPDX-License-Identifier: MIT
"""The nearest indexed words, where nothing matches a query: offered, never searched.

Words are asked for by their neighbours: each text that is one edit away (a letter more, less
or other, or two exchanged) is looked up in the index, which costs the same in a store of any
size. Of Chinese and Japanese, a pair of characters is a word, and what stands beside each of
them tells its neighbours; of Korean, a letter is a jamo.
"""

from __future__ import annotations

import contextlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import Any, Final, Literal

from mnemogram._native import query as q
from mnemogram.errors import QueryTimeout
from mnemogram.history.index import state as indexes
from mnemogram.history.index.damage import DAMAGE
from mnemogram.history.search.searcher import WORD_ROUTES, IndexDamaged, Searcher
from mnemogram.languages import is_hangul
from mnemogram.sqlite.database import share_of_deadline

__all__ = ["nearest_words"]

#: Share of the remaining time.
_SHARE: Final = 0.3
#: Words of a query that are looked at, and words offered for each and in all.
_MOST_WORDS: Final = 4
_MOST_OF_ONE: Final = 3
_MOST_OFFERED: Final = 5
#: Letters of a word: shorter ones have too many neighbours, longer ones are no words.
_SHORTEST: Final = 3
_LONGEST: Final = 32
#: Texts that an index is asked for at once.
_AT_ONCE: Final = 32
#: Words that turn out to be indexed whose messages are looked for, and messages of each.
_MOST_COUNTED: Final = 16
_MOST_ROWS: Final = 50
#: Messages in which the neighbours of a character are looked for.
_MOST_READ: Final = 200

_JAMO: Final = (0x1100, 19), (0x1161, 21), (0x11A8, 27)


def nearest_words(searcher: Searcher, query: q.Query) -> tuple[str, ...]:
    """Return the indexed words that are one edit away from those of a query, best first.

    Only of words that stand nowhere, and only words that the reader may see. What the time
    allows; nothing where no index of words can be asked.
    """
    connection = searcher.connection
    offered: dict[str, None] = {}
    with contextlib.suppress(IndexDamaged):
        for name, route in WORD_ROUTES:
            state = searcher.usable(name)
            if state is None:
                continue
            asking = _Asking(searcher, state, query)
            try:
                with share_of_deadline(connection, _SHARE):
                    for word in islice(_missing(searcher, state, route, query), _MOST_WORDS):
                        offered |= dict.fromkeys(islice(asking.near(*word), _MOST_OF_ONE))
            except QueryTimeout:
                connection.check_deadline()
            except DAMAGE as error:
                searcher.blame(state.name, asking.asked, error)
            break
    return tuple(islice(offered, _MOST_OFFERED))


def _missing(
    searcher: Searcher, state: indexes.IndexState, route: Literal["cjk", "fts5"], query: q.Query
) -> Iterator[tuple[str, bool]]:
    """Words of a query that stand nowhere in an index, and whether it is one with spaces around."""
    for _, run in groupby(searcher.units, key=lambda unit: unit.run):
        members = list(run)
        flags = members[0].phrase.flags
        if not members[0].phrase.servable(route):
            continue
        if flags & q.WORD:
            for unit in members:
                word = unit.phrase.tokens[0].text
                enough = _SHORTEST <= len(word) <= _LONGEST and any(map(str.isalpha, word))
                if enough and not searcher.count(state.name, unit.phrase):
                    yield word, True
        elif flags & q.CJK and len(members) == 1 and not members[0].single:
            # Of a longer run some pair is elsewhere, or its characters are asked for.
            unit = members[0]
            text = unicodedata.normalize("NFC", query.text[unit.start : unit.end])
            if len(text) == 2 and not searcher.count(state.name, unit.phrase):
                yield text, False


# --- edits -----------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _block(number: int) -> tuple[str, ...]:
    characters = map(chr, range(number << 7, (number + 1) << 7))
    kinds = ("Ll", "Lo", "Mn", "Mc")
    return tuple(each for each in characters if unicodedata.category(each) in kinds)


def _letters(word: str) -> list[str]:
    """Return the letters of a word's scripts, as far as they are neighbours in Unicode."""
    blocks = dict.fromkeys(ord(each) >> 7 for each in word if each.isalpha())
    return [letter for number in blocks for letter in _block(number)]


def _exchanged(word: str) -> Iterator[str]:
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _edited(word: str) -> Iterator[str]:
    """Every text one edit away, those with two letters exchanged first; some twice."""
    letters = _letters(word)
    yield from _exchanged(word)
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]
    for place in range(len(word) + 1):
        yield from (word[:place] + each + word[place:] for each in letters)
    for place in range(len(word)):
        yield from (word[:place] + each + word[place + 1 :] for each in letters)


def _syllables(syllable: str) -> Iterator[str]:
    """Every Hangul syllable that has one jamo more, less or other; none for another character."""
    jamo = unicodedata.normalize("NFD", syllable)
    if len(syllable) != 1 or not 2 <= len(jamo) <= 3:
        return
    for place, (first, count) in enumerate(_JAMO):
        others = [chr(first + each) for each in range(count)]
        for other in [*others, ""] if place == 2 else others:
            made = unicodedata.normalize("NFC", jamo[:place] + other + jamo[place + 1 :])
            if made != syllable:
                yield made


# --- asking ----------------------------------------------------------------------------


class _Asking:
    """Looks words up in one index."""

    def __init__(self, searcher: Searcher, state: indexes.IndexState, query: q.Query) -> None:
        self._searcher = searcher
        self._table = state.name
        self._options = query.tokenizer.options
        #: The expression that the index was asked last.
        self.asked = ""

    def near(self, word: str, spaced: bool) -> Iterator[str]:
        """Words near another, those with two letters exchanged and the frequent ones first."""
        exchanged = set(_exchanged(word))
        edited: Iterable[str] = _edited(word)
        if not spaced:
            edited = [*exchanged]
            if any(self._indexed(iter(edited))):
                pass  # the likeliest mistake
            elif is_hangul(word):
                edited += [each + word[1] for each in _syllables(word[0])]
                edited += [word[0] + each for each in _syllables(word[1])]
            else:
                edited += self._beside(word)
        texts = (each for each in dict.fromkeys(edited) if each != word and len(each) > 1)
        found = [
            (phrase, spelled, count)
            for phrase in islice(self._indexed(texts), _MOST_COUNTED)
            for spelled, count in self._seen(phrase)
        ]
        found.sort(
            key=lambda each: (
                each[0].text not in exchanged,
                spaced and each[0].text[0] != word[0],
                -each[2],
            )
        )
        yield from dict.fromkeys(spelled for _, spelled, _ in found)

    def _indexed(self, texts: Iterator[str]) -> Iterator[q.Phrase]:
        """Those of some texts that are words of the index."""
        while some := [*islice(texts, _AT_ONCE)]:
            made = (q.phrase(each, config=self._options) for each in some)
            yield from self._held([each for each in made if each and len(each.tokens) == 1])

    def _held(self, phrases: Sequence[q.Phrase]) -> Iterator[q.Phrase]:
        if not phrases or not self._holds(phrases):
            return
        if len(phrases) == 1:
            yield phrases[0]
            return
        middle = len(phrases) // 2
        yield from self._held(phrases[:middle])
        yield from self._held(phrases[middle:])

    def _holds(self, phrases: Sequence[q.Phrase]) -> bool:
        self._searcher.connection.check_deadline()
        self.asked = q.to_fts5(q.Or(list(phrases))) or '""'
        return bool(
            self._searcher.connection.one(
                f"SELECT 1 FROM {self._table} WHERE {self._table} MATCH ? LIMIT 1", (self.asked,)
            )
        )

    def _rows(self, phrase: q.Phrase, columns: str, most: int) -> Iterator[Sequence[Any]]:
        """The newest messages with a phrase that the reader may see."""
        where, bindings = self._searcher.visibility.predicate()
        self.asked = q.to_fts5(phrase) or '""'
        return self._searcher.connection.execute(
            f"SELECT {columns} FROM {self._table}"
            f" CROSS JOIN messages AS m ON m.id = {self._table}.rowid"
            " CROSS JOIN sessions AS s ON s.id = m.session_id"
            f" WHERE {self._table} MATCH :expression AND {where}"
            f" ORDER BY {self._table}.rowid DESC LIMIT :most",
            {**bindings, "expression": self.asked, "most": most},
        )

    def _seen(self, phrase: q.Phrase) -> Iterator[tuple[str, int]]:
        """A word as it is spelled where it was said last, and in how many messages it stands."""
        count = sum(1 for _ in self._rows(phrase, "m.id", _MOST_ROWS))
        matcher = q.compile(phrase)
        for columns in self._rows(phrase, "m.content, m.tool_name, m.tool_calls", 1):
            for text in filter(None, columns):
                limit = self._searcher.connection.deadline_at
                for _, start, end in matcher.occurrences(text, limit=1, deadline=limit):
                    spelled, folded = text[start:end], phrase.tokens[0].text
                    yield (folded if spelled.lower() == folded else spelled), count
                    return

    def _beside(self, pair: str) -> list[str]:
        """Pairs of one of two characters and what stands at its side, the frequent ones first."""
        pairs: Counter[str] = Counter()
        for place, character in enumerate(pair):
            phrase = q.phrase(character, prefix=True, config=self._options)
            if phrase is None:
                continue
            matcher = q.compile(phrase)
            for (text,) in self._rows(phrase, "m.content", _MOST_READ):
                limit = self._searcher.connection.deadline_at
                for _, start, _ in matcher.occurrences(text, limit=20, deadline=limit):
                    near = text[start : start + 2] if place == 0 else text[max(0, start - 1) :][:2]
                    made = q.phrase(near, config=self._options) if len(near) == 2 else None
                    if made is not None and len(made.tokens) == 1 and made.flags & q.CJK:
                        pairs[near] += 1
        return [each for each, _ in pairs.most_common(_MOST_COUNTED)]
