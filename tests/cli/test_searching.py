# SPDX-License-Identifier: MIT
"""search, read, scroll, browse, status: what they print, and how they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run


def test_a_search_prints_the_match_and_how_it_was_found(talk: Run) -> None:
    done = talk("search", "牙医")
    assert done.code == 0
    assert "明早九点预约⟦牙医⟧复诊" in done.out
    assert "复诊" in done.out
    assert "1 conversation" in done.err
    assert "route" not in done.err
    done = talk("search", "牙医", "--explain")
    assert "route cjk" in done.err
    assert "route" not in done.out


def test_the_json_of_a_search_is_the_answer_of_the_library(talk: Run) -> None:
    answer = talk("search", "牙医", "--json").json
    assert (answer["success"], answer["mode"], answer["search_path"]) == (True, "discover", "cjk")
    (result,) = answer["results"]
    assert result["session_id"] == "s1"
    assert any(message["anchor"] for message in result["messages"])


def test_words_need_no_quotes(talk: Run) -> None:
    assert talk("search", "预约", "牙医").code == 0


def test_a_query_may_begin_with_a_dash(talk: Run) -> None:
    talk("append", "--session", "s2", "run node -v first")
    assert talk("search", "--json", "--", "-v").code == 0


def test_nothing_found_has_a_status_of_its_own(talk: Run) -> None:
    done = talk("search", "飞机")
    assert (done.code, done.out) == (3, "")
    assert "nothing found" in done.err
    assert talk("search", "飞机", "--json").json["count"] == 0


def test_options_reach_the_search(talk: Run) -> None:
    talk("append", "--session", "s2", "--source", "telegram", "--role", "tool", "牙医 tool")
    assert talk("search", "牙医", "--source", "telegram").code == 3
    assert talk("search", "牙医", "--source", "telegram", "--role", "tool").code == 0
    assert talk("search", "牙医", "--exclude-session", "s1").code == 3
    assert talk("search", "牙医", "--after", "2026-03-02").code == 3
    assert talk("search", "牙医", "--before", "2026-03-02", "--after", "2026-03-01").code == 0
    assert talk("search", "牙医", "--current-session", "s1").code == 3


def test_scroll_goes_on_from_what_a_search_found(talk: Run) -> None:
    found = talk("search", "牙医", "--json").json["results"][0]
    done = talk("scroll", found["session_id"], str(found["match_message_id"]), "--window", "1")
    assert done.code == 0
    assert "明早九点预约牙医复诊" in done.out
    assert "约好了" in done.out
    assert "1 more message" in done.out


def test_read_shows_a_session_and_how_much_is_left_out(run: Run) -> None:
    for number in range(40):
        run("append", "--session", "long", f"line {number}")
    done = run("read", "long")
    assert done.code == 0
    assert "··· 10 more messages ···" in done.out
    shown = done.out.splitlines()
    gap = next(i for i, line in enumerate(shown) if "10 more messages" in line)
    assert "line 19" in shown[gap - 1]
    assert "line 30" in "".join(shown[gap : gap + 3])


def test_browse_lists_sessions(talk: Run) -> None:
    done = talk("browse")
    assert done.code == 0
    assert "复诊" in done.out
    assert "3 messages" in done.out
    assert talk("browse", "--json").json["results"][0]["session_id"] == "s1"


def test_browse_lists_what_was_active_in_a_period(talk: Run) -> None:
    talk("append", "--session", "s2", "--timestamp", "2026-03-04T10:00:00Z", "later words")
    talk("append", "--session", "s1", "--timestamp", "2026-03-05T10:00:00Z", "once more")
    period = ("--after", "2026-03-01", "--before", "2026-03-01")
    (found,) = talk("browse", *period, "--json").json["results"]
    assert (found["session_id"], found["when"]) == ("s1", "2026-03-01T09:02:00.000Z")
    done = talk("browse", *period)
    assert "2026-03-01 09:02" in done.out
    assert "明早九点预约牙医复诊" in done.out
    first = talk("browse", "--after", "2026-03-01", "--limit", "1", "--json").json
    assert [each["preview"] for each in first["results"]] == ["明早九点预约牙医复诊"]
    second = talk("browse", "--after", "2026-03-01", "--limit", "1", "--cursor", first["cursor"])
    assert "later words" in second.out
    done = talk("browse", "--after", "2027-01-01")
    assert (done.code, done.out) == (3, "")
    assert "No conversation was active in this period" in done.err


def test_browse_and_search_show_background_work_where_it_is_asked_for(talk: Run) -> None:
    talk("append", "--session", "s2", "--source", "subagent", "牙医 looked up")
    for verb in (("browse",), ("search", "牙医"), ("list",)):
        assert "looked up" not in talk(*verb).out
        assert "1 conversation of background work" in talk(*verb).err.replace("is ", "")
        assert "looked up" in talk(*verb, "--source", "subagent").out
        both = talk(*verb, "--all-sources").out
        assert "复诊" in both
        assert "looked up" in both


def test_a_search_without_words_lists_a_period_and_else_names_what_lists(talk: Run) -> None:
    done = talk("search", "--after", "2026-03-01", "--before", "2026-03-01")
    assert done.code == 0
    assert "复诊" in done.out
    done = talk("search")
    assert (done.code, done.out) == (2, "")
    assert "list" in done.err


def test_status_shows_every_index(talk: Run) -> None:
    done = talk("status")
    assert done.code == 0
    assert "messages_fts_cjk" in done.out
    assert "ready" in done.out
    status = talk("status", "--json").json
    assert (status["sessions"], status["messages"]) == (1, 3)
    assert talk("status", "--no-sizes", "--json").json["indexes"][0]["bytes"] is None


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("read", "gone"), 3, "session_not_found"),
        (("scroll", "s1", "999"), 3, "anchor_not_in_history"),
        (("search", "牙医", "--cursor", "junk"), 2, "invalid_argument"),
    ],
)
def test_errors_are_words_or_json_and_never_a_traceback(
    talk: Run, arguments: tuple[str, ...], code: int, error: str
) -> None:
    done = talk(*arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("mnemogram: ")
    answer = talk(*arguments, "--json")
    assert answer.code == code
    assert answer.json["error"] == error
    assert answer.json["success"] is False
    assert answer.json["hint"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("search",),
        ("search", "x", "--limit", "11"),
        ("search", "x", "--after", "someday"),
        ("search", "x", "--role", "narrator"),
        ("scroll", "s1", "first"),
        ("nonsense",),
        ("browse", "--limit", "0"),
        ("append", "text"),
    ],
    ids=" ".join,
)
def test_wrong_usage_has_a_status_of_its_own(talk: Run, arguments: tuple[str, ...]) -> None:
    done = talk(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err


def test_one_person_needs_no_name(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNEMOGRAM_USER")
    assert run("append", "--session", "s", "dentist on friday").code == 0
    assert run("search", "dentist").code == 0
    assert run("search", "dentist", "--user", "me").code == 0
    assert run("search", "dentist", "--user", "other").code == 3


@pytest.mark.parametrize("user", ["system", " ", ""])
def test_a_user_that_cannot_be_is_refused(run: Run, user: str) -> None:
    assert run("browse", "--user", user).code == 2


def test_looking_for_an_unknown_user_makes_no_directory(run: Run, tmp_path: Path) -> None:
    done = run("search", "牙医", "--user", "nobody")
    assert done.code == 3
    assert "nobody" in done.err
    assert not (tmp_path / "home").exists()


def test_an_empty_file_is_an_error_and_not_nothing_found(talk: Run, tmp_path: Path) -> None:
    (file,) = (tmp_path / "home").rglob("state.db")
    file.write_bytes(b"")
    for verb in (("search", "牙医"), ("browse",), ("read", "s1"), ("status",)):
        done = talk(*verb)
        assert (done.code, done.out) == (1, "")
        assert "is empty" in done.err
        assert talk(*verb, "--json").json["error"] == "storage_unavailable"


def test_reading_verbs_change_no_file_and_no_mode(talk: Run, tmp_path: Path) -> None:
    (file,) = (tmp_path / "home").rglob("state.db")
    talk("memory", "commit", "Bob", "likes", "tea")
    file.chmod(0o400)
    home = tmp_path / "home"
    home.chmod(0o755)

    def state() -> dict[str, tuple[int, int, bytes | None]]:
        return {
            str(each): (
                each.stat().st_mode,
                each.stat().st_mtime_ns,
                each.read_bytes() if each.is_file() else None,
            )
            for each in [home, *home.rglob("*")]
        }

    before = state()
    for verb in (
        ("search", "牙医"),
        ("browse",),
        ("read", "s1"),
        ("scroll", "s1", "1"),
        ("status",),
        ("export", tmp_path / "out.jsonl"),
        ("backup", tmp_path / "copy.db"),
        ("delete", "s1"),
        ("delete", "--everything"),
        ("expire", "--before", "2027-01-01"),
        ("repair",),
        ("memory", "recall", "Bob"),
        ("scene", "list"),
    ):
        done = talk(*verb)
        assert done.code in (0, 3), (verb, done)
        assert state().keys() == before.keys(), verb
    after = state()
    folders = {name for name in before if before[name][2] is None}
    assert {name: after[name] for name in after.keys() - folders} == {
        name: before[name] for name in before.keys() - folders
    }
    assert {name: after[name][0] for name in folders} == {name: before[name][0] for name in folders}


def test_users_are_apart(talk: Run) -> None:
    talk("append", "--user", "other", "--session", "s9", "别的")
    assert talk("search", "牙医", "--user", "other").code == 3


def test_stored_escapes_do_not_reach_the_terminal(run: Run) -> None:
    run("append", "--session", "s\x1b[2J", "--title", "t\x1b]0;x\x07", "hidden \x1b[8mtext\x1b[0m")
    for arguments in (("search", "hidden"), ("browse",), ("search", "hidden", "--json")):
        done = run(*arguments)
        assert done.code == 0
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err


def test_a_secret_names_another_store(
    talk: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MNEMOGRAM_KEY_SECRET", "s3cret")
    assert talk("search", "牙医").code == 3
    talk("append", "--session", "s1", "牙医")
    assert talk("search", "牙医").code == 0
    assert len(list((tmp_path / "home" / "users").iterdir())) == 2


def test_an_explanation_is_a_table_of_each_result(talk: Run) -> None:
    done = talk("search", "预约", "牙医", "--explain")
    lines = done.out.splitlines()
    head = next(place for place, line in enumerate(lines) if "points  weight  part" in line)
    assert lines[head + 1].rstrip().endswith("text 1×")
    assert any("牙医" in line and "word" in line for line in lines[head:])
    assert any(line.strip().startswith("score: ") and " = " in line for line in lines)
    assert "route cjk" in done.err
    answer = talk("search", "预约", "牙医", "--explain", "--json").json
    assert answer["results"][0]["explanation"]["by"] == "score"
