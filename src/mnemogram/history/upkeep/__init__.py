# SPDX-License-Identifier: MIT
"""What a history needs besides being written and searched."""
