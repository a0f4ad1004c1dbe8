# SPDX-License-Identifier: MIT
"""The verbs of the scene memory, as a person and as a program use them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import apsw
import pytest

from .conftest import Run


@pytest.fixture
def told(run: Run) -> Run:
    """The command line, with a rule and two facts remembered."""
    run(
        "memory", "commit", "QQ回复", "格式", "纯文本", "--kind", "rule", "--scene", "chan:qq",
        "--sentence", "别用标记",
    )  # fmt: skip
    run("memory", "commit", "weather", "seen in", "QQ群", "--confidence", "0.5")
    run("memory", "commit", "qqxget", "is", "a tool")
    return run


def test_what_was_committed_is_recalled_in_its_scene(told: Run) -> None:
    found = told("scene", "recall", "chan:qq", "--json")
    assert found.code == 0
    (relation,) = found.json["relations"]
    assert (relation["subject"], relation["trust"], relation["scene"]) == (
        "QQ回复",
        "confirmed",
        "chan:qq",
    )
    people = told("scene", "recall", "chan:qq")
    assert "QQ回复 · 格式 · 纯文本  rule" in people.out
    assert "别用标记" in people.out
    assert told("scene", "recall", "chan:qq2").code == 3


def test_a_topic_is_recalled_by_its_words(told: Run) -> None:
    assert "QQ回复" in told("memory", "recall", "回复格式").out
    assert told("memory", "recall", "nothing", "like", "it").code == 3
    assert (
        told("memory", "recall", "weather", "--depth", "2", "--json").json["search_path"] == "cjk"
    )


def test_the_context_is_shown_as_a_model_gets_it(told: Run) -> None:
    shown = told("memory", "context", "are", "you", "there?", "--scene", "chan:qq/peer:g1")
    assert shown.out == (
        "Rules the user confirmed for this situation; follow them:\n"
        "- QQ回复 · 格式 · 纯文本 “别用标记”\n"
    )
    answer = told("memory", "context", "--scene", "chan:qq", "--explain", "--json").json
    assert "pinned to chan:qq; weight 1; confirmed" in answer["text"]
    assert told("memory", "context", "hello").code == 3


def test_triples_come_from_a_file_all_or_nothing(run: Run, tmp_path: Path) -> None:
    lines = [
        {"subject": "a", "relation": "is", "object": "b", "scene": "k"},
        {"subject": "c", "relation": "is", "object": "d"},
    ]
    text = "\n".join(json.dumps(each) for each in lines)
    answer = run("memory", "commit", "--file", "-", "--scene", "m", "--json", stdin=text.encode())
    assert answer.json["created"] == 2
    assert {each["trust"] for each in answer.json["relations"]} == {"observed"}
    assert [each["key"] for each in run("scene", "list", "--json").json["scenes"]] == ["k", "m"]
    bad = tmp_path / "bad.jsonl"
    bad.write_text(text + '\n{"subject": "x"}\n', encoding="utf-8")
    refused = run("memory", "commit", "--file", bad)
    assert refused.code == 2
    assert "triples[2] lacks relation, object" in refused.err
    assert run("memory", "commit", "--file", tmp_path / "no.jsonl").code == 2
    assert run("memory", "commit", "only", "two").code == 2


@pytest.mark.parametrize("line", ["[" * 200_000, "{", "7", '"text"'], ids=len)
def test_a_line_of_a_file_that_holds_no_triple_is_named(run: Run, line: str) -> None:
    refused = run("memory", "commit", "--file", "-", stdin=f"\n{line}\n".encode())
    assert refused.code == 2
    assert "line 2 is not" in refused.err


def test_a_single_valued_type_retires_the_old_one(run: Run) -> None:
    for city in ("Lisbon", "Porto"):
        answer = run("memory", "commit", "Ana", "lives in", city, "--single-valued", "--json")
    assert len(answer.json["retired"]) == 1
    assert "Porto" in run("memory", "recall", "Ana").out
    assert "Lisbon" not in run("memory", "recall", "Ana").out


def test_tagging_by_glob_shows_what_matches_and_then_backs_up(told: Run, tmp_path: Path) -> None:
    dry = told("scene", "tag", "chan:qq", "--glob", "QQ*")
    assert "weather · seen in · QQ群" in dry.out
    assert "qqxget" not in dry.out
    assert "dry run" in dry.err
    assert told("scene", "recall", "chan:qq", "--json").json["relations"][0]["weight"] == 1
    assert not list(tmp_path.rglob("*.backup-*"))
    done = told("scene", "tag", "chan:qq", "--glob", "QQ*", "--apply", "--json").json
    assert done["changed"] == 1
    (copy,) = tmp_path.rglob("*.backup-*")
    assert done["backup"] == str(copy)
    assert told("scene", "stats", "--json").json["relation_pins"] == 2
    assert told("scene", "tag", "chan:qq", "--glob", "nothing*").code == 3


def test_tagging_and_untagging_by_id_are_dry_runs_unless_applied(told: Run) -> None:
    assert "Would pin: 1 pin" in told("scene", "tag", "k", "--relation", "2").err
    assert told("scene", "list", "k").code == 3
    assert "Pinned: 1 pin" in told("scene", "tag", "k", "--relation", "2", "--apply").err
    assert "weather" in told("scene", "untag", "k", "--all").out
    assert told("scene", "list", "k").code == 0
    assert told("scene", "untag", "k", "--relation", "2", "--apply", "--no-backup").code == 0
    assert told("scene", "list", "k").code == 3
    missing = told("scene", "tag", "k", "--relation", "99")
    assert (missing.code, "no relation 99" in missing.err) == (3, True)
    assert told("scene", "tag", "k").code == 2
    assert told("scene", "tag", "k", "--glob", "a", "--relation", "1").code == 2
    assert told("scene", "untag", "k").code == 2
    assert told("scene", "tag", " / ", "--relation", "1", "--apply").code == 2


def test_noise_goes_only_when_applied(told: Run) -> None:
    told("memory", "commit", "weak", "is", "guess", "--confidence", "0.1", "--trust", "observed")
    dry = told("memory", "purge-noise")
    assert "confidence below 0.3" in dry.out
    assert "Would delete: 1 relations." in dry.err
    assert told("memory", "recall", "weak").code == 0
    assert told("memory", "purge-noise", "--apply", "--json").json["counts"]["relations"] == 1
    assert told("memory", "recall", "weak").code == 3
    assert told("memory", "purge-orphans", "--json").json["total"] == 0
    assert "Delete: nothing." in told("memory", "purge-orphans", "--apply").err


@pytest.mark.parametrize("verb", ["purge-noise", "purge-orphans"])
def test_dangling_pins_are_swept_whatever_is_purged(told: Run, tmp_path: Path, verb: str) -> None:
    (path,) = tmp_path.rglob("memory.db")
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO scene_refs VALUES (1, 'relation', 99, 1, 'observed', 0, 1)")
    connection.close()
    assert told("memory", verb, "--json").json["counts"]["pins"] == 1
    assert told("scene", "stats", "--json").json["stale_pins"] == 1
    done = told("memory", verb, "--apply", "--json").json
    assert done["counts"]["pins"] == 1
    assert Path(done["backup"]).exists()
    assert told("scene", "stats", "--json").json["stale_pins"] == 0


def test_forgetting_goes_only_when_applied(told: Run, tmp_path: Path) -> None:
    assert "weather" in told("memory", "forget", "--entity", "weather").out
    assert told("memory", "recall", "weather").code == 0
    assert told("memory", "forget", "--entity", "weather", "--apply").code == 0
    assert told("memory", "recall", "weather").code == 3
    files = [each.read_bytes() for each in tmp_path.rglob("memory.db*")]
    assert not any(b"weather" in each for each in files)
    assert told("memory", "forget").code == 2
    assert told("memory", "forget", "--entity", "nobody").code == 3


def test_merging_two_names_is_a_dry_run_unless_applied(told: Run) -> None:
    assert "Would merge: 1 relations moved." in told("memory", "merge", "qqxget", "weather").err
    done = told("memory", "merge", "qqxget", "weather", "--apply", "--json").json
    assert (done["moved"], done["target"]) == (1, "weather")
    assert told("memory", "recall", "qqxget", "--json").json["relations"][0]["subject"] == "weather"


def test_an_export_is_private_new_and_read_back_by_another_user(
    told: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.jsonl"
    assert told("memory", "export", file).code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert told("memory", "export", file).code == 2
    assert told("memory", "export").out == file.read_text(encoding="utf-8")
    monkeypatch.setenv("MNEMOGRAM_USER", "other")
    assert told("memory", "import", file, "--json").json["counts"]["relations"] == 3
    assert told("memory", "export").out == file.read_text(encoding="utf-8")
    file.write_text("no", encoding="utf-8")
    assert told("memory", "import", file).code == 2


def test_check_and_status_say_how_things_are(told: Run) -> None:
    assert told("memory", "check").err == "Sound.\n"
    assert told("memory", "check", "--json").json["ok"] is True
    assert told("memory", "status", "--json").json["index"] == "ready"
    assert "relations  3" in told("memory", "status").out
    assert "pins of relations" in told("scene", "stats").out


@pytest.mark.parametrize(
    "words",
    [
        ("scene", "stats"),
        ("scene", "recall", "k"),
        ("memory", "recall", "x"),
        ("memory", "check"),
        ("memory", "forget", "--everything", "--apply"),
    ],
)
def test_an_unknown_user_is_not_made(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert run(*words).code == 3
    assert not (tmp_path / "home").exists()


def test_remembered_escape_sequences_do_not_reach_the_terminal(run: Run) -> None:
    run(
        "memory",
        "commit",
        "a\x1b[31mred",
        "is",
        "b",
        "--scene",
        "k",
        "--sentence",
        "x\x1b]0;t\x07y",
    )
    for words in (("scene", "recall", "k"), ("memory", "context", "--scene", "k")):
        assert "\x1b" not in run(*words).out


def test_a_rule_is_listed_until_it_is_confirmed(run: Run) -> None:
    told = ("reply", "style", "plain", "--kind", "rule", "--scene", "chan:qq")
    run("memory", "commit", *told, "--trust", "observed")
    assert "for information" in run("memory", "context", "--scene", "chan:qq").out
    listed = run("memory", "confirm", "--json").json
    (rule,) = listed["relations"]
    assert listed["confirmed"] == 0
    done = run("memory", "confirm", rule["id"])
    assert "1 confirmed." in done.err
    assert run("memory", "confirm", rule["id"], "--json").json["confirmed"] == 0
    assert "follow" in run("memory", "context", "--scene", "chan:qq").out
    assert run("memory", "confirm").code == 3
    assert run("memory", "confirm", 99).code == 3
