"""Coming back, the reader's page, and everybody's use of both, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
import httpx
import pytest
from playwright.sync_api import Page, expect

from browser import (
    BALANCE,
    CHAT,
    CHOSEN,
    CONVEX,
    FACT,
    GLOSSARY,
    LIT,
    MARKDOWN,
    OFFER,
    PHONE,
    QUESTION,
    QUOTE,
    SCRIPT,
    SHORT,
    Complaints,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    cited,
    events,
    field_of,
    held,
    later,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    said,
    scripted,
    select,
    take_convex,
)

# History.


def test_conversation_is_there_after_a_reload_and_on_the_next_page(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    page.reload()
    expect(answers(page)).to_contain_text(FACT)
    expect(panel(page)).to_be_visible()
    page.get_by_role("link", name="Glossary", exact=True).click()
    page.wait_for_url(f"**{GLOSSARY}")
    expect(panel(page)).to_be_visible()
    expect(answers(page)).to_contain_text(FACT)
    marks(page).first.click()
    assert page.evaluate(LIT) == [QUOTE]
    ask(page, "What is the centre of mass?")
    expect(messages(page)).to_have_count(2)


def test_answer_from_a_selection_is_restored_without_bare_numbers(page: Page) -> None:
    take_convex(page)
    ask(page, "What does convex hull mean?")
    page.reload()
    expect(answers(page)).to_contain_text("rubber band")
    expect(answers(page)).not_to_contain_text("[1]")


def test_closed_panel_stays_closed_and_a_sheet_covers_no_new_page(open_page: OpenPage) -> None:
    desk, phone = open_chat(open_page()), open_chat(open_page(viewport=PHONE))
    desk.keyboard.press("Escape")
    for page in (desk, phone):
        page.reload()
        expect(launcher(page)).to_be_visible()
        expect(panel(page)).to_be_hidden()


def test_new_conversation(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    button(page, "New conversation").click()
    expect(messages(page)).to_have_count(0)
    expect(field_of(page)).to_be_focused()
    page.reload()
    expect(panel(page)).to_be_visible()
    later(page)
    expect(messages(page)).to_have_count(0)
    asked = scripted(page, SHORT)
    ask(page, QUESTION)
    assert asked[0]["session_id"] is None


def test_conversation_is_deleted_for_good_once_the_reader_is_sure(page: Page, address: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    session = page.evaluate("Object.values(localStorage)[0]")
    button(page, "Delete conversation").click()
    expect(panel(page)).to_contain_text(said(page, "deleteSure"))
    button(page, "Keep it").click()
    expect(messages(page)).to_have_count(1)
    button(page, "Delete conversation").click()
    panel(page).get_by_role("status").get_by_role("button", name="Delete conversation").click()
    expect(panel(page)).to_contain_text(said(page, "deleted"))
    expect(messages(page)).to_have_count(0)
    assert httpx.get(f"{address}/history/{session}").status_code == 404


def test_conversation_deleted_while_it_answers_stays_deleted(page: Page, address: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    session = page.evaluate("Object.values(localStorage)[0]")
    held(page)
    ask(page, "Why?", wait=False)
    button(page, "Delete conversation").click()
    panel(page).get_by_role("status").get_by_role("button", name="Delete conversation").click()
    expect(panel(page)).to_contain_text(said(page, "deleted"))
    expect(messages(page)).to_have_count(0)
    assert httpx.get(f"{address}/history/{session}").status_code == 404
    page.reload()
    later(page)
    expect(messages(page)).to_have_count(0)


def test_browser_that_keeps_nothing(page: Page) -> None:
    page.add_init_script(
        "for (const kind of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, kind, { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    open_chat(page)
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    expect(panel(page)).to_contain_text(said(page, "noStorage"))
    with page.expect_request("**/chat/stream") as sent:
        ask(page, "What is the centre of mass?")
    assert (sent.value.post_data_json or {})["session_id"]
    expect(answers(page)).to_have_count(2)


@pytest.mark.parametrize(("name", "rating"), [("Helpful", "up"), ("Not helpful", "down")])
def test_feedback(page: Page, name: str, rating: str) -> None:
    open_chat(page)
    turn = ask(page, QUESTION)
    with page.expect_response("**/feedback") as heard:
        button(page, name).click()
    assert heard.value.status == 201
    assert heard.value.request.post_data_json["rating"] == rating
    expect(turn).to_contain_text(said(page, "thanks"))
    expect(button(page, "Helpful")).to_have_count(0)


# The reader's page.


def test_contents_lead_to_every_page(page: Page) -> None:
    page.goto("/")
    links = page.locator("main li a")
    expect(links).to_have_count(17)
    for address in links.evaluate_all("links => links.map(link => link.href)"):
        response = page.request.get(address)
        assert response.ok, address
    links.filter(has_text="Balance and the zero-moment point").click()
    page.wait_for_url(f"**{BALANCE}")


def test_page_of_the_book_has_anchors_neighbours_and_its_place(page: Page) -> None:
    page.goto(f"{BALANCE}#zmp-criterion")
    expect(page.locator("h3#zmp-criterion")).to_be_in_viewport()
    expect(page.locator("nav [aria-current=page]")).to_have_text("Balance and the zero-moment point")
    expect(page.locator("h1")).to_have_count(1)
    page.locator("a[rel=next]").click()
    page.wait_for_url("**/book/motion/locomotion")
    page.locator("a[rel=prev]").click()
    page.wait_for_url(f"**{BALANCE}")


def test_reader_without_scripts_gets_an_answer(open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/")
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("main section")).to_contain_text(FACT)
    page.locator("main sup a").first.click()
    expect(page.locator("article")).to_contain_text(FACT)


# Accessibility.

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True},
    "dark phone": {"viewport": PHONE, "color_scheme": "dark"},
}


def violations(page: Page) -> list[str]:
    """What axe finds; run from outside, since the page's own policy lets in no script but its own."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("path", ["/", BALANCE])
