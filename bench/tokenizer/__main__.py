# SPDX-License-Identifier: MIT
"""Speed of the tokenizers: megabytes of source per second, and ratios to SQLite's own.

    python -m bench.tokenizer [--data DIR] [--seconds S] [--json FILE]

measure.c, a small loadable extension compiled on the spot (a C compiler and SQLite's headers
are needed), calls each tokenizer from C inside apsw's SQLite with a callback that only
counts. Each number is the best of many passes over the same text in the same run; the
tokenizers take turns, so that a slow moment of the machine hits all of them.

Without --data the texts are our own, below. With it, every ``.json``, ``.jsonl``, ``.csv``
and ``.txt`` file in the folder (gzipped ones too) is one text: all the strings it holds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from mnemogram import extension
from mnemogram.text import STORE_OPTIONS

HERE = Path(__file__).resolve().parent
LIMIT = 2_000_000  # bytes of a text; more would not change a rate
ROUNDS = 5

TOKENIZERS = {
    "unicode61": ("unicode61", []),
    "trigram": ("trigram", []),
    "cjk_unicode61": ("cjk_unicode61", ["remove_diacritics", "2", "variants", "1"]),
    "cjk_unicode61, as stores have it": (
        "cjk_unicode61",
        [each for pair in STORE_OPTIONS.items() for each in pair],
    ),
    "cjk_unicode61 compat": ("cjk_unicode61", ["compat", "1"]),
    "word_trigram": ("word_trigram", ["remove_diacritics", "2", "variants", "1"]),
}

OWN_WORDS = {
    "English log": """
        GET /api/v2/items status=200 took 35ms retry_max: 5 cache miss for user 4711
        WARN queue is nearly full; ERROR Connection refused by host db-3.example.org
        restarting worker the agent asked for a refund and we checked its order history
        before replying""",
    "Chinese": """
        明天 早上 九点 预约 牙医 复诊 把 缓存 节点 扩容 之后 再 看 日志 天气 很 好 我们 去 公园
        散步 电影 订阅 成功 请 查收 邮件 服务器 今天 下午 维护 两个 小时 记得 提前 保存 文件""",
    "Traditional": """
        臺灣 大學 圖書館 開放 時間 請 確認 您 的 訂單 與 發票 機場 捷運 轉乘 資訊 雲端 備份 還原""",
    "Japanese": """
        サーバー 障害 の 対応 を 確認 しました 明日 は 雨 が 降る そう です ﾃｽﾄ 完了 東京 都庁
        へ 行き ます""",
    "Korean": """
        예약을 바꿔 주세요 내일 회의는 오후 세 시에 시작합니다 서버가 느려서 다시 시작했습니다""",
    "Thai": """
        พรุ่งนี้นัดหมอฟัน ช่วยเปลี่ยนเวลาประชุม ระบบล่มเมื่อคืน ตรวจสอบแล้ว""",
    "Russian": """
        Пароль изменён вчера вечером сервер перезапущен проверьте журнал ошибок ещё раз""",
}


def own_texts() -> Iterator[tuple[str, str]]:
    for name, words in OWN_WORDS.items():
        rng = random.Random(name)
        choices = words.split()
        glue = "" if name in ("Chinese", "Traditional", "Japanese", "Thai") else " "
        lines = []
        size = 0
        while size < LIMIT // 4:
            line = glue.join(rng.choices(choices, k=12)) + ("。" if glue == "" else ".")
            lines.append(line)
            size += len(line.encode())
        yield name, "\n".join(lines)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings(child)


def file_texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        name = path.name.removesuffix(".gz")
        if not path.is_file() or not name.endswith((".json", ".jsonl", ".csv", ".txt")):
            continue
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8", "replace")
        if name.endswith(".json"):
            text = "\n".join(strings(json.loads(text)))
        elif name.endswith(".jsonl"):
            lines = filter(None, text.splitlines())
            text = "\n".join(s for line in lines for s in strings(json.loads(line)))
        if len(text) > 10_000:
            yield name, text.encode()[:LIMIT].decode("utf-8", "ignore")


def build_measure(folder: Path) -> Path:
    library = folder / "measure.so"
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
    subprocess.run([*command, "-o", str(library), str(HERE / "measure.c")], check=True)
    return library


def measure(connection: apsw.Connection, text: str, seconds: float) -> dict[str, dict[str, float]]:
    best: dict[str, dict[str, float]] = {}
    size = len(text.encode())
    for _ in range(ROUNDS):
        for name, (tokenizer, arguments) in TOKENIZERS.items():
            row = connection.execute(
                "SELECT tokenizer_time(?, ?, ?, ?)",
                (tokenizer, "\x1f".join(arguments), text, seconds / ROUNDS),
            ).fetchone()
            assert row is not None
            nanoseconds, _, tokens, _ = map(int, str(row[0]).split(","))
            rate = size / nanoseconds * 1000
            if name not in best or best[name]["MB/s"] < rate:
                best[name] = {
                    "MB/s": round(rate, 1),
                    "tokens": tokens,
                    "ns/char": round(nanoseconds / len(text), 2),
                }
    for result in best.values():
        for other in ("unicode61", "trigram"):
            result[f"x {other}"] = round(result["MB/s"] / best[other]["MB/s"], 2)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.tokenizer", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of texts to measure on")
    parser.add_argument("--seconds", type=float, default=0.5, help="per tokenizer and text")
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    connection = apsw.Connection(":memory:")
    extension.load(connection)
    with tempfile.TemporaryDirectory() as folder:
        connection.enable_load_extension(True)
        connection.load_extension(str(build_measure(Path(folder))))
        connection.enable_load_extension(False)
        texts = file_texts(options.data) if options.data else own_texts()
        results = {}
        for name, text in texts:
            results[name] = measure(connection, text, options.seconds)
            print(f"{name} ({len(text.encode()):,} bytes)")
            for tokenizer, result in results[name].items():
                ratios = "".join(
                    f" {result[f'x {peer}']:6.2f} x {peer}" for peer in ("unicode61", "trigram")
                )
                print(f"  {tokenizer:22} {result['MB/s']:8.1f} MB/s{ratios}")
    report = {
        "machine": f"{platform.machine()} {platform.system()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "extension": extension.check().to_dict(),
        "texts": results,
    }
    if options.json:
        options.json.write_text(json.dumps(report, ensure_ascii=False, indent=2), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
