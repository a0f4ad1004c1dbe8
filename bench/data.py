# SPDX-License-Identifier: MIT
"""Readers of the texts that the benchmarks measure on.

Labelled sets (texts, questions, and where the answer stands) come from two forms,
plain or gzipped: SQuAD's JSON, where each distinct passage becomes one message in a
session of its own, and our own dialogue form (``read_labelled``). Unlabelled
conversations come from KdConv, RealPersonaChat, a Korean question-and-answer table and
tau-bench, each in its published form.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

if TYPE_CHECKING:
    from mnemogram import Message, Session

__all__ = [
    "Dialogue",
    "LabelledSet",
    "Question",
    "Utterance",
    "conversations",
    "find_labelled",
    "language_of",
    "read_labelled",
    "read_squad",
]

Role = Literal["user", "assistant", "tool"]
LABELLED_FORMAT: Final = "mnemogram-labelled-dialogues"


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message: ``id`` is unique in its set."""

    id: str
    role: Role
    content: str
    timestamp: str | None = None
    tool_name: str | None = None
    tool_calls: Any = None

    def searchable(self) -> str:
        """Return the text that a search engine is given for the message."""
        parts = [self.content]
        if self.tool_name:
            parts.append(self.tool_name)
        if self.tool_calls:
            parts.append(json.dumps(self.tool_calls, ensure_ascii=False))
        return "\n".join(parts)

    def message(self) -> Message:
        """Return the message as the history stores it."""
        # Imported here so that a process that measures a peer does not carry ours.
        from mnemogram import Message

        return Message(
            self.role,
            self.content,
            uid=self.id,
            timestamp=self.timestamp,
            tool_name=self.tool_name,
            tool_calls=self.tool_calls,
        )


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One conversation."""

    id: str
    messages: tuple[Utterance, ...]
    source: str = "chat"
    title: str | None = None

    def session(self) -> Session:
        """Return the session as the history stores it."""
        from mnemogram import Session

        return Session(self.id, source=self.source, title=self.title)


@dataclass(frozen=True, slots=True)
class Question:
    """A query and the ids of the sessions, and of the messages, that answer it."""

    text: str
    sessions: frozenset[str]
    messages: frozenset[str]
    kind: str = "question"
    language: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Conversations of one user with questions about them."""

    name: str
    language: str
    dialogues: tuple[Dialogue, ...]
    questions: tuple[Question, ...]
    skipped: int = field(default=0)

    def to_json(self) -> dict[str, Any]:
        """Return the set in the form that ``read_labelled`` reads."""
        return {
            "format": LABELLED_FORMAT,
            "name": self.name,
            "language": self.language,
            "sessions": [
                {
                    "id": dialogue.id,
                    "source": dialogue.source,
                    "title": dialogue.title,
                    "messages": [
                        {
                            "id": each.id,
                            "role": each.role,
                            "content": each.content,
                            "timestamp": each.timestamp,
                            "tool_name": each.tool_name,
                            "tool_calls": each.tool_calls,
                        }
                        for each in dialogue.messages
                    ],
                }
                for dialogue in self.dialogues
            ],
            "questions": [
                {
                    "question": each.text,
                    "sessions": sorted(each.sessions),
                    "evidence": sorted(each.messages),
                    "kind": each.kind,
                    "language": each.language,
                }
                for each in self.questions
            ],
        }


def _read_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def _read_json(path: Path) -> Any:
    return json.loads(_read_bytes(path))


def _stem(path: Path) -> str:
    return re.sub(r"\.jsonl?(\.gz)?$", "", path.name)


_SCRIPTS: Final = (
    ("HIRAGANA", "ja"),
    ("KATAKANA", "ja"),
    ("HANGUL", "ko"),
    ("CJK", "zh"),
    ("THAI", "th"),
    ("CYRILLIC", "ru"),
    ("ARABIC", "ar"),
    ("DEVANAGARI", "hi"),
    ("GREEK", "el"),
)


