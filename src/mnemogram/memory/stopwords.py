# SPDX-License-Identifier: MIT
"""Words that carry no topic, as the tokenizer cuts them.

Used to drop terms from a query while others are left, and to see that a message
("are you there?") has no topic at all. A missing word costs some noise.
"""

from __future__ import annotations

from typing import Final

from mnemogram.text import STORE_OPTIONS, tokenize

__all__ = ["carries_topic", "names_nothing"]

_ENGLISH: Final = """
a about all also am an and any are as at be been but by can could did do does doing done for from
get got had has have he hello her here hey hi him his how i if in into is it its just let like lets
make may me might my no not now of ok okay on one or our out please put say she should so some sorry
sure tell thank thanks that the their them then there these they thing things this those to today
tomorrow too up us use very want was we well were what when where which who why will with would
yes yesterday yet you your yours s t m re ve ll d don doesn didn isn wasn can't won
again still right really think know need go going come back give got anyone anything something
someone everyone everything morning afternoon evening night good fine great nice
"""
# Characters of Chinese function words: a pair of two of them carries no topic.
_HAN: Final = frozenset(
    "的了是在有我你您他她它们这那哪吗呢吧啊呀哦嗯不就也都和与跟把被让给很太还又再会能要想可以"
    "什么怎谁为因所到去来上下个一些没请问啦嘛哈好得着过对从而且或但如果样点儿用该先后时候"
    "今明昨天现早晚安这們個麼嗎會給來沒問對從過後時樣點"
)
_CHINESE: Final = """
知道 觉得 覺得 东西 東西 事情 帮我 幫我 帮忙 幫忙
告诉 告訴 需要 应该 應該 已经 已經 谢谢 謝謝 大家 自己
我们 你们 您们 他们 她们 它们 我們 你們 他們 她們 它們 这个 那个 哪个 這個 那個 哪個
这些 那些 哪些 這些 什么 什麼 怎么 怎麼 这里 那里 哪里 這裡 那裡 哪裡 这儿 那儿 哪儿
"""
_JAPANESE: Final = """
今日 明日 昨日 今日は 何か 何を 何が 誰か 時間 大丈
丈夫 夫で 願い 願い お願 教え 思い 思う 言っ 言う 私は 私の
"""
_KOREAN: Final = """
있어 있나 있니 있습 습니 니까 니다 해줘 해주 주세 세요 어요 아요 하세 하고 해요 하는 이거 그거 저거
지금 오늘 내일 어제 뭐야 나요 거기 여기 안녕 녕하 어디 뭐해 좀해 계세 계시 나는 저는
제가 내가 우리 그리 리고 그런 런데
뭐예 예요 이에 에요 이야 인가 가요 까요 네요 군요 감사 사합 합니 부탁 탁해 드려
려요 무슨 어떻 떻게 언제 누구 왜요
"""
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz_")
_WORDS: Final = frozenset((_ENGLISH + _CHINESE + _JAPANESE + _KOREAN).split())


#: What may stand around a word without saying more.
_PUNCTUATION: Final = frozenset(".,;:!?'\"…·、。，；：！？「」『』“”‘’()（）")


def _is_hiragana(character: str) -> bool:
    return "\u3041" <= character <= "\u309f"


def carries_topic(term: str) -> bool:
    """Return whether a term says what a text is about, rather than holding it together.

    Args:
        term: a token of the text core, folded.
    """
    if term in _WORDS:
        return False
    if len(term) == 1:
        return not (term in _LETTERS or term in _HAN or _is_hiragana(term))
    if all(map(_is_hiragana, term)):  # particles, endings and auxiliaries
        return False
    return not all(each in _HAN for each in term)


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
        if token.text not in _WORDS and (len(token.text) > 1 or carries_topic(token.text)):
            return False
        end = token.end
        found = True
    return found and not _says_more(name[end:])


def _says_more(between: str) -> bool:
    return any(not each.isspace() and each not in _PUNCTUATION for each in between)
