# SPDX-License-Identifier: MIT
"""Tools for models: one declaration each, and the handler that answers.

The host binds the user when it makes a tool; nothing that a model sends can change it.
"""

from __future__ import annotations

from mnemogram.tools.appending import history_append_tool
from mnemogram.tools.asynchronous import AsyncTool
from mnemogram.tools.declaration import Declaration, SchemaKind, Tool
from mnemogram.tools.forgetting import memory_forget_tool
from mnemogram.tools.guide import GUIDE
from mnemogram.tools.memory import memory_commit_tool, memory_recall_tool
from mnemogram.tools.offer import tools_of
from mnemogram.tools.session_search import session_search_tool

__all__ = [
    "GUIDE",
    "AsyncTool",
    "Declaration",
    "SchemaKind",
    "Tool",
    "history_append_tool",
    "memory_commit_tool",
    "memory_forget_tool",
    "memory_recall_tool",
    "session_search_tool",
    "tools_of",
]
