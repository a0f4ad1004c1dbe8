# SPDX-License-Identifier: MIT
"""Scene memory: how well rules come back with their situation, and at what scale."""
