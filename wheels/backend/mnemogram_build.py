# SPDX-License-Identifier: MIT
"""The build backend: scikit-build-core's, with a compiler to fall back on.

Where no wheel fits and no C compiler is there, a build from source on Linux takes the one of the
``ziglang`` package, which pip brings like any other build requirement.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from scikit_build_core import build as _build
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, "str | list[str]"] | None

#: Names under which CMake looks for a C compiler on Linux.
_COMPILERS = ("cc", "gcc", "clang", "icx", "xlc")
#: Processors that the package has a compiler for, as it names them.
_PROCESSORS = {
    **{name: name for name in ("x86_64", "aarch64", "riscv64", "s390x")},
    "ppc64le": "powerpc64le",
    "i686": "x86",
    "armv7l": "arm",
}
_TOOLCHAIN = Path(__file__).resolve().parent.parent / "toolchains" / "here.cmake"


def _is_bare(settings: Settings) -> bool:
    """Whether this is a Linux without a compiler, for which the package has one."""
    named = os.environ.get("CC") or os.environ.get("CMAKE_TOOLCHAIN_FILE")
    if named or any("CMAKE_TOOLCHAIN_FILE" in name for name in settings or ()):
        return False
    found = any(shutil.which(name) for name in _COMPILERS)
    return sys.platform == "linux" and platform.machine() in _PROCESSORS and not found


def _with_compiler(settings: Settings) -> Settings:
    package = find_spec("ziglang") if _is_bare(settings) else None
    if package is None or package.origin is None:
        return settings
    arch = _PROCESSORS[platform.machine()]
    libc = "gnu" if platform.libc_ver()[0] == "glibc" else "musl"
    hard_float = "eabihf" if arch == "arm" else ""
    os.environ["MNEMOGRAM_ZIG"] = str(Path(package.origin).parent / "zig")
    os.environ["MNEMOGRAM_ZIG_TARGET"] = f"{arch}-linux-{libc}{hard_float}"
    return {**(settings or {}), "cmake.define.CMAKE_TOOLCHAIN_FILE": str(_TOOLCHAIN)}


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return what a build needs besides what pyproject.toml names."""
    needed = _build.get_requires_for_build_wheel(config_settings)
    return [*needed, "ziglang"] if _is_bare(config_settings) else needed


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return what an editable build needs besides what pyproject.toml names."""
    needed = _build.get_requires_for_build_editable(config_settings)
    return [*needed, "ziglang"] if _is_bare(config_settings) else needed


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel and return its name."""
    return _build.build_wheel(wheel_directory, _with_compiler(config_settings), metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build an editable wheel and return its name."""
    settings = _with_compiler(config_settings)
    return _build.build_editable(wheel_directory, settings, metadata_directory)
