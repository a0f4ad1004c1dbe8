# SPDX-License-Identifier: MIT
"""History: every message of every conversation, kept whole and found again."""
