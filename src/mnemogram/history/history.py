# SPDX-License-Identifier: MIT
"""The history of one user: the face of everything in this package."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta, tzinfo
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Literal, cast

from mnemogram.errors import InvalidArgument
from mnemogram.history import (
    browsing,
    counting,
    display,
    labels,
    reading,
    shapes,
    status,
    updating,
    walking,
    writing,
)
from mnemogram.history.file import HistoryFile
from mnemogram.history.index import damage
from mnemogram.history.index import state as indexes
from mnemogram.history.models import (
    AppendResult,
    BrowseResult,
    Conversation,
    Message,
    ReadResult,
    Role,
    ScrollResult,
    SearchResult,
    Session,
    SessionSummary,
    SourceCount,
    Status,
    StoredMessage,
    Updated,
)
from mnemogram.history.period import checked_period
from mnemogram.history.redaction import Redaction, Redactor
from mnemogram.history.schema import SCHEMA
from mnemogram.history.search import discover as search
from mnemogram.history.search.request import (
    checked_request,
    checked_roles,
    checked_sources,
    excluded_sessions,
)
from mnemogram.history.upkeep import delete as lifecycle
from mnemogram.history.upkeep import maintain as maintenance
from mnemogram.history.upkeep.delete import Deleted, Expired, Purged
from mnemogram.history.upkeep.maintain import Maintained, Maintenance
from mnemogram.history.walking import Located
from mnemogram.moments import Time, clamped, to_microseconds
from mnemogram.sqlite import backup as copies
from mnemogram.sqlite.database import DEFAULT_BUSY_TIMEOUT, Database
from mnemogram.values import checked_key, storable

if TYPE_CHECKING:
    from mnemogram.history.legacy import LegacySource, SetAside
    from mnemogram.history.upkeep.check import CheckReport, RepairReport
    from mnemogram.history.upkeep.export import Exported, Imported

__all__ = ["History"]

#: Reasons that take a conversation out of the model's context when it ends.
END_REASONS: Final = (
    "new_session",
    "session_reset",
    "session_switch",
    "idle",
    "daily",
    "suspended",
    "resume_pending_expired",
    "compression",
)
#: Seconds for a request that reads without a query.
READ_TIMEOUT: Final = 3.0


class History:
    """Every message of one user's conversations, kept whole and found again.

    Use :meth:`open` for a single file, or ``Mnemogram.history`` for a user.
    Safe for threads; a context manager.
    """

    def __init__(
        self,
        file: HistoryFile,
        *,
        redactor: Redactor | None = None,
        answer_budget: int = display.DEFAULT_BUDGET,
        retention: timedelta | None = None,
        legacy: LegacySource | None = None,
        user_id: str | None = None,
    ) -> None:
        self._file = file
        self._database = file.database
        self._redaction = Redaction(redactor)
        self._budget = answer_budget
        self._retention = retention
        self._legacy = legacy
        self._user_id = user_id
        if legacy is not None and not file.database.read_only:
            from mnemogram.history import legacy as legacy_import

            # From the first answer on: there is more that is not here yet.
            legacy_import.begin(file)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        policy: indexes.Policy | None = None,
        trigram: bool | None = None,
        redactor: Redactor | None = None,
        answer_budget: int = display.DEFAULT_BUDGET,
        busy_timeout: float = DEFAULT_BUSY_TIMEOUT,
        load_extension: bool = True,
        synchronous: Literal["full", "normal"] = "full",
        read_only: bool = False,
        retention: timedelta | None = None,
        legacy: LegacySource | None = None,
        user_id: str | None = None,
    ) -> History:
        """Open a history file, made (0600) where it is missing.

        Args:
            path: the file.
            policy: which indexes are kept: ``auto``, ``portable`` or ``all``; the
                file's own choice by default.
            trigram: keep the substring index; the file's own choice by default.
            redactor: called with every text before it is stored.
            answer_budget: bytes of JSON that one answer may take.
            busy_timeout: seconds to wait for another process's write lock.
            load_extension: try to load the tokenizer.
            synchronous: ``full`` survives a power cut, ``normal`` a process kill.
            read_only: never write, not even to bring the schema up to date.
            retention: :meth:`maintain` expires sessions that were not active for so
                long; None and zero keep everything.
            legacy: an older store, taken over a page at each :meth:`maintain`.
            user_id: the user that ``legacy`` is asked for.

        Raises:
            SchemaTooNew: a newer release wrote the file.
            StorageUnavailable: the file cannot be opened, or is not a history.
            InvalidArgument: an option is out of range.
        """
        reading.checked_int(answer_budget, "answer_budget", 4_096, 2**31)
        if retention is not None and retention < timedelta(0):
            raise InvalidArgument("retention is negative", hint="Pass None or 0 to keep all.")
        if legacy is not None and user_id is None:
            raise InvalidArgument("legacy needs user_id", hint="Name the user to ask it for.")
        database = Database(
            path,
            SCHEMA,
            read_only=read_only,
            busy_timeout=busy_timeout,
            load_extension=load_extension,
            synchronous=synchronous,
        )
        try:
            return cls(
                HistoryFile(database, policy=policy, trigram=trigram),
                redactor=redactor,
                answer_budget=answer_budget,
                retention=retention or None,
                legacy=legacy,
                user_id=user_id,
            )
        except BaseException:
            database.close()
            raise

    # -- writing

    def append(
        self,
        session: Session | str,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        turn: str | None = None,
    ) -> AppendResult:
        """Store messages of a session: all of them or, on an error, none.

        Idempotent by (session, uid): the first write wins, a repeat is counted and
        changes nothing; ``changed`` says how many came with other text. A message
        without uid gets one from its place in ``messages``, its content and its
        timestamp, so that a replay of the same list adds nothing. Without timestamps, a
        call whose messages are all known is a repeat if they are the session's last, or
        (two or more) its first; else they are said again. ``turn`` leaves no doubt.

        Args:
            session: the session, made where it is new; or its id.
            messages: the messages, in order. Dicts of a chat completion or of Anthropic's
                messages do as well: system prompts among them are left out, their ``id`` is
                the uid, and results of tools become messages of their own.
            turn: your id of the turn or request: messages without a uid are known by it
                and their places.

        Returns:
            Counts, and the store's id of every message.

        Raises:
            InvalidArgument: a value is of the wrong kind.
            Busy: another process held the write lock too long.
            StorageUnavailable: the store cannot be written.
        """
        prepared = self._prepared(session, messages, turn)
        result = self._file.write(lambda connection: writing.append(connection, prepared))
        self._file.help_along()
        return result

    def _prepared(
        self,
        session: Session | str,
        messages: Iterable[Message | Mapping[str, Any]],
        turn: str | None = None,
    ) -> writing.Prepared:
        redaction = self._redaction
        each = shapes.messages_of(_each(messages, "messages"))
        return writing.prepare(redaction.session(session), map(redaction.message, each), turn)

    def append_many(
        self, conversations: Iterable[tuple[Session | str, Iterable[Message | Mapping[str, Any]]]]
    ) -> list[AppendResult]:
        """Store several conversations in one transaction; see :meth:`append`."""
        prepared = [
            self._prepared(session, messages) for session, messages in _pairs(conversations)
        ]
        results = self._file.write(
            lambda connection: [writing.append(connection, each) for each in prepared]
        )
        self._file.help_along()
        return results

    def import_conversations(self, conversations: Iterable[Conversation]) -> list[Updated]:
        """Store conversations as another program holds them now, in one transaction.

        What is new is stored, what has grown or was corrected there is amended, and what
        was taken back there is rewound. Nothing is deleted; an older copy of a
        conversation takes nothing back.

        Raises:
            InvalidArgument: a value is of the wrong kind.
            Busy: another process held the write lock too long.
            StorageUnavailable: the store cannot be written.
        """
        prepared = []
        for place, each in enumerate(_each(conversations, "conversations")):
            if not isinstance(each, Conversation):
                raise InvalidArgument(
                    f"conversation {place} is a {type(each).__name__}",
                    hint="Pass mnemogram.Conversation values.",
                )
            session = cast(Session, self._redaction.session(each.session))
            update = replace(each, session=session)
            prepared.append(updating.prepare(update, self._redaction.message))
        results = self._file.write(
            lambda connection: [updating.update(connection, each) for each in prepared]
        )
        self._file.help_along()
        return results

    def amend(
        self,
        session: str,
        uid: str,
        *,
        content: str | None = None,
        tool_calls: Any = None,
        tool_status: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Correct a stored message; what is None stays as it is.

        Raises:
            NotFound: no such session or message.
        """
        session, uid = checked_key(session, "session"), checked_key(uid, "uid")
        content = self._redaction.text(content)
        tool_calls = self._redaction.json(tool_calls)
        metadata = self._redaction.json(metadata)
        self._file.write(
            lambda connection: writing.amend(
                connection,
                session,
                uid,
                content=content,
                tool_calls=tool_calls,
                tool_status=tool_status,
                metadata=metadata,
            )
        )

    def tag(
        self, session: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> tuple[str, ...]:
        """Give a session tags, and take others off it; return those that it has then.

        ``append`` with ``Session(tags=)`` says all of them at once.

        Args:
            session: the session's id.
            add, remove: tags; as in searching, case and width do not count.

        Raises:
            NotFound: no such session.
            InvalidArgument: a tag is blank or too long, or there would be too many.
        """
        session = checked_key(session, "session")
        added = labels.checked_tags(self._redaction.tags(tuple(_each(add, "add")))) or ()
        removed = labels.checked_tags(_each(remove, "remove")) or ()
        return self._file.write(lambda connection: writing.tag(connection, session, added, removed))

    def mark_compacted(self, session: str, uids: Sequence[str]) -> int:
        """Say that messages left the model's context; they stay evidence.

        Call it after the host has committed its new context.

        Returns:
            How many messages changed.

        Raises:
            NotFound: no such session.
        """
        session, listed = checked_key(session, "session"), _uids(uids)
        return self._file.write(
            lambda connection: writing.set_state(connection, session, listed, "compacted")
        )

    def rewind(self, session: str, uids: Sequence[str]) -> int:
        """Hide messages that were undone, everywhere and for good.

        Returns:
            How many messages changed.

        Raises:
            NotFound: no such session.
        """
        session, listed = checked_key(session, "session"), _uids(uids)
        return self._file.write(
            lambda connection: writing.set_state(connection, session, listed, "rewound")
        )

    def end_session(self, session: str, reason: str) -> None:
        """Say that a session ended, and why.

        Args:
            reason: a reset (``new_session``, ``session_reset``, ``session_switch``,
                ``idle``, ``daily``, ...) or ``compression`` takes the session out of
                the running context, so that its messages are found again; any other
                word is kept as it is.

        Raises:
            NotFound: no such session.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidArgument("reason is blank", hint=f"For example {END_REASONS[0]!r}.")
        session, reason = checked_key(session, "session"), storable(reason.strip())
        self._file.write(lambda connection: writing.end_session(connection, session, reason))

    # -- reading

    def search(
        self,
        query: str,
        *,
        limit: int = 3,
        roles: Sequence[Role] = ("user", "assistant"),
        sort: Literal["relevance", "newest", "oldest"] = "relevance",
        detail: Literal["adaptive", "full"] = "adaptive",
        window: int = 5,
        after: Time | None = None,
        before: Time | None = None,
        sources: Sequence[str] | None = None,
        all_sources: bool = False,
        exclude_sessions: Sequence[str] = (),
        current_session: str | None = None,
        timeout: float = 3.0,
        cursor: str | None = None,
        recency: timedelta | float | None = None,
        timezone: tzinfo | None = None,
        estimate: bool = False,
        explain: bool = False,
        tag: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> SearchResult:
        """Find the conversations that answer a query, one result for each lineage.

        Args:
            query: any text: words, ``"phrases"``, ``AND OR NOT``, parentheses, ``*``.
            limit: most results, 1 to 10.
            roles: whose messages may match.
            sort: ``relevance``, or message time ``newest`` or ``oldest`` first.
            detail: ``adaptive`` shows the surroundings of the first result, ``full`` of all.
            window: messages shown on each side of a match, 1 to 20.
            after: earliest message time, inclusive: an aware datetime or ISO 8601.
            before: latest message time, exclusive. As a string, a date alone means the
                end of that day, so that one day as both bounds is that day; two different
                dates are taken as they stand, from the first up to the second.
            sources: only sessions of these sources; ``subagent``, ``tool`` and ``kanban``
                are found by name only.
            all_sources: sessions of every source, in place of ``sources``.
            exclude_sessions: ids of sessions to leave out, with all that continue them
                or that they continue.
            current_session: id of the running session; what is still in its context
                is left out.
            timeout: seconds for the whole request.
            cursor: the ``cursor`` of an earlier answer, to go on after it.
            recency: a half-life, as timedelta or in days: a match that is so much older
                than the newest one counts half. Without it age decides between equals,
                and between short messages that say nearly the same.
            timezone: that of bounds written without one; UTC by default.
            estimate: count how many conversations match, into ``about``, as far as that
                is soon done.
            explain: say of each result why it stands where it does, in its ``explanation``.
            tag: only sessions with this tag, or with all of these.
            metadata: only messages with these values at the top of their metadata, or of
                their session's; in a list, one of its values.

        Raises:
            InvalidArgument: an argument is out of range.
            QueryTimeout: the time passed before anything could be answered.
            StorageUnavailable: the store cannot be read.
        """
        request = checked_request(
            query,
            limit=limit,
            roles=roles,
            sort=sort,
            detail=detail,
            window=window,
            after=after,
            before=before,
            sources=sources,
            all_sources=all_sources,
            exclude_sessions=exclude_sessions,
            current_session=current_session,
            timeout=timeout,
            cursor=cursor,
            budget=self._budget,
            recency=recency,
            timezone=timezone,
            estimate=estimate,
            explain=explain,
            tag=tag,
            metadata=metadata,
        )
        with self._database.read(timeout=timeout) as connection:
            outcome = search.outcome_of(connection, request)
            if outcome.result is not None:
                noted = damage.noted(connection, outcome.result)
                outcome = replace(outcome, result=display.bounded(noted, self._budget))
        # After the read: where there is no WAL, a writer waits for readers.
        for name in outcome.damaged:
            self._file.detach_damaged(name)
        return outcome.answered()

    def scroll(
        self, session: str, around: int, *, window: int = 5, timeout: float = READ_TIMEOUT
    ) -> ScrollResult:
        """Return the messages around one message of a session.

        Args:
            session: the session's id.
            around: the store's id of the message (``match_message_id``, ``id``).
            window: messages on each side, 1 to 20.
            timeout: seconds for the whole request.

        Raises:
            NotFound: no such session; ``anchor_not_in_history`` or
                ``anchor_not_in_session`` as code where the message is not there.
            QueryTimeout: the time passed.
        """
        session = checked_key(session, "session")
        with self._database.read(timeout=timeout) as connection:
            found = reading.scroll(connection, session, around, window=window, budget=self._budget)
            return display.bounded(damage.noted(connection, found), self._budget)

    def read(
        self,
        session: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float = READ_TIMEOUT,
    ) -> ReadResult:
        """Return the first 20 and the last 10 messages of a session, or a page of it.

        Long messages are shown cut; :meth:`messages` gives all of them whole.

        Args:
            session: the session's id.
            limit: so many messages from the beginning, or from ``cursor`` on, 1 to 200.
            cursor: the ``cursor`` of an earlier answer, to go on after its first messages.
            timeout: seconds for the whole request.

        Raises:
            NotFound: no such session.
            InvalidArgument: an argument is out of range.
            QueryTimeout: the time passed.
        """
        session = checked_key(session, "session")
        with self._database.read(timeout=timeout) as connection:
            page = reading.read(
                connection, session, budget=self._budget, limit=limit, cursor=cursor
            )
            return display.bounded(damage.noted(connection, page), self._budget)

    def messages(
        self,
        session: str | None = None,
        *,
        start: int | None = None,
        roles: Sequence[Role] = ("user", "assistant", "tool"),
        after: Time | None = None,
        before: Time | None = None,
        sources: Sequence[str] | None = None,
        all_sources: bool = False,
        exclude_sessions: Sequence[str] = (),
        newest_first: bool = False,
        timezone: tzinfo | None = None,
        tag: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Iterator[StoredMessage]:
        """Give stored messages one after another, whole, in the order of their time.

        Memory is bounded, however many there are, and nothing is held open between two of
        them. What was rewound is left out.

        Args:
            session: only those of this session, of whatever source it is.
            start: id of the message to begin with.
            roles: whose messages.
            after, before: bounds of message time, as for :meth:`search`.
            sources, all_sources, exclude_sessions: as for :meth:`browse`.
            newest_first: from the last one back.
            timezone: that of bounds written without one; UTC by default.
            tag, metadata: as for :meth:`search`.

        Raises:
            InvalidArgument: an argument is out of range.
            NotFound: no such session or message, when the first one is asked for.
        """
        selection = walking.Selection(
            period=checked_period(after, before, timezone),
            sources=checked_sources(sources, all_sources or session is not None),
            exclude_sessions=excluded_sessions(exclude_sessions),
            roles=checked_roles(roles),
            labels=labels.checked_labels(tag, metadata),
        )
        return walking.messages(
            self._database, selection, session=session, start=start, newest_first=newest_first
        )

    def sessions(
        self,
        *,
        after: Time | None = None,
        before: Time | None = None,
        sources: Sequence[str] | None = None,
        all_sources: bool = False,
        exclude_sessions: Sequence[str] = (),
        title: str | None = None,
        newest_first: bool = True,
        timezone: tzinfo | None = None,
        tag: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Iterator[SessionSummary]:
        """Give sessions one after another, the last active first, in bounded memory.

        Args:
            after, before, sources, all_sources, exclude_sessions: as for :meth:`browse`.
            title: words that the title holds.
            newest_first: False for the first active first.
            timezone: that of bounds written without one; UTC by default.
            tag: only sessions with this tag, or with all of these.
            metadata: only sessions with these values at the top of their metadata.

        Raises:
            InvalidArgument: an argument is out of range.
        """
        selection = self._selected(
            after, before, sources, all_sources, exclude_sessions, title, timezone, tag, metadata
        )
        return walking.sessions(self._database, selection, newest_first=newest_first)

    def count_sessions(
        self,
        *,
        after: Time | None = None,
        before: Time | None = None,
        sources: Sequence[str] | None = None,
        all_sources: bool = False,
        exclude_sessions: Sequence[str] = (),
        title: str | None = None,
        timezone: tzinfo | None = None,
        tag: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> int:
        """Return how many sessions :meth:`sessions` gives with these arguments."""
        selection = self._selected(
            after, before, sources, all_sources, exclude_sessions, title, timezone, tag, metadata
        )
        return walking.count_sessions(self._database, selection)

    @staticmethod
    def _selected(
        after: Time | None,
        before: Time | None,
        sources: Sequence[str] | None,
        all_sources: bool,
        exclude_sessions: Sequence[str],
        title: str | None,
        zone: tzinfo | None,
        tag: str | Sequence[str] | None,
        metadata: Mapping[str, Any] | None,
    ) -> walking.Selection:
        return walking.Selection(
            period=checked_period(after, before, zone),
            sources=checked_sources(sources, all_sources),
            exclude_sessions=excluded_sessions(exclude_sessions),
            title=title or None,
            labels=labels.checked_labels(tag, metadata),
        )

    def count_messages(
        self,
        edges: Sequence[Time],
        *,
        sources: Sequence[str] | None = None,
        all_sources: bool = False,
        timeout: float = READ_TIMEOUT,
    ) -> tuple[int, ...]:
        """Return how many messages were said between each two neighbouring times.

        Args:
            edges: rising times, 2 to 1,001: aware datetimes or ISO 8601. A message counts
                from the time before it on, up to and without the one after it.
            sources, all_sources: as for :meth:`browse`.
            timeout: seconds for the whole request.

        Returns:
            One number fewer than there are edges. What was rewound, and what has no time,
            is not counted.

        Raises:
            InvalidArgument: an argument is out of range.
            QueryTimeout: the time passed.
        """
        given = [to_microseconds(each, "edges") for each in _each(edges, "edges")]
        times = counting.checked_edges(given)
        chosen = checked_sources(sources, all_sources)
        with self._database.read(timeout=timeout) as connection:
            return counting.between(connection, times, chosen)

    def sources(
        self, *, sizes: bool = False, timeout: float = READ_TIMEOUT
    ) -> tuple[SourceCount, ...]:
        """Return which sources there are, that with most messages first.

        Args:
            sizes: measure the bytes of their texts, which looks at every message.
            timeout: seconds for the whole request.

        Raises:
            QueryTimeout: the time passed.
        """
        with self._database.read(timeout=timeout) as connection:
            return counting.sources(connection, sizes=sizes)

    def lineage(
        self, session: str, *, limit: int = 100, timeout: float = READ_TIMEOUT
    ) -> tuple[SessionSummary, ...]:
        """Return a session, and then those that it continues or that continue it.

        Args:
            session: the session's id.
            limit: most sessions, 1 to 1,000; the oldest are there.
            timeout: seconds for the whole request.

        Raises:
            NotFound: no such session.
            InvalidArgument: an argument is out of range.
            QueryTimeout: the time passed.
        """
        session = checked_key(session, "session")
        reading.checked_int(limit, "limit", 1, 1_000)
        with self._database.read(timeout=timeout) as connection:
            return counting.lineage(connection, session, limit)

    def message_at(self, session: str, position: int, *, timeout: float = READ_TIMEOUT) -> int:
        """Return the store's id of the message at a place of a session.

        Args:
            session: the session's id.
            position: how many messages stand before it; those that were rewound are not
                counted.
            timeout: seconds for the whole request.

        Raises:
            NotFound: no such session, or it has not so many messages.
            QueryTimeout: the time passed.
        """
        session = checked_key(session, "session")
        reading.checked_int(position, "position", 0, 2**63 - 1)
        with self._database.read(timeout=timeout) as connection:
            return counting.message_at(connection, session, position)

    def locate(self, name: str) -> Located:
        """Return the session that somebody means who types a name.

        That is its id; ``#12`` or ``12``, the number of one of its messages; a beginning
        of its id that no other has; or its title.

        Raises:
            NotFound: nothing is called so.
            InvalidArgument: several are.
        """
        return walking.locate(self._database, name)

    def source_of(self, session: str) -> str | None:
        """Return the source of a session; None where there is no such session."""
        session = checked_key(session, "session")
        with self._database.read() as connection:
            return reading.source_of(connection, session)

    def _outline(self, session: str) -> list[tuple[str, str, str | None, str]]:
        """Return uid, role, call id and state of every message that was not undone."""
        with self._database.read() as connection:
            return reading.outline(connection, session)

    def browse(
        self,
        *,
        limit: int = 10,
        after: Time | None = None,
        before: Time | None = None,
        sources: Sequence[str] | None = None,
        all_sources: bool = False,
        exclude_sessions: Sequence[str] = (),
        cursor: str | None = None,
        timeout: float = READ_TIMEOUT,
        timezone: tzinfo | None = None,
        tag: str | Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> BrowseResult:
        """Return the sessions that were active last, or in a period, the newest first.

        A session is active in [after, before) where a message of it was said then,
        whatever was said before and later.

        Args:
            limit: most sessions, 1 to 10.
            after, before: bounds of message time, as for :meth:`search`.
            sources: only sessions of these sources; ``subagent``, ``tool`` and ``kanban``
                are listed by name only.
            all_sources: sessions of every source, in place of ``sources``.
            exclude_sessions: ids of sessions to leave out, with their lineages.
            cursor: the ``cursor`` of an earlier answer, to go on after it.
            timeout: seconds for the whole request.
            timezone: that of bounds written without one; UTC by default.
            tag, metadata: as for :meth:`sessions`.

        Raises:
            InvalidArgument: an argument is out of range.
            QueryTimeout: the time passed.
        """
        listing = browsing.checked_listing(
            limit=limit,
            after=after,
            before=before,
            sources=sources,
            all_sources=all_sources,
            exclude_sessions=exclude_sessions,
            cursor=cursor,
            timezone=timezone,
            tag=tag,
            metadata=metadata,
        )
        with self._database.read(timeout=timeout) as connection:
            listed = browsing.browse(connection, listing)
            return display.bounded(damage.noted(connection, listed), self._budget)

    def status(self, *, sizes: bool = True) -> Status:
        """Return counts, sizes and the state of every index.

        Args:
            sizes: measure each index's bytes, which reads the file's page list.
        """
        with self._database.read() as connection:
            return status.report(connection, self._database, sizes=sizes)

    # -- the end of messages

    def delete_session(self, session: str) -> Deleted:
        """Delete a session with its messages and index rows, for good.

        A tombstone stays, so that a message of it that is still on its way is refused
        and counted. Delete here first and the host's own record after it: where that
        fails half-way, the whole may be repeated. The text may stay in free space of
        the file until :meth:`purge`.

        Args:
            session: the session's id; it need not be there.
        """
        if not isinstance(session, str) or not session.strip():
            raise InvalidArgument("session id is blank", hint="Pass the id of the session.")
        return lifecycle.delete(self._file, storable(session))

    def revive_session(self, session: str) -> bool:
        """Let a session that was deleted begin anew under the same id.

        For an id that lasts, such as that of a channel. Messages with a timestamp after
        the deletion do that by themselves; this is for hosts that give none. Messages
        with a time before the deletion stay refused.

        Args:
            session: the session's id.

        Returns:
            Whether it was deleted.
        """
        session = checked_key(session, "session")
        return self._file.write(lambda connection: lifecycle.revive_session(connection, session))

    def expire(self, before: Time, *, dry_run: bool = False) -> Expired:
        """Delete the sessions that were last active before a time, in bounded batches.

        No tombstone is left: an expired session that goes on is stored again.

        Args:
            before: aware datetime or ISO 8601.
            dry_run: only count what would be deleted.
        """
        moment = to_microseconds(before, "before")
        if dry_run:
            with self._database.read() as connection:
                return Expired(*lifecycle.count_expired(connection, moment), dry_run=True)
        sessions = messages = 0
        more = True
        while more:
            step = self._file.write(lambda connection: lifecycle.expire_step(connection, moment))
            sessions, messages, more = sessions + step[0], messages + step[1], step[2]
        return Expired(sessions, messages, dry_run=False)

    def purge(self) -> Purged:
        """Leave no byte of deleted or replaced text in the file, its indexes and its WAL.

        Takes as long as writing the file anew, holds the write lock meanwhile, and needs
        that much free disk.

        Raises:
            Busy: another process held the write lock too long.
            StorageUnavailable: the disk is full, or the file damaged.
        """
        return lifecycle.purge(self._file)

    # -- out and in

    def backup(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Path:
        """Copy the file as it is now, while others read and write it.

        Args:
            path: the new file, made with mode 0600.
            overwrite: replace a file that is there.
            progress: called with pages copied and pages there are.

        Raises:
            InvalidArgument: the file exists, or is the store itself.
            StorageUnavailable: it cannot be written.
        """
        _callable(progress, "progress")
        return copies.backup(self._database, path, overwrite=overwrite, progress=progress)

    def export(self, stream: IO[str]) -> Exported:
        """Write sessions, lineage, messages, states and tombstones as JSON lines.

        Args:
            stream: a text stream in UTF-8.
        """
        if not callable(getattr(stream, "write", None)):
            raise InvalidArgument(
                f"{type(stream).__name__} is no stream", hint="Pass an open text file."
            )
        from mnemogram.history.upkeep import export

        with self._database.read() as connection:
            return export.write(export.export_lines(connection), stream)

    def import_export(self, lines: Iterable[str]) -> Imported:
        """Store what an export of :meth:`export` holds, as far as it is not there yet.

        Args:
            lines: the export, a line at a time: an open text file, for example.

        Raises:
            InvalidArgument: a line is not of this format; what came before it is stored.
        """
        from mnemogram.history.upkeep import export

        each = _each(lines, "lines")
        return export.import_lines(self._file.write, each, self._redaction.message)

    # -- upkeep

    def maintain(self, *, batch_size: int = 500) -> Maintenance:
        """Do one bounded step of everything that is due.

        Indexes are built, changes they missed made good, worthless tables taken down,
        old sessions expired, older conversations imported, index segments merged, and
        free space given back. Each part goes on when another fails. Call it until
        ``more`` is False, with a pause in between; :meth:`upkeep` does.

        Args:
            batch_size: most messages in one step.

        Raises:
            InvalidArgument: batch_size is out of range.
            StoreClosed: the store was closed.
        """
        reading.checked_int(batch_size, "batch_size", 1, 100_000)
        others: dict[maintenance.Part, Callable[[], Maintained | None]] = {}
        retention, source, user_id = self._retention, self._legacy, self._user_id
        if source is not None and user_id is not None:
            from mnemogram.history import legacy as legacy_import

            others["legacy"] = lambda: legacy_import.import_page(
                self._file, source, user_id, limit=batch_size, redacted=self._redaction.message
            )
        if retention is not None:
            # In whole numbers: a retention may be longer than the calendar.
            before = clamped(time.time_ns() // 1_000 - retention // timedelta(microseconds=1))
            others["expiry"] = lambda: lifecycle.expiry_part(self._file, before, batch_size)
        return maintenance.maintain(self._file, batch_size=batch_size, others=others)

    def set_aside(self) -> tuple[SetAside, ...]:
        """Return the records of the older store that could not be imported, and why."""
        from mnemogram.history import legacy as legacy_import

        with self._database.read() as connection:
            return legacy_import.set_aside(connection)

    def check(self) -> CheckReport:
        """Look at the whole file and every index, without changing anything.

        Reads all of it; a file above 64 MB is copied for the comparison of its indexes,
        which needs that much free disk beside it.

        Raises:
            StorageUnavailable: the file cannot be read at all.
        """
        from mnemogram.history.upkeep import check as doctor

        return doctor.check(self._file)

    def repair(
        self,
        *,
        dry_run: bool = True,
        backup: str | os.PathLike[str] | None = None,
        on_step: Callable[[str], Any] | None = None,
    ) -> RepairReport:
        """Do what :meth:`check` finds helpful; messages are only touched where bytes are no text.

        Args:
            dry_run: only say what would be done.
            backup: where the file is copied before the first change; beside it by default.
            on_step: called with each action before it begins.

        Raises:
            StorageUnavailable: the backup or the repair could not be written.
        """
        from mnemogram.history.upkeep import check as doctor

        _callable(on_step, "on_step")
        return doctor.repair(self._file, dry_run=bool(dry_run), backup=backup, on_step=on_step)

    def upkeep(
        self,
        *,
        batch_size: int = 500,
        watch: bool = False,
        on_step: Callable[[Maintenance], Any] | None = None,
        stop: threading.Event | None = None,
        shortest_pause: float = maintenance.SHORTEST_PAUSE,
        idle: float = maintenance.IDLE,
    ) -> int:
        """Call :meth:`maintain` until nothing is due, pausing after each step.

        The pause is max(0.2 s, four times what the step took), so that writers are
        hardly held up. Several processes may do this at once on one file.

        Args:
            batch_size: most messages in one step.
            watch: go on when nothing is due, until ``stop`` is set.
            on_step: called with the result of each step.
            stop: ends the loop between two steps.
            shortest_pause: seconds to pause at least.
            idle: with ``watch``, seconds between two looks while nothing is due.

        Returns:
            How many steps were made.
        """
        return maintenance.run(
            lambda: self.maintain(batch_size=batch_size),
            watch=watch,
            on_step=on_step,
            stop=stop,
            shortest_pause=shortest_pause,
            idle=idle,
        )

    # -- life

    @property
    def path(self) -> str:
        """Path of the file."""
        return str(self._database.path)

    @property
    def immutable(self) -> bool:
        """Whether it was opened as a file that nobody changes, because it cannot be written."""
        return self._database.immutable

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._database.closed

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        self._database.close()

    def __enter__(self) -> History:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _uids(uids: Sequence[str]) -> Sequence[str]:
    return [checked_key(each, "uid") for each in _each(uids, "uids")]


def _each(values: Any, name: str) -> Iterator[Any]:
    """Return what iterates over a list that a host passed.

    Raises:
        InvalidArgument: it is no list, or a text, which is one of characters.
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidArgument(
            f"{name} must be a list, not {type(values).__name__}", hint=f"Pass {name}=[...]."
        )
    return iter(values)


def _pairs(conversations: Any) -> Iterator[tuple[Any, Any]]:
    for place, each in enumerate(_each(conversations, "conversations")):
        if not isinstance(each, (tuple, list)) or len(each) != 2:
            raise InvalidArgument(
                f"conversation {place} is no pair of a session and its messages",
                hint="Pass [(session, messages), ...].",
            )
        yield each[0], each[1]


def _callable(value: Any, name: str) -> None:
    if value is not None and not callable(value):
        raise InvalidArgument(f"{name} cannot be called", hint="Pass a function, or None.")
