# SPDX-License-Identifier: MIT
"""A service of many users without an agent framework: what is said is kept, and comes back.

Any model fits into ``Model``; the one below knows two sentences. Run it: it prints them.

python docs/examples/service.py
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mnemogram import Message, Session
from mnemogram.memory import scene_keys_for
from mnemogram.service import MnemogramService
from mnemogram.tools import GUIDE, tools_of
from mnemogram.tools.answers import answer_text
from mnemogram.tools.context import context_block

#: Takes the system prompt, the messages and the tools' schemas. Returns what the model says:
#: ``{"text": ..., "calls": [{"id": ..., "name": ..., "arguments": {...}}]}``.
Model = Callable[[str, list[Message], list[dict[str, Any]]], Awaitable[dict[str, Any]]]


class Assistant:
    """One service, any number of users and conversations."""

    def __init__(self, service: MnemogramService, model: Model) -> None:
        self._service = service
        self._model = model
        self._contexts: dict[str, list[Message]] = {}  # what each conversation's model sees

    async def said(self, user: str, channel: str, peer: str, text: str) -> str:
        """Take what a user said, and return the answer."""
        history, memory = self._service.history(user), self._service.memory(user)
        session = Session(f"{channel}:{peer}", source=channel)
        scenes = scene_keys_for(channel=channel, peer=peer)
        tools = {
            tool.name: tool
            for tool in tools_of(history, memory, current_session=session.id, current_scenes=scenes)
        }
        context = self._contexts.setdefault(f"{user}/{session.id}", [])

        async def keep(message: Message) -> None:
            # Stored the moment it exists, so that nothing is lost where the model fails.
            await history.append(session, [message])
            context.append(message)

        await keep(Message("user", text, uid=uuid.uuid4().hex))
        shown = await memory.run(lambda plain: context_block(plain, text, scenes=scenes))
        system = "\n\n".join(filter(None, ("You are an assistant.", GUIDE, shown)))
        schemas = [tool.schema("openai") for tool in tools.values()]
        while True:
            answer = await self._model(system, context, schemas)
            calls = answer.get("calls") or []
            await keep(
                Message("assistant", answer["text"], uid=uuid.uuid4().hex, tool_calls=calls or None)
            )
            if not calls:
                break
            for call in calls:
                result = await tools[call["name"]](call["arguments"])
                await keep(
                    Message(
                        "tool",
                        answer_text(result),
                        uid=uuid.uuid4().hex,
                        tool_call_id=call["id"],
                        tool_name=call["name"],
                    )
                )
        if len(context) > 40:
            # The host's new context first, then the mark: what left is found again from here.
            gone, context[:] = context[:-20], context[-20:]
            await history.mark_compacted(session.id, [str(each.uid) for each in gone])
        return str(answer["text"])


async def parrot(
    system: str, messages: list[Message], tools: list[dict[str, Any]]
) -> dict[str, Any]:
    """A model of two sentences: it remembers a rule, and looks up what it is asked."""
    last = messages[-1]
    text = last.content or ""
    if last.role == "tool":
        found = json.loads(text)
        if found["mode"] == "commit":
            return {"text": "I will."}
        said = [message["content"] for each in found["results"] for message in each["messages"]]
        return {"text": f"You said: {said[0]}" if said else "I do not know."}
    if text.startswith("Always"):
        rule = {"subject": "reply", "relation": "style", "object": text, "kind": "rule"}
        call = {"triples": [{**rule, "sentence": text}], "scene": "here"}
        return {"text": "", "calls": [{"id": "1", "name": "memory_commit", "arguments": call}]}
    if text.endswith("?"):
        call = {"query": text}
        return {"text": "", "calls": [{"id": "2", "name": "session_search", "arguments": call}]}
    return {"text": "OK, shortly." if "Always answer shortly" in system else "Noted, of course."}


async def main(root: Path) -> list[str]:
    """Two channels, one user."""
    async with MnemogramService(root) as service:
        assistant = Assistant(service, parrot)
        return [
            await assistant.said("alice", "mail", "bob", "The dentist is on Wednesday."),
            await assistant.said("alice", "qq", "family", "Always answer shortly."),
            await assistant.said("alice", "qq", "family", "Good morning."),
            await assistant.said("alice", "mail", "bob", "Good morning."),
            await assistant.said("alice", "qq", "family", "When is the dentist?"),
            await assistant.said("carol", "qq", "family", "When is the dentist?"),
        ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        print(*asyncio.run(main(Path(directory))), sep="\n")
