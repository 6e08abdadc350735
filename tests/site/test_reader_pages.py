"""The book's pages and the API reference in a browser, and the accessibility of pages and chat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.sync_api import Page, expect

from answer_streams import MARKDOWN, answer_stream, cited_source
from browser import (
    BALANCE,
    CHAT,
    CHOSEN_TEXT,
    CONVEX,
    FACT,
    GLOSSARY,
    OFFER,
    PHONE,
    QUESTION,
    SCRIPT,
    ConsoleErrors,
    OpenPage,
    Site,
    ask,
    button,
    launcher,
    marks,
    open_chat,
    script_answers,
    select,
)

pytestmark = pytest.mark.slow


def test_contents_link_to_every_page(page: Page) -> None:
    page.goto("/")
    links = page.locator("main nav li a")
    expect(links).to_have_count(17)
    for address in links.evaluate_all("links => links.map(link => link.href)"):
        response = page.request.get(address)
        assert response.ok, address
    links.filter(has_text="Balance and the zero-moment point").click()
    page.wait_for_url(f"**{BALANCE}")


def test_book_page_has_anchors_neighbours_and_current_entry(page: Page) -> None:
    page.goto(f"{BALANCE}#zmp-criterion")
    expect(page.locator("h3#zmp-criterion")).to_be_in_viewport()
    expect(page.locator("nav [aria-current=page]")).to_have_text("Balance and the zero-moment point")
    expect(page.locator("h1")).to_have_count(1)
    page.locator("a[rel=next]").click()
    page.wait_for_url("**/book/motion/locomotion")
    page.locator("a[rel=prev]").click()
    page.wait_for_url(f"**{BALANCE}")


@pytest.mark.parametrize("language", ["en", "ur"])
def test_page_makes_room_for_the_chat_on_its_side(open_page: OpenPage, language: str) -> None:
    page = open_page(viewport={"width": 1300, "height": 800})
    page.goto(BALANCE)
    page.evaluate(f"document.querySelector('glossator-chat').lang = '{language}'")
    page.locator(".launcher").click()
    chat, article = page.locator(".panel").bounding_box(), page.locator("article").bounding_box()
    assert chat
    assert article
    assert chat["x"] >= article["x"] + article["width"] or chat["x"] + chat["width"] <= article["x"]


def test_reader_without_scripts_gets_an_answer(open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/")
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("main section")).to_contain_text(FACT)
    page.locator("main sup a").first.click()
    expect(page.locator("article")).to_contain_text(FACT)


def test_api_reference_can_send_requests(page: Page) -> None:
    page.goto("/docs")
    ask_door = page.locator("#operations-ask-ask_ask_post")
    ask_door.click()
    ask_door.get_by_role("button", name="Try it out").click()
    ask_door.get_by_role("button", name="Execute").click()
    expect(ask_door.locator(".live-responses-table tbody .response-col_status")).to_have_text("200")


AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
VARIANTS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True},
    "dark phone": {"viewport": PHONE, "color_scheme": "dark"},
}


def violations(page: Page) -> list[str]:
    """The violations that axe finds; it is evaluated from outside because the page's policy blocks other scripts."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("path", ["/", BALANCE])
@pytest.mark.parametrize("variant", VARIANTS)
def test_chat_is_accessible(open_page: OpenPage, variant: str, path: str) -> None:
    page = open_page(**VARIANTS[variant])
    page.goto(path)
    expect(launcher(page)).to_be_visible()
    closed = violations(page)
    launcher(page).click()
    script_answers(
        page, answer_stream(MARKDOWN, cited_source(GLOSSARY, "x"), withheld=1, low_confidence=True, degraded=True)
    )
    ask(page, QUESTION)
    marks(page).first.focus()
    assert (closed, violations(page)) == ([], [])


@pytest.mark.parametrize("variant", VARIANTS)
def test_selection_offer_is_accessible(open_page: OpenPage, variant: str) -> None:
    page = open_page(**VARIANTS[variant])
    page.goto(BALANCE)
    select(page, f"article p:has-text('{CONVEX}')")
    expect(page.locator(OFFER)).to_be_visible()
    offered = violations(page)
    page.locator(OFFER).click()
    expect(page.locator(CHOSEN_TEXT)).to_be_visible()
    assert (offered, violations(page)) == ([], [])


def test_errors_are_accessible(page: Page, console_errors: ConsoleErrors) -> None:
    console_errors.allow("503")
    open_chat(page)
    page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}, headers={"Retry-After": "9"}))
    ask(page, QUESTION)
    button(page, "Delete conversation").click()
    assert violations(page) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_urdu_chat_is_accessible(open_page: OpenPage, site: Site, address: str, variant: str) -> None:
    page = open_page(**VARIANTS[variant])
    head = '<meta name="viewport" content="width=device-width">'
    page.goto(site.add("/urdu", (CHAT + SCRIPT).format(address=address, attributes='lang="ur"'), head))
    expect(launcher(page)).to_have_text("کتاب سے پوچھیں")
    launcher(page).click()
    script_answers(page, answer_stream(MARKDOWN, cited_source(GLOSSARY, "x")))
    ask(page, "صفر لمحہ نقطہ کیا ہے؟")
    assert violations(page) == []
