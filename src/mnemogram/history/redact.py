# SPDX-License-Identifier: MIT
"""A ready redactor: takes common shapes of secrets out of texts before they are stored.

It knows shapes, not meanings: keys with the prefixes their issuers give them, private
key blocks, tokens in headers and URLs, and values that are named as secrets. What looks
like none of these is kept. It is off unless the host passes it::

    mnemogram.open(root, redactor=redact_secrets)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from mnemogram.history.models import Message, Session
from mnemogram.values import map_strings

__all__ = ["Redaction", "Redactor", "redact_secrets"]

#: Called with every text before it is stored; returns what is stored in its place.
Redactor: TypeAlias = Callable[[str], str]

_MARK: Final = "[redacted {}]"

# Each shape with a piece of text, folded, that it cannot be without: most texts hold none of
# them and are not searched. All take time linear in the text: no part that repeats may begin
# at many places of one run, nor two that follow each other match the same.
#: Prefixes as their issuers document them.
_SHAPES: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    (
        "private key",
        ("-----begin",),
        r"-----BEGIN (?P<label>[A-Z0-9 ]{0,100}PRIVATE KEY(?: BLOCK)?)-----"
        r"(?:(?!-----BEGIN |\[redacted )[\s\S]){0,20000}?(?:-----END (?P=label)-----|\Z)",
    ),
    ("API key", ("sk-",), r"\bsk-[A-Za-z0-9_-]{20,}"),
    ("API key", ("aiza",), r"\bAIza[0-9A-Za-z_-]{35}"),
    ("API key", ("_live_", "_test_"), r"\b(?:sk|rk|pk)_(?:live|test)_[0-9A-Za-z]{16,}"),
    (
        "AWS key",
        ("akia", "asia", "abia", "acca"),
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",
    ),
    (
        "GitHub token",
        ("gh", "github_pat_"),
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    ("GitLab token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("Slack token", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("Hugging Face token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
    ("bot token", (":aa",), r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"),
)
#: What follows the group is the secret; the group itself is kept.
_BEFORE: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    (
        # From the start of a run, so that each is looked through once.
        "JWT",
        (".eyj",),
        r"(?<![A-Za-z0-9_-])"
        r"(?=[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8})"
        r"([A-Za-z0-9_-]*?\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    ),
    (
        "token",
        ("bearer", "basic", "token"),
        r"(?i)(\b(?:Bearer|Basic|Token)\s+)(?!redacted)[A-Za-z0-9._~+/=-]{16,}",
    ),
    (
        "password",
        ("://",),
        r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:)(?!\[redacted)[^\s/@]{1,200}(?=@)",
    ),
    (
        "secret",
        ("passw", "passphrase", "secret", "key", "token"),
        r"(?i)((?<![A-Za-z0-9])(?:password|passwd|passphrase|secret|api[_-]?key"
        r"|access[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret"
        r"|private[_-]?key)[\"']?\s*(?:=|:|：|=>)\s*[\"']?)"
        r"(?!\[redacted|\$\{|<|\*{3}|(?:none|null|true|false|str|string)\b)[^\s\"',;&}]{6,200}",
    ),
    (
        "secret",
        ("密码", "口令", "密钥", "パスワード", "비밀번호"),
        r"((?:密码|口令|密钥|パスワード|비밀번호)\s*(?:是|为|は|는)?\s*[:：=]\s*)(?!\[redacted)[!-~]{4,200}",
    ),
)
_COMPILED: Final = tuple(
    (pieces, re.compile(shape), before + _MARK.format(kind))
    for shapes, before in ((_SHAPES, ""), (_BEFORE, r"\1"))
    for kind, pieces, shape in shapes
)


def redact_secrets(text: str) -> str:
    """Return ``text`` with what has the shape of a secret replaced by ``[redacted KIND]``.

    Doing it twice changes nothing more.

    Args:
        text: any text.
    """
    folded = text.casefold()
    for pieces, shape, mark in _COMPILED:
        if any(piece in folded for piece in pieces):
            text = shape.sub(mark, text)
    return text


@dataclass(frozen=True, slots=True)
class Redaction:
    """A host's redactor, applied to what is stored."""

    redactor: Redactor | None

    def text(self, text: str | None) -> str | None:
        """Return a text as it is stored."""
        return text if text is None or self.redactor is None else self.redactor(text)

    def json(self, value: Any) -> Any:
        """Return a JSON value as it is stored."""
        return value if self.redactor is None else map_strings(value, self.redactor)

    def session(self, session: Session | str) -> Session | str:
        """Return a session with its title as it is stored."""
        if self.redactor is None or not isinstance(session, Session):
            return session
        return replace(session, title=self.text(session.title))

    def message(self, message: Message) -> Message:
        """Return a message with its texts as they are stored."""
        if self.redactor is None or not isinstance(message, Message):
            return message  # what is no message is refused where it is prepared
        return replace(
            message, content=self.text(message.content), tool_calls=self.json(message.tool_calls)
        )
