# SPDX-License-Identifier: MIT
"""From a key press to its results on the page: ``python -m bench.view``.

Fills a root with made-up messages, serves it on the loopback address, and types queries a key at
a time in the system's Chromium. Each time is from the input event to the results in the page.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import mnemogram
from mnemogram.demo import filler
from mnemogram.view import Server

USER = "bench"
QUERIES = (
    "dentist appointment",
    "牙医预约",
    "cacheA 扩容",
    "バックアップ",
    "예약 확인",
    "disk quota",
)
_BATCH = 200
#: Types one character, and gives the milliseconds until its results are there.
_PRESS = """
const [text, done] = arguments;
const field = document.querySelector('#q');
const results = document.querySelector('#results');
new MutationObserver((_, watcher) => {
  watcher.disconnect();
  requestAnimationFrame(() => done(performance.now() - start));
}).observe(results, { childList: true });
field.value = text;
const start = performance.now();
field.dispatchEvent(new Event('input', { bubbles: true }));
"""


def fill(root: Path, count: int) -> float:
    """Store made-up messages and return the seconds it took."""
    start = time.perf_counter()
    with mnemogram.open(root, synchronous="normal") as home:
        history = home.history(USER)
        made = iter(filler(count))
        while batch := list(islice(made, _BATCH)):
            history.append_many(batch)
        while history.maintain(batch_size=5_000).more:
            pass
    return time.perf_counter() - start


def presses(link: str) -> Iterator[float]:
    """Type every query in a browser and give the milliseconds of each key press."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for each in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(each)
    driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(link)
        driver.set_script_timeout(30)
        while not driver.find_elements("css selector", "#q"):
            time.sleep(0.05)
        for query in QUERIES:
            for end in range(1, len(query) + 1):
                if query[end - 1] != " ":
                    yield float(driver.execute_async_script(_PRESS, query[:end]))
    finally:
        driver.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--root", type=Path, help="a root that was filled before, or is to be")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = options.root or Path(temporary)
        filled = 0.0 if (root / "users").exists() else fill(root, options.messages)
        with Server(root, USER, port=0, read_only=True) as server:
            thread = threading.Thread(target=server.run)
            thread.start()
            try:
                times = sorted(presses(server.new_link()))
            finally:
                server.stop()
                thread.join()
        with mnemogram.open(root) as home:
            status = home.history(USER).status()
    print(
        json.dumps(
            {
                "messages": status.messages,
                "megabytes": round(status.bytes / 1e6),
                "filled_seconds": round(filled),
                "presses": len(times),
                "p50_ms": round(statistics.median(times), 1),
                "p95_ms": round(times[int(len(times) * 0.95)], 1),
                "worst_ms": round(times[-1], 1),
            }
        )
    )


if __name__ == "__main__":
    main()
