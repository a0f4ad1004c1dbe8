# SPDX-License-Identifier: MIT
"""Shapes of secrets are taken out before anything is stored; other text is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.redaction import held_back
from bench.redaction.labelled import HARMLESS, secrets
from hypothesis import given
from hypothesis import strategies as st

from mnemogram import History, Message
from mnemogram.history.redact import redact_secrets
from tests.history.support import raw

LETTERS = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("key ", f"sk-proj-{LETTERS}", " end"),
        ("key ", f"AIza{LETTERS[:35]}", " end"),
        ("aws ", "AKIAABCDEFGHIJKLMNOP", " end"),
        ("push with ", f"ghp_{LETTERS}", "."),
        ("slack ", "xoxb-1234567890-abcdef", ""),
        ("jwt ", f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}", ""),
        ("Authorization: Bearer ", LETTERS, "\n"),
        ("DATABASE=postgres://me:", "hunter22", "@db/x"),
        ("DB_PASSWORD=", "correct-horse", " next"),
        ('{"client_secret": "', "abcdef123456", '"}'),
        ("password: ", "Tr0ub4dor&3"[:9], ""),
        ("密码：", "hunter22", ""),
        ("key ", "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF", " end"),
        ("key ", "sk-abcdefghijklmnopqrstuvwxyzabcdef", " end"),
        ("key ", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", " end"),
        ("Bearer ", "abcdefghijklmnop1234567890", " end"),
        ("密码是", "hunter2abc", "，记住"),
        ("密碼：", "hunter22", ""),
        ("пароль: ", "hunter22", " от почты"),
        ("la contraseña es ", "perro-1234", " desde ayer"),
        ('password="', "correct horse battery staple", '"'),
        ('{"password": "', r"p\"q w r1", '"}'),
        (r"{\"password\": \"", "hunter2 half 9", r"\"}"),
        ("user=me&password=", "swordfish", "&x=1"),
        ("**Password:** ", "hunter22", ""),
        ("ALTER USER me PASSWORD '", "hunter22", "'"),
        ("Authorization: Basic ", "bWU6aHVudGVyMjI=", ""),
        (
            "",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nxyz\n-----END RSA PRIVATE KEY-----",
            "\nafter",
        ),
        ("", "-----BEGIN PRIVATE KEY-----\nMIIabc cut off", ""),
    ],
)
def test_a_secret_goes_and_what_stands_around_it_stays(
    before: str, secret: str, after: str
) -> None:
    done = redact_secrets(before + secret + after)
    assert done.startswith(before + "[redacted ")
    assert done.endswith("]" + after)
    assert secret not in done
    assert redact_secrets(done) == done


@pytest.mark.parametrize(
    "text",
    [
        "the password is in the vault",
        "password: none",
        "def login(password: str) -> bool:",
        "set api_key=${API_KEY} first",
        "token by token, the bearer walked on",
        "sk-8 is a road",
        "https://example.org:8080/path",
        "明天的密码锁要换电池",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "basic responsibilities of the team",
        "Token authentication/authorization flow",
        "class sk-loading-spinner-wrapper-component",
        "my secret: patience and practice",
        "API_KEY=process.env.KEY",
        "starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----",
        "パスワードは8文字以上にしてください",
        "contraseña: obligatoria",
        '{"session_id": "550e8400-e29b-41d4-a716-446655440000"}',
        '{"passwordHint": "the name of your first dog"}',
        '{"password": "Enter your password"}',
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_secrets(text) == text


@pytest.mark.parametrize("before", ["", "my-", "a-b-eyJ-", "eyJ-eyJx-"])
def test_a_token_goes_wherever_it_stands_in_a_run(before: str) -> None:
    token = f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}"
    done = redact_secrets(f"{before}{token} end")
    assert LETTERS not in done
    assert done.endswith("[redacted JWT] end")


@pytest.mark.parametrize(
    "piece",
    ["a-", "_a", "a/", "sk-a-", "eyJa-", "eyJ-aaaaaaaa.", "-----BEGIN PRIVATE KEY-----",
     "-----BEGIN A ", "a-password-", "password ", "password= ", "Token ", "a://b", "a://b:",
     "密码 ", "gh", "12345678:AA", "client_secret: "],
)  # fmt: skip
def test_a_megabyte_of_what_begins_like_a_secret_is_looked_through(piece: str) -> None:
    text = piece * (1_000_000 // len(piece.encode()))
    assert redact_secrets(redact_secrets(text)) == redact_secrets(text)


_PIECES = (
    "password",
    "secret",
    "密码",
    "是",
    ": ",
    "=",
    '"',
    "'",
    "\\",
    "hunter22",
    " ",
    "&",
    "@",
    "://",
)


@given(st.lists(st.sampled_from(_PIECES) | st.text(max_size=3), max_size=12).map("".join))
def test_redacting_pieces_of_secrets_twice_is_redacting_them_once(text: str) -> None:
    once = redact_secrets(text)
    assert redact_secrets(once) == once


@given(st.text())
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact_secrets(text)
    assert redact_secrets(once) == once


def test_a_store_with_the_redactor_never_holds_the_secret(tmp_path: Path) -> None:
    secret = f"sk-{LETTERS}"
    with History.open(tmp_path / "state.db", redactor=redact_secrets) as history:
        history.append(
            "s",
            [
                Message("user", f"use {secret} please", uid="1"),
                Message("assistant", "", tool_calls=[{"arguments": f'{{"key": "{secret}"}}'}]),
            ],
        )
        history.amend("s", "1", content=f"or {secret}", tool_calls={"k": secret})
        with raw(history) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_a_value_is_known_by_its_name_in_an_object(tmp_path: Path) -> None:
    calls = [{"name": "login", "arguments": {"user": "me", "password": "hunter22", "n": [1, None]}}]
    with History.open(tmp_path / "state.db", redactor=redact_secrets) as history:
        history.append("s", [Message("assistant", "", uid="1", tool_calls=calls)])
        (found,) = history.read("s").messages
    assert "hunter22" not in str(found.tool_calls)
    assert "[redacted secret]" in str(found.tool_calls)
    assert "me" in str(found.tool_calls)


@pytest.mark.parametrize("redactor", [lambda text: "", lambda text: text[::-1], lambda text: "{"])
def test_any_redactor_may_change_a_text_in_an_object(tmp_path: Path, redactor: Any) -> None:
    with History.open(tmp_path / "state.db", redactor=redactor) as history:
        history.append("s", [Message("assistant", "", uid="1", tool_calls=[{"k": "secret"}])])
        (found,) = history.read("s").messages
    assert "secret" not in str(found.tool_calls)


def test_precision_and_recall_hold_on_the_labelled_list() -> None:
    everything = list(secrets())
    assert len(HARMLESS) + len(everything) >= 400
    assert len({each.kind for each in everything}) >= 40
    found = sum(each.secret not in redact_secrets(each.text) for each in everything)
    alarms = sum(redact_secrets(text) != text for text in HARMLESS)
    assert found / len(everything) >= 0.98
    assert found / (found + alarms) >= 0.98


def test_precision_and_recall_hold_on_the_list_that_was_written_after_the_rules() -> None:
    everything = list(held_back.secrets())
    assert len({each.kind for each in everything}) >= 40
    assert len(held_back.HARMLESS) + len(everything) >= 200
    found = sum(each.secret not in redact_secrets(each.text) for each in everything)
    alarms = sum(redact_secrets(text) != text for text in held_back.HARMLESS)
    assert found / len(everything) >= 0.98
    assert found / (found + alarms) >= 0.98
