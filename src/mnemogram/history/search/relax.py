# SPDX-License-Identifier: MIT
"""What a query's words weigh: the units of a relaxed search, and their evidence.

A question names what it is about and says much besides. Its words, bigrams and
clusters are looked up one by one; what is frequent carries little and costs much,
so the rarest are asked for and all of them are weighed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Final

from mnemogram._native import query as q
from mnemogram.bm25 import idf
from mnemogram.history.search.rank import Evidence, Statistics
from mnemogram.languages import (
    ARABIC_ENDINGS,
    ARABIC_PROCLITICS,
    ASKING,
    CHINESE_FUNCTION_CHARACTERS,
    COMMON_ARABIC_PROCLITICS,
    ENGLISH_ENDINGS,
    ENGLISH_FUNCTION_WORDS,
    ENGLISH_QUESTION_WORDS,
    JAPANESE_PARTICLES,
    KOREAN_ENDINGS,
    KOREAN_QUESTION_WORDS,
    UNSPACED_SCRIPTS_SPACE,
    VIETNAMESE_LETTERS,
    is_hangul,
)

__all__ = [
    "Relaxed",
    "Unit",
    "asks_several",
    "distinctive",
    "evidence_of",
    "lone_characters",
    "loses_diacritics",
    "marked",
    "nearest",
    "relax",
    "required",
    "title_needles",
    "units_of",
    "weights_of",
]

#: Postings a relaxed query may read: a share of the rows, and never fewer than this.
_POSTINGS_SHARE: Final = 0.02
_FEWEST_POSTINGS: Final = 20_000
_MOST_UNITS: Final = 48
_LEAST_UNITS: Final = 3
#: Weight of a word that only begins like the query's, and of phrases of two units.
_STEM_WEIGHT: Final = 0.5
_PAIR_WEIGHT: Final = 0.3
_RUN_WEIGHT: Final = 0.1
#: Vietnamese writes the syllables of a word apart: there a pair is as good as a word. Its
#: letters with horn or bar, and with a tone on top of another mark, are hardly anyone else's.
_SYLLABLE_PAIR_WEIGHT: Final = 0.8
#: Weight of the trigrams of words, and of clusters, beside the words themselves.
_GRAMS: Final = 0.7
_CLUSTER_GRAMS: Final = 1.5
#: Words of a query that are looked for near each other, and tokens between them.
_MOST_NEAR: Final = 8
_NEAR_TOKENS: Final = 16
_SHORTEST_STEM: Final = 4
_SHORTEST_CORE: Final = 3
_TRUNCATED: Final = 5
_TRUNCATED_SHARE: Final = 0.6
#: Characters of a script with clusters that are about a word.
_CLUSTERS_PER_WORD: Final = 4
#: Fewer words than this, and no function word, say nothing of their language.
_FEWEST_FOREIGN: Final = 4
#: Weight of a pair of Korean syllables by how many of them belong to an ending.
_ENDING_WORTH: Final = (1.0, 0.5, 0.25)
_LONGEST_ENDING: Final = max(map(len, KOREAN_ENDINGS))
#: Weight of a bigram that holds one, or only, characters that are mostly function words.
_FUNCTION_WEIGHT: Final = (1.0, 0.5, 0.25)


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, bigram or cluster pair of a query.

    Attributes:
        phrase: how it is looked up exactly.
        stems: prefixes that the same word's other forms have, looked up as prefixes.
        start, end: where it stands in the query's text.
        run: number of its run of touching units; a border between scripts ends one.
        single: one lone character, which says little.
        worth: how much of it belongs to a stem, 1.0 for all of it.
    """

    phrase: q.Phrase
    stems: tuple[q.Phrase, ...]
    start: int
    end: int
    run: int
    single: bool
    worth: float = 1.0


def _arabic_stems(word: str) -> list[str]:
    """Return the prefixes of an Arabic word's forms: its core behind the usual proclitics.

    Taken off is what the light stemmer of Larkey, Ballesteros and Connell (2002) takes, and
    the other proclitics of one letter, where more is left of the word.
    """
    core = word
    for clitic in ARABIC_PROCLITICS:
        least = _SHORTEST_CORE if len(clitic) > 1 else _SHORTEST_CORE + 1
        if word.startswith(clitic) and len(word) - len(clitic) >= least:
            core = word[len(clitic) :]
            break
    for ending in ARABIC_ENDINGS:
        if core.endswith(ending) and len(core) - len(ending) >= _SHORTEST_CORE:
            core = core[: -len(ending)]
            break
    return [core, *(clitic + core for clitic in COMMON_ARABIC_PROCLITICS)]


