# SPDX-License-Identifier: MIT
"""The conversations that ``mnemogram demo`` shows, and filler that gives them company."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from importlib.resources import as_file, files
from typing import Final

from mnemogram.history.models import Message, Session
from mnemogram.importers import Batch, read

__all__ = ["conversations", "filler"]

_SEED: Final = 20260301
_TURNS: Final = 40
# (what, where, remark) of each language; none holds a word that the demo searches.
_WORDS: Final[tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]] = (
    (
        "{1}的{0}{2}。",
        (
            ("发票", "会议纪要", "合同草稿", "航班", "快递", "体检报告", "房租", "设计稿"),
            ("上个月", "昨天", "北京办公室", "客户", "三号项目", "财务", "王老师"),
            ("已经整理好了", "还差一份附件", "请再核对一次", "放进了共享文件夹", "下周一之前要交"),
        ),
    ),
    (
        "{1}の{0}{2}。",
        (
            ("請求書", "議事録", "資料", "打ち合わせ", "荷物", "見積もり", "写真"),
            ("先週", "大阪支社", "お客様", "来月", "田中さん", "三番の案件"),
            ("を送りました", "を確認してください", "はまだ届いていません", "を共有しました"),
        ),
    ),
    (
        "{1} {0} {2}.",
        (
            ("회의록을", "계약서를", "발표 자료를", "택배를", "견적서를", "사진을"),
            ("지난주", "부산 지점의", "고객의", "다음 달", "김 과장의", "세 번째 프로젝트의"),
            (
                "정리했습니다",
                "다시 확인해 주세요",
                "아직 받지 못했습니다",
                "공유 폴더에 넣었습니다",
            ),
        ),
    ),
    (
        "The {0} {1} {2}.",
        (
            ("invoice", "meeting notes", "contract", "parcel", "slide deck", "estimate", "report"),
            ("from last week", "of the Berlin office", "for the customer", "of project three"),
            ("is filed", "needs one more look", "has not arrived", "went to the shared folder"),
        ),
    ),
)


def conversations() -> Iterator[Batch]:
    """Yield the shipped conversations."""
    with as_file(files(__name__) / "conversations.jsonl") as path:
        yield from read(path, format="jsonl")


def filler(count: int) -> Iterator[tuple[Session, list[Message]]]:
    """Yield about ``count`` messages of made-up office talk, the same ones each time."""
    chance = random.Random(_SEED)
    start = datetime(2025, 3, 1, 9, tzinfo=timezone.utc)
    for number in range(count // _TURNS):
        pattern, words = _WORDS[number % len(_WORDS)]
        start += timedelta(hours=chance.randrange(1, 12))
        messages = [
            Message(
                "user" if turn % 2 == 0 else "assistant",
                " ".join(
                    pattern.format(*(chance.choice(each) for each in words))
                    for _ in range(chance.randrange(1, 4))
                ),
                uid=f"{number}-{turn}",
                timestamp=start + timedelta(seconds=20 * turn),
            )
            for turn in range(_TURNS)
        ]
        yield Session(f"office-{number}", title=None, started_at=start), messages
