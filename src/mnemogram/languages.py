# SPDX-License-Identifier: MIT
"""What is known of languages: function words, question words, endings.

Two kinds of list, for two questions. What a *query* says beside its topic is weighed less,
never dropped, so those lists are short and certain. What makes a *message* have no topic at all
("are you there?") is longer, and in the forms in which the tokenizer cuts it.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ARABIC_ENDINGS",
    "ARABIC_PROCLITICS",
    "ASKING",
    "CHINESE_FUNCTION_CHARACTERS",
    "COMMON_ARABIC_PROCLITICS",
    "ENGLISH_ENDINGS",
    "ENGLISH_FUNCTION_WORDS",
    "ENGLISH_QUESTION_WORDS",
    "JAPANESE_PARTICLES",
    "KOREAN_ENDINGS",
    "KOREAN_QUESTION_WORDS",
    "TOPICLESS_HAN",
    "TOPICLESS_WORDS",
    "UNSPACED_SCRIPTS_SPACE",
    "VIETNAMESE_LETTERS",
    "is_hangul",
]

# --- of queries ------------------------------------------------------------------------

ENGLISH_QUESTION_WORDS: Final = frozenset(
    ("the", "of", "to", "is", "was", "what", "who", "how", "which", "when", "where", "did", "does")
)
ENGLISH_FUNCTION_WORDS: Final = ENGLISH_QUESTION_WORDS | frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "had", "has", "have",
     "he", "i", "in", "it", "its", "me", "my", "on", "or", "our", "she", "that", "there", "they",
     "this", "we", "were", "with", "you", "your", "why", "whose", "whom", "can", "do", "am")
)  # fmt: skip
#: The commonest function characters of written Chinese: a bigram with one of them
#: is as often a seam between two words as a word.
CHINESE_FUNCTION_CHARACTERS: Final = frozenset(
    "的了是在和与及或有被把从向对于为以之而且着过吗呢吧啊么什谁哪怎何几多少请我你他她它们这那个些不没也都就又还很"
)
JAPANESE_PARTICLES: Final = frozenset("のはがをにへとでもや")
#: What makes even a short run of characters a question: a regular expression, as the two below.
ASKING: Final = (
    "[哪谁誰怎吗嗎呢]|什[么麼]|[几幾]|多少"
    "|なに|なん|何|どこ|どれ|どの|だれ|いつ|なぜ|어디|언제|누구|무엇|어떻게|왜"
)
ENGLISH_ENDINGS: Final = (
    "ations",
    "ation",
    "ings",
    "ing",
    "ies",
    "ied",
    "ers",
    "er",
    "es",
    "ed",
    "ly",
    "s",
    "e",
    "y",
)
#: The longer ones first, since the first that fits is taken off.
ARABIC_PROCLITICS: Final = (
    "وال", "بال", "كال", "فال", "ولل", "ال", "لل", "و", "ف", "ب", "ك", "ل",
)  # fmt: skip
#: Those that a word of a text is looked up behind.
COMMON_ARABIC_PROCLITICS: Final = ("ال", "وال", "بال", "لل", "و", "ب", "ل")
ARABIC_ENDINGS: Final = ("ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي")
_JOINED_IN_KOREAN: Final = """
은 는 이 가 을 를 의 에 로 와 과 도 만 나 며 고 서 께 야 요 다 니
까 지 죠 네 게 해 한 할 함 에서 에게 에는 에도 에만 에서는 에서도 에게서
한테 한테서 으로 으로는 으로서 으로써 로서 로써 로는 부터 까지 이나 이며
이고 이란 이라 이라는 이라고 라는 라고 라도 처럼 보다 마다 조차 마저 밖에
만큼 대로 이다 입니다 입니까 인가 인가요 일까 일까요 이었다 였다 이었던 였던
이었나 였나 이에요 예요 인지 인데 하다 하는 하고 하며 하여 하기 하면 하지
하게 하는데 하려고 했다 했던 했고 했나 했나요 했는가 했습니까 한다 한다면
합니다 합니까 해서 해야 해요 했어 했어요 할까 할까요 되는 되고 되어 되었다
되었나 되었던 된다 됩니다 됐다 되나 되나요 었다 았다 었나 았나 었던 았던
었습니까 았습니까 었는가 았는가 는가 는지 는데 나요 까요 네요 군요 습니다
습니까 어요 아요 어서 아서 으면 으니 려고 도록
"""
#: Particles and endings that Korean joins to a word, the usual ones and what they join to.
KOREAN_ENDINGS: Final = frozenset(_JOINED_IN_KOREAN.split())
KOREAN_QUESTION_WORDS: Final = (
    "무엇", "무슨", "어디", "언제", "누구", "얼마", "어떤", "어떻", "어느", "왜", "몇"
)  # fmt: skip
_UNSPACED: Final = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
#: Spaces between characters of scripts that are written without.
UNSPACED_SCRIPTS_SPACE: Final = rf"(?<={_UNSPACED})\s+(?={_UNSPACED})"
VIETNAMESE_LETTERS: Final = "[ƠơƯưĐđ\u1ea0-\u1ef9]"


def is_hangul(text: str) -> bool:
    """Whether a text holds nothing but Hangul syllables."""
    return all("\uac00" <= each <= "\ud7a3" for each in text)


# --- of messages -----------------------------------------------------------------------

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
TOPICLESS_HAN: Final = frozenset(
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
TOPICLESS_WORDS: Final = frozenset((_ENGLISH + _CHINESE + _JAPANESE + _KOREAN).split())
