# SPDX-License-Identifier: MIT
"""The values of the history: what goes in, and the evidence that comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, Literal, TypeAlias

from mnemogram.moments import Time
from mnemogram.values import Value

__all__ = [
    "AppendResult",
    "BrowseResult",
    "Conversation",
    "EvidenceMessage",
    "IndexReport",
    "LegacyImport",
    "Message",
    "ReadResult",
    "Role",
    "ScrollResult",
    "SearchHit",
    "SearchResult",
    "Session",
    "SessionSummary",
    "SourceCount",
    "State",
    "Status",
    "StoredMessage",
    "Updated",
]

Role: TypeAlias = Literal["user", "assistant", "tool"]
State: TypeAlias = Literal["active", "compacted", "rewound"]

ROLES: Final = ("user", "assistant", "tool")
STATES: Final = ("active", "compacted", "rewound")


# --- what goes in ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation, named by the host.

    Attributes:
        id: the host's own id, unique for the user.
        source: where the conversation happens (``chat``, ``cli``, ``cron``, ...).
        title: shown in results and searched.
        model: the model that answers.
        parent: id of the session that this one continues; it may arrive later.
        started_at: aware datetime or ISO 8601; the first message's time by default.
        tags: short words to find it by, at most 64; given, they take the place of those it
            has. None leaves them as they are.
        metadata: a JSON object of the host's, at most 16 KiB, given back as it is; given, it
            takes the place of what was there. None leaves it as it is.
    """

    id: str
    _: KW_ONLY
    source: str = "chat"
    title: str | None = None
    model: str | None = None
    parent: str | None = None
    started_at: Time | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance.

    Attributes:
        role: ``user``, ``assistant`` or ``tool``.
        content: the whole text; None counts as empty.
        uid: the host's own id, unique in its session; derived where missing.
        timestamp: aware datetime, ISO 8601 or Unix seconds; the time of the append by
            default.
        tool_calls: what the assistant asked for: JSON-ready value or JSON text.
        tool_call_id, tool_name, tool_status: which call a tool message answers, and how.
        provenance: ``observed``, or ``legacy_snapshot`` for imported ones.
        metadata: a JSON object of the host's, at most 16 KiB, given back as it is.
    """

    role: Role
    content: str | None
    _: KW_ONLY
    uid: str | None = None
    timestamp: Time | None = None
    tool_calls: Any = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_status: str | None = None
    provenance: str = "observed"
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as another program holds it now.

    Attributes:
        session: the conversation.
        messages: what stands of it, in order; each with a uid of the program's.
        left: messages on branches that were left: kept, and hidden like what was undone.
        states: by uid, the state of messages that are not ``active``; they may have
            come with an earlier piece of the conversation.
        live, gone, newest: where the program's whole conversation is known: the uids
            that stand, those that were left, and the latest time. What is stored of the
            conversation and is in neither was taken back, unless something stored is
            newer than ``newest``: then this is an older copy, and takes nothing back.
        unique: no other conversation has messages with these uids, except for copies of
            them. One that begins with copies continues the one that it copied, and they
            are stored once.
        made: the session's id was made of what it holds: ``NAME-`` and 20 hexadecimal
            digits, the first ten from the first message alone. What is stored under such an
            id, and is the beginning of this conversation or all of it and more, is it.
        after: of a later piece of such a conversation: uid of the message before it.
        end_reason: why the conversation ended, as for ``History.end_session``.
    """

    session: Session
    messages: Sequence[Message]
    _: KW_ONLY
    left: Sequence[Message] = ()
    states: Mapping[str, State] = field(default_factory=dict)
    live: frozenset[str] | None = None
    gone: frozenset[str] = frozenset()
    newest: Time | None = None
    unique: bool = False
    made: bool = False
    after: str | None = None
    end_reason: str | None = None


