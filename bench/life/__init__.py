# SPDX-License-Identifier: MIT
"""What background work costs those who write meanwhile: ``python -m bench.life``."""
