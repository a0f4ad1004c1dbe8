# SPDX-License-Identifier: MIT
# The C compiler of the ziglang package for MNEMOGRAM_TARGET, which the file that includes this
# one has set. The environment variable MNEMOGRAM_ZIG names the zig program.
set(CMAKE_C_COMPILER "$ENV{MNEMOGRAM_ZIG}" cc)
set(CMAKE_C_COMPILER_TARGET ${MNEMOGRAM_TARGET})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

# zig is one program with many names; CMake has no place for its second word.
set(CMAKE_C_ARCHIVE_CREATE "\"$ENV{MNEMOGRAM_ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_APPEND "\"$ENV{MNEMOGRAM_ZIG}\" ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "\"$ENV{MNEMOGRAM_ZIG}\" ranlib <TARGET>")
# The linker leaves the symbols out: a strip of this machine knows no other's files.
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s")
set(CMAKE_STRIP "" CACHE FILEPATH "" FORCE)
