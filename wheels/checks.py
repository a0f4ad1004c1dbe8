# SPDX-License-Identifier: MIT
"""What a wheel must hold and must not, and what its libraries export and need."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

from common import ROOT, BuildFailed, run
from targets import Target

SOURCES = (".c", ".h", ".pyx", ".pxd", ".pxi", ".cmake", ".in", ".o", ".a")
LIBRARY = "libfts5_cjk.so"
#: Files without which the wheel is not whole.
REQUIRED = (
    "mnemogram/py.typed",
    "mnemogram/demo/conversations.jsonl",
    f"mnemogram/_native/{LIBRARY}",
)
ENTRY_POINTS = {"sqlite3_extension_init", "sqlite3_ftscjk_init"}
LARGEST = 1_500_000
NEWEST_GLIBC = (2, 17)
#: What the libraries may be linked to.
NEEDED = {"gnu": {"libc.so.6", "libm.so.6"}, "musl": {"libc.so"}}
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}


@dataclass(frozen=True)
class Needs:
    """What the libraries of a wheel need of the system.

    Attributes:
        libraries: names of the shared libraries.
        symbols: all symbols that are not Python's, without versions.
        glibc: the newest version of a symbol, None without glibc.
    """

    libraries: frozenset[str]
    symbols: frozenset[str]
    glibc: tuple[int, ...] | None

    def __str__(self) -> str:
        of = f"GLIBC <= {'.'.join(map(str, self.glibc))}" if self.glibc else "musl"
        return f"{len(self.symbols)} of {of}"


def check_wheel(wheel: Path, target: Target) -> Needs:
    """Check contents, metadata, size, tags and libraries; return what it needs.

    Raises:
        BuildFailed: something is wrong with it.
    """
    size = wheel.stat().st_size
    if size > LARGEST:
        raise BuildFailed(f"{wheel.name} has {size:,} bytes, more than {LARGEST:,}")
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as directory:
        broken = archive.testzip()
        if broken:
            raise BuildFailed(f"{wheel.name} is damaged at {broken}")
        names = archive.namelist()
        _check_names(names, target)
        _check_metadata(archive, names, wheel, target)
        libraries = [name for name in names if ".so" in Path(name).suffixes]
        needs = [_check_library(Path(archive.extract(name, directory)), target)
                 for name in libraries]  # fmt: skip
    versions = [each.glibc for each in needs if each.glibc]
    return Needs(
        frozenset().union(*(each.libraries for each in needs)),
        frozenset().union(*(each.symbols for each in needs)),
        max(versions) if versions else None,
    )


def _check_names(names: Sequence[str], target: Target) -> None:
    for needed in REQUIRED:
        if needed not in names:
            raise BuildFailed(f"the wheel lacks {needed}")
    for name in names:
        if name.endswith(SOURCES) or "__pycache__" in name:
            raise BuildFailed(f"the wheel holds {name}")
        if not name.startswith(("mnemogram/", "mnemogram-")):
            raise BuildFailed(f"the wheel would install {name} beside the package")
    for module in (each.stem for each in (ROOT / "cython").glob("*.pyx")):
        for needed in (f"{module}{target.suffix}", f"{module}.pyi"):
            if f"mnemogram/_native/{needed}" not in names:
                raise BuildFailed(f"the wheel lacks {needed}")


def _check_metadata(
    archive: zipfile.ZipFile, names: Sequence[str], wheel: Path, target: Target
) -> None:
    _, version, *tag = wheel.stem.split("-")
    info = f"mnemogram-{version}.dist-info"
    metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
    if metadata["Version"] != version or metadata["License-Expression"] != "MIT":
        raise BuildFailed("version or licence of the metadata is wrong")
    if not any(name.startswith(f"{info}/licenses/") for name in names):
        raise BuildFailed("the wheel lacks its licence")
    about = Parser().parsestr(archive.read(f"{info}/WHEEL").decode())
    if about["Root-Is-Purelib"] != "false":
        raise BuildFailed("the wheel says that it is for every platform")
    wanted = [target.python_tag, target.abi_tag, target.platform.tags]
    if [*tag[:2], frozenset(tag[2].split("."))] != wanted:
        raise BuildFailed(f"the tag {'-'.join(tag)} is not that of {target.name}")
    inside = {f"{tag[0]}-{tag[1]}-{platform}" for platform in tag[2].split(".")}
    if set(about.get_all("Tag", [])) != inside:
        raise BuildFailed("the tags inside the wheel are not those of its name")


#: For the formats that nm and readelf of a Linux do not read.
_FOREIGN_SYMBOLS = """
import lief, sys
library = lief.parse(sys.argv[1])
if isinstance(library, lief.PE.Binary):
    exported = [each.name for each in library.get_export().entries]
    needed = [each.name for of in library.imports for each in of.entries]
