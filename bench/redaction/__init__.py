# SPDX-License-Identifier: MIT
"""How well the ready redactor tells secrets from prose and code."""
