# SPDX-License-Identifier: MIT
"""From a query to evidence."""
