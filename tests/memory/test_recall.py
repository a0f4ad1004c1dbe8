# SPDX-License-Identifier: MIT
"""Recall by words: every script, rankings, neighbours, and what happens without the tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemogram.errors import InvalidArgument, QueryTimeout
from mnemogram.memory import SceneMemory, Triple
from mnemogram.memory import recall as recalling
from mnemogram.sqlite.database import Connection


def names(found: object) -> list[str]:
    return [each.subject for each in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("牙医预约在周五", "牙医"),
        ("把cacheA节点扩容", "cacheA"),
        ("今天下雨了", "雨"),
        ("东京都厅", "京"),
        ("検証ﾃｽﾄ完了", "テスト"),
        ("예약을 바꿔줘", "예약"),
        ("Øresund bridge", "oresund"),
        ("臺灣大學", "台湾大学"),
        ("ＡＢＣ１２３", "abc123"),
        ("retry_max: 5", "retry_max"),
        ("พรุ่งนี้นัดหมอฟัน", "หมอฟัน"),
        ("party 🎉 tonight", "🎉"),
        ("हिन्दी में नमस्ते", "नमस्ते"),
    ],
)
@pytest.mark.parametrize("place", ["subject", "relation", "object", "sentence"])
@pytest.mark.parametrize("extension", [True, False])
def test_a_word_is_found_wherever_it_stands(
    tmp_path: Path, stored: str, query: str, place: str, extension: bool
) -> None:
    fields = {"subject": "s", "relation": "r", "object": "o", "sentence": "t", place: stored}
    path = tmp_path / "memory.db"
    with SceneMemory.open(path, load_extension=extension, synchronous="normal") as memory:
        memory.commit([Triple("other", "is", "thing"), fields])
        found = memory.recall(query)
        assert [each.id for each in found] == [2]
        assert found.search_path == ("cjk" if extension else "scan")


@pytest.mark.parametrize("extension", [True, False])
def test_words_that_differ_in_vowel_signs_alone_are_told_apart(
    tmp_path: Path, extension: bool
) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path, load_extension=extension, synchronous="normal") as memory:
        memory.commit([Triple("कमल", "है", "फूल"), Triple("कमाल", "है", "आदमी")])
        assert [each.object for each in memory.recall("कमाल")] == ["आदमी"]


def test_the_rule_is_on_top_of_its_topic_even_without_scenes(memory: SceneMemory) -> None:
    memory.commit(
        [
            Triple("QQ群", "成员", f"同学{n}", sentence=f"同学{n}在QQ群里回复了消息，谈到了格式")
            for n in range(147)
        ]
    )
    memory.commit([Triple("QQ回复", "格式要求", "不用 Markdown", kind="rule", trust="confirmed")])
    memory.commit([Triple("QQ群", "话题", f"电影{n}") for n in range(50)])
    assert memory.recall("QQ回复格式")[0].subject == "QQ回复"


def test_a_retired_relation_is_not_recalled(memory: SceneMemory) -> None:
    ids = memory.commit([("soup", "needs", "salt"), ("soup", "needs", "fire")]).relation_ids
    memory.retire(ids[:1])
    assert [each.object for each in memory.recall("soup")] == ["fire"]


def test_a_query_that_says_nothing_is_answered_with_nothing(memory: SceneMemory) -> None:
    memory.commit([("soup", "needs", "salt")])
    for query in ("", "   ", "?!", "*", '""'):
        found = memory.recall(query)
        assert len(found) == 0
        assert found.search_path == "empty"


def test_a_query_of_small_words_alone_is_taken_at_its_word(memory: SceneMemory) -> None:
    memory.commit([("To Be", "is by", "Shakespeare"), ("soup", "needs", "salt")])
    assert names(memory.recall("to be")) == ["To Be"]


@pytest.mark.parametrize(
    "query",
    ['x" OR y*', "AND NOT (", "NEAR(a b)", "subject:soup", "^soup", "a" * 60_000, "-- ;", "soup*"],
)
def test_every_string_is_a_legal_query(memory: SceneMemory, query: str) -> None:
    memory.commit([("soup", "needs", "salt")])
    assert len(memory.recall(query)) in (0, 1)


def test_depth_goes_out_step_by_step_and_stays_within_the_limit(memory: SceneMemory) -> None:
    memory.commit([(f"n{n}", "leads to", f"n{n + 1}") for n in range(12)])
    assert [each.object for each in memory.recall("n0")] == ["n1"]
    found = memory.recall("n0", depth=3)
    assert [(each.subject, each.depth) for each in found] == [("n0", 1), ("n1", 2), ("n2", 3)]
    assert found[1].sources == ("neighbour",)
    memory.commit([("n1", "has", f"leaf {n}") for n in range(200)])
    assert len(memory.recall("n0", depth=2, limit=100)) == 1 + recalling.FAN_OUT
    assert len(memory.recall("n0", depth=4, limit=10)) == 10
    with pytest.raises(InvalidArgument, match="0 to 4"):
        memory.recall("n0", depth=9)


def test_neighbours_come_each_once_though_the_graph_has_circles(memory: SceneMemory) -> None:
    memory.commit([("a", "knows", "b"), ("b", "knows", "c"), ("c", "knows", "a")])
    found = memory.recall("a", depth=4)
    assert len(found) == len({each.id for each in found}) == 3


def test_a_very_common_word_is_answered_from_the_newest_and_says_so(
    memory: SceneMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "MAX_RANKED", 50)
    memory.commit([(f"soup {n}", "needs", "salt") for n in range(120)])
    found = memory.recall("soup")
    assert len(found) == 20
    assert not found.complete
    assert min(each.id for each in found) > 70
    rare = memory.recall("soup 7")
    assert rare.complete
    assert rare[0].subject == "soup 7"


def test_a_deadline_that_passes_is_an_error_and_not_an_empty_answer(
    memory: SceneMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.commit([("soup", "needs", "salt")])
    monkeypatch.setattr(recalling, "_FREQUENCY", "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL"
                        " SELECT i + 1 FROM n) SELECT max(i) FROM n WHERE ? <> ''")  # fmt: skip
    with pytest.raises(QueryTimeout):
        memory.recall("soup", timeout=0.05)


def test_a_process_without_the_tokenizer_writes_and_the_next_one_fills_the_index(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with SceneMemory.open(path) as memory:
        memory.commit([Triple("牙医", "在", "周五", sentence="旧话")])
    with SceneMemory.open(path, load_extension=False) as memory:
        assert memory.status().index == "ready"
        memory.commit([("午饭", "在", "周六"), Triple("牙医", "在", "周五", sentence="新话")])
        assert memory.status().index == "stale"
        assert "scans" in memory.status().notes[0]
        found = memory.recall("午饭")
        assert found.search_path == "scan"
        assert "scanned" in found.notes[0]
        assert names(found) == ["午饭"]
        assert memory.check().ok
        assert memory.repair() is False
    with SceneMemory.open(path, read_only=True) as memory:
        assert names(memory.recall("午饭")) == ["午饭"]
        assert memory.recall("午饭").search_path == "scan"
    with SceneMemory.open(path) as memory:
        assert memory.status().index == "ready"
        assert memory.recall("午饭").search_path == "cjk"
        assert names(memory.recall("新话")) == ["牙医"]
        assert not memory.recall("旧话")
        assert memory.check().problems == ()


def test_the_scan_ranks_rare_words_first(tmp_path: Path) -> None:
    with SceneMemory.open(
        tmp_path / "memory.db", load_extension=False, synchronous="normal"
    ) as memory:
        memory.commit([(f"soup {n}", "is", "warm") for n in range(40)])
        memory.commit([("bread", "goes with", "soup and saffron")])
        memory.commit([(f"soup {n}", "was", "cold") for n in range(40)])
        assert names(memory.recall("saffron soup"))[0] == "bread"


def test_a_writer_with_an_index_of_other_rules_fills_it_again(memory: SceneMemory) -> None:
    memory.commit([("soup", "needs", "salt")])
    with memory._database.write() as connection:
        connection.execute("UPDATE meta SET value = 'older rules' WHERE key = 'text_index'")
    assert memory.status().index == "stale"
    assert memory.recall("soup").search_path == "scan"
    assert memory.maintain() == {"indexed": 1, "embedded": 0, "pending": 0}
    assert memory.recall("soup").search_path == "cjk"
    assert memory.maintain()["indexed"] == 0


def test_history_does_not_crowd_out_what_holds_now(memory: SceneMemory) -> None:
    old = memory.commit([(f"soup {n}", "is", "old") for n in range(400)]).relation_ids
    memory.commit([(f"bread {n}", "goes with", "soup") for n in range(12)])
    memory.retire(old)
    found = memory.recall("soup", limit=12)
    assert len(found) == 12
    assert {each.object for each in found} == {"soup"}


def test_a_scan_that_runs_out_of_time_says_what_it_did_not_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SceneMemory.open(
        tmp_path / "memory.db", load_extension=False, synchronous="normal"
    ) as memory:
        memory.commit([(f"soup {n}", "is", "warm") for n in range(1_200)])
        looks = iter(range(1_000))
        monkeypatch.setattr(Connection, "remaining", lambda self: 9.0 if next(looks) < 9 else 0.01)
        found = memory.recall("soup")
        assert not found.complete
        assert "the deadline passed" in found.notes[1]
        assert len(found) == 20
        assert min(each.id for each in found) > 300


def test_how_rare_a_word_is_is_told_by_relations_and_not_by_their_ids(
    memory: SceneMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.commit([(f"soup {n}", "needs", "salt") for n in range(10)])
    with memory._database.write() as connection:
        connection.execute("UPDATE sqlite_sequence SET seq = 5000000 WHERE name = 'relations'")
        assert connection.changes() == 1
    memory.commit([("soup 10", "needs", "salt")])
    totals: list[int] = []

    def noted(total: int, frequency: int) -> float:
        totals.append(total)
        return 1.0

    monkeypatch.setattr(recalling, "idf", noted)
    assert memory.recall("soup")
    assert set(totals) == {11}
