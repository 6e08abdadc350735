"""The chat on a page, in a real browser: the script, the element, and asking."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

import browser
from browser import (
    CHAT,
    FACT,
    GLOSSARY,
    MARKDOWN,
    OUT_OF_SCOPE,
    PHONE,
    QUESTION,
    SCRIPT,
    SHORT,
    Complaints,
    OpenPage,
    Site,
    answers,
    ask,
    button,
    cited,
    embedded,
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
    settled,
)

LARGEST_SCRIPT = 30 * 1024


# The script.


def test_script_is_small_and_may_be_loaded_by_every_site(address: str) -> None:
    response = httpx.get(f"{address}/widget.js")
    assert len(response.content) <= LARGEST_SCRIPT
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["access-control-allow-origin"] == "*"


def test_script_is_not_sent_again_while_it_is_the_same(address: str) -> None:
    tag = httpx.get(f"{address}/widget.js").headers["etag"]
    again = httpx.get(f"{address}/widget.js", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["access-control-allow-origin"] == "*"


def test_scripted_answers_have_the_shape_of_real_ones(address: str) -> None:
    def shape(stream: str) -> list[Any]:
        told = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
        return [sorted(told[0]), sorted(told[-2]["metadata"]), sorted(told[-2]["sources"][0]), told[-1]]

    real = httpx.post(f"{address}/chat/stream", json={"query": QUESTION}, timeout=60).text
    assert shape(real) == shape(events("Yes. [1]", cited("/x", "yes")))


# The element.


def test_another_site_asks_with_one_script_and_one_element(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address))
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    assert (marks(page).first.get_attribute("href") or "").startswith(f"{address}{GLOSSARY}#zero-moment-point")
    expect(marks(page).first).to_have_attribute("target", "_blank")


def test_site_that_is_not_allowed_reads_why(page: Page, address: str, complaints: Complaints) -> None:
    complaints.allow("CORS|ERR_FAILED")
    with browser.running_site() as stranger:
        open_chat(page, embedded(stranger, address))
        turn = ask(page, QUESTION)
        expect(turn).to_contain_text(said(page, "unreachable"))
        expect(button(page, "Try again")).to_be_enabled()


def test_window_gets_no_new_name(page: Page, site: Site, address: str) -> None:
    page.goto(site.add("/bare", ""))
    names = "() => Object.getOwnPropertyNames(window).sort()"
    before = page.evaluate(names)
    open_chat(page, embedded(site, address))
    assert page.evaluate(names) == before


def test_attributes_set_title_and_greeting(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address, 'title="Ask Rosie" greeting="Hello, reader."'))
    expect(panel(page).get_by_role("heading")).to_have_text("Ask Rosie")
    expect(panel(page)).to_have_accessible_name("Ask Rosie")
    expect(panel(page)).to_contain_text("Hello, reader.")
    page.locator("glossator-chat").evaluate("node => node.setAttribute('greeting', 'Welcome back.')")
    expect(panel(page)).to_contain_text("Welcome back.")


def test_attributes_set_colour_and_side(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address, 'accent="rgb(1, 80, 60)" position="left"'))
    expect(launcher(page)).to_have_css("background-color", "rgb(1, 80, 60)")
    box = launcher(page).bounding_box()
    assert box
    assert box["x"] < 100


@pytest.mark.parametrize(("theme", "scheme"), [("dark", "light"), ("light", "dark")])
def test_theme_wins_over_the_system(open_page: OpenPage, site: Site, address: str, theme: str, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    open_chat(page, embedded(site, address, f'theme="{theme}"'))
    expect(panel(page)).to_have_css(
        "background-color", {"dark": "rgb(27, 31, 36)", "light": "rgb(255, 255, 255)"}[theme]
    )


def test_token_is_sent(page: Page, site: Site, address: str) -> None:
    open_chat(page, embedded(site, address, 'token="abc123"'))
    with page.expect_request("**/chat/stream") as sent:
        ask(page, QUESTION)
    assert sent.value.headers["authorization"] == "Bearer abc123"


def test_strict_policy_of_a_site_is_no_hindrance(page: Page, site: Site, address: str) -> None:
    policy = (
        f"default-src 'none'; script-src {address}; connect-src {address}; img-src data:;"
        " require-trusted-types-for 'script'; trusted-types 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page.goto(site.add("/strict", (CHAT + SCRIPT).format(address=address, attributes='accent="navy"'), head))
    expect(launcher(page)).to_have_css("position", "fixed")
    expect(launcher(page)).to_have_css("background-color", "rgb(0, 0, 128)")
    launcher(page).click()
    ask(page, QUESTION)
    expect(answers(page)).to_contain_text(FACT)


def test_element_that_is_moved_keeps_its_conversation_once(page: Page) -> None:
    open_chat(page)
    ask(page, QUESTION)
    page.locator("glossator-chat").evaluate("node => document.body.prepend(node)")
    later(page)
    expect(messages(page)).to_have_count(1)
    expect(answers(page)).to_contain_text(FACT)


def test_words_that_come_late_disturb_nobody(page: Page, site: Site, address: str) -> None:
    late = browser.Held()
    page.route("**/ur.js", late.hold)
    open_chat(page, embedded(site, address, 'lang="ur"'))
    field_of(page).fill("half a question")
    late.routes.pop().continue_()
    expect(button(page, "بھیجیں")).to_be_visible()
    expect(field_of(page)).to_have_value("half a question")
    expect(field_of(page)).to_be_focused()


# Asking.


def test_answer_with_marks_and_sources(page: Page) -> None:
    open_chat(page)
    turn = ask(page, QUESTION)
    expect(turn.locator("[part=question]")).to_contain_text(QUESTION)
    expect(answers(page)).to_contain_text(FACT)
    expect(marks(page)).to_have_text(["1", "2"])
    expect(turn.locator("details.sources li").first).to_contain_text("Glossary › Zero-moment point")
    expect(field_of(page)).to_have_value("")


def test_stop_is_offered_only_while_there_is_something_to_stop(page: Page) -> None:
    open_chat(page)
    expect(button(page, "Stop")).to_be_hidden()


def test_question_that_the_book_does_not_answer(page: Page) -> None:
    open_chat(page)
    turn = ask(page, OUT_OF_SCOPE)
    expect(turn).to_contain_text("The book does not answer this question.")
    expect(turn).to_contain_text(said(page, "near"))
    expect(turn.locator("details.sources a").first).to_be_visible()
    expect(marks(page)).to_have_count(0)


def test_enter_sends_and_shift_enter_begins_a_line(page: Page) -> None:
    open_chat(page)
    asked = scripted(page, SHORT)
    field_of(page).press_sequentially("one")
    field_of(page).press("Shift+Enter")
    field_of(page).press_sequentially("two")
    expect(field_of(page)).to_have_value("one\ntwo")
    field_of(page).press("Enter")
    settled(page)
    assert [body["query"] for body in asked] == ["one\ntwo"]
    expect(field_of(page)).to_have_value("")


def test_send_button_asks_and_nothing_is_not_asked(page: Page) -> None:
    open_chat(page)
    asked = scripted(page, SHORT)
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


def test_keys_typed_in_the_chat_are_no_shortcuts_of_the_page(page: Page) -> None:
    """A site's search that opens at a slash sees no text field here, only the element."""
    open_chat(page)
    page.evaluate("() => { window.keys = []; addEventListener('keydown', event => keys.push(event.key)); }")
    field_of(page).press_sequentially("/s")
    expect(field_of(page)).to_have_value("/s")
    assert page.evaluate("keys") == []


