"""Conversations in the chat: restored, started again, deleted, rated."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, expect

from answer_streams import SHORT_ANSWER
from browser import (
    FACT,
    GLOSSARY,
    HIGHLIGHTED,
    PHONE,
    QUESTION,
    QUOTE,
    OpenPage,
    answers,
    ask,
    button,
    chat_text,
    choose_convex_paragraph,
    field_of,
    hold_requests,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    script_answers,
    wait_for_timers,
)

pytestmark = pytest.mark.slow


def test_conversation_survives_reload_and_navigation(page: Page) -> None:
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
    assert page.evaluate(HIGHLIGHTED) == [QUOTE]
    ask(page, "What is the centre of mass?")
    expect(messages(page)).to_have_count(2)


def test_answer_from_a_selection_is_restored_without_bare_numbers(page: Page) -> None:
    choose_convex_paragraph(page)
    ask(page, "What does convex hull mean?")
    quoted = messages(page).locator("blockquote.quote").inner_text()
    page.reload()
    expect(answers(page)).to_contain_text("rubber band")
    expect(answers(page)).not_to_contain_text("[1]")
    expect(messages(page).locator("blockquote.quote")).to_have_text(quoted)


def test_closed_panel_stays_closed_and_phones_start_closed(open_page: OpenPage) -> None:
    desk, phone = open_chat(open_page()), open_chat(open_page(viewport=PHONE))
    desk.keyboard.press("Escape")
    for page in (desk, phone):
        page.reload()
        expect(launcher(page)).to_be_visible()
        expect(panel(page)).to_be_hidden()


def test_new_conversation_starts_empty(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    button(page, "New conversation").click()
    expect(messages(page)).to_have_count(0)
    expect(field_of(page)).to_be_focused()
    page.reload()
    expect(panel(page)).to_be_visible()
    wait_for_timers(page)
    expect(messages(page)).to_have_count(0)
    asked = script_answers(page, SHORT_ANSWER)
    ask(page, QUESTION)
    assert asked[0]["session_id"] is None


def test_conversation_is_deleted_after_confirmation(page: Page, address: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    session = page.evaluate("Object.values(localStorage)[0]")
    button(page, "Delete conversation").click()
    expect(panel(page)).to_contain_text(chat_text(page, "deleteSure"))
    button(page, "Keep it").click()
    expect(messages(page)).to_have_count(1)
    button(page, "Delete conversation").click()
    panel(page).get_by_role("status").get_by_role("button", name="Delete conversation").click()
    expect(panel(page)).to_contain_text(chat_text(page, "deleted"))
    expect(messages(page)).to_have_count(0)
    assert httpx.get(f"{address}/history/{session}").status_code == 404


def test_conversation_deleted_during_an_answer_stays_deleted(page: Page, address: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    session = page.evaluate("Object.values(localStorage)[0]")
    hold_requests(page)
    ask(page, "Why?", wait=False)
    button(page, "Delete conversation").click()
    panel(page).get_by_role("status").get_by_role("button", name="Delete conversation").click()
    expect(panel(page)).to_contain_text(chat_text(page, "deleted"))
    expect(messages(page)).to_have_count(0)
    assert httpx.get(f"{address}/history/{session}").status_code == 404
    page.reload()
    wait_for_timers(page)
    expect(messages(page)).to_have_count(0)


def test_browser_without_storage(page: Page) -> None:
    page.add_init_script(
        "for (const kind of ['localStorage', 'sessionStorage'])"
        " Object.defineProperty(window, kind, { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    open_chat(page)
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    expect(panel(page)).to_contain_text(chat_text(page, "noStorage"))
    with page.expect_request("**/chat/stream") as sent:
        ask(page, "What is the centre of mass?")
    assert (sent.value.post_data_json or {})["session_id"]
    expect(answers(page)).to_have_count(2)


@pytest.mark.parametrize(("name", "rating"), [("Helpful", "up"), ("Not helpful", "down")])
def test_feedback_is_sent(page: Page, name: str, rating: str) -> None:
    open_chat(page)
    turn = ask(page, QUESTION)
    with page.expect_response("**/feedback") as sent:
        button(page, name).click()
    assert sent.value.status == 201
    assert sent.value.request.post_data_json["rating"] == rating
    expect(turn).to_contain_text(chat_text(page, "thanks"))
    expect(button(page, "Helpful")).to_have_count(0)
