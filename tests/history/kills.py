# SPDX-License-Identifier: MIT
"""Processes that open stores together, or work on one until they are killed or told to stop.

Those that may be killed say what they are about to do and what was acknowledged, one line
of JSON each, so that whoever killed one knows what must be there.
"""

from __future__ import annotations

import json
import os
import random
import time
import traceback
from pathlib import Path
from typing import Any

import mnemogram
from mnemogram import History, Message, Triple
from tests.history.support import TEXTS

#: Seconds to wait for a lock: others have it, on a machine that has other things to do.
PATIENCE = 300.0


def _say(log: int, *words: object) -> None:
    os.write(log, (json.dumps(words) + "\n").encode())


def open_together(root: str, rounds: int, barrier: Any, errors: Any) -> None:
    """Open one new user's stores after the other, each at the same moment as the others do."""
    for number in range(rounds):
        barrier.wait(timeout=600)
        try:
            with mnemogram.open(Path(root) / str(number // 4)) as host:
                user = str(number % 4)
                host.history(user).append("s", [Message("user", "hello", uid="1")])
                host.memory(user).commit([Triple("harbour", "closes", "at dusk")])
        except Exception:
            errors.put(f"round {number}: {traceback.format_exc()}")
    errors.put(None)


def work_until_killed(path: str, log_path: str, seed: int) -> None:
    """Append, amend, delete and maintain at random, for ever."""
    chance = random.Random(seed)
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with History.open(path, load_extension=chance.random() < 0.8, busy_timeout=PATIENCE) as history:
        written: list[tuple[str, str]] = []
        # Deleted sessions take nothing more: later workers use others.
        names = [f"s{place}-{seed // 10}" for place in range(6)]
        number = 0
        while True:
            number += 1
            kind = chance.random()
            if kind < 0.55 or not written:
                session = chance.choice(names)
                uids = [f"{seed}-{number}-{place}" for place in range(chance.randrange(1, 6))]
                _say(log, "try append", session, uids)
                result = history.append(
                    session, [Message("user", chance.choice(TEXTS), uid=uid) for uid in uids]
                )
                done = "appended" if result.inserted == len(uids) else "refused"
                _say(log, done, session, uids)
                written += [(session, uid) for uid in uids if done == "appended"]
            elif kind < 0.7:
                session, uid = chance.choice(written)
                words = f"amended {number} {chance.choice(TEXTS)}"
                _say(log, "try amend", session, uid, words)
                try:
                    history.amend(session, uid, content=words)
                except LookupError:
                    continue  # another process deleted the session
                _say(log, "amended", session, uid, words)
            elif kind < 0.73:
                session = chance.choice(names)
                _say(log, "try delete", session)
                history.delete_session(session)
                _say(log, "deleted", session)
            else:
                history.maintain(batch_size=chance.randrange(1, 60))


class Acknowledged:
    """What must and what may be in the store, from what the workers said."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], set[str] | None] = {}
        self.maybe: set[tuple[str, str]] = set()
        self.deleted: set[str] = set()
        self.perhaps_deleted: set[str] = set()

    def take(self, logs: list[Path]) -> None:
        """Read the logs of workers that ran together and are no more."""
        lines = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        # One worker's deletions explain the other's refusals.
        for what, *words in sorted(lines, key=lambda line: "delete" not in line[0]):
            getattr(self, f"_{what.replace(' ', '_')}")(*words)

    def _try_append(self, session: str, uids: list[str]) -> None:
        self.maybe |= {(session, uid) for uid in uids}

    def _appended(self, session: str, uids: list[str]) -> None:
        for uid in uids:
            self.maybe.discard((session, uid))
            self.texts.setdefault((session, uid), None)

    def _refused(self, session: str, uids: list[str]) -> None:
        assert session in self.deleted | self.perhaps_deleted
        self.maybe -= {(session, uid) for uid in uids}

    def _try_amend(self, session: str, uid: str, words: str) -> None:
        known = self.texts.get((session, uid))
        self.texts[session, uid] = None if known is None else known | {words}

    def _amended(self, session: str, uid: str, words: str) -> None:
        self.texts[session, uid] = {words}

    def _try_delete(self, session: str) -> None:
        self.perhaps_deleted.add(session)

    def _deleted(self, session: str) -> None:
        self.deleted.add(session)

    def verify(self, history: History) -> None:
        """Assert that all that was acknowledged is there once, and nothing else."""
        with history._database.read() as connection:
            rows: list[tuple[Any, ...]] = list(
                connection.execute(
                    "SELECT s.key, m.uid, m.content FROM messages AS m"
                    " JOIN sessions AS s ON s.id = m.session_id WHERE s.key GLOB 's[0-9]*'"
                )
            )
            gone = {row[0] for row in connection.execute("SELECT key FROM tombstones")}
        stored = {(key, uid): content for key, uid, content in rows}
        assert len(stored) == len(rows)
        assert self.deleted <= gone <= self.deleted | self.perhaps_deleted
        must = {place for place in self.texts if place[0] not in gone}
        assert must <= stored.keys(), must - stored.keys()
        may = must | {place for place in self.maybe if place[0] not in gone}
        assert stored.keys() <= may, stored.keys() - may
        for place in must:
            words = self.texts[place]
            assert words is None or stored[place] in words


def write_for(path: str, name: str, seconds: float, results: Any) -> None:
    """Append as fast as it goes for a time; report how many, and the slowest."""
    slowest = count = 0.0
    with History.open(path, busy_timeout=PATIENCE) as history:
        end = time.monotonic() + seconds
        number = 0
        while time.monotonic() < end:
            began = time.monotonic()
            uids = [f"{name}-{number}", f"{name}-{number}b"]
            done = history.append(
                f"w{number % 7}",
                [Message("user", TEXTS[number % len(TEXTS)], uid=uid) for uid in uids],
            )
            # Every third is sent again, as a host does that saw no answer.
            if number % 3 == 0:
                again = history.append(
                    f"w{number % 7}", [Message("user", "other words", uid=uid) for uid in uids]
                )
                assert again.inserted == 0
            slowest = max(slowest, time.monotonic() - began)
            count += done.inserted
            number += 1
    results.put((name, int(count), slowest))


def maintain_for(path: str, name: str, seconds: float, results: Any) -> None:
    """Do upkeep for a time, with the pauses that others rely on."""
    import threading

    stop = threading.Event()
    timer = threading.Timer(seconds, stop.set)
    timer.start()
    with History.open(path, busy_timeout=PATIENCE) as history:
        steps = history.upkeep(batch_size=100, watch=True, stop=stop, idle=0.2)
    timer.cancel()
    results.put((name, steps, 0.0))