def stems_of(word: str, *, english: bool) -> list[str]:
    """Return the prefixes by which a word's inflected forms are found; none for a short one."""
    if len(word) >= _SHORTEST_STEM and all("\u0621" <= each <= "\u064a" for each in word):
        return _arabic_stems(word)
    stem = _stem_of(word, english=english)
    return [] if stem is None else [stem]


def _stem_of(word: str, *, english: bool) -> str | None:
    """Return the prefix that a word's inflected forms share, None where there is none.

    English endings are taken off. In other languages the first letters stand for the
    word: truncation does for many of them what a stemmer does (McNamee and Mayfield 2004).
    """
    if not word.isalpha():
        return None
    if english and word.isascii():
        for ending in ENGLISH_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                stem = word[: -len(ending)]
                return stem[:-1] if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] else stem
        return word if len(word) >= _SHORTEST_STEM else None
    if len(word) <= _SHORTEST_STEM:
        return None
    return word[: max(_TRUNCATED, round(len(word) * _TRUNCATED_SHARE))]


def _is_english(query: q.Query) -> bool:
    """Whether a query reads like English: it holds words that hold English sentences together."""
    tokens = {token.text for phrase in query.phrases for token in phrase.tokens}
    return not tokens.isdisjoint(ENGLISH_QUESTION_WORDS) or len(tokens) < _FEWEST_FOREIGN


def _is_function_character(character: str) -> bool:
    return character in CHINESE_FUNCTION_CHARACTERS or "\u3041" <= character <= "\u3096"  # hiragana


def substance(unit: Unit) -> float:
    """Return how much of a word a unit is likely to hold, 1.0 for all of it."""
    if unit.phrase.flags & q.WORD:
        return 1.0
    if unit.worth < 1.0:
        return unit.worth
    return _FUNCTION_WEIGHT[sum(map(_is_function_character, unit.phrase.tokens[0].text[:2]))]


def required(node: q.Node | None) -> Iterator[q.Phrase]:
    """The phrases that every text has to hold that matches a tree."""
    if isinstance(node, q.Phrase):
        yield node
    elif isinstance(node, q.And):
        for child in node.children:
            yield from required(child)


def units_of(query: q.Query) -> list[Unit]:
    """Cut a query's positive phrases into units, each once, in order."""
    units: list[Unit] = []
    seen: set[str] = set()
    english = _is_english(query)
    run = 0
    previous_end = -1
    previous_word = True
    for phrase in query.phrases:
        for token in phrase.tokens:
            word = bool(token.flags & q.WORD)
            if word or previous_word or token.start > previous_end:
                run += 1
            previous_word, previous_end = word, token.end
            if token.text in seen:
                continue
            seen.add(token.text)
            single = bool(token.flags & q.SINGLE) and not word
            exact = q.phrase(token.text, prefix=single, config=query.tokenizer.options)
            if exact is None:
                continue
            prefixes = stems_of(token.text, english=english) if word else []
            stems = (
                q.phrase(each, prefix=True, config=query.tokenizer.options) for each in prefixes
            )
            units.append(
                Unit(exact, tuple(filter(None, stems)), token.start, token.end, run, single)
            )
    return _without_endings(query, units)


def _without_endings(query: q.Query, units: list[Unit]) -> list[Unit]:
    """Let pairs of Korean syllables count less as far as they are particles and endings."""
    if not any(map(is_hangul, query.text)):
        return units
    weighed: list[Unit] = []
    for _, run in groupby(units, key=lambda unit: unit.run):
        members = list(run)
        start, end = members[0].start, members[-1].end
        stem = start + _stem_length(query.text[start:end])
        weighed += (
            replace(unit, worth=_ENDING_WORTH[min(2, max(0, unit.end - stem))])
            if unit.end > stem and len(members) > 1
            else unit
            for unit in members
        )
    return weighed


