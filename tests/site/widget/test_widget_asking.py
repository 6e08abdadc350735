"""Asking in the chat: sending, keys, focus, queueing, stopping, Markdown."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from answer_streams import MARKDOWN, SESSION, SHORT_ANSWER, answer_stream, cited_source
from browser import (
    FACT,
    OUT_OF_SCOPE,
    QUESTION,
    ConsoleErrors,
    OpenPage,
    answers,
    ask,
    button,
    chat_text,
    field_of,
    hold_requests,
    launcher,
    marks,
    messages,
    open_chat,
    panel,
    script_answers,
    wait_for_timers,
    wait_until_idle,
)

pytestmark = pytest.mark.slow


def test_scripted_answers_have_the_shape_of_real_ones(address: str) -> None:
    def shape(stream: str) -> list[Any]:
        data = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
        return [sorted(data[0]), sorted(data[-2]["metadata"]), sorted(data[-2]["sources"][0]), data[-1]]

    real = httpx.post(f"{address}/chat/stream", json={"query": QUESTION}, timeout=60).text
    assert shape(real) == shape(answer_stream("Yes. [1]", cited_source("/x", "yes")))


def test_answer_with_marks_and_sources(page: Page) -> None:
    open_chat(page)
    turn = ask(page, QUESTION)
    expect(turn.locator("[part=question]")).to_contain_text(QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    expect(marks(page)).to_have_text(["1", "1"])
    expect(turn.locator("details.sources li").first).to_contain_text("Glossary › Zero-moment point")
    expect(field_of(page)).to_have_value("")


def test_stop_is_hidden_when_nothing_is_running(page: Page) -> None:
    open_chat(page)
    expect(button(page, "Stop")).to_be_hidden()


def test_abstention_shows_the_nearest_sections(page: Page) -> None:
    open_chat(page)
    turn = ask(page, OUT_OF_SCOPE)
    expect(turn.locator("[part=answer]")).to_have_text("The book does not answer this question.")
    expect(turn).to_contain_text(chat_text(page, "near"))
    expect(turn.locator("details.sources a").first).to_be_visible()
    expect(marks(page)).to_have_count(0)


def test_enter_sends_and_shift_enter_starts_a_new_line(page: Page) -> None:
    open_chat(page)
    asked = script_answers(page, SHORT_ANSWER)
    field_of(page).press_sequentially("one")
    field_of(page).press("Shift+Enter")
    field_of(page).press_sequentially("two")
    expect(field_of(page)).to_have_value("one\ntwo")
    field_of(page).press("Enter")
    wait_until_idle(page)
    assert [body["query"] for body in asked] == ["one\ntwo"]
    expect(field_of(page)).to_have_value("")


def test_send_button_asks_and_ignores_blank_questions(page: Page) -> None:
    open_chat(page)
    asked = script_answers(page, SHORT_ANSWER)
    field_of(page).fill("  \n ")
    field_of(page).press("Enter")
    button(page, "Send").click()
    field_of(page).fill("Why?")
    button(page, "Send").click()
    expect(messages(page)).to_have_count(1)
    expect(answers(page)).to_have_count(1)
    assert [body["query"] for body in asked] == ["Why?"]


def test_enter_that_ends_a_composition_does_not_send(page: Page) -> None:
    open_chat(page)
    field_of(page).fill("かな")
    field_of(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
    expect(field_of(page)).to_have_value("かな")
    expect(messages(page)).to_have_count(0)


def test_keys_typed_in_the_chat_do_not_trigger_page_shortcuts(page: Page) -> None:
    """A site whose search opens at a slash sees only the element, not its text field."""
    open_chat(page)
    page.evaluate("() => { window.keys = []; addEventListener('keydown', event => keys.push(event.key)); }")
    field_of(page).press_sequentially("/s")
    expect(field_of(page)).to_have_value("/s")
    assert page.evaluate("keys") == []


def test_escape_closes_the_panel_and_returns_the_focus(page: Page) -> None:
    open_chat(page)
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()
    expect(launcher(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(field_of(page)).to_be_focused()


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_tab_stays_inside_the_panel(page: Page, key: str) -> None:
    open_chat(page)
    ask(page, QUESTION)
    field_of(page).focus()
    inside = (
        "() => { const chat = document.querySelector('glossator-chat'), at = chat.shadowRoot.activeElement;"
        " return document.activeElement === chat && chat.shadowRoot.querySelector('[part=panel]').contains(at)"
        " && [...chat.shadowRoot.querySelectorAll('*')].indexOf(at); }"
    )
    reached = []
    for _ in range(30):
        page.keyboard.press(key)
        reached.append(page.evaluate(inside))
    assert all(reached)
    assert len(set(reached)) < len(reached), "the focus never came around"


@pytest.mark.parametrize("name", ["Helpful", "Stop", "Cancel", "Try again", "Delete conversation", "Keep it"])
def test_focus_stays_in_the_panel_when_its_button_disappears(
    page: Page, console_errors: ConsoleErrors, name: str
) -> None:
    """If the focus is lost, neither Escape nor Tab works any more."""
    console_errors.allow("503")
    open_chat(page)
    reach(page, name)
    button(page, name).last.focus()
    page.keyboard.press("Enter")
    wait_for_timers(page)
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()


def reach(page: Page, name: str) -> None:
    """Bring the chat to a state that has this button."""
    if name in ("Stop", "Cancel"):
        hold_requests(page)
        ask(page, "First?", wait=False)
        ask(page, "Second?", wait=False)
        return
    if name == "Try again":
        page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}), times=1)
    ask(page, QUESTION)
    if name in ("Delete conversation", "Keep it"):
        button(page, "Delete conversation").click()


def test_answer_is_announced_to_screen_readers(page: Page) -> None:
    open_chat(page)
    live = page.locator("glossator-chat [aria-live=polite]")
    live.evaluate(
        "node => { node.announced = []; new MutationObserver(() => node.announced.push(node.textContent))"
        ".observe(node, { childList: true, characterData: true, subtree: true }); }"
    )
    ask(page, QUESTION)
    assert FACT in live.evaluate("node => node.announced.join('')")


def test_stop_ends_the_answer(page: Page) -> None:
    open_chat(page)
    waiting = hold_requests(page)
    turn = ask(page, QUESTION, wait=False)
    button(page, "Stop").click()
    expect(turn).to_contain_text(chat_text(page, "stopped"))
    expect(button(page, "Stop")).to_be_hidden()
    assert len(waiting.bodies) == 1


def test_second_question_waits_for_the_first(page: Page) -> None:
    open_chat(page)
    waiting = hold_requests(page)
    first, second = ask(page, "First?", wait=False), ask(page, "Second?", wait=False)
    expect(second).to_contain_text(chat_text(page, "waiting"))
    waiting.release(answer_stream("One."))
    expect(first.locator("[part=answer]")).to_have_text("One.")
    expect(second).not_to_contain_text(chat_text(page, "waiting"))
    waiting.release(answer_stream("Two."))
    expect(second.locator("[part=answer]")).to_have_text("Two.")
    assert [body["query"] for body in waiting.bodies] == ["First?", "Second?"]
    assert waiting.bodies[1]["session_id"] == SESSION


def test_waiting_question_can_be_cancelled(page: Page) -> None:
    open_chat(page)
    waiting = hold_requests(page)
    ask(page, "First?", wait=False)
    ask(page, "Second?", wait=False)
    button(page, "Cancel").click()
    expect(messages(page)).to_have_count(1)
    waiting.release(answer_stream("One."))
    wait_until_idle(page)
    assert len(waiting.bodies) == 1


def test_failed_question_can_be_retried(page: Page, console_errors: ConsoleErrors) -> None:
    console_errors.allow("503")
    open_chat(page)
    page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}), times=1)
    turn = ask(page, QUESTION)
    expect(turn).to_contain_text(chat_text(page, "unavailable"))
    button(page, "Try again").click()
    expect(answers(page)).to_contain_text(FACT)
    expect(messages(page)).to_have_count(1)


def test_markdown_is_rendered(page: Page) -> None:
    open_chat(page)
    script_answers(page, answer_stream(MARKDOWN, cited_source("/book/glossary", "x")))
    ask(page, QUESTION)
    shown = answers(page)
    expect(shown.locator("p strong").first).to_have_text("Steps")
    expect(shown.locator("ol > li")).to_have_count(2)
    expect(shown.locator("ol > li > ul > li")).to_have_text(["inside the polygon", "outside it"])
    expect(shown.locator("ol strong")).to_have_text("forces")
    expect(shown.locator("th")).to_have_text(["Robot", "Mass"])
    expect(shown.locator("td")).to_have_text(["Atlas", "89 kg"])
    expect(shown.locator("pre code")).to_have_text('print("<b>zmp</b>")')
    expect(shown.locator("p > code")).to_have_text("p_x")
    expect(shown.get_by_role("link", name="the glossary")).to_have_attribute("href", "https://example.org/glossary")
    expect(shown.locator("b")).to_have_count(0)


def test_bracketed_numbers_in_code_are_not_citations(page: Page) -> None:
    open_chat(page)
    script_answers(
        page, answer_stream("The script reads argv[1] and argv[2]. [1]", cited_source("/book/glossary", "x"))
    )
    ask(page, QUESTION)
    expect(answers(page).locator("[part=mark]")).to_have_count(1)
    expect(answers(page)).to_contain_text("The script reads argv[1] and argv[2].")


def test_code_can_be_copied(open_page: OpenPage) -> None:
    page = open_chat(open_page(permissions=["clipboard-read", "clipboard-write"]))
    script_answers(page, answer_stream(MARKDOWN))
    ask(page, QUESTION)
    button(page, "Copy").click()
    expect(button(page, "Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == 'print("<b>zmp</b>")'
