# SPDX-License-Identifier: MIT
"""What a start loads, and what waits until it is asked for; bench.start_up takes the times."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

#: What no use of a history needs: other hosts' loops and clients, Python's own SQLite, compilers
#: of forms, what copies files.
HEAVY = frozenset(
    (
        *("asyncio", "concurrent", "email", "html", "http", "logging", "multiprocessing"),
        *("shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "unittest", "xml"),
        *("click", "hypothesis", "pydantic", "rich", "sqlalchemy", "sqlite_vec"),
    )
)
#: Rooms of ours that wait for their first use.
WAITING = frozenset(
    f"mnemogram.{name}"
    for name in (
        *("demo", "history.legacy", "history.redact", "history.upkeep.check"),
        *("history.upkeep.export", "importers", "integrations", "memory", "service", "tools"),
    )
)
USE = """
with mnemogram.open(sys.argv[1]) as home:
    history = home.history("someone")
    history.append(mnemogram.Session("s"), [mnemogram.Message("user", "明早九点预约牙医复诊")])
    assert history.search("牙医").count == 1
    history.read("s"), history.browse(), history.status(), history.maintain()
"""


def loaded(code: str, *arguments: object) -> set[str]:
    """The modules that a fresh process has loaded after some code, beside those of its start."""
    # The packages of an environment may load anything at a start, by their .pth files.
    program = "import sys\nbefore = set(sys.modules)\n{}\n{}"
    told = "import json\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run(
        [sys.executable, "-c", program.format(textwrap.dedent(code), told), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("code", ["import mnemogram", f"import mnemogram\n{USE}"])
def test_neither_a_start_nor_a_use_loads_what_is_heavy(code: str, tmp_path: Path) -> None:
    names = loaded(code, tmp_path)
    assert "mnemogram.history.history" in names
    assert not {name for name in names if name.partition(".")[0] in HEAVY}
    assert not names & WAITING


def test_a_use_loads_nothing_of_ours_that_the_start_had_not_loaded(tmp_path: Path) -> None:
    # A process may give up its rights after the import, and with them the way to the package.
    ours = [
        {name for name in loaded(code, tmp_path) if name.startswith("mnemogram")}
        for code in ("import mnemogram", f"import mnemogram\n{USE}")
    ]
    assert ours[1] == ours[0]


def test_the_command_line_loads_no_host_of_others_and_no_second_sqlite() -> None:
    names = loaded("import mnemogram.cli")
    assert not {
        name
        for name in names
        if name.partition(".")[0]
        in {"asyncio", "http", "pydantic", "sqlalchemy", "sqlite3", "sqlite_vec", "mcp", "ssl"}
    }
