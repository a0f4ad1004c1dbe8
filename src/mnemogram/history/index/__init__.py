# SPDX-License-Identifier: MIT
"""The FTS5 tables beside the messages: their states, and how they are filled."""