def _stem_length(word: str) -> int:
    """Return how many syllables of a Korean word stand before its endings; all for others."""
    if not is_hangul(word):
        return len(word)
    if word.startswith(KOREAN_QUESTION_WORDS):
        return 0
    for length in range(min(_LONGEST_ENDING, len(word) - 1), 0, -1):
        if len(word) - length >= (2 if length == 1 else 1) and word[-length:] in KOREAN_ENDINGS:
            return len(word) - length
    return len(word)


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A relaxed query.

    Attributes:
        expression: FTS5 expression, an OR of the units to ask for.
        weights: weight of each of its phrases, in order.
        counts: rows that hold each unit and stem that was counted; of a frequent one
            about how many.
    """

    expression: str
    weights: tuple[float, ...]
    counts: dict[q.Phrase, int]


def lone_characters(units: list[Unit]) -> frozenset[q.Phrase]:
    """Return the lone characters among units where there is more to go by.

    They are asked for when the rest finds nothing, and weigh in otherwise.
    """
    if all(unit.single for unit in units):
        return frozenset()
    return frozenset(unit.phrase for unit in units if unit.single)


def distinctive(units: list[Unit], counts: dict[q.Phrase, int]) -> frozenset[q.Phrase]:
    """Return what has to stand in a text that is to hold a part of a query.

    One that holds nothing but function words of it is about something else. Empty where a
    query is made of nothing else.
    """
    content = [unit for unit in units if unit.phrase.tokens[0].text not in ENGLISH_FUNCTION_WORDS]
    forms = {form for unit in content for form in (unit.phrase, *unit.stems)}
    return frozenset(forms and {*forms, *_lone_characters(counts)})


def _words_in(phrase: q.Phrase) -> int:
    """Return about how many words a phrase is, by how its scripts write words.

    What has spaces around it is one word where the script writes them (``cache-node``,
    Korean); of kanji, hiragana and Chinese two characters are about a word, a run of
    katakana is one, and of a script with clusters four.
    """
    if not phrase.flags & (q.CJK | q.CLUSTER):
        return 1
    clusters = sum(bool(token.flags & q.CLUSTER) for token in phrase.tokens)
    # A run of n clusters is n - 1 pairs.
    words = (clusters + 1) // _CLUSTERS_PER_WORD
    for kind, run in groupby(phrase.text, _kind_of):
        if kind == "pairs":
            words += len(list(run)) // 2
        elif kind:
            words += 1
    return words


def _kind_of(character: str) -> str:
    if "\u30a1" <= character <= "\u30ff" or "\uff66" <= character <= "\uff9f":
        return "katakana"
    if "\uac00" <= character <= "\ud7a3":
        return "hangul"
    if "\u3041" <= character <= "\u3096":
        return "pairs" if character not in JAPANESE_PARTICLES else ""
    if unicodedata.category(character) == "Lo" and character >= "\u3005":
        return "pairs"
    return "word" if character.isascii() and character.isalnum() else ""


def asks_several(query: q.Query) -> bool:
    """Whether a query names more than one thing, so that what holds some of them is of use.

    One word, and one term of a script that writes no spaces, are asked for as they stand;
    so is what is quoted or joined by operators.
    """
    if not query.plain:
        return False
    if len(query.phrases) > 1:
        return True
    return any(
        _words_in(phrase) > 1 or re.search(ASKING, phrase.text) is not None
        for phrase in query.phrases
        if phrase.flags & (q.CJK | q.CLUSTER)
    )


def _lone_characters(counts: dict[q.Phrase, int]) -> list[q.Phrase]:
    return [each for each in counts if each.prefix and len(each.text) == 1]


def marked(units: list[Unit], counts: dict[q.Phrase, int]) -> q.Matcher:
    """Return what marks the parts of a query in the texts found."""
    forms = (form for unit in units for form in (unit.stems or (unit.phrase,)))
    return q.compile(q.Or([*dict.fromkeys(forms), *_lone_characters(counts)]))


def _lone_subjects(units: list[Unit], counts: dict[q.Phrase, int]) -> Iterator[q.Phrase]:
    """Characters of bigrams that no text holds, where no other bigram covers them.

    In 蓍的别名是什么 the subject is one character, and 蓍的 may stand nowhere else.
    """
    covered: set[str] = set()
    for unit in units:
        if counts.get(unit.phrase):
            covered |= set(unit.phrase.tokens[0].text)
    for unit in units:
        if unit.single or counts.get(unit.phrase, 1) or not unit.phrase.flags & q.CJK:
            continue
        for character in unit.phrase.tokens[0].text:
            if character in covered or _is_function_character(character):
                continue
            covered.add(character)
            phrase = q.phrase(character, prefix=True, config=unit.phrase.tokenizer.options)
            if phrase is not None:
                yield phrase


def relax(
    units: list[Unit],
    rows: int,
    count: Callable[[q.Phrase], int],
    frequent: Callable[[list[q.Phrase], int], dict[q.Phrase, int]],
) -> Relaxed | None:
    """Choose the units to ask for; None where no row holds any.

    Args:
        rows: rows of the index.
        count: how many rows hold a phrase, of a frequent one about how many.
        frequent: those of some prefixes that far more than so many rows hold, with how
            many about; counting those would take long.
    """
    budget = max(_FEWEST_POSTINGS, int(rows * _POSTINGS_SHARE))
    counts: dict[q.Phrase, int] = {}
    asked: dict[q.Phrase, float] = {}
    units = units[: _MOST_UNITS * 2]
    alone = lone_characters(units)
    lone = {unit.phrase: substance(unit) for unit in units if unit.phrase in alone}
    for unit in units:
        if unit.phrase in lone:
            continue
        counts[unit.phrase] = count(unit.phrase)
        # A prefix is counted whole or not at all: not for what is frequent anyway.
        rare = unit.stems and counts[unit.phrase] <= budget // 2
        forms = unit.stems if rare else (unit.phrase,)
        for each in forms:
            asked[each] = max(substance(unit), asked.get(each, 0.0))
    for subject in _lone_subjects(units, counts):
        asked[subject] = 1.0
    prefixes = [each for each in (*asked, *lone) if each not in counts]
    counts |= frequent(prefixes, budget)
    counts |= {each: count(each) for each in prefixes if each not in counts}
    for unit in units:
        # A stem that begins too much would leave its rare word unasked.
        if counts.get(unit.phrase) and any(
            counts.get(each, 0) > budget // 2 for each in unit.stems
        ):
            asked.setdefault(unit.phrase, substance(unit))
    if not any(counts[each] for each in asked):
        asked |= lone
    rarest = sorted((each for each in asked if counts[each]), key=counts.__getitem__)
    chosen: dict[q.Phrase, float] = {}
    for phrase in rarest[:_MOST_UNITS]:
        frequency = counts[phrase]
        budget -= frequency
        if budget < 0 and len(chosen) >= _LEAST_UNITS:
            break
        chosen[phrase] = asked[phrase] * idf(rows, frequency)
    if not chosen:
        return None
    nodes: list[q.Node] = list(chosen)
    expression = q.to_fts5(q.Or(nodes) if len(nodes) > 1 else nodes[0])
    return None if expression is None else Relaxed(expression, tuple(chosen.values()), counts)


def weights_of(units: list[Unit], counts: dict[q.Phrase, int]) -> dict[q.Phrase, float]:
    """Return what to look for in texts, and how much each counts beside its rarity.

    Args:
        counts: what was counted in an index; its lone characters are looked for too.
    """
    weights: dict[q.Phrase, float] = {}
    for unit in units[:_MOST_UNITS]:
        weight = substance(unit) * (1.0 - _STEM_WEIGHT if unit.stems else 1.0)
        weights[unit.phrase] = max(weight, weights.get(unit.phrase, 0.0))
        for each in unit.stems:
            weights.setdefault(each, substance(unit) * _STEM_WEIGHT)
    return weights | dict.fromkeys(_lone_characters(counts), 1.0)


def _neighbours(query: q.Query, units: list[Unit]) -> Iterator[tuple[str, Unit, Unit]]:
    """Text of each pair of units that touch: three characters of a run, or two words."""
    for left, right in pairwise(units):
        between = query.text[left.end : right.start] if left.end <= right.start else ""
        if left.run == right.run or between.strip() == "":
            yield query.text[left.start : right.end], left, right


def _as_typed(query: q.Query) -> Iterator[q.Phrase]:
    """The query as it was typed, as a phrase: also without the spaces that CJK needs none of."""
    if not query.plain:
        return
    for text in dict.fromkeys((query.text, re.sub(UNSPACED_SCRIPTS_SPACE, "", query.text))):
        phrase = q.phrase(text, config=query.tokenizer.options)
        if phrase is not None:
            yield phrase


def nearest(query: q.Query) -> Iterator[str]:
    """FTS5 expressions of what is nearest to a query of several words: near, and as typed."""
    if not query.plain or len(query.phrases) > _MOST_NEAR:
        return
    texts = [q.to_fts5(each) for each in required(query.root)]
    if len(texts) > 1 and None not in texts:
        yield f"NEAR({' '.join(map(str, texts))}, {_NEAR_TOKENS})"
    for phrase in _as_typed(query):
        expression = q.to_fts5(phrase) if len(phrase.tokens) > 1 else None
        if expression is not None:
            yield expression


def title_needles(units: list[Unit]) -> list[str]:
    """Return folded texts one of which a title holds that says something of a query."""
    return [
        each.phrase.tokens[0].text
        for each in units[:_MOST_UNITS]
        if substance(each) == 1.0 and each.phrase.tokens[0].text not in ENGLISH_FUNCTION_WORDS
    ]


def loses_diacritics(query: q.Query, units: list[Unit]) -> bool:
    """Whether folding takes off what may distinguish a word from others: hổ, not hồ."""
    options = {**query.tokenizer.options, "remove_diacritics": "0"}
    for unit in units:
        text = query.text[unit.start : unit.end]
        if unit.phrase.flags & q.WORD and not text.isascii():
            spelled = q.phrase(text, config=options)
            if spelled is not None and spelled.tokens[0].text != unit.phrase.tokens[0].text:
                return True
    return False


def evidence_of(
    query: q.Query,
    units: list[Unit],
    counts: dict[q.Phrase, int],
    statistics: Statistics,
    *,
    substring: bool = False,
    grams: bool = False,
) -> Evidence:
    """Return what speaks for a text: units, pairs of them, and whole runs, by rarity.

    Args:
        grams: whether words also count by their trigrams.
    """
    rows = statistics.rows
    weighted: list[tuple[q.Node, float]] = []
    rarity: dict[q.Phrase, float] = {}
    for unit in units:
        if unit.single and counts and unit.phrase not in counts:
            rarity[unit.phrase] = 0.0  # left out of the query, so of its evidence
            continue
        weight = idf(rows, counts.get(unit.phrase, 0)) * substance(unit)
        rarity[unit.phrase] = weight
        counted = [each for each in unit.stems if each in counts]
        if counted:
            # One of several forms is as rare as all of them together.
            stem = idf(rows, sum(counts[each] for each in counted))
            weighted.append((unit.phrase, weight * (1.0 - _STEM_WEIGHT)))
            weighted += [(each, stem * _STEM_WEIGHT) for each in counted if counts[each]]
            continue
        weighted.append((unit.phrase, weight))
    for lone in _lone_characters(counts):
        if lone not in rarity:
            weighted.append((lone, idf(rows, counts[lone])))
    options = query.tokenizer.options
    syllables = re.search(VIETNAMESE_LETTERS, unicodedata.normalize("NFC", query.text))
    pair_weight = _SYLLABLE_PAIR_WEIGHT if syllables else _PAIR_WEIGHT
    for text, left, right in _neighbours(query, units):
        pair = q.phrase(text, config=options)
        if pair is not None:
            weighted.append((pair, pair_weight * (rarity[left.phrase] + rarity[right.phrase]) / 2))
    runs: dict[int, list[Unit]] = {}
    for unit in units:
        runs.setdefault(unit.run, []).append(unit)
    for members in runs.values():
        if len(members) > 2:
            whole = q.phrase(query.text[members[0].start : members[-1].end], config=options)
            if whole is not None:
                weighted.append(
                    (whole, _RUN_WEIGHT * sum(rarity[each.phrase] for each in members) / 2)
                )
    grams_weight = sum(
        rarity[unit.phrase] * (_CLUSTER_GRAMS if unit.phrase.flags & q.CLUSTER else _GRAMS)
        for unit in units
        if grams and unit.phrase.flags & (q.WORD | q.CLUSTER)
    )
    forms: dict[q.Phrase, int] = {}
    for number, unit in enumerate(units):
        for each in (unit.phrase, *unit.stems):
            forms.setdefault(each, number)
    return Evidence(
        weighted,
        statistics.average,
        substring=substring,
        units=forms,
        typed=_as_typed(query) if len(units) > 1 else (),
        spellings={unit.phrase: query.text[unit.start : unit.end] for unit in units},
        grams_of=query.text,
        grams_by={**options, "remove_diacritics": "0"},
        grams_weight=grams_weight,
    )
