# SPDX-License-Identifier: MIT
"""Where wheels are tried: Pythons of this machine, and Pythons unpacked from Debian's packages.

An unpacked Python is never installed. A launcher starts it with its own dynamic loader, under
qemu's user mode emulation where it is of another architecture, and an environment that looks
like any other (``bin/python``, ``pyvenv.cfg``, ``site-packages``) is laid around the launcher,
so that what a test starts as ``sys.executable`` is the same Python again.
"""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from common import PIP, NotHere, environment, run
from targets import ARCHITECTURES, LATER, PYTHONS, Platform, find_python

#: Debian's release with each Python, for those that this machine may not have.
SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid", "3.15": "sid"}
_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
#: The tags of wheels that run on today's systems, for pip, which widens none of them.
_TAGS = {
    "gnu": ("manylinux_2_34", "manylinux_2_31", "manylinux_2_28", "manylinux_2_27",
            "manylinux_2_26", "manylinux_2_24", "manylinux_2_17", "manylinux2014",
            "manylinux_2_12", "manylinux2010", "manylinux_2_5", "manylinux1"),
    "musl": ("musllinux_1_2", "musllinux_1_1"),
}  # fmt: skip


_unpacking = threading.Lock()


class Place(Protocol):
    """A Python that a wheel can be tried with."""

    @property
    def platform(self) -> Platform:
        """What it runs on."""

    @property
    def version(self) -> str:
        """Its version, as in "3.11"."""

    @property
    def words(self) -> str:
        """Where that is, for people."""

    @property
    def emulated(self) -> bool:
        """Whether its processor is only played."""

    def environment(self, directory: Path, *requirements: str) -> Path:
        """Make an empty environment, install into it, and return its ``bin/python``."""


@dataclass(frozen=True)
class Installed:
    """A Python of this machine."""

    python: Path
    version: str
    platform: Platform
    emulated = False

    @property
    def words(self) -> str:
        probe = "import platform; print(platform.python_version())"
        return f"CPython {run(self.python, '-c', probe).stdout.strip()}, this machine"

    def environment(self, directory: Path, *requirements: str) -> Path:
        return environment(directory, *requirements, python=self.python)


@dataclass(frozen=True)
class Unpacked:
    """A Python in a folder.

    Attributes:
        root: the folder, laid out as a file system.
        version: of the Python.
        platform: what it is made for.
        words: where that is, for people.
        launcher: how a program of it is started; ``"$0"`` in it stands for the name that the
            program takes itself for.
        emulated: whether its processor is only played.
    """

    root: Path
    version: str
    platform: Platform
    words: str
    launcher: tuple[str, ...]
    emulated: bool

    @property
    def program(self) -> Path:
        """The interpreter itself."""
        return self.root / "usr" / "bin" / f"python{self.version}"

    def environment(self, directory: Path, *requirements: str) -> Path:
        python = directory / "bin" / "python"
        python.parent.mkdir(parents=True)
        line = " ".join(part if part == '"$0"' else shlex.quote(part) for part in self.launcher)
        python.write_text(f'#!/bin/sh\nexec {line} {shlex.quote(str(self.program))} "$@"\n')
        python.chmod(0o755)
        (directory / "pyvenv.cfg").write_text(
            f"home = {self.program.parent}\ninclude-system-site-packages = false\n"
        )
        site = directory / "lib" / f"python{self.version}" / "site-packages"
        site.mkdir(parents=True)
        tags = [f"{tag}_{self.platform.arch}" for tag in _TAGS[self.platform.libc]]
        if requirements:
            run(
                *(find_python(self.version) or sys.executable, *PIP, "install"),
                *("--target", site, "--only-binary=:all:", "--implementation=cp"),
                *(f"--python-version={self.version}", *(f"--platform={tag}" for tag in tags)),
                *requirements,
            )
        return python


def here() -> Platform | None:
    """Return this machine's platform, None where it is none of ours."""
    arch = platform.machine()
    if sys.platform != "linux" or arch not in ARCHITECTURES:
        return None
    return Platform(arch, "gnu" if platform.libc_ver()[0] == "glibc" else "musl")


