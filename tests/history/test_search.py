# SPDX-License-Identifier: MIT
"""What a search finds, by which route, and whom it shows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from mnemogram import History, InvalidArgument, Message, SearchResult, Session
from mnemogram._native import query as q
from mnemogram.history import display
from mnemogram.history.search import rank as ranking
from mnemogram.history.search import relax as relaxing
from mnemogram.history.search.visibility import MAX_SEEN, decode_cursor, encode_cursor

START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History.open(tmp_path / "state.db", synchronous="normal") as opened:
        yield opened


def tell(history: History, *texts: str, session: str | None = None, **fields: Any) -> None:
    """Store each text as a conversation of its own, or all in one."""
    for number, text in enumerate(texts):
        history.append(session or f"{text[:20]}#{number}", [Message("user", text, **fields)])


def texts(result: SearchResult) -> set[str]:
    """Return the texts of the matches."""
    return {m.content for hit in result.results for m in hit.messages if m.anchor}


def whole(result: SearchResult) -> set[str]:
    """Return the texts of the matches that hold all of the query."""
    return {
        m.content for hit in result.results for m in hit.messages if m.anchor and not hit.partial
    }


def found(history: History, query: str, **options: Any) -> set[str]:
    return texts(history.search(query, limit=10, **options))


# --- scripts and query text ------------------------------------------------------------

FOUND = [
    ("明早九点预约牙医复诊", "牙医"),
    ("明早九点预约牙医复诊", "复诊*"),
    ("把cacheA节点扩容", "cacheA"),
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
    ("ＡＢＣ１２３ is out", "ABC123"),
    ("예약을 바꿔줘", "예약"),
    ("예약표를 보내줘", "예약표"),
    ("プログラムを書く", "プログラム"),
    ("Пароль забыт", "пароль"),
    ("a cafe\u0301 by the sea", "café"),
    ("ὁ λόγος", "ΛΌΓΟΣ"),
    ("พรุ่งนี้นัดหมอฟัน", "หมอฟัน"),
    ("Øresund crossing", "oresund"),
    ("con đường dài", "duong"),
    ("臺灣大學", "台湾大学"),
    ("台湾大学", "臺灣大學"),
    ("open src/io/reader.py first", "src/io/reader.py"),
    ("write to ops@example.org", "ops@example.org"),
    ("a discount of 40% today", "40%"),
    ("copy the .env file", ".env"),
    ("ask 8.8.8.8 instead", "8.8.8.8"),
    ("is that ok?", "ok?"),
    ("see #512", "#512"),
    ("edit the config.", "config."),
    ("error QX-417 again", "QX-417"),
    ("run node -v now", "node -v"),
    ("set retry_max: 5", "retry_max: 5"),
    (r"it is in C:\tmp\a.txt", r"C:\tmp\a.txt"),
    (r"it is in C:\Users\li", r"C:\Users"),
    ("use ns::item here", "ns::item"),
    ("it's late", "it's"),
    ('say foo"bar twice', 'foo"bar'),
    ("they said “smart” things", "“smart”"),
    ("the cache and a queue", "cache AND OR queue"),
    ("the cache", "cache OR"),
    ("party 🎉 tonight", "🎉"),
    ("the job_new1 failed", "job_new"),
    ("draft of the pricing page", "pricing draft"),
    ("found as words", "found as words."),
    ("pass --verbose twice", "`--verbose`"),
    ("a list - of things", "list - of"),
    ("and so on...", "so on..."),
    ("alpha\0bravo", "bravo"),
    ("यह किताब अच्छी है", "किताब"),
    ("এই বইটি ভালো", "বইটি"),
]


@pytest.mark.parametrize(("text", "query"), FOUND)
def test_the_text_is_found(history: History, text: str, query: str) -> None:
    tell(history, text, "nothing of the kind", "別の話")
    result = history.search(query)
    assert whole(result) == {text}
    assert result.results[0].messages[0].content == text
    assert result.search_path == "cjk"
    assert result.complete


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("天气sunny好热", "气好"),
        ("一二、三四", "二三"),
        ("retryXmax here", "retry_max"),
        ("今天下雪了", "雨"),
        ("x y", '"y x"'),
        ("真的好，好的", "的好的"),
        ("मैं घर में हूँ", "मे"),
        ("काम का समय", "कि"),
    ],
)
def test_what_only_looks_alike_is_not_found(history: History, text: str, query: str) -> None:
    tell(history, text)
    assert not found(history, f"{query} OR {query}")  # an operator keeps it from relaxing


def test_each_part_of_mixed_text_is_found(history: History) -> None:
    tell(history, "天气sunny好热")
    for query in ("天气", "好热", "sunny"):
        assert found(history, query) == {"天气sunny好热"}


def test_a_word_is_found_with_and_without_spaces_around_it(history: History) -> None:
    tell(history, "牙医 很忙", "约了牙医去", "把cacheA节点扩容", "cacheA is slow")
    assert found(history, "牙医") == {"牙医 很忙", "约了牙医去"}
    assert found(history, "cacheA") == {"把cacheA节点扩容", "cacheA is slow"}


def test_or_finds_both_kinds_of_document(history: History) -> None:
    tell(history, "约了牙医去", "周三复诊", "其他")
    assert found(history, "牙医 OR 复诊") == {"约了牙医去", "周三复诊"}


def test_not_excludes_on_every_route(tmp_path: Path) -> None:
    routes = set()
    for options in ({}, {"load_extension": False}, {"load_extension": False, "trigram": False}):
        path = tmp_path / f"{len(str(options))}.db"
        with History.open(path, **options) as history:
            tell(history, "東京の天気", "東京の機密", "The Tokyo plan", "The Tokyo secret")
            for asked, left in (
                ("東京 NOT 機密", "東京の天気"),
                ("東京の NOT 機密", "東京の天気"),
                ("Tokyo NOT secret", "The Tokyo plan"),
                ("oky NOT secre", "The Tokyo plan"),
            ):
                result = history.search(asked, limit=10)
                if result.results:
                    assert texts(result) == {left}, (asked, result.search_path)
                    routes.add(result.search_path)
    assert routes == {"cjk", "fts5", "trigram", "like"}


def test_quoting_tricks_inject_no_operator(history: History) -> None:
    tell(history, "yes x", "yesterday", "x")
    assert "yesterday" not in found(history, 'x" OR y*')


@pytest.mark.parametrize("query", ["", " ", "*", '""', '"*"', "...", "()", "\0"])
def test_nothing_to_search_for_is_said_and_never_filled_with_recent_items(
    history: History, query: str
) -> None:
    tell(history, "something recent")
    result = history.search(query)
    assert (result.count, result.search_path, result.complete) == (0, "empty", True)
    assert result.hint is not None


def test_not_alone_is_reported_and_not_turned_round(history: History) -> None:
    tell(history, "cache")
    result = history.search("NOT cache")
    assert result.search_path == "empty"
    assert "nothing positive" in (result.hint or "").lower()


@pytest.mark.parametrize(
    "query",
    ["(" * 98 + "cache" + ")" * 98, " OR ".join(["cache"] * 20_000), "cache " * 10_000],
)
def test_a_monstrous_query_is_answered_and_says_what_was_cut(history: History, query: str) -> None:
    tell(history, "the cache")
    result = history.search(query)
    assert texts(result) == {"the cache"}
    assert result.hint


# --- routes ----------------------------------------------------------------------------


def test_a_part_of_a_word_is_found_by_trigrams_when_no_word_matches(history: History) -> None:
    tell(history, "the misconfiguration of it", "other")
    result = history.search("configur")
    assert texts(result) == {"the misconfiguration of it"}
    assert result.search_path == "trigram"
    assert result.results[0].snippet == "the mis⟦configur⟧ation of it"


def test_a_question_is_relaxed_and_says_so(history: History) -> None:
    tell(history, "明早九点预约牙医复诊", "今天下雨了")
    result = history.search("我上次预约牙医是什么时候")
    assert texts(result) == {"明早九点预约牙医复诊"}
    assert result.search_path == "cjk_or"
    assert result.hint


def test_a_sentence_is_answered_by_its_parts_below_what_holds_all_of_it(
    history: History,
) -> None:
    tell(
        history,
        "when will the new harbour bridge be open, asked the ferry captain",
        "the harbour bridge opens in June",
        "lunch was good",
    )
    result = history.search("when will the new harbour bridge be open", limit=5)
    assert [hit.session_id[:8] for hit in result.results] == ["when wil", "the harb"]
    assert result.search_path == "cjk_or"
    assert "first 1 of all" in (result.hint or "")
    newest = history.search("when will the new harbour bridge be open", sort="newest")
    assert (newest.count, newest.search_path) == (1, "cjk")


@pytest.mark.parametrize(
    ("asked", "answer", "query"),
    [
        ("where is the passport?", "passport lies in the blue drawer", "where is the passport"),
        ("who has the spare key", "Olga took the spare key home", "spare key who"),
        ("护照放在哪里？", "护照在蓝色抽屉", "护照放在哪里"),
        ("护照在哪？", "护照在蓝色抽屉", "护照在哪"),
        ("明天开会", "会议改到明天下午", "明天开会"),
        ("鍵はどこ？", "鍵は棚の上にあるよ", "鍵はどこ"),
        ("여권 어디 있어?", "여권은 파란 서랍에 있어", "여권 어디 있어"),
        ("где лежит паспорт?", "паспорт лежит в столе", "где лежит паспорт"),
        ("أين جواز السفر", "جواز السفر في الدرج", "أين جواز السفر"),
        ("หนังสือเดินทางอยู่ที่ไหน", "หนังสือเดินทางอยู่ในลิ้นชัก", "หนังสือเดินทางอยู่ที่ไหน"),
    ],
)
def test_a_question_asked_before_does_not_hide_its_answer(
    history: History, asked: str, answer: str, query: str
) -> None:
    tell(history, asked, answer, "lunch was good", "午饭很好吃")
    result = history.search(query)
    assert [each.partial for each in result.results][:2] == [False, True]
    assert texts(result) >= {asked, answer}
    assert "first 1 of all" in (result.hint or "")
    assert whole(history.search(query, sort="newest")) == {asked}


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("passport", "the passport office"),
        ("blue-drawer", "a blue-drawer cabinet"),
        ("ERR-4021", "ERR-4021 again"),
        ('"passport office"', "the passport office"),
        ("passport AND office", "the passport office"),
        ("passport NOT drawer", "the passport office"),
        ("电影票", "买电影票"),
        ("テレビドラマ", "テレビドラマを見た"),
        ("자동차보험", "자동차보험 갱신"),
    ],
)
def test_one_term_and_what_is_joined_by_operators_are_asked_for_as_they_stand(
    history: History, query: str, holds: str
) -> None:
    tell(history, holds, "passport and blue drawer", "ERR-4022 office", "电影 テレビ ドラマ 자동차")
    result = history.search(query, limit=10)
    assert not any(each.partial for each in result.results)
    assert holds in texts(result)


def test_parts_stand_below_a_title_that_holds_all_of_the_query(history: History) -> None:
    tell(history, "the harbour was full", "a bridge too far")
    history.append(Session("titled", title="Harbour bridge"), [Message("user", "hello")])
    result = history.search("harbour bridge now", limit=10)
    assert {each.partial for each in result.results} == {True}
    result = history.search("bridge harbour", limit=10)
    assert result.results[0].session_id == "titled"
    assert [each.partial for each in result.results] == [False, True, True]


def test_what_ran_unattended_and_holds_all_stands_above_parts(history: History) -> None:
    tell(history, *(f"harbour {place}" for place in range(12)))
    history.append(Session("nightly", source="cron"), [Message("user", "harbour bridge")])
    result = history.search("harbour bridge", limit=3)
    assert [each.session_id for each in result.results][:1] == ["nightly"]
    assert [each.partial for each in result.results] == [False, True, True]


@pytest.mark.parametrize("load", [True, False])
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("明日は雨", "台風 雨"),
        ("宿の予約は三泊にして", "大阪 宿"),
        ("家里的猫很乖", "柯基犬 猫"),
        ("비 온다", "태풍 비"),
        ("명함을 새로 주문", "홈페이지 명함"),
    ],
)
def test_a_lone_character_is_asked_for_when_the_rest_stands_nowhere(
    tmp_path: Path, text: str, query: str, load: bool
) -> None:
    with History.open(tmp_path / "a.db", load_extension=load) as history:
        tell(history, text, "他の話", "别的话", "딴 얘기")
        result = history.search(query)
        assert texts(result) == {text}
        assert result.results[0].partial


def test_a_lone_character_weighs_in_where_the_rest_is_found(history: History) -> None:
    tell(
        history,
        "大阪へ行く",
        "大阪で友だちに会う",
        "大阪は楽しい、とにかく宿がよかった",
        "宿を探す",
    )
    result = history.search("大阪 宿 温泉")
    assert result.results[0].session_id.startswith("大阪は")
    assert "宿を探す" not in texts(result)


def test_a_subject_of_one_character_is_asked_for(history: History) -> None:
    tell(history, "蓍，又名锯草，可以入药", "他的别名是什么没有人知道")
    assert "蓍，又名锯草，可以入药" in found(history, "蓍的别名是什么？")


@pytest.mark.parametrize("query", ["牙医 AND 航班 OR 机票", "牙医 NOT 明早"])
def test_operators_keep_a_query_from_being_relaxed(history: History, query: str) -> None:
    tell(history, "明早九点预约牙医复诊")
    assert history.search(query).count == 0


def test_without_the_extension_every_route_finds_the_same(tmp_path: Path) -> None:
    with History.open(tmp_path / "a.db", load_extension=False) as history:
        # Trigrams find one variant and then stop looking: the answer's hint says so.
        listed = [pair for pair in FOUND if pair[0] != "台湾大学"]
        tell(history, *(text for text, _ in listed))
        paths = set()
        for text, query in listed:
            result = history.search(query, limit=10)
            assert text in texts(result), (query, result.search_path)
            paths.add(result.search_path)
        assert paths == {"fts5", "trigram", "like"}


def test_rows_that_the_index_has_not_reached_are_found_too(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with History.open(path, load_extension=False) as history:
        tell(history, "预约牙医", "买电影票")
    with History.open(path) as history:
        tell(history, "又约了牙医")
        result = history.search("牙医")
        assert texts(result) == {"预约牙医", "又约了牙医"}
        assert result.complete
        assert result.index_status["messages_fts_cjk"] is False
        assert 0 <= result.index_status["building"]["messages_fts_cjk"] < 1


def test_the_tail_of_a_long_tool_result_is_found_where_tools_are_asked_for(
    history: History,
) -> None:
    log = "line of a log\n" * 800 + "磁盘配额用尽 QX-417"
    history.append("s", [Message("tool", log, tool_name="read_log")])
    assert history.search("QX-417").count == 0
    result = history.search("QX-417", roles=("tool",))
    assert result.count == 1
    assert "⟦QX-417⟧" in result.results[0].snippet
    shown = result.results[0].messages[0]
    assert "QX-417" in shown.content
    assert shown.content_truncated
    assert shown.original_content_chars == len(log)


@pytest.mark.parametrize("arguments", ['{"city":"大连"}', '{"city":"\\u5927\\u8fde"}'])
def test_tool_arguments_are_found_however_they_were_written(
    history: History, arguments: str
) -> None:
    calls = [{"id": "1", "function": {"name": "weather", "arguments": arguments}}]
    history.append("s", [Message("assistant", None, tool_calls=calls)])
    result = history.search("大连")
    assert result.count == 1
    assert "⟦大连⟧" in result.results[0].snippet


def test_marks_stand_at_the_exact_characters_of_folded_text(history: History) -> None:
    tell(history, "この ＡＰＩ は古い", "検証ﾃｽﾄ完了")
    assert history.search("api").results[0].snippet == "この ⟦ＡＰＩ⟧ は古い"
    assert history.search("テスト").results[0].snippet == "検証⟦ﾃｽﾄ⟧完了"


def test_a_huge_message_gives_a_bounded_answer_with_the_match_in_it(history: History) -> None:
    text = "filler words here " * 200_000 + "needle" + " more filler" * 100_000
    tell(history, text)
    result = history.search("needle", detail="full")
    assert display.json_bytes(result) < display.DEFAULT_BUDGET
    shown = result.results[0].messages[0]
    assert "needle" in shown.content
    assert (shown.content_truncated, shown.original_content_chars) == (True, len(text))


# --- who sees what ---------------------------------------------------------------------


def conversation(
    history: History, session: Session | str, *texts: str, start: datetime = START
) -> None:
    history.append(
        session,
        [
            Message(
                "user" if place % 2 == 0 else "assistant",
                text,
                uid=f"m{place}",
                timestamp=start + timedelta(minutes=place),
            )
            for place, text in enumerate(texts)
        ],
    )


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_one_talkative_session_never_hides_the_rest(history: History, sort: str) -> None:
    conversation(history, "old", "the cache once", start=START - timedelta(days=9))
    conversation(history, "talkative", *["cache cache"] * 5_000)
    result = history.search("cache", sort=sort, limit=2)
    assert {hit.session_id for hit in result.results} == {"old", "talkative"}


def test_the_running_conversation_does_not_hide_an_old_one(history: History) -> None:
    conversation(history, "old", "the cache once", start=START - timedelta(days=9))
    conversation(history, "now", *["the cache"] * 300)
    result = history.search("cache", sort="newest", limit=2, current_session="now")
    assert [hit.session_id for hit in result.results] == ["old"]


def test_compacted_messages_of_the_running_session_are_found_and_rewound_ones_never(
    history: History,
) -> None:
    conversation(history, "now", "the blue key", "the red key", "the green key")
    history.mark_compacted("now", ["m0"])
    history.rewind("now", ["m1"])
    assert found(history, "key", current_session="now") == {"the blue key"}
    assert found(history, "red key OR red key") == set()


def test_a_reset_takes_a_parent_out_of_the_running_context(history: History) -> None:
    conversation(history, "first", "the blue key")
    conversation(history, Session("second", parent="first"), "the red key")
    assert found(history, "key", current_session="second") == set()
    history.end_session("first", "session_reset")
    assert found(history, "key", current_session="second") == {"the blue key"}


def test_a_lineage_gives_one_result(history: History) -> None:
    conversation(history, "a", "the blue key")
    conversation(history, Session("b", parent="a"), "the red key")
    conversation(history, "c", "the green key")
    assert history.search("key", limit=10).count == 2


def test_hidden_sources_never_appear_and_cron_comes_last(history: History) -> None:
    for number in range(400):
        conversation(history, Session(f"cron{number}", source="cron"), "nightly cache report")
    for source in ("subagent", "tool", "kanban"):
        conversation(history, Session(source, source=source), "cache cache cache")
    conversation(history, "chat", "a long talk in which somebody asks about the cache again")
    result = history.search("cache", limit=3)
    assert result.results[0].session_id == "chat"
    assert {hit.source for hit in result.results[1:]} == {"cron"}


def test_bounds_use_the_time_of_the_message(history: History) -> None:
    history.append(
        Session("long", started_at=START),
        [
            Message("user", "the first key", uid="1", timestamp=START),
            Message("user", "the third key", uid="2", timestamp=START + timedelta(days=3)),
        ],
    )
    day_two, day_three = START + timedelta(days=2), START + timedelta(days=3)
    assert found(history, "key", after=day_two) == {"the third key"}
    assert found(history, "key", after=day_three) == {"the third key"}
    assert found(history, "key", before=day_three) == {"the first key"}
    assert found(history, "key", after="2026-03-04T10:00:00+01:00") == {"the third key"}


def test_sources_and_excluded_sessions_are_respected(history: History) -> None:
    conversation(history, Session("t", source="telegram"), "a key on telegram")
    conversation(history, Session("c", source="cli"), "a key in the shell")
    assert found(history, "key", sources=["telegram"]) == {"a key on telegram"}
    assert found(history, "key", exclude_sessions=["t"]) == {"a key in the shell"}


def test_roles_say_whose_messages_may_match(history: History) -> None:
    history.append("s", [Message("user", "a key"), Message("tool", "key dump", tool_name="ls")])
    assert found(history, "key") == {"a key"}
    assert found(history, "key", roles=("tool",)) == {"key dump"}


def test_newest_and_oldest_sort_by_message_time_whatever_the_order_of_writing(
    history: History,
) -> None:
    for name, day in (("b", 2), ("c", 3), ("a", 1)):
        conversation(history, name, "the key", start=START + timedelta(days=day))
    newest = history.search("key", sort="newest", limit=3)
    oldest = history.search("key", sort="oldest", limit=3)
    assert [hit.session_id for hit in newest.results] == ["c", "b", "a"]
    assert [hit.session_id for hit in oldest.results] == ["a", "b", "c"]


@pytest.mark.parametrize("sort", ["relevance", "newest", "oldest"])
def test_a_cursor_walks_through_every_lineage_once(history: History, sort: str) -> None:
    for number in range(23):
        conversation(history, f"s{number}", "the key", start=START + timedelta(days=number))
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        result = history.search("key", limit=6, sort=sort, cursor=cursor)
        seen += [hit.session_id for hit in result.results]
        cursor = result.cursor
    assert cursor is None
    assert sorted(seen) == sorted(f"s{number}" for number in range(23))


@pytest.mark.parametrize("cursor", ["", "nonsense", "W10", "WyJhIiwgWyJiIl1d", "eJwDAAAAAAE"])
def test_a_foreign_cursor_is_refused(history: History, cursor: str) -> None:
    with pytest.raises(InvalidArgument, match="cursor"):
        history.search("key", cursor=cursor)


def test_a_cursor_stays_short_over_many_pages() -> None:
    seen = range(1, 60_000, 13)
    cursor = encode_cursor("asked", seen)
    assert cursor is not None
    assert len(cursor) < 5_000
    assert decode_cursor(cursor, "asked") == frozenset(seen)
    assert encode_cursor("asked", range(MAX_SEEN + 1)) is None


def test_a_cursor_belongs_to_its_query(history: History) -> None:
    for number in range(3):
        conversation(history, f"s{number}", "the key")
    cursor = history.search("key", limit=1).cursor
    with pytest.raises(InvalidArgument, match="another search"):
        history.search("lock", limit=1, cursor=cursor)


# --- titles ----------------------------------------------------------------------------


def test_the_newest_continuation_of_a_title_comes_first(history: History) -> None:
    conversation(history, "talk", "travel plan travel plan travel plan")
    for number, title in enumerate(("Travel plan", "Travel plan #2", "travel plan #10")):
        conversation(history, Session(f"t{number}", title=title), "hello")
    result = history.search("travel plan", limit=10)
    assert result.results[0].session_id == "t2"
    assert [hit.session_id for hit in result.results].count("talk") == 1


def test_a_title_is_cut_as_its_query_is(history: History) -> None:
    conversation(history, Session("t", title="हिन्दी किताब: यात्रा"), "hello")
    assert [hit.session_id for hit in history.search("किताब").results] == ["t"]
    assert [hit.session_id for hit in history.search("हिन्दी किताब यात्रा").results] == ["t"]


def test_a_title_is_found_by_its_words_below_the_messages(history: History) -> None:
    conversation(history, Session("t", title="旅行计划：东京"), "你好")
    conversation(history, "m", "去东京")
    result = history.search("东京", limit=10)
    assert [hit.session_id for hit in result.results] == ["m", "t"]
    titled = result.results[1]
    assert (titled.match_message_id, titled.matched_role) == (None, None)


# --- ranking ---------------------------------------------------------------------------


def test_the_message_about_it_ranks_above_the_message_that_mentions_it(history: History) -> None:
    tell(
        history,
        "配额配额：缓存配额用尽",
        "今天说了很多事情，" * 30 + "最后提到配额",
    )
    assert history.search("配额").results[0].snippet.startswith("⟦配额")


def test_a_short_word_with_its_own_diacritics_ranks_first(history: History) -> None:
    tell(history, "một con hổ lớn trong rừng", "một cái hồ lớn trong rừng")
    for word in ("hồ", "hổ"):
        result = history.search(f"cái hay con {word} ở đâu trong rừng", limit=2)
        assert f" {word} " in next(m.content for m in result.results[0].messages if m.anchor)


def test_a_pair_of_vietnamese_syllables_counts_nearly_like_a_word() -> None:
    def worth_of_adjacency(asked: str) -> float:
        query = q.parse(asked)
        evidence = relaxing.evidence_of(
            query, relaxing.units_of(query), {}, ranking.Statistics(1_000, 10.0)
        )
        scorer = evidence.scorer()
        scorer.add("các học sinh ơi", None, None)
        scorer.add("sinh các học ơi", None, None)
        together, apart = scorer.scores()
        return together - apart

    spelled = worth_of_adjacency("học sinh ở đâu")
    assert spelled > 2 * worth_of_adjacency("hoc sinh o dau") > 0
    assert worth_of_adjacency(unicodedata.normalize("NFD", "học sinh ở đâu")) == spelled


def test_a_rare_word_is_asked_for_though_its_stem_begins_too_much(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relaxing, "_FEWEST_POSTINGS", 4)
    history.append_many((f"b{n}", [Message("user", f"the bill {n}")]) for n in range(20))
    for key, said in (("a", "a quiet place"), ("b", "in town"), ("c", "nowhere")):
        history.append(key, [Message("user", said)])
    history.append("x", [Message("user", "Somebody billed us twice.")])
    answer = history.search("who billed the quiet town of nowhere", limit=10)
    assert {hit.session_id for hit in answer.results} == {"a", "b", "c", "x"}


@pytest.mark.parametrize(("word", "rows"), [("every", 400), ("second", 200), ("tenth", 40)])
def test_a_frequent_word_is_counted_by_how_soon_it_is_met(
    history: History, monkeypatch: pytest.MonkeyPatch, word: str, rows: int
) -> None:
    monkeypatch.setattr(ranking, "_MOST_COUNTED", 50)
    history.append(
        "long",
        [
            Message("user", "every" + " second" * (n % 2) + " tenth" * (n % 10 == 0))
            for n in range(400)
        ],
    )
    with history._database.read() as connection:
        assert abs(ranking.count_rows(connection, "messages_fts_cjk", word) - rows) <= 4
        assert ranking.count_rows(connection, "messages_fts_cjk", "none") == 0


def test_words_without_trigrams_are_found_by_their_beginning(history: History) -> None:
    nightly = [Message("assistant", "thumbnailer: OutOfMemoryError at 512Mi")]
    history.append(Session("nightly", source="cron"), nightly)
    history.append("call", [Message("tool", "ConnectionRefused by upstream", tool_name="fetch")])
    found = history.search("OutOfMemory")
    assert [hit.session_id for hit in found.results] == ["nightly"]
    assert found.search_path == "cjk"
    assert "begin with" in (found.hint or "")
    assert "⟦OutOfMemory⟧Error" in found.results[0].snippet
    assert history.search("thumbnail OutOfMemory").count == 1
    assert history.search("connectionref", roles=("tool",)).count == 1
    for other in ("ou", "Memory", '"OutOfMemory"', "OutOfMemory NOT x"):
        assert history.search(other).count == 0


def test_a_lone_word_in_another_form_is_found_by_its_stem(history: History) -> None:
    tell(history, "the deployment was rolled back", "о моём заказе", "deplorable weather")
    tell(history, "قرأت كتابا جديدا", "ذهبت إلى المدرسة")
    for word, text in (
        ("deployments", "the deployment was rolled back"),
        ("deploying", "the deployment was rolled back"),
        ("заказами", "о моём заказе"),
        ("بالكتاب", "قرأت كتابا جديدا"),
        ("ومدرسة", "ذهبت إلى المدرسة"),
    ):
        found = history.search(word)
        assert found.search_path == "cjk_or"
        assert text in texts(found)
        assert "parts of it" in (found.hint or "")
    assert history.search("rollbacks").count == 0


def test_a_word_found_by_folding_ranks_below_its_own_spelling(history: History) -> None:
    for number, text in enumerate(("con hổ", "cái hồ", "the cafe", "the café")):
        history.append(f"s{number}", [Message("user", text)])
    for word, session in (("hồ", "s1"), ("hổ", "s0"), ("café", "s3")):
        result = history.search(word, limit=2)
        assert result.search_path == "cjk"
        assert result.count == 2
        assert result.results[0].session_id == session


def test_what_clitics_and_compounds_leave_of_a_word_ranks_first(history: History) -> None:
    texts = (
        "die Krankenversicherungen sind heute überall teurer",
        "die Verkehrsampeln sind heute überall kaputt",
        "قرأت في المساء كتابا طويلا لصديقي",
        "قرأت في المساء رسالة طويلة لصديقي",
    )
    for number, text in enumerate(texts):  # of equals the newest would come first
        history.append(f"s{number}", [Message("user", text)])
    for query, session in (
        ("was kostet eine Versicherung heute noch", "s0"),
        ("متى قرأت الكتاب في ذلك المساء", "s2"),
    ):
        result = history.search(query)
        assert result.search_path == "cjk_or"
        assert result.results[0].session_id == session


def test_tool_json_does_not_outrank_a_message(history: History) -> None:
    calls = [{"function": {"name": "search", "arguments": '{"query": "渡口 渡口 渡口"}'}}]
    history.append("agent", [Message("assistant", "好的", tool_calls=calls)])
    history.append("talk", [Message("user", "渡口在哪里？")])
    assert history.search("渡口").results[0].session_id == "talk"


def test_hits_that_stand_together_support_each_other(history: History) -> None:
    conversation(history, "apart", "about the harbour", *["so"] * 8, "about the harbour")
    conversation(history, "together", "about the harbour", "yes", "about the harbour", "no")
    conversation(history, "alone", "about the harbour")
    result = history.search("harbour", limit=3)
    assert result.results[0].session_id == "together"


# --- results ---------------------------------------------------------------------------


def test_only_the_first_result_shows_its_surroundings(history: History) -> None:
    for name in ("a", "b"):
        conversation(history, name, *[f"line {n}" for n in range(20)], "the key", "end")
    result = history.search("key", limit=2)
    first, second = result.results
    assert (first.detail, second.detail) == ("full", "anchor")
    assert [m.content for m in first.messages][:2] == ["line 15", "line 16"]
    assert [m.anchor for m in first.messages].count(True) == 1
    assert [m.content for m in first.bookend_start] == ["line 0", "line 1", "line 2"]
    assert (first.messages_before, first.messages_after) == (15, 0)
    assert len(second.messages) == 1
    assert (second.messages_before, second.messages_after) == (20, 1)
    full = history.search("key", limit=2, detail="full", window=1)
    assert [len(hit.messages) for hit in full.results] == [3, 3]


def test_an_answer_keeps_to_its_budget_and_says_so(tmp_path: Path) -> None:
    with History.open(tmp_path / "s.db", answer_budget=16_384) as history:
        for number in range(10):
            conversation(history, f"s{number}", *["the key " + "词" * 3_000] * 12)
        result = history.search("key", limit=10, detail="full")
        assert result.count == 10
        assert display.json_bytes(result) <= 16_384
        assert "shortened" in (result.hint or "")


def test_the_answer_has_the_documented_fields(history: History) -> None:
    tell(history, "a key")
    answer = history.search("key").to_dict()
    assert set(answer) == {
        "success", "mode", "query", "detail", "results", "count", "search_path", "complete",
        "candidate_limit", "candidate_limit_reached", "index_status", "legacy_import", "hint",
        "cursor", "found_by", "left_out", "about", "about_exact", "did_you_mean",
    }  # fmt: skip
    assert set(answer["results"][0]) == {
        "session_id", "title", "source", "model", "when", "matched_role", "match_message_id",
        "snippet", "score", "messages", "bookend_start", "bookend_end", "messages_before",
        "messages_after", "detail", "parent_session_id", "partial", "found_by", "explanation",
        "tags", "metadata",
    }  # fmt: skip
    assert set(answer["results"][0]["messages"][0]) == {
        "id", "uid", "role", "timestamp", "state", "provenance", "content", "tool_name",
        "tool_call_id", "tool_calls", "tool_status", "anchor", "content_truncated",
        "original_content_chars", "metadata",
    }  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"limit": 11},
        {"limit": True},
        {"window": 0},
        {"window": 21},
        {"sort": "random"},
        {"detail": "most"},
        {"roles": "user"},
        {"roles": ["system"]},
        {"roles": []},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"after": "yesterday"},
        {"after": datetime(2026, 1, 1)},
        {"after": "2026-02-01", "before": "2026-01-01"},
        {"sources": "chat"},
        {"exclude_sessions": [1]},
    ],
)
def test_an_argument_out_of_range_is_refused_with_a_hint(
    history: History, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgument):
        history.search("key", **options)
