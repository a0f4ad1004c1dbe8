# SPDX-License-Identifier: MIT
"""One SQLite file: opening it, its permissions, its connections and their deadlines."""
