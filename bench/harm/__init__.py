# SPDX-License-Identifier: MIT
"""What a bad disk, a kill, a full disk or a caller can do to a history: tried by the thousand."""