@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_use_the_chat(open_page: OpenPage, look: str, path: str) -> None:
    page = open_page(**LOOKS[look])
    page.goto(path)
    expect(launcher(page)).to_be_visible()
    closed = violations(page)
    launcher(page).click()
    scripted(page, events(MARKDOWN, cited(GLOSSARY, "x"), withheld=1, low_confidence=True, degraded=True))
    ask(page, QUESTION)
    marks(page).first.focus()
    assert (closed, violations(page)) == ([], [])


@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_ask_about_a_selection(open_page: OpenPage, look: str) -> None:
    page = open_page(**LOOKS[look])
    page.goto(BALANCE)
    select(page, f"article p:has-text('{CONVEX}')")
    expect(page.locator(OFFER)).to_be_visible()
    offered = violations(page)
    page.locator(OFFER).click()
    expect(page.locator(CHOSEN)).to_be_visible()
    assert (offered, violations(page)) == ([], [])


def test_everyone_can_read_what_went_wrong(page: Page, complaints: Complaints) -> None:
    complaints.allow("503")
    open_chat(page)
    page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}, headers={"Retry-After": "9"}))
    ask(page, QUESTION)
    button(page, "Delete conversation").click()
    assert violations(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_everyone_can_use_the_chat_in_urdu(open_page: OpenPage, site: Site, address: str, look: str) -> None:
    page = open_page(**LOOKS[look])
    head = '<meta name="viewport" content="width=device-width">'
    page.goto(site.add("/urdu", (CHAT + SCRIPT).format(address=address, attributes='lang="ur"'), head))
    expect(launcher(page)).to_have_text("کتاب سے پوچھیں")
    launcher(page).click()
    scripted(page, events(MARKDOWN, cited(GLOSSARY, "x")))
    ask(page, "صفر لمحہ نقطہ کیا ہے؟")
    assert violations(page) == []
