# SPDX-License-Identifier: MIT
"""The page in a real browser: Chromium of the system, where there is one."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mnemogram
from mnemogram import Message, Session, Triple
from mnemogram.demo import conversations, filler

if TYPE_CHECKING:
    from mnemogram.view import Server

selenium = pytest.importorskip("selenium", reason="the extra 'test-browser' is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no Chromium with its driver"),
    # What is left open by the driver's own client is no fault of the page.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
#: Seconds after which what was waited for is not coming; nothing waits that long.
PATIENCE = 60
#: Where screenshots are kept, if anywhere.
PICTURES = os.environ.get("MNEMOGRAM_SCREENSHOTS")
LONG = 3_000
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def fill(home: mnemogram.Mnemogram) -> None:
    history = home.history("demo")
    history.append_many([(each.session, each.messages) for each in conversations()])
    history.append_many(list(filler(400)))
    history.append(
        Session("long", title="A long one", source="telegram"),
        [
            Message("user" if n % 2 else "assistant", f"turn {n} " + "word " * (n % 40),
                    timestamp=1_767_000_000 + n)
            for n in range(LONG)
        ],
    )  # fmt: skip
    history.append(
        Session("hostile", title=HOSTILE, source="chat"),
        [
            Message("user", f"kettle {HOSTILE}", timestamp=1_767_100_000),
            Message("assistant", "x" * 1_000_000, timestamp=1_767_100_001),
            Message("user", "שלום עולם, مرحبا بالعالم \u202egnp.exe", timestamp=1_767_100_002),
        ],
    )
    memory = home.memory("demo")
    memory.commit(
        [Triple("replies", "have", "no Markdown", kind="rule", trust="confirmed",
                sentence="No Markdown in QQ, please.")],
        scene="chan:qq",
    )  # fmt: skip
    memory.commit(
        [Triple("group 1", "is answered in", "English", kind="rule", trust="confirmed",
                sentence="Always answer this group in English.")],
        scene="chan:qq/peer:group_1",
    )  # fmt: skip
    memory.commit(
        [
            Triple(
                "预约", "要避开", "周三上午", kind="preference", sentence="周三上午有例会，别约。"
            )
        ],
        scene="chan:calendar",
    )
    memory.commit([Triple("mail", "is signed", "with initials")], scene="tool:send_mail")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("browser")
    with mnemogram.open(root) as home:
        fill(home)
    return root


@pytest.fixture
def served(filled: Path, tmp_path: Path) -> Iterator[Server]:
    from mnemogram.view import Server

    root = shutil.copytree(filled, tmp_path / "root")
    with Server(root, "demo", port=0) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for each in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                 "--lang=en", "--window-size=1100,900", "--hide-scrollbars",
                 f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):  # fmt: skip
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = webdriver.Chrome(options=options, service=Service(DRIVER))
    made.set_page_load_timeout(PATIENCE)
    yield made
    made.quit()


class Page:
    """A browser that came by the link."""

    def __init__(self, driver: Any, server: Server) -> None:
        self.driver = driver
        self.base = f"http://127.0.0.1:{server.port}"
        driver.get(server.new_link())
        self.until(lambda: self.one("#q"))

    def go(self, path: str) -> None:
        self.driver.get(self.base + path)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def one(self, selector: str) -> Any:
        found = self.all(selector)
        return found[0] if found else None

    def script(self, code: str, *values: Any) -> Any:
        return self.driver.execute_script(code, *values)

    def until(self, condition: Callable[[], Any]) -> Any:
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.wait import WebDriverWait

        def met(_: Any) -> Any:
            with contextlib.suppress(StaleElementReferenceException):
                return condition()
            return None

        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05).until(met)

    def keys(self, *pressed: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*pressed).perform()

    @property
    def focused(self) -> Any:
        return self.driver.switch_to.active_element

    @property
    def address(self) -> str:
        return str(self.driver.current_url).removeprefix(self.base)

    def search(self, query: str) -> list[str]:
        """Type a query and return the titles that appear."""
        field = self.one("#q")
        field.clear()
        field.send_keys(query)
        self.until(lambda: self.script("return new URL(location).searchParams.get('q')") == query)
        return [each.text for each in self.all(".hit")]

    def complaints(self) -> list[str]:
        return [each["message"] for each in self.driver.get_log("browser")]


@pytest.fixture
def page(driver: Any, served: Server) -> Page:
    return Page(driver, served)


def test_results_come_as_one_types_and_the_address_holds_them(page: Page) -> None:
    page.script("window.same = true")
    titles = page.search("牙医")
    assert titles
    assert page.all(".snippet mark")
    assert page.script("return window.same"), "the page was not loaded again"
    page.driver.refresh()
    assert page.one("#q").get_attribute("value") == "牙医"
    assert [each.text for each in page.all(".hit")] == titles


def test_it_is_used_by_keyboard_alone(page: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    page.search("kettle")
    page.script("document.activeElement.blur()")
    page.keys("/")
    assert page.focused.get_attribute("id") == "q"
    page.keys(Keys.ARROW_DOWN)
    assert page.focused.get_attribute("class") == "hit"
    page.keys(Keys.ARROW_UP)
    assert page.focused.get_attribute("id") == "q"
    page.keys(Keys.ARROW_DOWN, Keys.ENTER)
    page.until(lambda: page.one("#messages .anchor"))
    page.keys(Keys.ESCAPE)
    page.until(lambda: page.one("#q"))
    assert page.one("#q").get_attribute("value") == "kettle"


def test_a_period_is_dragged_over_the_bars(page: Page) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    page.one(".filters > summary").click()
    page.script("scrollTo(0, 0)")
    slots = page.all("[data-histogram] .slot")
    ActionChains(page.driver).click_and_hold(slots[-2]).move_to_element(
        slots[-1]
    ).release().perform()
    page.until(lambda: "after=" in page.address)
    assert "before=" in page.address
    first = page.one("input[name=after]").get_attribute("value")
    page.until(lambda: page.all("g.out"))
    assert all(each[:10] >= first for each in (
        each.get_attribute("datetime") for each in page.all(".hits time")))  # fmt: skip


def test_a_long_conversation_scrolls_in_a_bounded_page(page: Page) -> None:
    page.go("/conversation?id=long&n=1500")
    most = 0
    seen: set[int] = set()

    def numbers() -> list[int]:
        return [
            int(each)
            for each in page.script(
                "return [...document.querySelectorAll('.message')].map((each) => each.dataset.n)"
            )
        ]

    for direction, end in (("document.body.scrollHeight", LONG), ("0", 1)):
        for _ in range(200):
            shown = numbers()
            most = max(most, len(shown))
            seen.update(shown)
            assert shown == list(range(shown[0], shown[0] + len(shown))), "nothing is left out"
            if end in shown:
                break
            page.script(f"scrollTo(0, {direction})")
            page.until(lambda shown=shown: numbers() != shown)
        assert end in seen
    assert seen == set(range(1, LONG + 1))
    assert most <= 240


def test_the_hit_is_in_view(page: Page) -> None:
    page.search("turn 2222")
    page.one(".hit").click()
    anchor = page.until(lambda: page.one("#messages .anchor"))
    top, bottom, height = page.script(
        "const r = arguments[0].getBoundingClientRect(); return [r.top, r.bottom, innerHeight]",
        anchor,
    )
    assert 0 <= top < height
    assert 0 < bottom <= height
    assert "turn 2222" in anchor.text


def test_what_a_message_holds_does_not_run_and_breaks_nothing(page: Page) -> None:
    for address in ("/?q=kettle", "/conversation?id=hostile", "/message?id=hostile&at=2"):
        page.go(address)
        assert page.driver.title != "taken"
        assert not page.all("main img")
        wide = page.script("return document.documentElement.scrollWidth > innerWidth")
        assert not wide, f"{address} scrolls sideways"


def test_nothing_is_asked_of_anybody_else_and_nothing_is_refused(page: Page) -> None:
    import json

    page.driver.get_log("performance")
    page.complaints()
    for address in ("/", "/?q=kettle", "/conversation?id=hostile", "/scenes?key=chan:qq", "/state",
                    "/delete?all=1"):  # fmt: skip
        page.go(address)
    asked = {
        message["params"]["request"]["url"]
        for message in (
            json.loads(each["message"])["message"] for each in page.driver.get_log("performance")
        )
        if message["method"] == "Network.requestWillBeSent"
    }
    assert asked
    # The browser's own icons are data of its own.
    assert [each for each in asked if not each.startswith((page.base, "data:"))] == []
    assert not page.complaints(), "the content security policy had something to refuse"


def test_text_from_right_to_left_stands_right(page: Page) -> None:
    page.go("/conversation?id=hostile")
    line = page.all("#messages .content p")[-1]
    assert page.script("return getComputedStyle(arguments[0]).direction", line) == "rtl"
    assert "[U+202E]" in line.text


def test_a_rule_is_edited_and_forgotten(page: Page) -> None:
    page.go("/scenes?key=tool:send_mail")
    page.one(".relation a").click()
    page.until(lambda: page.one("select[name=kind]"))
    page.one("select[name=kind] option[value=preference]").click()
    page.one("main form button").click()
    page.until(lambda: page.one(".notice.good"))
    page.go("/scenes?key=tool:send_mail")
    assert "preference" in page.one(".relation").text
    page.one(".relation a.danger").click()
    page.until(lambda: page.one("button.danger")).click()
    page.until(lambda: page.one(".notice.good"))
    page.go("/scenes?key=tool:send_mail")
    assert not page.all(".relation")


def test_a_conversation_is_deleted_after_a_look(page: Page) -> None:
    page.go("/conversation?id=hostile")
    page.one(".tools a.danger").click()
    page.until(lambda: page.one("button.danger")).click()
    page.until(lambda: page.one(".notice.good"))
    page.go("/conversation?id=hostile")
    assert not page.all("#messages")


def test_a_page_of_another_port_gets_nothing(page: Page, tmp_path: Path) -> None:
    import http.server

    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>other</title>")

        def log_message(self, *_: Any) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            page.driver.get(f"http://127.0.0.1:{other.server_port}/")
            status = page.driver.execute_async_script(
                "const done = arguments[1];"
                "fetch(arguments[0], {credentials: 'include', mode: 'no-cors'})"
                ".then((answer) => done(answer.type), () => done('refused'))",
                page.base + "/",
            )
            assert status in ("opaque", "refused")
            page.script(
                "const f = document.createElement('form'); f.method = 'post';"
                "f.action = arguments[0] + '/delete'; f.innerHTML = '<input name=all value=1>';"
                "document.body.append(f); f.submit()",
                page.base,
            )
            page.until(lambda: page.driver.current_url.startswith(page.base))
            assert "Not let in" in page.driver.page_source
        finally:
            other.shutdown()
            thread.join()
    page.go("/")
    assert page.all(".hit")


NAMED = (
    "return [...document.querySelectorAll('input:not([type=hidden]), select, textarea, button, a')]"
)


@pytest.mark.parametrize(
    "address", ["/", "/?q=kettle", "/conversation?id=long", "/scenes", "/state", "/delete"]
)
def test_everything_that_can_be_used_has_a_name(page: Page, address: str) -> None:
    page.go(address)
    unnamed = page.script(
        NAMED + ".filter((each) => !(each.labels?.length || each.textContent.trim()"
        " || each.getAttribute('aria-label'))).map((each) => each.outerHTML)"
    )
    assert unnamed == []
    assert len(page.all("h1")) == 1
    assert page.one("html").get_attribute("lang") == "en"


CONTRAST = """
const channel = (value) =>
  (value /= 255) <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
