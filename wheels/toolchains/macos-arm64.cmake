# SPDX-License-Identifier: MIT
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(MNEMOGRAM_TARGET aarch64-macos.11.0)
# A tool of Apple's that only an installation with library paths would need.
set(CMAKE_INSTALL_NAME_TOOL true)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
