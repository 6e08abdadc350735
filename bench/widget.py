"""The chat in Chromium, against a server of its own process that answers with the book's own sentences."""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from common import CACHE, ROOT, SETS, indexed, questions
from serve import server

LOADS = 10
ASKED = 20
EXCHANGES = 100
SCRIPT, FIRST, LONG = 50, 300, 50
"""Limits, in milliseconds."""
LONG_TASKS = """
globalThis.long = [];
new PerformanceObserver((list) => long.push(...list.getEntries().map((task) => task.duration)))
    .observe({ type: "longtask", buffered: true });
"""
FIRST_SENTENCE = """
(question) => new Promise((resolve) => {
    const root = document.querySelector("glossator-chat").shadowRoot;
    const field = root.querySelector("textarea");
    const before = root.querySelectorAll("[part=message]").length;
    let started;
    const watcher = new MutationObserver(() => {
        const message = root.querySelectorAll("[part=message]")[before];
        if (!message?.querySelector("[part=answer]")?.textContent) return;
        watcher.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)));
    });
    watcher.observe(root, { childList: true, subtree: true, characterData: true });
    field.value = question;
    started = performance.now();
    const options = { key: "Enter", bubbles: true, composed: true, cancelable: true };
    field.dispatchEvent(new KeyboardEvent("keydown", options));
})
"""
SCROLL = """
() => new Promise((resolve) => {
    const log = document.querySelector("glossator-chat").shadowRoot.querySelector("[part=log]");
    log.scrollTop = 0;
    const step = () => {
        const before = log.scrollTop;
        log.scrollTop += 200;
        if (log.scrollTop > before) requestAnimationFrame(step);
        else setTimeout(() => resolve(log.scrollHeight), 300);
    };
    setTimeout(() => { long.length = 0; step(); }, 500);
})
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, where there is one."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("Chromium is not installed (on Debian: apt install chromium).")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def script_time(browser: Browser, address: str) -> float:
    """Milliseconds of the main thread for reading and running the script, its element made and shown included."""
    page = browser.new_context().new_page()
    browser.start_tracing(page=page, categories=["devtools.timeline", "v8", "disabled-by-default-v8.compile"])
    page.goto(address)
    page.locator("glossator-chat .launcher").wait_for()
    traced = json.loads(browser.stop_tracing())["traceEvents"]
    page.context.close()
    ours = [event for event in traced if event.get("ph") == "X" and "/widget.js" in json.dumps(event.get("args"))]
    main = {event["tid"] for event in traced if event.get("args", {}).get("name") == "CrRendererMain"}
    spans = sorted((event["ts"], event["ts"] + event.get("dur", 0)) for event in ours if event["tid"] in main)
    return union(spans) / 1000


def union(spans: list[tuple[float, float]]) -> float:
    """How much is covered by spans that may lie within each other."""
    covered, end = 0.0, 0.0
    for start, stop in spans:
        covered += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return covered


def opened(browser: Browser, address: str, session: str = "") -> Page:
    """A page with its chat open, and an earlier conversation where one is named."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.add_init_script(LONG_TASKS)
    if session:
        name = json.dumps(f"glossator:{address}/")
        page.add_init_script(f"localStorage.setItem({name}, '{session}'); sessionStorage.setItem({name}, 'open');")
    page.goto(address)
    if not session:
        page.locator("glossator-chat .launcher").click()
    return page


def conversation(address: str, asked: list[str]) -> str:
    """The id of a conversation with so many exchanges."""
    session = str(uuid.uuid4())
    with httpx.Client(base_url=address, timeout=60) as client:
        for question in asked:
            client.post("/chat", json={"query": question, "session_id": session}).raise_for_status()
    return session


def tell(what: str, times: list[float], limit: int) -> None:
    print(f"{what}: median {statistics.median(times):.0f} ms, max {max(times):.0f} ms (limit {limit} ms)", flush=True)


def tell_long_tasks(what: str, page: Page) -> None:
    tasks: list[float] = page.evaluate("long")
    over = sum(task > LONG for task in tasks)
    print(f"{what}: {over} long tasks, the longest {max(tasks, default=0):.0f} ms (limit {LONG} ms)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=18_090)
    port = parser.parse_args().port
    indexed("sample", ROOT / "book").close()
    asked = [row["question"] for row in questions(SETS / "book.jsonl")]
    address = f"http://127.0.0.1:{port}"
    with server(CACHE / "index" / "sample", port, cache_answers="0"), chromium() as browser:
        tell(f"script on the main thread, {LOADS} loads", [script_time(browser, address) for _ in range(LOADS)], SCRIPT)
        page = opened(browser, address)
        waits = [page.evaluate(FIRST_SENTENCE, question) for question in asked[:ASKED]]
        tell(f"Enter to the first checked sentence, {ASKED} questions", waits, FIRST)
        session = conversation(address, (asked * EXCHANGES)[:EXCHANGES])
        page = opened(browser, address, session)
        page.locator("glossator-chat [part=message]").nth(EXCHANGES - 1).wait_for(state="attached")
        page.wait_for_timeout(500)
        tell_long_tasks(f"a conversation of {2 * EXCHANGES} messages restored", page)
        height = page.evaluate(SCROLL)
        tell_long_tasks(f"the same scrolled from top to bottom ({height:,} pixels)", page)


if __name__ == "__main__":
    main()
