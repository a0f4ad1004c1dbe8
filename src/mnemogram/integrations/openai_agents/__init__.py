# SPDX-License-Identifier: MIT
"""The OpenAI Agents SDK: sessions that are remembered, tools, and what a model should see.

Needs the extra ``openai-agents``. The user is bound where these are made; nothing that a
model sends can name another::

    history, memory = home.history("alice"), home.memory("alice")
    session = MemorySession("chat-2", history)
    agent = Agent(
        name="assistant",
        instructions=remembering("Be brief.", memory, scenes=scene_keys_for(channel="mail")),
        tools=make_tools(tools_of(history, memory, current_session="chat-2")),
    )
    await Runner.run(agent, question, session=session, hooks=MemoryHooks(session))
"""

from __future__ import annotations

from mnemogram.integrations.openai_agents.hooks import MemoryHooks
from mnemogram.integrations.openai_agents.instructions import remembering
from mnemogram.integrations.openai_agents.session import MemorySession
from mnemogram.integrations.openai_agents.tools import make_tools
from mnemogram.tools import tools_of

__all__ = ["MemoryHooks", "MemorySession", "make_tools", "remembering", "tools_of"]
