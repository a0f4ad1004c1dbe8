# SPDX-License-Identifier: MIT
"""One conversation of each format, in the shape that its program writes.

Each sample says what must come of it, so that one set of tests holds for all formats.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mnemogram import History, Message, Session

__all__ = ["SAMPLES", "Sample"]

USER: Final = "which ferry goes to the island"
ASSISTANT: Final = "the one at nine, from the old harbour"
RESULT: Final = '{"ferries": ["nine", "渡轮"]}'
TALK: Final = (("user", USER), ("assistant", ""), ("tool", RESULT), ("assistant", ASSISTANT))
PLAIN: Final = (("user", USER), ("assistant", ASSISTANT))
CALL: Final = {"id": "k1", "name": "timetable", "arguments": {"island": "Hven"}}


@dataclass(frozen=True)
class Sample:
    """A file of a format.

    Attributes:
        format: the format's name.
        write: makes the file in a folder and returns its path.
        said: role and text of what must come of it, in order.
        session: the conversation's id, where the file has one.
        title: its title.
        timed: whether the file has times.
    """

    format: str
    write: Callable[[Path], Path]
    said: tuple[tuple[str, str], ...] = TALK
    session: str | None = None
    title: str | None = None
    timed: bool = True


def document(value: Any, name: str = "f.json") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        return path

    return write


def lines(*values: Any, name: str = "f.jsonl") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
        return path

    return write


def database(script: str, *rows: tuple[str, tuple[Any, ...]]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "logs.db"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
            for statement, values in rows:
                connection.execute(statement, values)
            connection.commit()
        return path

    return write


def at(second: int) -> str:
    return f"2026-03-01T09:00:{second:02}.000Z"


EPOCH: Final = 1_772_355_600


def node(key: str, parent: str | None, role: str, content: Any, second: int, **more: Any) -> Any:
    body = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    message = {
        "id": key,
        "author": {"role": role, **more.pop("author", {})},
        "content": body,
        "create_time": EPOCH + second,
        "status": "finished_successfully",
        "metadata": {},
        **more,
    }
    return {"id": key, "parent": parent, "children": [], "message": message}


CHATGPT: Final = {
    "title": "Ferry",
    "create_time": float(EPOCH),
    "update_time": EPOCH + 9.5,
    "mapping": {
        "root": {"id": "root", "parent": None, "children": ["n1"], "message": None},
        "n1": node("n1", "root", "user", USER, 1),
        "n2": node(
            *("n2", "n1", "assistant"),
            {"content_type": "code", "language": "json", "text": '{"island": "Hven"}'},
            *(2,),
            recipient="timetable",
        ),
        "n3": node("n3", "n2", "tool", RESULT, 3, author={"name": "timetable"}),
        "n4": node("n4", "n3", "assistant", ASSISTANT, 4),
    },
    "moderation_results": [],
    "current_node": "n4",
    "conversation_id": "c-1",
    "default_model_slug": "model-5",
    "id": "c-1",
}


def chatgpt_zip(folder: Path) -> Path:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations-000.json", json.dumps([CHATGPT]))
        archive.writestr("user.json", '{"id": "me"}')
        archive.writestr("message_feedback.json", "[]")
    return path


CLAUDE: Final = {
    "uuid": "c-1",
    "name": "Ferry",
    "created_at": at(0),
    "updated_at": at(9),
    "account": {"uuid": "me"},
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": USER,
            "created_at": at(1),
            "content": [{"type": "text", "text": USER}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "",
            "created_at": at(2),
            "content": [
                {"type": "tool_use", "id": "k1", "name": "timetable", "input": {"island": "Hven"}},
                {"type": "tool_result", "tool_use_id": "k1", "content": json.loads(RESULT)},
            ],
        },
        {
            "uuid": "m3",
            "sender": "assistant",
            "text": ASSISTANT,
            "created_at": at(4),
            "content": [{"type": "text", "text": ASSISTANT}],
        },
    ],
}


def event(uuid: str, parent: str | None, role: str, content: Any, second: int) -> Any:
    return {
        "type": role,
        "sessionId": "c-1",
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": at(second),
        "isSidechain": False,
        "cwd": "/w",
        "version": "2",
        "message": {"role": role, "content": content},
    }


AGENT: Final = (
    {"type": "summary", "summary": "Ferry", "leafUuid": "e4"},
    event("e1", None, "user", USER, 1),
    event(
        *("e2", "e1", "assistant"),
        [{"type": "tool_use", "id": "k1", "name": "timetable", "input": {"island": "Hven"}}],
        2,
    ),
    event(
        *("e3", "e2", "user"),
        [{"type": "tool_result", "tool_use_id": "k1", "content": RESULT}],
        3,
    ),
    event("e4", "e3", "assistant", [{"type": "text", "text": ASSISTANT}], 4),
)

ITEMS: Final = (
    {"role": "user", "content": USER},
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "k1",
        "name": "timetable",
        "arguments": '{"island": "Hven"}',
    },
    {"type": "function_call_output", "call_id": "k1", "output": RESULT},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": ASSISTANT, "annotations": []}],
    },
)


def rolled(second: int, kind: str, payload: Any) -> Any:
    return {"timestamp": at(second), "type": kind, "payload": payload}


ROLLOUT: Final = (
    rolled(0, "session_meta", {"id": "c-1", "timestamp": at(0), "cwd": "/w", "originator": "cli"}),
    rolled(
        *(1, "response_item"),
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": USER}],
        },
    ),
    rolled(1, "event_msg", {"type": "user_message", "message": USER}),
    rolled(2, "response_item", ITEMS[1]),
    rolled(3, "response_item", ITEMS[2]),
    rolled(4, "response_item", ITEMS[3]),
    rolled(4, "event_msg", {"type": "agent_message", "message": ASSISTANT}),
)

AI_SDK: Final = {
    "id": "c-1",
    "title": "Ferry",
    "createdAt": at(0),
    "messages": [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": USER}], "createdAt": at(1)},
        {
            "id": "m2",
            "role": "assistant",
            "createdAt": at(2),
            "parts": [
                {"type": "step-start"},
                {
                    "type": "tool-timetable",
                    "toolCallId": "k1",
                    "state": "output-available",
                    "input": {"island": "Hven"},
                    "output": json.loads(RESULT),
                },
            ],
        },
        {
            "id": "m3",
            "role": "assistant",
            "createdAt": at(4),
            "parts": [{"type": "text", "text": ASSISTANT, "state": "done"}],
        },
    ],
}

GEMINI_HEAD: Final = {
    "sessionId": "c-1",
    "projectHash": "0" * 64,
    "startTime": at(0),
    "lastUpdated": at(9),
    "summary": "Ferry",
    "kind": "main",
}
GEMINI_MESSAGES: Final = (
    {"id": "m1", "timestamp": at(1), "type": "user", "content": [{"text": USER}]},
    {"id": "m0", "timestamp": at(1), "type": "info", "content": "a hint of the program"},
    {
        "id": "m2",
        "timestamp": at(2),
        "type": "gemini",
        "content": "",
        "model": "model-2",
        "thoughts": [{"subject": "s", "description": "d", "timestamp": at(2)}],
        "toolCalls": [
            {
                "id": "k1",
                "name": "timetable",
                "args": {"island": "Hven"},
                "status": "success",
                "timestamp": at(3),
                "result": [
                    {
                        "functionResponse": {
                            "id": "k1",
                            "name": "timetable",
                            "response": {"output": RESULT},
                        }
                    }
                ],
            }
        ],
    },
    {"id": "m3", "timestamp": at(4), "type": "gemini", "content": ASSISTANT, "model": "model-2"},
)
CONTENTS: Final = [
    {"role": "user", "parts": [{"text": USER}]},
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {"functionCall": {"id": "k1", "name": "timetable", "args": {"island": "Hven"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "id": "k1",
                    "name": "timetable",
                    "response": {"output": RESULT},
                }
            }
        ],
    },
    {"role": "model", "parts": [{"text": ASSISTANT}]},
]

LLM: Final = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
  prompt_json TEXT, options_json TEXT, response TEXT, response_json TEXT,
  conversation_id TEXT REFERENCES conversations(id), duration_ms INTEGER, datetime_utc TEXT,
  input_tokens INTEGER, output_tokens INTEGER, token_details TEXT, schema_id TEXT);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
  arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT,
  output TEXT, tool_call_id TEXT, instance_id INTEGER, exception TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT,
  source TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
INSERT INTO conversations VALUES ('c-1', 'Ferry', 'model-4');
"""
_RESPONSE: Final = (
    "INSERT INTO responses (id, model, prompt, system, response, conversation_id, duration_ms,"
    " datetime_utc) VALUES (?, 'model-4', ?, ?, ?, 'c-1', 900, ?)"
)

