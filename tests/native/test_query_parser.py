# SPDX-License-Identifier: MIT
"""Any string is a legal query, and reads as the language says."""

from __future__ import annotations

import copy
import pickle
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemogram._native import query as q
from mnemogram._native.query import And, Node, Not, Or, Phrase, parse

Route = Literal["cjk", "fts5", "trigram", "stock_trigram", "like"]


def show(node: Node | None) -> str:
    """A tree as text: ``<one two>`` a phrase, ``*`` a prefix."""
    match node:
        case None:
            return ""
        case Phrase():
            words = " ".join(token.text for token in node.tokens)
            return f"<{words}>*" if node.prefix else f"<{words}>"
        case And():
            return f"({' & '.join(map(show, node.children))})"
        case Or():
            return f"({' | '.join(map(show, node.children))})"
        case Not():
            return f"({show(node.keep)} - {show(node.drop)})"
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        # words and what joins them
        ("cache", "<cache>"),
        ("pricing draft", "(<pricing> & <draft>)"),
        ("QX-417", "<qx 417>*"),
        ("src/io/reader.py", "<src io reader py>*"),
        ("ops@example.org", "<ops example org>*"),
        ("40%", "<40>"),
        (".env", "<env>"),
        ("8.8.8.8", "<8 8 8 8>*"),
        ("ok?", "<ok>"),
        ("#512", "<512>"),
        ("config.", "<config>"),
        ("retry_max", "<retry max>*"),
        ("retry_max: 5", "(<retry max>* & <5>)"),
        ("C:\\tmp\\a.txt", "<c tmp a txt>*"),
        ("C:\\Users", "<c users>*"),
        ("ns::item", "<ns item>*"),
        ("it's", "<it s>"),
        ("l’eau", "<l eau>"),
        ('foo"bar', "<foo bar>*"),
        ("“smart”", "<smart>"),
        ("「牙医」", "<牙医>"),
        ("node -v", "(<node> & <v>)"),
        ("--flag - `tick` ...", "(<flag> & <tick>)"),
        ("see the config.", "(<see> & <the> & <config>)"),
        ("alpha\0bravo", "(<alpha> & <bravo>)"),
        ("cache cache Cache", "<cache>"),
        ("a　b\u00a0c", "(<a> & <b> & <c>)"),
        ("print(x) f()", "(<print x>* & <f>)"),
        ("content: cache ^first +more NEAR(a b)", "(<content> & <cache> & <first> & <more> & "
         "<near a>* & <b>)"),
        # scripts
        ("牙医", "<牙医>"),
        ("东京都厅", "<东京 京都 都厅>"),
        ("雨", "<雨>*"),
        ("把cacheA节点", "<把 cachea 节点>"),
        ("cacheA把", "<cachea 把>*"),
        ("一二、三四", "(<一二> & <三四>)"),
        ("你好，牙医！", "(<你好> & <牙医>)"),
        ("🎉", "<🎉>"),
        ("ＡＢＣ１２３", "<abc123>"),
        ("臺灣", "<台湾>"),
        ("हिन्दी", "<ह न द>"),
        ("ﾃｽﾄ", "<テス スト>"),
        # prefixes
        ("cach*", "<cach>*"),
        ("复诊*", "<复诊>*"),
        ("src/rea*", "<src rea>*"),
        ('"foo bar"*', "<foo bar>*"),
        ('"foo bar" *', "<foo bar>"),
        ("**bold**", "<bold>"),
        ("a*b", "<a b>*"),
        # phrases
        ('"flight reservation"', "<flight reservation>"),
        ('"job_new"', "<job new>"),
        ('"AND" x', "(<and> & <x>)"),
        ('title:"two words"', "(<title> & <two words>)"),
        ('"a b" "c d"', "(<a b> & <c d>)"),
        ('"a b"OR"c d"', "(<a b> | <c d>)"),
        ('"(a OR b)"', "<a or b>"),
        # operators
        ("a OR b", "(<a> | <b>)"),
        ("a AND b", "(<a> & <b>)"),
        ("a NOT b", "(<a> - <b>)"),
        ("a AND NOT b", "(<a> - <b>)"),
        ("a b NOT c d", "((<a> & <b> & <d>) - <c>)"),
        ("a NOT b NOT c", "(<a> - (<b> | <c>))"),
        ("a OR b c", "(<a> | (<b> & <c>))"),
        ("a b OR c", "((<a> & <b>) | <c>)"),
        ("(a OR b) c", "((<a> | <b>) & <c>)"),
        ("a NOT (b c)", "(<a> - (<b> & <c>))"),
        ("a NOT (b NOT c)", "(<a> - (<b> - <c>))"),
        ("a NOT (NOT b)", "(<a> & <b>)"),
        ("NOT b a", "(<a> - <b>)"),
        ("NOT(b) a", "(<a> - <b>)"),
        ("(NOT b) a", "(<a> - <b>)"),
        ("((((x))))", "<x>"),
        ("a or b and not c", "(<a> & <or> & <b> & <and> & <not> & <c>)"),
        ("错题 OR wrong-key", "(<错题> | <wrong key>*)"),
        ("東京 NOT 機密", "(<东京> - <机密>)"),
        # operators without operands
        ("AND", "<and>"),
        ("NOT", "<not>"),
        ("AND OR", "(<and> & <or>)"),
        ("(OR)", "<or>"),
        ("cache OR", "<cache>"),
        ("OR cache", "<cache>"),
        ("cache NOT", "<cache>"),
        ("cache AND OR queue", "(<cache> | <queue>)"),
        ("cache OR ... queue", "(<cache> | <queue>)"),
        ("cache NOT ... queue", "(<cache> & <queue>)"),
        ("NOT NOT x y", "(<y> - <x>)"),
        ("a OR NOT b", "<a>"),
        ("(a) OR ()", "<a>"),
        # nothing positive, or nothing at all
        ("NOT x", ""),
        ("AND NOT cache", ""),
        ("NOT a OR NOT b", ""),
        ("", ""),
        ("*", ""),
        ('""', ""),
        ('"*"', ""),
        ("... — !!", ""),
        # what does not balance
        ("( a", "<a>"),
        ("a )b OR c", "((<a> & <b>) | <c>)"),
        ("a) b OR c", "((<a> & <b>) | <c>)"),
        ("(a OR b", "(<a> | <b>)"),
        (")(", ""),
        ('say "hello world', "(<say> & <hello> & <world>)"),
        ('x" OR y*', "(<x> & <or> & <y>)"),
        ('x"" OR y', "(<x> | <y>)"),
        ('"a" OR "b', "(<a> | <b>)"),
    ],
)  # fmt: skip
def test_a_query_reads_as(text: str, tree: str) -> None:
    assert show(parse(text).root) == tree


