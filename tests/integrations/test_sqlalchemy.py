# SPDX-License-Identifier: MIT
"""Any database that SQLAlchemy reaches can be taken over: SQLite and a real PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `sqlalchemy` is not installed")

import sqlalchemy as sa

from mnemogram import History, InvalidArgument
from mnemogram.integrations.sqlalchemy import Columns, SQLAlchemySource


def _postgres_binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    somewhere = shutil.which("initdb")
    return Path(somewhere).parent if somewhere else None


@pytest.fixture(scope="module")
def postgres() -> Iterator[sa.Engine]:
    """A PostgreSQL server of our own, reached through a socket only."""
    binaries = _postgres_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed (Debian's package: postgresql)")
    pytest.importorskip("pg8000", reason="the driver pg8000 is not installed")
    folder = Path(tempfile.mkdtemp(prefix="mnemogram-pg-"))  # a socket's path must be short
    root = os.geteuid() == 0  # the server refuses to run as root
    if root:
        shutil.chown(folder, "postgres")
    owner = {"user": "postgres", "cwd": folder} if root else {"cwd": folder}

    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **owner)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr

    data = str(folder / "data")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    engine = None
    try:
        run(str(binaries / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8")
        run(
            str(binaries / "pg_ctl"),
            "-D",
            data,
            "-w",
            "-l",
            f"{folder}/log",
            "-o",
            options,
            "start",
        )
        engine = sa.create_engine(
            "postgresql+pg8000://postgres@/postgres",
            connect_args={"unix_sock": f"{folder}/.s.PGSQL.5432"},
        )
        yield engine
    finally:
        if engine is not None:
            engine.dispose()
        subprocess.run(  # type: ignore[call-overload]
            [str(binaries / "pg_ctl"), "-D", data, "-m", "immediate", "stop"],
            capture_output=True,
            check=False,
            **owner,
        )
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'old.db'}")
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> sa.Engine:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


COLUMNS = Columns(
    id="nr",
    user="owner",
    session="conversation",
    role="sender",
    content="body",
    timestamp="sent_at",
    tool_calls="calls",
    title="subject",
)


def make_table(engine: sa.Engine, key: object = sa.Integer) -> sa.Table:
    table = sa.Table(
        f"messages_{uuid.uuid4().hex[:8]}",
        sa.MetaData(),
        sa.Column("nr", key, primary_key=True),
        sa.Column("owner", sa.Text),
        sa.Column("conversation", sa.Text),
        sa.Column("sender", sa.Text),
        sa.Column("body", sa.Text),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
        sa.Column("calls", sa.JSON),
        sa.Column("subject", sa.Text),
    )
    table.create(engine)
    return table


def row(number: object, **values: object) -> dict[str, object]:
    return {
        "nr": number,
        "owner": "me",
        "conversation": "c1",
        "sender": "human",
        "body": f"你好 {number}",
        "sent_at": None,
        "calls": None,
        "subject": None,
        **values,
    }


def imported(path: Path, source: SQLAlchemySource) -> History:
    history = History.open(path, legacy=source, user_id="me")
    while True:
        result = history.maintain()
        assert not result.failed, result
        if not result.more:
            return history


def test_the_rows_of_one_user_are_taken_over(engine: sa.Engine, tmp_path: Path) -> None:
    table = make_table(engine)
    sent = datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc)
    with engine.begin() as connection:
        connection.execute(
            table.insert(),
            [
                row(1, sent_at=sent, subject="问候"),
                row(2, sender="ai", calls=[{"name": "f", "arguments": {"城": "大连"}}]),
                row(3, owner="you"),
                row(4, sender="system"),
                row(5, sender="operator"),
                row(6, sender="robot", conversation="c2"),
                row(7, conversation=None),
            ],
        )
    source = SQLAlchemySource(
        engine, table.name, COLUMNS, roles={"robot": "assistant"}, page_size=2
    )
    with imported(tmp_path / "state.db", source) as history:
        read = history.read("c1")
        assert read.title == "问候"
        assert [(each.uid, each.role, each.content) for each in read.messages] == [
            ("1", "user", "你好 1"),
            ("2", "assistant", "你好 2"),
        ]
        assert read.messages[0].timestamp == "2024-05-06T07:08:09.000Z"
        assert read.messages[1].timestamp is None
        assert read.messages[1].tool_calls == [{"name": "f", "arguments": {"城": "大连"}}]
        assert history.read("c2").message_count == 1
        assert len(history.set_aside()) == 2
        assert history.status().legacy_import.complete
        assert history.search("大连").count == 1


@pytest.mark.parametrize("kind", ["text", "uuid"])
def test_keys_may_be_texts_or_uuids(engine: sa.Engine, tmp_path: Path, kind: str) -> None:
    keys = sorted(uuid.UUID(int=number * 2**100) for number in range(1, 8))
    table = make_table(engine, sa.Text if kind == "text" else sa.Uuid)
    with engine.begin() as connection:
        connection.execute(
            table.insert(), [row(str(key) if kind == "text" else key) for key in keys]
        )
    source = SQLAlchemySource(engine, table.name, COLUMNS, page_size=3)
    with imported(tmp_path / "state.db", source) as history:
        assert history.status().messages == 7


def test_naive_times_get_the_zone_that_the_host_names(engine: sa.Engine, tmp_path: Path) -> None:
    from zoneinfo import ZoneInfo

    name = f"plain_{uuid.uuid4().hex[:8]}"
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, s TEXT, r TEXT, c TEXT, t TIMESTAMP)"
            )
        )
        connection.execute(
            sa.text(f"INSERT INTO {name} VALUES (1, 's', 'user', 'x', '2024-05-06 15:08:09')")
        )
    columns = Columns(id="id", session="s", role="r", content="c", timestamp="t")
    source = SQLAlchemySource(engine, name, columns, time_zone=ZoneInfo("Asia/Shanghai"))
    with imported(tmp_path / "state.db", source) as history:
        (message,) = history.read("s").messages
        # SQLite has no times: a text without a zone is UTC, as everywhere in mnemogram.
        hour = "15" if engine.dialect.name == "sqlite" else "07"
        assert message.timestamp == f"2024-05-06T{hour}:08:09.000Z"


def test_a_database_that_is_away_is_reported(tmp_path: Path) -> None:
    engine = sa.create_engine("sqlite:////nowhere/at/all.db")
    source = SQLAlchemySource(engine, "t", COLUMNS)
    with History.open(tmp_path / "state.db", legacy=source, user_id="me") as history:
        assert history.maintain().failed == ("legacy",)
    engine.dispose()


def test_a_page_of_no_rows_is_refused(sqlite: sa.Engine) -> None:
    with pytest.raises(InvalidArgument, match="page_size"):
        SQLAlchemySource(sqlite, "t", COLUMNS, page_size=0)
