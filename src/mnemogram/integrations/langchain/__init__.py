# SPDX-License-Identifier: MIT
"""The tools for LangChain and LangGraph, and what was said there for a history.

Needs the extra ``langchain``. The user is bound where the tools are made; nothing that a
model sends can name another::

    tools = make_tools(tools_of(home.history("alice"), home.memory("alice")))
    agent = create_agent(model, tools)
    ...
    home.history("alice").append("chat-1", messages_of(state["messages"]))

:class:`MemoryMiddleware` does all of that by itself, and shows the model what it should
remember.
"""

from __future__ import annotations

from mnemogram.integrations.langchain.messages import messages_of
from mnemogram.integrations.langchain.middleware import MemoryMiddleware
from mnemogram.integrations.langchain.tools import MemoryTool, make_tools
from mnemogram.tools import tools_of

__all__ = ["MemoryMiddleware", "MemoryTool", "make_tools", "messages_of", "tools_of"]
