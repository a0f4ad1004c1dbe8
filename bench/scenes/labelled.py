# SPDX-License-Identifier: MIT
"""The labelled set: what a memory holds, and what must and must not come back when.

``data/rules.tsv`` is the memory, one triple a line, each with a name. ``data/
situations.tsv`` has for each situation its language, scene keys, message, and the names
that must be shown and must not. Beside them stand made-up facts on everyday topics,
pinned nowhere: what a search by topic has to choose among.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mnemogram.memory import SceneMemory, Triple

__all__ = ["Situation", "fill", "noise", "rules", "situations"]

DATA: Final = Path(__file__).resolve().parent / "data"
NOISE: Final = 600

# Subjects, relations and objects of everyday facts, by language.
_EVERYDAY: Final = {
    "zh": (
        "小李 王阿姨 楼下超市 隔壁老张 面馆 公司前台 健身房 修车师傅 社区医院 表姐 快递柜",
        "在吗 几点开门 电话是 喜欢 推荐过 今天说 住在 明天去 现在卖 一般在",
        "下午三点 牛肉面 东门 两百块 新出的电影 西湖 游泳 小区门口 周末 一份合同 草莓 那边",
    ),
    "en": (
        "Tom|the landlord|the corner shop|Aunt May|the dentist|the gym|our neighbour|the plumber"
        "|the library|Dr Reed|the new intern|the florist",
        "is there at|opens at|likes|called about|lives near|asked for|works with|sells",
        "nine in the morning|the harbour|green tea|long weekends|the second paragraph|pancakes"
        "|a new wall|the museum|friday lunch|ninety percent|money|one more try",
    ),
    "ja": (
        "田中さん 駅前のパン屋 大家さん 隣の犬 図書館 歯医者 いとこ 管理人 花屋 新人 部長 郵便局",
        "好きなもの 場所 営業時間 電話番号 趣味 出身 来月の予定 元気",
        "九時から 抹茶 三丁目 釣り 京都 二人 金曜の夜 肉じゃが 説明書 旅行 写真 駅の北側",
    ),
    "ko": (
        "민수 옆집 아저씨네 동네빵집 치과 도서관 사촌 관리소 꽃집 신입사원 부장님 우체국 헬스장",
        "좋아하는것 위치 여는시간 전화번호 취미 고향 다음주일정 지금",
        "아홉시 녹차 삼층 낚시 부산 둘이서 금요일밤 김치찌개 설명서 여행 사진 역북쪽",
    ),
}


@dataclass(frozen=True, slots=True)
class Situation:
    """One labelled situation."""

    language: str
    scenes: tuple[str, ...]
    message: str
    must: frozenset[str]
    must_not: frozenset[str]


def _table(name: str) -> Iterator[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)


def rules() -> dict[str, Triple]:
    """Return the memory's triples by name."""
    return {
        row["id"]: Triple(
            row["subject"],
            row["relation"],
            row["object"],
            sentence=row["sentence"] or None,
            scene=row["scene"],
            kind=row["kind"],  # type: ignore[arg-type]
            trust=row["trust"],  # type: ignore[arg-type]
            confidence=float(row["weight"]),
        )
        for row in _table("rules.tsv")
    }


def situations() -> list[Situation]:
    """Return the labelled situations."""

    def names(text: str) -> frozenset[str]:
        return frozenset(each for each in text.split(",") if each)

    return [
        Situation(
            row["lang"],
            tuple(row["scenes"].split(",")),
            row["message"],
            names(row["must"]),
            names(row["must_not"]),
        )
        for row in _table("situations.tsv")
    ]


def noise(count: int = NOISE) -> list[Triple]:
    """Return made-up everyday facts in four languages, the same ones each time."""
    chosen = random.Random(20)
    found: dict[tuple[str, str, str], Triple] = {}
    while len(found) < count:
        parts = [
            chosen.choice(each.split("|") if "|" in each else each.split())
            for each in _EVERYDAY[chosen.choice(list(_EVERYDAY))]
        ]
        found[(parts[0], parts[1], parts[2])] = Triple(
            parts[0], parts[1], parts[2], sentence=" ".join(parts)
        )
    return list(found.values())


def fill(memory: SceneMemory) -> dict[int, str]:
    """Commit the set and the noise; return the names of the relations by id."""
    everyday = noise()
    named = rules()
    memory.commit(everyday[: len(everyday) // 2])
    ids = memory.commit(named.values()).relation_ids
    memory.commit(everyday[len(everyday) // 2 :])
    return dict(zip(ids, named, strict=True))
