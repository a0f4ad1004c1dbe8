# SPDX-License-Identifier: MIT
"""Adapters to other programs and libraries; each needs its own extra."""
