# SPDX-License-Identifier: MIT
"""Which wheels there are: for which platform, for which Python, and who can use each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: Pythons with a wheel of their own, and last the one whose wheel, in the stable ABI, serves
#: all later ones too.
PYTHONS = ("3.10", "3.11", "3.12")
STABLE = "3.12"
#: Pythons of this machine that the wheel in the stable ABI is tested with.
LATER = ("3.12", "3.13", "3.14", "3.15")

ARCHITECTURES = ("x86_64", "aarch64")
LIBCS = ("gnu", "musl")


@dataclass(frozen=True)
class Platform:
    """One kind of Linux.

    Attributes:
        arch: x86_64 or aarch64.
        libc: gnu or musl.
    """

    arch: str
    libc: str

    @property
    def name(self) -> str:
        """The name of its toolchain file."""
        return f"linux-{self.arch}-{self.libc}"

    @property
    def toolchain(self) -> str:
        """Where the toolchain file is, in the sdist."""
        return f"wheels/toolchains/{self.name}.cmake"

    @property
    def tags(self) -> frozenset[str]:
        """The platform tags that its wheels carry."""
        if self.libc == "musl":
            return frozenset({f"musllinux_1_2_{self.arch}"})
        return frozenset({f"manylinux_2_17_{self.arch}", f"manylinux2014_{self.arch}"})


@dataclass(frozen=True)
class Target:
    """One wheel.

    Attributes:
        platform: where it runs.
        python: the oldest Python that it is for, as in "3.11".
    """

    platform: Platform
    python: str

    @property
    def stable(self) -> bool:
        """Whether it serves later Pythons too."""
        return self.python == STABLE

    @property
    def python_tag(self) -> str:
        """The first part of its tag, as in cp311."""
        return f"cp{self.python.replace('.', '')}"

    @property
    def abi_tag(self) -> str:
        """The second part of its tag."""
        return "abi3" if self.stable else self.python_tag

    @property
    def suffix(self) -> str:
        """How the names of its compiled modules end."""
        if self.stable:
            return ".abi3.so"
        # Until 3.11 a Python on musl looked for modules of "gnu".
        libc = "gnu" if self.python == "3.10" else self.platform.libc
        return f".cpython-{self.python.replace('.', '')}-{self.platform.arch}-linux-{libc}.so"

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.platform.name}-{self.python}{'+' if self.stable else ''}"

    def serves(self, python: str) -> bool:
        """Whether a Python of that version can use it."""
        if self.stable:
            return _ordered(python) >= _ordered(self.python)
        return python == self.python


ALL = tuple(
    Target(Platform(arch, libc), python)
    for python in PYTHONS
    for arch in ARCHITECTURES
    for libc in LIBCS
)

#: Systems that this code is compiled for to see that it can be; their wheels are built and tried
#: on machines of their own, by .github/workflows/wheels.yml.
COMPILED = ("macos-arm64", "macos-x86_64", "windows-x86_64")


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def find_python(version: str) -> Path | None:
    """Return a CPython of this version that runs and can make environments."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    managed = sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)
    candidates = (sys.executable, shutil.which(f"python{version}"), *managed)
    probe = "import sys, venv, ensurepip, zlib; print('%d.%d' % sys.version_info[:2])"
    for candidate in candidates:
        # A shim of pyenv's may be there and refuse to run.
        if candidate and Path(candidate).is_file():
            done = subprocess.run(
                [str(candidate), "-c", probe], capture_output=True, text=True, check=False
            )
            if done.stdout.strip() == version:
                return Path(candidate)
    return None
