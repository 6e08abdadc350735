"""Takes the screenshots in the docs: `python -m lib.pictures` in `bench/`, with the sample book and Chromium.

Urdu needs a font with its letters (on Debian: fonts-noto-core).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from lib.common import CACHE, ROOT
from serve import server

PORT = 18_085
SITE = f"http://127.0.0.1:{PORT}"
PICTURES = ROOT / "docs" / "pictures"
WIDE, PHONE = {"width": 1200, "height": 760}, {"width": 390, "height": 780}


def main() -> None:
    data = CACHE / "pictures"
    shutil.rmtree(data, ignore_errors=True)
    _ingest(data)
    with server(data, PORT), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        answer(browser)
        selection(browser)
        phone(browser)
        browser.close()


def _ingest(data: Path) -> None:
    command = [str(Path(sys.executable).with_name("glossator")), "ingest", str(ROOT / "book"), "--data-dir", str(data)]
    subprocess.run([*command, "--base-url", f"{SITE}/book"], check=True)


def _page(browser: Browser, path: str, **options: object) -> Page:
    page = browser.new_page(**options)  # type: ignore[arg-type]
    page.goto(f"{SITE}{path}")
    page.locator(".launcher").wait_for()
    return page


def _ask(page: Page, question: str) -> None:
    page.locator("textarea").fill(question)
    page.keyboard.press("Enter")
    page.locator("details.sources").last.wait_for()


def _save(page: Page, name: str) -> None:
    page.wait_for_timeout(600)
    page.screenshot(path=PICTURES / f"{name}.png")
    page.close()


def answer(browser: Browser) -> None:
    """An answer, the card of a citation, and the quote highlighted on the page."""
    page = _page(browser, "/book/safety/safety", viewport=WIDE)
    page.locator(".launcher").click()
    _ask(page, "What are the stop categories?")
    page.locator("a.mark").nth(1).click()
    page.wait_for_timeout(600)
    page.locator("h2").last.hover()
    page.locator("a.mark").nth(1).hover()
    _save(page, "answer")


def selection(browser: Browser) -> None:
    """A selected paragraph, and the button that asks about it."""
    page = _page(browser, "/book/body/inverse-kinematics", viewport=WIDE, color_scheme="dark")
    page.locator("article p").nth(1).select_text()
    page.get_by_role("button", name="Ask about this").click()
    page.locator("textarea").fill("What does the number of solutions depend on?")
    page.keyboard.press("Enter")
    page.get_by_text("From your selection").wait_for()
    page.locator("article p").nth(1).select_text()
    _save(page, "selection")


def phone(browser: Browser) -> None:
    """The chat on a phone, in Urdu."""
    page = _page(browser, "/book/body/inverse-kinematics", viewport=PHONE, device_scale_factor=2)
    page.evaluate("document.querySelector('glossator-chat').lang = 'ur'")
    page.get_by_role("button", name="کتاب سے پوچھیں").click()
    _ask(page, "What is inverse kinematics?")
    _save(page, "phone")


if __name__ == "__main__":
    main()
