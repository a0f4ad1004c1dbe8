# SPDX-License-Identifier: MIT
"""Triples from documents: pinned to their source, never an instruction."""

from __future__ import annotations

from typing import Any

import pytest

from mnemogram.errors import InvalidArgument
from mnemogram.memory import Document, SceneMemory, Triple, triples_from_document


def test_every_fact_is_pinned_to_its_source_with_the_trust_of_a_document(
    memory: SceneMemory,
) -> None:
    document = Document(
        "Feishu Docs",
        "House rules",
        facts=[
            Triple("guests", "leave by", "ten", kind="rule", trust="confirmed", scene="chan:qq"),
            ("pool", "closes at", "nine"),
            {"subject": "keys", "relation": "hang", "object": "by the door", "sentence": "Keys."},
        ],
        author="Ana",
    )
    triples = triples_from_document(document)
    assert {each.scene for each in triples} == {"chan:feishu_docs"}
    assert {each.trust for each in triples} == {"document"}
    memory.commit(triples)
    assert len(memory.recall_by_scene("chan:feishu_docs")) == 4
    assert not memory.recall_by_scene("chan:qq")
    text = memory.build_context("", scenes="chan:feishu_docs").format()
    assert "follow them" not in text
    assert text.count("read in a document") == 4


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("---\nstatus: draft\nowner: Mei\n---\nbody: not this\n", {"status", "owner"}),
        ("项目：海港\n负责人： 小林\n\n正文开始。\n备注：不取", {"项目", "负责人"}),
        ("# Title\n- Due: Friday\n* Place: Porto\nSome prose here.\nLater: no", {"Due", "Place"}),
        ("https://example.org/a\nplain words", set()),
        ("", set()),
    ],
)
def test_the_pairs_at_the_head_of_a_text_are_taken_and_prose_is_not(
    text: str, pairs: set[str]
) -> None:
    triples = triples_from_document({"source": "wiki", "title": "Page", "text": text})
    assert {each.relation for each in triples} == pairs
    assert all(each.subject == "Page" and each.sentence for each in triples)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"title": "x"}, "source"),
        ({"source": "x"}, "title"),
        ({"source": " ", "title": "x"}, "source"),
        ({"source": "a", "title": "b", "facts": [("a", "b")]}, r"facts\[0\]"),
    ],
)
def test_a_document_without_source_title_or_triples_is_refused(
    document: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        triples_from_document(document)


def test_sources_that_differ_in_signs_are_two_scenes() -> None:
    scenes = {
        triples_from_document({"source": name, "title": "x", "author": "y"})[0].scene
        for name in ("!!", "??", "a/b", "a b")
    }
    assert len(scenes) == 4