@pytest.mark.parametrize("text", ["NOT x", "AND NOT cache", "NOT (a OR b)"])
def test_excluding_alone_is_reported_and_never_turned_round(text: str) -> None:
    query = parse(text)
    assert query.root is None
    assert query.phrases == ()
    assert query.negative
    assert "nothing positive to search for" in query.notes


@pytest.mark.parametrize("text", ["*", "", '""', '"*"', " ", "...", "()", "。。。"])
def test_a_query_without_tokens_says_so(text: str) -> None:
    query = parse(text)
    assert query.root is None
    assert "nothing to search for" in query.notes


def test_what_was_cut_is_said() -> None:
    assert "cut to its first 2048" in " ".join(parse("好" * 60_000).notes)
    assert parse("好" * 60_000).truncated
    many = parse(" OR ".join(f"t{i}" for i in range(20_000)))
    assert len(many.phrases) == q.MAX_TERMS
    assert "only the first 64 terms were searched for" in many.notes
    deep = parse("(" * 98 + "x" + ")" * 98 + " OR y")
    assert show(deep.root) == "(<x> | <y>)"
    assert "groups deeper than 20 were opened up" in deep.notes


def test_a_cut_falls_between_words_where_there_is_one() -> None:
    query = parse("word " * 500 + "tail")
    assert len(query.text) <= q.MAX_CHARS
    assert show(query.root) == "<word>"


def test_a_dropped_chunk_is_reported() -> None:
    assert parse("cache ***").notes == ("*** holds nothing that can be searched for",)


@pytest.mark.parametrize(
    ("text", "explicit"),
    [("a b", False), ("a AND b", False), ("a OR b", True), ("a NOT b", True), ("a OR", False),
     ('"a OR b"', False), ("OR", False)],
)  # fmt: skip
def test_or_and_not_are_explicit_operators(text: str, explicit: bool) -> None:
    assert parse(text).explicit_operators is explicit


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a b-c", True), ("我上次预约牙医是什么时候", True), ("a*", False), ('"a"', False),
     ("(a)", False), ("a AND b", False), ("AND", True)],
)  # fmt: skip
def test_a_plain_query_is_words_only(text: str, plain: bool) -> None:
    assert parse(text).plain is plain


def test_positive_and_negative_leaves_are_told_apart() -> None:
    query = parse("a (b OR c) NOT (d NOT e)")
    assert [phrase.text for phrase in query.phrases] == ["a", "b", "c"]
    assert [phrase.text for phrase in query.negative] == ["d", "e"]


