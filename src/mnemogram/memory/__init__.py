# SPDX-License-Identifier: MIT
"""Scene memory: facts and rules that come back when their situation does.

``SceneMemory`` is the whole of it, see docs/scenes.md; its parts are in docs/architecture.md.
"""

from mnemogram.memory.context import Context, ContextLine
from mnemogram.memory.documents import Document, triples_from_document
from mnemogram.memory.keys import channel_scene, scene_keys_for, tool_scene
from mnemogram.memory.memory import SceneMemory
from mnemogram.memory.models import (
    CheckReport,
    CommitResult,
    MemoryStatus,
    MergeReport,
    Recall,
    Relation,
    SceneCount,
    SceneStats,
    SweepReport,
    TagReport,
    Triple,
)
from mnemogram.text import normalize_scene_key

__all__ = [
    "CheckReport",
    "CommitResult",
    "Context",
    "ContextLine",
    "Document",
    "MemoryStatus",
    "MergeReport",
    "Recall",
    "Relation",
    "SceneCount",
    "SceneMemory",
    "SceneStats",
    "SweepReport",
    "TagReport",
    "Triple",
    "channel_scene",
    "normalize_scene_key",
    "scene_keys_for",
    "tool_scene",
    "triples_from_document",
]