const parts = (color) => color.match(/[\\d.]+/g).map(Number);
const behind = (element) => {
  for (let each = element; each; each = each.parentElement) {
    const color = parts(getComputedStyle(each).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return [255, 255, 255];
};
const poor = [];
for (const each of document.querySelectorAll('body *')) {
  const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || !each.getClientRects().length) continue;
  const [one, two] = [light(parts(getComputedStyle(each).color)), light(behind(each))];
  const ratio = (Math.max(one, two) + .05) / (Math.min(one, two) + .05);
  if (ratio < 4.5) poor.push([each.outerHTML.slice(0, 120), ratio]);
}
return poor;
"""


#: Where a test keeps its file is nothing for a document.
WITHOUT_THE_PATH = """
for (const each of document.querySelectorAll('.facts code')) each.textContent = 'state.db';
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100])
def test_it_is_legible_in_light_and_dark_and_on_a_phone(
    page: Page, scheme: str, width: int
) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for name, address in {
            "search": "/?q=牙医",
            "conversation": "/conversation?id=zh-dentist",
            "scenes": "/scenes?key=chan:qq&message=在吗&keys=chan:qq/peer:group_1",
            "state": "/state",
        }.items():
            page.go(address)
            assert page.script(CONTRAST) == []
            assert not page.script("return document.documentElement.scrollWidth > innerWidth"), name
            if PICTURES is not None and (width > 400 or scheme == "light"):
                kind = scheme if width > 400 else "phone"
                page.script(WITHOUT_THE_PATH)
                page.driver.save_screenshot(str(Path(PICTURES) / f"view-{name}-{kind}.png"))
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_it_can_be_read_without_scripts(page: Page) -> None:
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.go("/?q=kettle")
        page.one(".hit").click()
        page.until(lambda: page.all("#messages .message"))
        page.go("/conversation?id=long")
        page.one("a[data-side=later]").click()
        page.until(lambda: "at=" in page.address)
        assert page.all("#messages .message")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
