# SPDX-License-Identifier: MIT
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(MNEMOGRAM_TARGET x86_64-macos.10.13)
# A tool of Apple's that only an installation with library paths would need.
set(CMAKE_INSTALL_NAME_TOOL true)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
