# SPDX-License-Identifier: MIT
"""Compiled modules and the loadable extension; use mnemogram.text and mnemogram.extension."""
