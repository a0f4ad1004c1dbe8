# SPDX-License-Identifier: MIT
"""The history of one user: the face of everything in this package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, Literal

from mnemogram.errors import InvalidArgument
from mnemogram.history import browsing, display, reading, status, writing
from mnemogram.history.file import Redactor
from mnemogram.history.index import damage
from mnemogram.history.index import state as indexes
from mnemogram.history.legacy import LegacySource
from mnemogram.history.models import (
    AppendResult,
    BrowseResult,
    Message,
    ReadResult,
    Role,
    ScrollResult,
    SearchResult,
    Session,
    Status,
    Time,
)
from mnemogram.history.schema import SCHEMA
from mnemogram.history.search import discover as search
from mnemogram.history.search.request import checked_request
from mnemogram.history.upkeep.face import Upkeep
from mnemogram.sqlite.database import DEFAULT_BUSY_TIMEOUT, Database

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


class History(Upkeep):
    """Every message of one user's conversations, kept whole and found again.

    Use :meth:`open` for a single file, or ``Mnemogram.history`` for a user.
    Safe for threads; a context manager.
    """

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
                database,
                policy=policy,
                trigram=trigram,
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

    def append(self, session: Session | str, messages: Iterable[Message]) -> AppendResult:
        """Store messages of a session: all of them or, on an error, none.

        Idempotent by (session, uid): the first write wins, a repeat is counted and
        changes nothing. A message without uid gets one from its place in
        ``messages``, its content and its timestamp, so that a replay of the same
        list adds nothing; give uids (or timestamps) when you append piece by piece.

        Args:
            session: the session, made where it is new; or its id.
            messages: the messages, in order.

        Returns:
            Counts, and the store's id of every message.

        Raises:
            InvalidArgument: a value is of the wrong kind.
            Busy: another process held the write lock too long.
            StorageUnavailable: the store cannot be written.
        """
        prepared = writing.prepare(self._titled(session), map(self._redacted, messages))
        result = self._write(lambda connection: writing.append(connection, prepared))
        self._help_along()
        return result

    def append_many(
        self, conversations: Iterable[tuple[Session | str, Iterable[Message]]]
    ) -> list[AppendResult]:
        """Store several conversations in one transaction; see :meth:`append`."""
        prepared = [
            writing.prepare(self._titled(session), map(self._redacted, messages))
            for session, messages in conversations
        ]
        results = self._write(
            lambda connection: [writing.append(connection, each) for each in prepared]
        )
        self._help_along()
        return results

    def amend(
        self,
        session: str,
        uid: str,
        *,
        content: str | None = None,
        tool_calls: Any = None,
        tool_status: str | None = None,
    ) -> None:
        """Correct a stored message; what is None stays as it is.

        Raises:
            NotFound: no such session or message.
        """
        if self._redactor is not None:
            content = None if content is None else self._redactor(content)
            tool_calls = writing.map_strings(tool_calls, self._redactor)
        self._write(
            lambda connection: writing.amend(
                connection,
                session,
                uid,
                content=content,
                tool_calls=tool_calls,
                tool_status=tool_status,
            )
        )

    def mark_compacted(self, session: str, uids: Sequence[str]) -> int:
        """Say that messages left the model's context; they stay evidence.

        Call it after the host has committed its new context.

        Returns:
            How many messages changed.

        Raises:
            NotFound: no such session.
        """
        listed = _uids(uids)
        return self._write(
            lambda connection: writing.set_state(connection, session, listed, "compacted")
        )

    def rewind(self, session: str, uids: Sequence[str]) -> int:
        """Hide messages that were undone, everywhere and for good.

        Returns:
            How many messages changed.

        Raises:
            NotFound: no such session.
        """
        listed = _uids(uids)
        return self._write(
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
        self._write(lambda connection: writing.end_session(connection, session, reason.strip()))

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
                end of that day (UTC), so that one day as both bounds is that day; two
                different dates are taken as they stand, from the first up to the second.
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
        )
        with self._database.read(timeout=timeout) as connection:
            outcome = search.outcome_of(connection, request)
            if outcome.result is not None:
                outcome = replace(outcome, result=damage.noted(connection, outcome.result))
        # After the read: where there is no WAL, a writer waits for readers.
        for name in outcome.damaged:
            self._detach_damaged(name)
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
        with self._database.read(timeout=timeout) as connection:
            return damage.noted(
                connection,
                reading.scroll(connection, session, around, window=window, budget=self._budget),
            )

    def read(self, session: str, *, timeout: float = READ_TIMEOUT) -> ReadResult:
        """Return the first 20 and the last 10 messages of a session.

        Args:
            session: the session's id.
            timeout: seconds for the whole request.

        Raises:
            NotFound: no such session.
            QueryTimeout: the time passed.
        """
        with self._database.read(timeout=timeout) as connection:
            return damage.noted(connection, reading.read(connection, session, budget=self._budget))

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
        )
        with self._database.read(timeout=timeout) as connection:
            return damage.noted(connection, browsing.browse(connection, listing))

    def status(self, *, sizes: bool = True) -> Status:
        """Return counts, sizes and the state of every index.

        Args:
            sizes: measure each index's bytes, which reads the file's page list.
        """
        with self._database.read() as connection:
            return status.report(connection, self._database, sizes=sizes)


def _uids(uids: Sequence[str]) -> Sequence[str]:
    if isinstance(uids, str):
        raise InvalidArgument("uids must be a list of strings", hint="Pass [uid] for one.")
    return list(uids)
