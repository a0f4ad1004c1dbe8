# SPDX-License-Identifier: MIT
"""What is stored and what is asked: the same answer from the index and from the matcher."""

from __future__ import annotations

from unicodedata import normalize

import apsw
import pytest

from mnemogram import extension
from mnemogram._native.query import compile, parse, to_fts5, to_trigram


def found_by_index(stored: str, asked: str) -> bool:
    expression = to_fts5(parse(asked))
    if expression is None:
        return False
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5("
        "x, tokenize='cjk_unicode61 remove_diacritics 2 variants 1')"
    )
    connection.execute("INSERT INTO t VALUES (?)", (stored,))
    rows = connection.execute("SELECT 1 FROM t WHERE t MATCH ?", (expression,)).fetchall()
    connection.close()
    return bool(rows)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("明早九点预约牙医复诊", "牙医"),
        ("只说了复诊的事", "牙医 OR 复诊"),
        ("牙医 很忙", "牙医"),
        ("约了牙医去", "牙医"),
        ("把cacheA节点扩容", "cacheA"),
        ("cacheA is slow", "cacheA"),
        ("下周复诊安排", "复诊*"),
        ("天气sunny好热", "天气"),
        ("天气sunny好热", "好热"),
        ("天气sunny好热", "sunny"),
        ("今天下雨了", "雨"),
        ("东京都厅", "东京*"),
        ("东京都厅", "京*"),
        ("一二、三四", '"一二 三四"'),
        ("𠮷野家で集合", "𠮷野"),
        ("人々が来た", "人々"),
        ("サーバー障害", "サーバー"),
        ("代々木公園", "代々木"),
        ("検証ﾃｽﾄ完了", "ﾃｽﾄ"),
        ("検証ﾃｽﾄ完了", "テスト"),
        ("ﾊﾞｯｸｱｯﾌﾟを取る", "バックアップ"),
        ("ＡＢＣ１２３", "ABC123"),
        (normalize("NFD", "예약표"), "예약표"),
        ("예약표", normalize("NFD", "예약표")),
        ("フ\u309aロク\u3099ラム", "プログラム"),
        ("예약을 바꿔줘", "예약"),
        ("Пароль", "пароль"),
        ("café", "cafe\u0301"),
        ("cafe\u0301", "café"),
        ("ὁ κόσμος", "ΚΌΣΜΟΣ"),
        ("พรุ่งนี้นัดหมอฟัน", "หมอฟัน"),
        ("Øresund", "oresund"),
        ("đường", "duong"),
        ("臺灣大學", "台湾大学"),
        ("台湾大学", "臺灣大學"),
        ("open src/io/reader.py first", "src/io/reader.py"),
        ("write to ops@example.org", "ops@example.org"),
        ("about 40% done", "40%"),
        ("edit .env", ".env"),
        ("ask 8.8.8.8", "8.8.8.8"),
        ("is it ok?", "ok?"),
        ("see #512", "#512"),
        ("the config is", "config."),
        ("part QX-417 came", "QX-417"),
        ("run node -v", "node -v"),
        ("the wrong-key error", "错题 OR wrong-key"),
        ("retry_max: 5", "retry_max: 5"),
        ("C:\\tmp\\a.txt", "C:\\tmp\\a.txt"),
        ("in C:\\Users\\me", "C:\\Users"),
        ("ns::item", "ns::item"),
        ("it's fine", "it's"),
        ('foo"bar', 'foo"bar'),
        ("so “smart”", "“smart”"),
        ("a queue", "cache AND OR queue"),
        ("this and that", "AND"),
        ("the cache", "cache OR"),
        ("party 🎉 tonight", "🎉"),
        ("x marks", "(" * 98 + "x" + ")" * 98),
        ("t7", " OR ".join(f"t{i}" for i in range(20_000))),
        ("job_new1", "job_new"),
        ("draft of the pricing page", "pricing draft"),
        ("use `--flag` in tests", "`--flag` - ... tests."),
        ("alpha\0bravo", "bravo"),
        ("{'city': '大连'}", "大连"),
        ("bad \ufffd text", "text"),
    ],
)
def test_stored_text_is_found(stored: str, asked: str) -> None:
    assert found_by_index(stored, asked)
    assert compile(parse(asked)).matches(stored)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("天气sunny好热", "气好"),
        ("一二、三四", "二三"),
        ("東京の機密", "東京 NOT 機密"),
        ("retryXmax", "retry_max"),
        ("toolXqq", "tool_qq"),
        ("only y here", 'x" OR y*'),
        ("x", "NOT x"),
        ("cache", "AND NOT cache"),
        ("anything", "*"),
        ("anything", ""),
        ("anything", '""'),
        ("anything", '"*"'),
        ("100 percent", "% _ % OR _"),
        ("a OR b", '"b a"'),
    ],
)
def test_other_text_is_not_found(stored: str, asked: str) -> None:
    assert not found_by_index(stored, asked)
    assert not compile(parse(asked)).matches(stored)
    assert not compile(parse(asked), substring=True).matches(stored)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("prefetching", "fetch"),
        ("把preCACHEd节点", "cache"),
        ("preload_config", "load_conf"),
        ("ｐｒｅｆｅｔｃｈ", "fetch"),
    ],
)
def test_what_stands_inside_a_word_is_a_trigram_candidate(stored: str, asked: str) -> None:
    assert not found_by_index(stored, asked)
    assert compile(parse(asked), substring=True).matches(stored)
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    connection.execute(
        "CREATE VIRTUAL TABLE t USING fts5("
        "x, tokenize='word_trigram remove_diacritics 2 variants 1', detail=none)"
    )
    connection.execute("INSERT INTO t VALUES (?)", (stored,))
    sql = "SELECT 1 FROM t WHERE t MATCH ?"
    assert connection.execute(sql, (to_trigram(parse(asked)),)).fetchall()
    connection.close()


MARKS = {"remove_diacritics": "2", "variants": "1", "categories": "L* N* Co Mn Mc"}


@pytest.mark.parametrize("text", ["\u0301", "\u0301 \u0301", '"\u0301"', "\u0301*"])
def test_a_mark_that_folds_to_nothing_is_nothing_to_search_for(text: str) -> None:
    parsed = parse(text, config=MARKS)
    assert parsed.root is None
    assert not compile(parsed).matches("any text")


def test_a_mark_between_words_keeps_its_place() -> None:
    matcher = compile(parse('"a \u0301 b"', config=MARKS))
    assert matcher.matches("a \u0301 b")
    assert not matcher.matches("a b")