def language_of(text: str) -> str:
    """Guess a language from the script that most letters of a text have.

    Kana decide for Japanese from a tenth of the letters on; Latin gives ``en``.
    """
    counts: dict[str, int] = {}
    letters = 0
    for char in text:
        if not char.isalpha():
            continue
        letters += 1
        name = unicodedata.name(char, "")
        for prefix, language in _SCRIPTS:
            if name.startswith(prefix):
                counts[language] = counts.get(language, 0) + 1
                break
    if counts.get("ja", 0) * 10 >= letters > 0:
        return "ja"
    if not counts:
        return "en"
    language, most = max(counts.items(), key=lambda item: item[1])
    return language if most * 2 >= letters else "en"


def read_squad(path: Path) -> LabelledSet:
    """Read a SQuAD-style file (v1.1 or v2.0; without the unanswerable questions).

    Each distinct passage is one message in its own session. An ``answer_start`` that
    does not match its text is no reason to leave a question out: the passage is what
    is looked for.
    """
    name = _stem(path)
    sessions: dict[str, str] = {}
    questions: list[Question] = []
    skipped = 0
    for article in _read_json(path)["data"]:
        for paragraph in article["paragraphs"]:
            passage = paragraph["context"]
            session = sessions.setdefault(passage, f"p{len(sessions)}")
            for each in paragraph["qas"]:
                if each.get("is_impossible") or not each["question"].strip():
                    skipped += 1
                    continue
                found = frozenset([session])
                questions.append(Question(each["question"], found, found))
    suffix = name.rsplit(".", 1)[-1]
    language = suffix if re.fullmatch("[a-z]{2}", suffix) else ""
    dialogues = tuple(
        Dialogue(session, (Utterance(session, "user", passage),))
        for passage, session in sessions.items()
    )
    return LabelledSet(
        name,
        language or language_of("".join(list(sessions)[:20])),
        dialogues,
        tuple(questions),
        skipped,
    )


def read_labelled(path: Path) -> LabelledSet:
    """Read dialogues with labelled evidence.

    The form, UTF-8 JSON, plain or gzipped::

        {"format": "mnemogram-labelled-dialogues", "name": "...", "language": "en",
         "sessions": [{"id": "s1", "source": "chat", "title": null, "messages": [
             {"id": "s1:1", "role": "user", "content": "...",
              "timestamp": "2026-03-01T09:00:00+08:00", "tool_name": null,
              "tool_calls": null}]}],
         "questions": [{"question": "...", "evidence": ["s1:1"], "kind": "keyword",
                        "language": "en"}]}

    ``evidence`` names messages, ``sessions`` (optional) whole sessions; a question
    counts as answered by any of them. Everything optional but ids, roles, contents and
    the questions themselves.

    Raises:
        ValueError: the file is not of this form, or evidence names no message.
    """
    value = _read_json(path)
    if not _is_labelled(value):
        raise ValueError(f'{path}: no "format": {LABELLED_FORMAT!r}')
    dialogues: list[Dialogue] = []
    home: dict[str, str] = {}
    for session in value["sessions"]:
        messages = tuple(
            Utterance(
                each["id"],
                cast(Role, each["role"]),
                each.get("content") or "",
                each.get("timestamp"),
                each.get("tool_name"),
                each.get("tool_calls"),
            )
            for each in session["messages"]
        )
        for message in messages:
            if home.setdefault(message.id, session["id"]) != session["id"]:
                raise ValueError(f"{path}: message id {message.id!r} stands in two sessions")
        dialogues.append(
            Dialogue(session["id"], messages, session.get("source") or "chat", session.get("title"))
        )
    questions = []
    for each in value["questions"]:
        evidence = each.get("evidence", [])
        unknown = [message for message in evidence if message not in home]
        sessions = {home[message] for message in evidence if message in home}
        sessions.update(each.get("sessions", []))
        if unknown or not sessions:
            raise ValueError(f"{path}: {each['question']!r} has evidence {unknown or 'nowhere'}")
        questions.append(
            Question(
                each["question"],
                frozenset(sessions),
                frozenset(evidence),
                each.get("kind", "question"),
                each.get("language"),
            )
        )
    return LabelledSet(
        value.get("name") or _stem(path),
        value.get("language") or "en",
        tuple(dialogues),
        tuple(questions),
    )


