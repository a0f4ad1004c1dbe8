# SPDX-License-Identifier: MIT
"""cjk_unicode61 and word_trigram inside FTS5: what is stored is found, marked and bounded."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemogram import extension

TOKENIZE = "cjk_unicode61 remove_diacritics 2 variants 1"


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.fixture
def database() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    connection.execute(f"CREATE VIRTUAL TABLE docs USING fts5(body, tokenize='{TOKENIZE}')")
    connection.execute("CREATE VIRTUAL TABLE parts USING fts5(body, tokenize='word_trigram')")
    yield connection
    connection.close()


def matches(connection: apsw.Connection, query: str, table: str = "docs") -> list[str]:
    statement = f"SELECT body FROM {table} WHERE {table} MATCH ? ORDER BY rowid"
    return [str(row[0]) for row in connection.execute(statement, (query,))]


def store(connection: apsw.Connection, *bodies: str, table: str = "docs") -> None:
    connection.executemany(f"INSERT INTO {table}(body) VALUES (?)", [(body,) for body in bodies])


FOUND = [
    ("明早九点预约牙医复诊", '"牙医"'),
    ("明早九点预约牙医复诊", '"复诊"*'),
    ("把cacheA节点扩容", '"cacheA"'),
    ("cacheA is slow", '"cacheA"'),
    ("天气sunny好热", '"天气"'),
    ("天气sunny好热", '"好热"'),
    ("天气sunny好热", '"sunny"'),
    ("今天下雨了", '"雨"*'),
    ("今天下雨了", '"了"*'),
    ("雨", '"雨"'),
    ("东京都厅", '"东京"*'),
    ("东京都厅", '"京"*'),
    ("一二、三四", '"一二 三四"'),
    ("𠮷野家で集合", '"𠮷野"'),
    ("人々が来た", '"人々"'),
    ("サーバー障害", '"サーバー"'),
    ("代々木公園", '"代々木"'),
    ("検証ﾃｽﾄ完了", '"ﾃｽﾄ"'),
    ("検証ﾃｽﾄ完了", '"テスト"'),
    ("ﾊﾞｯｸｱｯﾌﾟ", '"バックアップ"'),
    ("バックアップ", '"ﾊﾞｯｸｱｯﾌﾟ"'),
    ("ＡＢＣ１２３", '"ABC123"'),
    ("ABC123", '"ＡＢＣ１２３"'),
    (nfd("예약표"), '"예약표"'),
    ("예약표", f'"{nfd("예약표")}"'),
    (nfd("プログラム"), '"プログラム"'),
    ("예약을 바꿔줘", '"예약"'),
    ("Пароль", '"пароль"'),
    ("café", f'"{nfd("café")}"'),
    (nfd("café"), '"café"'),
    ("ὈΔΥΣΣΕΎΣ", '"ὀδυσσεύς"'),
    ("พรุ่งนี้นัดหมอฟัน", '"หมอฟัน"'),
    ("ຂ້ອຍໄປໂຮງຮຽນ", '"ໂຮງຮຽນ"'),
    ("ខ្ញុំទៅសាលារៀន", '"សាលារៀន"'),
    ("ကျွန်တော် ကျောင်းသွားတယ်", '"ကျောင်း"'),
    ("Øresund", '"oresund"'),
    ("đường", '"duong"'),
    ("臺灣大學", '"台湾大学"'),
    ("台湾大学", '"臺灣大學"'),
    ("party 🎉 tonight", '"🎉"'),
    ("thanks 👍🏽!", '"👍"'),
    ("👩‍🚀 landed", '"🚀"'),
    ("⼤学ノート", '"大学"'),
    ("葛\U000e0100城", '"葛城"'),
    ("alpha\0bravo", '"bravo"'),
]
NOT_FOUND = [
    ("天气sunny好热", '"气好"'),
    ("一二、三四", '"二三"'),
    ("电影订阅成功", '"影阅"'),
    ("พรุ่งนี้", '"ร"'),
    ("🇯🇵", '"🇵"'),
]


@pytest.mark.parametrize(("body", "query"), FOUND)
def test_what_a_reader_expects_is_found(database: apsw.Connection, body: str, query: str) -> None:
    store(database, body)
    # A NUL ends what the statement's text shows, not what is indexed.
    assert len(matches(database, query)) == 1


@pytest.mark.parametrize(("body", "query"), NOT_FOUND)
def test_what_does_not_stand_there_is_not_found(
    database: apsw.Connection, body: str, query: str
) -> None:
    store(database, body)
    assert matches(database, query) == []


def test_words_and_runs_are_found_whatever_stands_around_them(database: apsw.Connection) -> None:
    store(database, "牙医 很忙", "约了牙医去", "noise")
    assert matches(database, '"牙医"') == ["牙医 很忙", "约了牙医去"]
    assert matches(database, '"牙医" OR "noise"') == ["牙医 很忙", "约了牙医去", "noise"]


MARKED = [
    ("电影订阅成功", '"订阅"', "电影[订阅]成功"),
    ("电影订阅成功", '"功"*', "电影订阅[成功]"),  # FTS5 marks what stands at the position
    ("naïve 検証ﾃｽﾄ完了", '"テスト"', "naïve 検証[ﾃｽﾄ]完了"),
    ("éé把cacheA节点", '"cachea"', "éé把[cacheA]节点"),
    (f"x{nfd('예약표')}", '"예약"', f"x[{nfd('예약')}]{nfd('표')}"),
    ("ok 👍🏽.", '"👍"', "ok [👍🏽]."),
    ("พรุ่งนี้นัดหมอฟัน", '"หมอฟัน"', "พรุ่งนี้นัด[หมอฟัน]"),
]


@pytest.mark.parametrize(("body", "query", "marked"), MARKED)
def test_highlight_marks_the_exact_characters(
    database: apsw.Connection, body: str, query: str, marked: str
) -> None:
    store(database, body)
    statement = "SELECT highlight(docs, 0, '[', ']') FROM docs WHERE docs MATCH ?"
    assert [row[0] for row in database.execute(statement, (query,))] == [marked]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    body=st.text(
        st.one_of(
            st.characters(exclude_categories=("Cs",), exclude_characters="\0"),
            st.sampled_from("漢字臺ｶﾞが\u3099각\u1100\u1161กำุ่🎉👍🏽🇯🇵\u200d\ufe0fＡéØ "),
        ),
        min_size=1,
        max_size=16,
    ),
    data=st.data(),
)
def test_any_part_of_any_text_is_found_and_marked_as_valid_text(
    database: apsw.Connection, body: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(body) - 1))
    part = body[start : data.draw(st.integers(start + 1, len(body)))]
    database.execute("DELETE FROM docs")
    store(database, body)
    query = '"' + part.replace('"', '""') + '"*'
    statement = "SELECT highlight(docs, 0, '', '') FROM docs WHERE docs MATCH ?"
    for (marked,) in database.execute(statement, (query,)):
        assert marked == body


def test_trigrams_find_inside_words_and_leave_cjk_alone(database: apsw.Connection) -> None:
    store(database, "the Renewal_job 预约牙医", "other", table="parts")
    assert matches(database, '"newal"', "parts") == ["the Renewal_job 预约牙医"]
    assert matches(database, '"约牙医"', "parts") == []
    assert matches(database, '"jo"', "parts") == []
    statement = "SELECT highlight(parts, 0, '[', ']') FROM parts WHERE parts MATCH '\"newa\"'"
    assert [r[0] for r in database.execute(statement)] == ["the Re[newa]l_job 预约牙医"]


@pytest.mark.parametrize("name", ["cjk_unicode61", "word_trigram"])
@pytest.mark.parametrize(
    "arguments", ["variants", "variants 3", "compat", "unknown 1", "categories Q"]
)
def test_a_table_with_wrong_arguments_is_refused(
    database: apsw.Connection, name: str, arguments: str
) -> None:
    with pytest.raises(apsw.SQLError, match="tokenizer"):
        database.execute(f"CREATE VIRTUAL TABLE bad USING fts5(x, tokenize='{name} {arguments}')")


@pytest.mark.parametrize(
    "body", ["雨" * 350_000, "x" * 1_000_000, "\u0e38" * 300_000, "🎉" * 250_000]
)
def test_a_run_of_a_megabyte_is_indexed_and_found(database: apsw.Connection, body: str) -> None:
    store(database, body, "noise")
    query = '"' + body[:2] + '"*'
    assert len(matches(database, query)) == 1


def test_deleting_leaves_the_index_sound(database: apsw.Connection) -> None:
    bodies = [body for body, _ in FOUND]
    store(database, *bodies)
    database.execute("DELETE FROM docs WHERE rowid % 2")
    database.execute("INSERT INTO docs(docs, rank) VALUES ('integrity-check', 1)")
    database.execute("DELETE FROM docs")
    database.execute("INSERT INTO docs(docs, rank) VALUES ('integrity-check', 1)")
    assert matches(database, '"牙医"') == []