# --- what comes out --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AppendResult(Value):
    """What an append did.

    Attributes:
        inserted: messages stored now.
        repeated: messages whose uid was there before; nothing was changed.
        refused: messages refused because their session was deleted.
        ids: the store's id of each message given, in order; None where refused.
        notes: one sentence for each text that had to be changed to be storable.
        changed: how many of the repeated came with other text than what is stored.
    """

    inserted: int
    repeated: int
    refused: int
    ids: tuple[int | None, ...]
    notes: tuple[str, ...] = ()
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Updated(Value):
    """What became of a conversation that another program holds.

    Attributes:
        inserted: messages stored now.
        repeated: messages that were there before.
        amended: how many of those have other text now.
        changed: how many came with other text that is not newer; they stay as they are.
        rewound: messages that are hidden now, because their branch was left or they
            were taken back.
        refused: messages refused because their session was deleted.
        notes: what had to be changed or left out.
    """

    inserted: int = 0
    repeated: int = 0
    amended: int = 0
    changed: int = 0
    rewound: int = 0
    refused: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceMessage(Value):
    """A stored message as shown to a reader, possibly cut, with the cut marked.

    Attributes:
        anchor: whether it is the message that matched or was asked for.
        content_truncated: whether ``content`` is shorter than what is stored.
        original_content_chars: length of the stored content in code points.
        metadata: what the host keeps with it.
    """

    id: int
    uid: str
    role: Role
    timestamp: str | None
    state: State
    provenance: str
    content: str
    tool_name: str | None
    tool_call_id: str | None
    tool_calls: Any
    tool_status: str | None
    anchor: bool
    content_truncated: bool
    original_content_chars: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredMessage(Value):
    """A message as it is stored, whole.

    Attributes:
        id: the store's id.
        session_id: the session it belongs to.
        timestamp: ISO 8601 in UTC; None where nobody knows it.
        metadata: what the host keeps with it.
    """

    id: int
    session_id: str
    uid: str
    role: Role
    timestamp: str | None
    state: State
    provenance: str
    content: str
    tool_name: str | None
    tool_call_id: str | None
    tool_calls: Any
    tool_status: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExplainedTerm(Value):
    """What one part of a query gave a result.

    Attributes:
        text: the part.
        kind: ``word`` (of scripts without spaces, a pair of characters), ``prefix`` (what other
            forms of a word begin with), ``phrase`` (two that touch, a whole run), or ``query`` (as
            it was typed).
        where: how often it stands in the message's ``content``, ``tool_name`` and
            ``tool_calls``, and in the session's ``title``.
        weight: what it can give, by its rarity; None where nothing was scored.
        points: what it gave.
    """

    text: str
    kind: str
    where: Mapping[str, int]
    weight: float | None = None
    points: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation(Value):
    """Why a result stands where it does.

    Attributes:
        by: ``score``; ``index`` where only the index scored it; ``time`` where the answer is
            sorted by it; ``title`` or ``exact_title`` of the session.
        terms: the parts of the query that are there, those that gave most first.
        points: what the score is the sum of: ``words``, ``prefixes``, ``phrases``,
            ``trigrams`` (BM25 of the parts, and of what is inside of words), ``title``, ``newer``
            (of messages that say nearly the same), ``neighbours`` (hits beside it),
            ``date`` (said when the query says),
            ``nearness`` (spelling, phrase and distances, of those with the same words),
            ``recency``, ``above_parts`` (all of the query, above parts of it).
        as_typed: whether the query stands there as it was typed.
        otherwise_spelled: words that stand there in another spelling only.
        tokens_between: how many other tokens the query's words enclose where they are nearest
            to each other.
        recency: what its age leaves of the score, 1.0 for all; None without a half-life.
    """

    by: Literal["score", "index", "time", "title", "exact_title"]
    terms: tuple[ExplainedTerm, ...]
    points: Mapping[str, float]
    as_typed: bool | None = None
    otherwise_spelled: int | None = None
    tokens_between: int | None = None
    recency: float | None = None