def test_escape_closes_and_focus_returns_to_the_button(page: Page) -> None:
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
    assert len(set(reached)) < len(reached), "it never came round"


@pytest.mark.parametrize("name", ["Helpful", "Stop", "Cancel", "Try again", "Delete conversation", "Keep it"])
def test_focus_stays_in_the_panel_when_its_button_goes(page: Page, complaints: Complaints, name: str) -> None:
    """Where it is lost, neither Escape nor Tab is heard any more."""
    complaints.allow("503")
    open_chat(page)
    reach(page, name)
    button(page, name).last.focus()
    page.keyboard.press("Enter")
    later(page)
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()


def reach(page: Page, name: str) -> None:
    """A state in which the chat has this button."""
    if name in ("Stop", "Cancel"):
        held(page)
        ask(page, "First?", wait=False)
        ask(page, "Second?", wait=False)
        return
    if name == "Try again":
        page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}), times=1)
    ask(page, QUESTION)
    if name in ("Delete conversation", "Keep it"):
        button(page, "Delete conversation").click()


def test_answer_is_spoken(page: Page) -> None:
    open_chat(page)
    live = page.locator("glossator-chat [aria-live=polite]")
    live.evaluate(
        "node => { node.heard = []; new MutationObserver(() => node.heard.push(node.textContent))"
        ".observe(node, { childList: true, characterData: true, subtree: true }); }"
    )
    ask(page, QUESTION)
    assert FACT in live.evaluate("node => node.heard.join('')")


def test_direction_follows_the_text(page: Page) -> None:
    open_chat(page)
    scripted(page, events("صفر لمحہ نقطہ زمین پر ہے۔"))
    turn = ask(page, "صفر لمحہ نقطہ کیا ہے؟")
    expect(turn.locator("[part=question]")).to_have_css("direction", "rtl")
    expect(turn.locator("[part=answer] p")).to_have_css("direction", "rtl")
    expect(field_of(page)).to_have_attribute("dir", "auto")
    expect(panel(page)).to_have_css("direction", "ltr")


def test_urdu(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address, 'lang="ur"'))
    expect(launcher(page)).to_have_text("کتاب سے پوچھیں")
    launcher(page).click()
    expect(panel(page)).to_have_css("direction", "rtl")
    expect(button(page, "بھیجیں")).to_be_visible()
    box = panel(page).bounding_box()
    assert box
    assert box["x"] < 100


