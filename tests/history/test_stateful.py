# SPDX-License-Identifier: MIT
"""Whatever happens to a store, it equals a simple model, and every route finds the same."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from mnemogram import History, Message
from mnemogram.history.index import state as indexes
from tests.history.support import assert_sound

SESSIONS = ("alpha", "beta", "gamma")
WORDS = ("牙医", "复诊", "茶", "cache", "queue_7", "予約表", "예약")
TOOL = "tool"
sessions = st.sampled_from(SESSIONS)
numbers = st.integers(0, 11)
texts = st.lists(st.sampled_from((*WORDS, "的", "and", "🎉")), min_size=1, max_size=5).map(" ".join)
roles = st.sampled_from(("user", "assistant", TOOL))


class Store(RuleBasedStateMachine):
    """A store beside a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="mnemogram-model-"))
        self.path = self.folder / "state.db"
        # (session, uid) -> [role, text, state]
        self.model: dict[tuple[str, str], list[str]] = {}
        self.deleted: set[str] = set()

    def teardown(self) -> None:
        self.history.close()
        shutil.rmtree(self.folder)

    @initialize(extension=st.booleans(), policy=st.sampled_from(indexes.POLICIES))
    def begin(self, extension: bool, policy: indexes.Policy) -> None:
        self.extension = extension
        self.history = History.open(self.path, load_extension=extension, policy=policy)

    # -- what a host does

    @rule(session=sessions, number=numbers, role=roles, text=texts)
    def append(self, session: str, number: int, role: str, text: str) -> None:
        uid = f"u{number}"
        result = self.history.append(session, [Message(role, text, uid=uid)])  # type: ignore[arg-type]
        if session in self.deleted:
            assert (result.inserted, result.refused) == (0, 1)
        elif (session, uid) in self.model:
            assert (result.inserted, result.repeated) == (0, 1)
        else:
            assert result.inserted == 1
            self.model[session, uid] = [role, text, "active"]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), text=texts)
    def amend(self, data: st.DataObject, text: str) -> None:
        session, uid = data.draw(st.sampled_from(sorted(self.model)))
        self.history.amend(session, uid, content=text)
        self.model[session, uid][1] = text

    @precondition(lambda self: self.model)
    @rule(data=st.data(), state=st.sampled_from(("compacted", "rewound")))
    def change_state(self, data: st.DataObject, state: str) -> None:
        session, uid = data.draw(st.sampled_from(sorted(self.model)))
        before = self.model[session, uid][2]
        if state == "rewound":
            changed = self.history.rewind(session, [uid])
        else:
            changed = self.history.mark_compacted(session, [uid])
        assert changed == int(before not in ("rewound", state))
        if changed:
            self.model[session, uid][2] = state

    @rule(session=st.sampled_from((*SESSIONS, "never")))
    def delete(self, session: str) -> None:
        there = [place for place in self.model if place[0] == session]
        assert self.history.delete_session(session).messages == len(there)
        for place in there:
            del self.model[place]
        self.deleted.add(session)
        if self.deleted >= set(SESSIONS):  # else nothing more would happen
            with self.history._database.write() as connection:
                connection.execute("DELETE FROM tombstones")
            self.deleted.clear()

    # -- what happens to the store

    @rule(batch=st.integers(1, 6))
    def maintain(self, batch: int) -> None:
        assert not self.history.maintain(batch_size=batch).failed

    @rule(extension=st.booleans())
    def reopen(self, extension: bool) -> None:
        self.history.close()
        self.extension = extension
        self.history = History.open(self.path, load_extension=extension)

    @rule(extension=st.booleans(), policy=st.sampled_from(indexes.POLICIES), trigram=st.booleans())
    def choose(self, extension: bool, policy: indexes.Policy, trigram: bool) -> None:
        self.history.close()
        self.extension = extension
        self.history = History.open(
            self.path, load_extension=extension, policy=policy, trigram=trigram
        )

    @rule(name=st.sampled_from([each.name for each in indexes.INDEXES]))
    def find_damage(self, name: str) -> None:
        self.history._file.detach_damaged(name)

    @rule(name=st.sampled_from([each.name for each in indexes.INDEXES]))
    def detach(self, name: str) -> None:
        with self.history._database.write() as connection:
            state = indexes.load_states(connection).get(name)
            if state is not None and state.state != "detached":
                indexes.detach(connection, name, "taken off by the test")

    @rule()
    def purge(self) -> None:
        assert self.history.purge().complete

    # -- what must hold

    def visible(self) -> dict[tuple[str, str], list[str]]:
        return {place: each for place, each in self.model.items() if each[2] != "rewound"}

    @rule(word=st.sampled_from(WORDS))
    def search(self, word: str) -> None:
        answer = self.history.search(word, limit=10, roles=("user", "assistant", TOOL))
        found = {each.session_id for each in answer.results}
        expected = {place[0] for place, each in self.visible().items() if word in each[1].split()}
        with self.history._database.read() as connection:
            whole = indexes.load_states(connection).get(indexes.CJK.name)
        if self.extension and whole is not None and whole.state == "ready":
            assert answer.complete
        assert found == expected, (answer.search_path, word)

    @rule(one=st.sampled_from(WORDS), other=st.sampled_from(WORDS))
    def search_both(self, one: str, other: str) -> None:
        answer = self.history.search(f"{one} AND {other}", limit=10)
        found = {each.session_id for each in answer.results}
        expected = {
            place[0]
            for place, each in self.visible().items()
            if each[0] != TOOL and {one, other} <= set(each[1].split())
        }
        if expected or "hold parts of it" not in (answer.hint or ""):  # else it was relaxed
            assert found == expected, (answer.search_path, one, other)

    @rule(session=sessions)
    def read(self, session: str) -> None:
        expected = {place[1]: each for place, each in self.visible().items() if place[0] == session}
        if not any(place[0] == session for place in self.model):
            return
        messages = self.history.read(session).messages
        assert {each.uid: [each.role, each.content, each.state] for each in messages} == expected
        for each in messages:
            around = self.history.scroll(session, each.id, window=20)
            assert [other.id for other in around.messages] == [other.id for other in messages]

    @invariant()
    def indexes_are_sound(self) -> None:
        if hasattr(self, "history"):
            assert_sound(self.history)


Store.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestStore = Store.TestCase