else:
    exported = [each.name.removeprefix("_") for each in library.exported_symbols]
    needed = [each.name.removeprefix("_") for each in library.imported_symbols]
print(*exported)
print(*needed)
"""


def check_foreign(library: Path, python: Path) -> str:
    """Check the extension of a system that is not here; return what it exports.

    Args:
        library: the extension.
        python: a Python with lief.
    """
    exported, needed = run(python, "-c", _FOREIGN_SYMBOLS, library).stdout.splitlines()
    # The linker of macOS adds symbols of its own to every library.
    ours = {name for name in exported.split() if name not in ("_mh_dylib_header", "__dso_handle")}
    if ours != ENTRY_POINTS:
        raise BuildFailed(f"{library.name} exports {', '.join(sorted(ours)) or 'nothing'}")
    foreign = [name for name in needed.split() if name.startswith(("sqlite3", "Py", "_Py"))]
    if foreign:
        raise BuildFailed(f"{library.name} needs {', '.join(foreign)}")
    return ", ".join(sorted(ours))


def _symbols(library: Path, which: str) -> list[str]:
    listed = run("nm", "--dynamic", which, "--format=posix", library).stdout
    return [line.split()[0] for line in listed.splitlines()]


def _check_library(library: Path, target: Target) -> Needs:
    header = run("readelf", "--file-header", "--program-headers", "--wide", library).stdout
    if MACHINES[target.platform.arch] not in header:
        raise BuildFailed(f"{library.name} is not for {target.platform.arch}")
    if re.search(r"GNU_STACK.* RWE ", header):
        raise BuildFailed(f"{library.name} asks for a stack that can be executed")
    exported = {name.partition("@")[0] for name in _symbols(library, "--defined-only")}
    module = library.name.partition(".")[0]
    wanted = ENTRY_POINTS if library.name == LIBRARY else {f"PyInit_{module}"}
    if exported != wanted:
        raise BuildFailed(f"{library.name} exports {', '.join(sorted(exported)) or 'nothing'}")
    undefined = [name for name in _symbols(library, "--undefined-only") if name[:2] != "__"]
    forbidden = ("sqlite3", "Py", "_Py") if library.name == LIBRARY else ("sqlite3",)
    foreign = [name for name in undefined if name.startswith(forbidden)]
    if foreign:
        raise BuildFailed(f"{library.name} needs {', '.join(foreign)}")
    dynamic = run("readelf", "--dynamic", "--wide", library).stdout
    if "RPATH" in dynamic or "RUNPATH" in dynamic:
        raise BuildFailed(f"{library.name} carries a library path")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if needed - NEEDED[target.platform.libc]:
        raise BuildFailed(f"{library.name} needs {', '.join(sorted(needed))}")
    system = [name for name in undefined if not name.startswith(("Py", "_Py"))]
    versions = [
        tuple(int(part) for part in found.group(1).split("."))
        for name in system
        if (found := re.search(r"@+GLIBC_([\d.]+)$", name))
    ]
    newest = max(versions) if versions else None
    if newest and (target.platform.libc == "musl" or newest > NEWEST_GLIBC):
        raise BuildFailed(f"{library.name} needs GLIBC_{'.'.join(map(str, newest))}")
    return Needs(frozenset(needed), frozenset(name.partition("@")[0] for name in system), newest)
