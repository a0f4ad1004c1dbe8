# SPDX-License-Identifier: MIT
"""The bound on an answer's size is never below its size, and what fits is left as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemogram import SearchHit, SearchResult
from mnemogram.history import display
from mnemogram.history.models import EvidenceMessage, LegacyImport

texts = st.text(st.characters(codec=None), max_size=30) | st.sampled_from(("\0" * 40, "\ud800" * 9))
maybe = st.none() | texts
number = st.integers(0, 2**63 - 1)
time = st.just("2026-11-30T23:59:59.123456+00:00")
message = st.builds(
    EvidenceMessage,
    id=number,
    uid=texts,
    role=st.just("assistant"),
    timestamp=time,
    state=st.just("compacted"),
    provenance=texts,
    content=texts,
    tool_name=maybe,
    tool_call_id=maybe,
    tool_calls=st.none() | st.lists(texts, max_size=3),
    tool_status=maybe,
    anchor=st.booleans(),
    content_truncated=st.booleans(),
    original_content_chars=number,
)
messages = st.lists(message, max_size=3).map(tuple)
hits = st.builds(
    SearchHit,
    session_id=texts,
    title=maybe,
    source=texts,
    model=maybe,
    when=time,
    matched_role=st.just("assistant"),
    match_message_id=number,
    snippet=texts,
    score=st.floats(allow_nan=False, allow_infinity=False),
    messages=messages,
    bookend_start=messages,
    bookend_end=messages,
    messages_before=number,
    messages_after=number,
    detail=st.just("anchor"),
    parent_session_id=maybe,
)


@given(hits)
def test_no_hit_is_larger_than_its_bound(hit: SearchHit) -> None:
    assert display.json_bytes(hit) <= display.json_bytes_at_most(hit)


@given(
    st.lists(hits, max_size=3).map(tuple),
    texts,
    st.integers(400, 20_000),
)
def test_an_answer_that_fits_is_left_as_it_is_and_only_that_one(
    found: tuple[SearchHit, ...], query: str, budget: int
) -> None:
    answer = SearchResult(
        success=True,
        mode="discover",
        query=query,
        detail="full",
        results=found,
        count=len(found),
        search_path="cjk",
        complete=True,
        candidate_limit=1_000,
        candidate_limit_reached=False,
        index_status={"messages_fts_cjk": True},
        legacy_import=LegacyImport(True),
        hint=None,
        cursor=None,
    )
    fits = display.json_bytes(answer) <= budget
    assert (display.bounded(answer, budget) is answer) == fits