def test_a_phrase_knows_where_it_came_from() -> None:
    text = "see 把cacheA节点 now"
    phrase = parse(text).phrases[1]
    assert (phrase.start, phrase.end, phrase.text) == (4, 13, "把cacheA节点")
    assert [(token.text, text[token.start : token.end]) for token in phrase.tokens] == [
        ("把", "把"),
        ("cachea", "cacheA"),
        ("节点", "节点"),
    ]
    assert phrase.tokens[0].flags == q.CJK | q.SINGLE
    assert phrase.tokens[1].flags == q.WORD


@pytest.mark.parametrize(
    ("text", "routes"),
    [
        ("cache", "cjk fts5 trigram stock_trigram like"),
        ("ab", "cjk fts5 like"),
        ("牙医", "cjk like"),
        ("地铁站", "cjk stock_trigram like"),
        ("把cacheA", "cjk trigram stock_trigram like"),
        ("หมอ", "cjk stock_trigram like"),
        ("ี่กา", "stock_trigram like"),
        ("🎉", "cjk like"),
    ],
)
def test_a_phrase_knows_which_index_can_find_it(text: str, routes: str) -> None:
    query = parse(text)
    every: tuple[Route, ...] = ("cjk", "fts5", "trigram", "stock_trigram", "like")
    assert [route for route in every if query.phrases[0].servable(route)] == routes.split()
    assert [route for route in every if query.servable(route)] == routes.split()


def test_an_unknown_route_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown route"):
        parse("a").phrases[0].servable("grep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown route"):
        q.to_fts5(parse("a"), "grep")  # type: ignore[arg-type]


def test_other_tokenizer_arguments_cut_otherwise() -> None:
    assert show(parse("臺灣 QX-417", {"variants": 0, "tokenchars": "-"}).root) == (
        "(<臺灣> & <qx-417>)"
    )
    with pytest.raises(ValueError, match="unknown argument"):
        parse("a", {"no_such": 1})


def test_a_literal_phrase_has_no_operators() -> None:
    made = q.phrase('a OR "b" (c) d*')
    assert show(made) == "<a or b c d>"
    assert show(q.phrase("foo ba", prefix=True)) == "<foo ba>*"
    assert q.phrase("...") is None


def test_nodes_can_be_put_together_by_hand() -> None:
    a, b, c = parse("a b c").phrases
    assert show(Not(Or([a, b, a]), And([b, And([c, b])]))) == "((<a> | <b>) - (<b> & <c>))"
    assert Or([a, b]) == Or([b, a])
    assert len({And([a, b]), And([b, a]), Or([a, b])}) == 2
    with pytest.raises(TypeError):
        And(["a"])  # type: ignore[list-item]


def test_nodes_are_immutable_and_survive_copying() -> None:
    query = parse("a (b* OR 牙医) NOT c")
    assert query.root is not None
    with pytest.raises(AttributeError):
        query.root.keep = None  # type: ignore[attr-defined]
    assert copy.deepcopy(query.root) == query.root
    assert pickle.loads(pickle.dumps(query.root)) == query.root


@pytest.mark.parametrize("text", [None, b"bytes", 7])
def test_a_query_that_is_no_string_is_refused(text: object) -> None:
    with pytest.raises(TypeError):
        parse(text)  # type: ignore[arg-type]


ANY = st.lists(
    st.one_of(
        st.sampled_from(
            "ab AND OR NOT (\"*)“”、。雨牙医ก็🎉👩\u200d\ufe0f\u0301\0\ud800'-_./:^+{}|&~"
        ),
        st.characters(),
        st.sampled_from([" AND ", " OR ", " NOT ", "((", '" ', ' "']),
    ),
    max_size=60,
).map("".join)


@given(ANY)
@example('"')
@example("(" * 3_000)
@example('"' * 3_000)
@example("a " * 3_000)
@example("NOT " * 3_000)
def test_every_string_is_a_legal_query(text: str) -> None:
    query = parse(text)
    if query.root is None:
        assert "nothing" in " ".join(query.notes)
        assert q.to_fts5(query) is None
    else:
        assert query.phrases
        assert q.to_fts5(query)
    assert len(query.phrases) + len(query.negative) <= q.MAX_TERMS
    for phrase in query.phrases + query.negative:
        assert query.text[phrase.start : phrase.end] == phrase.text
        again = q.phrase(phrase.text)
        assert again is not None
        assert [token.text for token in again.tokens] == [token.text for token in phrase.tokens]
