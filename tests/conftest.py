# SPDX-License-Identifier: MIT
"""What holds for every test: no law depends on how busy the machine is."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
