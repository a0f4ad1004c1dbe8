# SPDX-License-Identifier: MIT
# pyright: strict
"""A program that uses every face of mnemogram, for the type checkers: it is never run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import mnemogram
from mnemogram import (
    AppendResult,
    BrowseResult,
    History,
    Message,
    Mnemogram,
    ReadResult,
    SceneMemory,
    SearchHit,
    SearchResult,
    Session,
    SessionSummary,
    StoredMessage,
    Triple,
)
from mnemogram.service import MnemogramService
from mnemogram.tools import Tool, session_search_tool, tools_of


def plain() -> None:
    with mnemogram.open(
        "memory",
        key_secret=b"secret",
        max_open=8,
        retention=timedelta(days=30),
        policy="auto",
        memory_options={"background": False},
    ) as home:
        host: Mnemogram = home
        history: History = host.history("alice")
        stored: AppendResult = history.append(
            Session("chat-1", title="Dentist"),
            [Message("user", "hello", uid="1", timestamp=datetime.now(timezone.utc))],
        )
        ids: tuple[int | None, ...] = stored.ids
        found: SearchResult = history.search(
            "dentist", limit=5, roles=("user", "tool"), sort="newest", estimate=True
        )
        hits: tuple[SearchHit, ...] = found.results
        about: int | None = found.about
        texts: list[str] = [message.content for hit in hits for message in hit.messages]
        page: ReadResult = history.read("chat-1", limit=20)
        listed: BrowseResult = history.browse(after="2026-03-01")
        messages: Iterator[StoredMessage] = history.messages("chat-1")
        sessions: Iterator[SessionSummary] = history.sessions(title="trip")
        memory: SceneMemory = host.memory("alice")
        memory.commit([Triple("Bob", "likes", "tea")], scene="chan:mail")
        tool: Tool = session_search_tool(history, compact=True)
        tools: list[Tool] = tools_of(history, memory, read_only=True)
        print(ids, about, texts, page.cursor, listed.count, list(messages), list(sessions))
        print(tool({"query": "dentist"}), [each.name for each in tools])


async def awaited() -> None:
    async with MnemogramService("memory", workers=4, retention=None) as service:
        history = service.history("alice")
        memory = service.memory("alice")
        task = asyncio.create_task(history.search("dentist"))
        found: SearchResult = await task
        stored: AppendResult = await history.append("chat-1", [Message("user", "hello")])
        async for message in history.messages("chat-1"):
            content: str = message.content
            print(content)
        async for summary in history.sessions():
            print(summary.session_id)
        relations = await memory.recall("Bob")
        print(found.count, stored.inserted, [each.subject for each in relations])
