# SPDX-License-Identifier: MIT
"""Benchmarks: run from the project's root, each with ``python -m bench.NAME``."""