def test_another_language_is_added(page: Page, site: Site, address: str) -> None:
    page.goto(embedded(site, address))
    page.evaluate("customElements.get('glossator-chat').strings.fr = { title: 'Demander au livre', send: 'Envoyer' }")
    page.locator("glossator-chat").evaluate("node => node.lang = 'fr-CA'")
    expect(launcher(page)).to_have_text("Demander au livre")
    launcher(page).click()
    expect(button(page, "Envoyer")).to_be_visible()
    expect(button(page, "Close")).to_be_visible()


def test_panel_floats_on_a_desktop_and_fills_a_phone(open_page: OpenPage) -> None:
    wide, narrow = open_chat(open_page()), open_chat(open_page(viewport=PHONE))
    box = panel(wide).bounding_box()
    assert box
    assert box["width"] < 500
    assert panel(narrow).bounding_box() == {"x": 0, "y": 0, **PHONE}


@pytest.mark.parametrize(("width", "is_sheet"), [(767, True), (768, False)])
def test_sheet_begins_under_768_pixels(open_page: OpenPage, width: int, is_sheet: bool) -> None:
    page = open_chat(open_page(viewport={"width": width, "height": 800}))
    box = panel(page).bounding_box()
    assert box
    assert (box["width"] == width) is is_sheet


@pytest.mark.parametrize("viewport", [{"width": 320, "height": 480}, PHONE, browser.DESKTOP])
def test_nothing_runs_out_of_the_panel(open_page: OpenPage, viewport: dict[str, int]) -> None:
    page = open_chat(open_page(viewport=viewport))
    wide = f"{'x' * 300} [a link](https://example.org/{'y' * 300})\n\n```\n{'z' * 300}\n```\n\n" + MARKDOWN
    scripted(page, events(wide + "\n| " + "| wide column " * 12 + "\n" + "|---" * 13, cited(GLOSSARY, "x")))
    ask(page, "w" * 300)
    log = page.locator("glossator-chat [part=log]")
    assert log.evaluate("node => node.scrollWidth <= node.clientWidth")
    for control in (field_of(page), button(page, "Send"), button(page, "Close")):
        expect(control).to_be_in_viewport(ratio=1)


def test_stop(page: Page) -> None:
    open_chat(page)
    waiting = held(page)
    turn = ask(page, QUESTION, wait=False)
    button(page, "Stop").click()
    expect(turn).to_contain_text(said(page, "stopped"))
    expect(button(page, "Stop")).to_be_hidden()
    assert len(waiting.asked) == 1


def test_question_waits_for_its_turn(page: Page) -> None:
    open_chat(page)
    waiting = held(page)
    first, second = ask(page, "First?", wait=False), ask(page, "Second?", wait=False)
    expect(second).to_contain_text(said(page, "waiting"))
    waiting.release(events("One."))
    expect(first.locator("[part=answer]")).to_have_text("One.")
    expect(second).not_to_contain_text(said(page, "waiting"))
    waiting.release(events("Two."))
    expect(second.locator("[part=answer]")).to_have_text("Two.")
    assert [body["query"] for body in waiting.asked] == ["First?", "Second?"]
    assert waiting.asked[1]["session_id"] == browser.SESSION


def test_question_that_waits_can_be_cancelled(page: Page) -> None:
    open_chat(page)
    waiting = held(page)
    ask(page, "First?", wait=False)
    ask(page, "Second?", wait=False)
    button(page, "Cancel").click()
    expect(messages(page)).to_have_count(1)
    waiting.release(events("One."))
    settled(page)
    assert len(waiting.asked) == 1


def test_retry(page: Page, complaints: Complaints) -> None:
    complaints.allow("503")
    open_chat(page)
    page.route("**/chat/stream", lambda route: route.fulfill(status=503, json={}), times=1)
    turn = ask(page, QUESTION)
    expect(turn).to_contain_text(said(page, "unavailable"))
    button(page, "Try again").click()
    expect(answers(page)).to_contain_text(FACT)
    expect(messages(page)).to_have_count(1)


def test_markdown_becomes_nodes(page: Page) -> None:
    open_chat(page)
    scripted(page, events(MARKDOWN, cited("/book/glossary", "x")))
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


def test_number_in_the_words_themselves_is_no_mark(page: Page) -> None:
    open_chat(page)
    scripted(page, events("The script reads argv[1] and argv[2]. [1]", cited("/book/glossary", "x")))
    ask(page, QUESTION)
    expect(answers(page).locator("[part=mark]")).to_have_count(1)
    expect(answers(page)).to_contain_text("The script reads argv[1] and argv[2].")


def test_code_is_copied(open_page: OpenPage) -> None:
    page = open_chat(open_page(permissions=["clipboard-read", "clipboard-write"]))
    scripted(page, events(MARKDOWN))
    ask(page, QUESTION)
    button(page, "Copy").click()
    expect(button(page, "Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == 'print("<b>zmp</b>")'


def test_api_is_tried_on_its_own_page(page: Page) -> None:
    page.goto("/docs")
    ask_door = page.locator("#operations-ask-ask_ask_post")
    ask_door.click()
    ask_door.get_by_role("button", name="Try it out").click()
    ask_door.get_by_role("button", name="Execute").click()
    expect(ask_door.locator(".live-responses-table tbody .response-col_status")).to_have_text("200")
