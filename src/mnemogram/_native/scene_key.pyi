# SPDX-License-Identifier: MIT
"""Normal form of scene keys."""

MAX_BYTES: int

def normalize_scene_key(key: str) -> str: ...