AGENTS: Final = """
CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY,
  created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
  message_data TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (session_id) REFERENCES agent_sessions (session_id) ON DELETE CASCADE);
"""

HERMES: Final = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, user_id TEXT, model TEXT, title TEXT,
  parent_session_id TEXT, started_at REAL, ended_at REAL, end_reason TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT,
  content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL,
  active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0);
INSERT INTO sessions (id, source, title, started_at) VALUES ('c-1', 'cli', 'Ferry', 1772355600);
"""
_HERMES_ROW: Final = (
    "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name,"
    " timestamp) VALUES ('c-1', ?, ?, ?, ?, ?, ?)"
)


def langchain(kind: str, content: Any, **more: Any) -> Any:
    fields = {"content": content, "additional_kwargs": {}, "response_metadata": {}, "type": kind}
    return {"type": kind, "data": {**fields, "name": None, "id": None, **more}}


LANGCHAIN: Final = [
    langchain("human", USER, id="m1"),
    langchain(
        *("ai", ""),
        id="m2",
        invalid_tool_calls=[],
        tool_calls=[
            {"name": "timetable", "args": {"island": "Hven"}, "id": "k1", "type": "tool_call"}
        ],
    ),
    langchain("tool", RESULT, tool_call_id="k1", name="timetable", id="m3", status="success"),
    langchain("ai", ASSISTANT, id="m4", tool_calls=[], invalid_tool_calls=[]),
]


def constructor(message: Any) -> Any:
    name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[message["type"]]
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": message["data"]}


STORED: Final = """
CREATE TABLE message_store (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT);
"""

SHAREGPT: Final = {
    "id": "c-1",
    "system": "be kind",
    "conversations": [
        {"from": "human", "value": USER},
        {
            "from": "function_call",
            "value": json.dumps({"name": "timetable", "arguments": {"island": "Hven"}}),
        },
        {"from": "observation", "value": RESULT},
        {"from": "gpt", "value": ASSISTANT},
    ],
}

OPEN_WEBUI: Final = {
    "id": "c-1",
    "user_id": "me",
    "title": "Ferry",
    "chat": {
        "title": "Ferry",
        "models": ["model-3"],
        "history": {
            "currentId": "m2",
            "messages": {
                "m1": {
                    "id": "m1",
                    "parentId": None,
                    "childrenIds": ["m2"],
                    "role": "user",
                    "content": USER,
                    "timestamp": EPOCH + 1,
                    "models": ["model-3"],
                },
                "m2": {
                    "id": "m2",
                    "parentId": "m1",
                    "childrenIds": [],
                    "role": "assistant",
                    "content": ASSISTANT,
                    "model": "model-3",
                    "timestamp": EPOCH + 2,
                    "done": True,
                    "modelIdx": 0,
                },
            },
        },
        "messages": [{"id": "m1", "role": "user", "content": USER}],
        "timestamp": EPOCH * 1000,
    },
    "created_at": EPOCH,
    "updated_at": EPOCH + 9,
    "share_id": None,
    "archived": False,
    "meta": {},
}

LIBRECHAT: Final = {
    "conversationId": "c-1",
    "endpoint": "openAI",
    "title": "Ferry",
    "exportAt": "13:18:04 GMT-0400 (Eastern Daylight Time)",
    "branches": True,
    "recursive": True,
    "options": {"model": "model-6", "endpoint": "openAI", "title": "Ferry"},
    "messages": [
        {
            "messageId": "m1",
            "conversationId": "c-1",
            "createdAt": at(1),
            "text": USER,
            "isCreatedByUser": True,
            "sender": "User",
            "model": None,
            "error": False,
            "parentMessageId": "00000000-0000-0000-0000-000000000000",
            "children": [
                {
                    "messageId": "m2",
                    "conversationId": "c-1",
                    "createdAt": at(2),
                    "text": "",
                    "isCreatedByUser": False,
                    "sender": "Bot",
                    "model": "model-6",
                    "parentMessageId": "m1",
                    "error": False,
                    "unfinished": False,
                    "content": [
                        {
                            "type": "tool_call",
                            "tool_call": {
                                "id": "k1",
                                "name": "timetable",
                                "type": "tool_call",
                                "args": '{"island": "Hven"}',
                                "output": RESULT,
                            },
                        },
                    ],
                    "children": [
                        {
                            "messageId": "m3",
                            "parentMessageId": "m2",
                            "createdAt": at(4),
                            "isCreatedByUser": False,
                            "sender": "Bot",
                            "text": ASSISTANT,
                            "children": [],
                        }
                    ],
                }
            ],
        }
    ],
}

_LOBE: Final = {"sessionId": "s-1", "topicId": "c-1", "updatedAt": (EPOCH + 9) * 1000, "meta": {}}
LOBECHAT: Final = {
    "exportType": "sessions",
    "state": {
        "messages": [  # in no order
            {
                **_LOBE,
                "id": "m3",
                "role": "tool",
                "content": RESULT,
                "parentId": "m2",
                "createdAt": (EPOCH + 3) * 1000,
                "tool_call_id": "k1",
                "plugin": {"apiName": "timetable", "identifier": "ferries", "type": "default"},
            },
            {**_LOBE, "id": "m1", "role": "user", "content": USER, "createdAt": EPOCH * 1000},
            {
                **_LOBE,
                "id": "m4",
                "role": "assistant",
                "content": ASSISTANT,
                "createdAt": (EPOCH + 4) * 1000,
                "parentId": "m3",
                "fromModel": "model-7",
            },
            {
                **_LOBE,
                "id": "m2",
                "role": "assistant",
                "content": "",
                "parentId": "m1",
                "createdAt": (EPOCH + 2) * 1000,
                "tools": [
                    {
                        "id": "k1",
                        "apiName": "timetable",
                        "identifier": "ferries",
                        "arguments": '{"island": "Hven"}',
                        "type": "default",
                    }
                ],
            },
        ],
        "sessions": [
            {
                "id": "s-1",
                "type": "agent",
                "createdAt": EPOCH * 1000,
                "group": "default",
                "meta": {"title": "Travel"},
                "config": {"model": "model-7"},
            }
        ],
        "topics": [{"id": "c-1", "title": "Ferry", "sessionId": "s-1", "createdAt": EPOCH * 1000}],
        "sessionGroups": [],
    },
    "version": 7,
}

TAVERN: Final = (
    {
        "user_name": "Ada",
        "character_name": "Ferry",
        "create_date": "2026-3-1@09h00m00s",
        "chat_metadata": {"integrity": "0f6a", "note_prompt": ""},
    },
    {
        "name": "Ada",
        "is_user": True,
        "is_system": False,
        "mes": USER,
        "extra": {},
        "send_date": "March 1, 2026 9:01am",
    },
    {
        "name": "Ferry",
        "is_user": False,
        "is_system": False,
        "mes": ASSISTANT,
        "send_date": "March 1, 2026 9:02am",
        "swipe_id": 0,
        "swipes": [ASSISTANT],
        "extra": {"api": "x", "model": "model-8"},
    },
)


def own_store(folder: Path) -> Path:
    path = folder / "state.db"
    if not path.exists():
        with History.open(path) as history:
            history.append(
                Session("c-1", title="Ferry"),
                [
                    Message("user", USER, uid="m1", timestamp=at(1)),
                    Message("assistant", "", uid="m2", timestamp=at(2), tool_calls=[CALL]),
                    Message(
                        *("tool", RESULT),
                        uid="m3",
                        tool_call_id="k1",
                        tool_name="timetable",
                        timestamp=at(3),
                    ),
                    Message("assistant", ASSISTANT, uid="m4", timestamp=at(4)),
                ],
            )
    return path


OWN_LINES: Final = (
    {"type": "header", "format": "mnemogram", "version": 1},
    {"type": "session", "id": "c-1", "source": "chat", "title": "Ferry", "started_at": at(0)},
    *(
        {
            "type": "message",
            "session": "c-1",
            "uid": f"m{number}",
            "role": role,
            "content": text,
            "timestamp": at(number),
            "state": "active",
            **({"tool_calls": [CALL]} if number == 2 else {}),
            **({"tool_call_id": "k1", "tool_name": "timetable"} if role == "tool" else {}),
        }
        for number, (role, text) in enumerate(TALK, 1)
    ),
)
COMPLETION: Final = {
    "id": "c-1",
    "title": "Ferry",
    "created_at": at(0),
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": USER},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "k1",
                    "type": "function",
                    "function": {"name": "timetable", "arguments": '{"island": "Hven"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "k1", "content": RESULT},
        {"role": "assistant", "content": ASSISTANT},
    ],
}

SAMPLES: Final[dict[str, Sample]] = {
    "ChatGPT": Sample("chatgpt", document([CHATGPT]), session="c-1", title="Ferry"),
    "ChatGPT zip": Sample("chatgpt", chatgpt_zip, session="c-1", title="Ferry"),
    "Claude": Sample("claude", document([CLAUDE]), session="c-1", title="Ferry"),
    "agent log": Sample("claude-code", lines(*AGENT), session="c-1", title="Ferry"),
    "rollout": Sample("rollout", lines(*ROLLOUT), session="c-1"),
    "Responses": Sample("responses", document(list(ITEMS)), timed=False),
    "Agents SDK": Sample(
        "agents-sdk",
        database(
            AGENTS,
            ("INSERT INTO agent_sessions VALUES ('c-1', ?, ?)", (at(0), at(9))),
            *(
                (
                    "INSERT INTO agent_messages (session_id, message_data, created_at)"
                    " VALUES ('c-1', ?, '2026-03-01 09:00:01')",
                    (json.dumps(item),),
                )
                for item in ITEMS
            ),
        ),
        session="c-1",
    ),
    "AI SDK": Sample("ai-sdk", document(AI_SDK), session="c-1", title="Ferry"),
    "AI SDK messages": Sample("ai-sdk", document(AI_SDK["messages"])),
    "Gemini CLI": Sample(
        *("gemini", document({**GEMINI_HEAD, "messages": list(GEMINI_MESSAGES)})),
        session="c-1",
        title="Ferry",
    ),
    "Gemini CLI lines": Sample(
        *("gemini", lines(GEMINI_HEAD, *GEMINI_MESSAGES, {"$set": {"lastUpdated": at(9)}})),
        session="c-1",
        title="Ferry",
    ),
    "contents": Sample("gemini", document({"contents": CONTENTS}), timed=False),
    "checkpoint": Sample("gemini", document(CONTENTS), timed=False),
    "llm": Sample(
        "llm",
        database(
            LLM,
            (_RESPONSE, ("r1", USER, "be kind", "", "2026-03-01T09:00:01.5")),
            ("INSERT INTO tool_calls VALUES (1, 'r1', 1, 'timetable', '{}', 'k1')", ()),
            (_RESPONSE, ("r2", "", None, ASSISTANT, "2026-03-01T09:00:04+00:00")),
            (
                "INSERT INTO tool_results VALUES (1, 'r2', 1, 'timetable', ?, 'k1', NULL, NULL)",
                (RESULT,),
            ),
        ),
        session="c-1",
        title="Ferry",
    ),
    "hermes": Sample(
        "session-store",
        database(
            HERMES,
            (_HERMES_ROW, ("user", USER, None, None, None, EPOCH + 1)),
            (
                _HERMES_ROW,
                ("assistant", "", None, json.dumps([CALL]), None, EPOCH + 2),
            ),
            (_HERMES_ROW, ("tool", RESULT, "k1", None, "timetable", EPOCH + 3)),
            (_HERMES_ROW, ("assistant", ASSISTANT, None, None, None, EPOCH + 4)),
        ),
        session="c-1",
        title="Ferry",
    ),
    "LangChain": Sample("langchain", document(LANGCHAIN), timed=False),
    "LangChain dumps": Sample(
        "langchain", document(list(map(constructor, LANGCHAIN))), timed=False
    ),
    "LangChain state": Sample(
        "langchain",
        document({"values": {"messages": [each["data"] for each in LANGCHAIN]}}),
        timed=False,
    ),
    "LangChain store": Sample(
        "langchain",
        database(
            STORED,
            *(
                (
                    "INSERT INTO message_store (session_id, message) VALUES ('c-1', ?)",
                    (json.dumps(each),),
                )
                for each in LANGCHAIN
            ),
        ),
        session="c-1",
        timed=False,
    ),
    "ShareGPT": Sample("sharegpt", document([SHAREGPT]), session="c-1", timed=False),
    "ShareGPT lines": Sample("sharegpt", lines(SHAREGPT), session="c-1", timed=False),
    "Open WebUI": Sample(
        "open-webui", document([OPEN_WEBUI]), said=PLAIN, session="c-1", title="Ferry"
    ),
    "Open WebUI database": Sample(
        "open-webui",
        database(
            "CREATE TABLE chat (id TEXT PRIMARY KEY, user_id TEXT, title TEXT, chat TEXT,"
            " created_at INTEGER, updated_at INTEGER, meta TEXT);",
            (
                "INSERT INTO chat VALUES ('c-1', 'me', 'Ferry', ?, ?, ?, '{}')",
                (json.dumps(OPEN_WEBUI["chat"]), EPOCH, EPOCH + 9),
            ),
        ),
        said=PLAIN,
        session="c-1",
        title="Ferry",
    ),
    "LibreChat": Sample("librechat", document(LIBRECHAT), session="c-1", title="Ferry"),
    "LobeChat": Sample("lobechat", document(LOBECHAT), session="c-1", title="Ferry"),
    "SillyTavern": Sample("sillytavern", lines(*TAVERN), said=PLAIN, title="Ferry"),
    "our export": Sample("jsonl", lines(*OWN_LINES), session="c-1", title="Ferry"),
    "our store": Sample("mnemogram", own_store, session="c-1", title="Ferry"),
    "completions": Sample("openai", document(COMPLETION), session="c-1", title="Ferry"),
    "completion lines": Sample("openai", lines(*COMPLETION["messages"]), timed=False),
}
