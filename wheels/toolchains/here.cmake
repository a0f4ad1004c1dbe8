# SPDX-License-Identifier: MIT
# For the machine that builds, where it has no compiler of its own: see wheels/backend.
set(MNEMOGRAM_TARGET $ENV{MNEMOGRAM_ZIG_TARGET})
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