@dataclass(frozen=True, slots=True)
class SearchHit(Value):
    """One conversation that answers the query, by its best message.

    Attributes:
        when: time of the matched message.
        snippet: excerpt around the match, the matched characters between marks.
        score: larger is better; comparable inside one answer only.
        messages: the matched message and its surroundings, in order.
        bookend_start, bookend_end: first and last messages of the session.
        messages_before, messages_after: how many more there are on each side.
        partial: whether it holds parts of the query only.
        found_by: what found it: a route as in ``search_path``, ``like`` where its text was
            read (an index has not reached it, or does not hold it), ``title``, or ``tag``
            where tags were needed, alone or with the title.
        tags, metadata: of the session.
        explanation: why it stands where it does, where that was asked for.
    """

    session_id: str
    title: str | None
    source: str
    model: str | None
    when: str | None
    matched_role: Role | None
    match_message_id: int | None
    snippet: str
    score: float
    messages: tuple[EvidenceMessage, ...]
    bookend_start: tuple[EvidenceMessage, ...]
    bookend_end: tuple[EvidenceMessage, ...]
    messages_before: int
    messages_after: int
    detail: Literal["full", "anchor"]
    parent_session_id: str | None
    partial: bool = False
    found_by: str = ""
    explanation: Explanation | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LegacyImport(Value):
    """How far the import from the host's older store has come."""

    complete: bool
    imported: int = 0
    set_aside: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult(Value):
    """The answer of ``History.search``.

    Attributes:
        search_path: the route that answered: ``cjk``, ``cjk_or``, ``fts5``,
            ``fts5_or``, ``trigram``, ``like`` or ``empty``. Those with ``_or`` hold
            parts of the query; ``like``, without an index, where the hint says so. Where
            several answered, ``found_by`` of each result tells.
        complete: whether every message was looked at.
        candidate_limit_reached: whether candidates were left unexamined.
        index_status: for each FTS table true, false, or its building progress.
        cursor: pass it to the next search to go on after these results.
        found_by: the routes of the results, in their order.
        left_out: hidden sources that match too, and how many conversations of each.
        about: how many conversations match, those of earlier pages left out; None where
            it was not counted.
        about_exact: whether that is the number, and not the least that it can be.
        did_you_mean: where nothing matches, indexed words that are one edit away from those
            of the query; they were not searched for.
    """

    success: bool
    mode: Literal["discover"]
    query: str
    detail: str
    results: tuple[SearchHit, ...]
    count: int
    search_path: str
    complete: bool
    candidate_limit: int
    candidate_limit_reached: bool
    index_status: Mapping[str, Any]
    legacy_import: LegacyImport
    hint: str | None
    cursor: str | None
    found_by: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    about: int | None = None
    about_exact: bool = False
    did_you_mean: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScrollResult(Value):
    """Messages around an anchor."""

    success: bool
    mode: Literal["scroll"]
    session_id: str
    title: str | None
    source: str
    around: int
    messages: tuple[EvidenceMessage, ...]
    messages_before: int
    messages_after: int
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ReadResult(Value):
    """The beginning and the end of a session, or a page of it.

    Attributes:
        message_count: messages of the session.
        omitted: how many of them are not here.
        cursor: pass it to the next read to go on where the first messages end.
        tags, metadata: of the session.
    """

    success: bool
    mode: Literal["read"]
    session_id: str
    title: str | None
    source: str
    model: str | None
    started_at: str | None
    last_active_at: str | None
    message_count: int
    messages: tuple[EvidenceMessage, ...]
    omitted: int
    hint: str | None = None
    cursor: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionSummary(Value):
    """One session in a list.

    Attributes:
        preview: beginning of its first message, a user's if there is one; in a list of a
            period, of the first one in the period.
        when: time of its last message, in a list of a period of the last one in it.
        match_message_id: the message of the preview, to scroll to.
        tags, metadata: of the session.
    """

    session_id: str
    title: str | None
    source: str
    model: str | None
    started_at: str | None
    last_active_at: str | None
    message_count: int
    parent_session_id: str | None
    end_reason: str | None
    preview: str
    when: str | None = None
    match_message_id: int | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrowseResult(Value):
    """Recent sessions, the last active first.

    Attributes:
        cursor: pass it to the next call to go on after these results.
        after, before: the bounds of the period as they were understood.
        left_out: hidden sources that were active too, and how many sessions of each.
    """

    success: bool
    mode: Literal["browse"]
    results: tuple[SessionSummary, ...]
    count: int
    hint: str | None = None
    cursor: str | None = None
    after: str | None = None
    before: str | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceCount(Value):
    """What is stored of one source.

    Attributes:
        sessions, messages: how many, those that were rewound too.
        bytes: of their texts and tool calls; None where it was not measured.
    """

    source: str
    sessions: int
    messages: int
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class IndexReport(Value):
    """One FTS table.

    Attributes:
        state: ``ready``, ``building``, ``detached`` or ``absent`` (not kept by policy).
        indexed, total: messages seen by the index, and messages there are for it.
        bytes: size of its tables in the file; None where it was not measured.
        reason: why it is not ready.
    """

    name: str
    state: Literal["ready", "building", "detached", "absent"]
    indexed: int
    total: int
    bytes: int | None
    token_version: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Status(Value):
    """State of one user's history."""

    path: str
    policy: str
    sessions: int
    messages: int
    bytes: int
    wal_bytes: int
    journal_mode: str
    schema_version: int
    tokenizer: str | None
    tokenizer_error: str | None
    sqlite_version: str
    indexes: tuple[IndexReport, ...]
    legacy_import: LegacyImport
    notes: tuple[str, ...] = field(default=())
