"""The chat widget in Chromium, against a server process that answers with quotes."""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from lib.common import CACHE, ROOT, SETS, indexed, questions
from serve import server

Event = dict[str, Any]
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
    """The browser, if it is installed."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("Chromium is not installed (on Debian: apt install chromium).")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def traced(browser: Browser, page: Page) -> Iterator[list[Event]]:
    """The trace events of the page's main thread, in order."""
    found: list[Event] = []
    browser.start_tracing(page=page, categories=["devtools.timeline", "toplevel", "v8"])
    yield found
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main = {event["tid"] for event in events if event.get("args", {}).get("name") == "CrRendererMain"}
    found += sorted((e for e in events if e.get("ph") == "X" and e["tid"] in main), key=lambda event: event["ts"])


def processor_times(events: list[Event], kind: Callable[[Event], bool]) -> list[float]:
    """CPU milliseconds of events of a kind; nested events count once."""
    times, end = [], 0.0
    for event in filter(kind, events):
        if event["ts"] >= end:
            times.append(event.get("tdur", event["dur"]) / 1000)
            end = event["ts"] + event["dur"]
    return times


def is_script(event: Event) -> bool:
    """Whether the widget's script caused it; module evaluation has no name, but the page has no other module."""
    return event["name"] == "v8.evaluateModule" or "/widget.js" in json.dumps(event.get("args"))


def is_task(event: Event) -> bool:
    return str(event["name"]).endswith("RunTask")


def script_time(browser: Browser, url: str) -> float:
    """Main-thread milliseconds to parse and run the script, including creating and showing the element."""
    page = browser.new_context().new_page()
    with traced(browser, page) as events:
        page.goto(url)
        page.locator("glossator-chat .launcher").wait_for()
    page.context.close()
    return sum(processor_times(events, is_script))


def new_page(browser: Browser, url: str, session: str = "") -> Page:
    """A page whose chat will be open, optionally with an earlier conversation."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    name = json.dumps(f"glossator:{url}/")
    page.add_init_script(LONG_TASKS)
    page.add_init_script(f"sessionStorage.setItem({name}, 'open'); localStorage.setItem({name}, '{session}')")
    return page


def conversation(url: str, asked: list[str]) -> str:
    """Create a conversation with these questions; returns its id."""
    session = str(uuid.uuid4())
    with httpx.Client(base_url=url, timeout=60) as client:
        for question in asked:
            client.post("/chat", json={"query": question, "session_id": session}).raise_for_status()
    return session


def print_times(what: str, times: list[float], limit: int) -> None:
    print(f"{what}: median {statistics.median(times):.0f} ms, max {max(times):.0f} ms (limit {limit} ms)", flush=True)


def print_long_tasks(what: str, page: Page, events: list[Event]) -> None:
    tasks: list[float] = page.evaluate("long")
    over, longest = sum(task > LONG for task in tasks), max(tasks, default=0)
    work = max(processor_times(events, is_task))
    print(f"{what}: {over} long tasks, the longest {longest:.0f} ms (limit {LONG} ms);", end=" ")
    print(f"the most work in one task {work:.0f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=18_090)
    port = parser.parse_args().port
    indexed("sample", ROOT / "book").close()
    asked = [row["question"] for row in questions(SETS / "book.jsonl")]
    url = f"http://127.0.0.1:{port}"
    with server(CACHE / "index" / "sample", port, cache_answers="0"), chromium() as browser:
        print_times(
            f"script on the main thread, {LOADS} loads", [script_time(browser, url) for _ in range(LOADS)], SCRIPT
        )
        page = new_page(browser, url)
        page.goto(url)
        first, *waits = [page.evaluate(FIRST_SENTENCE, question) for question in asked[: ASKED + 1]]
        print_times(f"Enter to the first checked sentence, {ASKED} questions", waits, FIRST)
        print(f"the same for the first question after the server's start: {first:.0f} ms", flush=True)
        page = new_page(browser, url, conversation(url, (asked * EXCHANGES)[:EXCHANGES]))
        with traced(browser, page) as events:
            page.goto(url)
            page.locator("glossator-chat [part=message]").nth(EXCHANGES - 1).wait_for(state="attached")
            page.wait_for_timeout(500)
        print_long_tasks(f"a conversation of {2 * EXCHANGES} messages restored", page, events)
        with traced(browser, page) as events:
            height = page.evaluate(SCROLL)
        print_long_tasks(f"the same scrolled from top to bottom ({height:,} pixels)", page, events)


if __name__ == "__main__":
    main()
