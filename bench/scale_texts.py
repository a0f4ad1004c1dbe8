# SPDX-License-Identifier: MIT
"""Made-up conversations of any number, the same for the same seed.

Words have a Zipf-Mandelbrot distribution in a vocabulary drawn once for each language:
Chinese words of one to three characters whose characters are themselves unevenly frequent,
Japanese words with kana between them, Korean words with particles, English-like words with
identifiers, paths and numbers among them. Some terms are planted at known rates, so that
"rare" and "common" mean the same at every size.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from mnemogram import Message, Session

__all__ = ["PLANTED", "VERSION", "Conversation", "conversations", "sentences"]

#: Another version makes other texts; part of the name of a cached database.
VERSION: Final = 1

#: Term: share of the messages it is put into (at least 20 of them).
PLANTED: Final = {
    "鹈鹕": 0.00002, "zymurgy": 0.00002, "두루미": 0.00002, "瑠璃鶲": 0.00002,
    "预约": 0.015, "invoice": 0.015, "会議室": 0.012, "예약": 0.012,
    "今天": 0.12, "update": 0.12, "部署": 0.10,
    "鼹": 0.00005, "蟹": 0.001, "茶": 0.006,
}  # fmt: skip

Conversation = tuple[Session, list[Message]]

_TEMPLATES: Final = {
    "zh": (
        "我{}的{}已经{}了，{}{}要等{}才能{}。",
        "{}{}里的{}是{}吗？请把{}{}发给我。",
        "关于{}，{}说{}{}没有问题，但是{}还要再{}。",
        "把{}改成{}，然后在{}{}上试一次，不行就{}。",
        "{}之后再看{}{}，如果{}还在，就按{}处理。",
    ),
    "ja": (
        "{}の{}は{}でした。{}についても{}してください。",
        "{}を{}したいのですが、{}が{}になります。",
        "昨日の{}で{}と言われたので、{}の{}を確認しました。",
    ),
    "ko": (
        "{}은 {}에서 {}까지 {}입니다.",
        "{}를 {}했더니 {}가 {} 나왔어요.",
        "다음 주 {} {}에 {}을 보내 주세요.",
    ),
    "en": (
        "The {} of the {} was {} after we changed {} in {}.",
        "Could you {} the {} and {} it with {} before {}?",
        "I tried {} but {} still says {}; the {} is {}.",
        "Please {} {} to {} and keep the {} {}.",
    ),
}
_SHARES: Final = (("zh", 45), ("ja", 15), ("ko", 10), ("en", 24), ("tool", 6))
_SYLLABLE_LIST: Final = (
    "ba be bi bo co da de di do en fa fi ga ge in ka ke ki la le li lo ma me mi mo na ne ni no "
    "pa pe po ra re ri ro sa se si so ta te ti to ul un va ve vi wa we zo"
)
_SYLLABLES: Final = _SYLLABLE_LIST.split()
_IDENTIFIERS: Final = ("{}_{}", "src/{}/{}.py", "{}.{}()", "{}-{}", "ERR_{}_{}")
_FIRST: Final = datetime(2024, 1, 1, tzinfo=timezone.utc)
_DRAWN_AT_ONCE: Final = 200_000


class _Vocabulary(NamedTuple):
    words: list[str]
    cumulative: list[float]

    def draw(self, rng: random.Random) -> Iterator[str]:
        while True:
            yield from rng.choices(self.words, cum_weights=self.cumulative, k=_DRAWN_AT_ONCE)


def _zipf(words: list[str], exponent: float = 1.05, shift: float = 2.7) -> _Vocabulary:
    weights = (1 / (rank + shift) ** exponent for rank in range(1, len(words) + 1))
    return _Vocabulary(words, list(accumulate(weights)))


def _made_of(
    rng: random.Random, parts: Sequence[str], lengths: Sequence[int], count: int
) -> list[str]:
    pool = _zipf(list(parts), 0.9, 12.0)
    made: dict[str, None] = {}
    while len(made) < count:
        length = rng.choice(lengths)
        made["".join(rng.choices(pool.words, cum_weights=pool.cumulative, k=length))] = None
    return list(made)


def _vocabularies(rng: random.Random) -> dict[str, _Vocabulary]:
    planted = set("".join(PLANTED))
    han = [chr(cp) for cp in range(0x4E00, 0x9FA6) if chr(cp) not in planted]
    hangul = [chr(cp) for cp in range(0xAC00, 0xD7A4) if chr(cp) not in planted]
    rng.shuffle(han)
    rng.shuffle(hangul)
    katakana = [chr(cp) for cp in range(0x30A2, 0x30F0)]
    zh = _made_of(rng, han[:3500], (1, 2, 2, 2, 2, 3), 40_000)
    ja = _made_of(rng, han[2000:4500], (1, 2, 2), 15_000)
    ja += _made_of(rng, katakana, (3, 4, 5), 5_000)
    rng.shuffle(ja)
    ko = _made_of(rng, hangul[:1200], (2, 2, 3), 25_000)
    en = _made_of(rng, _SYLLABLES, (1, 2, 2, 3, 3, 4), 40_000)
    names = [rng.choice(_IDENTIFIERS).format(*rng.sample(en, 2)) for _ in range(20_000)]
    en = [word for pair in zip(en[:20_000], names, strict=True) for word in pair] + en[20_000:]
    return {"zh": _zipf(zh), "ja": _zipf(ja), "ko": _zipf(ko), "en": _zipf(en)}


def sentences(seed: int, count: int) -> list[str]:
    """Return questions in words of the same vocabulary, Chinese and English in turn."""
    rng = random.Random(f"sentences/{seed}")
    words = {
        language: each.draw(rng)
        for language, each in _vocabularies(random.Random(f"vocabulary/{seed}")).items()
    }
    forms = {
        "zh": "我上次说的{}和{}是什么时候{}的？",
        "en": "When did we decide to {} the {} for {}?",
    }
    made = []
    for number in range(count):
        language = "en" if number % 2 else "zh"
        form = forms[language]
        made.append(form.format(*(next(words[language]) for _ in range(form.count("{}")))))
    return made


def conversations(seed: int, messages: int, given: Sequence[str] = ()) -> Iterator[Conversation]:
    """Make conversations that hold a number of messages together.

    Args:
        seed: the same seed makes the same texts.
        given: texts to put together anew, one to three to a message, in place of
            templates and made-up words.
        messages: how many in all, a minute apart; about forty to a session, and one
            session that holds a hundredth of them.
    """
    rng = random.Random(f"conversations/{seed}")
    vocabularies = _vocabularies(random.Random(f"vocabulary/{seed}"))
    words = {language: each.draw(rng) for language, each in vocabularies.items()}
    languages = [language for language, share in _SHARES for _ in range(share)]
    rates = {term: max(rate, 20 / messages) for term, rate in PLANTED.items()}
    made = number = 0
    while made < messages:
        number += 1
        size = messages // 100 if number == 3 else min(400, 2 + int(rng.expovariate(1 / 38)))
        size = min(size, messages - made)
        listed: list[Message] = []
        for place in range(size):
            language = rng.choice(languages)
            moment = _FIRST + timedelta(minutes=made + place)
            if language == "tool":
                listed.append(_tool_message(rng, words["en"], words["zh"], place, moment))
                continue
            parts = []
            for _ in range(rng.choice((1, 1, 2, 2, 3))):
                if given:
                    parts.append(rng.choice(given))
                    continue
                form = rng.choice(_TEMPLATES[language])
                drawn = words[language]
                parts.append(form.format(*[next(drawn) for _ in range(form.count("{}"))]))
            for term, rate in rates.items():
                if rng.random() < rate:
                    parts.insert(rng.randint(0, len(parts)), term)
            text = (" " if language in ("en", "ko") else "，").join(parts)
            role: Literal["user", "assistant"] = "assistant" if place % 2 else "user"
            listed.append(Message(role, text, uid=str(place), timestamp=moment))
        made += size
        yield Session(f"s{number}", title=f"{next(words['en'])} {number}"), listed


def _tool_message(
    rng: random.Random, en: Iterator[str], zh: Iterator[str], place: int, moment: datetime
) -> Message:
    result = {next(en): next(zh), "status": "ok", "id": rng.randrange(10**9), "note": next(en)}
    return Message(
        "tool",
        json.dumps(result, ensure_ascii=False),
        uid=str(place),
        timestamp=moment,
        tool_name=rng.choice(("search_web", "read_file", "send_mail", "run_tests")),
    )