def _is_squad(value: Any) -> bool:
    data = value.get("data") if isinstance(value, Mapping) else None
    return bool(
        isinstance(data, list) and data and isinstance(data[0], Mapping) and "paragraphs" in data[0]
    )


def _is_labelled(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("format") == LABELLED_FORMAT


def find_labelled(folder: Path, only: tuple[str, ...] = ()) -> Iterator[LabelledSet]:
    """Read every labelled set below a folder, in the order of their names.

    Args:
        folder: looked through with all its folders.
        only: beginnings of names to keep (``cmrc``, ``xquad.zh``); all by default.
    """
    files = (each for each in folder.rglob("*") if re.search(r"\.json(\.gz)?$", each.name))
    for path in sorted(files):
        if only and not _stem(path).startswith(only):
            continue
        value = _read_json(path)
        if _is_squad(value):
            yield read_squad(path)
        elif _is_labelled(value):
            yield read_labelled(path)


# --- conversations without labels --------------------------------------------------------


def _kdconv(folder: Path) -> Iterator[Dialogue]:
    for path in sorted(folder.glob("*.json.gz")):
        for number, dialogue in enumerate(_read_json(path)):
            key = f"{_stem(path)}-{number}"
            yield Dialogue(
                key,
                tuple(
                    Utterance(f"{key}:{i}", "assistant" if i % 2 else "user", each["message"])
                    for i, each in enumerate(dialogue["messages"])
                ),
            )


def _real_persona_chat(folder: Path) -> Iterator[Dialogue]:
    for path in sorted(folder.glob("*.jsonl.gz")):
        for line in _read_bytes(path).decode().splitlines():
            dialogue = json.loads(line)
            first = dialogue["u"][0][0]
            yield Dialogue(
                f"rpc-{dialogue['id']}",
                tuple(
                    Utterance(
                        f"rpc-{dialogue['id']}:{i}",
                        "user" if speaker == first else "assistant",
                        text,
                        None if time == "NaT" else f"{time}+09:00",
                    )
                    for i, (speaker, time, text) in enumerate(dialogue["u"])
                ),
            )


def _ko_chatbot(folder: Path) -> Iterator[Dialogue]:
    for path in sorted(folder.glob("*.csv.gz")):
        rows = csv.DictReader(io.StringIO(_read_bytes(path).decode("utf-8-sig")))
        for number, row in enumerate(rows):
            key = f"ko-{number}"
            yield Dialogue(
                key,
                (
                    Utterance(f"{key}:0", "user", row["Q"]),
                    Utterance(f"{key}:1", "assistant", row["A"]),
                ),
            )


def _tau_bench(folder: Path) -> Iterator[Dialogue]:
    for path in sorted(folder.glob("*.json.gz")):
        for number, run in enumerate(_read_json(path)):
            key = f"{_stem(path)}-{number}"
            messages = []
            for i, each in enumerate(run["traj"]):
                if each["role"] not in ("user", "assistant", "tool"):
                    continue
                calls = [
                    {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
                    for call in each.get("tool_calls") or ()
                ]
                messages.append(
                    Utterance(
                        f"{key}:{i}",
                        cast(Role, each["role"]),
                        each["content"] or "",
                        None,
                        each.get("name"),
                        calls or None,
                    )
                )
            yield Dialogue(key, tuple(messages))


_CONVERSATIONS: Final = {
    "kdconv": _kdconv,
    "real-persona-chat": _real_persona_chat,
    "ko-chatbot": _ko_chatbot,
    "tau-bench": _tau_bench,
}


def conversations(folder: Path, kind: str) -> list[Dialogue]:
    """Read unlabelled conversations: ``kdconv``, ``real-persona-chat``, ``ko-chatbot``
    (one session for each pair) or ``tau-bench``, from the folder of that name.

    Returns:
        The conversations; an empty list where the folder is not there.
    """
    home = folder / kind
    return list(_CONVERSATIONS[kind](home)) if home.is_dir() else []
