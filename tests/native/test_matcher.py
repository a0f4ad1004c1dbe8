# SPDX-License-Identifier: MIT
"""The matcher, an FTS5 index and a slow evaluator find the same rows and count the same."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemogram import extension
from mnemogram._native import text_core
from mnemogram._native.query import (
    And,
    Node,
    Not,
    Or,
    Phrase,
    compile,
    parse,
    phrase,
    to_fts5,
    to_trigram,
)
from mnemogram.errors import QueryTimeout
from mnemogram.text import STORE_OPTIONS

from ..reference import query as reference

Row = tuple[str, str, str]
TOKENIZER = "cjk_unicode61 remove_diacritics 2 variants 1"

pieces = st.sampled_from(
    [
        *(
            "牙",
            "医",
            "牙医",
            "牙医复诊",
            "约",
            "京",
            "东京",
            "東京",
            "都",
            "雨",
            "、",
            " ",
            " ",
            " ",
        ),
        *("a", "b", "ab", "abc", "cache", "Cache", "-", "_", ".", "'", "é", "e\u0301", "Ａ", "1"),
        *("ﾃｽﾄ", "テスト", "ー", "が", "か\u3099", "예약", "ก", "กำ", "หมอ", "ฟั", "น", "ကြ", "ี่"),
        *("🎉", "👩\u200d💻", "\0", "१", "ß", "ı"),
    ]
)
words = st.lists(pieces, min_size=1, max_size=6).map("".join)
documents = st.lists(
    st.tuples(words, words, st.lists(pieces, max_size=12).map("".join)), min_size=1, max_size=4
)
queries = st.lists(
    st.one_of(
        words,
        words.map(lambda w: f'"{w}"'),
        words.map(lambda w: f"{w}*"),
        st.sampled_from(["AND", "OR", "NOT", "(", ")", "NOT", "OR"]),
    ),
    min_size=1,
    max_size=8,
).map(" ".join)


class Index:
    """An FTS5 table over three columns, filled anew for each corpus."""

    def __init__(self, tokenizer: str, extra: str = "") -> None:
        self.connection = apsw.Connection(":memory:")
        extension.load(self.connection)
        self.connection.execute(
            "CREATE VIRTUAL TABLE t USING fts5("
            f"content, tool_name, tool_calls, tokenize='{tokenizer}'{extra})"
        )

    def fill(self, rows: list[Row]) -> None:
        self.connection.execute("DELETE FROM t")
        self.connection.executemany(
            "INSERT INTO t(rowid, content, tool_name, tool_calls) VALUES (?, ?, ?, ?)",
            [(i, *row) for i, row in enumerate(rows)],
        )

    def found(self, expression: str | None) -> set[int]:
        if expression is None:
            return set()
        sql = "SELECT rowid FROM t WHERE t MATCH ?"
        return {row[0] for row in self.connection.execute(sql, (expression,))}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    made = Index(TOKENIZER)
    yield made
    made.connection.close()


@pytest.fixture(scope="module")
def trigram_index() -> Iterator[Index]:
    made = Index("word_trigram remove_diacritics 2 variants 1", ", detail=none")
    yield made
    made.connection.close()


def evaluated(root: Node | None, rows: list[Row], substring: bool = False) -> set[int]:
    return {
        i
        for i, row in enumerate(rows)
        if reference.matches(root, [reference.positions(column) for column in row], substring)
    }


@given(documents, queries)
@example([("一二 二三", "", "")], "一二三")
@example([("牙医", "牙", "")], "牙*")
@example([("a\0b", "", "")], "a b")
@example([("หมอฟัน", "", "")], "หม")
@example([("東京 機密", "", ""), ("東京", "", "")], "東京 NOT 機密")
def test_index_matcher_and_evaluator_find_the_same_rows(
    index: Index, rows: list[Row], text: str
) -> None:
    query = parse(text)
    index.fill(rows)
    matcher = compile(query)
    expected = evaluated(query.root, rows)
    assert {i for i, row in enumerate(rows) if matcher.matches(*row)} == expected
    if query.servable("cjk"):
        assert index.found(to_fts5(query)) == expected
        assert index.found(to_fts5(query, superset=True)) == expected
    else:
        assert index.found(to_fts5(query, superset=True)) >= expected or not to_fts5(
            query, superset=True
        )


@given(documents, queries, st.data())
def test_what_is_not_asked_for_only_widens_what_is_found(
    index: Index, rows: list[Row], text: str, data: st.DataObject
) -> None:
    query = parse(text)
    phrases = [*query.phrases, *query.negative]
    unasked = data.draw(st.lists(st.sampled_from(phrases))) if phrases else []
    expression = to_fts5(query, superset=True, unasked=unasked)
    if expression is not None:
        index.fill(rows)
        assert index.found(expression) >= evaluated(query.root, rows)


@given(documents, queries)
def test_trigram_candidates_hold_every_row_found_inside_words(
    trigram_index: Index, rows: list[Row], text: str
) -> None:
    query = parse(text)
    matcher = compile(query, substring=True)
    expected = evaluated(query.root, rows, substring=True)
    assert {i for i, row in enumerate(rows) if matcher.matches(*row)} == expected
    expression = to_trigram(query)
    if expression is not None:
        trigram_index.fill(rows)
        assert trigram_index.found(expression) >= expected


@given(words, queries)
def test_frequencies_and_length_are_those_of_the_evaluator(text: str, asked: str) -> None:
    query = parse(asked)
    document = reference.positions(text)
    counted = [reference.frequency(leaf, document) for leaf in query.phrases]
    assert compile(query).count(text) == (counted, len(document))


def test_frequencies_and_length_are_those_of_fts5(index: Index) -> None:
    seen: list[tuple[list[int], int]] = []

    def measure(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> int:
        seen.append(
            ([len(api.phrase_locations(i)[0]) for i in range(api.phrase_count)],
             api.column_size(0))
        )  # fmt: skip
        return 0

    index.connection.register_fts5_function("measure", measure)
    text = "牙医牙医 牙 cache caches 东京 ﾃｽﾄ 京 🎉🎉 テスト約牙医"
    index.fill([(text, "", "")])
    for asked in ["牙医", "牙", "cach*", "テスト", "京 牙医", "🎉", '"牙 cache"']:
        query = parse(asked)
        list(index.connection.execute("SELECT measure(t) FROM t WHERE t MATCH ?",
                                      (to_fts5(query),)))  # fmt: skip
        assert compile(query).count(text) == seen.pop()


@given(words, queries, st.booleans())
def test_every_occurrence_folds_to_what_was_asked(text: str, asked: str, substring: bool) -> None:
    query = parse(asked)
    config = text_core.Config("remove_diacritics", "2", "variants", "1")
    matcher = compile(query, substring=substring)
    counts, _ = compile(query, substring=substring).count(text)
    found = matcher.occurrences(text)
    assert {hit[0] for hit in found} == {i for i, n in enumerate(counts) if n}
    for number, start, end in found:
        assert 0 <= start < end <= len(text)
        wanted = [token.text for token in query.phrases[number].tokens]
        # Alone, a piece of a run may be cut otherwise than inside it; its folding may not change.
        cut = [token for token, *_ in text_core.tokens(config, text[start:end], text_core.QUERY)]
        assert "".join(cut)[:1] == "".join(wanted)[:1]
        if query.phrases[number].flags == text_core.WORD:
            assert cut == wanted


@pytest.mark.parametrize(
    ("text", "asked", "spans"),
    [
        ("今天下雨了", "雨", ["雨"]),
        ("call ＡＰＩ", "api", ["ＡＰＩ"]),
        ("検証ﾃｽﾄ完了", "テスト", ["ﾃｽﾄ"]),
        ("か\u3099くせい", "がく", ["か\u3099く"]),
        ("か\u3099くせい", "が", ["か\u3099"]),
        ("東京都庁と東京", "東京", ["東京", "東京"]),
        ("running", "run*", ["run"]),
        ("ｒｕｎｎｉｎｇ", "run*", ["ｒｕｎ"]),
        ("e\u0301te\u0301s", "été*", ["e\u0301te\u0301"]),
        ("job_new1", "job_new", ["job_new"]),
        ("Øresund", "oresund", ["Øresund"]),
        ("a b a b", '"a b"', ["a b", "a b"]),
        ("🎉🎉", "🎉", ["🎉", "🎉"]),
        ("ไม่เป็นไร", "เป", ["เป"]),
        ("ที่กำหนด", "ี่ก", ["ี่ก"]),
        ("ที่กำหนด", "ี่กำห", ["ี่กำห"]),
        ("เมืองนี้", "ี้", ["ี้"]),
        ("ကြီးတယ်", "ီးတ", ["ီးတ"]),
    ],
)
def test_spans_are_the_exact_raw_characters(text: str, asked: str, spans: list[str]) -> None:
    found = sorted(compile(parse(asked)).occurrences(text), key=lambda hit: hit[1])
    assert [text[start:end] for _, start, end in found] == spans


@pytest.mark.parametrize(
    ("text", "asked", "spans"),
    [
        ("caches are cached", "ache", ["ache", "ache"]),
        ("ǆananas bananas", "anan", ["anan", "anan"]),
        ("ｃａｃｈｅ", "ach", ["ａｃｈ"]),
        ("cache_config", "che_con", ["che_con"]),
        ("aaaa", "aa", ["aa", "aa"]),
        ("pre\u0301fe\u0301re\u0301e", "éré", ["e\u0301re\u0301"]),
        ("把cacheA节点", "ache", ["ache"]),
        ("retryXmax", "retry_max", []),
    ],
)
def test_substrings_are_found_inside_words(text: str, asked: str, spans: list[str]) -> None:
    found = compile(parse(asked), substring=True).occurrences(text)
    assert [text[start:end] for _, start, end in found] == spans


@pytest.mark.parametrize(
    ("text", "asked", "found"),
    [
        ("真的好，好的", "的好的", False),
        ("真的好的", "的好的", True),
        ("一二 二三", "一二三", False),
        ("一二、三四", '"一二 三四"', True),
        ("我把 cacheA", "把cacheA", True),
        ("หม มอ", "หมอ", False),
    ],
)
def test_an_adjacent_run_has_no_gap(text: str, asked: str, found: bool) -> None:
    query = parse(asked)
    assert compile(query).matches(text)
    assert compile(query, adjacent=True).matches(text) is found
    assert found or query.phrases[0].gapless


def test_only_runs_of_three_and_more_are_gapless() -> None:
    asked = ["牙医", "牙医 复诊", '"牙医 复诊"', "cacheA", "牙医复", "预约หมอ"]
    assert [parse(text).phrases[0].gapless for text in asked] == [False] * 4 + [True] * 2


def test_a_phrase_must_lie_inside_one_column() -> None:
    matcher = compile(parse('"a b"'))
    assert not matcher.matches("x a", "b y")
    assert matcher.matches("x", None, "a b")


def test_columns_share_one_tree() -> None:
    matcher = compile(parse("a b NOT c"))
    assert matcher.matches("a", "b")
    assert not matcher.matches("a", "b", "c")


def test_bytes_and_text_give_the_same_occurrences() -> None:
    matcher = compile(parse("医 b"))
    text = "牙医 b"
    assert matcher.occurrences(text) == [(0, 1, 2), (1, 3, 4)]
    assert matcher.occurrences(text.encode()) == [(0, 3, 6), (1, 7, 8)]


def test_occurrences_stop_at_the_limit() -> None:
    matcher = compile(parse("a NOT b"))
    assert len(matcher.occurrences("b a " * 1_000)) == 1_000
    assert len(matcher.occurrences("b a " * 1_000, limit=7)) == 7
    assert matcher.occurrences("a", limit=0) == []


def test_nothing_positive_matches_nothing() -> None:
    for asked in ["NOT x", "", "..."]:
        matcher = compile(parse(asked))
        assert not matcher.matches("x y", "z")
        assert matcher.occurrences("x y") == []
        assert matcher.count("x y") == ([], 2)


@given(st.binary(max_size=60), st.binary(max_size=6), st.booleans())
def test_any_bytes_are_safe(data: bytes, part: bytes, substring: bool) -> None:
    asked = parse(part.decode(errors="surrogateescape") + " OR 牙 OR a*")
    matcher = compile(asked, substring=substring)
    for _number, start, end in matcher.occurrences(data):
        assert 0 <= start < end <= len(data)
    assert isinstance(matcher.matches(data), bool)


@pytest.mark.parametrize("value", [3, 2.5, ["a"]])
def test_a_text_of_another_type_is_refused(value: object) -> None:
    matcher = compile(parse("a"))
    with pytest.raises(TypeError):
        matcher.matches(value)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        matcher.occurrences(value)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        compile("a")  # type: ignore[arg-type]


def test_a_word_of_a_megabyte_is_searched_inside() -> None:
    text = "é" * 500_000 + "needle" + "é" * 500_000
    matcher = compile(parse("needle OR eeneed"), substring=True)
    assert sorted(matcher.occurrences(text)) == [(0, 500_000, 500_006), (1, 499_998, 500_004)]


@pytest.mark.parametrize(
    ("text", "asked", "found"),
    [
        ("は" + "\ufe00" * 300_000 + "\u3099かき", "ば", [(0, 0, 300_002)]),
        ("は" + "\u3099" + "\ufe00" * 300_000 + "かき", "ば", [(0, 0, 2)]),
        ("a" + "\u0301" * 300_000 + "b", "a*", [(0, 0, 300_001)]),
        ("ก" + "\u0e48\u0e38" * 100_000 + "ข", "ก", [(0, 0, 1)]),
        ("\u1100\u1161" + "\ufe0f" * 300_000 + "나", "가", [(0, 0, 2)]),
        ("🇯" + "\U000e0067" * 300_000, "🇯", [(0, 0, 300_001)]),
    ],
)
def test_a_long_run_of_marks_is_part_of_what_it_stands_in(
    text: str, asked: str, found: list[tuple[int, int, int]]
) -> None:
    assert compile(parse(asked)).occurrences(text) == found


@pytest.mark.parametrize(
    ("text", "asked", "spans"),
    [
        ("ⅧⅧ", "i", ["Ⅷ", "Ⅷ"]),
        ("oﬃce oﬃce", "fic", ["ﬃc", "ﬃc"]),
        ("straßen", "ss", ["ß"]),
        ("㍿東京", "社", ["㍿"]),
        ("㍿東京", "株", ["㍿"]),
        ("ﷺ", "الله", ["ﷺ"]),
    ],
)
def test_a_character_that_is_several_is_marked_whole(
    text: str, asked: str, spans: list[str]
) -> None:
    found = compile(parse(asked, config=STORE_OPTIONS), substring=True).occurrences(text)
    assert [text[start:end] for _, start, end in found] == spans


@given(words, queries, st.booleans())
def test_a_deadline_that_does_not_pass_changes_nothing(
    text: str, asked: str, substring: bool
) -> None:
    matcher = compile(parse(asked), substring=substring)
    text *= 500
    late = time.monotonic() + 3_600
    assert matcher.matches(text, deadline=late) == matcher.matches(text)
    assert matcher.count(text, deadline=late) == matcher.count(text)
    assert matcher.occurrences(text, deadline=late) == matcher.occurrences(text)


@pytest.mark.parametrize(
    "text",
    ["word " * 20_000, "é" * 20_000, "医" * 20_000, "a" * 20_000, "\ufe00" * 20_000, " " * 20_000],
)
def test_a_deadline_that_has_passed_ends_the_reading_of_a_long_text(text: str) -> None:
    matcher = compile(parse("needle NOT other"))
    past = time.monotonic() - 1
    for ask in (matcher.matches, matcher.count, matcher.occurrences):
        with pytest.raises(QueryTimeout):
            ask(text, deadline=past)
    assert matcher.matches("a needle", deadline=past)  # a short one is read in one go


def test_many_phrases_are_found_in_one_pass() -> None:
    leaves = [phrase(f"word{i}") for i in range(3_000)]
    matcher = compile(Or([leaf for leaf in leaves if leaf is not None]))
    text = " ".join(f"word{i}" for i in range(0, 3_000, 7))
    assert [hit[0] for hit in matcher.occurrences(text)] == list(range(0, 3_000, 7))


def test_repeated_tokens_of_a_phrase_overlap() -> None:
    assert compile(parse('"a a a"')).count("a a a a a") == ([3], 5)
    assert compile(parse("哈哈哈")).count("哈哈哈哈哈") == ([3], 4)


def test_a_matcher_is_shared_by_threads() -> None:
    matcher = compile(parse("牙医 cache*"))
    text = "预约牙医 " * 2_000 + "caches " * 2_000
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: matcher.count(text)[0], range(40)))
    assert counts == [[2_000, 2_000]] * 40


def deep_tree(levels: int) -> Node:
    a, b, c = (phrase(word) for word in "abc")
    assert isinstance(a, Phrase)
    assert isinstance(b, Phrase)
    assert isinstance(c, Phrase)
    tree: Node = a
    for _ in range(levels):
        tree = Or([c, Not(And([a, b]), tree)])
    return tree


def test_the_deepest_query_is_within_the_stack_of_every_fts5(index: Index) -> None:
    text = "a"
    for _ in range(30):
        text = f"(c OR a b NOT ({text}))"
    query = parse(text)
    index.fill([("a b c", "", ""), ("a b", "", ""), ("x", "", "")])
    assert index.found(to_fts5(query)) == evaluated(query.root, [("a b c", "", ""),
                                                                 ("a b", "", "")])  # fmt: skip
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    connection.execute("SELECT * FROM t WHERE t MATCH ?", (to_fts5(query),)).fetchall()
    connection.close()


def test_a_tree_too_deep_to_evaluate_is_refused() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        compile(deep_tree(300))


@pytest.mark.parametrize(
    ("asked", "expression"),
    [
        ("cache", '"cac" AND "ach" AND "che"'),
        ("cache 牙医", '"cac" AND "ach" AND "che"'),
        ("cache OR 牙医", None),
        ("ab", None),
        ("abc OR def", '"abc" OR "def"'),
        ("abc NOT def", '"abc"'),
        ("QX-417", '"417"'),
    ],
)
def test_trigrams_are_single_terms(asked: str, expression: str | None) -> None:
    printed = to_trigram(parse(asked))
    assert (printed or "").strip("()") == (expression or "")


def test_stock_trigrams_take_every_script() -> None:
    assert to_trigram(parse("地铁站 AND abc"), stock=True) == '"地铁站" AND "abc"'
    assert to_trigram(parse("牙医 地铁站"), stock=True) == '"地铁站"'
    assert to_trigram(parse("牙医"), stock=True) is None


def test_a_superset_leaves_out_what_a_route_cannot_serve() -> None:
    assert to_fts5(parse("cache 牙医"), "fts5", superset=True) == '"cache"'
    assert to_fts5(parse("cache OR 牙医"), "fts5", superset=True) is None
    assert to_fts5(parse("cache NOT 牙医"), "fts5", superset=True) == '"cache"'
    assert to_fts5(parse("cache NOT queue"), "fts5", superset=True) == '"cache" NOT "queue"'