def places(wanted: Platform, version: str, work: Path) -> Place:
    """Return a Python of this version for a platform: this machine's, or one from Debian.

    Raises:
        NotHere: there is none, and the words say what is missing.
    """
    if wanted == here() and (found := find_python(version)):
        return Installed(found, version, wanted)
    if wanted.libc != "gnu":
        raise NotHere("no Python for musl here")
    if version not in SUITES:
        raise NotHere(f"no Python {version} for {wanted.arch} in Debian")
    return _from_debian(wanted, version, work)


def versions(target_python: str) -> tuple[str, ...]:
    """Return the Pythons that the wheel for a Python is tried with."""
    return LATER if target_python == PYTHONS[-1] else (target_python,)


def _from_debian(wanted: Platform, version: str, work: Path) -> Unpacked:
    this = here()
    emulated = this is None or this.arch != wanted.arch
    root = work / f"debian-{SUITES[version]}-{wanted.arch}-{version}"
    with _unpacking:
        if not root.exists():
            unpack(
                root,
                SUITES[version],
                wanted.arch,
                *(f"python{version}-minimal", f"libpython{version}-stdlib", "libstdc++6", "tzdata"),
            )
    words = f"CPython {version} of Debian {SUITES[version]}"
    program = root / "usr" / "bin" / f"python{version}"
    if emulated:
        qemu = shutil.which(f"qemu-{wanted.arch}-static")
        if qemu is None:
            raise NotHere(f"qemu-{wanted.arch}-static is missing: install qemu-user-static")
        release = re.search(r"(?<=version )[\d.]+", run(qemu, "--version").stdout)
        words += f" under qemu-{wanted.arch} {release.group() if release else ''}".rstrip()
        launcher: Sequence[str] = (qemu, "-L", str(root), "-0", '"$0"')
    else:
        loader = next(root.glob("**/ld-linux-*.so.*"))
        libraries = ":".join(
            str(root / folder / f"{wanted.arch}-linux-gnu") for folder in ("usr/lib", "lib")
        )
        launcher = (str(loader), "--argv0", '"$0"', "--library-path", libraries)
    assert program.is_file()
    return Unpacked(root, version, wanted, words, tuple(launcher), emulated)


def unpack(root: Path, suite: str, arch: str, *packages: str) -> None:
    """Download packages of Debian with all that they need, and unpack them into a folder.

    Nothing is installed, and apt's own state is left alone.

    Args:
        root: the folder, made here.
        suite: a release of Debian; it need not be this machine's.
        arch: x86_64 or aarch64.
        *packages: names of packages.

    Raises:
        NotHere: this machine is no Debian, or knows no mirror of it.
    """
    state = root.with_name(f"{root.name}-apt")
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    (state / "sources.list").write_text(f"deb [signed-by={_KEYRING}] {_mirror()} {suite} main\n")
    options = {
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Architecture": _DEBIAN[arch],
        "APT::Architectures": _DEBIAN[arch],
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Acquire::Retries": "5",
        "Binary::apt-get::APT::Keep-Downloaded-Packages": "true",
        "Debug::NoLocking": "true",
    }
    apt = ("apt-get", *(f"-o{name}={value}" for name, value in options.items()), "-q", "-y")
    run(*apt, "update")
    run(*apt, "--download-only", "install", *packages)
    partial = root.with_name(f"{root.name}-partial")
    for folder in ("lib", "bin", "sbin", "lib64"):
        # Debian's merged /usr, as its base-files lay it.
        (partial / "usr" / folder).mkdir(parents=True, exist_ok=True)
        (partial / folder).symlink_to(f"usr/{folder}")
    for package in sorted((state / "cache" / "archives").glob("*.deb")):
        contents = state / "contents.tar"
        with contents.open("wb") as file:
            _extract(package, file.fileno())
        run("tar", "--extract", "--keep-directory-symlink", "-f", contents, "-C", partial)
    shutil.rmtree(state)
    partial.rename(root)


def _extract(package: Path, output: int) -> None:
    subprocess.run(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=output, check=True)


def _mirror() -> str:
    """Return the mirror that this machine takes Debian's packages from."""
    if not shutil.which("apt-get") or not _KEYRING.is_file():
        raise NotHere("this machine is no Debian, so it has no Python of Debian's to unpack")
    listed = run(
        *("apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)"),
        "Created-By: Packages",
    ).stdout
    for line in listed.splitlines():
        origin, label, uri = line.split(maxsplit=2)
        if (origin, label) == ("Debian", "Debian"):
            return uri
    raise NotHere("apt knows no mirror of Debian: run apt-get update")
