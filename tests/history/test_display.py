# SPDX-License-Identifier: MIT
"""The bound on an answer's size is never below its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemogram import SearchHit
from mnemogram.history import display
from mnemogram.history.models import EvidenceMessage

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
