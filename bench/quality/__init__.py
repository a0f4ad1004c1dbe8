# SPDX-License-Identifier: MIT
"""How well, and how fast, searches find what was asked for: ``python -m bench.quality``."""
